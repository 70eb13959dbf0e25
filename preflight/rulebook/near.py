"""The way out of a misspelling."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Up to ``most`` words of ``known`` that are spelt like ``word``, the nearest first; capitals do not count."""
    from difflib import get_close_matches  # only errors need it

    known = list(known)
    return get_close_matches(word, known, n=most) or get_close_matches(word.upper(), known, n=most)


def did_you_mean(word: str, known: Iterable[str], most: int = 1) -> str:
    """The same as the beginning of a hint, ``did you mean `syntax-error`? ``; "" when nothing is near."""
    near = nearest(word, known, most)
    return f"did you mean {' or '.join(f'`{other}`' for other in near)}? " if near else ""
