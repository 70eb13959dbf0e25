"""Plug-ins as they were released against releases of vLLM: what of them fails, and which go together.

``python -m tests.plugin_cases`` checks all of them, which takes some minutes; the tests take the small ones.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

from preflight.launch.request import LaunchRequest
from preflight.model import Report, Severity
from preflight.run import Request, run_checks
from preflight.syntax.cst import CstParser
from preflight.tree import TreeRequest, open_tree
from preflight.tree.release import fetch_release


@dataclass(frozen=True)
class Case:
    """A plug-in with a vLLM. ``finding``: the one that has to be there (rule, severity, path in the wheel, line); None
    where there must be no error."""

    plugin: str
    version: str
    vllm: str
    finding: tuple[str, str, str, int] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    small: bool = False

    @property
    def name(self) -> str:
        """What tells it from others."""
        return (
            f"{self.plugin}-{self.version}-on-{self.vllm}{'-' + '-'.join(self.environment) if self.environment else ''}"
        )


CASES = (
    Case("vllm-omni", "0.18.0", "0.19.0", ("PF202", "error", "vllm_omni/patch.py", 4)),
    Case("vllm-omni", "0.12.0rc1", "0.11.0", ("PF202", "error", "vllm_omni/config/model.py", 9)),
    Case(
        "vllm-ascend", "0.20.2rc1", "0.20.2",
        ("PF202", "error", "vllm_ascend/patch/platform/patch_mla_prefill_backend.py", 21), {"VLLM_VERSION": "0.18.0"},
    ),
    Case(
        "unsloth-zoo", "2026.1.3", "0.14.1",
        ("PF709", "warning", "unsloth_zoo/vllm_lora_worker_manager.py", 339), small=True,
    ),
    Case("vllm-omni", "0.11.0rc1", "0.11.0"),
    Case("vllm-omni", "0.14.0", "0.14.0"),
    Case("lmcache", "0.3.4", "0.10.1", small=True),
    Case("vllm-ascend", "0.20.2rc1", "0.20.2"),
    Case("vllm-ascend", "0.18.0", "0.18.1"),
    Case("vllm-omni", "0.16.0", "0.16.0"),
    Case("vllm-rbln", "0.12.0", "0.30.0"),
    Case("vllm-lens", "1.3.0", "0.30.0"),
    Case("sendnn-inference", "2.6.3", "0.26.0"),
    Case("lmcache", "0.3.10", "0.12.0"),
)  # fmt: skip


def report_of(case: Case) -> Report:
    """What preflight says of a case."""
    folder = fetch_release(case.plugin, case.version)
    tree = open_tree(TreeRequest(vllm=case.vllm, paths=(str(folder),)), os.environ)
    given = tuple(f"{name}={value}" for name, value in case.environment.items())
    with CstParser() as cst:
        return run_checks(tree, Request(launch=LaunchRequest(environment=given)), os.environ, cst)


def problem(case: Case, report: Report) -> str | None:
    """What is not as it has to be."""
    found = [(one.rule, one.severity.value, one.span.path, one.span.line) for one in report.findings]
    if case.finding is None:
        errors = [one for one in found if one[1] == Severity.ERROR.value]
        return f"errors: {errors}" if errors else None
    rule, severity, path, line = case.finding
    if any(one[:2] == (rule, severity) and one[2].endswith("/" + path) and one[3] == line for one in found):
        return None
    return f"{case.finding} is not among {found}"


if __name__ == "__main__":
    for one in CASES:
        wrong = problem(one, report_of(one))
        sys.stdout.write(f"{one.name}: {wrong or 'as it has to be'}\n")
