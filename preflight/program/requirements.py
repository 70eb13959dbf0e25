"""Which packages outside the tree can be counted on where it is not known what is installed.

Whoever installs vLLM gets what its metadata requires, and what that brings along. A package that only few models import
and nothing requires may be there or not: importing those models then fails with a missing module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.program.known import words

if TYPE_CHECKING:
    from preflight.program.facts import Import
    from preflight.program.importing import Survey
    from preflight.program.program import Program

#: distributions whose import name is not their own name; from the projects' documentation
_IMPORT_NAMES = {
    "flashinfer_python": "flashinfer",
    "grpcio": "grpc",
    "lm_format_enforcer": "lmformatenforcer",
    "opencv_python_headless": "cv2",
    "pillow": "PIL",
    "protobuf": "google",
    "py_cpuinfo": "cpuinfo",
    "python_json_logger": "pythonjsonlogger",
    "pyyaml": "yaml",
    "pyzmq": "zmq",
    "scikit_learn": "sklearn",
}
#: what torch's own wheels require on Linux
_TORCH_BRINGS = words("filelock fsspec jinja2 networkx numpy sympy triton typing_extensions")


@dataclass(frozen=True, slots=True)
class Need:
    """A package that a module needs, the module that imports it on its behalf, and the import."""

    package: str
    importer: str
    item: Import


class Requirements:
    """Answers for one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._required: frozenset[str] | None = None

    def required(self) -> frozenset[str]:
        """The import names of what vLLM and transformers require without an extra, as their metadata says."""
        if self._required is None:
            from preflight.tree.distinfo import distributions

            tree = self._program.tree
            found: set[str] = set(_TORCH_BRINGS)
            for folder in (tree.root, *tree.packages):
                for name in ("vllm", "transformers"):
                    for distribution in distributions(folder, name):
                        for line in distribution.requires:
                            if "extra" not in line.partition(";")[2]:
                                needed = re.split(r"[^A-Za-z0-9._-]", line.strip(), maxsplit=1)[0]
                                needed = re.sub(r"[-_.]+", "_", needed).lower()
                                found.add(_IMPORT_NAMES.get(needed, needed))
            self._required = frozenset(found)
        return self._required

    def optional(self, names: Iterable[str], all_models: Iterable[str]) -> dict[str, Need]:
        """Those of the modules ``names`` that need a package which nothing requires.

        ``all_models`` are the modules of every model of the tree. A package that modules elsewhere need, or most
        models, comes with vLLM in some way: without it next to nothing would run.
        """
        asked = frozenset(names)
        everything = frozenset(all_models) | asked
        survey = self._program.importing.survey(asked)
        homes = tuple({f"{name.rpartition('.')[0]}." for name in everything})
        if survey.asked != everything and self._suspects(survey, homes):
            survey = self._program.importing.survey(everything)
        found: dict[str, Need] = {}
        for package in self._suspects(survey, homes):
            users, importers = survey.packages[package]
            if 2 * len(users) > len(everything):
                continue
            for user in sorted(users & asked):
                importer = next(
                    (name for name in self._program.importing.needs(user) if name in importers), next(iter(importers))
                )
                found.setdefault(user, Need(package, importer, importers[importer]))
        return found

    def _suspects(self, survey: Survey, homes: tuple[str, ...]) -> list[str]:
        """The packages of a survey that nothing requires and that only modules of models import."""
        required = self.required()
        return [
            package
            for package, (_, importers) in survey.packages.items()
            if package not in required
            and package.lower() not in required
            and all(name.startswith(homes) for name in importers)
        ]
