"""Bytes of a log -> the lines that matter, in constant memory and in time linear in the size.

A log may have gigabytes, of which a launch's failure is a few hundred lines. Whole runs of INFO lines are skipped by
one regular expression; what is no such line is searched for a few words, which ``bytes.find`` does at gigabytes a
second; and only lines that have one of them, or follow closely on one that asked for it, are looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

#: Of a longer line only the beginning is read: no line of a launch that matters is near this long.
LONGEST_LINE = 16 * 1024
#: What has no line end for so long is taken as a line; the memory that a log can cost hangs on it.
LONGEST_CARRY = 1 << 20
#: So much is searched for words before looking for a run of dull lines again.
_STRETCH = 1024
_TAIL = 8 * 1024
#: Two drawings of the same progress bar begin with the same characters; only the last one is read.
_ALIKE = 16


class Scanner:
    """Cuts lines out of blocks.

    ``each(number, line)`` is called for every line that matters, in order. It answers None, or, when the following
    line matters too, whatever is in it, a beginning: lines that begin so may be given to ``many(number, lines)`` as one
    piece, until another comes; with b"" each is given by itself. ``dull`` matches runs of whole lines that do not
    matter, ``words`` stand in those that do.
    """

    def __init__(
        self,
        each: Callable[[int, bytes], bytes | None],
        many: Callable[[int, list[bytes]], None],
        dull: re.Pattern[bytes],
        words: tuple[bytes, ...],
        lines_before: int = 0,
    ) -> None:
        self._each = each
        self._many = many
        self._dull = dull
        self._words = words
        self._carry: list[bytes] = []
        self._carried = 0
        self._number = lines_before + 1  #: of the line that the next byte belongs to
        self._next: bytes | None = None  #: the last answer of ``each``
        self._returns = False  #: carriage returns are in the block
        self._tail = b""
        self.size = 0

    def feed(self, data: bytes) -> None:
        """The next bytes of the log."""
        self.size += len(data)
        # A carriage return ends a line too: progress bars are drawn with it, often for minutes without a line feed.
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not cut and self._carried + len(data) <= LONGEST_CARRY:
            self._carry.append(data)
            self._carried += len(data)
            return
        cut = cut or len(data)
        block = b"".join((*self._carry, data[:cut]))
        rest = data[cut:]
        self._carry, self._carried = ([rest], len(rest)) if rest else ([], 0)
        self._block(block)

    def finish(self, but: bytes) -> tuple[int, bytes]:
        """The end of the log. Returns the number of its last line that is not blank and does not begin with ``but``,
        and the line."""
        if self._carry:
            block = b"".join(self._carry)
            self._carry, self._carried = [], 0
            self._block(block)
        lines = self._tail.split(b"\n")
        for back, line in enumerate(reversed(lines)):
            last = line.rstrip().rpartition(b"\r")[2]
            if last and not last.startswith(but):
                return self._number - back, last[:LONGEST_LINE]
        return self._number, b""

    def _block(self, block: bytes) -> None:
        self._tail = (self._tail + block)[-_TAIL:] if len(block) < _TAIL else block[-_TAIL:]
        self._returns = b"\r" in block
        at, end = 0, len(block)
        while at < end:
            if self._next is not None:
                at = self._closely(block, at)
                continue
            run = self._dull.match(block, at)
            if run is not None:
                self._number += block.count(b"\n", at, run.end())
                at = run.end()
                continue
            # A stretch ends with a line, so that the next run is looked for at the beginning of one.
            until = _end_of_line(block, min(at + _STRETCH, end - 1)) + 1
            for start in self._hits(block, at, until):
                if start >= at:
                    self._number += block.count(b"\n", at, start)
                    at = self._closely(block, start)
                    if self._next is not None:
                        break
            else:
                self._number += block.count(b"\n", at, until)
                at = max(at, until)

    def _closely(self, block: bytes, at: int) -> int:
        """Look at the line that begins at ``at``, and at those behind it for as long as they are asked for. Returns
        where the next one begins."""
        end = len(block)
        while True:
            stop = block.find(b"\n", at)
            if stop < 0:
                stop = end
            line = block[at:stop]
            if line.endswith(b"\r"):
                line = line[:-1]
            if len(line) > LONGEST_LINE or b"\r" in line:
                self._pieces(line)
            else:
                self._next = self._each(self._number, line)
            at = stop + 1
            self._number += stop < end
            if self._next and at < end:
                at = self._together(block, at)
            if self._next is None or at >= end:
                return at

    def _together(self, block: bytes, start: int) -> int:
        """Give the lines at ``start`` that begin as ``each`` has said as one piece. Returns where the next begins."""
        beginning, at = self._next or b"", start
        while block.startswith(beginning, at):
            stop = block.find(b"\n", at)
            if stop < 0 or stop - at > LONGEST_LINE or (self._returns and -1 < block.find(b"\r", at, stop) < stop - 1):
                break
            at = stop + 1
        if at > start:
            piece = block[start : at - 1]
            lines = (piece.replace(b"\r\n", b"\n").rstrip(b"\r") if self._returns else piece).split(b"\n")
            self._many(self._number, lines)
            self._number += len(lines)
        return at

    def _hits(self, block: bytes, start: int, until: int) -> list[int]:
        """Where the lines with a word begin."""
        found: set[int] = set()
        for word in self._words:
            at = block.find(word, start, until)
            while at >= 0:
                found.add(block.rfind(b"\n", start, at) + 1 or start)
                stop = block.find(b"\n", at, until)
                if stop < 0:
                    break
                at = block.find(word, stop + 1, until)
        return sorted(found)

    def _pieces(self, line: bytes) -> None:
        """A very long line, or the many pieces of one that a progress bar has drawn one over the other."""
        pieces = line.rstrip(b"\r").split(b"\r")
        for index, piece in enumerate(pieces):
            following = pieces[index + 1] if index + 1 < len(pieces) else b""
            if piece and piece[:_ALIKE] != following[:_ALIKE]:
                self._next = self._each(self._number, piece[:LONGEST_LINE])


def _end_of_line(block: bytes, at: int) -> int:
    stop = block.find(b"\n", at)
    return len(block) if stop < 0 else stop
