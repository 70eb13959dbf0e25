"""What the tests of the syntax room share: the Pythons at hand, and a diagnosis of a text by one of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from preflight.syntax.compiler import Compiler, Outcome
from preflight.syntax.diagnose import Diagnosis, diagnose
from preflight.syntax.fixes import apply_edits
from preflight.syntax.source import Source, decode, encode_like

MINORS = range(10, 16)


@cache
def pythons() -> dict[tuple[int, int], Path]:
    """Every Python at hand by its version, the running one included: those on PATH, and those installed beside it."""
    found = {sys.version_info[:2]: Path(sys.executable)}
    beside = Path(sys.base_prefix).resolve().parent
    for minor in MINORS:
        name = f"python3.{minor}"
        on_path = shutil.which(name)
        for candidate in [*([Path(on_path)] if on_path else []), *beside.glob(f"*/bin/{name}")]:
            if (3, minor) not in found and _version(candidate) == (3, minor):
                found[3, minor] = candidate
    return found


def _version(python: Path) -> tuple[int, int] | None:
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return (int(words[0]), int(words[1])) if done.returncode == 0 and len(words) == 2 else None


class Lab:
    """One interpreter that compiles for many tests."""

    def __init__(self, python: Path | None = None) -> None:
        self.compiler = Compiler(python or Path(sys.executable))

    @property
    def version(self) -> tuple[int, int]:
        return self.compiler.interpreter.version[:2]

    def outcome(self, data: bytes) -> Outcome:
        return self.compiler.compile([data])[0]

    def compiles(self, data: bytes) -> bool:
        return self.outcome(data).ok

    def diagnose(self, source: Source, release: str | None = None) -> list[Diagnosis]:
        """The faults of a source; none if it compiles."""
        outcome = self.outcome(source.data)
        if outcome.ok:
            return []
        assert outcome.error is not None, outcome.failure

        def oracle(texts: Sequence[str]) -> list[Outcome]:
            return self.compiler.compile((encode_like(source, text) for text in texts), likely_broken=True)

        return diagnose(source, outcome.error, oracle, self.version, release)

    def faults(self, text: str, release: str | None = None) -> list[tuple[str, int]]:
        """The cause and the line of every fault."""
        return [(fault.cause, fault.start[0]) for fault in self.diagnose(decode("x.py", text.encode()), release)]


def fixed(source: Source, diagnoses: Sequence[Diagnosis]) -> bytes:
    """The file with all fixes carried out."""
    assert source.text is not None
    return encode_like(source, apply_edits(source.text, [edit for one in diagnoses for edit in one.fix or ()]))
