"""What runs when a class or a lazy name is made: decorators, ``__init_subclass__``, and a module's ``__getattr__``."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from preflight.program.classes import Class, Doubt
from preflight.program.conditions import parse_expression
from preflight.program.definitions import Definition, Kind, Missing, Resolution, Value
from preflight.program.entry_points import CURRENT_PLATFORM
from preflight.program.evaluate.values import Frame, Function, ModuleValue, Opaque, Raised, Unknown
from preflight.program.facts import Call, Expression, FunctionFacts

if TYPE_CHECKING:
    from preflight.program.modules import Module
    from preflight.program.program import Program


_REGISTERED = re.compile(rb"\bsys\.modules(?:\[|\.setdefault\()\s*[\"'](\w+)[\w.]*[\"']\s*(?:\]\s*=(?!=)|,)", re.ASCII)


class Creation:
    """Lets the decorators of classes run."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def decorate(self, cls: Class) -> Value:
        """What the name of ``cls`` stands for behind its decorators; doubts are left on the class."""
        facts = cls.facts
        if facts is None:
            return cls
        module = self._program.module(cls.module)
        self._init_subclass(cls, module)
        value: Value = cls
        ran = False
        for decorator in reversed(facts.decorators):
            if cls.closure is None:
                targets = self._program.decorator(module, decorator)
                if targets and all(self._program.is_transparent(target) for target in targets):
                    continue
            ran = True
            value = self._apply(cls, module, decorator, value)
            if isinstance(value, Unknown):
                reason = f"what its decorator {decorator.text.partition('(')[0]} does is not known: {value.reason}"
                cls.decorator_doubts.append(Doubt(reason, cls.path, decorator.line))
                value = cls  # the name most likely stands for the class still; the doubt says so
        if ran:
            self._program.evaluator.forget_containers()
        return value

    def _init_subclass(self, cls: Class, module: Module) -> None:
        """Run the ``__init_subclass__`` that the bases hand down.

        Where it cannot be followed, the attributes that it sets by name are uncertain, and nothing else: it gets the
        class and no more.
        """
        member = next((found for base in cls.mro[1:] if (found := base.own("__init_subclass__")) is not None), None)
        if member is None or not isinstance(member.facts, FunctionFacts) or cls.facts is None:
            return
        if not self._program.module(member.owner.module).spec.in_tree:
            return
        evaluator = self._program.evaluator
        keywords = [(name, expression) for name, expression in cls.facts.keywords if name != "metaclass"]

        def run() -> Value:
            given = {name: evaluator.expression(module, expression, cls.closure) for name, expression in keywords}
            hook = evaluator.attributes.member(member, cls)
            return evaluator.calls.call(hook, [], given, "__init_subclass__")

        try:
            result = evaluator.ask(run)
        except Raised as raised:
            cls.fails_with(str(raised))
            return
        if isinstance(result, Unknown):
            for name in self._set_by(member.owner, member.facts):
                if name is None:
                    cls.decorator_doubts.append(Doubt("its __init_subclass__ sets attributes by computed names"))
                else:
                    cls.unsettled[name] = f"__init_subclass__ may set it: {result.reason}"

    def _set_by(self, owner: Class, facts: FunctionFacts) -> list[str | None]:
        """The attributes that a function sets on its first parameter; None for one whose name is computed."""
        node = self._program.function_node(self._program.module(owner.module), facts)
        if node is None or not facts.parameters:
            return [None]
        first = facts.parameters[0].name
        found: list[str | None] = []
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                if isinstance(part.value, ast.Name) and part.value.id == first:
                    found.append(part.attr)
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "setattr":
                target, name = (*part.args, None, None)[:2]
                if isinstance(target, ast.Name) and target.id == first:
                    constant = name.value if isinstance(name, ast.Constant) else None
                    found.append(constant if isinstance(constant, str) else None)
        return found

    def _apply(self, cls: Class, module: Module, decorator: Expression, value: Value) -> Value:
        evaluator = self._program.evaluator

        def run() -> Value:
            made = evaluator.expression(module, decorator, cls.closure)
            return evaluator.calls.call(made, [value], {}, decorator.text)

        try:
            return evaluator.ask(run)
        except Raised as raised:
            cls.fails_with(str(raised))
            return Unknown(f"it raises {raised}")


