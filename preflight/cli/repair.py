"""Fixes on disk: written whole or not at all, into the file that was read, and only when asked."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from preflight.errors import UsageError
from preflight.syntax.fixes import apply_edits

if TYPE_CHECKING:
    from preflight.model import Edit, Report
    from preflight.tree import Tree


def write_fixes(tree: Tree, report: Report) -> tuple[list[Path], list[str]]:
    """Write every safe fix of ``report`` into the file it belongs to.

    Returns the files written, and a sentence for each file with a fix that has no file of its own to write to (it
    comes out of a diff or
    out of git's index), or that changed since it was read.
    """
    written: list[Path] = []
    refused: list[str] = []
    for path, edits in _edits(report).items():
        file = tree.origin(path)
        if file is None:
            refused.append(
                f"{path} was not read from a file of its own (but a diff, the git index or a release); --diff prints it"
            )
            continue
        try:
            before = file.read_bytes()
        except OSError as error:
            refused.append(f"{file} cannot be read: {error.strerror}")
            continue
        if before != tree.read(path):
            refused.append(f"{file} changed while it was checked; run preflight again")
            continue
        write_atomically(file, _fixed(before, path, edits, tree))
        written.append(file)
    return written, refused


def diff_of(tree: Tree, report: Report) -> str:
    """The safe fixes of ``report`` as a unified diff (git's ``a/`` and ``b/`` prefixes)."""
    from difflib import unified_diff

    from preflight.syntax.source import decode

    out: list[str] = []
    for path, edits in _edits(report).items():
        text = decode(path, tree.read(path)).text
        if text is None:
            continue
        before, after = text.splitlines(keepends=True), apply_edits(text, edits).splitlines(keepends=True)
        for line in unified_diff(before, after, f"a/{path}", f"b/{path}"):
            out.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(out)


def write_atomically(file: Path, data: bytes) -> None:
    """Replace ``file`` by ``data``: a reader sees the old content or the new, never a part. Links are followed, the
    mode is kept.

    Raises UsageError, with the file as it was, when it cannot be written.
    """
    target = Path(os.path.realpath(file))
    part = target.with_name(f".{target.name}.preflight-{os.getpid()}")
    try:
        part.write_bytes(data)
        if target.exists():
            part.chmod(target.stat().st_mode & 0o7777)
        part.replace(target)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}", "make its folder writable; it is as it was"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _edits(report: Report) -> dict[str, list[Edit]]:
    by_path: dict[str, list[Edit]] = defaultdict(list)
    for finding in report.findings:
        if finding.fault.fix is not None and finding.fault.fix.safe:
            for edit in finding.fault.fix.edits:
                if edit not in by_path[edit.path]:
                    by_path[edit.path].append(edit)
    return by_path


def _fixed(before: bytes, path: str, edits: list[Edit], tree: Tree) -> bytes:
    from preflight.syntax.source import decode, encode_like

    source = decode(path, before)
    assert source.text is not None, "a fix is offered only for a file that decodes"
    return encode_like(source, apply_edits(source.text, edits))
