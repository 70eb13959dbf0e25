"""Environment variables of the launch that vLLM does not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from preflight.checks.flags import VARIABLE
from preflight.model import Fault, Severity, Span, Undecided, Value

if TYPE_CHECKING:
    from preflight.checks.context import Context
    from preflight.launch.launch import Launch

#: The flag with which a release ends the launch for such a variable.
_STRICT = "fail_on_environ_validation"


def variable_faults(context: Context, launch: Launch) -> Iterator[Fault | Undecided]:
    """The variables of one command that are called like vLLM's own, and that nothing in the tree reads."""
    from preflight.launch.entry import ProgramSource
    from preflight.launch.variables import PREFIX, known_variables

    names = [*launch.environment, *launch.open_environment]
    own = [name for name in names if name.startswith(PREFIX)]
    if not own:
        return
    program = context.load_program()
    table = known_variables(ProgramSource(program))
    if table is None:
        yield Undecided("environment-not-checked", "the tree's table of environment variables cannot be read")
        return
    known, path, line = table
    for name in own:
        # A variable may be read without the table.
        if name in known or any(True for _ in program.texts.each_with(name)):
            continue
        origin = launch.origin_of_variable(name)
        strict = launch.parsed.values.get(_STRICT) is True
        yield Fault(
            VARIABLE,
            Span(path, line) if origin.path is None else Span(origin.path, origin.line),
            f"the environment variable `{name}` is none of this release's: no Python file of it names it",
            why="vLLM takes its settings from the variables of its own table; any other is without effect"
            + (", and --fail-on-environ-validation makes it end the launch" if strict else ""),
            help=f"{_meant(name, known)}drop it, or set the one that this release has",
            values=(Value(name, launch.environment.get(name), str(origin)),),
            severity=Severity.ERROR if strict else None,
        )


def _meant(name: str, known: Iterable[str]) -> str:
    """The nearest variable. Behind the prefix that all have: it makes any two of them alike."""
    from preflight.launch.variables import PREFIX
    from preflight.rulebook.near import nearest

    tails = [other.removeprefix(PREFIX) for other in known if other.startswith(PREFIX)]
    near = nearest(name.removeprefix(PREFIX), tails)
    return f"did you mean `{PREFIX}{near[0]}`? " if near else ""
