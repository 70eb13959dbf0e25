"""Whether any code of the tree gives a config an attribute."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.program.texts import Texts


def is_set(texts: Texts, name: str, *, keys: bool = True, aside: frozenset[str] = frozenset()) -> bool:
    """Whether code of the tree, but for the modules ``aside``, sets an attribute of this name on something called a
    config, or one by this name as a text; with ``keys`` also whether it has the name as a key of a dictionary, or in a
    list that a loop may go over.

    What is set from a variable of its own name (``config.x = x``) was read under this name before.
    """
    word = re.escape(name.encode())
    quoted = rb"[\"']" + word + rb"[\"']"
    from_itself = rb"(?!\s*" + word + rb"\s*$)"
    sets = rb"(?m)config\w*\." + word + rb"\s*(?::[^=\n]+)?=(?!=)" + from_itself + rb"|setattr\(\s*[\w.]+,\s*" + quoted
    if keys:
        sets += rb"|" + quoted + rb"\s*(?::|\]\s*=(?!=))|for \w+ in [\[(][^\])]*" + quoted
    return any(module.name not in aside for module in texts.matching(sets, name))
