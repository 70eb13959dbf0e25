"""Tests that a shell script makes: of files, of text, and whether a file has a text. None where nobody can say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from preflight.tree.scripts.files import ANYWHERE, Files, Place
from preflight.tree.scripts.sed import NotFollowed, posix_pattern
from preflight.tree.scripts.texts import TooMuch, checked_pattern


def test_holds(words: Sequence[str], files: Files, place: Callable[[str], Place]) -> bool | None:
    """``[ -f x ]``, ``test "$a" = b`` and ``[[ ... ]]`` of one condition; ``words`` without the name and the ``]``."""
    words = [*words]
    negated = False
    while words[:1] == ["!"]:
        negated = not negated
        words.pop(0)
    answer: bool | None = None
    if len(words) == 2 and words[0] in ("-f", "-e", "-r", "-s", "-d"):
        found = place(words[1])
        if found.tree is not None:
            is_file = files.data(found) is not None
            is_folder = bool(files.is_folder(found))
            answer = {"-d": is_folder, "-e": is_file or is_folder}.get(words[0], is_file)
        elif words[0] != "-d" and files.data(found):
            answer = True  # what is not at hand may be there or not
    elif any(ANYWHERE in word for word in words):
        return None
    elif len(words) == 2 and words[0] in ("-z", "-n"):
        answer = (words[1] == "") is (words[0] == "-z")
    elif len(words) == 3 and words[1] in ("=", "==", "!=") and not re.search(r"[*?\[]", words[2]):
        answer = (words[0] == words[2]) is (words[1] != "!=")
    return answer if answer is None else answer is not negated


def text_holds(name: str, letters: str, pattern: str, data: bytes) -> bool | None:
    """Whether ``grep``, by this name and with these options, finds a pattern in a file."""
    if set(letters) - set("qFEnsecHhw"):
        return None
    if name == "fgrep" or "F" in letters:
        wanted = re.escape(pattern)
    else:
        try:
            wanted = posix_pattern(pattern, name == "egrep" or "E" in letters)
            checked_pattern(wanted)
        except (TooMuch, NotFollowed, re.error):
            return None
    if "w" in letters:
        wanted = rf"(?<!\w)(?:{wanted})(?!\w)"
    try:
        return any(re.search(wanted, line) for line in data.decode("utf-8", "replace").splitlines())
    except re.error:
        return None
