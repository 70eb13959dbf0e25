"""``preflight install-hook``: the pre-commit hook of the repository that we are in."""

from __future__ import annotations

import argparse
import os
import sys

from preflight.cli.exits import EXIT_CLEAR
from preflight.cli.settings import load_settings
from preflight.hook import install_hook
from preflight.tree.paths import absolute


def run_install_hook_command(arguments: argparse.Namespace) -> int:
    """Write the hook, and say what it will check. Raises PreflightError when it is not written."""
    settings = load_settings()
    installed = install_hook(absolute("."), settings.file, sys.executable, os.environ, force=arguments.force)
    if not installed.written:
        print(f"{installed.file} is there already.")
        return EXIT_CLEAR
    print(f"{installed.file} checks what is staged before each commit; to be rid of it, remove that file.")
    if installed.backup is not None:
        print(f"The hook that was there is {installed.backup}; it does not run any more.")
    if not settings.vllm and settings.vllm_site_packages is None:
        where = settings.file or "No preflight.toml or [tool.preflight]"
        print(
            f'{where} names no tree: the hook will take the vLLM of the active environment. Write `vllm = "VERSION"` '
            "to check against a release."
        )
    return EXIT_CLEAR
