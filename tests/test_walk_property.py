"""The walk against CPython: what it says is certain must be what happens, for every value that an unknown can take."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from walk_programs import plain, possible_values, program, run_real, shown, walk

PROGRAMS = st.randoms(use_true_random=False).map(program)
INPUTS = (0, 1, 2, 3, -3, 5, None, "s", "", True, [1, 2], {"x": 1}, 2.5)
MODEST = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def fresh(value: Any) -> Any:
    """A copy, since a program may change what it is given."""
    return value.copy() if isinstance(value, (list, dict)) else value


@MODEST
@given(PROGRAMS, st.sampled_from(INPUTS), st.sampled_from(INPUTS))
def test_with_all_inputs_known_the_walk_says_what_python_does(text: str, a: Any, b: Any) -> None:
    real = run_real(text, (fresh(a), fresh(b)))
    walked = walk(text, (fresh(a), fresh(b)), (False, False))
    if real is None or walked is None:
        return
    if walked.exits:
        assert (real.error, real.line) in walked.exits, (shown(text), walked.exits, real)
        return
    options = possible_values(walked)
    if options is None or not all(plain(option) for option in options):
        return
    assert real.error is None, (shown(text), options, real)
    assert repr(real.value) in [repr(option) for option in options], (shown(text), options, real)


@MODEST
@given(PROGRAMS, st.sampled_from(INPUTS), st.tuples(st.booleans(), st.booleans()).filter(any))
def test_what_is_certain_with_unknown_inputs_holds_for_each_of_them(
    text: str, known: Any, hidden: tuple[bool, bool]
) -> None:
    walked = walk(text, (fresh(known), fresh(known)), hidden)
    if walked is None:
        return
    options = possible_values(walked) if not walked.exits else None
    if not walked.exits and (options is None or not all(plain(option) for option in options)):
        return
    for value in INPUTS:
        arguments = tuple(fresh(value) if unknown else fresh(known) for unknown in hidden)
        real = run_real(text, arguments)
        if real is None:
            continue
        if walked.exits:
            # something else that is not known may have raised before; but no way leads through
            assert real.error is not None, (shown(text), arguments, walked.exits, real)
        elif real.error is None:
            assert options is not None
            assert repr(real.value) in [repr(option) for option in options], (shown(text), arguments, options, real)
