"""The tree's interfaces: which classes are one, what they ask for, and what their classes really do about it.

An interface is a Protocol or an abstract class of the tree. What it asks for stands in its own source; which of its
members have to be there is read off the classes of the same tree that claim it, for some members are optional.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.program.facts import FunctionFacts

if TYPE_CHECKING:
    from preflight.checks.classes.survey import Survey
    from preflight.program import Class, Member, Signature

#: a member that so many of the classes with the interface have is one that has to be there
_NEARLY_ALL = 0.9
#: as many other classes are enough to tell
_ENOUGH = 12


@dataclass(frozen=True, slots=True)
class Asked:
    """A member that an interface asks for: a method without a body of its own."""

    interface: Class
    member: Member
    signature: Signature

    @property
    def name(self) -> str:
        return self.member.name

    def __str__(self) -> str:
        facts = self.member.facts
        returns = f" -> {facts.returns.text}" if isinstance(facts, FunctionFacts) and facts.returns is not None else ""
        return f"{self.name}{self.signature}{returns}"


@dataclass(frozen=True, slots=True)
class Usage:
    """How the classes with an interface stand to one of its members. ``called``: some code of the tree calls it."""

    claiming: tuple[Class, ...]
    lacking: tuple[Class, ...]
    called: bool

    def needed(self, besides: Class, share: float) -> bool:
        """Whether that share of the classes has the member, ``besides`` and what derives from it left out; where no
        other class has the interface, whether the member is called."""
        others = [cls for cls in self.claiming if besides not in cls.mro]
        lacking = sum(1 for cls in self.lacking if besides not in cls.mro)
        return self.called if not others else len(others) - lacking >= share * len(others)


class Protocols:
    """Answers for one run."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._asked: dict[Class, tuple[Asked, ...]] = {}
        self._claiming: dict[Class, tuple[Class, ...]] = {}
        #: what was counted of the members, by interface and name
        self.known: dict[tuple[Class, str], Usage] = {}
        self._of_module: dict[str, tuple[Class, ...]] = {}

    def is_interface(self, cls: Class) -> bool:
        """Whether a class of the tree is a Protocol or has abstract methods."""
        if not self._survey.inference.in_tree(cls):
            return False
        return cls.is_protocol or any(is_abstract(member) for member in cls.methods().values())

    def claimed(self, cls: Class) -> Iterator[Class]:
        """The interfaces in the order of ``cls``, itself left out."""
        for base in cls.mro[1:]:
            if self.is_interface(base):
                yield base

    def asked(self, interface: Class) -> tuple[Asked, ...]:
        """The methods that the interface itself names for others to write: those of a protocol that have no body, and
        those of an abstract class that are abstract."""
        if interface not in self._asked:
            found: list[Asked] = []
            for member in interface.methods().values():
                signature = self._survey.program.member_signature(member)
                wanted = is_stub(member) if interface.is_protocol else is_abstract(member)
                if wanted and signature is not None and not member.name.startswith("__"):
                    found.append(Asked(interface, member, signature))
            self._asked[interface] = tuple(found)
        return self._asked[interface]

    def methods(self, interface: Class) -> dict[str, Member]:
        """All methods that the interface itself names, those with a body included."""
        return {name: member for name, member in interface.methods().items() if not name.startswith("__")}

    def alone(self, interface: Class, name: str) -> bool:
        """Whether no other interface beside this one, but for relatives, names the member."""
        return not any(
            other.own(name) is not None and other not in interface.mro and interface not in other.mro
            for other in self.siblings(interface)
        )

    def takes_nothing(self, member: Member) -> bool:
        """Whether a method has no parameter but its object."""
        signature = self._survey.program.member_signature(member)
        return signature is None or not signature.bound().parameters

    def implements(self, cls: Class, asked: Asked) -> bool | None:
        """Whether the class, a base of it or its construction gives the member a body; None if it may."""
        found = cls.lookup(asked.name)
        if found is not None and not found.certain:
            return None
        if found is not None and cls.gives_none(asked.name):
            return False
        if is_abstract(asked.member):
            # what Python asks for is only that the method is not abstract any more, and only where ABCMeta looks
            enforced = any(base.target == "abc.ABC" or base.is_typing("Protocol") for base in cls.mro)
            return not (enforced and found is not None and is_abstract(found))
        if found is not None and not (is_stub(found) and (found.owner is cls or self.is_interface(found.owner))):
            return True
        if found is not None and found.owner is cls and found.stub == "pass":
            return True
        if self._survey.attributes.open(cls) and not cls.complete:
            return None
        return bool(self._survey.inference.objects.setters(cls, asked.name))

    def missing(self, cls: Class, interface: Class) -> list[Asked]:
        """The members of an interface that every other class with it has, and that this one leaves without a body."""
        return [
            asked
            for asked in self.asked(interface)
            if self.implements(cls, asked) is False and self._usage(asked).needed(cls, 1)
        ]

    def needed(self, asked: Asked, besides: Class) -> bool:
        """Whether a class that is to have the interface has to give the member a body, by what nearly all others do."""
        return is_abstract(asked.member) or self._usage(asked).needed(besides, _NEARLY_ALL)

    def _usage(self, asked: Asked) -> Usage:
        key = (asked.interface, asked.name)
        if key not in self.known:
            self.known[key] = self._counted(asked)
        return self.known[key]

    def _counted(self, asked: Asked) -> Usage:
        if self._rarely_together(asked):
            return Usage((), (), False)
        others = self.claiming(asked.interface)
        lacking = tuple(cls for cls in others if self.implements(cls, asked) is False)
        return Usage(others, lacking, self._is_called(asked))

    def _rarely_together(self, asked: Asked) -> bool:
        """Whether few of the files that name the interface name the member: then it is optional. It spares reading
        all of them."""
        texts = self._survey.program.texts
        files = [m for m in texts.modules_with(asked.interface.name) if m.name != asked.interface.module]
        naming = set(texts.modules_with(asked.name))
        return len(files) >= _ENOUGH and sum(1 for module in files if module in naming) < len(files) / 4

    def _is_called(self, asked: Asked) -> bool:
        called = rf"\.{re.escape(asked.name)}\(".encode()
        return bool(self._survey.program.texts.matching(called, asked.name))

    def claiming(self, interface: Class) -> tuple[Class, ...]:
        """Classes of the tree that have the interface and that objects are made of."""
        if interface not in self._claiming:
            found: list[Class] = []
            for module in self._survey.program.texts.modules_with(interface.name):
                if module.name == interface.module:
                    continue
                for cls in self._survey.classes_in(module):
                    if interface in cls.mro and not self.is_interface(cls) and not cls.qualname.count("."):
                        found.append(cls)
            self._claiming[interface] = tuple(found)
        return self._claiming[interface]

    def siblings(self, interface: Class) -> tuple[Class, ...]:
        """The protocols that are defined in the module of an interface."""
        if interface.module not in self._of_module:
            module = self._survey.program.module(interface.module)
            found = [cls for cls in self._survey.classes_in(module) if cls.is_protocol and not cls.name.startswith("_")]
            self._of_module[interface.module] = tuple(found)
        return self._of_module[interface.module]

    def examples(self, interface: Class, names: list[str], like: Class) -> list[tuple[Class, int]]:
        """The classes of the tree that give these members a body themselves, those that are most like ``like`` first,
        and the line of the first member; without ``names`` those that have the interface, and their own line."""
        found: list[tuple[int, Class, int]] = []
        bases = {base.target for base in like.mro}
        for cls in self.claiming(interface):
            own = [member for name in names if (member := cls.own(name)) is not None and not is_stub(member)]
            if cls is like or like in cls.mro or cls in like.mro or len(own) != len(names) or cls.facts is None:
                continue
            line = own[0].line or cls.facts.line if own else cls.facts.line
            found.append((len(bases & {base.target for base in cls.mro}), cls, line))
        found.sort(key=lambda one: -one[0])
        return [(cls, line) for _, cls, line in found]


def is_stub(member: Member) -> bool:
    """Whether a method has no body of its own."""
    return member.stub is not None


def is_abstract(member: Member) -> bool:
    """Whether a method is decorated as abstract."""
    facts = member.facts
    return isinstance(facts, FunctionFacts) and any(
        decorator.text.rpartition(".")[2] == "abstractmethod" for decorator in facts.decorators
    )
