"""Words against a parser: Python's own ``argparse`` is built anew from what the tree's code defines and told to match,
while values are left as text. What it refuses is noted with the word, taken out, and the rest is matched again, so that
one run tells everything that is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

from preflight.launch.arguments import Argument, Parser
from preflight.launch.reading.values import Object

#: How often the rest is matched again; every round takes at least one word out.
_MAX_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An argument as the words give it: ``values`` are text, one or a list, or None where the flag alone stands.

    ``position`` is the word of the option, None for a positional argument.
    """

    argument: Argument
    option: str | None
    values: Object
    position: int | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the parser refuses. ``kind`` is unknown-flag, ambiguous-flag, value-missing, value-surplus, word-surplus,
    required-missing, exclusive or unknown-command; ``text`` is what argparse says of it; ``words`` what it is about."""

    kind: str
    text: str
    words: tuple[str, ...] = ()
    argument: Argument | None = None
    parser: Parser | None = None
    hint: str = ""  #: what the tree's own parser adds to the message


@dataclass(slots=True)
class Match:
    """All occurrences in order, and all refusals.

    ``top`` is the parser of the program, ``parser`` the one of the subcommand that the ``words`` choose; ``uncertain``
    says why the matching itself may be wrong.
    """

    top: Parser
    parser: Parser
    words: Sequence[str] = ()
    path: tuple[str, ...] = ()
    occurrences: list[Occurrence] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    uncertain: list[str] = field(default_factory=list)
    chosen: dict[str, str] = field(default_factory=dict)  #: destination of the subcommands -> name

    def word_at(self, position: int | None) -> str | None:
        """The word at a position of an occurrence."""
        return self.words[position] if position is not None else None


class _Refused(Exception):
    def __init__(self, message: str, name: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.name = name


class _Recorder(argparse.ArgumentParser):
    """A parser that raises instead of ending the process, and keeps its hands off standard output."""

    def error(self, message: str) -> Object:
        raise _Refused(message)

    def exit(self, status: int = 0, message: str | None = None) -> Object:
        raise _Refused(message or "")


class _Record(argparse.Action):
    """Notes that an argument occurs."""

    def __init__(
        self, option_strings: Sequence[str], dest: str, source: Argument, into: list[Object], **rest: Object
    ) -> None:
        super().__init__(option_strings, dest, **rest)
        self.source = source
        self.into = into

    def __call__(self, parser: Object, namespace: Object, values: Object, option_string: str | None = None) -> None:
        self.into.append((self.source, option_string, values))


#: What argparse is given as ``const``, and hands back where an option stands without its value.
BARE = object()
_NO_VALUE = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version", "boolean")


def match(parser: Parser, words: Sequence[str]) -> Match:
    """Match ``words`` (without the program's name) against ``parser``; nothing is raised."""
    remaining = list(enumerate(words))
    result = Match(parser, parser, words)
    for _ in range(_MAX_ROUNDS):
        texts = [word for _, word in remaining]
        found = Match(parser, parser, words)
        found.parser, found.path, found.chosen = _chosen(parser, texts)
        records: list[tuple[Argument, str | None, Object]] = []
        # Refusals of earlier rounds stand; everything else is matched anew.
        found.refusals = result.refusals
        result = found
        try:
            _, left = _build(parser, records, texts, result).parse_known_args(texts)
        except (_Refused, argparse.ArgumentError) as error:
            taken = _blame(error, parser, result, texts)
            if not taken:
                break
            remaining = [entry for index, entry in enumerate(remaining) if index not in taken]
            continue
        _note(result, records, remaining)
        _leftovers(result, left, remaining)
        break
    return result


def _chosen(parser: Parser, texts: list[str]) -> tuple[Parser, tuple[str, ...], dict[str, str]]:
    """The parser of the subcommand that the words choose, its names, and what the destinations get."""
    path: list[str] = []
    chosen: dict[str, str] = {}
    rest = texts
    while parser.commands is not None:
        position = next((index for index, word in enumerate(rest) if not word.startswith("-")), None)
        if position is None or rest[position] not in parser.commands.parsers:
            break
        name = str(rest[position])
        if parser.commands.dest is not None:
            chosen[parser.commands.dest] = name
        path.append(name)
        parser = parser.commands.parsers[name]
        rest = rest[position + 1 :]
    return parser, tuple(path), chosen


def _build(parser: Parser, records: list[Object], texts: list[str], result: Match) -> _Recorder:
    real = _Recorder(prog=parser.prog or None, add_help=False, exit_on_error=False, allow_abbrev=parser.abbreviations)
    _fill(real, parser, records, texts, result)
    return real


def _fill(real: _Recorder, parser: Parser, records: list[Object], texts: list[str], result: Match) -> None:
    groups: dict[int, Object] = {}
    for required, members in parser.exclusive:
        made = real.add_mutually_exclusive_group(required=required)
        groups.update((id(member), made) for member in members)
    taken: set[str] = set()
    for number, argument in enumerate(parser.arguments):
        options = tuple(option for option in argument.options if option not in taken)
        if argument.options and not options:
            continue
        taken.update(options)
        keywords: dict[str, Object] = {"action": _Record, "source": argument, "into": records, "dest": f"{number}"}
        if options and argument.required is True:
            keywords["required"] = True
        keywords["nargs"] = _nargs(argument)
        if keywords["nargs"] == argparse.OPTIONAL and options:
            keywords["const"] = BARE
        groups.get(id(argument), real).add_argument(*options, **keywords)
    if parser.commands is not None:
        subparsers = real.add_subparsers(dest="command", required=parser.commands.required, parser_class=_Recorder)
        for name, inner in parser.commands.parsers.items():
            made = subparsers.add_parser(name, add_help=False, exit_on_error=False, allow_abbrev=inner.abbreviations)
            if name in texts:
                _fill(made, inner, records, texts, result)


def _nargs(argument: Argument) -> Object:
    if argument.action in _NO_VALUE:
        return 0
    nargs = argument.nargs
    return nargs if _is_nargs(nargs) else None


def _is_nargs(nargs: Object) -> bool:
    if isinstance(nargs, str):
        return nargs in ("?", "*", "+", argparse.REMAINDER)
    return nargs is None or isinstance(nargs, int)


def _note(result: Match, records: list[Object], remaining: list[tuple[int, str]]) -> None:
    """Turn what was recorded into occurrences; a word is looked for behind the one before."""
    used: set[int] = set()
    for argument, option, values in records:
        if not _is_known(argument):
            result.uncertain.append(f"how many values {argument.name} takes is not known")
        if values == [] and option is None:
            continue  # a positional argument that is not given
        if option is None and values is None:
            continue
        position = None
        if option is not None:
            for index, word in remaining:
                head = word.split("=", 1)[0]
                if index not in used and (option == head or (head.startswith("-") and option.startswith(head))):
                    position = index
                    break
                if index not in used and option == word[: len(option)] and not option.startswith("--"):
                    position = index
                    break
            if position is not None:
                used.add(position)
        result.occurrences.append(Occurrence(argument, option, values, position))


def _is_known(argument: Argument) -> bool:
    if argument.action in _NO_VALUE:
        return True
    return argument.action != "unknown" and _is_nargs(argument.nargs)


def _leftovers(result: Match, left: list[str], remaining: list[tuple[int, str]]) -> None:
    """Words that no argument takes: flags that do not exist, with what stands behind them, and surplus words."""
    groups: list[list[str]] = []
    kept = {index for index, _ in remaining}
    behind = iter(remaining)
    before = -2
    for word in left:
        index, text = next(((i, other) for i, other in behind if other == word), (before + 2, word))
        is_flag = word.startswith("-") and not _is_number(word)
        if not is_flag and index and index - 1 not in kept:
            before = index
            continue  # it stands behind a word that was refused, and goes with it
        if is_flag or not groups or index != before + 1:
            groups.append([])
        groups[-1].append(text)
        before = index
    for group in groups:
        is_flag = group[0].startswith("-") and not _is_number(group[0])
        kind = "unknown-flag" if is_flag else "word-surplus"
        text = f"unrecognized arguments: {' '.join(group)}"
        result.refusals.append(Refusal(kind, text, tuple(group), parser=result.parser))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _blame(error: Exception, parser: Parser, result: Match, texts: list[str]) -> set[int]:
    """Note what ``error`` says and return the words to take out before matching again; empty ends it."""
    message = getattr(error, "message", None) or str(error)
    name = getattr(error, "argument_name", None)
    argument = _by_name(parser, result.parser, name)
    full = f"argument {name}: {message}" if name and not message.startswith("argument ") else message
    if message.startswith("ambiguous option"):
        taken = {i for i, word in enumerate(texts) if _is_ambiguous(word, result.parser)}
        words = tuple(texts[i] for i in sorted(taken))
        result.refusals.append(Refusal("ambiguous-flag", full, words, parser=result.parser))
        return taken
    if "required" in message and argument is None:
        result.refusals.append(Refusal("required-missing", full, parser=result.parser))
        return set()
    if argument is None:
        kind = "unknown-command" if "invalid choice" in message else "refused"
        words = tuple(word for word in texts[:1] if not word.startswith("-"))
        result.refusals.append(Refusal(kind, full, words, parser=result.parser))
        return set()
    candidates = [i for i, word in enumerate(texts) if _names(word, argument)]
    if "explicit argument" in message:
        kind, taken = "value-surplus", [i for i in candidates if "=" in texts[i] or texts[i] not in argument.options]
    elif "not allowed with" in message:
        kind, taken = "exclusive", candidates[-1:]
    elif not argument.options:
        result.refusals.append(Refusal("value-missing", full, (), argument, result.parser))
        return set()
    else:
        kind = "value-missing"
        taken = [i for i in candidates if "=" not in texts[i] and (i + 1 == len(texts) or texts[i + 1].startswith("-"))]
    taken = taken[:1] or candidates[:1]
    words = tuple(texts[i] for i in taken)
    result.refusals.append(Refusal(kind, full, words, argument, result.parser))
    return set(taken)


def _by_name(parser: Parser, chosen: Parser, name: str | None) -> Argument | None:
    for argument in (*chosen.arguments, *parser.arguments):
        if name is not None and name in ("/".join(argument.options), argument.dest):
            return argument
    return None


def _names(word: str, argument: Argument) -> bool:
    head = word.split("=", 1)[0]
    if head in argument.options:
        return True
    if head.startswith("--"):
        return len(head) > 2 and any(option.startswith(head) for option in argument.options)
    return head.startswith("-") and any(
        head.startswith(option) for option in argument.options if not option.startswith("--")
    )


def _is_ambiguous(word: str, parser: Parser) -> bool:
    head = word.split("=", 1)[0]
    known = parser.by_option()
    return head.startswith("-") and head not in known and sum(option.startswith(head) for option in known) > 1
