"""What the tree's parser refuses of a launch, and what it takes but should not be given, as faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.checks.flags import DEPRECATED, INVALID, MISPLACED, REFUSED, REPEATED, UNKNOWN
from preflight.launch.exported import exported
from preflight.launch.reading.values import Unknown
from preflight.launch.unresolved import is_open, readable
from preflight.launch.words import COMMAND_LINE, Origin, origin_of
from preflight.model import Fault, Span, Undecided, Value

if TYPE_CHECKING:
    from preflight.launch.arguments import Argument, Parser
    from preflight.launch.conversion import Invalid
    from preflight.launch.launch import Launch
    from preflight.launch.matching import Match, Occurrence, Refusal
    from preflight.tree import Tree

_DEPRECATED = re.compile(r"\[deprecated\]|\b(?:is|are|has been|have been) deprecated\b|^\W*deprecated\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_SHOWN = 400
#: how much of two flags must agree, without their dashes, for one to be taken for a misspelling of the other
_ALIKE = 0.75


def flag_faults(tree: Tree, launch: Launch) -> Iterator[Fault | Undecided]:
    """The faults of one command."""
    match = launch.parsed.match
    if match is not None:
        if launch.bare and any(refusal.kind == "unknown-command" for refusal in match.refusals):
            yield Undecided(
                "launch-not-vllm",
                f"`{readable(launch.arguments[0])}` is neither a program of vLLM nor one of its commands, so its "
                "arguments are not checked",
            )
            return
        yield from _refusals(tree, launch, match)
        for invalid in launch.parsed.invalid:
            yield _invalid(launch, match, invalid)
        yield from _repeated(launch, match)
        yield from _remarks(launch, match)
    yield from _raised(launch)


def _command(launch: Launch, match: Match) -> str:
    """The command as a message names it."""
    return " ".join((launch.program.name, *match.path))


def _place(origin: Origin, path: str, line: int) -> Span:
    """The line of the launch file; for words of the command line, the place in the tree that refuses them."""
    return Span(path, line or None) if origin.path is None else Span(origin.path, origin.line)


def _origin(launch: Launch, word: str) -> Origin:
    """Where a word that the launch code may have rewritten stands."""
    found = origin_of(word, launch.arguments)
    return found or launch.config_keys.get(word.split("=", 1)[0]) or COMMAND_LINE


def _value(launch: Launch, words: tuple[str, ...]) -> Value:
    name, equals, value = words[0].partition("=")
    shown = value if equals else " ".join(words[1:])
    return Value(name, readable(shown), str(_origin(launch, words[0])))


# -- refusals -------------------------------------------------------------------------------------------------------


def _refusals(tree: Tree, launch: Launch, match: Match) -> Iterator[Fault | Undecided]:
    unknown = [refusal.words[0].split("=", 1)[0] for refusal in match.refusals if refusal.kind == "unknown-flag"]
    histories = {}
    if unknown and not match.parser.gaps:
        from preflight.launch.history import flag_histories

        histories = flag_histories(tree.facts.vllm, match.path, unknown)
    for refusal in match.refusals:
        reason = _doubt(match, refusal)
        if reason is not None:
            origin = _origin(launch, refusal.words[0]) if refusal.words else COMMAND_LINE
            yield Undecided(
                "flag-not-decided",
                f"whether `{readable(' '.join(refusal.words) or refusal.text)}` is accepted is not known: {reason}",
                origin.path,
                origin.line,
            )
        elif refusal.kind == "unknown-flag":
            yield _unknown(launch, match, refusal, histories)
        else:
            yield _other(launch, match, refusal)


def _doubt(match: Match, refusal: Refusal) -> str | None:
    """Why a refusal may be none: the parser may have more flags, or the words are not all known."""
    if any(is_open(word) for word in refusal.words):
        return "the launch file does not tell the word"
    if match.uncertain:
        return match.uncertain[0]
    if refusal.kind in ("unknown-flag", "word-surplus", "ambiguous-flag") and match.parser.gaps:
        return f"the parser may have more arguments, for {match.parser.gaps[0]}"
    return None


def _unknown(launch: Launch, match: Match, refusal: Refusal, histories: dict) -> Fault:  # type: ignore[type-arg]
    flag = refusal.words[0].split("=", 1)[0]
    command = _command(launch, match)
    others = _commands_with(launch, match, flag)
    history = histories.get(flag)
    ways: list[str] = []
    if refusal.hint:
        ways.append(_clipped(refusal.hint))
    if history is not None and history.older:
        ways.append(f"{history.older} still had it and this release does not: drop it, or use what replaced it")
    elif history is not None and history.newer:
        ways.append(f"it comes with {history.newer}")
    near = _nearest(flag, match.parser)
    if near:
        ways.append(f"did you mean {' or '.join(f'`{option}`' for option in near)}?")
    check, message = UNKNOWN, f"`{command}` has no flag `{flag}` in this release"
    if others:
        check = MISPLACED
        message = f"`{flag}` is a flag of `{others[0]}`, and `{command}` does not take it"
    return Fault(
        check,
        _place(_origin(launch, refusal.words[0]), match.parser.path, match.parser.line),
        message,
        why=f"argparse ends the process before anything is loaded: `{readable(refusal.text)}`",
        help="; ".join(ways) or f"see `{command} --help`",
        values=(_value(launch, refusal.words),),
    )


def _commands_with(launch: Launch, match: Match, flag: str) -> list[str]:
    """The other commands of the program that take ``flag``."""
    found: list[str] = []

    def search(parser: Parser, path: tuple[str, ...]) -> None:
        if parser is not match.parser and parser.commands is None and flag in parser.by_option():
            found.append(" ".join((launch.program.name, *path)))
        for name, inner in parser.commands.parsers.items() if parser.commands is not None else ():
            search(inner, (*path, name))

    search(match.top, ())
    return found


def _nearest(flag: str, parser: Parser) -> list[str]:
    from preflight.rulebook.near import nearest

    options = [option for option in parser.by_option() if option.startswith("--")]
    # ``--no-x`` forms crowd the list; they are worth naming only for a flag of that form
    if not flag.startswith("--no-"):
        options = [option for option in options if not option.startswith("--no-")]
    from difflib import SequenceMatcher

    alike = nearest(flag, options, 2)
    return [option for option in alike if SequenceMatcher(None, flag[2:], option[2:]).ratio() >= _ALIKE]


_WORDS = {
    "value-missing": (INVALID, "`{name}` is given without the value that it needs"),
    "value-surplus": (INVALID, "`{name}` takes no value and is given one: `{words}`"),
    "ambiguous-flag": (UNKNOWN, "`{words}` abbreviates several flags"),
    "word-surplus": (MISPLACED, "`{words}` belongs to no flag, and `{command}` takes no further word"),
    "exclusive": (MISPLACED, "`{words}` cannot be given together with another flag of the launch"),
    "required-missing": (MISPLACED, "`{command}` is given too little: {text}"),
    "unknown-command": (MISPLACED, "`{words}` is no command of vLLM in this release"),
}


def _other(launch: Launch, match: Match, refusal: Refusal) -> Fault:
    argument = refusal.argument
    check, form = _WORDS.get(refusal.kind, (REFUSED, "the arguments are refused: {text}"))
    words = readable(" ".join(refusal.words))
    command = _command(launch, match)
    message = form.format(
        name=argument.name if argument is not None else words, words=words, command=command, text=refusal.text
    )
    origin = _origin(launch, refusal.words[0]) if refusal.words else COMMAND_LINE
    path, line = (argument.path, argument.line) if argument is not None else (match.parser.path, match.parser.line)
    return Fault(
        check,
        _place(origin, path, line),
        message,
        why=f"argparse ends the process before anything is loaded: `{_clipped(readable(refusal.text))}`",
        help=_way_out(launch, match, refusal),
        values=(_value(launch, refusal.words),) if refusal.words else (),
    )


def _way_out(launch: Launch, match: Match, refusal: Refusal) -> str:
    if refusal.kind == "unknown-command" and match.top.commands is not None and refusal.words:
        from preflight.rulebook.near import did_you_mean

        names = list(match.top.commands.parsers)
        return f"{did_you_mean(refusal.words[0], names)}the commands are {', '.join(names)}"
    if refusal.kind == "value-surplus":
        return "write the flag alone; `--no-...` turns it off where it has that form"
    if refusal.kind == "ambiguous-flag":
        head = refusal.words[0].split("=", 1)[0]
        full = [option for option in match.parser.by_option() if option.startswith(head)]
        return f"write it in full: {', '.join(full[:8])}"
    if refusal.kind == "word-surplus":
        return "quote values that hold blanks, and give the model as the first word"
    return f"see `{_command(launch, match)} --help`"


# -- values ---------------------------------------------------------------------------------------------------------


def _invalid(launch: Launch, match: Match, invalid: Invalid) -> Fault:
    argument = invalid.argument
    word = match.word_at(invalid.position) or invalid.option or argument.name
    name = invalid.option or argument.name
    text = _clipped(readable(str(invalid.text)))
    return Fault(
        INVALID,
        _place(_origin(launch, word), argument.path, argument.line),
        f"`{name} {text}` is refused: {_clipped(readable(invalid.message))}",
        why="the parser applies the flag's type, its choices and its validation before anything is loaded",
        help=_value_help(argument, text),
        values=(Value(name, text, str(_origin(launch, word))),),
    )


def _value_help(argument: Argument, text: str) -> str | None:
    from preflight.rulebook.near import did_you_mean

    choices = argument.choices
    if isinstance(choices, (list, tuple, set)) and all(
        isinstance(choice, (str, int, type(None))) for choice in choices
    ):
        named = [choice for choice in choices if isinstance(choice, str)]
        return did_you_mean(text, named).rstrip() or None
    if text.startswith(("{", "[")):
        return "the shell takes quotes away: write JSON between single quotes, with double quotes inside"
    return None


def _clipped(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]} ..."


# -- what is taken, and should not be given -------------------------------------------------------------------------


def _repeated(launch: Launch, match: Match) -> Iterator[Fault]:
    """Flags that are given twice with different values: the last one wins, and nothing says so."""
    seen: dict[str, Occurrence] = {}
    for occurrence in match.occurrences:
        argument = occurrence.argument
        if occurrence.option is None or argument.action not in ("store", "boolean", "custom"):
            continue
        word = match.word_at(occurrence.position)
        if word is None or _is_from_config(launch, word):
            continue
        before = seen.get(argument.dest)
        seen[argument.dest] = occurrence
        if before is None or _shown(before) == _shown(occurrence):
            continue
        yield Fault(
            REPEATED,
            _place(_origin(launch, word), argument.path, argument.line),
            f"`{_shown(before)}` is without effect: the launch also says `{_shown(occurrence)}`, and the last one wins",
            help="keep the one that is meant",
            values=tuple(
                Value(argument.name, _shown(one), str(_origin(launch, match.word_at(one.position) or "")))
                for one in (before, occurrence)
            ),
        )


def _is_from_config(launch: Launch, word: str) -> bool:
    """True for a word out of vLLM's ``--config`` file, which the command line may override."""
    return word.split("=", 1)[0] in launch.config_keys and origin_of(word, launch.arguments) is None


