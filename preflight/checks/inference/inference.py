"""What an expression is, by the assignments that can give it its value."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from preflight.checks.inference.bodies import Binding, Body
from preflight.checks.inference.objects import Objects, is_super
from preflight.checks.inference.values import (
    PENDING,
    Alternatives,
    ClassItself,
    Env,
    FunctionOf,
    InstanceOf,
    ItemsOf,
    Kind,
    LambdaOf,
    ModuleOf,
    Outside,
    Plain,
    SuperOf,
    TupleOf,
    joined,
    one,
    unknown,
)
from preflight.program import Class
from preflight.program.classes import function_kind
from preflight.program.definitions import Definition
from preflight.program.definitions import Kind as Defines
from preflight.program.extract import dotted
from preflight.program.facts import Assign, ClassFacts, FunctionFacts, Import

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from preflight.checks.inference.code import Code
    from preflight.checks.inference.objects import Method, Setter
    from preflight.program import Program, Resolution

#: expressions within expressions, calls within calls: deeper than this nothing of the tree is written
MAX_DEPTH = 24
#: methods that are given the class without being decorated (data model)
_OF_CLASS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
#: so often an answer that depends on itself is found out anew
_ROUNDS = 3
#: methods of ``torch.nn.Module`` that return the module itself (torch documentation)
_RETURN_SELF = frozenset(
    {"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "eval", "train", "requires_grad_", "apply"}
)
#: containers of modules, and library functions that pass on the items of their first argument
_CONTAINERS = frozenset({"torch.nn.ModuleList"})
_PASS_ITEMS = frozenset({"list", "tuple", "iter", "reversed", "sorted", "set", "itertools.islice", "tqdm.tqdm"})
#: annotations of results that hold no object of the tree: builtins and tensors
_NO_OBJECT = re.compile(
    r"(?:(?:None|bool|int|float|str|bytes|(?:torch\.)?Tensor|torch\.(?:dtype|device|Size))(?: \| )?)+"
    r"|(?:dict|list|tuple|set)\[(?:str|int|float|bool|(?:torch\.)?Tensor|\.\.\.|, )*\]"
)


class Inference:
    """Answers for one program; what was asked once is kept."""

    def __init__(self, program: Program, code: Code) -> None:
        self.program = program
        self.code = code
        self.objects = Objects(program, code)
        self._attributes: dict[object, Alternatives] = {}
        self._results: dict[object, Alternatives] = {}
        self._known: dict[tuple[ast.expr, Body | None, Class | None], Alternatives] = {}
        self._asking: dict[object, Alternatives] = {}
        self._open: set[object] = set()
        self._depth = 0

    def forget(self) -> None:
        """Let go of the syntax trees; what was found out with them stays."""
        self._known.clear()
        self.objects.forget()
        self.code.forget()

    def in_tree(self, cls: Class) -> bool:
        """Whether the class is one of vLLM's own."""
        return not cls.opaque and self.program.module(cls.module).spec.in_tree

    def infer(self, node: ast.expr, env: Env) -> Alternatives:
        """What ``node`` is where it stands."""
        key = (node, env.body, env.cls)
        known = self._known.get(key)
        if known is not None:
            return known
        if self._depth >= MAX_DEPTH:
            return unknown("it is nested too deeply")
        self._depth += 1
        try:
            found = self._infer(node, env)
        finally:
            self._depth -= 1
        if env.body is not None and not self._open and self._depth < MAX_DEPTH // 2:
            self._known[key] = found
        return found

    def _infer(self, node: ast.expr, env: Env) -> Alternatives:
        if isinstance(node, ast.Name):
            return self.name(node.id, env)
        if isinstance(node, ast.Attribute):
            return self.attribute_of(self.infer(node.value, env), node.attr)
        if isinstance(node, ast.Call):
            return self._call(node, env)
        if isinstance(node, ast.Constant):
            return one(Plain(node.value))
        if isinstance(node, ast.IfExp):
            return joined([self.infer(node.body, env), self.infer(node.orelse, env)])
        if isinstance(node, ast.BoolOp):
            return joined([self.infer(value, env) for value in node.values])
        if isinstance(node, (ast.NamedExpr, ast.Starred)):
            return self.infer(node.value, env)
        if isinstance(node, ast.Lambda):
            return one(LambdaOf(node, env))
        if isinstance(node, ast.Tuple):
            return self._tuple(node.elts, env)
        if isinstance(node, ast.List):
            return one(ItemsOf(joined([self.infer(element, env) for element in node.elts])))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return one(ItemsOf(self.infer(node.elt, env)))
        if isinstance(node, ast.Subscript):
            return self._subscript(node, env)
        return unknown("it is computed")

    def _tuple(self, elements: Sequence[ast.expr], env: Env) -> Alternatives:
        if any(isinstance(element, ast.Starred) for element in elements):
            return unknown("a tuple with a star")
        return one(TupleOf(tuple(self.infer(element, env) for element in elements)))

    def _subscript(self, node: ast.Subscript, env: Env) -> Alternatives:
        index = node.slice
        if isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
            index = index.operand
        if isinstance(index, ast.Slice):
            return self.infer(node.value, env)
        return self.item(self.infer(node.value, env), index.value if isinstance(index, ast.Constant) else None)

    # -- names --------------------------------------------------------------------------------------------------------

    def name(self, name: str, env: Env) -> Alternatives:
        """A name as the code in ``env`` reads it."""
        body = env.body
        while body is not None:
            if body.own(name):
                return self._local(name, body, env)
            body = body.outer
        return self.resolved(self.program.resolve_in(env.module, name), name)

    def _local(self, name: str, body: Body, env: Env) -> Alternatives:
        bindings = body.names.get(name, [])
        if name in body.parameters:
            if bindings:
                return unknown(f"{name} is a parameter that gets other values")
            if name == body.self_name and env.cls is not None:
                if body.parameters[0] == name and self._is_classmethod(body):
                    return one(ClassItself(env.cls))
                return one(InstanceOf(env.cls))
            return unknown(f"{name} is a parameter")
        inside = Env(env.module, body, env.cls, env.owner)
        return self._once(
            (body, name, env.cls), lambda: joined([self.binding(binding, inside) for binding in bindings]), None
        )

    def _once(
        self, key: object, find: Callable[[], Alternatives], kept: dict[object, Alternatives] | None
    ) -> Alternatives:
        """Find something out that may depend on itself: then the part of it that does adds nothing. ``kept`` is where
        answers are kept; one that was found while something else was open is not."""
        if kept is not None and key in kept:
            return kept[key]
        if key in self._asking:
            self._open.add(key)
            return self._asking[key]
        self._asking[key] = PENDING
        try:
            found = find()
            if key in self._open and found.exact:
                found = self._settled(key, find, found)
        finally:
            del self._asking[key]
        self._open.discard(key)
        if kept is not None and not self._open:
            kept[key] = found
        return found

    def _settled(self, key: object, find: Callable[[], Alternatives], found: Alternatives) -> Alternatives:
        """The answer that stays the same when what depends on itself is found out with it (``x = x.to(device)``)."""
        for _ in range(_ROUNDS):
            self._asking[key] = found
            again = find()
            if again == found:
                return found
            found = again
        return unknown("it depends on itself")

    @staticmethod
    def _is_classmethod(body: Body) -> bool:
        node = body.node
        if isinstance(node, (ast.Lambda, ast.Module)):
            return False
        return node.name in _OF_CLASS or any(
            isinstance(decorator, ast.Name) and decorator.id == "classmethod" for decorator in node.decorator_list
        )

    def binding(self, binding: Binding, env: Env) -> Alternatives:
        """The value that an assignment gives."""
        if isinstance(binding.node, (ast.Import, ast.ImportFrom)):
            return self._imported(binding.node, env)
        if binding.value is None or binding.kind == "other":
            return unknown("how it gets its value is not followed")
        found = self.infer(binding.value, env)
        if binding.kind == "for":
            found = self.item(found, None)
        elif binding.kind == "with":
            return unknown("it comes out of a context manager")
        for index in binding.index:
            found = self.item(found, index)
        return found

    def _imported(self, node: ast.Import | ast.ImportFrom, env: Env) -> Alternatives:
        """An import in a function; which of its names is meant does not matter where there is only one."""
        found = [item for item in env.module.facts.imports if item.statement_line == node.lineno]
        if len(found) != 1 or (found[0].name is None and not found[0].aliased):
            return unknown("it is imported together with others")
        return self.resolved(self.program.resolver.imported(env.module, found[0]), found[0].bound)

    def resolved(self, found: Resolution, name: str) -> Alternatives:
        """What a name of a module is."""
        if found.missing is not None or not found.definitions:
            return unknown(found.unknown or f"{name} is not defined")
        if found.unknown is not None and not self._of_library(found):
            return unknown(found.unknown)
        return joined([self.defined(definition) for definition in found.definitions])

    def _of_library(self, found: Resolution) -> bool:
        """Whether a name stands for something outside of the tree if it is there at all: the tree may be without the
        libraries that it runs with."""
        return len(found.definitions) == 1 and not self.program.module(found.definitions[0].module).spec.in_tree

    def defined(self, definition: Definition) -> Alternatives:
        """What a definition defines."""
        if definition.kind is Defines.MODULE:
            return one(ModuleOf(definition.module))
        if definition.kind is Defines.FUNCTION and isinstance(definition.facts, FunctionFacts):
            module = self.program.module(definition.module)
            return one(FunctionOf(module, definition.facts.line, definition.facts))
        if definition.kind is Defines.CLASS:
            cls = self.program.class_of(definition)
            return one(ClassItself(cls)) if cls is not None else unknown("what class it is, is not known")
        if definition.kind is Defines.OPAQUE:
            return one(Outside(definition.target))
        return unknown(f"{definition.name} is a value")

    # -- attributes ---------------------------------------------------------------------------------------------------

    def attribute_of(self, value: Alternatives, name: str) -> Alternatives:
        """``value.name``."""
        if value.pending:
            return PENDING
        parts = [self._attribute(kind, name) for kind in value.kinds]
        if value.unknown is not None:
            parts.append(unknown(value.unknown))
        return joined(parts)

    def _attribute(self, kind: Kind, name: str) -> Alternatives:
        if isinstance(kind, InstanceOf):
            return self.attribute(kind.cls, name)
        if isinstance(kind, ClassItself):
            return self._class_attribute(kind.cls, name, bound=False)
        if isinstance(kind, SuperOf):
            method = self.objects.winner(kind.cls, name, kind.owner)
            if method is None:
                return unknown(f"what super().{name} is, is not known")
            taken = function_kind(method.facts)
            found = FunctionOf(
                method.module, method.facts.line, method.facts, method.owner, kind.cls, taken != "staticmethod"
            )
            return self.result(found) if taken == "property" else one(found)
        if isinstance(kind, ModuleOf):
            return self.resolved(self.program.resolve(kind.name, name), name)
        if isinstance(kind, Outside):
            return one(Outside(f"{kind.path}.{name}"))
        return unknown(f"attribute {name} of something that is no object of the tree")

    def attribute(self, cls: Class, name: str) -> Alternatives:
        """``object.name`` for an object of ``cls``."""
        return self._once((cls, name), lambda: self._find_attribute(cls, name), self._attributes)

    def _find_attribute(self, cls: Class, name: str) -> Alternatives:
        member = cls.lookup(name)
        if member is not None and member.kind == "property":
            if isinstance(member.facts, FunctionFacts):
                module = self.program.module(member.owner.module)
                getter = FunctionOf(module, member.facts.line, member.facts, member.owner, cls, True)
                return self.result(getter)
            return unknown(f"{name} is a property")
        setters = _lasting(cls, self.objects.plain_setters(cls, name))
        if setters:
            parts = [self._set_by(setter.method, setter.binding, cls) for setter in setters]
            if not any(setter.initial for setter in setters) and member is not None:
                parts.append(self._class_attribute(cls, name, bound=True))
            return joined(parts)
        if member is None and cls.has(name) is not False:
            return unknown(f"{cls.name} is not known in full")
        return self._class_attribute(cls, name, bound=True)

    def _set_by(self, method: Method, binding: Binding, cls: Class) -> Alternatives:
        return self.binding(binding, self.env_of(method, cls))

    def env_of(self, method: Method, cls: Class, body: Body | None = None) -> Env:
        """The scope of a method that runs on an object of ``cls``, or of a function inside of the method."""
        return Env(method.module, body or method.body, cls, method.owner)

    def _class_attribute(self, cls: Class, name: str, bound: bool) -> Alternatives:
        member = cls.lookup(name)
        if member is None:
            return unknown(f"{cls.name} has no {name} of its own")
        if not member.certain:
            return unknown(f"{name} of {cls.name} depends on a condition")
        if member.owner.opaque:
            return one(Outside(f"{member.owner.target}.{name}"))
        module = self.program.module(member.owner.module)
        if isinstance(member.facts, FunctionFacts):
            taken = member.kind == "classmethod" or (bound and member.kind == "method")
            return one(FunctionOf(module, member.facts.line, member.facts, member.owner, cls, taken))
        if isinstance(member.facts, ClassFacts):
            return one(ClassItself(self.program.classes.nested(member.owner, member.facts)))
        if isinstance(member.facts, Import):
            return self.resolved(self.program.resolver.imported(module, member.facts), name)
        if isinstance(member.facts, Assign) and member.facts.value is not None and member.facts.kind == "=":
            from preflight.program import parse_expression

            node = parse_expression(member.facts.value.text)
            name_in = dotted(node) if node is not None else None
            if node is not None and name_in is not None:
                found = self.resolved(self.program.name_in_class(module, member.owner, name_in), name_in)
                is_field = name in {field.name for field in getattr(cls.dataclass_fields(), "fields", ())}
                return _as_methods(found, cls) if bound and not is_field else found
            return self.infer(node, Env(module)) if node is not None else unknown("it cannot be read")
        return unknown(f"{name} of {member.owner.name} is not followed")

    # -- items --------------------------------------------------------------------------------------------------------

    def item(self, value: Alternatives, index: object) -> Alternatives:
        """``value[index]``, or with None any item."""
        parts: list[Alternatives] = []
        for kind in value.kinds:
            if isinstance(kind, TupleOf):
                if isinstance(index, int) and 0 <= index < len(kind.items):
                    parts.append(kind.items[index])
                else:
                    parts.append(joined(list(kind.items)))
            elif isinstance(kind, ItemsOf):
                parts.append(kind.item)
            else:
                parts.append(unknown("its items are not known"))
        if value.unknown is not None:
            parts.append(unknown(value.unknown))
        return joined(parts)

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env) -> Alternatives:
        if is_super(node):
            return self._super(node, env)
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and 2 <= len(node.args) <= 3:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                found = self.attribute_of(self.infer(node.args[0], env), name.value)
                return joined([found, self.infer(node.args[2], env)]) if len(node.args) == 3 else found
        found = self.infer(node.func, env)
        if found.pending:
            return PENDING
        parts = [self._called(kind, node, env) for kind in found.kinds]
        if found.unknown is not None:
            parts.append(unknown(found.unknown))
        return joined(parts)

    def _super(self, node: ast.Call, env: Env) -> Alternatives:
        if env.cls is None or env.owner is None:
            return unknown("super() outside of a method")
        owner = env.owner
        if node.args:
            named = self.infer(node.args[0], Env(env.module)).only
            if not isinstance(named, ClassItself):
                return unknown("what super() starts from is not known")
            owner = named.cls
        return one(SuperOf(env.cls, owner))

    def _called(self, kind: Kind, node: ast.Call, env: Env) -> Alternatives:
        if isinstance(kind, ClassItself):
            return self._made(kind.cls, node, env)
        if isinstance(kind, FunctionOf):
            by_name = self._registered(kind, node, env)
            return by_name if by_name is not None else self.result(kind, node, env)
        if isinstance(kind, LambdaOf):
            return self.infer(kind.node.body, kind.env)
        if isinstance(kind, Outside):
            return self._library(kind.path, node, env)
        return unknown("what the call gives is not known")

    def _made(self, cls: Class, node: ast.Call, env: Env) -> Alternatives:
        if cls.opaque:
            found = self._library(f"{cls.module}.{cls.qualname}", node, env)
            if found.unknown is None or cls.is_builtin:
                return found
        return one(InstanceOf(cls))

    def _library(self, path: str, node: ast.Call, env: Env) -> Alternatives:
        """Library knowledge: what passes objects on."""
        name = path.removeprefix("builtins.")
        head, _, last = name.rpartition(".")
        first = self.infer(node.args[0], env) if node.args else unknown("it is called without arguments")
        if name in _PASS_ITEMS:
            return one(ItemsOf(self.item(first, None)))
        if name == "enumerate":
            return one(ItemsOf(one(TupleOf((unknown("a number"), self.item(first, None))))))
        if name == "zip" and node.args:
            items = tuple(self.item(self.infer(argument, env), None) for argument in node.args)
            return one(ItemsOf(one(TupleOf(items))))
        if name in _CONTAINERS:
            return one(ItemsOf(self.item(first, None)))
        if name in ("typing.cast", "typing_extensions.cast") and len(node.args) == 2:
            return self.infer(node.args[1], env)
        if last in _RETURN_SELF and isinstance(node.func, ast.Attribute) and head.startswith("torch.nn."):
            return self.infer(node.func.value, env)
        return unknown(f"what {path} gives is not known")

    def result(self, function: FunctionOf, node: ast.Call | None = None, env: Env | None = None) -> Alternatives:
        """What a function returns: the expressions behind its ``return``."""
        if function.facts.is_async:
            return unknown("it is a coroutine")
        if not function.module.spec.in_tree:
            return unknown(f"{function.facts.name} is outside of the tree")
        returns = function.facts.returns
        if returns is not None and _NO_OBJECT.fullmatch(returns.text):
            return unknown(f"{function.facts.name} returns no object of the tree")
        if node is not None and env is not None:
            made = self._from_factory(function, node, env)
            if made is not None:
                return made
        return self._once((function, function.receiver), lambda: self._returned(function), self._results)

    def _returned(self, function: FunctionOf) -> Alternatives:
        body = self.code.body(function.module, function.facts)
        if body is None or body.yields or not body.returns:
            return unknown(f"what {function.facts.name} returns is not known")
        env = Env(function.module, body, function.receiver, function.owner)
        return joined([self.infer(found.value, env) for found, _ in body.returns if found.value is not None])

    def _from_factory(self, function: FunctionOf, node: ast.Call, env: Env) -> Alternatives | None:
        """A function that is given one lambda and says that it returns a ``ModuleList``: of what the lambda makes."""
        returns = function.facts.returns
        if returns is None or "ModuleList" not in returns.text:
            return None
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        factories = [argument for argument in arguments if isinstance(argument, ast.Lambda)]
        if len(factories) != 1:
            return None
        from preflight.program import parse_expression

        annotation = parse_expression(returns.text)
        items = one(ItemsOf(self.infer(factories[0].body, env)))
        if not (isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple)):
            return items if annotation is not None and not isinstance(annotation, ast.Subscript) else None
        return one(
            TupleOf(
                tuple(
                    items if "ModuleList" in ast.unparse(part) else unknown("a number")
                    for part in annotation.slice.elts
                )
            )
        )

    def _registered(self, function: FunctionOf, node: ast.Call, env: Env) -> Alternatives | None:
        """A call that asks for a model of the registry by its literal architectures; None if it is no such call."""
        given = next((keyword.value for keyword in node.keywords if keyword.arg == "architectures"), None)
        if given is None or not isinstance(given, (ast.List, ast.Tuple)):
            return None
        names = [element.value for element in given.elts if isinstance(element, ast.Constant)]
        if not names or len(names) != len(given.elts):
            return None
        return self.registered(str(names[0]))

    def registered(self, architecture: str) -> Alternatives:
        """An object of the class that the registry has for an architecture."""
        entry = self.program.registry_reader.registry().entries.get(architecture)
        found = self.program.registry_reader.model_class(entry) if entry is not None else None
        if isinstance(found, Class) and not found.opaque:
            return one(InstanceOf(found))
        return unknown(f"what the registry has for {architecture} is not known")


def _as_methods(found: Alternatives, cls: Class) -> Alternatives:
    """Functions that a class has under a name of its own, taken from an object."""
    kinds = tuple(
        replace(kind, receiver=cls, bound=function_kind(kind.facts) == "method")
        if isinstance(kind, FunctionOf) and not kind.bound
        else kind
        for kind in found.kinds
    )
    return Alternatives(kinds, found.unknown)


def _lasting(cls: Class, setters: list[Setter]) -> list[Setter]:
    """Without those of an ``__init__`` of a base after which the ``__init__`` of a subclass certainly sets the
    attribute anew."""
    gone: set[Class] = set()
    for setter in setters:
        method = setter.method
        if method.facts.name == "__init__" and setter.binding.sure and method.owner in cls.mro:
            before = [
                place.node.lineno
                for place in method.body.calls
                if isinstance(place.node, ast.Call)
                and isinstance(place.node.func, ast.Attribute)
                and place.node.func.attr == "__init__"
                and is_super(place.node.func.value)
            ]
            if before and max(before) < getattr(setter.binding.node, "lineno", 0):
                gone.update(cls.mro[cls.mro.index(method.owner) + 1 :])
    return [setter for setter in setters if setter.method.facts.name != "__init__" or setter.method.owner not in gone]
