"""What a launch is assumed to find on its machine: facts that no file says, with defaults, set with ``--assume``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from preflight.errors import UsageError

PLATFORM, PACKAGE, NO_PACKAGE = "platform", "package", "no-package"
#: what a machine is assumed to have if nobody says
GPU_COUNT, GPU_MEMORY, CAPABILITY, CPU_MEMORY = "gpu-count", "gpu-memory", "capability", "cpu-memory"
_MACHINE = (GPU_COUNT, GPU_MEMORY, CAPABILITY, CPU_MEMORY)
KEYS = (*_MACHINE, PLATFORM, PACKAGE, NO_PACKAGE)
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_EXAMPLE = "write `--assume gpu-count=8,gpu-memory=80,capability=9.0,no-package=ray`"
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the machine has. ``stated`` are the keys that the user set; the rest are defaults, which a report prints."""

    gpu_count: int = 8
    gpu_memory: float = 80.0  #: GiB
    capability: tuple[int, int] = (9, 0)
    cpu_memory: float = 1024.0  #: GiB
    platform: str = "cuda"
    absent: frozenset[str] = frozenset()
    present: frozenset[str] = frozenset()
    stated: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)  #: the environment of the launch
    open_variables: tuple[str, ...] = ()  #: those that the launch sets to what is not known
    versions: Mapping[str, str] = field(default_factory=dict)
    python: tuple[int, int, int] = (3, 12, 0)

    @property
    def defaults(self) -> frozenset[str]:
        """The keys whose value nobody stated. The platform is read from the tree, which counts as known."""
        return frozenset(_MACHINE) - self.stated


def with_stated(assumptions: Assumptions, texts: Iterable[str]) -> Assumptions:
    """``assumptions`` with what the user stated: ``KEY=VALUE`` pairs, several in a text joined by commas.

    Raises UsageError for a key that there is not and a value that means nothing.
    """
    for text in texts:
        for pair in text.split(","):
            key, equals, value = (part.strip() for part in pair.partition("="))
            if not equals or key not in KEYS:
                raise UsageError(f"--assume got `{pair.strip()}`, and takes {', '.join(KEYS)}", _EXAMPLE)
            assumptions = _with_pair(assumptions, key, value)
    return assumptions


def with_visible(assumptions: Assumptions) -> Assumptions:
    """``assumptions`` with as many GPUs as the launch lets its processes see, at most: CUDA shows them what
    CUDA_VISIBLE_DEVICES lists by number. A list of another form says nothing here.
    """
    shown = [part.strip() for part in assumptions.variables.get(_VISIBLE, "").split(",")]
    if assumptions.platform != "cuda" or not all(map(str.isdecimal, shown)) or len(set(shown)) != len(shown):
        return assumptions
    count = min(len(shown), assumptions.gpu_count) if GPU_COUNT in assumptions.stated else len(shown)
    return replace(assumptions, stated=assumptions.stated | {GPU_COUNT}, gpu_count=count)


def _with_pair(given: Assumptions, key: str, value: str) -> Assumptions:
    stated = given.stated | {key}
    if key in (PACKAGE, NO_PACKAGE):
        if not _PACKAGE.fullmatch(value):
            raise UsageError(f"--assume {key}={value} names no package", _EXAMPLE)
        name = value.replace("-", "_")
        if key == PACKAGE:
            return replace(given, stated=stated, present=given.present | {name}, absent=given.absent - {name})
        return replace(given, stated=stated, absent=given.absent | {name}, present=given.present - {name})
    if key == PLATFORM:
        if not value.isidentifier():
            raise UsageError(f"--assume platform={value} names no platform", "platforms are cuda, rocm, cpu, xpu, tpu")
        return replace(given, stated=stated, platform=value)
    if key == CAPABILITY:
        found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", value)
        if found is None:
            raise UsageError(f"--assume capability={value} is no capability", "write it as 9.0")
        return replace(given, stated=stated, capability=(int(found[1]), int(found[2])))
    number = _number(key, value)
    if key == GPU_COUNT:
        if number != int(number):
            raise UsageError(f"--assume gpu-count={value} is no whole number", _EXAMPLE)
        return replace(given, stated=stated, gpu_count=int(number))
    if key == GPU_MEMORY:
        return replace(given, stated=stated, gpu_memory=number)
    return replace(given, stated=stated, cpu_memory=number)


def _number(key: str, value: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        raise UsageError(f"--assume {key}={value} is no number", _EXAMPLE)
    return float(value)
