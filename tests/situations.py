"""Hand-written reports, one for every situation that a renderer must cope with; the golden files show each."""

from __future__ import annotations

from typing import Any

from preflight.model import (
    Edit,
    Excerpt,
    Fault,
    FileState,
    Finding,
    Fix,
    LaunchFacts,
    PatchedFile,
    Report,
    RuleText,
    RunError,
    Severity,
    Span,
    Step,
    TreeFacts,
    Undecided,
    Value,
    Verdict,
)

SYNTAX = RuleText(
    "PF101",
    "syntax-error",
    Severity.ERROR,
    "The file does not compile.",
    "Every patched file is compiled.",
    "A module that does not compile cannot be imported.",
    "Correct the place; `--fix` does it where the repair is certain.",
)
ATTRIBUTE = RuleText(
    "PF401",
    "config-attribute-missing",
    Severity.ERROR,
    "The config has no attribute of this name.",
    "Reads of config attributes are followed.",
    "The read raises AttributeError.",
    "Read the attribute that this config has.",
)
NO_EFFECT = RuleText(
    "PF701",
    "patch-without-effect",
    Severity.WARNING,
    "The patched function is never called.",
    "Calls are followed.",
    "The patch does nothing.",
    "Patch the caller.",
)

TOY = "vllm/model_executor/models/toy.py"
TREE = TreeFacts(
    "/srv/venv/lib/python3.12/site-packages", "0.16.0", "4.57.6", "3.12", (PatchedFile(TOY, FileState.MODIFIED),)
)
IMPORT = Excerpt(
    TOY,
    82,
    (
        "from .base import Toy",
        "from .interfaces import MixtureOfToys, SupportsToy,",
        "    SupportsToy3, SupportsLoRA, SupportsPP",
        "",
        "class ToyForCausalLM(Toy):",
    ),
)


def finding(rule: RuleText, message: str, span: Span, severity: Severity | None = None, **more: Any) -> Finding:
    """A finding of ``rule``; its fingerprint is made of the place, which is enough for one report."""
    fault = Fault(rule.name, span, message, **more)
    return Finding(rule.code, rule.name, severity or rule.severity, fault, f"{rule.code.lower()}{span.line or 0:028x}")


def report(*findings: Finding, rules: tuple[RuleText, ...] = (SYNTAX,), **more: Any) -> Report:
    """A report that would not launch, unless ``more`` says otherwise."""
    facts: dict[str, Any] = {"verdict": Verdict.WOULD_NOT_LAUNCH, "tree": TREE, "files_checked": 2, "seconds": 0.25}
    return Report(findings=findings, rules=rules, **{**facts, **more})


def _import_error(**more: Any) -> Finding:
    return finding(
        SYNTAX,
        "the list of imported names goes on in the next line without parentheses",
        Span(TOY, 83, 51, 84, 43),
        **more,
    )


def _hostile() -> Report:
    evil = "\x1b]0;pwned\x07\x1b[2J\r\nnext\u202eright\u200b\x00\x9b31m\udcff%0A::error::x"
    code = Excerpt(TOY, 1, (f'x = "{evil}"'.replace("\n", ""), "\x0c\ty = 1\x08"), title=evil)
    return report(
        finding(
            SYNTAX,
            f"message {evil}",
            Span(f"vllm/{evil}.py", 1, 3, 1, 6),
            why=f"why {evil}",
            help=f"help {evil}",
            values=(Value(f"name {evil}", evil, f"origin {evil}"),),
            trail=(Step(f"vllm/{evil}.py", 1, f"function {evil}", f"note {evil}"),),
            fix=Fix((Edit(f"vllm/{evil}.py", (1, 1), (1, 2), evil),)),
            excerpt=code,
            pristine=code,
        ),
        undecided=(Undecided("walk-budget", f"question {evil}", f"vllm/{evil}.py", 1),),
        notes=(f"note {evil}",),
    )


def _many() -> Report:
    other = "vllm/config/toy.py"
    first = [
        finding(
            SYNTAX,
            f"keyword argument {n} is repeated",
            Span(TOY, n, 5, n, 9),
            excerpt=Excerpt(TOY, n, (f"    a{n}=1,",)),
        )
        for n in range(1, 41)
    ]
    rest = [finding(SYNTAX, f"name {n} is not closed", Span(other, n, 1)) for n in range(1, 4)]
    warning = finding(NO_EFFECT, "the patched `load` is never called", Span(other, 9))
    return report(*sorted([*rest, warning], key=lambda f: f.span.line or 0), *first, rules=(SYNTAX, NO_EFFECT))


