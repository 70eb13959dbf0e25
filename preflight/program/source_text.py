"""The text of one file as its syntax tree counts it: pieces of source with places, and what the text alone tells."""

from __future__ import annotations

import ast
import re

from preflight.program.facts import Expression


class SourceText:
    """The lines of a file, in UTF-8 and with plain line feeds, as the offsets of its syntax tree count them."""

    def __init__(self, data: bytes) -> None:
        text = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            text = _as_utf8(data)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.lines = text.split(b"\n")
        self.ascii = text.isascii()

    # -- places ---------------------------------------------------------------------------------------------------

    def column(self, line: int, offset: int) -> int:
        """The column, from 1 and in characters, of a byte offset in a line."""
        if self.ascii:
            return offset + 1
        return len(self.lines[line - 1][:offset].decode("utf-8", "replace")) + 1

    def expression(self, node: ast.expr) -> Expression:
        """The source of an expression."""
        line, end = node.lineno, node.end_lineno or node.lineno
        start, stop = node.col_offset, node.end_col_offset or 0
        if line == end:
            piece = self.lines[line - 1][start:stop]
        else:
            piece = b"\n".join([self.lines[line - 1][start:], *self.lines[line : end - 1], self.lines[end - 1][:stop]])
        return Expression(piece.decode("utf-8", "replace"), line, self.column(line, start))

    def maybe(self, node: ast.expr | None) -> Expression | None:
        """The source of an expression that may not be there."""
        return None if node is None else self.expression(node)

    def dynamic_text(self) -> list[tuple[str, int]]:
        """Where the file writes names that no statement spells out, in functions too: found in its text."""
        text = b"\n".join(self.lines)
        if b"in globals()" in text:
            text = _REPLACED.sub(rb"\1", text)
        found: list[tuple[str, int]] = []
        for word, pattern, what in _DYNAMIC:
            if word in text:
                found.extend((what, text.count(b"\n", 0, match.start()) + 1) for match in pattern.finditer(text))
        return sorted(set(found), key=lambda entry: entry[1])


def _dynamic(word: bytes, pattern: bytes, what: str) -> tuple[bytes, re.Pattern[bytes], str]:
    return word, re.compile(pattern, re.MULTILINE), what


#: what makes names at run time: a word that is quick to search for, the pattern, and what is said of it
_DYNAMIC = (
    _dynamic(
        b"globals()",
        rb"\bglobals\(\)\s*\.\s*(?:update|setdefault|pop|clear|__setitem__)\b",
        "globals() is changed",
    ),
    _dynamic(b"globals()", rb"\bglobals\(\)\s*\[[^\]\n]*\]\s*(?:=(?!=)|[-+|&]=)", "globals()[...] is assigned"),
    _dynamic(b"globals()", rb"=\s*globals\(\)\s*(?:#.*)?$", "globals() is kept"),
    _dynamic(b"globals()", rb"\b(?:exec|eval)\([^)\n]*globals\(\)", "code is run in globals()"),
    _dynamic(
        b"sys.modules",
        rb"\bsys\.modules\[\s*(?!__name__\s*\])[^\]\n]*\]\s*=(?!=)",
        "sys.modules is written",
    ),
    _dynamic(b"sys.modules", rb"\bsys\.modules\s*\.\s*(?:update|setdefault|__setitem__)\b", "sys.modules is written"),
    _dynamic(
        b"sys.modules",
        rb"\b(?:setattr|vars)\(\s*sys\.modules\[\s*__name__|sys\.modules\[\s*__name__\s*\]\s*\.__dict__",
        "names are set on the module in sys.modules",
    ),
    _dynamic(b"sys.meta_path", rb"\bsys\.meta_path\s*\.\s*(?:append|insert|extend)\b", "sys.meta_path gets a finder"),
)


#: a name gets another value if it has one already: that makes no new names
_REPLACED = re.compile(rb"(\b(?:el)?if\s+(\w+)\s+in\s+globals\(\):[ \t]*\n[ \t]+)globals\(\)\[\2\]\s*=(?!=)")


def _as_utf8(data: bytes) -> bytes:
    """Source in another encoding, as the offsets of its syntax tree count it: in UTF-8."""
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding, "replace").encode("utf-8")
    except (SyntaxError, LookupError):
        return data
