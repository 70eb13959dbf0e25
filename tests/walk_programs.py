"""Small programs for the property tests of the walk: generated as text, run by CPython, walked by the evaluator."""

from __future__ import annotations

import ast
import sys
import traceback
import warnings
from dataclasses import dataclass
from random import Random
from types import CodeType
from typing import Any
from unittest.mock import patch

from preflight.walk.assumptions import Assumptions
from preflight.walk.files import Files
from preflight.walk.iteration import NotConcrete
from preflight.walk.library.registry import Library
from preflight.walk.machine import Limits, Machine
from preflight.walk.modules import Modules
from preflight.walk.outcomes import GaveUp, Raised
from preflight.walk.stages import _Launch
from preflight.walk.values import OneOf, Unknown, Value
from preflight.walk.world import Texts

NAMES = ("a", "a", "b", "b", "c", "c", "d", "e")
#: the module that the programs believe to be
NAME = __name__
ATTRIBUTES = ("x", "y", "z")
PRELUDE = """
from dataclasses import dataclass, field

class Base:
    z = 7
    def __init__(self, x):
        self.x = x
    def twice(self):
        return self.x + self.x
    def __repr__(self):
        return "Base"
    @property
    def half(self):
        return self.x // 2

class Child(Base):
    def __init__(self, x, y=3):
        super().__init__(x)
        self.y = y
    def twice(self):
        return [super().twice(), self.y]

@dataclass
class Data:
    x: int = 1
    y: list = field(default_factory=list)

class Guard:
    def __repr__(self):
        return "Guard"
    def __init__(self, swallow):
        self.swallow = swallow
        self.x = 0
    def __enter__(self):
        self.x = 1
        return self
    def __exit__(self, kind, error, trace):
        self.x = 2
        return self.swallow

def helper(p, q=2, *rest, k=5):
    if p == q:
        return k
    if p is None:
        raise KeyError("p")
    return (p, q)

def count(n):
    for i in range(n):
        yield i
        if i == 2:
            return

"""


