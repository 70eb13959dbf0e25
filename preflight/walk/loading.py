"""The loading of a built model's weights, where it reads of a module what the making of the module has not set.

A class that makes itself without its base's ``__init__`` and inherits the base's ``load_weights`` fails only there,
after all weights were read. Of most models a look at their methods finds no such name, and nothing is walked. Of the
others the loader's own ``load_weights`` is, with a budget of its own: the weights are one pair of which nothing is
known, or, where some weights are left out, one by the name of a parameter, of several in turn. Of the modules that a
loader by names leads to, only the one is entered that alone holds layers: a checkpoint without any weight for it is
none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.walk import attributes
from preflight.walk.aside import ends_of
from preflight.walk.built import all_below, children_of, is_kind, modules_of
from preflight.walk.classes import lookup
from preflight.walk.outcomes import Exit
from preflight.walk.stored import stored_names
from preflight.walk.values import Class, Const, Function, Instance, Seq, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: the entry, what it calls of the loader, and that of the model
METHOD = "load_weights"
#: so many pieces of code are walked of it
_STEPS = 40_000
#: the parameters whose names are tried, by where they stand among all: if each fails, every weight does
_TRIED = (0.0, 0.5, 1.0)
_NO_NAMES: frozenset[str] = frozenset()


def refused(machine: Machine, config: Value, loader: Value, model: Value, model_config: Value) -> tuple[Exit, ...]:
    """The exceptions that every way through the loading of ``model`` ends in, if it reads of a module what is not
    there; the state is as before.
    """
    if not isinstance(loader, Instance) or not isinstance(model, Instance):
        return ()
    wanting = suspects(model)
    given = stored_names(loader.cls) if wanting else None
    if given is None:
        return ()
    known = machine.library.weight
    try:
        for tried in ((None,), _TRIED):
            places: set[tuple[str, int]] = set()
            exits: tuple[Exit, ...] = ()
            for machine.library.weight in tried:
                exits = _missing(machine, [config, loader, model, model_config], wanting, given)
                places |= {(exit.place.path, exit.place.line) for exit in exits}
                if len(places) != 1:
                    break
            else:
                return exits
    finally:
        machine.library.weight = known
    return ()


def _missing(
    machine: Machine, arguments: list[Value], wanting: dict[int, frozenset[str]], given: frozenset[str]
) -> tuple[Exit, ...]:
    """Those exits of a loading that lack what is ``wanting``, and what the loader does not give; none if there is
    another way out.
    """
    # what may be raised on the way, and is not known, ends the launch just so
    exits = tuple(exit for exit in ends_of(machine, METHOD, arguments, _STEPS).exits if exit.cls is not None)
    for exit in exits:
        module, name = exit.missing if exit.missing is not None else (None, "")
        if name in given or name not in wanting.get(id(module), _NO_NAMES):
            return ()
    return exits


# -- what may be missing ----------------------------------------------------------------------------------------------


def suspects(model: Instance) -> dict[int, frozenset[str]]:
    """The modules of a model of which their ``load_weights`` reads what nothing has set: the names, by ``id``. A model
    that has no ``load_weights`` is asked for that itself."""
    found: dict[int, frozenset[str]] = {}
    if METHOD not in model.content and lookup(model.cls, METHOD).value is None and model.cls.gap() is None:
        return {} if model.loose else {id(model): frozenset([METHOD])}
    read: dict[Class, frozenset[str]] = {}
    for module in all_below(model):
        names = read.get(module.cls)
        if names is None:
            names = read[module.cls] = _read_by_loading(module.cls)
        if not module.loose:
            missing = names.difference(module.content)
            if missing:
                found[id(module)] = missing
    return found


def _read_by_loading(cls: Class) -> frozenset[str]:
    """The attributes that ``load_weights`` of a class, and the methods it calls, read of their own object, and that the
    class itself does not have.
    """
    if cls.gap() is not None or lookup(cls, "__getattr__").value is not None:
        return _NO_NAMES
    todo, done, found = [METHOD], {METHOD}, set()
    while todo:
        name = todo.pop()
        for base in cls.mro:
            value = base.content.get(name)
            if value is None:
                continue
            if not isinstance(value, Function) or isinstance(value.node, ast.Lambda):
                break
            for read in _own_reads(value.node):
                if lookup(cls, read).value is None:
                    found.add(read)
                elif read not in done:
                    done.add(read)
                    todo.append(read)
            if not _hands_on(value.node, name, cls):
                break
    return frozenset(found)


def _hands_on(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, cls: Class) -> bool:
    """Whether a method calls that of a base, by ``super()`` or by the base's name."""
    bases = {base.name for base in cls.mro} | {"super"}
    for inner in ast.walk(node):
        owner = inner.value if isinstance(inner, ast.Attribute) and inner.attr == name else None
        owner = owner.func if isinstance(owner, ast.Call) else owner
        if isinstance(owner, ast.Name) and owner.id in bases:
            return True
    return False


def _own_reads(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The names that a method reads of its object."""
    own = {one.arg for one in (*node.args.posonlyargs, *node.args.args)[:1]}
    for inner in ast.walk(node):
        read = inner if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Load) else None
        if read is not None and isinstance(read.value, ast.Name) and read.value.id in own:
            yield read.attr


# -- what a loader by names does --------------------------------------------------------------------------------------


def all_weights(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """The weights of a checkpoint for the model that is given: at least one, by a name that is not known, or by that of
    the parameter which is tried.
    """
    model = next((one for one in arguments if isinstance(one, Instance) and is_kind(one.cls, "Module")), None)
    tried = machine.library.weight
    name: Value = machine.unknown("the name of a weight", cls=machine.natives.str, truthy=True)
    if tried is not None and model is not None:
        names = [
            f"{module.name}.{parameter.name}" if module.name else parameter.name
            for module in modules_of(model)
            for parameter in module.parameters
            if not parameter.buffer
        ]
        name = Const(names[round(tried * (len(names) - 1))]) if names else name
    return machine.list([machine.tuple([name, machine.unknown("a weight of the checkpoint")])])


def by_names(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """``AutoWeightsLoader.load_weights(weights)``: the weights go to the children whose names they begin with, and
    these load them by themselves if they can.
    """
    loader = arguments[0] if arguments else None
    if isinstance(loader, Instance):
        module, skipped = loader.content.get("module"), loader.content.get("skip_prefixes")
        while isinstance(module, Instance):
            module = _backbone(module, skipped)
            method = attributes.find(machine, module, METHOD) if module is not None else None
            if method is not None:
                machine.call(method, [all_weights(machine, [module], {})])
                break
    return machine.unknown("the names of the weights that were loaded")


def _backbone(module: Instance, skipped: Value | None) -> Instance | None:
    """The child that alone holds layers, if it is not skipped; ``skipped`` None: this release's loader skips none."""
    children = [(name, child) for name, child in children_of(module) if _holds_layers(child)]
    skips = skipped.content if isinstance(skipped, Seq) and not skipped.loose else None
    if len(children) != 1 or (skips is None and skipped is not None):
        return None
    name, child = children[0]
    for prefix in skips or ():
        text = prefix.value if isinstance(prefix, Const) else None
        if not isinstance(text, str) or text.startswith(f"{name}.") or f"{name}.".startswith(text):
            return None
    return child


def _holds_layers(module: Instance) -> bool:
    return any(is_kind(inner.cls, "ModuleList") and any(children_of(inner)) for inner in all_below(module))
