"""A small evaluator for what the tree's own code does with classes: decorators, class factories, registries, and the
predicates that fill a model's info.

It runs functions of the tree on values that are classes and constants. It is exact or it stops: a branch on a value
that is not known raises ``Undecidable`` with the reason. Instances of models, tensors and configs are not its matter.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.conditions import Truth, parse_expression
from preflight.program.definitions import Definition, Kind, Resolution
from preflight.program.evaluate.attributes import Attributes
from preflight.program.evaluate.builtin import BUILTINS
from preflight.program.evaluate.calls import Calls
from preflight.program.evaluate.expressions import Expressions
from preflight.program.evaluate.library import LIBRARY
from preflight.program.evaluate.statements import Statements
from preflight.program.evaluate.values import (
    Frame,
    Function,
    Host,
    Instance,
    ModuleValue,
    Opaque,
    Raised,
    Undecidable,
    Unknown,
    Value,
)
from preflight.program.facts import Assign, Call, Expression, FunctionFacts, Import, SetAttribute
from preflight.program.modules import Module

if TYPE_CHECKING:
    from preflight.program.program import Program

#: steps that one question may take; the predicates of a released vLLM take a few hundred
MAX_STEPS = 200_000

_PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type(None))


class Evaluator:
    """Evaluates code of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.attributes = Attributes(self)
        self.calls = Calls(self)
        self.expressions = Expressions(self)
        self.statements = Statements(self)
        self.steps = 0
        self.depth = 0
        self._globals: dict[tuple[str, str, int | None], Value] = {}
        self._computing: set[tuple[str, str, int | None]] = set()

    # -- questions ----------------------------------------------------------------------------------------------------

    def ask(self, question: Callable[[], Value]) -> Value:
        """Carry out one question; what cannot be decided is an Unknown. A raise of the code itself is passed on."""
        outermost = self.depth == 0
        if outermost:
            self.steps = 0
        self.depth += 1
        try:
            return question()
        except Undecidable as stop:
            return Unknown(stop.reason)
        except RecursionError:
            return Unknown("the code goes too deep to be followed")
        finally:
            self.depth -= 1

    def expression(self, module: Module, expression: Expression, frame: Frame | None = None) -> Value:
        """The value of a piece of source at the module's level, or in ``frame``."""
        node = parse_expression(expression.text)
        if node is None:
            return Unknown(f"{expression.text!r} cannot be read")
        return self.expressions.value(node, frame or Frame(module, {}, line=expression.line))

    def tick(self) -> None:
        """Count a step of the work that one question may take."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Undecidable("the code takes too many steps to be followed")

    def forget_containers(self) -> None:
        """Make dicts, lists, sets and objects of modules anew when they are next read.

        Code that runs for one class may leave something in them, such as an entry of a table of names, that another
        class which is never imported beside it must not find.
        """
        for key in [key for key, value in self._globals.items() if isinstance(value, (dict, list, set, Instance))]:
            del self._globals[key]

    # -- names --------------------------------------------------------------------------------------------------------

    def name(self, name: str, frame: Frame) -> Value:
        """A name as code in ``frame`` reads it."""
        scope: Frame | None = frame
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if scope.cls is not None and scope is frame:
                member = scope.cls.own(name)
                if member is not None:
                    return self.attributes.of_class(scope.cls, name)
            if name in scope.global_names:
                break
            scope = scope.outer
        return self.global_name(name, frame.module, frame.line)

    def global_name(self, name: str, module: Module, line: int | None = None) -> Value:
        """A name of a module, or a builtin; ``line``: as the statement of the module that begins there sees it."""
        if line is not None and not self.program.resolver.changes_after(module, name, line):
            line = None
        key = (module.name, name, line)
        if key in self._globals:
            return self._globals[key]
        if key in self._computing:
            raise Undecidable(f"{name} of {module.name} is defined in terms of itself")
        self._computing.add(key)
        try:
            value = self._global_name(name, module, line)
        finally:
            self._computing.discard(key)
        self._globals[key] = value
        return value

    def _global_name(self, name: str, module: Module, line: int | None) -> Value:
        found = self.program.resolver.bound(module, name, line)
        if found is None:
            if name in BUILTINS:
                return BUILTINS[name](self)
            if name == "__name__":
                return module.name
            if name == "__file__":
                return module.path or Unknown("the file of a module")
            if name == "__package__":
                return module.package
            if name == "globals":
                return Host("globals", lambda: self.globals_of(module))
            builtin = self.program.resolver.unbound(module, name)
            if builtin.only is not None and builtin.only.kind is Kind.CLASS:
                return self.program.classes.opaque("builtins", name)
            if builtin.missing is not None and module.spec.in_tree:
                raise Raised("NameError", f"name {name!r} is not defined", module.path)
            return Unknown(builtin.unknown or f"the builtin {name} is not evaluated")
        if found.missing is not None:
            missing = found.missing
            kind = "ModuleNotFoundError" if missing.name is None else "ImportError"
            raise Raised(kind, missing.as_exception().partition(": ")[2], module.path)
        return self.of_resolution(found, f"{module.name}.{name}")

    def of_resolution(self, found: Resolution, what: str) -> Value:
        """The value of what a name stands for."""
        definitions, unknown, may_be_unbound = found.definitions, found.unknown, found.may_be_unbound
        if found.value is not None:
            return found.value
        if len(definitions) == 1 and not may_be_unbound:
            only = definitions[0]
            if unknown is None or only.kind in (Kind.OPAQUE, Kind.MODULE):
                return self.of_definition(only)
            return Unknown(unknown)
        if not definitions:
            return Unknown(unknown or f"{what} is not known")
        if len(definitions) > 1 and all(isinstance(d.facts, Assign) for d in definitions):
            folded = self._folded(definitions)
            if folded is not None and unknown is None and not may_be_unbound:
                return folded
        names = " or ".join(dict.fromkeys(definition.target for definition in definitions))
        return Unknown(unknown or f"{what} is {names}, depending on what is not known")

    def _folded(self, definitions: tuple[Definition, ...]) -> Value | None:
        """``x = a`` followed by ``x += b``: one value."""
        first, *rest = definitions
        assert isinstance(first.facts, Assign)
        if first.facts.kind != "=" or first.facts.value is None:
            return None
        module = self.program.module(first.module)
        value = self.expression(module, first.facts.value)
        for definition in rest:
            facts = definition.facts
            assert isinstance(facts, Assign)
            if definition.module != first.module or facts.kind != "+=" or facts.value is None:
                return None
            added = self.expression(module, facts.value)
            if isinstance(value, (list, tuple)) and isinstance(added, (list, tuple)):
                value = [*value, *added] if isinstance(value, list) else (*value, *added)
            else:
                return None
        return value

    def of_definition(self, definition: Definition) -> Value:
        """The value of one definition."""
        hosted = LIBRARY.get(definition.target)
        if hosted is not None:
            return hosted(self)
        if definition.kind is Kind.MODULE:
            return ModuleValue(definition.module)
        if definition.kind is Kind.CLASS:
            cls = self.program.classes.of(definition)
            assert cls is not None
            return cls.replaced_by() if cls.facts is not None else cls
        module = self.program.module(definition.module)
        if definition.kind is Kind.FUNCTION and isinstance(definition.facts, FunctionFacts):
            if not module.spec.in_tree:
                return Opaque(definition.target)
            return self.function(module, definition.facts, None)
        if definition.kind is Kind.VALUE and isinstance(definition.facts, Assign):
            return self._assigned(module, definition.facts)
        if definition.kind is Kind.OPAQUE or definition.module == "builtins":
            return Opaque(definition.target)
        return Unknown(f"{definition.target} is not evaluated")

    def _assigned(self, module: Module, facts: Assign) -> Value:
        if facts.value is None or facts.kind != "=":
            return Unknown(f"{module.name}.{facts.name} is not one expression")
        if module.name.partition(".")[0] in sys.stdlib_module_names:
            # how the standard library makes its values is its own affair: plain ones are read, others go by their name
            node = parse_expression(facts.value.text)
            return node.value if isinstance(node, ast.Constant) else Opaque(f"{module.name}.{facts.name}")
        value = self.expression(module, facts.value)
        if isinstance(value, (dict, list, set)):
            self._apply_effects(module, facts, value)
        return value

    def _apply_effects(self, module: Module, facts: Assign, value: Value) -> None:
        """``name[key] = ...`` and ``name.update(...)`` in the module's body, after the value was made."""
        namespace = self.program.resolver.namespace(module)
        for effect, certain in namespace.effects if namespace is not None else ():
            if isinstance(effect, SetAttribute):
                if effect.target.text != facts.name or effect.attribute != "[]" or effect.line < facts.line:
                    continue
                if not certain or effect.key is None or effect.value is None:
                    raise Undecidable(f"{module.name}.{facts.name} is changed under a condition (line {effect.line})")
                key, item = self.expression(module, effect.key), self.expression(module, effect.value)
                if isinstance(value, dict) and not isinstance(key, Unknown):
                    value[key] = item
                else:
                    raise Undecidable(f"{module.name}.{facts.name} is changed by a statement (line {effect.line})")
            elif isinstance(effect, Call) and effect.value.text.startswith(f"{facts.name}."):
                if effect.value.line < facts.line:
                    continue
                if not certain:
                    line = effect.value.line
                    raise Undecidable(f"{module.name}.{facts.name} is changed under a condition (line {line})")
                self.expression(module, effect.value, Frame(module, {facts.name: value}, line=effect.value.line))

    def globals_of(self, module: Module) -> dict[str, Value]:
        """``globals()`` of a module: its names, with the values that are asked for left open."""
        namespace = self.program.resolver.namespace(module)
        return dict.fromkeys(namespace.names, Unknown("a value out of globals()")) if namespace is not None else {}

    def imported(self, module: Module, item: Import) -> Mapping[str, Value]:
        """What an import statement in a function binds."""
        if item.name == "*":
            raise Undecidable("a star import in a function")
        found = self.program.resolver.imported(module, item)
        if found.missing is not None:
            kind = "ModuleNotFoundError" if found.missing.name is None else "ImportError"
            raise Raised(kind, found.missing.as_exception().partition(": ")[2], module.path, item.line)
        return {item.bound: self.of_resolution(found, item.bound)}

    def hosted(self, path: str) -> Value:
        """Something outside the tree, or what is written down about it."""
        maker = LIBRARY.get(path)
        return maker(self) if maker is not None else Opaque(path)

    def module_attribute(self, name: str, attribute: str) -> Value:
        """``module.attribute``."""
        module = self.program.module(name)
        if module.has_source:
            found = self.program.resolver.bound(module, attribute)
            if found is not None and found.definitions and found.unknown is None:
                return self.global_name(attribute, module)
        resolution = self.program.resolve(name, attribute)
        if resolution.missing is not None:
            raise Raised("AttributeError", f"module {name!r} has no attribute {attribute!r}", module.path)
        hosted = LIBRARY.get(f"{name}.{attribute}")
        if hosted is not None:
            return hosted(self)
        return self.of_resolution(resolution, f"{name}.{attribute}")

    # -- functions ----------------------------------------------------------------------------------------------

    def function(self, module: Module, facts: FunctionFacts, owner: Class | None, frame: Frame | None = None) -> Value:
        """The value of a ``def``: the function behind its decorators."""
        value: Value = Function(module, facts.name, facts.qualname, facts.parameters, facts, None, frame, owner)
        for decorator in reversed(facts.decorators):
            if decorator.text in ("staticmethod", "classmethod"):
                continue
            targets = self.program.decorator(module, decorator)
            if targets and all(self.program.is_transparent(target) for target in targets):
                if any(target.name in ("contextmanager", "asynccontextmanager") for target in targets):
                    value.attributes["__contextmanager__"] = True
                continue
            made = self.expression(module, decorator, frame)
            value = self.calls.call(made, [value], {}, f"the decorator {decorator.text}")
        return value

    def body_of(self, function: Function) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda:
        """The syntax tree of a function."""
        if function.node is None:
            facts = function.facts
            node = self.program.function_node(function.module, facts) if facts is not None else None
            if node is None:
                raise Undecidable(f"the source of {function.qualname} cannot be read")
            function.node = node
        return function.node

    # -- truth --------------------------------------------------------------------------------------------------

    def truth(self, value: Value) -> Truth:
        """``bool(value)``."""
        if isinstance(value, (Unknown, Opaque)):
            return Truth.MAYBE
        if value is None or isinstance(
            value, (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset)
        ):
            return Truth.YES if value else Truth.NO
        if isinstance(value, Instance):
            cls = value.cls
            if cls.lookup("__bool__") is not None or cls.lookup("__len__") is not None:
                return Truth.MAYBE
        return Truth.YES

    def decide(self, value: Value, what: str) -> bool:
        """``bool(value)`` where the code goes one way or the other."""
        answer = self.truth(value)
        if answer is Truth.MAYBE:
            reason = value.reason if isinstance(value, Unknown) else f"{value.path} is outside of the tree"
            raise Undecidable(f"{what} is not known: {reason}")
        return answer is Truth.YES