class Writer:
    """Chooses statements and expressions; ``depth`` bounds how they nest."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.fresh = 0

    def pick(self, *options: Any) -> Any:
        return self.chance.choice(options)

    def constant(self) -> str:
        return self.pick(
            "0",
            "1",
            "2",
            "3",
            "4",
            "5",
            "-1",
            *self.pick(("7",), ("8",), ("None", "True", "False", "''", "'s'", "1.5", "[]", "{}", "()")),
        )

    def name(self) -> str:
        return self.pick(*NAMES)

    def owner(self) -> str:
        """What has attributes, mostly."""
        return self.pick("d", "d", "d", "Child(1)", "Data()", self.name())

    def box(self) -> str:
        """What has items, mostly."""
        return self.pick("e", "e", "d.y", self.name())

    def expression(self, depth: int) -> str:
        if depth <= 0:
            return self.pick(self.constant(), self.name(), self.name())
        kind = self.chance.randint(0, 25)
        one = lambda: self.expression(depth - 1)  # noqa: E731
        if kind < 3:
            return self.constant()
        if kind < 7:
            return self.name()
        if kind < 9:
            return f"({one()} {self.pick('+', '-', '*', '//', '%', '|', '&')} {one()})"
        if kind == 9:
            return f"({one()} {self.pick('==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'is', 'is not')} {one()})"
        if kind == 10:
            return f"({one()} {self.pick('and', 'or')} {one()})"
        if kind == 11:
            return f"({one()} if {one()} else {one()})"
        if kind == 12:
            return f"[{one()}, {one()}]"
        if kind == 13:
            return f"{{{self.pick(repr('x'), repr('y'), '1')}: {one()}, 'k': {one()}}}"
        if kind == 14:
            return f"{self.pick('Child', 'Base', 'Data')}({one()})"
        if kind == 15:
            return f"{self.owner()}.{self.pick('x', 'x', *ATTRIBUTES, 'half', 'twice()')}"
        if kind == 16:
            return f"{self.box()}[{self.pick('0', '1', '-1', one(), ':1')}]"
        if kind == 17:
            more = self.pick(
                "",
                "",
                f", {self.name()}",
                f", k={self.name()}",
                self.pick("", "", ", bad=1"),
                ", *[1, 2]",
                ", **{'k': 1}",
            )
            return f"helper({one()}{more})"
        if kind == 18:
            source = self.pick(self.name(), "range(3)", "count(4)")
            return f"[{self.pick('v', 'v + 1', '(v, a)')} for v in {source} {self.pick('', 'if v', 'if v != a')}]"
        if kind == 19:
            called = self.pick("any", "all", "sum", "len", "list", "sorted", "str", "bool", "int", "max", "type")
            return f"{called}({one()})"
        if kind == 20:
            return f"f'{{{self.name()}}}-{{{self.name()}!r}}'"
        if kind == 21:
            return f"isinstance({self.name()}, {self.pick('int', 'str', 'Base', '(list, dict)', 'Child')})"
        if kind == 22:
            return f"getattr({self.name()}, {self.pick(repr('x'), repr('nope'))}, {one()})"
        if kind == 23:
            return f"hasattr({self.name()}, {self.pick(repr('x'), repr('y'), repr('nope'))})"
        if kind == 24:
            return f"(lambda v: {self.pick('v', 'v + 1', '(v, b)')})({one()})"
        return f"(not {one()})"

    def block(self, depth: int, indent: str, loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.chance.randint(1, 3)):
            lines += self.statement(depth, indent, loop)
        return lines

    def statement(self, depth: int, indent: str, loop: bool) -> list[str]:
        kind = self.chance.randint(0, 24 if depth > 0 else 12)
        expression = self.expression(2)
        if kind < 4:
            return [f"{indent}{self.name()} = {expression}"]
        if kind == 4:
            return [f"{indent}{self.name()} {self.pick('+=', '-=', '*=')} {self.expression(1)}"]
        if kind == 5:
            return [f"{indent}{self.owner()}.{self.pick(*ATTRIBUTES)} = {expression}"]
        if kind == 6:
            return [f"{indent}{self.box()}[{self.pick('0', '1', '2', self.expression(1))}] = {expression}"]
        if kind == 7:
            method = self.pick("append", "append", "extend", "update", "pop", "get")
            return [f"{indent}{self.box()}.{method}({self.expression(1)})"]
        if kind == 8:
            return [f"{indent}assert {expression}, 'no'"]
        if kind == 9:
            ways = (
                f"return {expression}",
                f"raise ValueError({self.name()})",
                self.pick("raise", "pass"),
                f"del {self.name()}",
            )
            return [f"{indent}{self.pick(*ways)}"]
        if kind == 10:
            source = self.pick("(1, 2)", f"{self.expression(1)}, {self.expression(1)}", expression)
            return [f"{indent}{self.name()}, {self.name()} = {source}"]
        if kind == 11 and loop:
            return [f"{indent}{self.pick('break', 'continue')}"]
        if kind <= 12:
            return [f"{indent}{expression}"]
        inner = indent + "    "
        if kind < 17:
            lines = [f"{indent}if {expression}:", *self.block(depth - 1, inner, loop)]
            if self.pick(True, False):
                lines += [f"{indent}else:", *self.block(depth - 1, inner, loop)]
            return lines
        if kind < 19:
            source = self.pick(
                "range(3)", "range(2)", "e", self.name(), "count(5)", "[1, 'q', None]", "{'x': 1}.items()"
            )
            lines = [f"{indent}for {self.name()} in {source}:", *self.block(depth - 1, inner, True)]
            if self.pick(True, False):
                lines += [f"{indent}else:", *self.block(depth - 1, inner, loop)]
            return lines
        if kind == 19:
            self.fresh += 1
            counter = f"n{self.fresh}"
            head = [
                f"{indent}{counter} = 0",
                f"{indent}while {counter} < 3 and ({self.expression(1)}):",
                f"{inner}{counter} += 1",
            ]
            return [*head, *self.block(depth - 1, inner, True)]
        if kind < 23:
            caught = self.pick(
                "ValueError", "KeyError", "(TypeError, AttributeError)", "Exception", "ZeroDivisionError", "LookupError"
            )
            lines = [f"{indent}try:", *self.block(depth - 1, inner, loop)]
            shape = self.chance.randint(0, 3)
            if shape != 3:
                lines += [f"{indent}except {caught} as error:", *self.block(depth - 1, inner, loop)]
            if shape == 1:
                lines += [f"{indent}else:", *self.block(depth - 1, inner, loop)]
            if shape >= 2:
                lines += [f"{indent}finally:", f"{inner}{self.name()} = {self.expression(1)}"]
            return lines
        if kind == 23:
            return [
                f"{indent}with Guard({self.pick('True', 'False', self.name())}) as {self.name()}:",
                *self.block(depth - 1, inner, loop),
            ]
        self.fresh += 1
        name = f"f{self.fresh}"
        return [
            f"{indent}def {name}(p=1):",
            f"{inner}{self.pick('nonlocal a', 'b = p', 'pass')}",
            f"{inner}a = p",
            f"{inner}return {self.expression(1)}",
            f"{indent}{self.name()} = {name}({self.pick('', self.name())})",
        ]


def program(chance: Random) -> str:
    """The source of a module with a function ``main(a, b)``."""
    writer = Writer(chance)
    lines = ["def main(a, b):", "    c = 5", "    d = Child(2)", "    e = [1, 2, 3]"]
    for _ in range(chance.randint(1, 6)):
        lines += writer.statement(3, "    ", False)
    lines += [f"    return {writer.expression(2)}"]
    text = PRELUDE + "\n".join(lines) + "\n"
    try:
        compiled(text)
    except SyntaxError:
        # a name both assigned and nonlocal, or the like: an empty body is a program too
        return PRELUDE + "def main(a, b):\n    return a\n"
    return text


def compiled(text: str) -> CodeType:
    """The code of a program; what Python finds odd in it (``1 is 2``) is wanted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, "m.py", "exec")


