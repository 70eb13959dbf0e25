"""A command of vLLM through the tree's own code: which parser it builds, how it rewrites the words, what it refuses.

The console script's function (or the module behind ``python -m``) is read statement by statement on plain values (see
``reading``) until the command hands its arguments over to the part that starts the engine. Nothing of it is executed.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from preflight.launch import conversion
from preflight.launch.arguments import Argument, Parser
from preflight.launch.matching import Match, Refusal, match
from preflight.launch.reading.argparsing import Builder, Namespace, install, note_escape
from preflight.launch.reading.attributes import attribute
from preflight.launch.reading.calls import call
from preflight.launch.reading.classes import find
from preflight.launch.reading.expressions import items
from preflight.launch.reading.modules import Modules, ModuleSource, import_module, look_up
from preflight.launch.reading.platforms import CURRENT, current_platform
from preflight.launch.reading.run import Run
from preflight.launch.reading.statements import execute_block
from preflight.launch.reading.values import (
    Bound,
    Function,
    Instance,
    NotKnown,
    Object,
    OutOfBudget,
    Raised,
    Unknown,
    describe,
)

#: Python frames for the nested calls of the code that is read.
_STACK = 6000


@dataclass(slots=True)
class Parsed:
    """What came of a command.

    ``words`` are the words as the tree's code hands them to ``argparse`` (without the program). ``values`` has what was
    given, by destination, ``defaults`` what the parser sets otherwise; ``namespace`` is all that the code behind the
    parser is handed, None where there may be more in it. ``raised`` is what the code itself raises before
    the engine is started. ``trouble`` says why the command could not be followed, if it could not.
    """

    match: Match | None = None
    words: tuple[str, ...] = ()
    values: dict[str, Object] = field(default_factory=dict)
    defaults: dict[str, Object] = field(default_factory=dict)
    namespace: Mapping[str, Object] | None = None
    invalid: list[conversion.Invalid] = field(default_factory=list)
    raised: Raised | None = None
    trouble: str | None = None

    @property
    def parser(self) -> Parser | None:
        """The parser of the subcommand that the words choose."""
        return self.match.parser if self.match is not None else None

    @property
    def refused(self) -> bool:
        """True if the parser refuses anything."""
        return bool(self.invalid) or (self.match is not None and bool(self.match.refusals))


class _HandedOver(Exception):
    """The command's own code is done with its arguments: the engine would be started now."""


def read_command(
    source: ModuleSource,
    words: list[str],
    *,
    module: str,
    function: str | None,
    program: str,
    environ: Mapping[str, str],
    open_environ: Iterable[str] = (),
    python: tuple[int, int] = (3, 12),
    platform: str | None = "cuda",
    open_text: Callable[[str], str | None] | None = None,
    lean: bool = False,
) -> CommandReading:
    """Follow a command. ``function`` of ``module`` is the console script's; None runs the module as ``__main__``.

    ``environ`` are the variables that the launch sets, ``open_environ`` those that it sets to what is not known;
    ``open_text`` gives the text of a file that the launch names. ``lean``: the code is a release's own, whose other
    subcommands need not be read to know that their parsers can be made.
    """
    variables: dict[str, Object] = {**environ, **{name: Unknown(f"the variable {name}") for name in open_environ}}
    run = Run(
        Modules(source),
        [program, *words],
        variables,
        python,
        module if function is None else None,
        open_text,
        note_escape,
        lean=lean,
    )
    run.assumed[CURRENT] = lambda run: current_platform(run, platform)
    return CommandReading(run, module, function)