class LazyModules:
    """Names that a module makes in its ``__getattr__``."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._registered: frozenset[str] | None = None

    def attribute(self, module: Module, function: FunctionFacts, name: str) -> Resolution:
        """What ``module.name`` is, by running the module's ``__getattr__``."""
        if name == CURRENT_PLATFORM and module.spec.in_tree:
            return self._resolution(module, name, self._program.platforms.current(module))
        evaluator = self._program.evaluator

        def run() -> Value:
            value = evaluator.function(module, function, None)
            return evaluator.calls.call(value, [name], {}, f"__getattr__ of {module.name}")

        try:
            value = evaluator.ask(run)
        except Raised as raised:
            if raised.name == "AttributeError":
                return Resolution(missing=Missing(module.name, name, f"{module.name} has no {name!r}"))
            if raised.name in ("ImportError", "ModuleNotFoundError"):
                return Resolution(missing=Missing(module.name, name, f"its __getattr__ raises {raised}"))
            return Resolution(unknown=f"the __getattr__ of {module.name} raises {raised}")
        return self._resolution(module, name, value)

    def _resolution(self, module: Module, name: str, value: Value) -> Resolution:
        if isinstance(value, Class):
            kind = Kind.CLASS if value.facts is not None else Kind.OPAQUE
            line = value.facts.line if value.facts is not None else None
            found = Definition(kind, value.module, value.qualname, value.path, line, None, value.facts)
        elif isinstance(value, Function):
            line = value.facts.line if value.facts is not None else None
            path = value.module.path
            found = Definition(Kind.FUNCTION, value.module.name, value.qualname, path, line, None, value.facts)
        elif isinstance(value, ModuleValue):
            found = self._program.resolver.module_definition(value.name)
        elif isinstance(value, Opaque):
            owner, _, last = value.path.rpartition(".")
            found = Definition(Kind.OPAQUE, owner, last)
        elif isinstance(value, Unknown):
            reason = f"{module.name} makes {name} in its __getattr__, and {value.reason}"
            return Resolution(unknown=reason)
        else:
            found = Definition(Kind.VALUE, module.name, name, module.path)
            return Resolution((found,), value=value)
        return Resolution((found,), value=value)

    def makes_module(self, name: str) -> bool:
        """Whether some code of the tree makes the module ``name`` at run time, so that it need not be a file."""
        if name.partition(".")[0] in self.registered():
            return True
        parent = name.rpartition(".")[0]
        while parent:
            module = self._program.module(parent)
            if module.has_source and self.may_make(module, name):
                return True
            parent = parent.rpartition(".")[0]
        return False

    def registered(self) -> frozenset[str]:
        """The top-level names that code of the tree writes into ``sys.modules`` by their literal name."""
        if self._registered is None:
            found: set[str] = set()
            for module in self._program.tree_modules():
                data = self._program.loader.data(module.spec)
                if isinstance(data, bytes) and b"sys.modules" in data:
                    found.update(name.decode("ascii") for name in _REGISTERED.findall(data))
            self._registered = frozenset(found)
        return self._registered

    def may_make(self, package: Module, name: str) -> bool:
        """Whether a package makes the module ``name`` at run time: in ``sys.modules``, or by a finder of its own."""
        for what, _ in package.facts.dynamic:
            if "sys.modules" in what:
                return True
            if "sys.meta_path" in what and self._found_by_hook(package, name):
                return True
        return False

    def _found_by_hook(self, package: Module, name: str) -> bool:
        """Ask the finders that the package puts into ``sys.meta_path``; True unless all of them say no."""
        namespace = self._program.resolver.namespace(package)
        evaluator = self._program.evaluator
        for effect, _ in namespace.effects if namespace is not None else ():
            if not (isinstance(effect, Call) and effect.value.text.startswith("sys.meta_path.")):
                continue
            node = parse_expression(effect.value.text)
            if not (isinstance(node, ast.Call) and node.args):
                return True
            finder = node.args[-1]

            def run(finder: ast.expr = finder) -> Value:
                made = evaluator.expressions.value(finder, Frame(package, {}))
                return evaluator.calls.call(evaluator.attributes.get(made, "find_spec"), [name], {}, "find_spec")

            try:
                if evaluator.ask(run) is not None:
                    return True
            except Raised:
                return True
        return False
