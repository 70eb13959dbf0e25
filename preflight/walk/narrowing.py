"""What a condition says about a value inside the arm where it holds: of several options, those that cannot be are
dropped.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk.outcomes import Raised
from preflight.walk.truth import Truth
from preflight.walk.values import NONE, Const, Instance, OneOf, Perhaps, Store, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def narrow(machine: Machine, test: ast.expr, wanted: bool) -> None:
    """Inside an arm: ``test`` was found to be ``wanted``; drop the options of its subject that contradict it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(machine, test.operand, not wanted)
        return
    if isinstance(test, ast.BoolOp):
        # all parts of an `and` that holds hold; all parts of an `or` that fails fail
        if isinstance(test.op, ast.And) is wanted:
            for part in test.values:
                narrow(machine, part, wanted)
        return
    subject = _subject(test)
    if subject is None:
        return
    found = _cell(machine, subject)
    if found is None:
        return
    store, name, value = found
    if isinstance(value, OneOf):
        kept = [option for option in value.options if _allows(machine, store, name, value, option, test, wanted)]
        if 0 < len(kept) < len(value.options):
            machine.state.touch(store)
            store.content[name] = kept[0] if len(kept) == 1 else OneOf(tuple(kept))
    elif isinstance(value, Unknown) and value.cls is None and value.truthy is None and _says_none(test, wanted):
        machine.state.touch(store)
        store.content[name] = NONE


def _subject(test: ast.expr) -> ast.expr | None:
    """The one name or attribute that a condition is about."""
    if isinstance(test, (ast.Name, ast.Attribute)):
        return test
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.comparators[0], (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Name, ast.Attribute))
    ):
        return test.left
    if (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id in ("isinstance", "hasattr")
        and test.args
    ):
        return test.args[0]
    return None


def _says_none(test: ast.expr, wanted: bool) -> bool:
    if not (
        isinstance(test, ast.Compare)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
    ):
        return False
    return isinstance(test.ops[0], ast.Is if wanted else ast.IsNot)


def _cell(machine: Machine, subject: ast.expr) -> tuple[Store, str, Value] | None:
    if isinstance(subject, ast.Name):
        frame = machine.frame
        value = frame.content.get(subject.id) if frame.kind == "function" else None
        return (frame, subject.id, value) if value is not None and not isinstance(value, Perhaps) else None
    if isinstance(subject, ast.Attribute):
        inner = _cell(machine, subject.value)
        if inner is None or not isinstance(inner[2], Instance):
            return None
        value = inner[2].content.get(subject.attr)
        return (inner[2], subject.attr, value) if value is not None and not isinstance(value, Perhaps) else None
    return None


def _allows(
    machine: Machine, store: Store, name: str, value: Value, option: Value, test: ast.expr, wanted: bool
) -> bool:
    if isinstance(option, (Const, Instance, Store)):
        segment = machine.state.open()
        base = len(machine.state.pendings)
        try:
            machine.state.touch(store)
            store.content[name] = option
            answer = machine.truth(machine.evaluate(test))
        except Raised:
            return False
        finally:
            machine.state.drain(base, segment)
            machine.state.take(segment)
        return answer is not (Truth.NO if wanted else Truth.YES)
    return True
