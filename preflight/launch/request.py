"""What the user gives of a launch. It is read elsewhere, and only where something is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """The launch as the user gives it.

    ``words`` is what stands behind ``--``, ``file`` that of ``--launch``, ``environment`` the ``NAME=VALUE`` of
    ``--env``; the rest are the options of the same names. ``folder`` is what relative paths count from, ``inherited``
    the variables that a launch has before it sets any, where that is known: where preflight becomes the launch.
    """

    words: tuple[str, ...] | None = None
    file: str | None = None
    model: str | None = None
    speculative_config: str | None = None
    tensor_parallel_size: str | None = None
    pipeline_parallel_size: str | None = None
    environment: tuple[str, ...] = ()
    inherited: tuple[tuple[str, str], ...] = ()
    folder: Path = Path()

    def __bool__(self) -> bool:
        """True if a launch is given at all."""
        return any((self.words, self.file, self.model, self.speculative_config, self.tensor_parallel_size,
                    self.pipeline_parallel_size))  # fmt: skip
