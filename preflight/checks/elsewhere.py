"""Names that a module or class does not bind itself and other files of the tree set from outside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preflight.program import Missing, Module, Program
    from preflight.tree import Tree


class SetElsewhere:
    """The answers for one program: several checks ask for the same names."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[str, str], bool] = {}

    def of(self, module: str, name: str) -> bool:
        """Whether some file of the tree assigns ``name``, dotted for one of a class, as an attribute."""
        key = (module, name)
        if key not in self._known:
            self._known[key] = _is_assigned(self._program, module, name)
        return self._known[key]


def is_set_elsewhere(program: Program, missing: Missing) -> bool:
    """Whether some file of the tree assigns the missing name as an attribute (``module.name = ...``, ``setattr``)."""
    return missing.name is not None and program.derived(SetElsewhere).of(missing.module, missing.name)


def _is_assigned(program: Program, home: str, dotted: str) -> bool:
    within, _, name = dotted.rpartition(".")
    owner = within.rpartition(".")[2] or home.rpartition(".")[2]
    word = re.escape(name)
    assigned = re.compile(
        rf"(?<![\w.])((?!self\b|cls\b)[A-Za-z_][\w.]*)\.{word}[ \t]*(?::[^=\n]*)?=(?!=)"
        rf"|\bsetattr\([ \t\n]*([A-Za-z_][\w.]*),[ \t\n]*[\"']{word}[\"']"
    )
    for module in program.texts.modules_with(name):
        data = program.loader.data(module.spec)
        if not isinstance(data, bytes):
            continue
        for match in assigned.finditer(data.decode("utf-8", "replace")):
            if _means(program, module, match[1] or match[2], owner, home if not within else None):
                return True
    return False


def is_set_beside(tree: Tree, missing: Missing) -> bool:
    """Whether code beside the tree puts the attribute there, or another class or module in the place of its owner."""
    within, _, name = (missing.name or "").rpartition(".")
    owner = within.rpartition(".")[2] or missing.module.rpartition(".")[2]
    put = re.compile(rf"\.(?:{re.escape(name)}|{re.escape(owner)})\s*=(?!=)|['\"](?:{re.escape(name)})['\"]".encode())
    return any(put.search(file.data) is not None for file in tree.outside)


def _means(program: Program, module: Module, text: str, owner: str, home: str | None) -> bool:
    """Whether the dotted name ``text`` may be the owner: a class by its name, a module by where an import leads."""
    root, _, rest = text.partition(".")
    if text.rpartition(".")[2] == owner:
        return True
    if home is None:
        return False
    for item in module.facts.imports:
        target = module.absolute(item)
        if item.bound != root or target is None:
            continue
        base = target if item.name is None else f"{target}.{item.name}"
        if (f"{base}.{rest}" if rest else base) == home:
            return True
    return False
