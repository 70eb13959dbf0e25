"""``preflight apply`` and ``preflight restore``: the installed tree, written to and taken back as a whole."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.cli.check import checked, finish, started_cst, tree_request
from preflight.cli.exits import EXIT_CLEAR, EXIT_FINDINGS
from preflight.cli.output import write_text
from preflight.cli.settings import Settings, load_settings
from preflight.errors import TreeError

if TYPE_CHECKING:
    from preflight.model import Report
    from preflight.transaction.place import Place
    from preflight.transaction.plan import Plan
    from preflight.transaction.restoring import Restored
    from preflight.transaction.store import Store
    from preflight.tree import Tree


def run_apply_command(arguments: argparse.Namespace) -> int:
    """Check the patches on the tree, and write them if nothing reaches ``--fail-on`` or with ``--force``.

    Returns the exit code of the check. Raises PreflightError when nothing could be written; the tree is as it was.
    """
    from preflight.transaction.engine import opened
    from preflight.transaction.place import place_of
    from preflight.transaction.plan import refuse_parts

    settings = load_settings()
    arguments.overlay = arguments.patches
    request = tree_request(arguments, settings)
    place = place_of(request, os.environ)
    arguments.vllm_site_packages, arguments.vllm = str(place.named), request.vllm  # the locked tree is the checked one
    if arguments.check_only:
        _refuse_unfinished(place)
        judged = _judge(arguments, settings, place)
        if not judged.failed:
            refuse_parts(judged.tree)
        would = "nothing would be written" if judged.failed and not arguments.force else _would(judged)
        return _told(arguments, settings, judged.report, would)
    with opened(place.root, _say) as store:
        judged = _judge(arguments, settings, place)
        if judged.failed and not arguments.force:
            sentence = "nothing was written (--force writes nevertheless)"
        else:
            sentence = _write(store, place, judged)
    return _told(arguments, settings, judged.report, sentence)


def _would(judged: _Judged) -> str:
    return f"{_counted(len(judged.plan.contents))} would be written; nothing was"


def run_restore_command(arguments: argparse.Namespace) -> int:
    """Put back what the tree had before; returns 1 if files are then not what RECORD says.

    Raises PreflightError when it cannot be done; the tree is as it was.
    """
    from preflight.transaction.engine import opened
    from preflight.transaction.place import place_of
    from preflight.transaction.restoring import restore
    from preflight.tree.kinds import STORE

    place = place_of(tree_request(arguments, load_settings()), os.environ)
    restored = None
    if os.path.lexists(place.root / STORE):
        with opened(place.root, _say) as store:
            restored = restore(store, place, force=arguments.force)
    if restored is None:
        write_text(sys.stdout, f"Nothing is applied to {place.root}.\n")
        return EXIT_CLEAR
    write_text(sys.stdout, "\n".join([*_outcome(restored), ""]))
    return EXIT_FINDINGS if restored.left or restored.differing else EXIT_CLEAR


def _told(arguments: argparse.Namespace, settings: Settings, report: Report, sentence: str) -> int:
    """The report, and what was done. A report that ends in an error must be the only one, so it comes last."""
    code = finish(arguments, settings, report)
    if code != EXIT_CLEAR or not arguments.quiet:
        _say(sentence)
    return code


@dataclass(frozen=True, slots=True)
class _Judged:
    """The tree with the patches, what was found, what would be written, and whether something reaches ``--fail-on``."""

    tree: Tree
    report: Report
    plan: Plan
    failed: bool


def _judge(arguments: argparse.Namespace, settings: Settings, place: Place) -> _Judged:
    """Check. What is to be replaced is noted before, so that a change meanwhile is seen."""
    from preflight.run import reaches
    from preflight.transaction.plan import plan_of

    plans: list[Plan] = []
    with started_cst() as cst:
        tree, report = checked(
            arguments, settings, cst, opened=lambda tree: plans.append(plan_of(place.root, tree.layer))
        )
    return _Judged(tree, report, plans[0], reaches(report, arguments.fail_on or settings.fail_on))


def _write(store: Store, place: Place, judged: _Judged) -> str:
    from preflight.transaction.plan import apply_plan, refuse_parts

    refuse_parts(judged.tree)
    if not judged.plan.contents:
        return "nothing to write: the tree has all of it already"
    apply_plan(store, place, judged.plan)
    written = _counted(len(judged.plan.contents))
    return f"{written} written; `preflight restore --vllm-site-packages {place.root}` takes it back"


def _refuse_unfinished(place: Place) -> None:
    from preflight.transaction.store import Store

    if Store(place.root).journal() is not None:
        raise TreeError(
            f"An apply or restore of {place.root} was interrupted and is neither done nor taken back, or is under way.",
            "Run it again without --check-only, or run `preflight restore`: either ends it first.",
        )


def _outcome(restored: Restored) -> list[str]:
    lines = [f"{path}: restored" for path in restored.paths]
    lines += [f"{path}: removed" for path in restored.removed]
    lines += [
        f"{path}: left as it is; vLLM was installed anew, and what was kept is of before" for path in restored.left
    ]
    lines += [f"{path}: is not what RECORD says (it was so before the apply)" for path in restored.differing]
    done = f"{_counted(len(restored.paths))} restored, {len(restored.removed)} removed"
    if not restored.verified:
        return [*lines, f"{done}; there is no RECORD to hold them against."]
    wrong = len(restored.left) + len(restored.differing)
    if wrong:
        return [*lines, f"{done}; {_counted(wrong)} not as the release has it: reinstall vLLM to have the release's."]
    return [*lines, f"{done}; all that was applied is out, and RECORD agrees."]


def _counted(number: int) -> str:
    from preflight.tree.kinds import counted

    return counted(number, "file")


def _say(sentence: str) -> None:
    """Standard output has the report, so that a script can read it."""
    print(f"preflight: {sentence}", file=sys.stderr, flush=True)
