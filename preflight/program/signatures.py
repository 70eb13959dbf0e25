"""Signatures of functions of the tree, and whether a call binds to them, by the rules of ``inspect.Signature.bind``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from preflight.program.facts import (
    KIND_KEYWORD_ONLY,
    KIND_POSITIONAL_ONLY,
    KIND_POSITIONAL_OR_KEYWORD,
    KIND_VAR_KEYWORD,
    KIND_VAR_POSITIONAL,
    Parameter,
)


@dataclass(frozen=True, slots=True)
class CallShape:
    """What a call passes: the number of positional arguments, the keywords, and whether ``*args`` or ``**kwargs``
    hand on more that is not known."""

    positional: int = 0
    keywords: tuple[str, ...] = ()
    star: bool = False
    double_star: bool = False


@dataclass(frozen=True, slots=True)
class BindProblem:
    """Why a call cannot bind. ``kind``: "missing", "unexpected" (a keyword), "too-many", "twice" or
    "positional-only"; ``names`` are the parameters or keywords in question."""

    kind: str
    names: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters that a caller sees. ``exact`` is False if a decorator may have changed them (``reason``)."""

    parameters: tuple[Parameter, ...]
    exact: bool = True
    reason: str = ""

    def bound(self) -> Signature:
        """The signature of a bound method: without the first parameter; ``*args`` takes ``self`` and stays."""
        if self.parameters and self.parameters[0].kind in (KIND_POSITIONAL_ONLY, KIND_POSITIONAL_OR_KEYWORD):
            return Signature(self.parameters[1:], self.exact, self.reason)
        return self

    def unbound(self) -> Signature:
        """The signature with a ``self`` in front."""
        first = Parameter("self", KIND_POSITIONAL_OR_KEYWORD, None, None, 0, 0)
        return Signature((first, *self.parameters), self.exact, self.reason)

    @property
    def takes_any_keyword(self) -> bool:
        return any(parameter.kind == KIND_VAR_KEYWORD for parameter in self.parameters)

    @property
    def takes_any_positional(self) -> bool:
        return any(parameter.kind == KIND_VAR_POSITIONAL for parameter in self.parameters)

    def parameter(self, name: str) -> Parameter | None:
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def accepts_keyword(self, name: str) -> bool:
        """Whether ``f(name=...)`` is possible."""
        found = self.parameter(name)
        if found is not None and found.kind in (KIND_POSITIONAL_OR_KEYWORD, KIND_KEYWORD_ONLY):
            return True
        return self.takes_any_keyword

    def bind(self, call: CallShape) -> BindProblem | None:
        """None if the call binds, or may bind where ``*args`` or ``**kwargs`` leave it open."""
        positional = [p for p in self.parameters if p.kind in (KIND_POSITIONAL_ONLY, KIND_POSITIONAL_OR_KEYWORD)]
        if call.positional > len(positional) and not self.takes_any_positional:
            given, most = call.positional, len(positional)
            message = f"takes {_count(most, 'positional argument')} but {given} {'was' if given == 1 else 'were'} given"
            return BindProblem("too-many", (), message)
        taken = {parameter.name for parameter in positional[: call.positional]}
        by_keyword = {p.name for p in self.parameters if p.kind in (KIND_POSITIONAL_OR_KEYWORD, KIND_KEYWORD_ONLY)}
        problem = self._bind_keywords(call, positional, taken, by_keyword)
        if problem is not None:
            return problem
        missing = [
            parameter.name
            for index, parameter in enumerate(self.parameters)
            if parameter.kind not in (KIND_VAR_POSITIONAL, KIND_VAR_KEYWORD)
            and parameter.default is None
            and index >= min(call.positional, len(positional))
            and not (parameter.name in call.keywords and parameter.name in by_keyword)
            and not self._may_be_handed_on(parameter, call)
        ]
        if missing:
            names = ", ".join(repr(name) for name in missing)
            message = f"missing {_count(len(missing), 'required argument')}: {names}"
            return BindProblem("missing", tuple(missing), message)
        return None

    def _bind_keywords(
        self, call: CallShape, positional: Sequence[Parameter], taken: Collection[str], by_keyword: Collection[str]
    ) -> BindProblem | None:
        for name in call.keywords:
            if name in by_keyword:
                if name in taken:
                    return BindProblem("twice", (name,), f"got multiple values for argument {name!r}")
            elif not self.takes_any_keyword:
                if any(p.name == name and p.kind == KIND_POSITIONAL_ONLY for p in positional):
                    message = f"got positional-only argument {name!r} passed as keyword argument"
                    return BindProblem("positional-only", (name,), message)
                return BindProblem("unexpected", (name,), f"got an unexpected keyword argument {name!r}")
        return None

    def _may_be_handed_on(self, parameter: Parameter, call: CallShape) -> bool:
        """Whether ``*args`` or ``**kwargs`` of the call may fill the parameter."""
        if call.star and parameter.kind in (KIND_POSITIONAL_ONLY, KIND_POSITIONAL_OR_KEYWORD):
            return True
        return call.double_star and parameter.kind in (KIND_POSITIONAL_OR_KEYWORD, KIND_KEYWORD_ONLY)

    def __str__(self) -> str:
        """As it would be written in a ``def``."""
        parts: list[str] = []
        seen_star = False
        for index, parameter in enumerate(self.parameters):
            if parameter.kind == KIND_KEYWORD_ONLY and not seen_star:
                parts.append("*")
                seen_star = True
            star = {KIND_VAR_POSITIONAL: "*", KIND_VAR_KEYWORD: "**"}.get(parameter.kind, "")
            seen_star = seen_star or star == "*"
            text = star + parameter.name
            if parameter.annotation is not None:
                text += f": {parameter.annotation.text}"
            if parameter.default is not None:
                text += f" = {parameter.default.text}" if parameter.annotation else f"={parameter.default.text}"
            parts.append(text)
            following = self.parameters[index + 1].kind if index + 1 < len(self.parameters) else None
            if parameter.kind == KIND_POSITIONAL_ONLY and following != KIND_POSITIONAL_ONLY:
                parts.append("/")
        return f"({', '.join(parts)})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
