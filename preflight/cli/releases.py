"""The releases that a patch repository is meant for: each is checked by a process of its own, several at once."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.cli.settings import Settings
    from preflight.model import Report

#: One process holds a program model of some hundred megabytes.
_MOST = 4


def check_releases(arguments: argparse.Namespace, settings: Settings) -> tuple[Report, ...]:
    """One report for each release of the configuration, in its order.

    Raises what a single check raises, for the first release that has it.
    """
    import gc
    import os
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # The function of the command is a closure, which cannot go to another process, and is not needed there.
    plain = argparse.Namespace(**{key: value for key, value in vars(arguments).items() if key != "run"})
    workers = min(len(settings.vllm), os.cpu_count() or 1, _MOST)
    # as in this process, see preflight.cli.command
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=gc.disable) as pool:
        futures = [pool.submit(_check_one, plain, replace(settings, vllm=(release,))) for release in settings.vllm]
        try:
            return tuple(_results(futures))
        finally:
            pool.shutdown(cancel_futures=True)


def _results(futures: Sequence) -> Iterator[Report]:  # type: ignore[type-arg]
    for future in futures:
        yield future.result()


def _check_one(arguments: argparse.Namespace, settings: Settings) -> Report:
    from preflight.cli.check import reported

    return reported(arguments, settings)
