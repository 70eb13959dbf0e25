"""Which Pythons may run vLLM, and what they make of syntax that is newer than some of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The minor versions of Python 3 that a range is measured with: those that any supported vLLM allows, and later ones.
_MINORS = range(9, 17)


@dataclass(frozen=True, slots=True)
class Target:
    """The Python that will run vLLM, as far as it is known: one version, or those that the metadata allows."""

    known: tuple[int, int] | None
    allowed: tuple[tuple[int, int], ...]

    @property
    def versions(self) -> tuple[tuple[int, int], ...]:
        """The versions in question, the oldest first."""
        return (self.known,) if self.known is not None else self.allowed

    @property
    def text(self) -> str:
        """The versions as a message names them."""
        oldest, newest = self.versions[0], self.versions[-1]
        if oldest == newest:
            return f"Python {_dotted(oldest)}"
        return f"Python {_dotted(oldest)} to {_dotted(newest)}"

    def too_old(self, since: tuple[int, int]) -> bool:
        """Whether none of the versions in question reads syntax that came with ``since``."""
        return self.versions[-1] < since

    def may_be_too_old(self, since: tuple[int, int]) -> bool:
        """Whether some of the versions in question do not read it."""
        return self.versions[0] < since


def target_of(python: str | None, python_range: str | None) -> Target:
    """The target of a tree: ``python`` is what its environment says (``3.12.4``), ``python_range`` its metadata.

    Without either, every Python is in question that a supported vLLM can run on.
    """
    found = re.match(r"3\.(\d+)", python or "")
    known = (3, int(found.group(1))) if found else None
    allowed = tuple((3, minor) for minor in _MINORS)
    if python_range:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            specifiers = SpecifierSet(python_range)
        except InvalidSpecifier:
            pass
        else:
            # a version is allowed if any of its patch releases is: "<3.14" and ">=3.9.2" both speak of minor versions
            allowed = (
                tuple(v for v in allowed if any(specifiers.contains(f"{_dotted(v)}.{micro}") for micro in (0, 9, 30)))
                or allowed
            )
    return Target(known, allowed)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
