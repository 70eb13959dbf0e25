"""What a library may do to an object that it is given: the attributes that its code sets on others' objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.program.modules import absolute_name

if TYPE_CHECKING:
    from preflight.program import Program

_ASSIGNED = re.compile(rb"\b(\w+)((?:\.\w+)*)\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)")
_NAMED = re.compile(rb"setattr\(\s*[\w.]+,\s*[\"'](\w+)[\"']")
#: a name that is computed, of something called a config
_COMPUTED = re.compile(rb"setattr\(\s*[\w.]*config\w*,\s*[^\"'\s]")
_IMPORTED = re.compile(rb"(?m)^[ \t]*from[ \t]+(\.+)([\w.]*)[ \t]+import\b")


def stored_by(program: Program, name: str, aside: Callable[[str], bool]) -> frozenset[str] | None:
    """The attributes that the module ``name``, and the modules of its package that it imports from, set on anything but
    ``self``; None where a text is not at hand, or a name is computed. Modules ``aside`` are not asked: the classes of
    configs, which are walked.
    """
    text = _text(program, name)
    if text is None:
        return None
    texts = [text]
    for dots, rest in _IMPORTED.findall(text):
        imported = absolute_name(program.module(name).package, len(dots), rest.decode())
        more = _text(program, imported) if imported is not None and not aside(imported) else None
        if more is not None:
            texts.append(more)
    found: set[str] = set()
    for text in texts:
        if _COMPUTED.search(text):
            return None
        found.update(last.decode() for head, inner, last in _ASSIGNED.findall(text) if head != b"self" or inner)
        found.update(last.decode() for last in _NAMED.findall(text))
    return frozenset(found)


def _text(program: Program, name: str) -> bytes | None:
    data = program.loader.data(program.module(name).spec)
    return data if isinstance(data, bytes) else None
