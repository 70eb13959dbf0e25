"""Released plug-ins against released vLLMs: what fails is found, and what goes together is clear of errors."""

from __future__ import annotations

import pytest

from tests.plugin_cases import CASES, Case, problem, report_of


@pytest.mark.real
@pytest.mark.parametrize("case", [case for case in CASES if case.small], ids=lambda case: case.name)
def test_plugins(case: Case) -> None:
    assert problem(case, report_of(case)) is None
