"""The values of arguments: the text of the launch through the tree's own ``type=`` functions, choices and actions, as
``argparse`` applies them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.launch.arguments import Argument
from preflight.launch.matching import BARE, Occurrence
from preflight.launch.reading.argparsing import Namespace
from preflight.launch.reading.calls import call
from preflight.launch.reading.expressions import contains, items
from preflight.launch.reading.values import Instance, NotKnown, Object, Raised, Unknown, describe
from preflight.launch.unresolved import is_open, readable

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

#: How many choices a message lists.
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Invalid:
    """A value that the parser refuses: the text of the launch, and what argparse (or the exception) says of it.

    ``path`` and ``line`` are where the tree raises, where it does so itself.
    """

    argument: Argument
    option: str | None
    text: str
    message: str
    position: int | None
    path: str = ""
    line: int = 0


class _Refused(Exception):
    def __init__(self, message: str, text: str, path: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.path = path
        self.line = line


def apply(run: Run, occurrence: Occurrence, namespace: Namespace, parser: Object) -> Invalid | None:
    """Give the namespace what an occurrence means, or say why it is refused. What is not known becomes an Unknown."""
    argument = occurrence.argument
    try:
        _apply(run, occurrence, namespace, parser)
    except NotKnown as missing:
        namespace.names[argument.dest] = missing.unknown
    except _Refused as refused:
        if is_open(refused.text):
            namespace.names[argument.dest] = Unknown(f"{readable(refused.text)}, which the launch file does not tell")
            return None
        namespace.names[argument.dest] = Unknown(f"the value of {argument.name} is refused")
        return Invalid(
            argument, occurrence.option, refused.text, refused.message, occurrence.position, refused.path, refused.line
        )
    return None


def _apply(run: Run, occurrence: Occurrence, namespace: Namespace, parser: Object) -> None:
    argument, names = occurrence.argument, namespace.names
    values = _converted(run, argument, occurrence.values)
    action = argument.action
    if action == "store":
        names[argument.dest] = values
    elif action in ("store_true", "store_false"):
        names[argument.dest] = action == "store_true"
    elif action == "boolean":
        names[argument.dest] = not (occurrence.option or "").startswith("--no-")
    elif action == "store_const":
        names[argument.dest] = argument.const
    elif action in ("append", "extend", "append_const"):
        before = names.get(argument.dest)
        added = list(values) if action == "extend" and isinstance(values, list) else [values]
        if action == "append_const":
            added = [argument.const]
        names[argument.dest] = [*(before if isinstance(before, list) else []), *added]
    elif action == "count":
        before = names.get(argument.dest)
        names[argument.dest] = (before if isinstance(before, int) else 0) + 1
    elif action == "custom":
        _act(run, occurrence, values, namespace, parser)
    elif action == "unknown":
        names[argument.dest] = Unknown(f"what {argument.name} does with its value")


def _act(run: Run, occurrence: Occurrence, values: Object, namespace: Namespace, parser: Object) -> None:
    """Run the ``__call__`` of an action that is a class of the tree."""
    from preflight.launch.reading.classes import find

    instance = occurrence.argument.instance
    assert isinstance(instance, Instance)
    try:
        _, method = find(run, instance.cls, "__call__")
    except KeyError:
        raise NotKnown(Unknown(f"what {instance.cls.name} does")) from None
    try:
        call(run, method, [instance, parser, namespace, values, occurrence.option], {})
    except Raised as raised:
        text = occurrence.values if isinstance(occurrence.values, str) else " ".join(occurrence.values or ())
        raise _Refused(describe(raised.error), text, raised.path, raised.line) from None


def _converted(run: Run, argument: Argument, values: Object) -> Object:
    if values is BARE:
        return argument.const
    if isinstance(values, list):
        return [_checked(run, argument, text) for text in values] if argument.nargs != 0 else values
    if values is None:
        return None
    return _checked(run, argument, values)


def _checked(run: Run, argument: Argument, text: str) -> Object:
    value = convert(run, argument, text)
    choices = argument.choices
    if choices is None:
        return value
    if isinstance(choices, Unknown) or isinstance(value, Unknown):
        return value
    try:
        if contains(run, choices, value):
            return value
        shown = [repr(choice) if isinstance(choice, str) else describe(choice) for choice in items(run, choices)]
    except (NotKnown, Raised):
        return value
    listed = ", ".join(shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "")
    given = repr(value) if isinstance(value, str) else describe(value)
    raise _Refused(f"invalid choice: {given} (choose from {listed})", text)


def convert(run: Run, argument: Argument, text: str) -> Object:
    """The text of one value through the argument's ``type=``. Raises _Refused where argparse or the function does."""
    kind = argument.kind
    if kind is None:
        return str(text)
    try:
        return call(run, kind, [str(text)], {})
    except NotKnown as missing:
        return missing.unknown
    except Raised as raised:
        error = raised.error
        if isinstance(error, argparse.ArgumentTypeError):
            message = str(error)
        elif isinstance(error, (TypeError, ValueError)) and type(error) in (TypeError, ValueError):
            message = f"invalid {describe(kind)} value: {str(text)!r}"
        elif isinstance(error, ValueError):
            message = f"invalid {describe(kind)} value: {str(text)!r} ({describe(error)})"
        else:
            message = describe(error)
        raise _Refused(message, text, raised.path, raised.line) from None


def default_of(run: Run, argument: Argument) -> Object:
    """What the destination has where the argument is not given: text goes through ``type=``, as argparse does it."""
    default = argument.default
    if default is None and argument.action in ("store_true", "store_false"):
        return argument.action == "store_false"
    if isinstance(default, str) and argument.kind is not None and argument.action in ("store", "custom"):
        try:
            return convert(run, argument, default)
        except _Refused as refused:
            return Unknown(refused.message)
    return default
