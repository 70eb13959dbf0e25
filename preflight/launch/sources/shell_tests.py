"""The tests of a shell script: ``[ -n "$X" ]``, ``test``, ``[[ ... ]]``, decided where all their words are known.

What a test asks of the machine (files, for one) is not known, and nothing is guessed: the answer is then None.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence

from preflight.launch.sources.shell_blocks import behind_simple
from preflight.launch.sources.shell_tokens import Token
from preflight.launch.sources.shell_variables import Variables
from preflight.launch.unresolved import is_open

#: commands that only answer
TESTS = frozenset({"[", "test", "true", "false", ":"})
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_COMPARED = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
#: what the shell makes other words of, where it is not quoted
_EXPANDED = re.compile(r"[*?\[~{]")
_DEEPEST = 20


class Tests:
    """Answers for one script. ``plain``: its shell may be one that knows the tests of POSIX only."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self.plain = False

    def condition(self, tokens: Sequence[Token]) -> bool | None:
        """Whether a list of tests, joined by ``&&`` and ``||``, succeeds; None if that is not known, or if it does
        anything else."""
        while tokens and tokens[-1].operator in (";", "\n"):
            tokens = tokens[:-1]
        result: bool | None = None
        joined = ""
        at = 0
        while at < len(tokens):
            negated = False
            while at < len(tokens) and tokens[at].plain == "!":
                negated = not negated
                at += 1
            end = behind_simple(tokens, at)
            answer = self.command(tokens[at:end])
            answer = not answer if negated and answer is not None else answer
            result = _joined(joined, result, answer)
            if end < len(tokens):
                joined = tokens[end].operator
                if joined not in ("&&", "||"):
                    return None
            at = end + 1
            while at < len(tokens) and tokens[at].operator == "\n":
                at += 1
        return result

    def command(self, tokens: Sequence[Token]) -> bool | None:
        """Whether one command, which is a test, succeeds; None for another one, and where that is not known."""
        name = tokens[0].plain if tokens else None
        self._variables.asked_unsure = False
        if name == "[[":
            if self.plain or tokens[-1].plain != "]]":
                return None
            answer = _Double(self._variables, tokens[1:-1]).answer()
        elif name not in TESTS or any(token.operator for token in tokens):
            return None
        elif name in ("true", ":"):
            answer = True
        elif name == "false":
            answer = False
        elif name == "[":
            answer = self._single(tokens[1:-1]) if tokens[-1].plain == "]" else None
        else:
            answer = self._single(tokens[1:])
        return None if self._variables.asked_unsure else answer

    def _single(self, tokens: Sequence[Token]) -> bool | None:
        words: list[str] = []
        for token in tokens:
            made = self._variables.fields(token.pieces)
            unquoted = any(not piece.quoted for piece in token.pieces)
            if any(is_open(word) or (unquoted and _EXPANDED.search(word)) for word in made):
                return None
            words += made
        return self._of_words(words)

    def _of_words(self, words: list[str]) -> bool | None:
        """What POSIX says of so many words."""
        match words:
            case []:
                return False
            case [word]:
                return bool(word)
            case [left, sign, right] if sign == "=" or sign == "!=" or (sign == "==" and not self.plain):
                return (left == right) is not (sign == "!=")
            case [left, sign, right] if sign in _COMPARED:
                return _numbers(left, sign, right)
            case ["=" | "==" | "!=", _]:
                return False  # an empty variable without quotes: the shell complains of the test
            case ["!", *rest] if len(rest) < 4:
                answer = self._of_words(rest)
                return None if answer is None else not answer
            case ["-n", word]:
                return bool(word)
            case ["-z", word]:
                return not word
        return None


class _Double:
    """The inside of one ``[[ ... ]]``."""

    def __init__(self, variables: Variables, tokens: Sequence[Token]) -> None:
        self._variables = variables
        self._tokens = [token for token in tokens if token.operator != "\n"]
        self._at = 0
        self._depth = 0

    def answer(self) -> bool | None:
        """Whether it holds; None if that is not known, or if it cannot be read."""
        try:
            found = self._either()
        except _Odd:
            return None
        return found if self._at == len(self._tokens) else None

    def _either(self) -> bool | None:
        found = self._both()
        while self._takes("||"):
            found = _joined("||", found, self._both())
        return found

    def _both(self) -> bool | None:
        found = self._one()
        while self._takes("&&"):
            found = _joined("&&", found, self._one())
        return found

    def _one(self) -> bool | None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Odd
        try:
            if self._takes("("):
                found = self._either()
                if not self._takes(")"):
                    raise _Odd
                return found
            token = self._next()
            if token.plain == "!":
                found = self._one()
                return None if found is None else not found
            return self._primary(token)
        finally:
            self._depth -= 1

    def _primary(self, token: Token) -> bool | None:
        following = self._tokens[self._at] if self._at < len(self._tokens) else None
        sign = following.plain if following is not None else None
        if sign in ("=", "==", "!="):
            self._at += 1
            same = self._matches(self._text(token), self._next())
            return None if same is None else same is not (sign == "!=")
        if sign in _COMPARED:
            self._at += 1
            left, right = self._text(token), self._text(self._next())
            return None if left is None or right is None else _numbers(left, sign, right)
        if token.plain in ("-n", "-z") and following is not None and not following.operator:
            self._at += 1
            text = self._text(following)
            return None if text is None else bool(text) is (token.plain == "-n")
        if (token.plain or "").startswith("-") or (following is not None and not following.operator):
            raise _Odd  # it asks for something else
        text = self._text(token)
        return None if text is None else bool(text)

    def _matches(self, left: str | None, token: Token) -> bool | None:
        """Whether a text is as a pattern says; what is quoted in it stands for itself."""
        pattern: list[str] = []
        for piece in token.pieces:
            text = self._text(Token(token.line, "", (piece,)))
            if text is None:
                return None
            if piece.quoted:
                pattern.append(re.escape(text))
            elif re.search(r"[\[\\~]|[?*+@!]\(", text):
                return None
            else:
                pattern += [{"*": ".*", "?": "."}.get(one, re.escape(one)) for one in text]
        return None if left is None else re.fullmatch("".join(pattern), left, re.DOTALL) is not None

    def _text(self, token: Token) -> str | None:
        if token.operator:
            raise _Odd
        made = self._variables.fields(token.pieces, split=False)
        return None if len(made) > 1 or any(map(is_open, made)) else "".join(made)

    def _takes(self, sign: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at].operator == sign
        self._at += found
        return found

    def _next(self) -> Token:
        if self._at >= len(self._tokens) or self._tokens[self._at].operator:
            raise _Odd
        self._at += 1
        return self._tokens[self._at - 1]


class _Odd(Exception):
    """Something that is not read."""


def _joined(sign: str, left: bool | None, right: bool | None) -> bool | None:
    """``left && right`` or ``left || right``, of which either may not be known; ``right`` where nothing joins them."""
    if not sign:
        return right
    deciding = sign == "||"
    if deciding in (left, right):
        return deciding
    return None if left is None or right is None else not deciding


def _numbers(left: str, sign: str, right: str) -> bool | None:
    if _NUMBER.fullmatch(left) is None or _NUMBER.fullmatch(right) is None:
        return None
    return _COMPARED[sign](int(left), int(right))
