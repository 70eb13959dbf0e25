"""The checks of config reads as one family."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.checks.configs.ids import ALL
from preflight.checks.context import Check, Context
from preflight.checks.released import changed_paths
from preflight.model import Fault


def check_configs(context: Context) -> Iterator[Fault]:
    """What the patched files read of configs, and what no config that is known has."""
    paths = changed_paths(context)
    if not paths:
        return
    from preflight.checks.configs.defaults import check_defaults
    from preflight.checks.configs.overwriting import check_overwriting
    from preflight.checks.configs.reads import check_reads
    from preflight.checks.configs.view import View
    from preflight.checks.foreign import is_foreign

    view = View(context)
    for path in paths:
        lines = view.new_lines(path)
        module = view.program.module_at(path) if lines else None
        # of a file that belongs to another release its imports have said all there is to say
        if lines and module is not None and module.hole is None and not is_foreign(view.program, path):
            for check in (check_reads, check_defaults, check_overwriting):
                yield from check(view, module, lines)


CHECKS = (Check(ALL, check_configs),)