def _shown(occurrence: Occurrence) -> str:
    values = occurrence.values
    if isinstance(values, list):
        return " ".join([str(occurrence.option), *(readable(str(value)) for value in values)])
    return f"{occurrence.option} {readable(values)}" if isinstance(values, str) else str(occurrence.option)


def _remarks(launch: Launch, match: Match) -> Iterator[Fault | Undecided]:
    seen: set[str] = set()
    for occurrence in match.occurrences:
        argument = occurrence.argument
        if occurrence.option is None or argument.dest in seen:
            continue
        seen.add(argument.dest)
        word = match.word_at(occurrence.position) or occurrence.option
        origin = _origin(launch, word)
        told = argument.help if argument.help and _DEPRECATED.search(argument.help) else None
        if argument.deprecated or told:
            yield Fault(
                DEPRECATED,
                _place(origin, argument.path, argument.line),
                f"`{occurrence.option}` is deprecated in this release",
                why=_clipped(_SENTENCE.split(told)[0]) if told else None,
                help=_clipped(told) if told else None,
                values=(Value(argument.name, exported(launch.parsed.values.get(argument.dest)), str(origin)),),
            )
        unchecked = _unchecked(launch, occurrence)
        if unchecked is not None:
            yield Undecided(
                "flag-value-not-checked",
                f"the value of `{occurrence.option}` is not checked: it hangs on {unchecked}",
                origin.path,
                origin.line,
            )
        if not argument.certain:
            yield Undecided(
                "flag-conditional",
                f"whether `{occurrence.option}` exists depends on a condition that is not known "
                f"({argument.path} line {argument.line})",
                origin.path,
                origin.line,
            )


def _unchecked(launch: Launch, occurrence: Occurrence) -> str | None:
    """Why a value that is taken may be none; None where it was checked, is refused, or is not told by the launch."""
    argument, values = occurrence.argument, occurrence.values
    if any(invalid.argument is argument for invalid in launch.parsed.invalid):
        return None
    if any(is_open(text) for text in (values if isinstance(values, list) else [values]) if isinstance(text, str)):
        return None
    for part in (argument.choices, launch.parsed.values.get(argument.dest)):
        if isinstance(part, Unknown):
            return part.reason
    return None


def _raised(launch: Launch) -> Iterator[Fault | Undecided]:
    """What the command's own code raises on these arguments, before it starts the engine."""
    raised = launch.parsed.raised
    if raised is None or raised.ends_well:
        return
    name = launch.program.name
    if raised.deliberate:
        yield Fault(
            REFUSED,
            Span(raised.path, raised.line),
            f"`{name}` refuses these arguments: {_clipped(readable(str(raised)))}",
            why="the command's own code raises this before anything is loaded",
        )
    else:
        yield Undecided(
            "launch-not-read",
            f"the flags are not fully checked: reading {raised.path} line {raised.line} ended in {raised}",
            raised.path,
            raised.line,
            decisive=True,
        )
