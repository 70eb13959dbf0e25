"""Imports, decided as Python decides them: random packages are imported by Python itself, each module first."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings

from preflight.model import Severity
from tests.faults import open_mini, report_of
from tests.packages import MODULES, packages, path_of, really

RELEASE = {path_of(module): "x = y = z = c = nothing = 0\n" for module in MODULES}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(packages())
@example({**RELEASE, "vllm/a.py": "from vllm.a import *\nx = 1\n"})
@example({**RELEASE, "vllm/a.py": "__all__ = ['x']\nfrom vllm.a import *\nx = 1\n"})
@example({**RELEASE, "vllm/a.py": "from vllm.b import *\n", "vllm/b.py": "x = 1\nfrom vllm.a import *\nprint(y)\n"})
def test_errors_are_what_python_raises(files: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree = open_mini(folder, RELEASE, files)
        ended = really(tree.root, MODULES)
        report = report_of(tree, folder)
        findings = report.findings
    errors = {f.span.path for f in findings if f.severity is Severity.ERROR}
    for module in MODULES:
        if path_of(module) in errors:
            assert ended[module], (module, files, [(f.rule, f.span.path, f.message) for f in findings])
    if not report.undecided and all(f.severity is Severity.INFO for f in findings):
        assert not any(ended.values()), (ended, files)
