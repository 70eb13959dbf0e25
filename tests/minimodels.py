"""A miniature vLLM with a registry, interfaces and models, written for the tests of the program model."""

from __future__ import annotations

MODELS = "vllm/model_executor/models"

INTERFACES = """\
    import inspect
    from typing import ClassVar, Literal, Protocol, overload, runtime_checkable
    import torch.nn as nn
    from vllm.log import init_logger

    logger = init_logger(__name__)

    @runtime_checkable
    class Generates(Protocol):
        def __init__(self, config, prefix=""): ...
        def forward(self, input_ids, positions): ...
        def compute_logits(self, hidden): ...

    @runtime_checkable
    class SupportsPP(Protocol):
        supports_pp: ClassVar[Literal[True]] = True
        def make_empty(self, size):
            \"\"\"Say what an empty tensor is.\"\"\"
            ...
        def forward(self, *, intermediate): ...

    @runtime_checkable
    class _SupportsPPType(Protocol):
        supports_pp: Literal[True]
        def make_empty(self, size): ...

    @runtime_checkable
    class SupportsEagle3(Protocol):
        supports_eagle3: ClassVar[Literal[True]] = True
        def set_layers(self, layers: tuple[int, ...]) -> None: ...
        def get_layers(self) -> tuple[int, ...]:
            raise NotImplementedError

    def supports_kw(function, name):
        parameters = inspect.signature(function).parameters
        if not parameters:
            return False
        found = parameters.get(name)
        if found:
            return found.kind in {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
        last = parameters[next(reversed(parameters))]
        return last.kind == inspect.Parameter.VAR_KEYWORD and last.name != name

    def is_generating(model):
        if not supports_kw(getattr(model, "__init__"), "config"):
            return False
        missing = tuple(kw for kw in ("input_ids", "positions") if not supports_kw(model.forward, kw))
        if missing and (isinstance(model, type) and issubclass(model, nn.Module)):
            logger.warning("%s lacks %s", model, missing)
        return not missing and callable(getattr(model, "compute_logits", None))

    @overload
    def supports_pp(model: type) -> bool: ...
    @overload
    def supports_pp(model: object) -> bool: ...
    def supports_pp(model):
        attributes = isinstance(model, _SupportsPPType) if isinstance(model, type) else isinstance(model, SupportsPP)
        return attributes and supports_kw(model.forward, "intermediate")

    def get_kind(model):
        kinds = set()
        for cls in (model if isinstance(model, type) else type(model)).__mro__:
            kind = getattr(cls, "kind", "plain")
            if kind != "plain":
                kinds.add(kind)
        assert len(kinds) < 2
        return "plain" if not kinds else next(iter(kinds))

    def kind(name):
        def decorator(model):
            model.kind = name
            return model
        return decorator

    def supports_eagle3(model):
        return isinstance(model, SupportsEagle3)
    """

REGISTRY = """\
    from dataclasses import dataclass, field
    from vllm.log import init_logger
    from .interfaces import get_kind, is_generating, supports_pp

    logger = init_logger(__name__)

    _TEXT = {
        "ToyForCausalLM": ("toy", "ToyForCausalLM"),
        "OtherNameForCausalLM": ("toy", "ToyForCausalLM"),
    }
    _MORE = {
        # models that live elsewhere are given by their whole path
        "LazyForCausalLM": ("vllm.models.lazy", "LazyForCausalLM"),
        "BrokenForCausalLM": ("broken", "BrokenForCausalLM"),
        "GoneForCausalLM": ("toy", "GoneForCausalLM"),
    }
    _MODELS = {**_TEXT, **_MORE}

    @dataclass(frozen=True)
    class _ModelInfo:
        architecture: str
        is_generating: bool
        supports_pp: bool
        kind: str
        sizes: tuple[int, ...] = ()

        @staticmethod
        def from_model_cls(model) -> "_ModelInfo":
            return _ModelInfo(
                architecture=model.__name__,
                is_generating=is_generating(model),
                supports_pp=supports_pp(model),
                kind=get_kind(model),
                sizes=getattr(model, "sizes", ()),
            )

    @dataclass(frozen=True)
    class _LazyRegisteredModel:
        module_name: str
        class_name: str

    @dataclass
    class _ModelRegistry:
        models: dict[str, _LazyRegisteredModel] = field(default_factory=dict)

    def _module_name(name: str) -> str:
        if name.startswith("vllm."):
            return name
        return f"vllm.model_executor.models.{name}"

    ModelRegistry = _ModelRegistry(
        {
            architecture: _LazyRegisteredModel(module_name=_module_name(name), class_name=cls_name)
            for architecture, (name, cls_name) in _MODELS.items()
        }
    )
    """

TOY = """\
    import torch.nn as nn
    from .interfaces import SupportsEagle3, SupportsPP, kind

    class Base(nn.Module):
        def __init__(self, *, config, prefix=""):
            super().__init__()
            self.make_empty = make_factory(config)
        def forward(self, input_ids, positions, intermediate=None): ...

    @kind("special")
    class ToyForCausalLM(Base, SupportsPP, SupportsEagle3):
        sizes = (1, 2)
        def compute_logits(self, hidden): return hidden
        def set_layers(self, layers): self.layers = layers
    """

FILES: dict[str, str] = {
    "vllm/log.py": """\
        import logging
        from typing import cast
        def init_logger(name):
            return cast("Logger", logging.getLogger(name))
        """,
    f"{MODELS}/interfaces.py": INTERFACES,
    f"{MODELS}/registry.py": REGISTRY,
    f"{MODELS}/__init__.py": "from .registry import ModelRegistry\n__all__ = ['ModelRegistry']\n",
    f"{MODELS}/toy.py": TOY,
    f"{MODELS}/broken.py": "from torch import nn\nfrom .toy import Misspelt\nclass BrokenForCausalLM(nn.Module): ...\n",
    "vllm/models/lazy/__init__.py": """\
        __all__ = ["LazyForCausalLM"]
        def __getattr__(name):
            if name in __all__:
                from . import model
                return getattr(model, name)
            raise AttributeError(name)
        """,
    "vllm/models/lazy/model.py": """\
        import torch.nn as nn
        class LazyForCausalLM(nn.Module):
            def __init__(self, size): ...
        """,
}
