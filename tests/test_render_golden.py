"""Every renderer on every situation, against the golden files. ``python tests/golden.py`` writes them anew."""

from __future__ import annotations

import pytest
from golden import FOLDER, rendered

RENDERED = rendered()


@pytest.mark.parametrize("name", sorted(RENDERED))
def test_golden_file(name: str) -> None:
    assert RENDERED[name] == (FOLDER / name).read_text("utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {file.name for file in FOLDER.iterdir()} == RENDERED.keys()
