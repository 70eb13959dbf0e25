"""A git repository, asked by the real ``git``: what changed, and what a commit or the index has in a file.

Hooks, external diff drivers and file system monitors of the repository are not run. Inside a hook, git tells its
children which index is meant (``GIT_INDEX_FILE``); that is honoured for the repository the hook runs in, for no other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import TreeError, UsageError
from preflight.model import FileState
from preflight.tree.interpreters import on_path
from preflight.tree.paths import exists, same_place, working_folder

_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.external=", "--no-pager")
_STATES = {"A": FileState.ADDED, "M": FileState.MODIFIED, "T": FileState.MODIFIED, "D": FileState.MISSING}


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree. ``top`` is its top folder; ``environ`` is what git is run with."""

    top: Path
    program: Path
    environ: Mapping[str, str]

    def resolve(self, ref: str) -> str:
        """The object name of a commit or tree. Raises UsageError if there is none of that name."""
        if ref.startswith("-") or "\0" in ref or not ref:
            raise UsageError(f"--base-ref {ref!r} is no git reference.", "Name a commit, a branch or a tag.")
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}", check=False)
        name = found.decode("ascii", "replace").strip()
        if not name:
            raise UsageError(
                f"--base-ref {ref}: the git repository {self.top} has no such commit.",
                f"Name a commit, a branch or a tag that `git -C {self.top} log` knows; fetch it first if it is remote.",
            )
        return name

    def head(self) -> str:
        """The tree of HEAD, or the empty tree before the first commit."""
        found = self._run("rev-parse", "--verify", "--quiet", "HEAD^{tree}", check=False)
        return (found or self._run("hash-object", "-t", "tree", "--stdin", feed=b"")).decode("ascii").strip()

    def tracks(self, path: str) -> bool:
        """True if the index has ``path`` (relative to the top)."""
        return bool(self._run("ls-files", "-z", "--", f":(literal,top){path}"))

    def changed(self, base: str, under: str, *, staged: bool) -> dict[str, FileState]:
        """The files under a folder that differ from ``base``: in the index if ``staged``, else in the work tree, where
        files count that git neither tracks nor ignores."""
        where = ("--cached",) if staged else ()
        out = self._run(
            *("diff", "--name-status", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules"),
            *(*where, base, "--", _under(under)),
        )
        words = _words(out)
        states = {
            path: _STATES.get(status[:1], FileState.MODIFIED)
            for status, path in zip(words[::2], words[1::2], strict=True)
        }
        if not staged:
            states.update((path, FileState.ADDED) for path in self.untracked(under))
        return states

    def untracked(self, under: str) -> list[str]:
        """The files under a folder that git neither tracks nor ignores."""
        return _words(self._run("ls-files", "--others", "--exclude-standard", "-z", "--", _under(under)))

    def unstaged(self, under: str) -> list[str]:
        """The files under a folder whose content in the work tree is not that of the index."""
        return _words(self._run("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--", _under(under)))

    def indexed(self, under: str) -> list[str]:
        """The regular files that the index has under a folder (or the file of that path)."""
        rows = _words(self._run("ls-files", "--stage", "-z", "--", _under(under)))
        found = {}
        for row in rows:
            attributes, _, path = row.partition("\t")
            if attributes.startswith("100"):
                found[path] = None  # a file in conflict has several rows
        return list(found)

    def ignored(self, paths: Iterable[str]) -> set[str]:
        """Those of ``paths`` that git ignores: products of a build."""
        feed = b"".join(os.fsencode(path) + b"\0" for path in paths)
        return set(_words(self._run("check-ignore", "-z", "--stdin", feed=feed, check=False))) if feed else set()

    def contents(self, base: str, paths: Sequence[str]) -> dict[str, bytes]:
        """What a tree has in files (``base`` is ``""`` for the index); a file that it has not is not among them."""
        asked = [path for path in paths if "\n" not in path]
        feed = b"".join(f"{base}:{path}\n".encode("utf-8", "surrogateescape") for path in asked)
        out = self._run("cat-file", "--batch", feed=feed) if feed else b""
        found: dict[str, bytes] = {}
        place = 0
        for path in asked:
            end = out.index(b"\n", place)
            header = out[place:end].split(b" ")
            place = end + 1
            if len(header) >= 3 and header[-2] in (b"blob", b"tree", b"commit", b"tag") and header[-1].isdigit():
                size = int(header[-1])
                if header[-2] == b"blob":
                    found[path] = out[place : place + size]
                place += size + 1
        return found

    def hooks(self) -> Path:
        """Where git looks for the hooks of this work tree: a worktree's are its repository's, and ``core.hooksPath``
        goes before."""
        return self.top / os.fsdecode(self._run("rev-parse", "--git-path", "hooks").rstrip(b"\r\n"))

    def shares_hooks(self) -> bool:
        """True if ``core.hooksPath`` is set for every repository of the user or the machine, not for this one."""
        words = _words(self._run("config", "--show-scope", "-z", "--get", "core.hooksPath", check=False))
        return bool(words) and words[0] in ("global", "system")

    def describe(self) -> str | None:
        """``0.16.0`` or ``0.16.0+12.gabc1234`` after the nearest version tag; None without one."""
        out = self._run("describe", "--tags", "--long", "--match", "v[0-9]*", check=False).decode("ascii", "replace")
        tag, _, rest = out.strip().removeprefix("v").partition("-")
        count, _, commit = rest.rpartition("-")
        if not tag or not count.isdigit():
            return None
        return tag if count == "0" else f"{tag}+{count}.{commit}"

    def _run(self, *arguments: str, feed: bytes | None = None, check: bool = True) -> bytes:
        import subprocess

        try:
            done = subprocess.run(
                [self.program, *_QUIET, *arguments],
                cwd=self.top,
                env={**self.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
                input=feed,
                stdin=subprocess.DEVNULL if feed is None else None,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise TreeError(f"git ({self.program}) cannot be run: {error.strerror}.") from None
        if check and done.returncode != 0:
            raise _failed(self.top, done.stderr)
        return done.stdout if done.returncode == 0 else b""


def repository_of(folder: Path, environ: Mapping[str, str]) -> Repository | None:
    """The repository that ``folder`` is in; None if it is in none. Raises TreeError if git is missing or refuses it."""
    if not any(exists(parent / ".git") for parent in (folder, *folder.parents)):
        return None
    program = on_path("git", environ)
    if program is None:
        raise TreeError(f"{folder} is in a git repository, but there is no git on PATH.", "Install git, or set PATH.")
    clean = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    top = _top(program, folder, clean)
    if any(key in environ for key in ("GIT_DIR", "GIT_INDEX_FILE")):
        folder_of_hook = working_folder()
        here = _top(program, folder_of_hook, environ, check=False) if folder_of_hook is not None else None
        if here is not None and top is not None and same_place(here, top):
            return Repository(top, program, dict(environ))
    return Repository(top, program, clean) if top is not None else None


def _top(program: Path, folder: Path, environ: Mapping[str, str], *, check: bool = True) -> Path | None:
    import subprocess

    done = subprocess.run(
        [program, "rev-parse", "--show-toplevel"],
        cwd=folder,
        env={**environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode == 0 and done.stdout.strip():
        return Path(os.fsdecode(done.stdout.rstrip(b"\r\n")))
    if check and b"not a git repository" not in done.stderr and b"work tree" not in done.stderr:
        raise _failed(folder, done.stderr)
    return None


def _failed(folder: Path, message: bytes) -> TreeError:
    lines = [line for line in message.decode("utf-8", "replace").splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "no message")
    return TreeError(f"git fails in {folder}: {said}", "Run the same git command there, and set right what it names.")


def _under(folder: str) -> str:
    return f":(literal,top){folder}" if folder else ":(top)"


def _words(out: bytes) -> list[str]:
    return [os.fsdecode(word) for word in out.split(b"\0") if word]
