"""Whether an object has an attribute, as far as everything that could set it is known."""

from __future__ import annotations

import ast
import re
from collections import namedtuple
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.checks.inference.callees import is_module
from preflight.program.known import CLASS_ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from preflight.checks.inference.inference import Inference
    from preflight.checks.inference.objects import Method
    from preflight.program import Class, Module

#: methods that set an attribute by its name (torch.nn.Module's, and the data model's)
_SET_BY_NAME = frozenset({"register_buffer", "register_parameter", "register_module", "add_module", "__setattr__"})
#: methods whose own version in a class makes every attribute possible
_OPEN = ("__getattr__", "__getattribute__")
#: what ``typing.NamedTuple`` gives a class
_OF_NAMED_TUPLES = frozenset(dir(namedtuple("NamedTuple", ())))


@dataclass(frozen=True, slots=True)
class ForeignStore:
    """A statement of the tree that sets the attribute on something else than its own object."""

    path: str
    line: int
    receiver: str


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of an attribute in a text: where, of what, and whether it sets it."""

    start: int
    receiver: str
    stores: bool


class Attributes:
    """Answers for one program."""

    def __init__(self, inference: Inference) -> None:
        self._inference = inference
        self._open: dict[Class, bool] = {}
        self._named: dict[Class, frozenset[str]] = {}
        self._foreign: dict[str, ForeignStore | None] = {}

    def has(self, cls: Class, name: str) -> bool | None:
        """Whether an object of ``cls`` has the attribute once its own code has had the chance to set it; None where
        other things may set it."""
        known = cls.has(name)
        if known is True or name in CLASS_ATTRIBUTES or self._inference.objects.setters(cls, name):
            return True
        if known is None or self.open(cls):
            return None
        if name in self._named[cls]:
            return True
        # who declares an attribute without a value says that others set it
        return None if any(name in base.annotations() for base in cls.mro if not base.opaque) else False

    def open(self, cls: Class) -> bool:
        """Whether an object of ``cls`` may have attributes that no statement of its own classes names."""
        if cls not in self._open:
            names: set[str] = set()
            self._open[cls] = self._is_open(cls, names)
            named_tuple = cls.named_tuple_fields()
            fields = cls.dataclass_fields() or named_tuple
            names.update(field.name for field in (fields.fields if fields is not None else ()))
            names.update(_OF_NAMED_TUPLES if named_tuple is not None else ())
            self._named[cls] = frozenset(names)
        return self._open[cls]

    def _is_open(self, cls: Class, names: set[str]) -> bool:
        if not cls.complete or any(not self._closed(base) for base in cls.mro):
            return True
        return any(self._sets_by_name(method, names) for method in self._inference.objects.methods(cls))

    def _closed(self, base: Class) -> bool:
        """Whether all that one class of the MRO brings is known."""
        if base.opaque:
            return is_module(base) or base.known is not None or base.is_builtin or base.module == "typing"
        if base.module == "abc":
            return True
        if not self._inference.in_tree(base):
            return False
        return not any(base.own(name) is not None for name in _OPEN)

    def _sets_by_name(self, method: Method, names: set[str]) -> bool:
        """Collect the attributes that a method sets by name; True where a name is computed, or the dictionary is
        handed out."""
        for body in method.body.all():
            for place in body.reads:
                node = place.node
                if isinstance(node, ast.Attribute) and node.attr == "__dict__" and _named(node.value, body.self_name):
                    return True
            for place in body.calls:
                node = place.node
                if not isinstance(node, ast.Call):
                    continue
                name = _set_by(node, body.self_name)
                if name is None:
                    continue
                if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                    return True
                names.add(name.value)
            if method.facts.name == "__new__":
                names.update(target.attr for target, _ in body.foreign)
        return False

    # -- what others do -----------------------------------------------------------------------------------------------

    def foreign(self, name: str) -> ForeignStore | None:
        """The first of the ``stores`` of a name: of a common one it is soon found, all of them are not."""
        if name not in self._foreign:
            self._foreign[name] = next(self.stores(name), None)
        return self._foreign[name]

    def stores(self, name: str) -> Iterator[ForeignStore]:
        """Where the tree sets the attribute of this name on something that is not the object of the method around it,
        or gives the name as a text to something that sets attributes."""
        for module, text, use in self._uses_of(name):
            if use.stores and use.receiver != "self":  # what a function is given as `cls` may be any class
                yield ForeignStore(module.path or module.name, text.count(b"\n", 0, use.start) + 1, use.receiver)

    def read_elsewhere(self, name: str) -> bool:
        """Whether some code of the tree reads the attribute of an object that is not its own (and is no config)."""
        return any(
            not use.stores and use.receiver != "self" and not use.receiver.endswith("config")
            for _, _, use in self._uses_of(name)
        )

    def referred(self, name: str) -> bool:
        """Whether any code of the tree reads an attribute of this name."""
        return any(not use.stores for _, _, use in self._uses_of(name))

    def _uses_of(self, name: str) -> Iterator[tuple[Module, bytes, _Use]]:
        texts = self._inference.program.texts
        for module in texts.each_with(name):
            text = texts.of(module)
            for use in _uses(text, name):
                yield module, text, use


def _set_by(node: ast.Call, self_name: str | None) -> ast.expr | None:
    """The name that a call sets on its own object; None for any other call."""
    func = node.func
    arguments = list(node.args)
    if isinstance(func, ast.Name):
        if not (func.id == "vars" or _SETS.fullmatch(func.id)) or not (arguments and _named(arguments[0], self_name)):
            return None
        return arguments[1] if len(arguments) > 1 else arguments[0]
    if not (isinstance(func, ast.Attribute) and func.attr in _SET_BY_NAME):
        return None
    if not _named(func.value, self_name) and not isinstance(func.value, ast.Call):
        # object.__setattr__(self, "name", value): the object comes first
        if not (arguments and _named(arguments[0], self_name)):
            return None
        arguments = arguments[1:]
    by_keyword = next((keyword.value for keyword in node.keywords if keyword.arg == "name"), None)
    return arguments[0] if arguments else by_keyword


def _named(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name


#: what stands behind an attribute that is set: ``=``, an annotation and ``=``, ``+=``, or the rest of a tuple and ``=``
_SET_BEHIND = re.compile(
    rb"[ \t]*(?::[^=\n]+)?(?:[-+*/|&@%^]|//|\*\*)?=(?!=)|[ \t]*,[^=\n(]*=(?!=)|[ \t]*\)[ \t]*=(?!=)"
)
#: the last name, index or call before a dot
_RECEIVER = re.compile(rb"[\w\])]+$")
#: a call that is given the name as a text: whether it sets or reads is said by its own name
_TEXT_BEFORE = re.compile(rb"(\w+)\(\s*([^()\"']*)$")
_SETS = re.compile(r"setattr|register_\w+|add_module|replace_\w+|__setattr__|set_\w+")
#: so far back is looked for who owns an attribute
_BACK = 120


def _uses(text: bytes, name: str) -> Iterator[_Use]:
    """Every place of a text that uses an attribute of this name."""
    word = re.escape(name.encode())
    for match in re.finditer(rb"\.%s\b" % word, text):
        receiver = _RECEIVER.search(text, max(match.start() - _BACK, 0), match.start())
        if receiver is not None:
            stores = _SET_BEHIND.match(text, match.end()) is not None
            yield _Use(match.start(), receiver[0].decode("utf-8", "replace"), stores)
    for match in re.finditer(rb"[\"']%s[\"']" % word, text):
        before = _TEXT_BEFORE.search(text, max(match.start() - _BACK, 0), match.start())
        if before is None:
            yield _Use(match.start(), "", True)  # an item of a table: a loop over it may set the attribute
            continue
        given = before[2].decode("utf-8", "replace").strip(" ,\n")
        owner = text[max(before.start() - 5, 0) : before.start()]
        called = before[1].decode("utf-8", "replace")
        receiver = "self" if given.startswith("self") or owner == b"self." else given or called
        yield _Use(match.start(), receiver, _SETS.fullmatch(called) is not None)
