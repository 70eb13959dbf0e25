"""Expressions: one function per kind of node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from preflight.walk import arithmetic, comparison, operands, subscripts, texts
from preflight.walk.calls import REST, Spread
from preflight.walk.derived import Derived, derive
from preflight.walk.frames import Frame, Scope, scan
from preflight.walk.generators import Unclear
from preflight.walk.outcomes import Outcome, Return, run_arm, settle
from preflight.walk.straight import head_for
from preflight.walk.truth import Truth
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
    Stream,
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


# --- conditions ---


def _boolop(machine: Machine, node: ast.BoolOp) -> Value:
    return _bool_from(machine, node, 0)


def _bool_from(machine: Machine, node: ast.BoolOp, index: int) -> Value:
    value = machine.evaluate(node.values[index])
    if index == len(node.values) - 1:
        return value
    stops_on = Truth.NO if isinstance(node.op, ast.And) else Truth.YES
    truth = machine.truth(value)
    if truth is stops_on:
        return value
    if truth is not Truth.MAYBE:
        return _bool_from(machine, node, index + 1)
    from preflight.walk import narrowing

    def rest() -> Outcome:
        narrowing.narrow(machine, node.values[index], isinstance(node.op, ast.And))
        return Return(_bool_from(machine, node, index + 1))

    stopped: Value = value
    if isinstance(value, OneOf):
        kept = [option for option in value.options if machine.truth(option) is not stops_on.negated()]
        stopped = kept[0] if len(kept) == 1 else OneOf(tuple(kept))
    elif isinstance(value, Unknown):
        if value.cls is machine.natives.bool:
            stopped = FALSE if stops_on is Truth.NO else TRUE
        else:
            stopped = Unknown(value.reason, value.place, truthy=stops_on is Truth.YES, cls=value.cls)
    arms = [*run_arm(machine, lambda: Return(stopped)), *run_arm(machine, rest)]
    outcome = settle(machine, arms, operands.why(machine) if not isinstance(value, Unknown) else value.reason)
    assert isinstance(outcome, Return)
    return outcome.value


def _ifexp(machine: Machine, node: ast.IfExp) -> Value:
    test = machine.evaluate(node.test)
    truth = machine.truth(test)
    if truth is not Truth.MAYBE:
        return machine.evaluate(node.body if truth is Truth.YES else node.orelse)
    from preflight.walk import narrowing

    def arm(wanted: bool) -> Outcome:
        narrowing.narrow(machine, node.test, wanted)
        return Return(machine.evaluate(node.body if wanted else node.orelse))

    arms = [*run_arm(machine, lambda: arm(True)), *run_arm(machine, lambda: arm(False))]
    outcome = settle(machine, arms, operands.why(machine))
    assert isinstance(outcome, Return)
    return outcome.value


def _compare(machine: Machine, node: ast.Compare) -> Value:
    return _compare_from(machine, node, machine.evaluate(node.left), 0)


def _compare_from(machine: Machine, node: ast.Compare, left: Value, index: int) -> Value:
    right = machine.evaluate(node.comparators[index])
    machine.frame.node = node
    result = comparison.compare(machine, node.ops[index], left, right)
    if index == len(node.ops) - 1:
        return result
    truth = machine.truth(result)
    if truth is Truth.NO:
        return result
    if truth is Truth.YES:
        return _compare_from(machine, node, right, index + 1)
    arms = [
        *run_arm(machine, lambda: Return(FALSE)),
        *run_arm(machine, lambda: Return(_compare_from(machine, node, right, index + 1))),
    ]
    outcome = settle(machine, arms, operands.why(machine))
    assert isinstance(outcome, Return)
    return outcome.value


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


# --- text ---


def _joined(machine: Machine, node: ast.JoinedStr) -> Value:
    parts: list[str] = []
    derived: list[tuple[int, Derived]] = []
    sure = True
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        made = _formatted_text(machine, part)
        if made is None:
            sure = False
            parts.append("{" + ast.unparse(part.value) + "}")
        elif isinstance(made, Derived):
            derived.append((len(parts), made))
            parts.append(made.raw)
        else:
            parts.append(made)
    text = "".join(parts)
    if sure and derived:
        places = [place for place, _part in derived]

        def join(*texts: str) -> str:
            filled = list(parts)
            for place, inner in zip(places, texts, strict=True):
                filled[place] = inner
            return "".join(filled)

        return derive(machine, text, join, tuple(part for _place, part in derived))
    if sure:
        return Const(text)
    unknown = machine.unknown(
        "a text with a part that is not known",
        cls=machine.natives.str,
        truthy=True if any(isinstance(part, ast.Constant) and part.value for part in node.values) else None,
    )
    unknown.text = text
    return unknown


def _formatted_text(machine: Machine, part: ast.FormattedValue) -> str | Derived | None:
    value = machine.evaluate(part.value)
    if isinstance(value, Derived) and part.conversion in (-1, 115) and part.format_spec is None:
        if isinstance(value.raw, str):
            return value
        made = derive(machine, str(value.raw), str, (value,))
        return made if isinstance(made, Derived) else str(value.value)
    specification = ""
    if part.format_spec is not None:
        made = machine.evaluate(part.format_spec)
        if not isinstance(made, Const):
            return None
        specification = made.value
    machine.frame.node = part.value
    if part.conversion in (-1, 115) and isinstance(value, Const) and not specification:
        return str(value.value)
    if part.conversion in (114, 97):
        return texts.text(machine, value, quoted=True)
    if specification:
        host = value.payload if isinstance(value, Instance) and value.payload is not None else value
        if not isinstance(host, Const):
            return None
        try:
            return format(host.value, specification)
        except (TypeError, ValueError) as error:
            machine.fail(type(error).__name__, str(error))
    return texts.text(machine, value)


def _formatted(machine: Machine, node: ast.FormattedValue) -> Value:
    made = _formatted_text(machine, node)
    if isinstance(made, Derived):
        return made
    return Const(made) if made is not None else machine.unknown("a text that is not known", cls=machine.natives.str)


# --- comprehensions ---


def _inner_frame(machine: Machine, generators: list[ast.comprehension]) -> Frame:
    outer = machine.frame
    scope = Scope()
    for generator in generators:
        scope.bound |= scan([ast.Assign(targets=[generator.target], value=ast.Constant(None))]).bound
    frame = Frame("comprehension", outer.name, outer.module, outer, scope, machine.state.fresh())
    frame.owner = outer.owner
    frame.node = outer.node
    return frame


def _rounds(
    machine: Machine, frame: Frame, generators: list[ast.comprehension], source: Value, index: int = 0
) -> Iterator[None]:
    """Runs through the nested ``for`` and ``if`` of a comprehension; the names are bound in ``frame`` at each stop."""
    generator = generators[index]
    if generator.is_async:
        raise Unclear("an asynchronous comprehension")
    for item in machine.iterate(source):
        machine.step()
        machine.store(generator.target, item)
        accepted = True
        for test in generator.ifs:
            truth = machine.truth(machine.evaluate(test))
            if truth is Truth.MAYBE:
                raise Unclear("a condition of a comprehension is not known")
            if truth is Truth.NO:
                accepted = False
                break
        if not accepted:
            continue
        if index + 1 < len(generators):
            yield from _rounds(machine, frame, generators, machine.evaluate(generators[index + 1].iter), index + 1)
        else:
            yield None


def _collect(machine: Machine, node: ast.ListComp | ast.SetComp | ast.DictComp, take: Callable[[], None]) -> str | None:
    """Run a comprehension, ``take`` at each stop; why it is not known, where it is not."""
    source = machine.evaluate(node.generators[0].iter)
    frame = _inner_frame(machine, node.generators)
    machine.frames.append(frame)
    count = 0
    try:
        for _ in _rounds(machine, frame, node.generators, source):
            take()
            count += 1
            if count > machine.limits.size or machine.spent():
                return "a comprehension was not walked to its end"
        return None
    except Unclear as unclear:
        return str(unclear)
    finally:
        machine.frames.pop()
        machine.frame.node = node


def _listcomp(machine: Machine, node: ast.ListComp) -> Value:
    items: list[Value] = []
    reason = _collect(machine, node, lambda: items.append(machine.evaluate(node.elt)))
    made = machine.list([] if reason else items)
    if reason:
        machine.may_raise(reason)
        made.loose = reason
    return made


def _setcomp(machine: Machine, node: ast.SetComp) -> Value:
    items: list[Value] = []
    reason = _collect(machine, node, lambda: items.append(machine.evaluate(node.elt)))
    made = machine.set(items)
    if reason and isinstance(made, Store):
        machine.may_raise(reason)
        made.loose = reason
    return made


def _dictcomp(machine: Machine, node: ast.DictComp) -> Value:
    made = machine.dict([])

    def take() -> None:
        key = machine.evaluate(node.key)
        subscripts.store_item(machine, made, key, machine.evaluate(node.value))

    reason = _collect(machine, node, take)
    if reason:
        machine.may_raise(reason)
        made.content = {}
        made.loose = reason
    return made


def _genexp(machine: Machine, node: ast.GeneratorExp) -> Value:
    source = machine.evaluate(node.generators[0].iter)
    frame = _inner_frame(machine, node.generators)

    def values() -> Iterator[Value]:
        machine.frames.append(frame)
        try:
            rounds = _rounds(machine, frame, node.generators, source)
        finally:
            machine.frames.pop()
        while True:
            machine.frames.append(frame)
            try:
                if next(rounds, True) is True:
                    return
                value = machine.evaluate(node.elt)
            finally:
                machine.frames.pop()
            yield value

    return Stream(values(), machine.state.fresh())


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
    ast.BoolOp: _boolop,
    ast.IfExp: _ifexp,
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
    ast.ListComp: _listcomp,
    ast.SetComp: _setcomp,
    ast.DictComp: _dictcomp,
    ast.GeneratorExp: _genexp,
    ast.Starred: _starred,
    ast.Await: _await,
}
