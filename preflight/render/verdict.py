"""The closing sentence of a report: the vLLM version, how many files are patched, the verdict with its counts."""

from __future__ import annotations

from preflight.model import Report, Severity, TreeFacts, Verdict

_WORDS = {
    Verdict.CLEAR: "clear",
    Verdict.WOULD_NOT_LAUNCH: "launch would FAIL",
    Verdict.UNDECIDED: "undecided",
}


def verdict_sentence(report: Report) -> str:
    """One line without its line feed, such as ``preflight: vllm 0.16.0, 2 files patched: clear (0 errors, ...)``."""
    parts = ["preflight"]
    if report.tree is not None:
        parts.append(_tree(report.tree))
    if report.error is not None or report.verdict is Verdict.NOT_CHECKED:
        reason = report.error.message if report.error is not None else "nothing was asked for"
        parts += ["not checked", " ".join(reason.split())]
        return ": ".join(parts)
    return f"{': '.join(parts)}: {_WORDS[report.verdict]} ({counts(report)})"


def counts(report: Report) -> str:
    """``1 error, 0 warnings, 0 undecided``; infos are named only when there are some."""
    infos = report.count(Severity.INFO)
    return ", ".join(
        [
            number(report.count(Severity.ERROR), "error"),
            number(report.count(Severity.WARNING), "warning"),
            *([number(infos, "info")] if infos else []),
            f"{len(report.undecided)} undecided",
        ]
    )


def number(count: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _tree(tree: TreeFacts) -> str:
    version = f"vllm {tree.vllm}" if tree.vllm is not None else "vllm of unknown version"
    patched = f"{number(len(tree.patched), 'file')} patched" if tree.patched else "nothing patched"
    return f"{version}, {patched}"
