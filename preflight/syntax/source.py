"""A source file as Python itself would decode it: byte order mark, coding cookie (PEP 263), and what goes wrong."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.tree import Tree

#: A Python source above this size is not compiled: its syntax tree would take gigabytes. The largest file of any vLLM
#: or transformers release is well under one megabyte.
MAX_BYTES = 8 * 1024 * 1024

_BOM = codecs.BOM_UTF8
#: PEP 263: a comment in one of the first two lines, the second only if the first is blank or a comment.
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_END_BYTES = re.compile(rb"\r\n|\r|\n")
_UTF16 = {codecs.BOM_UTF16_LE: "UTF-16 (little-endian)", codecs.BOM_UTF16_BE: "UTF-16 (big-endian)"}
#: What the first bytes of files that are no text say they are; for the message only, never for the decision.
_MAGIC = (
    (b"\x7fELF", "a compiled library or program (ELF)"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF document"),
)


@dataclass(frozen=True, slots=True)
class DecodeProblem:
    """Why a source has no text.

    ``kind`` is unreadable, too-big, null-byte, undecodable, unknown-encoding or bom-conflict.
    """

    kind: str
    message: str  #: one sentence
    line: int | None = None
    column: int | None = None
    help: str | None = None


class Source:
    """One file: its bytes, and the text Python would make of them.

    ``text`` has no byte order mark and keeps its line ends as they are; it is None when ``problem`` is set. Treat it as
    immutable.
    """

    __slots__ = ("_lines", "bom", "data", "encoding", "path", "problem", "text")

    def __init__(self, path: str, data: bytes, problem: DecodeProblem | None = None) -> None:
        self.path = path
        self.data = data
        self.bom = data.startswith(_BOM)
        self.encoding = "utf-8"
        self.text: str | None = None
        self.problem = problem
        self._lines: tuple[str, ...] | None = None
        if problem is None:
            self._decode()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends, split where Python splits; of an undecodable file, what can be shown of it."""
        if self._lines is None:
            text = self.text
            if text is None:
                text = self.data[:MAX_BYTES].decode("utf-8", "replace")
            self._lines = tuple(_LINE_END.split(text))
        return self._lines

    def _decode(self) -> None:
        body = self.data[len(_BOM) :] if self.bom else self.data
        if len(body) > MAX_BYTES:
            self.problem = DecodeProblem(
                "too-big",
                f"the file has {len(body):,} bytes; preflight compiles Python sources up to {MAX_BYTES:,} bytes",
            )
            return
        declared = _declared_encoding(body)
        if declared is not None:
            name, line = declared
            try:
                info = codecs.lookup(name)
            except (LookupError, ValueError):
                info = None
            if info is None or not getattr(info, "_is_text_encoding", True):
                self.problem = DecodeProblem(
                    "unknown-encoding",
                    f"the coding comment names {name!r}, which is no text encoding that Python knows",
                    line,
                    1,
                    "save the file as UTF-8 and drop the coding comment",
                )
                return
            if self.bom and info.name != "utf-8":
                self.problem = DecodeProblem(
                    "bom-conflict",
                    f"the file begins with a UTF-8 byte order mark, but its coding comment says {name!r}",
                    line,
                    1,
                    "drop the coding comment or the byte order mark; Python refuses the two together",
                )
                return
            self.encoding = info.name
        null = body.find(b"\0")
        if null >= 0:
            self.problem = self._null_byte(body, null)
            return
        try:
            self.text = body.decode(self.encoding)
        except UnicodeDecodeError as error:
            self.problem = _undecodable(body, error, self.encoding)
        except (ValueError, LookupError) as error:
            self.problem = DecodeProblem("undecodable", f"the file is not {self.encoding}: {error}", 1, 1)

    def _null_byte(self, body: bytes, at: int) -> DecodeProblem:
        for bom, name in _UTF16.items():
            if body.startswith(bom):
                return DecodeProblem(
                    "null-byte",
                    f"the file is saved as {name}; Python reads sources as UTF-8 and refuses it",
                    1,
                    1,
                    "save the file as UTF-8 (a PowerShell redirection writes UTF-16 unless told otherwise)",
                )
        what = _looks_like(body)
        line, column = _place(body, at)
        message = f"the file is {what}, not Python source" if what else "the file has a null byte, which Python refuses"
        return DecodeProblem(
            "null-byte", message, line, column, "copy the file again; it was overwritten or badly written"
        )


def decode(path: str, data: bytes) -> Source:
    """The source with this content."""
    return Source(path, data)


def encode_like(source: Source, text: str) -> bytes:
    """The bytes of ``text`` as the file of ``source`` has them: the same byte order mark, the same encoding.

    Raises UnicodeEncodeError where that encoding has no such character.
    """
    return (_BOM if source.bom else b"") + text.encode(source.encoding)


class SourceStore:
    """The sources of one tree, each read and decoded once.

    ``get`` never raises for a bad file: what cannot be read comes back as a Source whose ``problem`` says why.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._sources: dict[str, Source] = {}

    def get(self, path: str) -> Source:
        """The source at a tree-relative path."""
        source = self._sources.get(path)
        if source is None:
            source = self._sources[path] = self._load(path)
        return source

    def _load(self, path: str) -> Source:
        from preflight.tree import SourceUnreadable

        try:
            return Source(path, self._tree.read(path))
        except SourceUnreadable as error:
            return Source(path, b"", DecodeProblem("unreadable", f"the file cannot be read: {error.reason}"))


def _declared_encoding(body: bytes) -> tuple[str, int] | None:
    """The encoding that the first two lines name, and the line that names it."""
    start = 0
    for number in (1, 2):
        end = _LINE_END_BYTES.search(body, start, start + 4096)
        line = body[start : end.start() if end else start + 4096]
        found = _COOKIE.match(line)
        if found:
            return found.group(1).decode("ascii", "replace"), number
        if end is None or not _BLANK.match(line):
            return None
        start = end.end()
    return None


def _place(body: bytes, at: int) -> tuple[int, int]:
    """The line and column (in characters) of a byte offset."""
    line, start = 1, 0
    for end in _LINE_END_BYTES.finditer(body, 0, at):
        line, start = line + 1, end.end()
    return line, len(body[start:at].decode("utf-8", "replace")) + 1


def _looks_like(body: bytes) -> str | None:
    return next((what for magic, what in _MAGIC if body.startswith(magic)), None)


def _undecodable(body: bytes, error: UnicodeDecodeError, encoding: str) -> DecodeProblem:
    line, column = _place(body, error.start)
    for bom, name in _UTF16.items():
        if body.startswith(bom):
            return DecodeProblem(
                "undecodable", f"the file is saved as {name}; Python reads sources as UTF-8 and refuses it", 1, 1,
                "save the file as UTF-8",
            )  # fmt: skip
    what = _looks_like(body)
    if what:
        return DecodeProblem("undecodable", f"the file is {what}, not Python source", line, column)
    byte = body[error.start]
    message = f"the byte 0x{byte:02x} is not valid {encoding.upper()}, in which Python reads this file"
    hint = None
    try:
        guess = bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        guess = ""
    if guess.isprintable() and guess and encoding == "utf-8":
        hint = f"save the file as UTF-8; if it was written as Windows-1252, the byte is meant to be {guess!r}"
    return DecodeProblem("undecodable", message, line, column, hint or "save the file as UTF-8")
