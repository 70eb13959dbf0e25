"""The texts beside the tree by the words in them: each is read once, however many names are looked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(rb"\w+")


class Words:
    """Which of some texts hold a word."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = tuple(texts)
        self._with: dict[bytes, list[bytes]] = {}
        for text in self._texts:
            for word in set(_WORD.findall(text)):
                self._with.setdefault(word, []).append(text)

    def texts_with(self, name: str) -> Sequence[bytes]:
        """The texts that hold a name as a whole word; all of them, for a name with letters that bytes do not tell."""
        return self._with.get(name.encode(), ()) if name.isascii() else self._texts
