"""Which config an expression is: by annotations, by the constructor that made it, by what was assigned on the way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.checks.inference.values import ClassItself, Env, FunctionOf
from preflight.program.extract import dotted

if TYPE_CHECKING:
    from preflight.checks.configs.known import ConfigClasses
    from preflight.checks.configs.models import ModelConfigs
    from preflight.checks.inference.bodies import Body
    from preflight.checks.inference.inference import Inference
    from preflight.program import Class, Module, Program, Resolution

#: assignments of assignments: deeper than this nothing of the tree is written
_DEPTH = 16
#: what makes an annotation of several
_UNIONS = ("Optional", "Union")
#: a method of the base of all configs that gives a nested one (transformers)
_PART_OF = "get_text_config"
#: how a name ends that stands for a config
_CONFIG = "config"


class Configs:
    """Answers for one program. An answer are the classes of which the expression is an object of one; None where that
    is not known. The base of all configs is an answer too: it is some model's config, and nobody says which one's."""

    def __init__(self, program: Program, inference: Inference, classes: ConfigClasses, models: ModelConfigs) -> None:
        self._program = program
        self._inference = inference
        self._classes = classes
        self._models = models
        self._names: dict[tuple[Body, str, Class | None], tuple[Class, ...] | None] = {}
        self._attributes: dict[tuple[Class, str], tuple[Class, ...] | None] = {}
        self._depth = 0

    def of(self, node: ast.expr, env: Env) -> tuple[Class, ...] | None:
        """The classes of a config."""
        if self._depth >= _DEPTH:
            return None
        self._depth += 1
        try:
            return self._of(node, env)
        finally:
            self._depth -= 1

    def _of(self, node: ast.expr, env: Env) -> tuple[Class, ...] | None:
        if isinstance(node, ast.Name):
            return self._name(node.id, env)
        if isinstance(node, ast.Attribute):
            return self._attribute(node.value, node.attr, env)
        if isinstance(node, ast.Call):
            return self._call(node, env)
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value, env)
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            return self._joined(_choices(node), env)
        return None

    def _joined(self, nodes: list[ast.expr], env: Env) -> tuple[Class, ...] | None:
        found: dict[Class, None] = {}
        for node in nodes:
            if isinstance(node, ast.Constant) and node.value is None:
                continue
            part = self.of(node, env)
            if part is None:
                return None
            found.update(dict.fromkeys(part))
        return tuple(found) or None

    # -- names --------------------------------------------------------------------------------------------------------

    def _name(self, name: str, env: Env) -> tuple[Class, ...] | None:
        body = env.body
        while body is not None and not body.own(name):
            body = body.outer
        if body is None:
            return None
        key = (body, name, env.cls)
        if key not in self._names:
            self._names[key] = None  # what is made of itself is not followed
            self._names[key] = self._local(name, body, Env(env.module, body, env.cls, env.owner))
        return self._names[key]

    def _local(self, name: str, body: Body, env: Env) -> tuple[Class, ...] | None:
        if name == body.self_name:
            return (env.cls,) if env.cls is not None else None
        found: dict[Class, None] = {}
        if name in body.parameters:
            given = self._parameter(name, body, env.module)
            if given is None:
                return None
            found.update(dict.fromkeys(given))
        stated = _stated(name, body)
        if stated is not None:
            return self.annotated(stated, env.module)
        for binding in body.names.get(name, ()):
            if binding.kind != "=" or binding.index or binding.value is None:
                return None
            # ``config = config or other``: what it was before is told by what else it is made of
            parts = [part for part in _choices(binding.value) if not (isinstance(part, ast.Name) and part.id == name)]
            given = self._joined(parts, env) if parts else ()
            if given is None:
                return None
            found.update(dict.fromkeys(given))
        return tuple(found) or None

    def _parameter(self, name: str, body: Body, module: Module) -> tuple[Class, ...] | None:
        arguments = body.node.args if not isinstance(body.node, ast.Module) else None
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if arguments is not None else ():
            if one.arg != name:
                continue
            if one.annotation is not None:
                return self.annotated(one.annotation, module)
            return self._some_config() if name.endswith(_CONFIG) else None
        return None

    def _some_config(self) -> tuple[Class, ...] | None:
        """What is called a config, and nothing says of which model."""
        base = self._classes.base()
        return (base,) if base is not None else None

    # -- attributes ---------------------------------------------------------------------------------------------------

    def _attribute(self, owner: ast.expr, name: str, env: Env) -> tuple[Class, ...] | None:
        found: dict[Class, None] = {}
        owners = self.of(owner, env)
        for cls in owners or ():
            part = self._of_object(cls, name)
            if part is None:
                return None
            found.update(dict.fromkeys(part))
        if env.cls is not None and found and all(map(self._classes.is_base, found)):
            # what the engine holds is some model's config: whose, is known of the model class that reads it
            made = self._models.of(env.cls) if all(map(self._classes.of_engine, owners or ())) else None
            return made or tuple(found)
        return tuple(found) or None

    def _of_object(self, cls: Class, name: str) -> tuple[Class, ...] | None:
        """What an object of the class has under a name."""
        key = (cls, name)
        if key not in self._attributes:
            self._attributes[key] = None
            self._attributes[key] = self._held(cls, name)
        return self._attributes[key]

    def _held(self, cls: Class, name: str) -> tuple[Class, ...] | None:
        if cls.opaque:
            return None
        nested = self._classes.nested(cls, name) if self._classes.of_model(cls) else None
        if nested is not None:
            named = self._named(*reversed(nested)) or ()
            # ``AutoConfig`` is any model's
            return named if named and all(map(self._classes.of_model, named)) else self._some_config()
        for base in cls.mro:
            assign = base.annotations().get(name) if not base.opaque else None
            if assign is not None and assign.annotation is not None:
                from preflight.program import parse_expression

                node = parse_expression(assign.annotation.text)
                return self.annotated(node, self._program.module(base.module)) if node is not None else None
        if self._classes.of_model(cls):
            # some model's config holds more of some model's
            return self._some_config() if self._classes.is_base(cls) and name.endswith(_CONFIG) else None
        if not self._inference.in_tree(cls):
            return None
        setters = self._inference.objects.plain_setters(cls, name)
        found: dict[Class, None] = {}
        for setter in setters:
            if setter.binding.kind != "=" or setter.binding.index or setter.binding.value is None:
                return None
            part = self._joined([setter.binding.value], self._inference.env_of(setter.method, cls))
            if part is None:
                return None
            found.update(dict.fromkeys(part))
        return tuple(found) or None

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env) -> tuple[Class, ...] | None:
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and 2 <= len(node.args) <= 3:
            name = node.args[1]
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                return None
            found = self._attribute(node.args[0], name.value, env)
            rest = self._joined(node.args[2:], env) if len(node.args) == 3 else ()
            return (*found, *(rest or ())) if found is not None else None
        if isinstance(node.func, ast.Attribute) and node.func.attr == _PART_OF:
            owners = self.of(node.func.value, env)
            bases = [base for cls in owners or () for base in cls.mro if self._classes.is_base(base)]
            return (bases[0],) if bases else None
        called = self._inference.infer(node.func, env).only
        if isinstance(called, ClassItself):
            return (called.cls,)
        if isinstance(called, FunctionOf) and called.facts.returns is not None:
            from preflight.program import parse_expression

            returns = parse_expression(called.facts.returns.text)
            found = self.annotated(returns, called.module) if returns is not None else None
            return found if found is not None else self._asked_for(node, env)
        return self._asked_for(node, env)

    def _asked_for(self, node: ast.Call, env: Env) -> tuple[Class, ...] | None:
        """``context.get_hf_config(LlavaConfig)``: a call that is given one class of config and gives an object."""
        if len(node.args) != 1 or node.keywords:
            return None
        given = self._inference.infer(node.args[0], env).only
        return (given.cls,) if isinstance(given, ClassItself) and self._classes.of_model(given.cls) else None

    # -- annotations --------------------------------------------------------------------------------------------------

    def annotated(self, node: ast.expr, module: Module) -> tuple[Class, ...] | None:
        """The classes that an annotation names; of a union those that are configs or objects of the tree."""
        if isinstance(node, ast.Constant):
            if node.value is None:
                return ()
            from preflight.program import parse_expression

            parsed = parse_expression(node.value) if isinstance(node.value, str) else None
            return self.annotated(parsed, module) if parsed is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._union([node.left, node.right], module)
        if isinstance(node, ast.Subscript):
            if (dotted(node.value) or "").rpartition(".")[2] not in _UNIONS:
                return None
            return self._union(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice], module)
        name = dotted(node)
        return self._named(name, module) if name is not None else None

    def _union(self, nodes: list[ast.expr], module: Module) -> tuple[Class, ...] | None:
        found: dict[Class, None] = {}
        for node in nodes:
            part = self.annotated(node, module)
            if part is None:
                return None
            found.update(dict.fromkeys(part))
        return tuple(found)

    def _named(self, name: str, module: Module) -> tuple[Class, ...] | None:
        found = self._for_readers(name, module) or self._program.resolve_in(module, name)
        if found.unknown is not None or not found.definitions:
            return None
        classes = [self._program.class_of(definition) for definition in found.definitions]
        if not all(cls is not None for cls in classes):
            return None
        return tuple(cls for cls in classes if cls is not None and not cls.is_builtin)

    def _for_readers(self, name: str, module: Module) -> Resolution | None:
        """What a name stands for where types are checked: at run time it may be a stand-in."""
        for item in module.facts.imports:
            if item.bound == name and any(guard.test and "TYPE_CHECKING" in guard.test.text for guard in item.guards):
                return self._program.resolver.imported(module, item)
        return None


def _choices(node: ast.expr) -> list[ast.expr]:
    """The expressions of which a value is one."""
    if isinstance(node, ast.BoolOp):
        return [choice for value in node.values for choice in _choices(value)]
    if isinstance(node, ast.IfExp):
        return [*_choices(node.body), *_choices(node.orelse)]
    return [node]


def _stated(name: str, body: Body) -> ast.expr | None:
    """The annotation of a local name, where a statement of the function has one."""
    for node in ast.walk(body.node) if body.names.get(name) else ():
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return node.annotation
    return None
