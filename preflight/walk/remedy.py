"""The way out of a fault, where it can be known: what the object has instead, the list and what is not in it, the flag
or key that the value comes from, the package to install, the assumption that may not hold.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from preflight.walk.built import is_kind
from preflight.walk.first_pass import nothing_given
from preflight.walk.loading import METHOD
from preflight.walk.nearby import nearest_of_class
from preflight.walk.origins import assumed_in, parts
from preflight.walk.outcomes import Exit
from preflight.walk.result import Described, Found
from preflight.walk.values import Const, Function, Instance, Map, Seq, SetValue, Value

_PACKAGE = re.compile(r"No module named '([\w.]+)'")
_QUOTED = re.compile(r"'([^']+)'")
#: a list with more than this is not written out
_LISTED = 12
#: the divisors of a larger number are more than a help lists
_MOST = 4096


def way_out(found: Found, target: Described | None) -> str | None:
    """What the user can do about a fault; None where nothing is known. ``target`` is the model, if the walk came that
    far.
    """
    exit = found.exit
    return next(
        (
            text
            for text in (
                _set_by_base(exit),
                _instead(exit),
                _to_define(exit, found.others),
                _unbound(exit),
                _called(exit),
                _returns_nothing(exit),
                _package(exit),
                _trust(exit),
                _resting(exit, found.assumed),
                _interface(exit, target),
                _listed(exit),
                _divisors(exit),
                _spelt(exit),
                _given(exit),
            )
            if text is not None
        ),
        None,
    )


def _set_by_base(exit: Exit) -> str | None:
    """For an attribute that only a base's own constructor sets: that it did not run."""
    owner, name = exit.missing if exit.missing is not None else (None, "")
    if not isinstance(owner, Instance):
        return None
    for base in owner.cls.mro[1:]:
        init = base.content.get("__init__")
        if isinstance(init, Function) and any(
            isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == name
            for node in ast.walk(init.node)
        ):
            return (
                f"{base.name}.__init__ sets it, which does not run for this {owner.cls.name}: call "
                f"`super().__init__(...)` in its `__init__`, or set `self.{name}` there"
            )
    return None


def _instead(exit: Exit) -> str | None:
    """For a missing attribute: what the object has instead."""
    if exit.missing is None:
        return None
    owner, name = exit.missing
    near = nearest(name, owner) if isinstance(owner, Instance) else []
    return f"this {owner.cls.name} has {' and '.join(near)}" if near and isinstance(owner, Instance) else None


def _to_define(exit: Exit, others: tuple[str, ...]) -> str | None:
    """For what a module of the model lacks, and no attribute is named like: to define it, or which class has it."""
    owner, name = exit.missing if exit.missing is not None else (None, "")
    if not isinstance(owner, Instance) or owner.cls.node is None or not is_kind(owner.cls, "Module"):
        return None
    cls = owner.cls
    near = nearest_of_class(cls, name)
    if near is not None:
        return f"rename `{near[0]}` of {near[1]} to `{name}`, or define `{name}` in {cls.name}"
    if others or name == METHOD:
        which = f"{others[0]}, which has it" if len(others) == 1 else "a class that has it"
        return f"define `{name}` in {cls.name}, or derive {cls.name} from {which}"
    return f"set `self.{name}` in `{cls.name}.__init__`, or define `{name}` in the class"


def _called(exit: Exit) -> str | None:
    """For a call that does not fit the function: where that stands."""
    callee = exit.callee
    if callee is None:
        return None
    if (callee.path, callee.line) == (exit.place.path, exit.place.line):
        return "give it the parameters that the engine passes"
    return f"pass what it takes, or let it take that: it is defined in {callee.path}:{callee.line}"


def _returns_nothing(exit: Exit) -> str | None:
    """For a module whose outcome is used, and that has none."""
    forward = nothing_given(exit)
    return f"return from {forward} what is asked of it here" if forward is not None else None


def nearest(name: str, owner: Instance) -> list[str]:
    """Attributes that may be meant: those spelt alike, then those that share words, what a file says first."""
    candidates = [key for key in owner.content if not key.startswith("_")]
    alike = difflib.get_close_matches(name, candidates, 2, 0.75)
    words = set(name.split("_")) - {"num", "size", "config"}
    scored: list[tuple[int, str]] = []
    for key in candidates:
        shared = len(words & set(key.split("_")))
        if shared and key not in alike:
            origin = owner.content[key].origin or ""
            scored.append((-3 * (".json: " in origin) - shared, key))
    return [*alike, *(key for _score, key in sorted(scored))][: 3 if alike else 1]


def _unbound(exit: Exit) -> str | None:
    """For a name that is bound nowhere: where to bind it."""
    if exit.unbound is None:
        return None
    return f"import {exit.unbound[1]} in {exit.place.path}, or write the name that is meant"


def _package(exit: Exit) -> str | None:
    found = _PACKAGE.search(exit.message or "")
    if found is None:
        return None
    head = found[1].partition(".")[0]
    return f"install {head}, or say `--assume package={head}` if the machine has it"


