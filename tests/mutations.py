"""Small changes of real files whose outcome is known by the way they are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from preflight.tree import Tree

MODELS = "vllm/model_executor/models/"


@dataclass(frozen=True, slots=True)
class Mutation:
    """``changes`` are laid over the tree; ``breaks`` says whether an import then fails.

    ``rules`` are those that must report it as an error, at ``places`` (one of them).
    """

    kind: str
    changes: Mapping[str, bytes | None]
    breaks: bool
    rules: tuple[str, ...] = ()
    places: tuple[tuple[str, int | None], ...] = ()


class Mutator:
    """Makes mutations of one released tree."""

    def __init__(self, tree: Tree, random: Random) -> None:
        self._tree = tree
        self._random = random
        self.texts = {path: tree.read(path).decode() for path in tree.files() if path.endswith(".py")}
        words = re.compile(r"[A-Za-z_]\w*")
        self._words: dict[str, list[str]] = {}
        for path, text in self.texts.items():
            for word in set(words.findall(text)):
                self._words.setdefault(word, []).append(path)

    def models(self) -> list[str]:
        """The model files, in an order of chance."""
        found = [path for path in sorted(self.texts) if path.startswith(MODELS) and path.count("/") == 3]
        self._random.shuffle(found)
        return [path for path in found if not path.endswith("__init__.py")]

    def mutations(self, path: str) -> Iterator[Mutation]:
        """One mutation of each kind that the file allows."""
        kinds: tuple[Callable[[str, ast.Module], Mutation | None], ...] = (
            self.rename_imported,
            self.import_guarded,
            self.import_more,
            self.rename_base,
            self.drop_base_import,
            self.rename_definition,
            self.rename_unused,
            self.delete_module,
            self.definition_last,
        )
        tree = ast.parse(self.texts[path])
        for kind in kinds:
            found = kind(path, tree)
            if found is not None:
                yield found

    # -- imports ------------------------------------------------------------------------------------------------------

    def rename_imported(self, path: str, tree: ast.Module) -> Mutation | None:
        picked = self._imported(tree)
        if picked is None:
            return None
        _, alias = picked
        text = f"{alias.name}Q as {alias.asname or alias.name}"
        return Mutation(
            "rename-imported", self._edit(path, alias, text), True, ("PF201", "PF202"), ((path, alias.lineno),)
        )

    def import_guarded(self, path: str, tree: ast.Module) -> Mutation | None:
        lines = (
            "try:\n    from vllm.config import NoSuchName\nexcept ImportError:\n    NoSuchName = None\n"
            "from typing import TYPE_CHECKING as _checking\n"
        )
        return Mutation("import-guarded", self._insert(path, tree, lines), False)

    def import_more(self, path: str, tree: ast.Module) -> Mutation | None:
        return Mutation(
            "import-more", self._insert(path, tree, "from vllm.logger import init_logger as _more\n"), False
        )

    # -- classes ------------------------------------------------------------------------------------------------------

    def rename_base(self, path: str, tree: ast.Module) -> Mutation | None:
        bases = [
            base
            for node in tree.body
            if isinstance(node, ast.ClassDef)
            for base in node.bases
            if isinstance(base, ast.Name)
        ]
        if not bases:
            return None
        base = self._random.choice(bases)
        return Mutation("rename-base", self._edit(path, base, f"{base.id}Q"), True, ("PF204",), ((path, base.lineno),))

    def drop_base_import(self, path: str, tree: ast.Module) -> Mutation | None:
        """The import of a base class, renamed: the class statement then reads a name that nothing binds."""
        bases = {
            base.id: base.lineno
            for node in reversed(tree.body)
            if isinstance(node, ast.ClassDef)
            for base in reversed(node.bases)
            if isinstance(base, ast.Name)
        }
        found = [
            alias
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name in bases and alias.asname is None
        ]
        if not found:
            return None
        alias = self._random.choice(found)
        used = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == alias.name]
        return Mutation(
            "drop-base-import",
            self._edit(path, alias, f"{alias.name} as _renamed"),
            True,
            ("PF204", "PF206"),
            tuple((path, line) for line in used),
        )

    def definition_last(self, path: str, tree: ast.Module) -> Mutation | None:
        """A class that is a base further down, put behind everything."""
        bases = {
            base.id
            for node in tree.body
            if isinstance(node, ast.ClassDef)
            for base in node.bases
            if isinstance(base, ast.Name)
        }
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        bases -= imported
        found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in bases]
        if not found or tree.body[-1] in found:
            return None
        node = self._random.choice(found)
        lines = self.texts[path].splitlines(keepends=True)
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
        last = node.end_lineno or node.lineno
        text = "".join([*lines[:first], *lines[last:], "\n\n", *lines[first:last]])
        return Mutation("definition-last", {path: text.encode()}, True, ("PF206",), ((path, None),))

    # -- definitions that others use --------------------------------------------------------------------------------

    def rename_definition(self, path: str, tree: ast.Module) -> Mutation | None:
        """A class or function that another file imports at its top, renamed where it is defined."""
        module = path.removesuffix(".py").replace("/", ".")
        last = module.rpartition(".")[2]
        found: list[tuple[ast.ClassDef | ast.FunctionDef, str, int]] = []
        for node in tree.body:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                continue
            if sum(getattr(other, "name", "") == node.name for other in tree.body) > 1:
                continue  # an overload: the name is still there without it
            for user in self._words.get(node.name, ()):
                if user == path or last not in self.texts[user]:
                    continue
                for other in ast.parse(self.texts[user]).body:
                    if (
                        isinstance(other, ast.ImportFrom)
                        and _absolute(user, other) == module
                        and any(alias.name == node.name for alias in other.names)
                    ):
                        found.append((node, user, other.lineno))
                        break
        if not found:
            return None
        node, _, _ = self._random.choice(found)
        return Mutation("rename-definition", self._rename(path, node), True, ("PF201",), ((path, node.lineno),))

    def rename_unused(self, path: str, tree: ast.Module) -> Mutation | None:
        """A class or function whose name is nowhere else in the tree, renamed."""
        found = [
            node
            for node in tree.body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef))
            and self._words[node.name] == [path]
            and len(re.findall(rf"\b{node.name}\b", self.texts[path])) == 1
        ]
        return Mutation("rename-unused", self._rename(path, self._random.choice(found)), False) if found else None

    def delete_module(self, path: str, tree: ast.Module) -> Mutation | None:
        module = path.removesuffix(".py").replace("/", ".")
        last = module.rpartition(".")[2]
        users = [
            (user, other.lineno)
            for user in self._words.get(last, ())
            if user != path
            for other in ast.parse(self.texts[user]).body
            if isinstance(other, ast.ImportFrom) and _absolute(user, other) == module
        ]
        if users:
            return Mutation("delete-module", {path: None}, True, ("PF202",), tuple((user, None) for user, _ in users))
        if all(path == user for user in self._words.get(last, ())):
            return Mutation("delete-unused", {path: None}, False)
        return None

    # -- how ----------------------------------------------------------------------------------------------------------

    def _imported(self, tree: ast.Module) -> tuple[ast.ImportFrom, ast.alias] | None:
        """A name that the body imports from vLLM, under no condition."""
        found = [
            (node, alias)
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("vllm."))
            for alias in node.names
        ]
        return self._random.choice(found) if found else None

    def _edit(self, path: str, node: ast.alias | ast.expr, text: str) -> dict[str, bytes]:
        lines = self.texts[path].splitlines(keepends=True)
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + text + line[node.end_col_offset :]
        return {path: "".join(lines).encode()}

    def _insert(self, path: str, tree: ast.Module, text: str) -> dict[str, bytes]:
        """Put lines behind the last import of the module."""
        last = max(
            (node.end_lineno or 1 for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))), default=0
        )
        lines = self.texts[path].splitlines(keepends=True)
        return {path: "".join([*lines[:last], text, *lines[last:]]).encode()}

    def _rename(self, path: str, node: ast.ClassDef | ast.FunctionDef) -> dict[str, bytes]:
        lines = self.texts[path].splitlines(keepends=True)
        lines[node.lineno - 1] = re.sub(rf"\b{node.name}\b", f"{node.name}Q", lines[node.lineno - 1], count=1)
        return {path: "".join(lines).encode()}


def _absolute(path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = path.removesuffix(".py").split("/")
    base = parts[: len(parts) - node.level] if not path.endswith("__init__.py") else parts[: -node.level]
    return ".".join([*base, node.module]) if node.module else ".".join(base)
