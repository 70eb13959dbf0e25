"""Expressions: one method for each kind of node; what has none is an unknown value with the node's name."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from preflight.operators import ORDER
from preflight.program.classes import Class
from preflight.program.conditions import Truth
from preflight.program.evaluate.comparing import Comparing
from preflight.program.evaluate.values import (
    LARGEST,
    LARGEST_TEXT,
    EnumMember,
    Frame,
    Function,
    Instance,
    Opaque,
    Raised,
    Super,
    Undecidable,
    UnionValue,
    Unknown,
    Value,
)
from preflight.program.facts import (
    KIND_KEYWORD_ONLY,
    KIND_POSITIONAL_ONLY,
    KIND_POSITIONAL_OR_KEYWORD,
    KIND_VAR_KEYWORD,
    KIND_VAR_POSITIONAL,
    Parameter,
)

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_PLAIN = (str, bytes, int, float, complex, bool, type(None), tuple, list, dict, set, frozenset)


class Expressions:
    """Evaluates expressions for one evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._comparing = Comparing(evaluator)
        self._by_kind: dict[type[ast.expr], Callable[[Any, Frame], Value]] = {
            ast.Constant: lambda node, frame: node.value,
            ast.Name: lambda node, frame: evaluator.name(node.id, frame),
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.BoolOp: self._bool_op,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.IfExp: self._if_expression,
            ast.BinOp: self._binary,
            ast.Tuple: lambda node, frame: tuple(self._elements(node.elts, frame)),
            ast.List: lambda node, frame: list(self._elements(node.elts, frame)),
            ast.Set: lambda node, frame: set(self._elements(node.elts, frame)),
            ast.Dict: self._dict,
            ast.Subscript: self._subscript,
            ast.JoinedStr: self._joined,
            ast.Lambda: self._lambda,
            ast.NamedExpr: self._named,
            ast.GeneratorExp: self._generator,
            ast.ListComp: lambda node, frame: list(self._generator(node, frame)),
            ast.SetComp: lambda node, frame: set(self._generator(node, frame)),
            ast.DictComp: self._dict_comprehension,
        }

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression in a scope."""
        self._evaluator.tick()
        method = self._by_kind.get(type(node))
        if method is None:
            return Unknown(f"the expression {type(node).__name__} is not followed")
        return method(node, frame)

    # -- names and calls --------------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        return self._evaluator.attributes.get(self.value(node.value, frame), node.attr)

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self._super(frame)
        function = self.value(node.func, frame)
        args = self._elements(node.args, frame)
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, frame)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict):
                kwargs.update(value)
            else:
                raise Undecidable("the keywords of a call are not known")
        return self._evaluator.calls.call(function, args, kwargs, node.func)

    def _super(self, frame: Frame) -> Value:
        scope: Frame | None = frame
        while scope is not None and scope.function is None:
            scope = scope.outer
        function = scope.function if scope is not None else None
        if scope is None or function is None or function.owner is None or not function.parameters:
            raise Undecidable("super() outside of a method")
        return Super(function.owner, scope.names[function.parameters[0].name])

    def _elements(self, nodes: Iterable[ast.expr], frame: Frame) -> list[Value]:
        found: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.iterate(self.value(node.value, frame)))
            else:
                found.append(self.value(node, frame))
        return found

    def iterate(self, value: Value) -> Iterator[Value]:
        """The elements of a value, if they are known."""
        if isinstance(value, range) and len(value) > LARGEST:
            raise Undecidable("a range of so many numbers is not followed")
        if isinstance(value, (str, tuple, list, dict, set, frozenset, Iterator, range, *_VIEWS)):
            return iter(value)
        if isinstance(value, Class) and value.is_enum:
            return iter([EnumMember(value, name) for name in value.enum_members()])
        if isinstance(value, Unknown):
            raise Undecidable(f"what is iterated over is not known: {value.reason}")
        raise Undecidable(f"a {type(value).__name__} is iterated over")

    # -- operators ------------------------------------------------------------------------------------------------

    def _bool_op(self, node: ast.BoolOp, frame: Frame) -> Value:
        stops = isinstance(node.op, ast.Or)
        value: Value = None
        for index, operand in enumerate(node.values):
            value = self.value(operand, frame)
            if index == len(node.values) - 1:
                return value
            answer = self._evaluator.truth(value)
            if answer is Truth.MAYBE:
                return value if isinstance(value, Unknown) else Unknown("an operand is outside of the tree")
            if (answer is Truth.YES) is stops:
                return value
        return value

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        value = self.value(node.operand, frame)
        if isinstance(node.op, ast.Not):
            answer = self._evaluator.truth(value)
            if answer is Truth.MAYBE:
                return value if isinstance(value, Unknown) else Unknown("the operand is outside of the tree")
            return answer is Truth.NO
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        if isinstance(node.op, ast.Invert) and isinstance(value, int):
            return ~value
        return value if isinstance(value, Unknown) else Unknown("an operator is not followed")

    def _binary(self, node: ast.BinOp, frame: Frame) -> Value:
        return self.operate(type(node.op), self.value(node.left, frame), self.value(node.right, frame))

    def operate(self, operation: type[ast.operator], left: Value, right: Value) -> Value:
        """``left <operation> right``."""
        for value in (left, right):
            if isinstance(value, Unknown):
                return value
        if operation is ast.BitOr and not (isinstance(left, (int, set, frozenset, dict)) and type(left) is type(right)):
            return UnionValue(_members(left) | _members(right))
        if operation is ast.Mod and isinstance(left, (str, bytes)):
            return Unknown("a formatted value is not followed")
        if not _is_small(left, right):
            return Unknown("so large a value is not worked out")
        function = _BINARY.get(operation)
        if function is None or not isinstance(left, _PLAIN) or not isinstance(right, _PLAIN):
            return Unknown(f"an operation on {type(left).__name__} is not followed")
        try:
            return function(left, right)
        except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
            raise Raised(type(error).__name__, str(error)) from None

    def _compare(self, node: ast.Compare, frame: Frame) -> Value:
        left = self.value(node.left, frame)
        answer: Value = True
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, frame)
            answer = self._compare_once(operation, left, right)
            if answer is not True:
                return answer
            left = right
        return answer

    def _compare_once(self, operation: ast.cmpop, left: Value, right: Value) -> Value:
        if isinstance(operation, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
            same = self._comparing.same(left, right, isinstance(operation, (ast.Is, ast.IsNot)))
            if isinstance(same, Unknown):
                return same
            return same is isinstance(operation, (ast.Eq, ast.Is))
        if isinstance(operation, (ast.In, ast.NotIn)):
            found = self._comparing.contains(right, left)
            if isinstance(found, Unknown):
                return found
            return found is isinstance(operation, ast.In)
        for value in (left, right):
            if isinstance(value, Unknown):
                return value
        if isinstance(left, _PLAIN) and isinstance(right, _PLAIN):
            try:
                return ORDER[type(operation)](left, right)
            except TypeError as error:
                raise Raised("TypeError", str(error)) from None
        return Unknown("a comparison is not followed")

    def _if_expression(self, node: ast.IfExp, frame: Frame) -> Value:
        test = self.value(node.test, frame)
        answer = self._evaluator.truth(test)
        if answer is Truth.MAYBE:
            return test if isinstance(test, Unknown) else Unknown("the test is outside of the tree")
        return self.value(node.body if answer is Truth.YES else node.orelse, frame)

    # -- containers -----------------------------------------------------------------------------------------------

    def _dict(self, node: ast.Dict, frame: Frame) -> Value:
        made: dict[Value, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            item = self.value(value, frame)
            if key is None:
                if not isinstance(item, dict):
                    raise Undecidable("what is merged into a dict is not known")
                made.update(item)
            else:
                made[self._key(self.value(key, frame))] = item
        return made

    def _key(self, value: Value) -> Value:
        if isinstance(value, Unknown):
            raise Undecidable(f"a key is not known: {value.reason}")
        try:
            hash(value)
        except TypeError as error:
            raise Raised("TypeError", str(error)) from None
        return value

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        owner = self.value(node.value, frame)
        if isinstance(owner, Class) and not owner.is_enum:
            return owner  # a subscripted generic is the class, for all that is asked here
        if isinstance(owner, Opaque):
            if owner.path.rpartition(".")[2] in ("Optional", "Union"):
                inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                members = frozenset().union(*(_members(self.value(part, frame)) for part in inside))
                return UnionValue(members | {None} if owner.path.endswith("Optional") else members)
            return owner
        if isinstance(node.slice, ast.Slice):
            bounds = [self.value(part, frame) if part is not None else None
                      for part in (node.slice.lower, node.slice.upper, node.slice.step)]  # fmt: skip
            if isinstance(owner, (str, tuple, list)) and all(isinstance(b, (int, type(None))) for b in bounds):
                return owner[slice(*bounds)]
            return Unknown("a slice is not followed")
        return self.item(owner, self.value(node.slice, frame))

    def item(self, owner: Value, key: Value) -> Value:
        """``owner[key]``."""
        if isinstance(owner, Unknown):
            return owner
        if isinstance(key, Unknown):
            return key
        if isinstance(owner, Class) and owner.is_enum and isinstance(key, str):
            return self._evaluator.attributes.of_class(owner, key)
        if isinstance(owner, (str, tuple, list, dict)):
            try:
                return owner[key]
            except (KeyError, IndexError, TypeError) as error:
                raise Raised(type(error).__name__, str(error)) from None
        if isinstance(owner, Instance):
            method = self._evaluator.attributes.of_instance(owner, "__getitem__")
            return self._evaluator.calls.call(method, [key], {}, "[]")
        return Unknown(f"an item of {type(owner).__name__} is not followed")

    def _joined(self, node: ast.JoinedStr, frame: Frame) -> Value:
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.value(part.value, frame)
            if isinstance(value, bool) or not isinstance(value, (str, int)) or part.format_spec is not None:
                return value if isinstance(value, Unknown) else Unknown("a formatted value is not followed")
            parts.append(repr(value) if part.conversion == ord("r") else str(value))
        return "".join(parts)

    def _generator(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp, frame: Frame) -> Iterator[Value]:
        for scope in self._scopes(node.generators, frame):
            yield self.value(node.elt, scope)

    def _dict_comprehension(self, node: ast.DictComp, frame: Frame) -> Value:
        return {
            self._key(self.value(node.key, scope)): self.value(node.value, scope)
            for scope in self._scopes(node.generators, frame)
        }

    def _scopes(self, generators: list[ast.comprehension], frame: Frame) -> Iterator[Frame]:
        """A scope for each round of a comprehension."""
        if not generators:
            yield frame
            return
        first, *rest = generators
        for element in self.iterate(self.value(first.iter, frame)):
            scope = Frame(frame.module, {}, frame)
            self._evaluator.statements.assign(first.target, element, scope)
            if all(self._evaluator.decide(self.value(test, scope), "a condition") for test in first.ifs):
                yield from self._scopes(rest, scope)

    # -- functions ------------------------------------------------------------------------------------------------

    def _lambda(self, node: ast.Lambda, frame: Frame) -> Value:
        parameters, defaults = self.parameters(node.args, frame)
        return Function(frame.module, "<lambda>", "<lambda>", parameters, None, node, frame, None, defaults)

    def parameters(self, arguments: ast.arguments, frame: Frame) -> tuple[tuple[Parameter, ...], dict[str, Value]]:
        """The parameters of a function that is made while code runs, and the values of their defaults."""
        found: list[Parameter] = []
        defaults: dict[str, Value] = {}

        def add(argument: ast.arg, kind: int, default: ast.expr | None) -> None:
            found.append(Parameter(argument.arg, kind, None, None, argument.lineno, argument.col_offset + 1))
            if default is not None:
                defaults[argument.arg] = self.value(default, frame)

        positional = [*arguments.posonlyargs, *arguments.args]
        given = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
        for index, (argument, default) in enumerate(zip(positional, given, strict=True)):
            only = index < len(arguments.posonlyargs)
            add(argument, KIND_POSITIONAL_ONLY if only else KIND_POSITIONAL_OR_KEYWORD, default)
        if arguments.vararg is not None:
            add(arguments.vararg, KIND_VAR_POSITIONAL, None)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            add(argument, KIND_KEYWORD_ONLY, default)
        if arguments.kwarg is not None:
            add(arguments.kwarg, KIND_VAR_KEYWORD, None)
        return tuple(found), defaults

    def _named(self, node: ast.NamedExpr, frame: Frame) -> Value:
        value = self.value(node.value, frame)
        scope = frame
        while scope.function is None and scope.outer is not None:
            scope = scope.outer
        scope.names[node.target.id] = value
        return value


def _is_small(left: Value, right: Value) -> bool:
    """Whether a sum, a product or a shift of the two cannot grow out of hand."""
    return all(
        abs(value) <= LARGEST if isinstance(value, (int, float)) else len(value) <= LARGEST_TEXT
        for value in (left, right)
        if isinstance(value, (int, float, str, bytes, tuple, list))
    )


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))


def _members(value: Value) -> frozenset[Value]:
    if isinstance(value, UnionValue):
        return value.members
    try:
        return frozenset({value})
    except TypeError:
        raise Undecidable("a union of what is no class") from None
