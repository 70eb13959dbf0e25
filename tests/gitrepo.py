"""Real git repositories for tests, untouched by the configuration of who runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: The environment that git (and preflight, where it asks git) is run with.
ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *arguments: str, feed: bytes | None = None) -> bytes:
    """Run git in ``folder``; returns what it prints, and fails if it does."""
    return subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env=ENVIRON,
        input=feed,
        capture_output=True,
        check=True,
    ).stdout


def make_repository(folder: Path) -> Path:
    """A repository of all that is in ``folder``, committed once."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "all")
    return folder
