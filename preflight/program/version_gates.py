"""Tests of a plug-in that ask for the version of vLLM: ``vllm_version_is("0.20.2")``, ``Version(__version__) >= ...``.

A plug-in serves several releases and imports what each has behind such tests. They are evaluated with the version of
the tree and the variables of the launch; a test that asks for anything else stays open.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.operators import COMPARISONS
from preflight.program.conditions import Truth, parse_expression
from preflight.program.facts import Assign, FunctionFacts, Hole, Import
from preflight.program.syntax_nodes import dotted

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program

_DEEPEST = 12
_COMPARE = {**COMPARISONS, ast.Is: operator.is_, ast.IsNot: operator.is_not}
_TEXT = frozenset(
    {"startswith", "endswith", "split", "lower", "upper", "strip", "removeprefix", "replace", "partition"}
)
_OF_VERSION = frozenset(
    {"major", "minor", "micro", "release", "base_version", "public", "is_devrelease", "is_prerelease", "local"}
)
_CACHES = frozenset({"functools.cache", "functools.lru_cache", "cache", "lru_cache"})


class Open(Exception):
    """A part of the test that is not known."""


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module, or something of one that is not looked into. It is no answer to anything."""

    name: str

    def __bool__(self) -> bool:
        raise Open


Locals = Mapping[str, object]