class CommandReading:
    """A command that was followed. ``parse`` puts other words to the parser that it has built."""

    def __init__(self, run: Run, module: str, function: str | None) -> None:
        self.run = run
        self.parsed = Parsed()
        self._builder: Builder | None = None
        run.library = install(self._parse)
        self._follow(lambda: _start(run, module, function))
        if self.parsed.match is None and self.parsed.raised is None and self.parsed.trouble is None:
            self.parsed.trouble = "the code that parses the arguments was not found where vLLM has it"

    def parse(self, words: list[str]) -> Parsed:
        """What the parser makes of ``words``, through the tree's own ``parse_args``. Only of a reading with a match."""
        assert self._builder is not None
        receiver = self._builder.instance or self._builder
        self.parsed = Parsed()
        self.run.argv[1:] = words
        self.run.handover = None
        scope = next(iter(self.run.modules.known())).scope
        self._follow(lambda: call(self.run, attribute(self.run, receiver, "parse_args", scope, 0), [], {}))
        return self.parsed

    def _follow(self, step: Callable[[], Object]) -> None:
        parsed = self.parsed
        with _deep_stack():
            try:
                step()
            except _HandedOver:
                pass
            except OutOfBudget:
                parsed.trouble = "the code that parses the arguments takes more steps than can be followed"
            except RecursionError:
                parsed.trouble = "the code that parses the arguments is nested more deeply than can be followed"
            except NotKnown as missing:
                parsed.trouble = f"the code that parses the arguments hangs on {missing.unknown.reason}"
            except Raised as raised:
                parsed.raised = raised

    def _parse(self, run: Run, builder: Builder, given: Object) -> Namespace:
        """``ArgumentParser.parse_args``: match, convert, and give the namespace back to the code."""
        parsed, self._builder = self.parsed, builder
        words = self._words(given)
        result = match(builder.parser, words)
        result.refusals[:] = [_with_hint(run, builder, refusal) for refusal in result.refusals]
        parsed.match, parsed.words = result, tuple(words)
        parsed.invalid.clear()  # the words may be put to the parser twice, by the module and by its main part
        levels = list(_levels(builder.parser, result.path))
        parsed.defaults = _defaults(run, levels)
        namespace = Namespace({**parsed.defaults, **result.chosen}, not result.parser.gaps)
        parsed.namespace = namespace.names if namespace.complete else None
        seen: dict[str, Argument] = {}
        for occurrence in result.occurrences:
            argument = occurrence.argument
            if argument.dest not in seen and argument.action in ("append", "extend", "count"):
                # argparse adds to the default; a list is copied first.
                before = namespace.names.get(argument.dest)
                namespace.names[argument.dest] = list(before) if isinstance(before, list) else before
            seen[argument.dest] = argument
            problem = conversion.apply(run, occurrence, namespace, builder.instance)
            if problem is not None:
                parsed.invalid.append(problem)
        parsed.values = {dest: namespace.names.get(dest) for dest in seen}
        parsed.values.update(result.chosen)
        if parsed.refused or any(argument.action in ("help", "version") for argument in seen.values()):
            raise _HandedOver
        run.handover = namespace
        run.on_handover = _Engines(run, levels).called
        return namespace

    def _words(self, given: Object) -> list[str]:
        try:
            words = list(items(self.run, given))
        except NotKnown as missing:
            self.parsed.trouble = f"the words that are parsed are not known: {missing.unknown.reason}"
            raise _HandedOver from None
        for word in words:
            if not isinstance(word, str):
                self.parsed.trouble = f"one of the words that are parsed is not known ({describe(word)})"
                raise _HandedOver
        return words


class _Engines:
    """The functions that the subcommands name for what they do: what these hand the arguments to starts the engine, or
    the client, or the benchmark."""

    def __init__(self, run: Run, levels: list[Parser]) -> None:
        self._run = run
        functions = [value for level in levels for value in level.defaults.values()]
        self._nodes = {
            id(function.node)
            for value in functions
            if isinstance(function := value.function if isinstance(value, Bound) else value, Function)
        }

    def called(self, function: Function) -> None:
        """``function`` is given the arguments. Raises _HandedOver if one of the functions above does that."""
        if any(id(frame.function.node) in self._nodes for frame in self._run.frames):
            raise _HandedOver


def _start(run: Run, module: str, function: str | None) -> None:
    found = run.modules.get(module)
    if found is None:
        raise NotKnown(Unknown(f"the module {module}, which is not in the tree"))
    import_module(run, module)
    if function is not None:
        try:
            call(run, look_up(run, found, function), [], {})
        except KeyError:
            raise NotKnown(Unknown(f"{function} of {module}, which has no such function")) from None
        return
    for statement in found.tree.body:
        if isinstance(statement, ast.If) and any(
            isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test)
        ):
            execute_block(run, [statement], found.scope)


@contextmanager
def _deep_stack() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _defaults(run: Run, levels: list[Parser]) -> dict[str, Object]:
    """What the namespace has before the words are looked at."""
    defaults: dict[str, Object] = {}
    for level in levels:
        if level.commands is not None and level.commands.dest is not None:
            defaults[level.commands.dest] = None
        for argument in level.arguments:
            if not (isinstance(argument.default, str) and argument.default == argparse.SUPPRESS):
                defaults.setdefault(argument.dest, conversion.default_of(run, argument))
        defaults.update(level.defaults)
    return defaults


def _with_hint(run: Run, builder: Builder, refusal: Refusal) -> Refusal:
    """The refusal with what the tree's own ``error`` method adds to argparse's message."""
    instance = builder.instance
    if not isinstance(instance, Instance):
        return refusal
    try:
        _, method = find(run, instance.cls, "error")
        call(run, method, [instance, refusal.text], {})
    except Raised as raised:
        told = str(raised.error.code) if isinstance(raised.error, SystemExit) else ""
        _, found, added = told.partition(refusal.text)
        return replace(refusal, hint=" ".join(added.split())) if found else refusal
    except (KeyError, NotKnown):
        pass
    return refusal


def _levels(parser: Parser, path: tuple[str, ...]) -> Iterator[Parser]:
    yield parser
    for name in path:
        assert parser.commands is not None
        parser = parser.commands.parsers[name]
        yield parser
