"""Names and targets: what an assignment binds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk import assigning, operands, subscripts
from preflight.walk.values import OneOf, Seq, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def why(machine: Machine, node: ast.AST) -> str:
    return f"depends on a condition that is not known ({machine.frame.path}:{getattr(node, 'lineno', 0)})"


def store(machine: Machine, target: ast.expr, value: Value) -> None:
    """``target = value``."""
    if isinstance(target, ast.Name):
        store_name(machine, target.id, value)
    elif isinstance(target, ast.Attribute):
        owner = machine.evaluate(target.value)
        machine.frame.node = target
        assigning.assign(machine, owner, target.attr, value)
    elif isinstance(target, ast.Subscript):
        owner = machine.evaluate(target.value)
        key = machine.evaluate(target.slice)
        machine.frame.node = target
        subscripts.set_item(machine, owner, key, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(machine, target, value)
    elif isinstance(target, ast.Starred):
        store(machine, target.value, value)


def store_name(machine: Machine, name: str, value: Value) -> None:
    """Bind a name where the current scope says."""
    frame = machine.frame
    scope = frame.scope
    if name in scope.globals or frame.kind == "module":
        machine.modules.bind(machine, frame.module, name, value)
        return
    owner = frame
    if name in scope.nonlocals or (frame.kind == "comprehension" and name not in scope.bound):
        closure = frame.closure
        while closure is not None and (
            closure.kind == "class" or (name not in closure.scope.bound and closure.kind != "module")
        ):
            closure = closure.closure
        if closure is None or closure.kind == "module":
            machine.modules.bind(machine, frame.module, name, value)
            return
        owner = closure
    machine.state.touch(owner)
    owner.content[name] = value


def _unpack(machine: Machine, target: ast.Tuple | ast.List, value: Value) -> None:
    starred = next((index for index, element in enumerate(target.elts) if isinstance(element, ast.Starred)), None)
    if isinstance(value, OneOf):
        # all options of one length: unpacked part by part, each part one of the options' parts
        lists = [machine.items(option) if isinstance(option, Seq) else None for option in value.options]
        if starred is None and all(found is not None and len(found) == len(target.elts) for found in lists):
            for index, element in enumerate(target.elts):
                part = lists[0][index]  # pyrefly: ignore
                for found in lists[1:]:
                    part = operands.join_values(machine, part, found[index])  # pyrefly: ignore
                store(machine, element, part)
            return
    items = machine.items(value)
    if items is None:
        reason = value.reason if isinstance(value, Unknown) else "what is unpacked is not known"
        machine.may_raise(reason)
        for element in target.elts:
            store(machine, element, machine.unknown(reason))
        return
    wanted = len(target.elts)
    if starred is None:
        if len(items) != wanted:
            if len(items) > wanted:
                machine.fail("ValueError", f"too many values to unpack (expected {wanted})")
            machine.fail("ValueError", f"not enough values to unpack (expected {wanted}, got {len(items)})")
        for element, item in zip(target.elts, items, strict=True):
            store(machine, element, item)
        return
    after = wanted - starred - 1
    if len(items) < wanted - 1:
        machine.fail("ValueError", f"not enough values to unpack (expected at least {wanted - 1}, got {len(items)})")
    for element, item in zip(target.elts[:starred], items, strict=False):
        store(machine, element, item)
    store(machine, target.elts[starred], machine.list(items[starred : len(items) - after]))
    for element, item in zip(target.elts[starred + 1 :], items[len(items) - after :], strict=True):
        store(machine, element, item)
