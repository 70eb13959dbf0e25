"""Room for the frames of deep calls."""

from __future__ import annotations

import pytest

from preflight.room import with_room


def deep(calls: int) -> int:
    return 0 if calls == 0 else 1 + deep(calls - 1)


def test_it_gives_what_the_work_gives_and_raises_what_it_raises() -> None:
    assert with_room(lambda: deep(500)) == 500
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: 1 // 0)


def test_its_frame_does_not_fit_into_a_common_chunk() -> None:
    assert with_room.__code__.co_stacksize * 8 > 16 * 1024
