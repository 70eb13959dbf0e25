"""Released trees for the tests that stand on real vLLM: fetched once by preflight itself, kept in the user's cache."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from preflight.tree.release import fetch_release


def released(version: str) -> Path:
    """The folder that holds ``vllm/`` and its dist-info of a released vLLM, sources only.

    It is the cache itself: never write into it. Without it and without a network this fails with FetchError's sentence.
    """
    return fetch_release("vllm", version)


def transformers(version: str) -> Path:
    """The same for a released transformers."""
    return fetch_release("transformers", version)


def linked_copy(release: Path, folder: Path) -> Path:
    """A copy of a release, made of hard links, below ``folder``; a file is changed by ``replace_file``."""
    return shutil.copytree(release, folder / "site-packages", copy_function=os.link)


def replace_file(file: Path, data: bytes) -> None:
    """Write a file of a linked copy without touching the file that it is linked to."""
    file.unlink(missing_ok=True)
    file.write_bytes(data)
