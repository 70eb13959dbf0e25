"""Expressions of the tree's code, evaluated on values. What hangs on something unknown is Unknown, with the reason."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from preflight.launch.reading import classes, hints
from preflight.launch.reading.attributes import attribute
from preflight.launch.reading.calls import call, native
from preflight.launch.reading.doubt import join_values
from preflight.launch.reading.library import BUILTINS
from preflight.launch.reading.modules import Module, global_name
from preflight.launch.reading.values import (
    Class,
    External,
    Function,
    Hint,
    Instance,
    Native,
    NotKnown,
    Object,
    Raised,
    Scope,
    Unknown,
    describe,
)
from preflight.operators import ORDER

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

#: Text and numbers that code may make; what is larger is not what a parser is made of.
MAX_SIZE = 1_000_000


def evaluate(run: Run, node: ast.expr, scope: Scope) -> Object:
    """The value of an expression. Raises Raised where the code raises; never NotKnown."""
    kind = node.__class__
    if kind is ast.Constant:
        return node.value  # type: ignore[attr-defined]
    if kind is ast.Name and node.id in scope.names and not scope.shared and not run.doubt.taints:  # type: ignore[attr-defined]
        return scope.names[node.id]  # type: ignore[attr-defined]
    handler = _HANDLERS.get(kind)
    if handler is None:
        return Unknown(f"{type(node).__name__} in line {node.lineno} of {scope.module.path}")
    try:
        value = handler(run, node, scope)
    except NotKnown as missing:
        return missing.unknown
    except Raised as raised:
        if not raised.line:
            raised.path, raised.line = scope.module.path, node.lineno
        raise
    if run.doubt.taints and isinstance(value, (list, set, dict)) and run.doubt.tainted(value):
        return Unknown("its content depends on a condition that is not known")
    return value


def truth(value: Object) -> bool:
    """Whether a value is true. Raises NotKnown where nobody can tell."""
    if value is True or value is False or value is None:
        return value is True
    if isinstance(value, (External, Native, Hint, Function, Class, Module)):
        if isinstance(value, External):
            raise NotKnown(Unknown(f"whether {value} is true"))
        return True
    if isinstance(value, Instance):
        plain = classes.unwrapped(value)
        if plain is value:
            try:
                classes.find(value.cls.run, value.cls, "__bool__")
            except KeyError:
                return True
            raise NotKnown(Unknown(f"whether a {value.cls.name} is true"))
        return bool(plain)
    return bool(value)


def name_value(run: Run, name: str, scope: Scope) -> Object:
    """The value of a name. Raises Raised(NameError) where Python would."""
    here: Scope | None = scope
    first = True
    while here is not None:
        if first or here.owner is None:  # the names of a class body are not seen by the functions in it
            if name in here.shared:
                here = here.shared[name] or scope.module.scope
                first = False
                continue
            if name in here.names:
                return here.names[name]
            if here.owner is not None and here.owner.statements is None:
                here.owner.statements = classes.index(here.owner.node.body)
            if here.owner is not None and name in (here.owner.statements or {}):
                try:
                    return classes.class_name(run, here.owner, name)
                except KeyError:
                    pass
        first = False
        if here.outer is None:
            break
        here = here.outer
    module = scope.module
    if name in module.names or name in module.statements or name not in BUILTINS or "*" in module.statements:
        try:
            return global_name(run, module, name)
        except KeyError:
            pass
    if name in BUILTINS:
        return BUILTINS[name]
    if hasattr(builtins, name) and not name.startswith("_"):
        return External(f"builtins.{name}")
    return Unknown(f"the name {name} in {scope.module.path}")


def _constant(run: Run, node: ast.Constant, scope: Scope) -> Object:
    return node.value


def _name(run: Run, node: ast.Name, scope: Scope) -> Object:
    return name_value(run, node.id, scope)


def _attribute(run: Run, node: ast.Attribute, scope: Scope) -> Object:
    return attribute(run, evaluate(run, node.value, scope), node.attr, scope, node.lineno)


def _call(run: Run, node: ast.Call, scope: Scope) -> Object:
    callee = evaluate(run, node.func, scope)
    if isinstance(callee, Native) and callee.name == "super" and not node.args:
        return callee.function(run, *_implied_super(scope))
    arguments: list[Object] = []
    keywords: dict[str, Object] = {}
    for argument in node.args:
        if argument.__class__ is ast.Starred:
            arguments.extend(items(run, evaluate(run, argument.value, scope)))  # type: ignore[attr-defined]
        else:
            arguments.append(evaluate(run, argument, scope))
    for keyword in node.keywords:
        value = evaluate(run, keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Unknown):
            keywords["**"] = value
        elif isinstance(value, dict) and all(isinstance(name, str) for name in value):
            keywords.update(value)
        elif isinstance(value, (dict, list, tuple, str, int, float, type(None))):
            error = TypeError(f"argument after ** must be a mapping with names, not {type(value).__name__}")
            raise Raised(error, scope.module.path, node.lineno)
        else:
            keywords["**"] = Unknown("keywords that are not known")
    return call(run, callee, arguments, keywords, node, scope)


def _implied_super(scope: Scope) -> tuple[Object, Object]:
    here: Scope | None = scope
    while here is not None:
        function = here.function
        if function is not None and function.owner is not None and not isinstance(function.node, ast.Lambda):
            parameters = [*function.node.args.posonlyargs, *function.node.args.args]
            if parameters:
                return function.owner, here.names[parameters[0].arg]
        here = here.outer
    raise NotKnown(Unknown("super() outside of a method"))


_SEQUENCES = frozenset((list, tuple, set, dict, frozenset, str, range))


def items(run: Run, value: Object) -> Iterator[Object]:
    """What iterating over a value gives. Raises NotKnown, or Raised(TypeError) for what cannot be iterated."""
    if value.__class__ in _SEQUENCES:
        return iter(value)
    if isinstance(value, Unknown):
        raise NotKnown(value)
    if classes.is_enum(value):
        return iter(dict.fromkeys(classes.enum_members(run, value).values()))
    if isinstance(value, (External, Instance, Class, Hint, Native, Module)):
        raise NotKnown(Unknown(f"what {describe(value)} contains"))
    return iter(native(run, iter, [value], {}))


# -- operators ----------------------------------------------------------------------------------------------------

_BINARY: dict[type[ast.operator], Callable[[Object, Object], Object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


def _binary(run: Run, node: ast.BinOp, scope: Scope) -> Object:
    left, right = evaluate(run, node.left, scope), evaluate(run, node.right, scope)
    return binary(run, node.op, left, right)


def binary(run: Run, op: ast.operator, left: Object, right: Object) -> Object:
    """``left op right``. Raises Raised where the code raises, NotKnown where the result is not known."""
    function = _BINARY.get(type(op))
    if function is None:
        raise NotKnown(Unknown(type(op).__name__))
    if isinstance(op, ast.BitOr) and left is not right and hints.is_hint(left) and hints.is_hint(right):
        return hints.union([left, right], new_style=True)
    left, right = classes.unwrapped(left), classes.unwrapped(right)
    if _is_too_large(op, left, right):
        raise NotKnown(Unknown("a value of more than a million digits, characters or elements"))
    return native(run, function, [left, right], {})


def _is_too_large(op: ast.operator, left: Object, right: Object) -> bool:
    if isinstance(op, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, int) and isinstance(other, (str, bytes, list, tuple)):
                return one * len(other) > MAX_SIZE
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        return len(left) > 1000
    if isinstance(op, (ast.Pow, ast.LShift)) and isinstance(left, int) and isinstance(right, int):
        return right > 1000 or left.bit_length() > 10_000
    return isinstance(op, ast.Mult) and isinstance(left, int) and left.bit_length() > 100_000


def _unary(run: Run, node: ast.UnaryOp, scope: Scope) -> Object:
    value = evaluate(run, node.operand, scope)
    if isinstance(node.op, ast.Not):
        return not truth(value)
    function = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(node.op)]
    return native(run, function, [classes.unwrapped(value)], {})


def _boolean(run: Run, node: ast.BoolOp, scope: Scope) -> Object:
    deciding = isinstance(node.op, ast.Or)
    doubtful: Unknown | None = None
    value: Object = None
    for operand in node.values:
        if doubtful is not None:
            value = _in_doubt(run, lambda operand=operand: evaluate(run, operand, scope))
        else:
            value = evaluate(run, operand, scope)
        try:
            if truth(value) is deciding:
                # ``unknown and False`` is false, whatever the unknown is; its very value is not known.
                if doubtful is None:
                    return value
                if value is deciding:
                    return value
                return doubtful
        except NotKnown as missing:
            doubtful = doubtful or missing.unknown
    return value if doubtful is None else doubtful


def _in_doubt(run: Run, step: Callable[[], Object]) -> Object:
    """What ``step`` gives where it may not run at all; its effects become uncertain."""
    run.doubt.enter()
    try:
        value = step()
    except (Raised, NotKnown):
        value = Unknown("it may not be evaluated, and raises if it is")
    finally:
        changes = run.doubt.leave()
    run.doubt.join([changes, {}])
    return value


def _conditional(run: Run, node: ast.IfExp, scope: Scope) -> Object:
    try:
        chosen = node.body if truth(evaluate(run, node.test, scope)) else node.orelse
    except NotKnown:
        left = _in_doubt(run, lambda: evaluate(run, node.body, scope))
        right = _in_doubt(run, lambda: evaluate(run, node.orelse, scope))
        if isinstance(left, Class) and isinstance(right, Class) and left is not right:
            ancestor = classes.common_ancestor(left, right)
            return ancestor or Unknown(f"{left.name} or {right.name}")
        return join_values([left, right])
    return evaluate(run, chosen, scope)


def _compare(run: Run, node: ast.Compare, scope: Scope) -> Object:
    left = evaluate(run, node.left, scope)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(run, comparator, scope)
        result = compare(run, op, left, right)
        if len(node.ops) == 1 or not result:
            return result
        left = right
    return True


def compare(run: Run, op: ast.cmpop, left: Object, right: Object) -> bool:
    """``left op right``. Raises NotKnown where the answer is not known."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        for value in (left, right):
            if isinstance(value, Unknown):
                raise NotKnown(value)
        same = left is right or (isinstance(left, (External, Hint, Native)) and left == right)
        return same is isinstance(op, ast.Is)
    if isinstance(op, (ast.Eq, ast.NotEq)):
        return equal(left, right) is isinstance(op, ast.Eq)
    if isinstance(op, (ast.In, ast.NotIn)):
        return contains(run, right, left) is isinstance(op, ast.In)
    return bool(native(run, ORDER[type(op)], [classes.unwrapped(left), classes.unwrapped(right)], {}))


