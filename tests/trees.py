"""Released trees for the tests that stand on real vLLM: fetched once by preflight itself, kept in the user's cache."""

from __future__ import annotations

from pathlib import Path


def released(version: str) -> Path:
    """The folder that holds ``vllm/`` and its dist-info for a released vLLM, sources only; fails with a sentence if
    it cannot be had."""
    return _fetch("vllm", version)


def transformers(version: str) -> Path:
    """The same for a released transformers."""
    return _fetch("transformers", version)


def _fetch(name: str, version: str) -> Path:
    from preflight.tree.release import fetch_release

    return fetch_release(name, version)
