"""Which flags carry what a report must not show, since others will read it."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "***"
#: by the last word of the name: ``api_key``, ``--hf-token``; ``max_num_batched_tokens`` has a number, which is shown
_SECRET = re.compile(r"(?:^|[_-])(?:api[_-]?keys?|tokens?|password|secret)$", re.IGNORECASE)


def shareable(name: str, value: Any) -> Any:  # noqa: ANN401 - any value of the reading
    """The value of a flag for a report: not that of a key, a token or a password."""
    hides = _SECRET.search(name.partition("=")[0]) and value and not isinstance(value, (bool, int, float))
    return HIDDEN if hides and not str(value).isdigit() else value
