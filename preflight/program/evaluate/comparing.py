"""``is``, ``==`` and ``in`` on the values of the evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.evaluate.values import Function, Instance, Opaque, Raised, Unknown, Value

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator


class Comparing:
    """Compares values for one evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def same(self, left: Value, right: Value, identity: bool) -> bool | Unknown:
        """``left is right`` or ``left == right``."""
        for value in (left, right):
            if isinstance(value, Unknown):
                return value
        if left is right:
            return True
        if identity and isinstance(left, (Class, Function, Instance, list, dict, set)):
            return False
        if isinstance(left, (Opaque, Class)) or isinstance(right, (Opaque, Class)):
            return self._same_class(left, right)
        if isinstance(left, Instance) or isinstance(right, Instance):
            return Unknown("objects are compared")
        if isinstance(left, (tuple, list)) and type(left) is type(right) and len(left) == len(right):
            answers = [self.same(one, other, False) for one, other in zip(left, right, strict=True)]
            unknown = next((answer for answer in answers if isinstance(answer, Unknown)), None)
            return False if False in answers else unknown if unknown is not None else True
        return bool(left == right)

    def _same_class(self, left: Value, right: Value) -> bool | Unknown:
        paths = [value.path if isinstance(value, Opaque) else value.target for value in (left, right)
                 if isinstance(value, (Opaque, Class))]  # fmt: skip
        if len(paths) == 2:
            if paths[0] == paths[1]:
                return True
            if paths[0].rpartition(".")[2] == paths[1].rpartition(".")[2] and any(
                isinstance(value, Opaque) or value.opaque for value in (left, right)
            ):
                return Unknown(f"whether {paths[0]} and {paths[1]} are the same is not known")
            return False
        opaque = left if isinstance(left, Opaque) else right if isinstance(right, Opaque) else None
        other = right if opaque is left else left
        if opaque is not None and isinstance(other, (str, int, float, type(None))):
            # a name outside of the tree may be a constant
            last = opaque.path.rpartition(".")[2]
            return False if last[:1].isupper() and not last.isupper() else Unknown(f"{opaque.path} is not at hand")
        return False

    def contains(self, container: Value, element: Value) -> bool | Unknown:
        """``element in container``."""
        if isinstance(container, Unknown):
            return container
        if isinstance(container, str):
            return element if isinstance(element, Unknown) else isinstance(element, str) and element in container
        if isinstance(element, str) and isinstance(container, (dict, set, frozenset)) and element in container:
            return True
        if isinstance(container, Instance):
            method = self._evaluator.attributes.of_instance(container, "__contains__")
            return self._evaluator.calls.call(method, [element], {}, "in")
        if isinstance(container, (dict, set, frozenset)) and isinstance(element, (list, dict)):
            raise Raised("TypeError", f"unhashable type: '{type(element).__name__}'")
        unknown: Unknown | None = element if isinstance(element, Unknown) else None
        for candidate in self._evaluator.expressions.iterate(container):
            answer = self.same(candidate, element, False)
            if answer is True:
                return True
            if isinstance(answer, Unknown):
                unknown = answer
        return unknown if unknown is not None else False
