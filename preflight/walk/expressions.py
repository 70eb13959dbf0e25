"""Expressions: one function per kind of node."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk import (
    arithmetic,
    comprehensions,
    conditionals,
    formatting,
    operands,
    subscripts,
)
from preflight.walk.calls import REST, Spread
from preflight.walk.frames import Frame
from preflight.walk.straight import head_for
from preflight.walk.values import (
    FALSE,
    NONE,
    TRUE,
    Class,
    Const,
    Instance,
    Map,
    OneOf,
    Perhaps,
    Store,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def evaluate(machine: Machine, node: ast.expr) -> Value:
    """The value of an expression in the current frame."""
    # machine.step(), without a call more for each expression of a walk
    machine.steps = steps = machine.steps + 1
    if steps > machine.last or not steps & 1023:
        machine.check()
    handler = HANDLERS.get(type(node))
    if handler is None:
        machine.doubt("walk-expression", f"{type(node).__name__} is not modelled")
        return machine.unknown(f"{type(node).__name__} is not modelled")
    return handler(machine, node)


def _constant(machine: Machine, node: ast.Constant) -> Value:
    value = node.value
    if value is None:
        return NONE
    if value is True:
        return TRUE
    return FALSE if value is False else Const(value)


def _name(machine: Machine, node: ast.Name) -> Value:
    return read_name(machine, node.id, node)


def read_name(machine: Machine, name: str, node: ast.expr) -> Value:
    """What a name holds here: local, enclosing, global, built-in."""
    frame: Frame | None = machine.frame
    first = frame
    while frame is not None and frame.kind != "module":
        if frame is first or frame.kind != "class":
            value = frame.content.get(name)
            if value is not None:
                if isinstance(value, Perhaps):
                    machine.frame.node = node
                    machine.may_raise(f"{name} may not be bound")
                    return value.value
                return value
            if name in frame.scope.bound and frame.kind != "class":
                machine.frame.node = node
                if frame.loose:
                    return machine.unknown(frame.loose)
                if frame is first or (first is not None and first.kind == "comprehension"):
                    machine.fail(
                        "UnboundLocalError",
                        f"cannot access local variable '{name}' where it is not associated with a value",
                    )
                machine.fail(
                    "NameError",
                    f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope",
                )
            if name in frame.scope.globals:
                break
        frame = frame.closure
    assert first is not None
    found = machine.modules.read(machine, first.module, name)
    if found is not None:
        if isinstance(found, Perhaps):
            machine.may_raise(f"{name} may not be bound")
            return found.value
        return found
    machine.frame.node = node
    builtin = machine.library.builtin(machine, name)
    if builtin is not None:
        return builtin
    gap = machine.modules.gap(first.module)
    if gap:
        machine.may_raise(gap)
        return machine.unknown(gap)
    return machine.fail("NameError", f"name '{name}' is not defined", unbound=(first.module.name, name))


def _attribute(machine: Machine, node: ast.Attribute) -> Value:
    value = machine.evaluate(node.value)
    machine.frame.node = node
    return machine.get(value, node.attr)


def _subscript(machine: Machine, node: ast.Subscript) -> Value:
    value = machine.evaluate(node.value)
    key = machine.evaluate(node.slice)
    machine.frame.node = node
    return subscripts.get_item(machine, value, key)


def _slice(machine: Machine, node: ast.Slice) -> Value:
    parts = [machine.evaluate(part) if part is not None else NONE for part in (node.lower, node.upper, node.step)]
    if all(isinstance(part, Const) for part in parts):
        return Const(slice(*(part.value for part in parts if isinstance(part, Const))))
    for part in parts:
        if isinstance(part, Unknown):
            return Unknown(part.reason, part.place)
    return machine.unknown("a slice that is not known")


def _elements(machine: Machine, nodes: list[ast.expr]) -> tuple[list[Value], str | None]:
    """The values of a display, and why some are not known."""
    items: list[Value] = []
    loose: str | None = None
    for element in nodes:
        if isinstance(element, ast.Starred):
            value = machine.evaluate(element.value)
            machine.frame.node = element
            found = machine.items(value)
            if found is None:
                loose = value.reason if isinstance(value, Unknown) else "what is unpacked is not known"
                machine.may_raise(loose)
            else:
                items += found
        else:
            items.append(machine.evaluate(element))
    return items, loose


def _tuple(machine: Machine, node: ast.Tuple) -> Value:
    items, loose = _elements(machine, node.elts)
    if loose:
        return machine.unknown(loose)
    return machine.tuple(items)


def _list(machine: Machine, node: ast.List) -> Value:
    items, loose = _elements(machine, node.elts)
    made = machine.list([] if loose else items)
    made.loose = loose
    return made


def _set(machine: Machine, node: ast.Set) -> Value:
    items, loose = _elements(machine, node.elts)
    machine.frame.node = node
    made = machine.set(items)
    if loose and isinstance(made, Store):
        made.loose = loose
    return made


def _dict(machine: Machine, node: ast.Dict) -> Value:
    made = machine.dict([])
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            merge(machine, made, machine.evaluate(value))
        else:
            key_value = machine.evaluate(key)
            item = machine.evaluate(value)
            machine.frame.node = node
            subscripts.store_item(machine, made, key_value, item)
    return made


def merge(machine: Machine, made: Map, source: Value) -> None:
    """Put the entries of ``source`` into ``made``; what is not known makes it loose."""
    if isinstance(source, Instance) and isinstance(source.payload, Map):
        source = source.payload
    if isinstance(source, Map):
        machine.state.touch(made)
        if source.loose:
            # an entry of the source that is not known may replace any that was there
            made.content = {}
            made.loose = source.loose
        for hashed, (key, value) in source.content.items():
            if isinstance(value, Perhaps):
                before = made.content.get(hashed)
                made.content[hashed] = (
                    key,
                    value if before is None else operands.join_values(machine, _bound(before[1]), value.value),
                )
            else:
                made.content[hashed] = (key, value)
        return
    if isinstance(source, Const):
        machine.fail("TypeError", f"'{type(source.value).__name__}' object is not a mapping")
    machine.state.touch(made)
    made.content = {}
    made.loose = source.reason if isinstance(source, Unknown) else "the entries that were added are not known"
    machine.may_raise(made.loose)


def _bound(value: Value) -> Value:
    return value.value if isinstance(value, Perhaps) else value


# --- calls ---


def _call(machine: Machine, node: ast.Call) -> Value:
    frame = machine.frame
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        return _super(machine, node)
    callee = machine.evaluate(node.func)
    arguments: list[Value] = []
    spread: str | None = None
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = machine.evaluate(argument.value)
            frame.node = argument
            found = machine.items(value)
            if found is None:
                spread = value.reason if isinstance(value, Unknown) else "the arguments that are unpacked are not known"
            else:
                arguments += found
        else:
            arguments.append(machine.evaluate(argument))
    if spread:
        arguments = [Spread(spread)]
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = machine.evaluate(keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        frame.node = node
        source = value.payload if isinstance(value, Instance) and value.payload is not None else value
        if isinstance(source, Map):
            for key, entry in source.content.values():
                if isinstance(key, Const) and isinstance(key.value, str):
                    if key.value in keywords:
                        machine.fail("TypeError", f"got multiple values for keyword argument '{key.value}'")
                    if isinstance(entry, Perhaps):
                        keywords[REST] = machine.unknown("whether a keyword is passed is not known")
                    else:
                        keywords[key.value] = entry
                elif isinstance(key, Const):
                    machine.fail("TypeError", "keywords must be strings")
            if source.loose:
                keywords[REST] = machine.unknown(source.loose)
        elif isinstance(source, Const):
            machine.fail("TypeError", f"argument after ** must be a mapping, not {type(source.value).__name__}")
        else:
            keywords[REST] = machine.unknown(
                source.reason if isinstance(source, Unknown) else "the keywords that are unpacked are not known"
            )
    frame.node = node
    if frame.open:
        head_for(machine, callee)
    return machine.call(callee, arguments, keywords)


def _super(machine: Machine, node: ast.Call) -> Value:
    frame: Frame | None = machine.frame
    while frame is not None and (frame.kind != "function" or frame.function is None or frame.owner is None):
        frame = frame.closure
    function = frame.function if frame is not None else None
    if frame is None or function is None or frame.owner is None:
        machine.frame.node = node
        machine.fail("RuntimeError", "super(): no arguments")
    # the method's own frame is the outermost one of the functions inside each other
    while (
        frame.closure is not None
        and frame.closure.kind in ("function", "comprehension")
        and frame.closure.owner is frame.owner
    ):
        frame = frame.closure
    arguments = function.node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if frame.function is not None:
        own = frame.function.node.args
        names = [argument.arg for argument in (*own.posonlyargs, *own.args)]
        if own.vararg is not None and not names:
            names = [own.vararg.arg]
    receiver = frame.content.get(names[0]) if names else None
    assert frame.owner is not None
    return make_super(machine, frame.owner, receiver)


def make_super(machine: Machine, after: Class, receiver: Value | None) -> Value:
    """``super(after, receiver)``."""
    if isinstance(receiver, Class):
        start = receiver if after in receiver.mro else receiver.metaclass
        if start is not None:
            return Super(start, after, receiver)
    if isinstance(receiver, Instance) and after in receiver.cls.mro:
        return Super(receiver.cls, after, receiver)
    if isinstance(receiver, Unknown):
        return machine.unknown(receiver.reason)
    if isinstance(receiver, OneOf):
        options = [make_super(machine, after, option) for option in receiver.options]
        return OneOf(tuple(options))
    return machine.unknown("what super() is bound to is not known")


def _binary(machine: Machine, node: ast.BinOp) -> Value:
    left = machine.evaluate(node.left)
    right = machine.evaluate(node.right)
    machine.frame.node = node
    return arithmetic.binary(machine, node.op, left, right)


def _unary(machine: Machine, node: ast.UnaryOp) -> Value:
    value = machine.evaluate(node.operand)
    machine.frame.node = node
    return arithmetic.unary(machine, node.op, value)


def _walrus(machine: Machine, node: ast.NamedExpr) -> Value:
    value = machine.evaluate(node.value)
    from preflight.walk.naming import store_name

    store_name(machine, node.target.id, value)
    return value


def _lambda(machine: Machine, node: ast.Lambda) -> Value:
    from preflight.walk.statements import make_function

    return make_function(machine, node, "<lambda>")


def _starred(machine: Machine, node: ast.Starred) -> Value:
    return machine.evaluate(node.value)


def _await(machine: Machine, node: ast.Await) -> Value:
    machine.evaluate(node.value)
    return machine.unknown("await is not walked")


HANDLERS: dict[type, Callable] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Call: _call,
    ast.BoolOp: conditionals.boolop,
    ast.IfExp: conditionals.ifexp,
    ast.Compare: conditionals.compare,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.JoinedStr: formatting.joined,
    ast.FormattedValue: formatting.formatted,
    ast.ListComp: comprehensions.listcomp,
    ast.SetComp: comprehensions.setcomp,
    ast.DictComp: comprehensions.dictcomp,
    ast.GeneratorExp: comprehensions.genexp,
    ast.Starred: _starred,
    ast.Await: _await,
}
