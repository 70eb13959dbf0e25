"""A command of vLLM through the tree's own code: which parser it builds, how it rewrites the words, what it refuses.

The console script's function (or the module behind ``python -m``) is read statement by statement on plain values (see
``reading``) until the command hands its arguments over to the part that starts the engine. Nothing of it is executed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from preflight.launch import conversion
from preflight.launch.arguments import Argument, Parser
from preflight.launch.matching import Match, match
from preflight.launch.reading.argparsing import Builder, Namespace, install, note_escape
from preflight.launch.reading.calls import call
from preflight.launch.reading.expressions import items
from preflight.launch.reading.modules import Modules, ModuleSource, import_module, look_up
from preflight.launch.reading.platforms import CURRENT, current_platform
from preflight.launch.reading.run import Run
from preflight.launch.reading.statements import execute_block
from preflight.launch.reading.values import (
    Class,
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
    given, by destination, ``defaults`` what the parser sets otherwise. ``raised`` is what the code itself raises before
    the engine is started. ``trouble`` says why the command could not be followed, if it could not.
    """

    match: Match | None = None
    words: tuple[str, ...] = ()
    values: dict[str, Object] = field(default_factory=dict)
    defaults: dict[str, Object] = field(default_factory=dict)
    invalid: list[conversion.Invalid] = field(default_factory=list)
    raised: Raised | None = None
    trouble: str | None = None
    files: list[str] = field(default_factory=list)  #: the files of the tree that were read

    @property
    def parser(self) -> Parser | None:
        return self.match.parser if self.match is not None else None

    def refused(self) -> bool:
        """True if the parser refuses anything."""
        return bool(self.invalid) or (self.match is not None and bool(self.match.refusals))


class HandedOver(Exception):
    """The command's own code is done with its arguments: the engine would be started now."""


def parse_command(
    source: ModuleSource,
    words: list[str],
    *,
    module: str,
    function: str | None,
    program: str,
    environ: dict[str, str],
    python: tuple[int, int] = (3, 12),
    platform: str | None = "cuda",
    open_text: Callable[[str], str | None] | None = None,
) -> Parsed:
    """Follow a command. ``function`` of ``module`` is the console script's; None runs the module as ``__main__``."""
    parsed = Parsed()
    modules = Modules(source)
    run = Run(
        modules, [program, *words], dict(environ), python, module if function is None else None, open_text, note_escape
    )
    run.assumed[CURRENT] = lambda run: current_platform(run, platform)
    run.library = install(lambda run, builder, given: _parse(run, builder, given, parsed))
    with _deep_stack():
        try:
            _start(run, module, function)
        except HandedOver:
            pass
        except OutOfBudget:
            parsed.trouble = "the code that parses the arguments takes more steps than can be followed"
        except RecursionError:
            parsed.trouble = "the code that parses the arguments is nested more deeply than can be followed"
        except NotKnown as missing:
            parsed.trouble = f"the code that parses the arguments hangs on {missing.unknown.reason}"
        except Raised as raised:
            parsed.raised = raised
    if parsed.match is None and parsed.raised is None and parsed.trouble is None:
        parsed.trouble = "the code that parses the arguments was not found where vLLM has it"
    parsed.files = [known.path for known in modules.known()]
    return parsed


def _start(run: Run, module: str, function: str | None) -> None:
    found = run.modules.get(module)
    if found is None:
        raise NotKnown(Unknown(f"the module {module}, which is not in the tree"))
    import_module(run, module)
    if function is not None:
        call(run, look_up_or_unknown(run, module, function), [], {})
        return
    import ast

    tree = found.tree
    for statement in tree.body:
        if isinstance(statement, ast.If) and "__name__" in {
            n.id for n in ast.walk(statement.test) if isinstance(n, ast.Name)
        }:
            execute_block(run, [statement], found.scope)


def look_up_or_unknown(run: Run, module: str, name: str) -> Object:
    """A name of a module, Unknown where it has none."""
    found = run.modules.get(module)
    try:
        return look_up(run, found, name) if found is not None else Unknown(module)
    except KeyError:
        return Unknown(f"{module} has no {name}")


@contextmanager
def _deep_stack() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _STACK))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _parse(run: Run, builder: Builder, given: Object, parsed: Parsed) -> Namespace:
    """``ArgumentParser.parse_args``: match, convert, and give the namespace back to the code."""
    try:
        words = list(items(run, given))
    except NotKnown as missing:
        parsed.trouble = f"the words that are parsed hang on {missing.unknown.reason}"
        raise HandedOver from None
    if any(not isinstance(word, str) for word in words):
        unknown = next(word for word in words if not isinstance(word, str))
        parsed.trouble = f"one of the words that are parsed is not known ({describe(unknown)})"
        raise HandedOver
    result = match(builder.parser, words)
    parsed.match, parsed.words = result, tuple(words)
    parser = result.parser
    defaults: dict[str, Object] = {}
    for level in _levels(builder.parser, result.path):
        for argument in level.arguments:
            if not (isinstance(argument.default, str) and argument.default == argparse.SUPPRESS):
                defaults.setdefault(argument.dest, conversion.default_of(run, argument))
        defaults.update(level.defaults)
    namespace = Namespace({**defaults, **result.chosen}, not parser.gaps)
    parsed.defaults = defaults
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
    if parsed.refused() or any(argument.action in ("help", "version") for argument in seen.values()):
        raise HandedOver
    run.handover = namespace
    engines = [value for level in _levels(builder.parser, result.path) for value in level.defaults.values()]

    def handed_over(function: Function) -> None:
        """What a command's own function gives its arguments to starts the engine, or the client, or the benchmark."""
        if any(
            frame.function is engine or frame.function is getattr(engine, "function", None)
            for engine in engines
            for frame in run.frames
        ):
            raise HandedOver

    run.on_handover = handed_over
    return namespace


def _levels(parser: Parser, path: tuple[str, ...]) -> Iterator[Parser]:
    yield parser
    for name in path:
        assert parser.commands is not None
        parser = parser.commands.parsers[name]
        yield parser


__all__ = ["Class", "HandedOver", "Instance", "Parsed", "parse_command"]
