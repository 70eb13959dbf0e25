"""Changes to files of a released vLLM of which one can tell what they do, by syntax trees alone."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

#: what a call needs to be told by its syntax alone
_PLAIN = (ast.Constant, ast.Name, ast.Attribute)


@dataclass(frozen=True)
class Mutation:
    """One change of a file; ``line`` is where a break is to be reported, None for a change without consequences."""

    path: str
    what: str
    text: str
    line: int | None = None


class Release:
    """The model files of a release, and what their syntax trees say."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._random = random.Random(seed)
        self.models = sorted(
            file.relative_to(root).as_posix() for file in (root / "vllm/model_executor/models").glob("*.py")
        )

    def text(self, path: str) -> str:
        return (self._root / path).read_text()

    @cached_property
    def words(self) -> Counter[str]:
        """How often each word stands in the Python files of the release."""
        found: Counter[str] = Counter()
        for file in (self._root / "vllm").rglob("*.py"):
            found.update(re.findall(r"\w+", file.read_text()))
        return found

    def sample(self, make, count: int) -> list[Mutation]:
        """That many changes of one kind, each in a file of its own."""
        files = list(self.models)
        self._random.shuffle(files)
        found: list[Mutation] = []
        for path in files:
            made = list(make(path, self.text(path)))
            if made:
                found.append(self._random.choice(made))
            if len(found) == count:
                break
        return found

    # -- what breaks --------------------------------------------------------------------------------------------------

    def renamed_helpers(self, path: str, text: str) -> Iterator[Mutation]:
        """A method that its class's own ``__init__`` calls as a statement of its own gets another name."""
        for cls in (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)):
            methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
            made = methods.get("__init__")
            for statement in made.body if made is not None else ():
                value = getattr(statement, "value", None)
                if not isinstance(statement, (ast.Expr, ast.Assign)) or not isinstance(value, ast.Call):
                    continue
                name = value.func.attr if isinstance(value.func, ast.Attribute) else ""
                known = name in methods and not methods[name].decorator_list
                alone = self.words[name] == len(re.findall(rf"\b{name}\b", text)) == 2
                if known and alone and ast.unparse(value.func) == f"self.{name}":
                    changed = text.replace(f"def {name}(", f"def {name}_gone(")
                    yield Mutation(path, f"{cls.name}.{name} renamed", changed, value.lineno)

    def lost_keywords(self, path: str, text: str) -> Iterator[Mutation]:
        """A keyword of a constructor that an ``__init__`` calls for certain gets another name."""
        tree = ast.parse(text)
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for cls in classes.values():
            made = next(
                (node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None
            )
            for statement in made.body if made is not None else ():
                value = getattr(statement, "value", None)
                if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
                    continue
                if not (isinstance(value.func, ast.Name) and self._is_plain(classes.get(value.func.id))):
                    continue
                for keyword in value.keywords:
                    lines = text.splitlines(True)
                    line = lines[keyword.lineno - 1]
                    if keyword.arg and text.count(f"class {value.func.id}(") == 1 and f"{keyword.arg}=" in line:
                        lines[keyword.lineno - 1] = line.replace(f"{keyword.arg}=", f"{keyword.arg}_gone=", 1)
                        yield Mutation(path, f"{value.func.id}({keyword.arg}=)", "".join(lines), keyword.lineno)

    @staticmethod
    def _is_plain(cls: ast.ClassDef | None) -> bool:
        """Whether the syntax says what the class takes: an ``__init__`` without ``**``, and no decorator."""
        if cls is None or cls.decorator_list or cls.keywords:
            return False
        made = [node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
        return len(made) == 1 and made[0].args.kwarg is None and not made[0].decorator_list

    def swapped_bases(self, path: str, text: str) -> Iterator[Mutation]:
        """``object`` in front of the bases of a class: no order of its bases exists."""
        for cls in (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)):
            lines = text.splitlines(True)
            line = lines[cls.lineno - 1]
            if cls.bases and cls.bases[0].lineno == cls.lineno and line.startswith(f"class {cls.name}("):
                lines[cls.lineno - 1] = line.replace(f"class {cls.name}(", f"class {cls.name}(object, ", 1)
                yield Mutation(path, f"object before the bases of {cls.name}", "".join(lines), cls.lineno)

    # -- what does not ------------------------------------------------------------------------------------------------

    def harmless(self, path: str, text: str) -> Iterator[Mutation]:
        """A comment, a parameter with a default, a method that nobody knows, a base that has nothing."""
        yield Mutation(path, "a comment", text + "\n# patched\n")
        for cls in (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)):
            lines = text.splitlines(True)
            first = cls.body[0].lineno - 1
            if lines[first].startswith("    ") and not lines[first].lstrip().startswith("@"):
                method = '    def _of_the_patch(self, value=None):\n        """Nothing."""\n        return value\n\n'
                if not getattr(cls.body[0], "decorator_list", None):
                    added = [*lines[:first], method, *lines[first:]]
                    yield Mutation(path, f"a method in {cls.name}", "".join(added))
            for node in cls.body:
                if isinstance(node, ast.FunctionDef) and node.name == "__init__" and node.args.kwarg is None:
                    line = lines[node.lineno - 1]
                    if line.rstrip().endswith("(") and not node.args.kwonlyargs and not node.args.vararg:
                        end = node.body[0].lineno - 2
                        while end > node.lineno and not lines[end].startswith("    )"):
                            end -= 1
                        before = lines[end - 1].rstrip()
                        if lines[end].startswith("    )") and before.endswith(","):
                            added = [*lines[:end], "        of_the_patch=None,\n", *lines[end:]]
                            yield Mutation(path, f"a parameter of {cls.name}", "".join(added))