def _trust(exit: Exit) -> str | None:
    if "trust_remote_code=True" not in (exit.message or ""):
        return None
    return "add `--trust-remote-code`, if you trust the code that the checkpoint brings"


def _resting(exit: Exit, assumed: tuple[str, ...]) -> str | None:
    """For what rests on the machine: the assumption, which may not hold."""
    keys = exit.weighed.union(*(assumed_in(value.origin) for _name, value in _values(exit)))
    stated = [text for text in assumed if text.partition("=")[0] in keys]
    if not stated:
        return None
    flags = _flags(exit)
    change = f", or change {' or '.join(flags)}" if flags else ""
    return f"this holds with {' and '.join(stated)}: say with --assume what the machine has, if it is another{change}"


def _interface(exit: Exit, target: Described | None) -> str | None:
    """For a question to a class of models: the class, and how to see what it lacks."""
    if target is None or target.architecture is None:
        return None
    for condition in reversed(exit.conditions[-2:]):
        for node in ast.walk(condition.test):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("supports_"):
                name = target.architecture
                return f"{node.func.id} is not true of {name}: `preflight interfaces {name}` shows what it implements"
    return None


def _listed(exit: Exit) -> str | None:
    """For a white list: the list, and the value that is not in it."""
    for name, value in _values(exit):
        texts = _texts(value)
        if not texts:
            continue
        # what a checkpoint says is sought more often than what a flag says
        for other, sought in sorted(_values(exit), key=lambda pair: ".json" not in (pair[1].origin or "")):
            if not isinstance(sought, Const) or not isinstance(sought.value, str) or other == name:
                continue
            if sought.value in texts or not _of_a_file(sought):
                continue
            shown = ", ".join(texts[:_LISTED]) + (", ..." if len(texts) > _LISTED else "")
            near = difflib.get_close_matches(sought.value, texts, 1, 0.75)
            meant = f"; did you mean {near[0]}?" if near else ""
            return f"`{name}` has {shown}, and not {sought.value} ({sought.origin}){meant}"
    return None


def _texts(value: Value) -> list[str]:
    """The strings of a list or set, or the keys of a dict, if they are all known."""
    if not isinstance(value, (Seq, SetValue, Map)) or value.loose:
        return []
    items: list[Value] = (
        list(value.content)
        if isinstance(value, Seq)
        else list(value.content.values())
        if isinstance(value, SetValue)
        else [key for key, _entry in value.content.values()]
    )
    texts = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, str)]
    return texts if len(texts) == len(items) else []


def _of_a_file(value: Value) -> bool:
    return any(".json" in part or part.startswith("-") for part in parts(value.origin))


def _spelt(exit: Exit) -> str | None:
    """For a message that lists names: those that are spelt like the first, which was given."""
    names = _QUOTED.findall(exit.message or "")
    if len(names) < 3:
        return None
    near = difflib.get_close_matches(names[0], names[1:], 2, 0.8)
    return f"did you mean {' or '.join(near)}?" if near else None


def _divisors(exit: Exit) -> str | None:
    """For a flag that does not divide a number: the values that do."""
    known = dict(_values(exit))
    for condition in reversed(exit.conditions[-2:]):
        for node in ast.walk(condition.test):
            if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)):
                continue
            whole, part = (known.get(ast.unparse(side), side) for side in (node.left, node.right))
            flag = part.origin if isinstance(part, Const) else None
            number = whole.value if isinstance(whole, (Const, ast.Constant)) else None
            if flag is None or not flag.startswith("-") or type(number) is not int or not 0 < number < _MOST:
                continue
            told = f" ({whole.origin})" if isinstance(whole, Const) and whole.origin else ""
            *others, last = [str(size) for size in range(1, number + 1) if number % size == 0]
            values = f"{', '.join(others)} or {last}" if others else last
            return f"give {flag} a value that divides {number}{told}: {values}"
    return None


def _given(exit: Exit) -> str | None:
    """Which flags the values come from, and which keys of a file."""
    flags = _flags(exit)
    # of a value that was computed, what the file says is another one
    said = (f"{part} is {_shown(value)}" if part == value.origin else part for part, value in _origins(exit))
    files = list(dict.fromkeys(text for text in said if ".json: " in text))
    if flags:
        fixed = f" ({', '.join(files)})" if files else ""
        return f"change {' or '.join(flags)}{fixed}"
    return ", ".join(files) or None


def _flags(exit: Exit) -> list[str]:
    return list(dict.fromkeys(part for part, _value in _origins(exit) if part.startswith("-")))[:3]


def _origins(exit: Exit) -> Iterator[tuple[str, Value]]:
    for _name, value in _values(exit):
        for part in parts(value.origin):
            yield part, value


def _shown(value: Value) -> str:
    return str(value.value) if isinstance(value, Const) else "..."


def _values(exit: Exit) -> list[tuple[str, Value]]:
    """What took part: the values of the exception, then those of the conditions nearest to it."""
    return [*exit.values, *(pair for condition in reversed(exit.conditions[-2:]) for pair in condition.values)]
