"""Names, resolved as importing or reading them would: through re-exports, aliases, stars and both arms of a doubt."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from preflight.program.conditions import Platform, Truth, decide
from preflight.program.definitions import Definition, Kind, Missing, Resolution
from preflight.program.entry_points import CURRENT_PLATFORM
from preflight.program.exports import Exports
from preflight.program.facts import Assign, ClassFacts, Expression, FunctionFacts, Import
from preflight.program.finder import ModuleKind
from preflight.program.modules import Module
from preflight.program.namespace import Binding, Namespace, Questions, StarName, line_of, names_before, run_body

if TYPE_CHECKING:
    from preflight.program.program import Program

#: what every module object has without any statement; PEP 451 and the data model name them
MODULE_ATTRIBUTES = frozenset(
    {"__name__", "__doc__", "__file__", "__package__", "__loader__", "__spec__", "__dict__", "__builtins__",
     "__cached__", "__annotations__", "__class__"}
)  # fmt: skip


#: how many modules may be followed inside of one another: star imports and tries nest, and Python's stack ends
MAX_NESTED = 60


class Resolver:
    """Answers for one program. Cycles of imports end in "maybe", never in recursion without end."""

    def __init__(self, program: Program, platform: Platform) -> None:
        self._program = program
        self._platform = platform
        self._exports = Exports(program, self)
        self._names: dict[tuple[str, str], Resolution] = {}
        self._asking: set[tuple[str, str]] = set()
        self._running: set[str] = set()
        self._before: dict[str, dict[int, Mapping[str, tuple[Binding, ...]]]] = {}

    # -- namespaces -----------------------------------------------------------------------------------------------

    def namespace(self, module: Module) -> Namespace | None:
        """The names of a module's body; None while that very body is being followed further up (or too many are)."""
        if module.namespace is None:
            if module.name in self._running or len(self._running) >= MAX_NESTED:
                return None
            self._running.add(module.name)
            try:
                module.namespace = run_body(module.facts.body, self.questions(module))
            finally:
                self._running.discard(module.name)
        return module.namespace

    def questions(self, module: Module) -> Questions:
        """What following the statements of ``module`` has to ask."""
        return Questions(
            test=lambda test: self.test(module, test),
            succeeds=lambda item: self.import_succeeds(module, item),
            star=lambda item: self.star(module, item),
        )

    def test(self, module: Module, test: Expression | ast.expr) -> Truth:
        """Whether the test of an ``if`` in the body of ``module`` holds."""
        return decide(test, self._platform, module.name, lambda node: self._asked(module, node))

    def _asked(self, module: Module, node: ast.expr) -> Truth:
        """The answer to a test that asks the platform object and nothing else, whatever the module calls it; or, in
        code that uses vLLM without being part of it, for its version."""
        if self._program.finder.is_outside(module.name):
            answer = self._program.gates.holds(module, node)
            if answer is not Truth.MAYBE:
                return answer
        if isinstance(node, ast.Name):
            return Truth.MAYBE
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        if len(names) != 1:
            return Truth.MAYBE
        (name,) = names
        for item in module.facts.imports:
            if item.bound == name and item.name == CURRENT_PLATFORM:
                target = module.absolute(item)
                if target is not None:
                    return self._program.platforms.holds(self._program.module(target), name, node)
        return Truth.MAYBE

    def import_succeeds(self, module: Module, item: Import) -> Truth:
        """Whether one name of an import statement can be had, as far as modules and names go."""
        target = module.absolute(item)
        if target is None:
            return Truth.NO
        if item.name in (None, "*"):
            return self._program.importable(target)
        found = self.imported(module, item)
        if found.exists is not Truth.YES:
            return found.exists
        return self._program.importable(target)

    def star(self, module: Module, item: Import) -> tuple[str, Iterable[str], str | None]:
        """The names that ``from x import *`` brings, and why they may not be all."""
        target = module.absolute(item)
        if target is None:
            return "", (), "the relative import climbs out of its package"
        names, reason = self.exports(target)
        return target, names, reason

    def exports(self, name: str) -> tuple[tuple[str, ...], str | None]:
        """The names that a star import of the module ``name`` takes, and why they may not be all."""
        return self._exports.of(name)

    def dunder_all(self, module: Module) -> tuple[tuple[str, ...], str | None] | None:
        """What ``__all__`` lists, and why the list may be longer or shorter; None without ``__all__``."""
        return self._exports.dunder_all(module)

    def openness(self, module: Module, namespace: Namespace | None) -> str | None:
        """Why the module may have names that no statement of it shows; None for a module that is all there."""
        facts = module.facts
        if facts.hole is not None:
            return f"{module.path} cannot be read as Python: {facts.hole.message}"
        if facts.replaced is not None:
            return f"{module.name} replaces itself in sys.modules"
        if facts.dynamic:
            return f"in {module.name} {facts.dynamic[0][0]} (line {facts.dynamic[0][1]})"
        if namespace is not None and namespace.open_stars:
            item, reason = namespace.open_stars[0]
            return f"line {item.line} of {module.name} imports all names of a module, and {reason}"
        if not module.spec.exact:
            return f"{module.name} is of another version than the one that will run"
        return None

    # -- names ----------------------------------------------------------------------------------------------------

    def attribute(self, module_name: str, name: str) -> Resolution:
        """``from module_name import name``: what it binds."""
        passed: list[tuple[str, str]] = []
        key: tuple[str, str] | None = (module_name, name)
        found: Resolution | None = None
        # a chain of plain re-exports is followed in a loop, for it may be longer than Python's stack
        while key is not None and found is None:
            if key in passed or key in self._asking:
                found = self._circular(*key)
                break
            found = self._names.get(key)
            passed.append(key)
            if found is None:
                following = self._reexport(*key)
                if following is None:
                    found = self._asked_once(*key)
                key = following
        assert found is not None
        if not self._asking or found.unknown is None:
            # an answer found inside of a cycle may be weaker than the one found from outside
            for key in passed:
                self._names.setdefault(key, found)
        return found

    def _circular(self, module_name: str, name: str) -> Resolution:
        """A name that leads back to itself: in a package, ``from package import module`` then finds the module."""
        submodule = self._program.finder.find(f"{module_name}.{name}")
        if submodule.found:
            return Resolution((self.module_definition(submodule.name),))
        return Resolution(unknown=f"{name} of {module_name} is defined in terms of itself by a cycle of imports")

    def _asked_once(self, module_name: str, name: str) -> Resolution:
        key = (module_name, name)
        self._asking.add(key)
        try:
            return self._attribute(module_name, name)
        finally:
            self._asking.discard(key)

    def _reexport(self, module_name: str, name: str) -> tuple[str, str] | None:
        """The module and name that a name is plainly imported from; None for every other way to have it."""
        module = self._program.module(module_name)
        if not module.has_source or module.facts.replaced is not None or name in module.facts.globals:
            return None
        namespace = self.namespace(module)
        bindings = namespace.names.get(name, ()) if namespace is not None else ()
        if len(bindings) != 1 or not isinstance(bindings[0], Import) or bindings[0].name in (None, "*"):
            return None
        target = module.absolute(bindings[0])
        return (target, bindings[0].name) if target is not None and bindings[0].name is not None else None

    def _attribute(self, module_name: str, name: str) -> Resolution:
        module = self._program.module(module_name)
        kind = module.spec.kind
        if kind is ModuleKind.ABSENT and self._program.lazy.makes_module(module_name):
            return Resolution(unknown=f"{module_name} may be made at run time by code of the tree")
        if kind is ModuleKind.ABSENT:
            return Resolution(missing=Missing(self._first_absent(module_name), None, module.spec.reason))
        if kind is ModuleKind.UNKNOWN or kind is ModuleKind.OPAQUE:
            reason = module.spec.reason or f"{module_name} is compiled, or its source is not at hand"
            opaque = Definition(Kind.OPAQUE, module_name, name)
            if kind is ModuleKind.OPAQUE and module_name.partition(".")[0] in sys.stdlib_module_names:
                return Resolution((opaque,))  # the standard library imports of its compiled parts what they have
            return Resolution((opaque,), unknown=reason)
        if name in MODULE_ATTRIBUTES or (name == "__path__" and module.spec.is_package):
            return Resolution((Definition(Kind.VALUE, module_name, name, module.path, 1),))
        lazy_package = kind is ModuleKind.SOURCE and module.facts.replaced is not None
        if lazy_package:
            declared = self._program.lazy_packages.attribute(module, name)
            if declared is not None:
                return declared
        if kind is ModuleKind.SOURCE:
            found = self.bound(module, name)
            if found is not None:
                return found
        submodule = self._program.finder.find(f"{module_name}.{name}")
        if submodule.found:
            return Resolution((self.module_definition(submodule.name),))
        if lazy_package:
            return self._program.lazy_packages.refusal(module, name)
        if kind is ModuleKind.SOURCE:
            lazy = self._program.lazy_attribute(module, name)
            if lazy is not None and lazy.missing is None:
                return lazy
            reason = self.openness(module, self.namespace(module))
            if reason is not None:
                # what a library makes at run time has a name, and that is as much as is asked of it
                outside = () if module.spec.in_tree else (Definition(Kind.OPAQUE, module_name, name),)
                return Resolution(outside, unknown=reason)
            if lazy is not None:
                return lazy
        if submodule.kind is ModuleKind.UNKNOWN:
            return Resolution(unknown=submodule.reason)
        return Resolution(missing=Missing(module_name, name, f"{module_name} has no {name!r}"))

    def bound(self, module: Module, name: str, line: int | None = None) -> Resolution | None:
        """What the statements of ``module`` bind to ``name``; None if none does.

        ``line``: as the statement that begins there sees it, not as the module leaves it.
        """
        if line is not None:
            earlier = self._bindings_before(module, name, line)
            if earlier is not None:
                return self._resolved(module, name, earlier)
        namespace = self.namespace(module)
        if namespace is None:
            # The module is being followed further up: what it says about the name, without deciding any test.
            bindings: tuple[Binding, ...] = tuple(_statements_binding(module, name))
            if not bindings:
                return Resolution(unknown=f"{module.name} is part of an import cycle")
        else:
            bindings = namespace.names.get(name, ())
        return self._resolved(module, name, bindings)

    def changes_after(self, module: Module, name: str, line: int) -> bool:
        """Whether a statement at ``line`` or later binds the name again, or deletes it."""
        namespace = self.namespace(module)
        if namespace is None:
            return False
        if namespace.deleted.get(name, 0) >= line:
            return True
        return any(line_of(binding) >= line for binding in namespace.names.get(name, ()))

    def _bindings_before(self, module: Module, name: str, line: int) -> tuple[Binding, ...] | None:
        """The bindings that a statement sees, where a later statement binds the name again; None where none does."""
        if not self.changes_after(module, name, line):
            return None
        states = self._before.setdefault(module.name, {})
        if line not in states:
            states[line] = names_before(module.facts.body, self.questions(module), line)
        return states[line].get(name, ())

    def _resolved(self, module: Module, name: str, bindings: tuple[Binding, ...]) -> Resolution | None:
        if not bindings and name in module.facts.globals:
            return Resolution((Definition(Kind.VALUE, module.name, name, module.path),), may_be_unbound=True)
        if not bindings or bindings == (None,):
            return None
        found = self.join([self.binding(module, binding) for binding in bindings if binding is not None])
        if None in bindings:
            found = Resolution(found.definitions, None, found.unknown, True)
        if name in module.facts.globals:
            reason = f"functions of {module.name} rebind {name} (global)"
            found = Resolution(found.definitions, found.missing, found.unknown or reason, found.may_be_unbound)
        return found

    def binding(self, module: Module, binding: Binding) -> Resolution:
        """What one statement binds."""
        if isinstance(binding, Import):
            return self.imported(module, binding)
        if isinstance(binding, StarName):
            return self.attribute(binding.module, binding.name)
        if isinstance(binding, ClassFacts):
            where = (module.path, binding.line, binding.column)
            return Resolution((Definition(Kind.CLASS, module.name, binding.qualname, *where, binding),))
        if isinstance(binding, FunctionFacts):
            where = (module.path, binding.line, binding.column)
            return Resolution((Definition(Kind.FUNCTION, module.name, binding.qualname, *where, binding),))
        assert isinstance(binding, Assign)
        return self._assigned(module, binding)

    def _assigned(self, module: Module, item: Assign) -> Resolution:
        text = item.value.text if item.kind == "=" and item.value is not None else ""
        key = (module.name, f"={item.name}@{item.line}")
        if _is_alias(text) and key not in self._asking:
            self._asking.add(key)
            try:
                found = self.dotted(module, text, item.line)
            finally:
                self._asking.discard(key)
            if found.definitions and all(d.kind is not Kind.VALUE for d in found.definitions):
                return found
        value = Definition(Kind.VALUE, module.name, item.name, module.path, item.line, item.column, item)
        return Resolution((value,))

    def imported(self, module: Module, item: Import) -> Resolution:
        """What one name of an import statement binds."""
        target = module.absolute(item)
        if target is None:
            missing = Missing(item.module, item.name, "the relative import climbs out of its package")
            return Resolution(missing=missing)
        if item.name is None:
            spec = self._program.finder.find(target)
            if spec.kind is ModuleKind.ABSENT and not self._program.lazy.makes_module(target):
                return Resolution(missing=Missing(self._first_absent(target), None, spec.reason))
            bound = target if item.aliased else target.partition(".")[0]
            unknown = spec.reason if spec.kind is ModuleKind.UNKNOWN else None
            return Resolution((self.module_definition(bound),), unknown=unknown)
        return self.attribute(target, item.name)

    def _first_absent(self, name: str) -> str:
        """The module that Python names in its ModuleNotFoundError: the outermost one that is not there."""
        parts = name.split(".")
        for count in range(1, len(parts)):
            outer = ".".join(parts[:count])
            if self._program.finder.find(outer).kind is ModuleKind.ABSENT:
                return outer
        return name

    def module_definition(self, name: str) -> Definition:
        return Definition(Kind.MODULE, name, "", self._program.finder.find(name).path, 1, 1)

    # -- expressions ----------------------------------------------------------------------------------------------

    def dotted(self, module: Module, text: str, line: int | None = None) -> Resolution:
        """What a name or a dotted name means at the end of the body of ``module``, or where ``line`` begins to run."""
        head, *rest = text.split(".")
        found = self.bound(module, head, line)
        if found is None:
            found = self.unbound(module, head)
        for name in rest:
            found = self.join([self.member(definition, name) for definition in found.definitions], found)
        return found

    def unbound(self, module: Module, name: str) -> Resolution:
        """A name that no statement of the module binds: a builtin, or missing."""
        import builtins

        if hasattr(builtins, name) or name in MODULE_ATTRIBUTES:
            builtin = getattr(builtins, name, None)
            kind = Kind.CLASS if isinstance(builtin, type) else Kind.FUNCTION if callable(builtin) else Kind.VALUE
            return Resolution((Definition(kind, "builtins", name),))
        reason = self.openness(module, self.namespace(module))
        if reason is not None:
            return Resolution(unknown=reason)
        return Resolution(missing=Missing(module.name, name, f"{module.name} has no {name!r}"))

    def member(self, owner: Definition, name: str) -> Resolution:
        """``owner.name``: of a module its attribute, of a class what its body defines; else unknown."""
        if owner.kind is Kind.MODULE:
            return self.attribute(owner.module, name)
        if owner.kind is Kind.OPAQUE:
            opaque = Definition(Kind.OPAQUE, owner.target, name)
            return Resolution((opaque,), unknown=f"the source of {owner.module} is not at hand")
        if owner.kind is Kind.CLASS:
            return self._program.class_member(owner, name)
        return Resolution(unknown=f"what {owner.target} is, is only known when it runs")

    def join(self, found: list[Resolution], before: Resolution | None = None) -> Resolution:
        """The alternatives together. What is missing in one of them only makes the name possibly unbound."""
        if len(found) == 1 and before is None:
            return found[0]
        definitions = tuple(dict.fromkeys(definition for one in found for definition in one.definitions))
        unknown = next((one.unknown for one in found if one.unknown is not None), None)
        missing = next((one.missing for one in found if one.missing is not None), None)
        unbound = any(one.may_be_unbound for one in found)
        if before is not None:
            unknown = before.unknown or unknown
            unbound = unbound or before.may_be_unbound
            if not found:
                return Resolution((), before.missing, unknown, unbound)
        if missing is not None and (definitions or unknown is not None):
            return Resolution(definitions, None, unknown, True)
        return Resolution(definitions, missing, unknown, unbound)


def _is_alias(text: str) -> bool:
    """Whether an assignment of ``text`` gives another name to what ``text`` names."""
    return text.replace(".", "a").isidentifier() and text not in ("None", "True", "False")


def _statements_binding(module: Module, name: str) -> Iterable[Binding]:
    """Every statement directly in the body that binds ``name``, without following conditions."""
    for item in module.facts.body:
        if isinstance(item, Import):
            if item.bound == name:
                yield item
        elif isinstance(item, (FunctionFacts, ClassFacts, Assign)) and item.name == name:
            yield item
