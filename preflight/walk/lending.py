"""What a library may do to an object that it is given: the attributes that its code sets on others' objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.program.modules import absolute_name

if TYPE_CHECKING:
    from preflight.program import Program

_ASSIGNED = re.compile(rb"\b(\w+)((?:\.\w+)*)\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)")
_NAMED = re.compile(rb"setattr\(\s*[\w.]+,\s*[\"'](\w+)[\"']")
#: a name that is computed, of something called a config
_COMPUTED = re.compile(rb"setattr\(\s*[\w.]*config\w*,\s*[^\"'\s]")
_DEFINED = re.compile(rb"(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)")
_IMPORTED = re.compile(rb"(?m)^[ \t]*from[ \t]+(\.+)([\w.]*)[ \t]+import\b")


@dataclass(frozen=True, slots=True)
class Stored:
    """The attributes that code sets on others' objects; ``computed`` are functions that nothing of it calls, and that
    set more, of names that they compute.
    """

    names: frozenset[str]
    computed: frozenset[str]

    def by(self, called: str) -> frozenset[str] | None:
        """What a call of one of its functions sets; None where that is not known."""
        return None if called in self.computed else self.names


def stored_by(program: Program, name: str, aside: Callable[[str], bool]) -> Stored | None:
    """What the module ``name``, and the modules of its package that it imports from, set on anything but ``self``; None
    where a text is not at hand, or a name is computed. Modules ``aside`` are not asked: the classes of configs, which
    are walked.
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
    apart: set[str] = set()
    for text in texts:
        for computed in _COMPUTED.finditer(text):
            uncalled = [name for name in _functions_around(text, computed.start()) if not _called_in(texts, name)]
            if not uncalled:
                return None
            apart.update(name.decode() for name in uncalled)
        found.update(last.decode() for head, inner, last in _ASSIGNED.findall(text) if head != b"self" or inner)
        found.update(last.decode() for last in _NAMED.findall(text))
    return Stored(frozenset(found), frozenset(apart))


def _functions_around(text: bytes, at: int) -> list[bytes]:
    """The names of the functions whose bodies ``at`` stands in."""
    found = []
    for function in _DEFINED.finditer(text, 0, at):
        indent = len(function[1])
        # the parenthesis that ends the parameters may stand as far left as the function
        end = re.compile(rb"(?m)^[ \t]{0,%d}[^\s)\]#]" % indent).search(text, function.end())
        if end is None or end.start() > at:
            found.append(function[2])
    return found


def _called_in(texts: list[bytes], name: bytes) -> bool:
    """Whether a function may be called by this code, other than by itself or one of its name: a constructor comes to
    none that only the users of a library call, such as the one that saves a model.
    """
    if name.startswith(b"__"):
        return True
    mentioned = re.compile(rb"(?m)^(?![ \t]*(?:#|>>>|(?:async[ \t]+)?def[ \t]))[^\n]*\b%s\b(?!`)" % name)
    return any(
        name not in _functions_around(text, mention.end()) for text in texts for mention in mentioned.finditer(text)
    )


def _text(program: Program, name: str) -> bytes | None:
    data = program.loader.data(program.module(name).spec)
    return data if isinstance(data, bytes) else None
