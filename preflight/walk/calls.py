"""Calls: what a callable does with its arguments, and how arguments bind to parameters."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from preflight.model import Step
from preflight.walk import classes, generators
from preflight.walk.frames import Frame, Scope, scan_function
from preflight.walk.outcomes import NEXT, Outcome, Raise, Raised, Return, collect, fork, settle
from preflight.walk.recursion import any_depth, descend, descends, repeats
from preflight.walk.straight import is_open
from preflight.walk.values import (
    NONE,
    Bound,
    Builtin,
    Class,
    Const,
    Descriptor,
    External,
    Form,
    Function,
    Instance,
    OneOf,
    Place,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: the key under which a call passes keywords that are not known, and the name of the marker of unknown positions
REST = "**"


#: calls deeper inside each other are walked again with what calls them
_OPEN = 12


class Spread(Value):
    """Stands at the end of the positional arguments of a call for those that are not known."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.origin = None
        self.reason = reason


def call(machine: Machine, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """The value of ``callee(*arguments, **keywords)``."""
    if isinstance(callee, Bound):
        return call(machine, callee.function, [callee.receiver, *arguments], keywords)
    if isinstance(callee, Function):
        return call_function(machine, callee, arguments, keywords)
    if isinstance(callee, Builtin):
        open_ended = REST in keywords or any(isinstance(argument, Spread) for argument in arguments)
        if open_ended and not callee.hands_on:
            return not_walked(
                machine, f"{callee.name} is called with arguments that are not known", arguments, keywords
            )
        return callee.run(machine, arguments, keywords)
    if isinstance(callee, Class):
        return classes.instantiate(machine, callee, arguments, keywords)
    if isinstance(callee, OneOf):
        why = f"which function is called is not known ({machine.place().path}:{machine.place().line})"
        return fork(
            machine,
            [lambda option=option: call(machine, option, arguments, keywords) for option in callee.options],
            why,
        )
    if isinstance(callee, Instance):
        found = classes.lookup(callee.cls, "__call__")
        if found.value is not None and found.sure:
            return call(machine, found.value, [callee, *arguments], keywords)
        if found.sure and not callee.cls.gap():
            machine.fail("TypeError", f"'{callee.cls.name}' object is not callable")
        return not_walked(
            machine, f"how an object of {callee.cls.name} is called is not known", [callee, *arguments], keywords
        )
    if isinstance(callee, External):
        return machine.library.call(machine, callee, arguments, keywords)
    if isinstance(callee, Descriptor) and callee.kind == "staticmethod":
        return call(machine, callee.function, arguments, keywords)
    if isinstance(callee, Form):
        return machine.library.call_form(machine, callee, arguments, keywords)
    if isinstance(callee, Const) and isinstance(callee.value, (int, str, float, bytes, type(None))):
        machine.fail("TypeError", f"'{type(callee.value).__name__}' object is not callable")
    if isinstance(callee, Unknown):
        return not_walked(machine, callee.reason, arguments, keywords)
    return not_walked(machine, f"calling {callee!r} is not modelled", arguments, keywords)


def not_walked(
    machine: Machine,
    reason: str,
    arguments: list[Value],
    keywords: dict[str, Value],
    names: frozenset[str] | None = None,
) -> Value:
    """The result of a call into code that is not walked; ``names``: the attributes that it sets, where they are
    known.
    """
    machine.escape([*arguments, *keywords.values()], reason, names=names)
    machine.may_raise(reason)
    return machine.unknown(reason)


def _not_entered(machine: Machine, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """The result of a function of the tree for which there is no budget; it may change all it can reach."""
    reason = f"{function.qualname} was not entered"
    machine.escape([*arguments, *keywords.values(), function], reason, deep=True)
    machine.forget_globals(function.closure.module, scope_of(function).globals, reason)
    machine.may_raise(reason)
    return machine.unknown(reason)


def scope_of(function: Function) -> Scope:
    if function.shape is None:
        node = function.node
        cached = getattr(node, "walk_scope", None)
        if cached is None:
            cached = scan_function(node)
            node.walk_scope = cached  # pyrefly: ignore
        function.shape = cached
    return function.shape


def call_function(machine: Machine, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """Bind the arguments and walk the body."""
    heading, machine.heading = machine.heading, None
    known = machine.library.override(machine, function)
    if known is not None:
        return call(machine, known, arguments, keywords)
    deeper = descends(machine, function, arguments, keywords)
    if deeper and function in machine.descending:
        return any_depth(machine, function)  # what it changes is forgotten already: it needs no budget
    if len(machine.frames) >= machine.limits.depth:
        machine.doubt(
            "walk-depth", f"{function.qualname} was not entered: {machine.limits.depth} calls inside each other"
        )
        return _not_entered(machine, function, arguments, keywords)
    if machine.spent():
        machine.doubt(
            "walk-branch-budget",
            f"{function.qualname} was not entered: a condition is not known, and its arm was too long",
        )
        return _not_entered(machine, function, arguments, keywords)
    if machine.state.arms and repeats(machine, function, arguments):
        # under a condition that is not known it may never end; what comes of the other arm decides
        reason = f"{function.qualname} calls itself with the same arguments"
        if any(frame.name.endswith(".__getattribute__") for frame in machine.frames):
            machine.may_raise(reason)  # reading an attribute changes nothing
            return machine.unknown(reason)
        return not_walked(machine, reason, arguments, keywords)
    if deeper:
        return descend(machine, function, arguments, keywords, partial(_entered, machine, function))
    return _entered(machine, function, arguments, keywords, straight=heading is function)


def _entered(
    machine: Machine,
    function: Function,
    arguments: list[Value],
    keywords: dict[str, Value],
    *,
    straight: bool = False,
) -> Value:
    """Walk the body; ``straight``: a statement of an open frame calls it."""
    node = function.node
    scope = scope_of(function)
    frame = Frame(
        "function", function.qualname, function.closure.module, function.closure, scope, machine.state.fresh()
    )
    frame.function = function
    frame.owner = function.owner
    frame.node = node
    bind_arguments(machine, function, frame, arguments, keywords)
    if isinstance(node, ast.AsyncFunctionDef):
        return machine.unknown(f"{function.qualname} is a coroutine")
    if scope.generator:
        return Stream(generators.run(machine, frame, node), machine.state.fresh())
    if isinstance(node, ast.Lambda):
        machine.frames.append(frame)
        try:
            return machine.evaluate(node.body)
        finally:
            machine.frames.pop()
    state = machine.state
    base = len(state.pendings)
    frame.open = straight and len(machine.frames) < _OPEN and is_open(machine)
    machine.frames.append(frame)
    outcome: Outcome
    try:
        outcome = machine.execute(node.body)
    except Raised as raised:
        if not _waiting(machine, base):
            raise
        outcome = Raise(raised.exits)
    finally:
        machine.frames.pop()
    if outcome is NEXT:
        outcome = Return(machine.unknown("what comes of a call behind a fault") if frame.past else NONE)
    if _waiting(machine, base):
        outcome = settle(
            machine, collect(machine, base, outcome), f"depends on a condition in {function.qualname} that is not known"
        )
    assert isinstance(outcome, Return)
    return outcome.value


def _waiting(machine: Machine, base: int) -> bool:
    """Whether something that leaves this function (not only a possible raise) is pending."""
    return any(isinstance(pending.outcome, Return) for pending in machine.state.pendings[base:])


def bind_arguments(
    machine: Machine, function: Function, frame: Frame, arguments: list[Value], keywords: dict[str, Value]
) -> None:
    """Fill the parameters of ``frame``; a call that cannot bind raises TypeError at the caller."""
    parameters = function.node.args
    content = frame.content
    rest: str | None = None
    if arguments and isinstance(arguments[-1], Spread):
        rest = arguments[-1].reason
        arguments = arguments[:-1]
    keywords = dict(keywords)
    loose = keywords.pop(REST, None)
    if loose is not None:
        rest = rest or "keywords that are not known are passed"
    positional = [*parameters.posonlyargs, *parameters.args]
    for parameter, value in zip(positional, arguments, strict=False):
        content[parameter.arg] = value
    extra = arguments[len(positional) :]
    if parameters.vararg is not None:
        made = machine.tuple(list(extra))
        content[parameters.vararg.arg] = machine.unknown(rest) if rest is not None and loose is None else made
    elif extra:
        given = len(arguments)
        takes = len(positional)
        least = takes - len(function.defaults)
        amount = f"from {least} to {takes}" if function.defaults else str(takes)
        machine.fail(
            "TypeError",
            f"{function.qualname}() takes {amount} positional argument{'s' if takes != 1 else ''} "
            f"but {given} {'were' if given != 1 else 'was'} given",
            callee=defined(function),
        )
    by_name = {parameter.arg for parameter in (*parameters.args, *parameters.kwonlyargs)}
    more: dict[str, Value] = {}
    for name, value in keywords.items():
        if name in by_name:
            if name in content:
                message = f"{function.qualname}() got multiple values for argument '{name}'"
                machine.fail("TypeError", message, callee=defined(function))
            content[name] = value
        elif parameters.kwarg is not None:
            more[name] = value
        else:
            message = f"{function.qualname}() got an unexpected keyword argument '{name}'"
            _remark_keyword(machine, name, message)
            machine.fail("TypeError", message, callee=defined(function))
    if parameters.kwarg is not None:
        made_map = machine.strings(more)
        if loose is not None:
            made_map.loose = rest
        content[parameters.kwarg.arg] = made_map
    first_default = len(positional) - len(function.defaults)
    missing: list[str] = []
    for index, parameter in enumerate(positional):
        if parameter.arg not in content:
            if rest is not None:
                content[parameter.arg] = machine.unknown(rest)
            elif index >= first_default:
                content[parameter.arg] = function.defaults[index - first_default]
            else:
                missing.append(parameter.arg)
    if missing:
        _fail_missing(machine, function, missing, "positional")
    for parameter in parameters.kwonlyargs:
        if parameter.arg not in content:
            if loose is not None:
                content[parameter.arg] = machine.unknown(rest or "")
            elif parameter.arg in function.kwdefaults:
                content[parameter.arg] = function.kwdefaults[parameter.arg]
            else:
                missing.append(parameter.arg)
    if missing:
        _fail_missing(machine, function, missing, "keyword-only")


def defined(function: Function) -> Place:
    """Where a function is defined."""
    node = function.node
    return Place(function.closure.module.file, node.lineno, node.col_offset + 1)


def _remark_keyword(machine: Machine, name: str, message: str) -> None:
    """The call that gives a keyword may be further out, where it is handed on by ``**``, and long."""
    for frame in reversed(machine.frames):
        given = frame.node.keywords if isinstance(frame.node, ast.Call) else ()
        for keyword in given:
            if keyword.arg == name:
                note = f"`{name}` is given here"
                machine.remarks["", message] = Step(frame.path, keyword.value.lineno, "", note)
                return


def _fail_missing(machine: Machine, function: Function, missing: list[str], kind: str) -> None:
    quoted = [f"'{name}'" for name in missing]
    names = (
        quoted[0]
        if len(quoted) == 1
        else ", ".join(quoted[:-1]) + f"{',' if len(quoted) > 2 else ''} and " + quoted[-1]
    )
    machine.fail(
        "TypeError",
        f"{function.qualname}() missing {len(missing)} required {kind} "
        f"argument{'s' if len(missing) > 1 else ''}: {names}",
        callee=defined(function),
    )
