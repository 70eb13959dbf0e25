"""transformers' models, made of a config by code that is not walked: what it can add to that config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.library.registry import function
from preflight.walk.stored import hidden
from preflight.walk.values import Arguments, Builtin, Class, Instance, Keywords, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: the module that finds the class of a model by its config, and where the classes of configs and of models are beside
#: each other
_AUTO = "transformers.models.auto.auto_factory"
_CONFIGS, _MODELS = ".configuration_", ".modeling_"


@function(f"{_AUTO}.auto_class_update")
def _auto_class_update(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """The class itself, with constructors of its own."""
    cls = arguments[0]
    if isinstance(cls, Class):
        cls.content["from_config"] = Builtin(f"{cls.qualname}.from_config", _from_config)
    return cls


def _from_config(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    from preflight.walk.calls import not_walked

    reason = "a model of transformers is made by code that is not walked"
    machine.doubt("walk-library-model", reason)
    config = arguments[0] if arguments else keywords.get("config")
    return not_walked(machine, reason, arguments, keywords, added_by_model(machine, config))


def added_by_model(machine: Machine, config: Value | None) -> frozenset[str] | None:
    """The attributes that the making of a model can add to the config that it is given; None where that is not known.

    The class of the model stands beside that of the config, and those of its parts beside the configs inside; only a
    config of transformers' own says so, and none that names code of its checkpoint.
    """
    modules = {_AUTO}
    todo: list[Value | None] = [config]
    seen: set[int] = set()
    while todo:
        part = todo.pop()
        if isinstance(part, Instance) and _is_config(part) and id(part) not in seen:
            seen.add(id(part))
            if "auto_map" in part.content or hidden(part.loose, "auto_map"):
                return None
            modules.add(part.cls.module.replace(_CONFIGS, _MODELS))
            todo += part.content.values()
        elif part is config:
            return None
    found: set[str] = set()
    for module in sorted(modules):
        names = machine.modules.world.stores(f"{module}.from_config")
        if names is None:
            return None
        found |= names
    return frozenset(found)


def _is_config(value: Instance) -> bool:
    return value.cls.module.startswith("transformers.") and _CONFIGS in value.cls.module
