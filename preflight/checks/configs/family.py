"""The checks of config reads as one family."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.configs.ids import ALL
from preflight.checks.context import Check, Context
from preflight.checks.released import changed_paths, plugin_paths
from preflight.model import Fault, Undecided


def check_configs(context: Context) -> Iterator[Fault | Undecided]:
    """What the patched files read of configs, and what no config that is known has; which of them were not looked up,
    where no launch decides it.
    """
    paths = changed_paths(context)
    if not paths:
        return
    from preflight.checks.configs.beside import check_beside
    from preflight.checks.configs.defaults import check_defaults
    from preflight.checks.configs.overwriting import check_overwriting
    from preflight.checks.configs.reads import check_reads
    from preflight.checks.configs.view import View
    from preflight.checks.foreign import is_foreign

    view = View(context)
    beside = frozenset(plugin_paths(context))
    yield from check_beside(view, sorted(beside))
    unknown: list[str] = []
    unnamed: list[str] = []
    for path in paths:
        if path in beside:
            continue
        lines = view.new_lines(path)
        module = view.program.module_at(path) if lines else None
        # of a file that belongs to another release its imports have said all there is to say
        if lines and module is not None and module.hole is None and not is_foreign(view.program, path):
            for check in (check_reads, check_defaults, check_overwriting):
                yield from check(view, module, lines)
            if not view.classes.library and view.reads_a_config(path, lines):
                unnamed.append(path)
        elif lines is None and path in view.patched and view.reads_a_config(path, None):
            unknown.append(path)
    if context.launch is None:
        yield from _undecided(unknown, "what of it is new is not known, because the release's file is not at hand")
        yield from _undecided(unnamed, "the sources of transformers, which has the classes of configs, are not at hand")


def _undecided(paths: list[str], reason: str) -> Iterator[Undecided]:
    if paths:
        more = f" and {len(paths) - 1} other patched files read" if len(paths) > 1 else " reads"
        message = f"what {paths[0]}{more} of configs is not looked up: {reason}; a launch decides it for its model"
        yield Undecided("config-reads-not-checked", message, paths[0], count=len(paths))


CHECKS = (Check(ALL, check_configs),)
