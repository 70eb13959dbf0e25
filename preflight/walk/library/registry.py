"""The library as the machine sees it: by dotted name, a value or a function of ours that does what the library does."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from preflight.walk.derived import Derived, apply
from preflight.walk.files import Files
from preflight.walk.origins import combined
from preflight.walk.outcomes import Raised, fork
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    Bound,
    Builtin,
    Class,
    Const,
    External,
    Form,
    Function,
    Host,
    Implementation,
    Instance,
    ModuleValue,
    OneOf,
    Perhaps,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.first_pass import Running
    from preflight.walk.machine import Machine

#: dotted name -> what makes its value; asked once per machine
MAKERS: dict[str, Callable[[Machine], Value]] = {}
#: names of libraries that say the same as another's
ALIASES = {"typing_extensions": "typing", "regex": "re", "collections.abc": "collections.abc", "cloudpickle": "pickle"}
#: libraries of which an unknown function is called freely: it changes nothing of ours and raises nothing we could say
HARMLESS = (
    "logging",
    "warnings",
    "time",
    "atexit",
    "gc",
    "signal",
    "threading",
    "weakref",
    "traceback",
    "faulthandler",
    "tqdm",
    "opentelemetry",
)


def function(*names: str) -> Callable[[Implementation], Implementation]:
    """Registers a function of a library under its dotted names."""

    def register(run: Implementation) -> Implementation:
        for name in names:
            MAKERS[name] = lambda machine, name=name: Builtin(name, run)
        return run

    return register


def constant(name: str, thing: Host) -> None:
    """Registers a host constant of a library."""
    MAKERS[name] = lambda machine: machine.value(thing)


def maker(first: str, *others: str) -> Callable[[Callable[[Machine], Value]], Callable[[Machine], Value]]:
    """Registers what makes the value of a name, which is one and the same under its ``others``; who calls the function
    gets that value, too.
    """

    def register(make: Callable[[Machine], Value]) -> Callable[[Machine], Value]:
        def value(machine: Machine) -> Value:
            return machine.library.external(machine, first)

        MAKERS[first] = make
        MAKERS.update(dict.fromkeys(others, value))
        return value

    return register


def library_class(name: str, base: Class, module: str) -> Class:
    """A class of a library, as much of it as is put into it afterwards."""
    cls = Class(name, (base,), 0, module=module)
    cls.mro = (cls, *base.mro)
    return cls


class Library:
    """The library knowledge of one walk.

    ``overrides``: functions and names of the tree that are answered instead of walked, by their own name (``get_ip``,
    ``Platform.device_count``), because they ask the machine or the network.
    """

    def __init__(self, overrides: dict[str, Callable[[Machine], Value]] | None = None) -> None:
        from preflight.walk.library import (  # registers what each knows
            automodels,
            constructors,
            containers,
            contexts,
            dataclass,
            enumeration,
            forms,
            functional,
            inspecting,
            objects,
            paths,
            pydantic,
            standard,
            torch,
            torch_modules,
            torch_tensors,
        )

        self._natives = containers
        self._constructors = constructors
        self._objects = objects
        self._forms = forms
        self._parts = (
            automodels,
            contexts,
            dataclass,
            enumeration,
            functional,
            inspecting,
            paths,
            pydantic,
            standard,
            torch,
            torch_modules,
            torch_tensors,
        )
        self._made: dict[str, Value] = {}
        #: what libraries keep by a name of their own: the default dtype
        self.kept: dict[str, Value] = {}
        self.overrides = overrides or {}
        #: packages that are surely not installed
        self.absent: frozenset[str] = frozenset()
        #: packages that surely are
        self.present: frozenset[str] = frozenset()
        #: the versions of installed distributions, by name
        self.versions: Mapping[str, str] = {}
        #: the environment variables of the launch: these and no others
        self.variables: Mapping[str, str] = {}
        #: those that the launch sets to what is not known
        self.open_variables: tuple[str, ...] = ()
        #: sizes of the parallel groups of the launch, once they are known
        self.groups: dict[str, int] = {}
        #: once the target was built: its config; a model of any other, such as a drafter, is built when it is loaded
        self.target: Value | None = None
        #: while weights are loaded: where the parameter stands among all whose weight it is; None for one not known
        self.weight: float | None = None
        #: while a model is run: its modules, which then are called
        self.running: Running | None = None
        #: bytes of the machine's memory
        self.cpu_memory: int | None = None
        #: the Python that will run vLLM
        self.python: tuple[int, int, int] = (3, 12, 0)
        self.files = Files()

    def environment(self, machine: Machine) -> Value:
        """``os.environ`` of the launch."""
        known: dict[str, Value] = {
            name: Const(text, f"environment variable {name}") for name, text in self.variables.items()
        }
        for name in self.open_variables:
            known[name] = machine.unknown(f"the environment variable {name}", cls=machine.natives.str)
        return machine.strings(known)

    # --- names ---

    def external(self, machine: Machine, name: str) -> Value:
        """The value of a dotted name of a library."""
        head, _, rest = name.partition(".")
        if head in ALIASES and rest:
            name = f"{ALIASES[head]}.{rest}"
        made = self._made.get(name)
        if made is None:
            make = MAKERS.get(name)
            made = make(machine) if make is not None else self._at_home(machine, name)
            self._made[name] = made
        return made

    def external_class(self, machine: Machine, name: str) -> Class:
        """The same, of a name that is a class."""
        found = self.external(machine, name)
        assert isinstance(found, Class)
        return found

    def _at_home(self, machine: Machine, name: str) -> Value:
        """A name that a lazily loading package passes on from a module that is walked."""
        owner, _, last = name.rpartition(".")
        home = machine.modules.world.home(owner, last) if owner else None
        if home is not None and machine.modules.world.walked(home[0]):
            module = machine.modules.module(machine, home[0])
            found = machine.find(module, home[1]) if isinstance(module, ModuleValue) else None
            if found is not None:
                return found
        return External(name)

    def attribute(self, machine: Machine, value: External, name: str) -> Value | None:
        if name in ("__name__", "__qualname__"):
            return Const(value.name.rpartition(".")[2])
        if name == "__module__":
            return Const(value.name.rpartition(".")[0] or value.name)
        inner = (
            machine.modules.module(machine, f"{value.name}.{name}")
            if machine.modules.world.walked(f"{value.name}.{name}")
            else None
        )
        if isinstance(inner, ModuleValue):
            return inner
        known = self.external(machine, f"{value.name}.{name}")
        if isinstance(known, External) and machine.modules.world.lacks(value.name, name):
            return None
        return Perhaps(known) if isinstance(known, External) and not name[:1].isupper() else known

    def builtin(self, machine: Machine, name: str) -> Value | None:
        """A built-in name."""
        dotted = f"builtins.{name}"
        if dotted in MAKERS:
            return self.external(machine, dotted)
        cls = machine.natives.builtin(name)
        if cls is not None:
            return cls
        if name in ("NotImplemented", "Ellipsis", "__debug__"):
            return Const(getattr(builtins, name))
        if name in ("__builtins__", "__annotations__", "__path__", "__spec__", "__doc__", "__package__", "__loader__"):
            return machine.unknown(f"{name} of a module")
        if hasattr(builtins, name):
            return External(dotted)
        return None

    def installed(self, machine: Machine, name: str) -> bool | None:
        """Whether the package that ``name`` belongs to is installed; None where that is not known."""
        head = name.partition(".")[0]
        if head in self.absent:
            return False
        return True if head in self.present else machine.modules.world.installed(head)

    def missing_package(self, machine: Machine, name: str) -> None:
        """Raises ModuleNotFoundError for a package that is surely not installed; one that may not be, may raise it."""
        there = self.installed(machine, name)
        if there is False:
            machine.fail("ModuleNotFoundError", f"No module named '{name}'")
        if there is None:
            machine.may_raise(f"whether {name} is installed is not known")

    def module_attribute(self, machine: Machine, module: ModuleValue, name: str) -> Value | None:
        """An attribute of a module of the tree that is answered instead of walked."""
        make = self.overrides.get(name)
        if make is None or not module.name.startswith("vllm"):
            return None
        dotted = f"override {name}"
        made = self._made.get(dotted)
        if made is None:
            made = self._made[dotted] = make(machine)
        return made

    def override(self, machine: Machine, called: Function) -> Value | None:
        """What is done instead of walking a function of the tree."""
        if self.running is not None and called.name == "__call__" and called.closure.kind == "function":
            # a decorator has put it on a class of modules: it compiles ``forward`` as it runs it
            return self.external_class(machine, "torch.nn.Module").content["__call__"]
        if not self.overrides:
            return None
        make = self.overrides.get(called.qualname)
        if make is None and called.module.startswith("vllm.platforms."):
            make = self.overrides.get(f"*.{called.name}")
        if make is None:
            return None
        dotted = f"override {called.qualname}"
        made = self._made.get(dotted)
        if made is None:
            made = self._made[dotted] = make(machine)
        return made

    # --- classes and types ---

    def as_class(self, machine: Machine, base: Value) -> Value | None:
        """The class that a base expression stands for."""
        if isinstance(base, Class):
            return base
        if isinstance(base, Form):
            return self._forms.base_class(machine, base)
        return base

    def is_plain_metaclass(self, metaclass: External) -> bool:
        return metaclass.name in ("abc.ABCMeta", "typing._ProtocolMeta")

    def is_instance(self, machine: Machine, value: Value, cls: Value) -> Truth:
        """``isinstance`` with something that is no class of the walk."""
        if isinstance(cls, Form):
            target = self._forms.runtime_class(machine, cls)
            return machine.is_instance(value, target) if target is not None else Truth.MAYBE
        if isinstance(cls, External):
            return self._forms.is_external_instance(machine, value, cls)
        if isinstance(cls, Const) and cls.value is None:
            machine.fail("TypeError", "isinstance() arg 2 must be a type, a tuple of types, or a union")
        return Truth.MAYBE

    def union(self, machine: Machine, left: Value, right: Value) -> Value | None:
        return self._forms.union(machine, left, right)

    def subscript(self, machine: Machine, owner: Value, key: Value) -> Value:
        return self._forms.subscript(machine, owner, key)

    def form_attribute(self, machine: Machine, value: Form, name: str) -> Value | None:
        return self._forms.attribute(machine, value, name)

    def form_text(self, machine: Machine, value: Form) -> str | None:
        return self._forms.text(machine, value)

    def call_form(self, machine: Machine, callee: Form, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        target = self._forms.runtime_class(machine, callee)
        if target is not None:
            return machine.call(target, arguments, keywords)
        return machine.unknown(f"calling {callee!r}")

    def construct_native(
        self, machine: Machine, cls: Class, arguments: list[Value], keywords: dict[str, Value]
    ) -> Value:
        return self._constructors.construct(machine, cls, arguments, keywords)

    # --- attributes of what is not walked ---

    def native_attribute(self, machine: Machine, value: Value, name: str) -> Value | None:
        return self._natives.attribute(machine, value, name)

    def object_attribute(self, machine: Machine, value: Instance, name: str) -> Value | None:
        """What every object has."""
        made = self._objects.object_method(name)
        return Bound(made, value) if made is not None else None

    def class_attribute(self, machine: Machine, cls: Class, name: str) -> Value | None:
        return self._objects.class_attribute(machine, cls, name)

    def super_attribute(self, machine: Machine, value: Super, name: str) -> Value | None:
        """What ``object`` or a built-in base gives behind the last class of the tree."""
        receiver = value.receiver
        if name == "__new__":
            return Builtin("object.__new__", self._objects.object_new)
        if name == "__init_subclass__":
            return Builtin("object.__init_subclass__", lambda machine, arguments, keywords: NONE)
        if isinstance(receiver, Class):
            if name == "__call__":
                return Bound(Builtin("type.__call__", self._objects.type_call), receiver)
            return self.class_attribute(machine, receiver, name)
        if not isinstance(receiver, Instance):
            return None
        if name == "__init__":
            return Bound(Builtin("object.__init__", self._objects.object_init), receiver)
        if receiver.payload is not None:
            found = self.native_attribute(machine, receiver.payload, name)
            if found is not None:
                return found
        return self.object_attribute(machine, receiver, name)

    def callable_attribute(self, machine: Machine, value: Function | Bound | Builtin, name: str) -> Value | None:
        return self._objects.callable_attribute(machine, value, name)

    # --- calls ---

    def call(self, machine: Machine, callee: External, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """A function of a library of which nothing is known."""
        from preflight.walk.calls import not_walked

        if callee.name.partition(".")[0] in HARMLESS:
            return machine.unknown(f"the result of {callee.name}")
        owner, _, last = callee.name.rpartition(".")
        if owner.startswith("transformers") and (last == "from_config" or last.endswith("Model")):
            machine.doubt("walk-library-model", f"{callee.name} builds modules out of code that is not walked")
        names = machine.modules.world.stores(callee.name)
        return not_walked(machine, f"the result of {callee.name} is not known", arguments, keywords, names)

    def enter(self, machine: Machine, manager: Value) -> Value:
        if isinstance(manager, Const):
            machine.fail(
                "TypeError", f"'{type(manager.value).__name__}' object does not support the context manager protocol"
            )
        machine.may_raise("a context manager of a library")
        return machine.unknown("what a context manager of a library gives")

    def leave(self, machine: Machine, manager: Value, details: list[Value]) -> Value:
        # those of libraries that do swallow (``suppress``) are known by name
        return Const(False)


# --- helpers for the functions of libraries ---


def pure(name: str, host: Callable[..., Any], receiver: Value | None = None) -> Implementation:
    """An implementation that runs a pure function of the host when all arguments are known, and knows nothing
    otherwise. ``receiver`` is the value whose method it is.
    """
    from preflight.walk.iteration import NotConcrete

    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        every = [*arguments, *keywords.values()]
        options = next((value for value in every if isinstance(value, OneOf)), None)
        if options is not None:
            return fork(
                machine,
                [
                    lambda chosen=chosen: run(machine, *_replaced(arguments, keywords, options, chosen))
                    for chosen in options.options
                ],
                "one of several arguments",
            )
        if any(isinstance(value, Derived) for value in every) and all(isinstance(value, Const) for value in every):
            constants = tuple(value for value in every if isinstance(value, Const))
            names, count = tuple(keywords), len(arguments)

            def compute(*raws: Host) -> Host:
                return host(*raws[:count], **dict(zip(names, raws[count:], strict=True)))

            try:
                return apply(machine, compute, constants)
            except Exception as error:
                return fail_as(machine, error)
        try:
            hosts = [callback(machine, value) for value in arguments]
            named = {key: callback(machine, value) for key, value in keywords.items()}
        except NotConcrete:
            machine.may_raise(f"{name} of values that are not known")
            reason = next(
                (value.reason for value in every if isinstance(value, Unknown)), f"{name} of values that are not known"
            )
            return machine.unknown(reason)
        try:
            return machine.value(host(*hosts, **named), combined(*every if receiver is None else (receiver, *every)))
        except Raised:
            raise
        except Exception as error:
            return fail_as(machine, error)

    return run


def _replaced(
    arguments: list[Value], keywords: dict[str, Value], old: Value, new: Value
) -> tuple[list[Value], dict[str, Value]]:
    return [new if value is old else value for value in arguments], {
        key: new if value is old else value for key, value in keywords.items()
    }


def callback(machine: Machine, value: Value) -> Host:
    """The host object of ``value``; a function of the walked program becomes a host function that walks it."""
    if isinstance(value, (Function, Builtin, Bound)):
        return lambda *arguments: machine.host(machine.call(value, [machine.value(argument) for argument in arguments]))
    if isinstance(value, Class) and value.native is not None:
        return value.native
    return machine.host(value)


def fail_as(machine: Machine, error: Exception) -> Value:
    """The walked program raises what the host raised for the same arguments."""
    made = machine.instance(machine.natives.of(type(error)))
    made.content["args"] = machine.value(
        tuple(
            str(argument) if not isinstance(argument, (str, int, float, type(None))) else argument
            for argument in error.args
        )
    )
    if isinstance(error, SyntaxError):
        made.content["msg"] = Const(error.msg)
    raise Raised((machine.exit(made, str(error)),))