def equal(left: Object, right: Object) -> bool:
    """``==``. Raises NotKnown where the answer is not known."""
    if left is right and not isinstance(left, Unknown):
        return True
    left, right = classes.unwrapped(left), classes.unwrapped(right)
    if isinstance(left, Unknown):
        raise NotKnown(left)
    for value in (left, right):
        if isinstance(value, Instance) and not classes.is_enum(value.cls):
            raise NotKnown(Unknown(f"whether a {value.cls.name} is equal to something else"))
        other = right if value is left else left
        if isinstance(value, External) and not isinstance(other, (External, type)) and not _is_class_name(value):
            raise NotKnown(Unknown(f"what {value} is equal to"))
    return bool(left == right)


def _is_class_name(value: External) -> bool:
    """By the way libraries write names: a class or a constant like ``Union``, and no variable that may be anything."""
    return value.dotted.rpartition(".")[2][:1].isupper()


_HASHING = (dict, set, frozenset)  #: containers that look up by hash
_COMPOUND = (list, dict, set, tuple)  #: values that may have no hash, by themselves or by a part


def contains(run: Run, container: Object, value: Object) -> bool:
    """``value in container``. Raises NotKnown where the answer is not known."""
    if isinstance(value, Unknown):
        raise NotKnown(value)
    if isinstance(container, (str, bytes)):
        return bool(native(run, operator.contains, [container, classes.unwrapped(value)], {}))
    if getattr(container, "stands_in", False):
        return value in container
    if isinstance(container, _HASHING) and isinstance(value, _COMPOUND):
        # Python hashes what it looks for, also where nothing is in there; a set is looked for in a set as a frozenset
        looked_for = frozenset(value) if isinstance(value, set) and not isinstance(container, dict) else value
        native(run, hash, [looked_for], {})
    if isinstance(container, dict):
        container = list(container)
    doubtful: NotKnown | None = None
    for element in items(run, container):
        try:
            if equal(element, value):
                return True
        except NotKnown as missing:
            doubtful = missing
    if doubtful is not None:
        raise doubtful
    return False


