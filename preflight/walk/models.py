"""Model objects whose constructor is not walked: what is known of them is their class, and the few attributes a plain
reading gives.

The loader's ``load_model`` is answered with such an object, so that what the runner and the drafter ask of a model
(its interfaces, its class name, its config) is decided without building sixty layers.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk.calls import scope_of
from preflight.walk.classes import lookup
from preflight.walk.frames import Frame
from preflight.walk.loading import refused
from preflight.walk.outcomes import Raised
from preflight.walk.stored import UNBUILT
from preflight.walk.values import NONE, Bound, Class, Function, Instance, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: what a loader of another format calls, before it reads any weights, to see whether the model is made for it
_LOADERS_CHECK = "_verify_model_compatibility"
#: what the loader is given, in this order; older releases have no prefix
_GIVEN = ("vllm_config", "model_config", "prefix")


def load_model(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """``BaseModelLoader.load_model(vllm_config, model_config, prefix)``: an unbuilt object of the class that the
    registry picks. A drafter is built, and given its weights.
    """
    given = dict(zip(("self", *_GIVEN), arguments, strict=False)) | keywords
    vllm_config, model_config = given.get("vllm_config", NONE), given.get("model_config", NONE)
    utilities = machine.modules.module(machine, "vllm.model_executor.model_loader.utils")
    picker = machine.find(utilities, "get_model_architecture") if utilities is not None else None
    if picker is None:
        return machine.unknown("a model")
    picked = machine.items(machine.call(picker, [model_config]))
    if not picked or not isinstance(picked[0], Class):
        return machine.unknown("a model of a class that is not known")
    target = machine.library.target
    builder = machine.find(utilities, "initialize_model") if target is not None and model_config is not target else None
    made: Value | None = None
    if builder is not None:
        # without its prefix, a drafter's layers would have the names of the target's
        known = {"vllm_config": vllm_config, "model_config": model_config}
        made = machine.call(builder, [], known | ({"prefix": given["prefix"]} if "prefix" in given else {}))
    if not isinstance(made, Instance):
        made = unbuilt(machine, picked[0], vllm_config)
    loader = given.get("self", NONE)
    check = machine.find(loader, _LOADERS_CHECK) if isinstance(loader, Instance) else None
    if isinstance(check, Bound):
        machine.call(check, [made, model_config])
    exits = refused(machine, vllm_config, loader, made, model_config)
    if exits:
        raise Raised(exits)
    return made


def unbuilt(machine: Machine, cls: Class, vllm_config: Value) -> Value:
    """An object of ``cls`` without its constructor, its ``config`` read off where the constructor sets it plainly."""
    made = machine.instance(cls)
    made.loose = UNBUILT
    config = _plain_attribute(machine, cls, "config", vllm_config)
    if config is not None:
        made.content["config"] = config
    return made


def _plain_attribute(machine: Machine, cls: Class, name: str, vllm_config: Value) -> Value | None:
    """What the constructor gives ``self.name`` where plain assignments compute it; None otherwise."""
    init = lookup(cls, "__init__").value
    if not isinstance(init, Function) or not isinstance(init.node, ast.FunctionDef):
        return None
    frame = Frame("function", init.qualname, init.closure.module, init.closure, scope_of(init), machine.state.fresh())
    frame.function, frame.owner = init, init.owner
    frame.content["vllm_config"] = vllm_config
    machine.frames.append(frame)
    try:
        for statement in init.node.body:
            target = (
                statement.targets[0]
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1
                else statement.target
                if isinstance(statement, ast.AnnAssign)
                else None
            )
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            if value is None or not _is_plain(value):
                continue
            if isinstance(target, ast.Attribute) and target.attr == name:
                found = machine.evaluate(value)
                return found if not isinstance(found, Unknown) else None
            if isinstance(target, ast.Name):
                machine.execute([statement])
    except Raised:
        return None
    finally:
        machine.frames.pop()
    return None


def _is_plain(node: ast.expr) -> bool:
    """A name or a chain of attributes."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
