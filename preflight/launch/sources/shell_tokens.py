"""A shell script into tokens: words made of pieces, and operators. The grammar is that of POSIX sh with the parts of
bash that launch scripts use (arrays, ``$'...'``, here-strings, ``&>``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPERATORS = ("<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "<<", ">>", ">&", "<&", "&>", "<>", ">|", "|&",
              "|", "&", ";", "(", ")", "<", ">", "\n")  # fmt: skip
REDIRECTIONS = frozenset({"<", ">", ">>", "<>", ">|", ">&", "<&", "&>", "&>>", "<<<"})
#: a backslash at the end of a line joins it with the next before anything else is read, also inside a name
_JOINED = r"(?:\\\r?\n)*"
_NAME = re.compile(rf"{_JOINED}[A-Za-z_](?:{_JOINED}[A-Za-z0-9_])*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "e": "\x1b"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word. ``kind``: "text", "parameter" (``text`` is what stands between the braces) or "output" (of a
    command or a calculation, ``text`` as it is written). ``quoted``: it is never split."""

    kind: str
    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or an operator (then ``pieces`` is empty). A new line is the operator ``\\n``."""

    line: int
    operator: str = ""
    pieces: tuple[Piece, ...] = ()

    @property
    def plain(self) -> str | None:
        """The text of a word without quotes and expansions; None for others."""
        if len(self.pieces) == 1 and self.pieces[0].kind == "text" and not self.pieces[0].quoted:
            return self.pieces[0].text
        return None


class ShellSyntaxError(ValueError):
    """The text is no shell script: a quote or a bracket is never closed."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Scanner:
    """Reads a script from its start. Line numbers count from ``line``."""

    def __init__(self, text: str, line: int = 1) -> None:
        self._text = text
        self._at = 0
        self._line = line
        self._heredocs: list[tuple[str, bool]] = []

    def tokens(self) -> Iterator[Token]:
        """All tokens. Raises ShellSyntaxError."""
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                return
            line = self._line
            operator = self._operator()
            if operator in ("<<", "<<-"):
                self._begin_heredoc(operator == "<<-")
            elif operator:
                if operator == "\n":
                    self._line += 1
                    self._skip_heredocs()
                yield Token(line, operator)
            else:
                pieces = self._word()
                if pieces is not None:
                    yield Token(line, "", pieces)

    def _skip_blanks(self) -> None:
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if character in " \t\r":
                self._at += 1
            elif text.startswith(("\\\n", "\\\r\n"), self._at):
                self._at += 2 if text[self._at + 1] == "\n" else 3
                self._line += 1
            elif character == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _operator(self) -> str:
        for operator in _OPERATORS:
            if self._text.startswith(operator, self._at):
                if operator == "<" and self._text.startswith("<(", self._at):
                    return ""  # process substitution: a word
                self._at += len(operator)
                return operator
        return ""

    # -- words --------------------------------------------------------------------------------------------------------

    def _word(self) -> tuple[Piece, ...] | None:
        """The word at hand; None for the number of a file descriptor before a redirection."""
        pieces: list[Piece] = []
        plain: list[str] = []

        def flush() -> None:
            if plain:
                pieces.append(Piece("text", "".join(plain), False))
                plain.clear()

        text = self._text
        start = self._at
        while self._at < len(text):
            character = text[self._at]
            if character in " \t\r\n|&;()<>":
                if character in "<>" and text[start : self._at].isdigit():
                    return None
                if (character == "(" and plain and plain[-1] == "=") or (
                    character in "<>" and text[self._at + 1 : self._at + 2] == "("
                ):
                    if character == "(":
                        break  # an array: the reader goes on
                    self._at += 1
                    flush()
                    pieces.append(Piece("output", "<(" + self._brackets("(", ")") + ")", True))
                    continue
                break
            if character == "\\":
                if text.startswith(("\\\n", "\\\r\n"), self._at):
                    self._at += 2 if text[self._at + 1] == "\n" else 3
                    self._line += 1
                    continue
                flush()
                pieces.append(Piece("text", text[self._at + 1 : self._at + 2], True))
                self._at += 2
            elif character == "'":
                flush()
                pieces.append(Piece("text", self._single_quoted(), True))
            elif character == '"':
                flush()
                pieces.extend(self._double_quoted())
            elif character == "$" and text.startswith("$'", self._at):
                flush()
                self._at += 1
                pieces.append(Piece("text", self._ansi_quoted(), True))
            elif character in "$`":
                flush()
                pieces.append(self._expansion(quoted=False))
            else:
                plain.append(character)
                self._at += 1
        flush()
        return tuple(pieces)

    def _single_quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise ShellSyntaxError("a single quote is never closed", self._line)
        inside = self._text[self._at + 1 : end]
        self._line += inside.count("\n")
        self._at = end + 1
        return inside

    def _ansi_quoted(self) -> str:
        parts: list[str] = []
        line = self._line
        self._at += 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "'":
                self._at += 1
                return "".join(parts)
            if character == "\\":
                self._at += 1
                escaped = self._text[self._at : self._at + 1]
                parts.append(_ESCAPES.get(escaped, "\\" + escaped))
            else:
                self._line += character == "\n"
                parts.append(character)
            self._at += 1
        raise ShellSyntaxError("a quote is never closed", line)

    def _double_quoted(self) -> list[Piece]:
        pieces: list[Piece] = [Piece("text", "", True)]
        line = self._line
        parts: list[str] = []
        self._at += 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == '"':
                self._at += 1
                pieces.append(Piece("text", "".join(parts), True))
                return [piece for piece in pieces if piece.text or piece.kind != "text"] or pieces[:1]
            if character == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                if following == "\n":
                    self._line += 1
                else:
                    parts.append(following if following and following in '$`"\\' else "\\" + following)
                self._at += 2
            elif character in "$`":
                pieces.append(Piece("text", "".join(parts), True))
                parts.clear()
                pieces.append(self._expansion(quoted=True))
            else:
                self._line += character == "\n"
                parts.append(character)
                self._at += 1
        raise ShellSyntaxError("a double quote is never closed", line)

    def _expansion(self, quoted: bool) -> Piece:
        text = self._text
        if text[self._at] == "`":
            end = text.find("`", self._at + 1)
            if end < 0:
                raise ShellSyntaxError("a backquote is never closed", self._line)
            inside = text[self._at : end + 1]
            self._line += inside.count("\n")
            self._at = end + 1
            return Piece("output", inside, quoted)
        self._at += 1
        if text.startswith("{", self._at):
            return Piece("parameter", self._brackets("{", "}"), quoted)
        if text.startswith("(", self._at):
            return Piece("output", f"$({self._brackets('(', ')')})", quoted)
        name = _NAME.match(text, self._at)
        if name is not None:
            self._at = name.end()
            self._line += name.group().count("\n")
            return Piece("parameter", re.sub(_JOINED, "", name.group()), quoted)
        special = text[self._at : self._at + 1]
        if special and special in "@*#?-$!0123456789":
            self._at += 1
            return Piece("parameter", special, quoted)
        return Piece("text", "$", True)

    def _brackets(self, opening: str, closing: str) -> str:
        """What stands between the bracket at hand and the one that closes it, quotes respected."""
        line = self._line
        depth = 0
        start = self._at
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "\\":
                self._at += 1
            elif character == "'" and opening == "(":
                self._single_quoted()
                continue
            elif character == '"':
                self._skip_double_quoted()
                continue
            elif character == opening:
                depth += 1
            elif character == closing:
                depth -= 1
                if not depth:
                    self._at += 1
                    return self._text[start + 1 : self._at - 1]
            self._line += character == "\n"
            self._at += 1
        raise ShellSyntaxError(f"a {opening!r} is never closed", line)

    def _skip_double_quoted(self) -> None:
        line = self._line
        self._at += 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "\\":
                self._at += 1
            elif character == '"':
                self._at += 1
                return
            self._line += character == "\n"
            self._at += 1
        raise ShellSyntaxError("a double quote is never closed", line)

    # -- here-documents -----------------------------------------------------------------------------------------------

    def _begin_heredoc(self, tabs: bool) -> None:
        self._skip_blanks()
        pieces = self._word() or ()
        self._heredocs.append(("".join(piece.text for piece in pieces), tabs))

    def _skip_heredocs(self) -> None:
        """Behind a new line: the texts of the here-documents that the line began."""
        for delimiter, tabs in self._heredocs:
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line = self._text[self._at : end].rstrip("\r")
                self._at = min(end + 1, len(self._text))
                self._line += 1
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self._heredocs.clear()
