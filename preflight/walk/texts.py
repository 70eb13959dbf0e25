"""Text: ``str()`` and ``repr()`` of values, as far as they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.classes import lookup
from preflight.walk.iteration import NotConcrete
from preflight.walk.outcomes import Raised
from preflight.walk.values import (
    Class,
    Const,
    Form,
    Host,
    Instance,
    Map,
    OneOf,
    Seq,
    SetValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def text(machine: Machine, value: Value, *, quoted: bool = False) -> str | None:
    """``str(value)`` (``repr`` when ``quoted``) where it is known."""
    if isinstance(value, Const):
        return repr(value.value) if quoted else str(value.value)
    if isinstance(value, (Seq, Map, SetValue)):
        try:
            return _text_of_host(machine.host(value))
        except NotConcrete:
            return _text_of_parts(machine, value)
    if isinstance(value, Instance):
        return _text_of_instance(machine, value, quoted)
    if isinstance(value, Class):
        return f"<class '{value.module}.{value.qualname}'>" if value.module != "builtins" else f"<class '{value.name}'>"
    if isinstance(value, Form):
        return machine.library.form_text(machine, value)
    return None


def _text_of_host(made: Host) -> str:
    """The text of a container; the order of the strings in a set differs from run to run, and is sorted here."""
    if isinstance(made, (set, frozenset)) and any(isinstance(item, str) for item in made):
        inner = "{" + ", ".join(sorted(map(repr, made))) + "}"
        return inner if isinstance(made, set) else f"frozenset({inner})"
    return str(made)


def _text_of_parts(machine: Machine, value: Seq | Map | SetValue) -> str | None:
    if value.loose or isinstance(value, SetValue) or value in machine.texting:
        return None
    machine.texting.append(value)
    try:
        return _text_of_items(machine, value)
    finally:
        machine.texting.pop()


def _text_of_items(machine: Machine, value: Seq | Map) -> str | None:
    if isinstance(value, Map):
        pairs = [
            (text(machine, key, quoted=True), text(machine, entry, quoted=True))
            for key, entry in value.content.values()
        ]
        if any(key is None or entry is None for key, entry in pairs):
            return None
        return "{" + ", ".join(f"{key}: {entry}" for key, entry in pairs) + "}"
    parts = [text(machine, item, quoted=True) for item in value.content]
    if any(part is None for part in parts):
        return None
    inner = ", ".join(part for part in parts if part is not None)
    if value.kind is machine.natives.tuple:
        return f"({inner},)" if len(parts) == 1 else f"({inner})"
    return f"[{inner}]"


def _text_of_instance(machine: Machine, value: Instance, quoted: bool) -> str | None:
    for name in ("__repr__",) if quoted else ("__str__", "__repr__"):
        found = lookup(value.cls, name)
        if not found.sure:
            return None
        if found.value is not None:
            made = machine.call(found.value, [value])
            return made.value if isinstance(made, Const) and isinstance(made.value, str) else None
    if value.cls.is_subclass(machine.natives.of(BaseException)):
        arguments = value.content.get("args")
        if isinstance(arguments, Seq):
            if quoted:
                inner = text(machine, arguments)
                return f"{value.cls.name}{inner}" if inner is not None else None
            if not arguments.content:
                return ""
            if len(arguments.content) == 1:
                return text(machine, arguments.content[0], quoted=value.cls.is_subclass(machine.natives.of(KeyError)))
            return text(machine, arguments)
    fields = value.cls.notes.get("fields")
    if fields is not None:
        parts = [(name, value.content.get(name)) for name in fields]
        texts = [(name, text(machine, part, quoted=True) if part is not None else None) for name, part in parts]
        if all(part is not None for _name, part in texts):
            return f"{value.cls.qualname}({', '.join(f'{name}={part}' for name, part in texts)})"
        return None
    return text(machine, value.payload, quoted=quoted) if value.payload is not None else None


def shown(machine: Machine, value: Value) -> str | None:
    """The text of an exception or message as far as it is known, for people."""
    if isinstance(value, Unknown):
        return value.text
    try:
        made = text(machine, value)
    except Raised:
        return None
    if made is not None:
        return made
    if isinstance(value, Instance):
        arguments = value.content.get("args")
        if isinstance(arguments, Seq) and arguments.content:
            return shown(machine, arguments.content[0])
    if isinstance(value, OneOf):
        parts = [shown(machine, option) for option in value.options]
        return " or ".join(part for part in parts if part)
    return None