# -- displays, subscripts, text -------------------------------------------------------------------------------------


def _list(run: Run, node: ast.List, scope: Scope) -> list[Object]:
    return list(_elements(run, node.elts, scope))


def _tuple(run: Run, node: ast.Tuple, scope: Scope) -> tuple[Object, ...]:
    return tuple(_elements(run, node.elts, scope))


def _set(run: Run, node: ast.Set, scope: Scope) -> Object:
    return native(run, set, [list(_elements(run, node.elts, scope))], {})


def _elements(run: Run, nodes: list[ast.expr], scope: Scope) -> Iterator[Object]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from items(run, evaluate(run, node.value, scope))
        else:
            yield evaluate(run, node, scope)


def _dict(run: Run, node: ast.Dict, scope: Scope) -> Object:
    result: dict[Object, Object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        known = evaluate(run, value, scope)
        if key is not None:
            name = evaluate(run, key, scope)
            if isinstance(name, Unknown):
                return name
            native(run, result.__setitem__, [name, known], {})
        elif isinstance(known, Unknown):
            return known
        else:
            native(run, result.update, [known], {})
    return result


def _subscript(run: Run, node: ast.Subscript, scope: Scope) -> Object:
    value = evaluate(run, node.value, scope)
    key = evaluate(run, node.slice, scope)
    if isinstance(value, Unknown):
        return value
    if classes.is_enum(value):
        if value.node.keywords:
            raise NotKnown(Unknown(f"what the metaclass of {value.name} does"))
        members = classes.enum_members(run, value)
        return native(run, members.__getitem__, [key], {})
    if value is not None and hints.is_hint(value):
        return hints.subscript(value, key)
    if isinstance(value, Instance):
        return call(run, attribute(run, value, "__getitem__", scope, node.lineno), [key], {}, node, scope)
    return native(run, operator.getitem, [value, key], {})


def _slice(run: Run, node: ast.Slice, scope: Scope) -> slice:
    parts = [None if part is None else evaluate(run, part, scope) for part in (node.lower, node.upper, node.step)]
    for part in parts:
        if isinstance(part, Unknown):
            raise NotKnown(part)
    return slice(*parts)


def _joined(run: Run, node: ast.JoinedStr, scope: Scope) -> str:
    return "".join(str(evaluate_part(run, part, scope)) for part in node.values)


def evaluate_part(run: Run, node: ast.expr, scope: Scope) -> str:
    """A part of an f-string as text. Raises NotKnown where it is not known."""
    if not isinstance(node, ast.FormattedValue):
        return str(evaluate(run, node, scope))
    value = classes.unwrapped(evaluate(run, node.value, scope))
    if isinstance(value, Unknown):
        raise NotKnown(value)
    if isinstance(value, (Instance, Class, Function, Native, External, Hint)) or callable(value):
        return describe(value)
    specification = "" if node.format_spec is None else evaluate(run, node.format_spec, scope)
    if len(specification) > 12:
        raise NotKnown(Unknown("a long format specification"))
    if node.conversion == ord("r"):
        value = repr(value)
    elif node.conversion == ord("s"):
        value = str(value)
    return native(run, format, [value, specification], {})


def _lambda(run: Run, node: ast.Lambda, scope: Scope) -> Function:
    return make_function(run, node, "<lambda>", scope)


def make_function(
    run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str, scope: Scope
) -> Function:
    """The function that a ``def`` or ``lambda`` makes, its defaults evaluated."""
    defaults = tuple(evaluate(run, default, scope) for default in node.args.defaults)
    keyword_defaults = {
        parameter.arg: evaluate(run, default, scope)
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    }
    outer = scope if scope is not scope.module.scope else None
    return Function(run, node, name, scope.module, outer, defaults, keyword_defaults, scope.owner)


def _named(run: Run, node: ast.NamedExpr, scope: Scope) -> Object:
    from preflight.launch.reading.statements import assign

    value = evaluate(run, node.value, scope)
    target = scope
    while target.function is None and target.outer is not None and target.owner is None:
        target = target.outer  # a comprehension binds in the scope around it
    assign(run, node.target, value, target)
    return value


# -- comprehensions -------------------------------------------------------------------------------------------------


def _generate(run: Run, node: Object, element: Callable[[Scope], Object], scope: Scope) -> Iterator[Object]:
    return _rounds(run, node.generators, 0, element, scope, Scope(scope.module, scope))


def _rounds(
    run: Run,
    generators: list[ast.comprehension],
    position: int,
    element: Callable[[Scope], Object],
    outer: Scope,
    inner: Scope,
) -> Iterator[Object]:
    from preflight.launch.reading.statements import assign

    generator = generators[position]
    last = position + 1 == len(generators)
    for value in items(run, evaluate(run, generator.iter, inner if position else outer)):
        run.step()
        if generator.target.__class__ is ast.Name:
            inner.names[generator.target.id] = value  # type: ignore[attr-defined]
        else:
            assign(run, generator.target, value, inner)
        for test in generator.ifs:
            if not truth(evaluate(run, test, inner)):
                break
        else:
            if last:
                yield element(inner)
            else:
                yield from _rounds(run, generators, position + 1, element, outer, inner)


def _list_comprehension(run: Run, node: ast.ListComp, scope: Scope) -> list[Object]:
    return list(_generate(run, node, lambda inner: evaluate(run, node.elt, inner), scope))


def _set_comprehension(run: Run, node: ast.SetComp, scope: Scope) -> Object:
    return native(run, set, [_list_comprehension(run, node, scope)], {})  # type: ignore[arg-type]


def _dict_comprehension(run: Run, node: ast.DictComp, scope: Scope) -> Object:
    pairs = _generate(
        run, node, lambda inner: (evaluate(run, node.key, inner), evaluate(run, node.value, inner)), scope
    )
    return native(run, dict, [list(pairs)], {})


def _generator(run: Run, node: ast.GeneratorExp, scope: Scope) -> Iterator[Object]:
    return _generate(run, node, lambda inner: evaluate(run, node.elt, inner), scope)


_HANDLERS: dict[type[ast.expr], Callable[[Run, Object, Scope], Object]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Compare: _compare,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.JoinedStr: _joined,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
    ast.ListComp: _list_comprehension,
    ast.SetComp: _set_comprehension,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _generator,
}