@dataclass(frozen=True)
class Real:
    """What CPython did: a value, or an exception's class name and line."""

    value: Any = None
    error: str | None = None
    line: int = 0


def run_real(text: str, arguments: tuple[Any, ...]) -> Real | None:
    """Run ``main``; None for what no verdict can be asked about (too long, too deep, too large)."""
    namespace: dict[str, Any] = {"__name__": NAME}
    exec(compiled(text), namespace)
    steps = 0

    def watch(frame: Any, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps > 20_000:
            raise TimeoutError
        return watch

    old = sys.gettrace()
    sys.settrace(watch)
    try:
        value = namespace["main"](*arguments)
    except (TimeoutError, MemoryError, OverflowError, RecursionError):
        return None
    except Exception as error:
        sys.settrace(old)
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "m.py"]
        return Real(error=type(error).__name__, line=frames[-1].lineno or 0)
    finally:
        sys.settrace(old)
    return Real(value=value)


@dataclass(frozen=True)
class Walked:
    """What the walk said: a value, or the exceptions of which one must come."""

    value: Value | None
    exits: tuple[tuple[str | None, int], ...]
    machine: Machine


def walk(text: str, arguments: tuple[Any, ...], unknown: tuple[bool, ...]) -> Walked | None:
    """Walk ``main``; None where the walk gave up and says so."""
    machine = Machine(Modules(Texts({NAME: text})), Library())
    module = machine.modules.module(machine, NAME)
    assert module is not None
    values = [
        Unknown("an input") if hidden else machine.value(argument)
        for argument, hidden in zip(arguments, unknown, strict=True)
    ]
    try:
        return Walked(machine.call(machine.get(module, "main"), values), (), machine)
    except Raised as raised:
        return Walked(
            None,
            tuple((exit.cls.name if exit.cls is not None else None, exit.place.line) for exit in raised.exits),
            machine,
        )
    except GaveUp:
        return None


@dataclass(frozen=True)
class Told:
    """What a stage told: its faults in their order, and whether it came to its end or stopped for another reason."""

    faults: tuple[tuple[str | None, int], ...]
    stopped: bool
    steps: int


def told_by_stage(
    text: str, arguments: tuple[Any, ...], unknown: tuple[bool, ...], *, open_frames: bool = True
) -> Told:
    """Walk ``main`` as a stage of a launch is, past its faults; without ``open_frames`` all of it again each time."""
    with (
        patch("preflight.walk.entries.TEXT", f"from {NAME} import main\n"),
        patch("preflight.walk.calls._OPEN", 12 if open_frames else 0),
    ):
        launch = _Launch(Texts({NAME: text}), Files(), Assumptions(), Limits())
        values = [
            Unknown("an input") if hidden else launch.machine.value(argument)
            for argument, hidden in zip(arguments, unknown, strict=True)
        ]
        launch.stage("main", values)
    found = launch.result.found
    faults = tuple((one.exit.cls.name if one.exit.cls is not None else None, one.exit.place.line) for one in found)
    return Told(faults, bool(launch.result.stopped), launch.machine.steps)


def possible_values(walked: Walked) -> list[Any] | None:
    """The host values that the result may be; None where it is not known."""
    assert walked.value is not None
    options = walked.value.options if isinstance(walked.value, OneOf) else (walked.value,)
    try:
        return [walked.machine.host(option) for option in options]
    except NotConcrete:
        return None


def plain(value: Any) -> bool:
    """Whether two of its kind can be compared by their text."""
    if isinstance(value, (list, tuple)):
        return all(plain(item) for item in value)
    if isinstance(value, dict):
        return all(plain(key) and plain(item) for key, item in value.items())
    return value is None or isinstance(value, (int, float, str, bool))


def shown(text: str) -> str:
    """The generated part of a program, for a failing test."""
    return ast.unparse(ast.parse(text).body[-1])