class VersionGates:
    """Answers for one program. ``environment`` are the variables that the launch sets. ``first_call``: names that a
    function rebinds are as the module sets them. ``sure``: what other code may set meanwhile is not known: flags of
    modules, and variables."""

    def __init__(
        self, program: Program, environment: Mapping[str, str], *, first_call: bool = False, sure: bool = False
    ) -> None:
        self._program = program
        self._first_call = first_call
        self._is_sure = sure
        self._environment = environment
        self._depth = 0
        self._functions: dict[tuple[str, int], ast.FunctionDef | None] = {}

    def holds(self, module: Module, node: ast.expr, names: Locals | None = None) -> Truth:
        """Whether a test in ``module`` holds; ``names`` are the variables of the function that it stands in."""
        try:
            return Truth.YES if self.value(module, node, names or {}) else Truth.NO
        except (Open, RecursionError, TypeError, ValueError, LookupError, AttributeError):
            return Truth.MAYBE

    def value(self, module: Module, node: ast.expr, names: Locals) -> object:
        """The value of an expression. Raises Open."""
        self._depth += 1
        try:
            if self._depth > _DEEPEST * 4:
                raise Open
            return self._value(module, node, names)
        finally:
            self._depth -= 1

    def _value(self, module: Module, node: ast.expr, names: Locals) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.value(module, part, names) for part in node.elts)
        if isinstance(node, ast.Name):
            return names[node.id] if node.id in names else self._global(module, node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not self.value(module, node.operand, names)
        if isinstance(node, ast.BoolOp):
            return self._either(module, node, names)
        if isinstance(node, ast.Compare):
            return self._compared(module, node, names)
        if isinstance(node, ast.IfExp):
            chosen = node.body if self.value(module, node.test, names) else node.orelse
            return self.value(module, chosen, names)
        if isinstance(node, ast.Attribute):
            return self._attribute(module, node, names)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Slice)):
            return self._subscript(module, node, names)
        if isinstance(node, ast.Call):
            return self._call(module, node, names)
        raise Open

    def _either(self, module: Module, node: ast.BoolOp, names: Locals) -> object:
        deciding = isinstance(node.op, ast.Or)
        is_open = False
        value: object = None
        for part in node.values:
            try:
                value = self.value(module, part, names)
            except Open:
                is_open = True
                continue
            if bool(value) is deciding:
                return deciding if is_open else value
        if is_open:
            raise Open
        return value

    def _compared(self, module: Module, node: ast.Compare, names: Locals) -> bool:
        left = self.value(module, node.left, names)
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(module, comparator, names)
            if isinstance(left, ModuleRef) or isinstance(right, ModuleRef):
                raise Open
            if isinstance(operation, (ast.In, ast.NotIn)):
                if not isinstance(right, (tuple, list, str)):
                    raise Open
                answer = (left in right) is isinstance(operation, ast.In)  # type: ignore[operator]
            else:
                answer = _COMPARE[type(operation)](left, right)
            if not answer:
                return False
            left = right
        return True

    def _subscript(self, module: Module, node: ast.Subscript, names: Locals) -> object:
        owner = self.value(module, node.value, names)
        if not isinstance(owner, (str, tuple, list)):
            raise Open
        if isinstance(node.slice, ast.Constant):
            return owner[node.slice.value]  # type: ignore[index]
        assert isinstance(node.slice, ast.Slice)
        parts = [
            None if one is None else self.value(module, one, names) for one in (node.slice.lower, node.slice.upper)
        ]
        return owner[parts[0] : parts[1]]  # type: ignore[misc]

    # -- names --------------------------------------------------------------------------------------------------------

    def _global(self, module: Module, name: str) -> object:
        namespace = self._program.resolver.namespace(module)
        bindings = namespace.names.get(name, ()) if namespace is not None else ()
        if len(bindings) != 1:
            raise Open
        return self._bound(module, bindings[0])

    def _bound(self, module: Module, binding: object) -> object:
        if isinstance(binding, Import):
            target = module.absolute(binding)
            if target is None or binding.name == "*":
                raise Open
            if binding.name is None:
                return ModuleRef(target if binding.aliased else target.partition(".")[0])
            return self._member(target, binding.name)
        if isinstance(binding, Assign) and binding.kind in ("=", ":=") and binding.value is not None:
            node = parse_expression(binding.value.text)
            if self._is_sure and isinstance(node, ast.Constant) and not isinstance(node.value, str):
                raise Open
            if node is not None and (self._first_call or binding.name not in module.facts.globals):
                return self.value(module, node, {})
        raise Open

    def _member(self, owner: str, name: str) -> object:
        """``owner.name`` of a module."""
        if self._program.finder.is_own(owner):
            version = self._program.tree.facts.vllm
            if name in ("__version__", "version") and owner in ("vllm", "vllm.version", "vllm._version"):
                if name == "version" and owner == "vllm":
                    return ModuleRef("vllm.version")
                if version is None:
                    raise Open
                return version
            return ModuleRef(f"{owner}.{name}")
        if self._program.finder.is_plugin(owner):
            module = self._program.module(owner)
            namespace = self._program.resolver.namespace(module) if module.has_source else None
            bindings = namespace.names.get(name, ()) if namespace is not None else ()
            if len(bindings) == 1 and not isinstance(bindings[0], FunctionFacts):
                return self._bound(module, bindings[0])
            if not bindings and self._program.finder.find(f"{owner}.{name}").found:
                return ModuleRef(f"{owner}.{name}")
            if not bindings and namespace is not None and "__getattr__" in namespace.names:
                return self._from_table(module, name)
        return ModuleRef(f"{owner}.{name}")

    def _from_table(self, module: Module, name: str) -> object:
        """A name that a module's ``__getattr__`` calls out of a table of functions, as modules of variables do."""
        tree = self._program.syntax_tree(module)
        if not isinstance(tree, Hole):
            for node in ast.walk(tree):
                if isinstance(node, ast.Dict):
                    for key, value in zip(node.keys, node.values, strict=True):
                        if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Lambda):
                            return self.value(module, value.body, {})
        raise Open

    def _attribute(self, module: Module, node: ast.Attribute, names: Locals) -> object:
        owner = self.value(module, node.value, names)
        if isinstance(owner, ModuleRef):
            if self._is_sure and self._program.finder.is_plugin(owner.name):
                raise Open
            return self._member(owner.name, node.attr)
        if node.attr in _OF_VERSION and type(owner).__name__ == "Version":
            return getattr(owner, node.attr)
        raise Open

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, module: Module, node: ast.Call, names: Locals) -> object:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT and not node.keywords:
            owner = self.value(module, node.func.value, names)
            if isinstance(owner, str):
                return getattr(owner, node.func.attr)(*[self.value(module, one, names) for one in node.args])
        target = self._target(module, node.func, names)
        if isinstance(target, tuple):
            return self._entered(target[0], target[1], module, node, names)
        arguments = [self.value(module, one, names) for one in node.args]
        if node.keywords:
            raise Open
        if target in ("packaging.version.Version", "packaging.version.parse") and len(arguments) == 1:
            from packaging.version import InvalidVersion, Version

            try:
                return Version(str(arguments[0]))
            except InvalidVersion:
                raise Open from None
        if target in ("importlib.metadata.version", "importlib_metadata.version") and arguments == ["vllm"]:
            return self._member("vllm", "__version__")
        if target in ("os.getenv", "os.environ.get") and arguments and isinstance(arguments[0], str):
            if self._is_sure or (arguments[0] not in self._environment and "VERSION" not in arguments[0]):
                raise Open  # it may come from the machine; a variable that tells a version is set for a launch, or not
            return self._environment.get(arguments[0], arguments[1] if len(arguments) > 1 else None)  # type: ignore[arg-type]
        if target in ("bool", "str", "int") and len(arguments) == 1 and isinstance(arguments[0], (str, int, bool)):
            return {"bool": bool, "str": str, "int": int}[target](arguments[0])
        raise Open

    def _target(self, module: Module, node: ast.expr, names: Locals) -> str | tuple[Module, FunctionFacts]:
        """What is called: a function of the plug-in, or a name of something else."""
        name = dotted(node)
        if name is None:
            raise Open
        head, _, rest = name.partition(".")
        if head in names:
            owner = names[head]
            if isinstance(owner, ModuleRef):
                return f"{owner.name}.{rest}" if rest else owner.name
            raise Open
        found = self._program.resolver.dotted(module, name)
        only = found.only
        if only is not None and isinstance(only.facts, FunctionFacts) and self._program.finder.is_plugin(only.module):
            return self._program.module(only.module), only.facts
        if only is not None and only.module == module.name and isinstance(only.facts, FunctionFacts):
            return module, only.facts
        namespace = self._program.resolver.namespace(module)
        bindings = namespace.names.get(head, ()) if namespace is not None else ()
        if not bindings:
            return name
        if len(bindings) == 1 and isinstance(bindings[0], Import):
            item = bindings[0]
            target = module.absolute(item) or ""
            base = target if item.name is None and item.aliased else target.partition(".")[0]
            whole = base if item.name is None else f"{target}.{item.name}"
            return f"{whole}.{rest}" if rest else whole
        raise Open

    def _entered(self, module: Module, facts: FunctionFacts, caller: Module, node: ast.Call, names: Locals) -> object:
        """The value of a call of a function of the plug-in."""
        if self._depth > _DEEPEST or any(one.text.partition("(")[0] not in _CACHES for one in facts.decorators):
            raise Open
        function = self.function(module, facts)
        if function is None:
            raise Open
        bound = self.bind(function, module, caller, node, names)
        result = self._body(module, function.body, bound)
        if isinstance(result, _Result):
            return result.value
        return None

    def function(self, module: Module, facts: FunctionFacts) -> ast.FunctionDef | None:
        """The statement of a function."""
        key = (module.name, facts.line)
        if key not in self._functions:
            tree = self._program.syntax_tree(module)
            found = None
            if not isinstance(tree, Hole):
                for node in ast.walk(tree):
                    if isinstance(node, ast.FunctionDef) and node.name == facts.name and node.lineno == facts.line:
                        found = node
            self._functions[key] = found
        return self._functions[key]

    def bind(
        self, function: ast.FunctionDef, module: Module, caller: Module, node: ast.Call, names: Locals
    ) -> dict[str, object]:
        """The parameters of a call that are known."""
        parameters = [*function.args.posonlyargs, *function.args.args]
        bound: dict[str, object] = {}
        defaults = function.args.defaults
        for parameter, default in zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True):
            self.put(bound, parameter.arg, module, default, {})
        for parameter, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
            if value is not None:
                self.put(bound, parameter.arg, module, value, {})
        for parameter, argument in zip(parameters, node.args, strict=False):
            bound.pop(parameter.arg, None)
            self.put(bound, parameter.arg, caller, argument, names)
        for keyword in node.keywords:
            if keyword.arg is not None:
                bound.pop(keyword.arg, None)
                self.put(bound, keyword.arg, caller, keyword.value, names)
        return bound

    def put(self, bound: dict[str, object], name: str, module: Module, node: ast.expr, names: Locals) -> None:
        """Bind a name to the value of an expression, or to one of which nothing is known."""
        try:
            bound[name] = self.value(module, node, names)
        except (Open, TypeError, ValueError, LookupError, AttributeError):
            bound[name] = UNKNOWN

    def _body(self, module: Module, body: list[ast.stmt], names: dict[str, object]) -> _Result | None:
        """Run statements; what they return, if they do."""
        for statement in body:
            if isinstance(statement, ast.Return):
                return _Result(None if statement.value is None else self.value(module, statement.value, names))
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if not isinstance(target, ast.Name):
                    raise Open
                self.put(names, target.id, module, statement.value, dict(names))
            elif isinstance(statement, ast.If):
                chosen = statement.body if self.value(module, statement.test, names) else statement.orelse
                result = self._body(module, chosen, names)
                if result is not None:
                    return result
            elif isinstance(statement, ast.Try):
                result = self._body(module, statement.body, names)
                if result is not None:
                    return result
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._imports(module, statement, names)
            elif not isinstance(statement, (ast.Pass, ast.Global)) and not (
                isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Constant, ast.Call))
            ):
                raise Open
        return None

    def _imports(self, module: Module, node: ast.Import | ast.ImportFrom, names: dict[str, object]) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or whole] = ModuleRef(whole)
            elif node.level == 0 and node.module:
                try:
                    names[alias.asname or alias.name] = self._member(node.module, alias.name)
                except Open:
                    names[alias.asname or alias.name] = UNKNOWN
            else:
                names[alias.asname or alias.name] = UNKNOWN


@dataclass(frozen=True, slots=True)
class _Result:
    value: object


class _Unknown:
    """A parameter or variable of which nothing is known; using it raises TypeError, and that leaves the test open."""

    def __bool__(self) -> bool:
        raise TypeError

    def __eq__(self, other: object) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


#: stands for a value of which nothing is known
UNKNOWN = _Unknown()
