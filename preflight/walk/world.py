"""Where the modules of a walk come from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk.modules import SourceModule

if TYPE_CHECKING:
    from preflight.program import Program
    from preflight.walk.lending import Stored


class Texts:
    """A world made of texts: module name -> source. A package's name ends in ``.__init__``."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def find(self, name: str) -> SourceModule | str | None:
        """The module, from its text."""
        for key, package in ((name, False), (f"{name}.__init__", True)):
            if key in self._texts:
                return SourceModule(key.replace(".", "/") + ".py", ast.parse(self._texts[key]), package)
        return None

    def walked(self, name: str) -> bool:
        """Whether the module is one of the texts, or missing from a package of them."""
        heads = {key.partition(".")[0] for key in self._texts}
        return name.partition(".")[0] in heads

    def installed(self, head: str) -> bool | None:
        """Packages of no text are taken to be there."""
        return True

    def lacks(self, module: str, name: str) -> bool:
        """Of what is no text nothing is known."""
        return False

    def home(self, module: str, name: str) -> tuple[str, str] | None:
        """Texts load nothing lazily."""
        return None

    def stores(self, name: str) -> frozenset[str] | None:
        """Of what is no text nothing is known."""
        return None


#: modules of the standard library that are plain enough to be walked: the tree's parser derives from this one
#: and then the parts of transformers that are walked: what makes a config; everything else of it is a library
_STANDARD = ("argparse",)
_CONFIGURATION = (
    "transformers.configuration_utils",
    "transformers.dynamic_module_utils",
    "transformers.modeling_rope_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.auto_mappings",
    "transformers.utils",
    "transformers.utils.generic",
    "transformers.backbone_utils",
    "transformers.integrations.heterogeneity",
)


class ProgramWorld:
    """The modules of a program: vLLM's own, and of transformers those that make configs."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._trees: dict[str, SourceModule | str | None] = {}
        self._stores: dict[str, Stored | None] = {}

    def walked(self, name: str) -> bool:
        """vLLM is walked; of transformers only configuration files."""
        head, _, rest = name.partition(".")
        if head == "vllm":
            return not rest.startswith("vllm_flash_attn")
        if head == "transformers":
            return name in _CONFIGURATION or ".configuration_" in name or ".heterogeneity." in name
        return name in _STANDARD

    def installed(self, head: str) -> bool | None:
        """Whether a package is there: one that is not found is missing only from a whole environment."""
        from preflight.program import ModuleKind

        kind = self._program.module(head).spec.kind
        return None if kind is ModuleKind.UNKNOWN else kind is not ModuleKind.ABSENT

    def lacks(self, module: str, name: str) -> bool:
        """A name that a package of transformers, or a module of the tree, surely does not have."""
        from preflight.program import Truth

        head = module.partition(".")[0]
        if head not in ("vllm", "transformers"):
            return False
        asked = self._program.module(module)
        known = asked.has_source and (head == "vllm" or asked.spec.is_package)
        return known and self._program.resolve(module, name).exists is Truth.NO

    def home(self, module: str, name: str) -> tuple[str, str] | None:
        """Where a name of a lazily loading package of transformers comes from."""
        if module.partition(".")[0] != "transformers":
            return None
        only = self._program.resolve(module, name).only
        return (only.module, only.name) if only is not None and only.module != module else None

    def stores(self, name: str) -> frozenset[str] | None:
        """What a class or function of transformers sets on others' objects: what the texts of its module, and of those
        that this one imports, have such assignments of.
        """
        from preflight.walk.lending import stored_by

        if name.partition(".")[0] != "transformers":
            return None
        owner, _, last = name.rpartition(".")
        module, called = self.home(owner, last) or (owner, last)
        if module not in self._stores:
            self._stores[module] = stored_by(self._program, module, self.walked)
        stored = self._stores[module]
        return stored.by(called) if stored is not None else None

    def find(self, name: str) -> SourceModule | str | None:
        """The module out of the tree; a reason where it is compiled or cannot be read."""
        if name not in self._trees:
            self._trees[name] = self._find(name)
        return self._trees[name]

    def _find(self, name: str) -> SourceModule | str | None:
        from preflight.program import ModuleKind

        module = self._program.module(name)
        spec = module.spec
        if spec.kind is ModuleKind.ABSENT:
            return None
        if spec.kind is ModuleKind.NAMESPACE:
            return SourceModule(name.replace(".", "/"), ast.Module([], []), True)
        if spec.kind is not ModuleKind.SOURCE:
            return spec.reason or f"{name} has no source"
        tree = self._program.syntax_tree(module)
        if not isinstance(tree, ast.Module):
            return f"{name} cannot be read: {tree.message}"
        return SourceModule(_shown_path(spec.path or name, name), tree, spec.is_package)


def _shown_path(path: str, name: str) -> str:
    """Files of other packages are named by their place in site-packages."""
    if not path.startswith("/"):
        return path
    head = name.partition(".")[0]
    return f"{head}/" + path.rpartition(f"/{head}/")[2] if f"/{head}/" in path else path.rpartition("/")[2]
