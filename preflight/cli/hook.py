"""``preflight install-hook``: the pre-commit hook of the repository that we are in."""

from __future__ import annotations

import argparse
import os
import sys

from preflight.cli.exits import EXIT_CLEAR
from preflight.cli.output import write_text
from preflight.cli.settings import load_settings
from preflight.hook import install_hook
from preflight.tree.paths import absolute


def run_install_hook_command(arguments: argparse.Namespace) -> int:
    """Write the hook, and say what it will check. Raises PreflightError when it is not written."""
    settings = load_settings()
    installed = install_hook(absolute("."), settings.file, sys.executable, os.environ, force=arguments.force)
    lines = [f"{installed.file} checks what is staged before each commit; to be rid of it, remove that file."]
    if not installed.written:
        lines = [f"{installed.file} is there already."]
    if installed.backup is not None:
        lines.append(f"The hook that was there is {installed.backup}; it does not run any more.")
    if installed.written and not settings.vllm and settings.vllm_site_packages is None:
        where = settings.file or "No preflight.toml or [tool.preflight]"
        lines.append(
            f'{where} names no tree: the hook will take the vLLM of the active environment. Write `vllm = "VERSION"` '
            "to check against a release."
        )
    write_text(sys.stdout, "\n".join([*lines, ""]))
    return EXIT_CLEAR
