"""Calls: binding arguments, running functions, making instances."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from preflight.program.classes import Class
from preflight.program.evaluate.builtin import CONSTRUCTORS
from preflight.program.evaluate.values import (
    Bound,
    EnumMember,
    Frame,
    Function,
    Host,
    Instance,
    Opaque,
    Raised,
    Undecidable,
    Unknown,
    Value,
)
from preflight.program.facts import (
    KIND_KEYWORD_ONLY,
    KIND_POSITIONAL_ONLY,
    KIND_POSITIONAL_OR_KEYWORD,
    KIND_VAR_KEYWORD,
    KIND_VAR_POSITIONAL,
    FunctionFacts,
)
from preflight.program.syntax_nodes import has_yield

if TYPE_CHECKING:
    from preflight.program.evaluate.evaluator import Evaluator

MAX_DEPTH = 60


class Calls:
    """Carries out calls for one evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._depth = 0
        #: results of functions by their arguments, for questions that change nothing; None: every call runs
        self.known: dict[Hashable, Value] | None = None
        self._generators: dict[ast.FunctionDef, bool] = {}
        self._constructors: dict[Class, Function] = {}

    def call(self, function: Value, args: Sequence[Value], kwargs: dict[str, Value], what: str | ast.expr) -> Value:
        """``function(*args, **kwargs)``; ``what`` names it in a reason."""
        self._evaluator.tick()
        if isinstance(function, Function):
            return self._run(function, args, kwargs) if self.known is None else self._known(function, args, kwargs)
        if isinstance(function, Bound):
            return self.call(function.function, [function.receiver, *args], kwargs, what)
        if isinstance(function, Class):
            return self.instantiate(function, args, kwargs)
        if isinstance(function, Host):
            try:
                return function.call(*args, **kwargs)
            except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
                said = what if isinstance(what, str) else ast.unparse(what)
                raise Undecidable(f"{said} fails: {type(error).__name__}: {error}") from None
        if isinstance(function, Unknown):
            return function
        if isinstance(function, Opaque):
            return Unknown(f"what {function.path}() gives is not known")
        if isinstance(function, Instance):
            return self.call(self._evaluator.attributes.of_instance(function, "__call__"), args, kwargs, what)
        raise Raised("TypeError", f"{type(function).__name__!r} object is not callable")

    def _known(self, function: Function, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """The result of a module's function for arguments that it was given before."""
        assert self.known is not None
        if function.facts is None or function.frame is not None:
            return self._run(function, args, kwargs)
        # a method made anew on each read is the same function still
        given = [(id(a.facts), a.qualname) if isinstance(a, Function) and a.facts is not None else a for a in args]
        key = (function.module.name, function.qualname, *given, *kwargs.items())
        try:
            if key in self.known:
                return self.known[key]
        except TypeError:
            return self._run(function, args, kwargs)  # an argument that is a list or a dict
        value = self.known[key] = self._run(function, args, kwargs)
        return value

    # -- functions ------------------------------------------------------------------------------------------------

    def _run(self, function: Function, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        if function.opaque:
            return Unknown(f"what {function.qualname}() gives is not known")
        if "__contextmanager__" in function.attributes:
            return Unknown(f"{function.qualname} is a context manager")
        node = self._evaluator.body_of(function)
        names = self.bind(function, args, kwargs)
        frame = Frame(function.module, names, function.frame, function)
        if self._depth >= MAX_DEPTH:
            raise Undecidable("the calls go too deep to be followed")
        self._depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self._evaluator.expressions.value(node.body, frame)
            if isinstance(node, ast.AsyncFunctionDef) or self._is_generator(node):
                return Unknown(f"{function.qualname} does not return its value at once")
            return self._evaluator.statements.run_function(node, frame)
        finally:
            self._depth -= 1

    def _is_generator(self, node: ast.FunctionDef) -> bool:
        found = self._generators.get(node)
        if found is None:
            found = self._generators[node] = has_yield(node)
        return found

    def bind(self, function: Function, args: Sequence[Value], kwargs: dict[str, Value]) -> dict[str, Value]:
        """The names of the function's parameters; raises ``Raised("TypeError")`` if the call cannot bind."""
        names: dict[str, Value] = {}
        left = list(args)
        named = dict(kwargs)
        for parameter in function.parameters:
            name, kind = parameter.name, parameter.kind
            if kind == KIND_VAR_POSITIONAL:
                names[name] = tuple(left)
                left = []
            elif kind == KIND_VAR_KEYWORD:
                names[name] = named
                named = {}
            elif left and kind in (KIND_POSITIONAL_ONLY, KIND_POSITIONAL_OR_KEYWORD):
                names[name] = left.pop(0)
                if kind == KIND_POSITIONAL_OR_KEYWORD and name in named:
                    raise Raised("TypeError", f"{function.name}() got multiple values for argument {name!r}")
            elif name in named and kind in (KIND_POSITIONAL_OR_KEYWORD, KIND_KEYWORD_ONLY):
                names[name] = named.pop(name)
            elif name in function.defaults:
                names[name] = function.defaults[name]
            elif parameter.default is not None:
                scope = Frame(function.module, {}, function.frame)
                names[name] = self._evaluator.expression(function.module, parameter.default, scope)
            else:
                raise Raised("TypeError", f"{function.name}() missing a required argument: {name!r}")
        if left:
            raise Raised("TypeError", f"{function.name}() takes fewer positional arguments than were given")
        if named:
            raise Raised("TypeError", f"{function.name}() got an unexpected keyword argument {next(iter(named))!r}")
        return names

    # -- instances ------------------------------------------------------------------------------------------------

    def instantiate(self, cls: Class, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        """``cls(*args, **kwargs)``."""
        if cls.module == "builtins":
            constructor = CONSTRUCTORS.get(cls.qualname)
            if constructor is None:
                return Unknown(f"what {cls.qualname}() gives is not followed")
            try:
                return constructor(self._evaluator, *args, **kwargs)
            except TypeError:  # such as `int(text, 16)`
                return Unknown(f"what {cls.qualname}() gives for these arguments is not followed")
        if cls.opaque:
            return Unknown(f"what {cls.target}() gives is not known")
        if cls.is_enum:
            return self._enum_by_value(cls, args)
        if cls.lookup("__new__") is not None:
            return Unknown(f"{cls.target} makes its instances in __new__")
        instance = Instance(cls)
        fields = cls.dataclass_fields()
        init = cls.lookup("__init__")
        if init is not None and init.signature is None:
            if not isinstance(init.facts, FunctionFacts) and "__init__" not in init.owner.changed:
                return Unknown(f"what {cls.target}() does is not known")
            function = self._evaluator.attributes.member(init, cls)
            self.call(function, [instance, *args], kwargs, cls.name)
            return instance
        if fields is not None:
            self._init_dataclass(instance, args, kwargs)
            return instance
        if not cls.complete:
            return Unknown(f"what {cls.target}() does is not known: {cls.doubts[0].reason if cls.doubts else ''}")
        if args or kwargs:
            raise Raised("TypeError", f"{cls.name}() takes no arguments")
        return instance

    def _init_dataclass(self, instance: Instance, args: Sequence[Value], kwargs: dict[str, Value]) -> None:
        cls = instance.cls
        fields = cls.dataclass_fields()
        assert fields is not None
        function = self._constructors.get(cls)
        if function is None:
            module = self._evaluator.program.module(cls.module)
            function = Function(module, cls.name, cls.qualname, fields.signature().parameters)
            function.defaults = {field.name: _FACTORY for field in fields.fields if field.factory is not None}
            self._constructors[cls] = function
        given = self.bind(function, args, kwargs)
        for field in fields.fields:
            value = given.get(field.name)
            if value is _FACTORY or (not field.init and field.factory is not None):
                assert field.factory is not None
                where = self._evaluator.program.module(field.owner.module)
                made = self._evaluator.expression(where, field.factory)
                value = self.call(made, [], {}, f"the default of {field.name}")
            elif not field.init:
                if field.default is None:
                    continue
                value = self._evaluator.expression(self._evaluator.program.module(field.owner.module), field.default)
            instance.attributes[field.name] = value
        post = cls.lookup("__post_init__")
        if post is not None:
            self.call(self._evaluator.attributes.of_instance(instance, "__post_init__"), [], {}, "__post_init__")

    def _enum_by_value(self, cls: Class, args: Sequence[Value]) -> Value:
        if len(args) == 1:
            if isinstance(args[0], EnumMember):
                return args[0]
            for name in cls.enum_members():
                member = EnumMember(cls, name)
                if self._evaluator.attributes.get(member, "value") == args[0]:
                    return member
        return Unknown(f"a member of {cls.target} by its value")


class _Factory:
    """Stands for a default that is made anew for each instance."""


_FACTORY = _Factory()
