"""Places and edits: lines as Python counts them, and edits that change nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.model import Edit
from preflight.syntax.diagnose.model import Shifts
from preflight.syntax.fixes import LineIndex, Patch, apply_edits, carry_out

TEXTS = st.text(alphabet="ab(\r\n\u00e9\u2028\x0c", max_size=40)


@given(TEXTS)
def test_place_and_offset_are_inverse(text: str) -> None:
    index = LineIndex(text)
    for offset in range(len(text) + 1):
        assert index.offset(*index.place(offset)) == offset


@given(TEXTS)
def test_lines_are_those_of_python(text: str) -> None:
    index = LineIndex(text)
    assert "".join(index.whole_lines()) == text
    assert index.lines() == text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@given(TEXTS, st.data())
def test_patches_change_only_what_they_name(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    patches = [Patch(start, end, data.draw(st.sampled_from(["", "x", "y\n"]))) for start, end in pairs]
    index = LineIndex(text)
    edits = [Edit("x.py", index.place(p.start), index.place(p.end), p.new) for p in patches]
    expected = text
    for patch in reversed(patches):
        expected = expected[: patch.start] + patch.new + expected[patch.end :]
    assert carry_out(text, patches) == expected
    assert apply_edits(text, edits) == expected


@given(TEXTS.filter(bool), st.data())
def test_shifts_lead_back_to_what_was_read(text: str, data: st.DataObject) -> None:
    shifts, now = Shifts(), text
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(now)))
        patch = Patch(start, data.draw(st.integers(start, len(now))), data.draw(st.sampled_from(["", "Z", "ZZ"])))
        now = carry_out(now, [patch])
        shifts.add((patch,))
    for offset, char in enumerate(now):
        if char != "Z":
            assert text[shifts.back(offset)] == char


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abc", [Edit("x.py", (1, 1), (1, 3), ""), Edit("x.py", (1, 2), (1, 4), "")])
