"""Whether any code of the tree gives a config an attribute."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.checks.inference.texts import Texts


def is_set(texts: Texts, name: str) -> bool:
    """Whether code of the tree sets an attribute of this name on something called a config, sets one by this name as
    a text, or has the name as a key of a dictionary or in a list that a loop may go over."""
    word = re.escape(name.encode())
    quoted = rb"[\"']" + word + rb"[\"']"
    sets = (
        rb"config\w*\."
        + word
        + rb"\s*(?::[^=\n]+)?=(?!=)|setattr\(\s*[\w.]+,\s*"
        + quoted
        + rb"|"
        + quoted
        + rb"\s*(?::|\]\s*=(?!=))|for \w+ in [\[(][^\])]*"
        + quoted
    )
    return bool(texts.matching(sets, name))