SITUATIONS: dict[str, Report] = {
    "no-source": report(finding(SYNTAX, "the file ends inside a string", Span(TOY, 7, 3))),
    "whole-file": report(finding(SYNTAX, "the file is larger than any source file", Span(TOY))),
    "unknown-value": report(
        finding(
            ATTRIBUTE,
            "`config.image_token_index` is read, and this config has no such attribute",
            Span("vllm/v1/spec_decode/toy.py", 3, 12, 3, 36),
            values=(
                Value("config", None, "unknown: the checkpoint was not given"),
                Value("scale", float("nan"), "config.json: rope_scaling.factor"),
                Value("names", {"media_placeholder_token_id", "image_token_id"}, "attributes of the config"),
                Value("raw", b"\xff\x00", "config.json"),
            ),
            excerpt=Excerpt("vllm/v1/spec_decode/toy.py", 3, ("    index = config.image_token_index",)),
        ),
        rules=(ATTRIBUTE,),
    ),
    "multi-line": report(_import_error(excerpt=IMPORT)),
    "trail": report(
        finding(
            ATTRIBUTE,
            "`config.image_token_index` is read, and this config has no such attribute",
            Span("vllm/v1/spec_decode/toy.py", 3, 12, 3, 36),
            why="every way through `propose` comes here",
            values=(Value("config.model_type", "toy_k2", "config.json: text_config.model_type"),),
            trail=tuple(Step(f"vllm/worker/{n}.py", 10 * n, f"step_{n}", f"calls step_{n + 1}") for n in range(1, 7)),
        ),
        rules=(ATTRIBUTE,),
        launch=LaunchFacts(
            "/models/toy",
            "ToyForCausalLM",
            "vllm.model_executor.models.toy:ToyForCausalLM",
            {"tensor_parallel_size": 8, "speculative_config": {"method": "eagle3"}},
            {"model": "/models/drafter", "architecture": "ToyDrafter"},
        ),
    ),
    "fix": report(
        _import_error(
            why="Python ends a statement at the end of the line, so the names of the next line belong to nothing",
            help="put all names in parentheses",
            fix=Fix((Edit(TOY, (83, 25), (83, 25), "(\n    "), Edit(TOY, (84, 43), (84, 43), ",\n)"))),
            excerpt=IMPORT,
        ),
        finding(
            SYNTAX, "a comma is missing", Span(TOY, 90, 4), fix=Fix((Edit(TOY, (90, 4), (90, 4), ","),), safe=False)
        ),
    ),
    "pristine": report(
        _import_error(
            help="put all names in parentheses",
            excerpt=IMPORT,
            pristine=Excerpt(
                TOY, 83, ("from .interfaces import MixtureOfToys, SupportsToy, SupportsLoRA, SupportsPP",)
            ),
        )
    ),
    "undecided": report(
        verdict=Verdict.UNDECIDED,
        rules=(),
        undecided=(
            Undecided("target-python-not-found", "the Python of the tree is not at hand", decisive=True),
            *(Undecided("walk-budget", f"the call of `f{n}` is too deep", TOY, n, n) for n in range(1, 6)),
        ),
        notes=("Compiled by Python 3.11, since the Python of the tree is not at hand.",),
    ),
    "error": Report(
        Verdict.NOT_CHECKED,
        error=RunError(
            "there is no vLLM in /srv/venv: no folder vllm/",
            "name the folder that holds vllm/: `--vllm-site-packages DIR`",
        ),
    ),
    "many-findings": _many(),
    "wide-characters": report(
        finding(
            SYNTAX,
            "a quote is missing: 引用符",
            Span("vllm/日本/ä b#%.py", 2, 13, 2, 16),
            excerpt=Excerpt("vllm/日本/ä b#%.py", 1, ("\t# ｶﾀｶﾅ e\u0301 ok", '\t名前 = "e\u0301", 値段', "pass")),
        )
    ),
    "long-line": report(
        finding(
            SYNTAX,
            "a bracket is not closed",
            Span(TOY, 2, 5_001, 2, 5_004),
            excerpt=Excerpt(TOY, 1, ("short = 1", "x" * 5_000 + "([{" + "y" * 5_000, "z" * 300)),
        )
    ),
    "hostile": _hostile(),
    "warning": report(
        finding(NO_EFFECT, "the patched `load` is never called", Span(TOY, 4, 1, 4, 9), help="patch `load_weights`"),
        finding(SYNTAX, "an invalid escape sequence in a string", Span(TOY, 9, 1), Severity.INFO),
        verdict=Verdict.CLEAR,
        rules=(SYNTAX, NO_EFFECT),
    ),
    "clear": report(verdict=Verdict.CLEAR, rules=(), notes=("Compiled by Python 3.12.4 of the tree's environment.",)),
    "nothing-patched": report(
        verdict=Verdict.CLEAR,
        rules=(),
        tree=TreeFacts("/srv/checkout", None, None, None),
        files_checked=0,
    ),
}
