"""Classes: their order of resolution, how a ``class`` statement makes one, and how an instance comes out of it."""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.walk.derived import Derived
from preflight.walk.frames import Frame, scan
from preflight.walk.nearby import remark
from preflight.walk.outcomes import fork
from preflight.walk.stored import UNBUILT, has_name, hidden
from preflight.walk.truth import Truth, known, unite
from preflight.walk.values import (
    Bound,
    Builtin,
    Class,
    Const,
    Descriptor,
    External,
    Form,
    Function,
    Instance,
    Map,
    ModuleValue,
    OneOf,
    Perhaps,
    Seq,
    SetValue,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


@dataclass(frozen=True, slots=True)
class Found:
    """What a lookup along the MRO found; not ``sure`` when an unknown base may come before it."""

    value: Value | None
    sure: bool


def lookup(cls: Class, name: str) -> Found:
    """The first binding of ``name`` along the MRO."""
    return _search(cls.mro, name)


def lookup_after(start: Class, after: Class, name: str) -> Found:
    """The first binding of ``name`` behind ``after`` in the MRO of ``start``."""
    mro = start.mro
    if after not in mro:
        return Found(None, False)
    sure = after.complete is True
    found = _search(mro[mro.index(after) + 1 :], name)
    return Found(found.value, found.sure and sure)


def _search(mro: tuple[Class, ...], name: str) -> Found:
    sure = True
    for cls in mro:
        value = cls.content.get(name)
        if value is not None:
            return Found(value, sure)
        if cls.complete is not True or cls.loose:
            sure = False
    return Found(None, sure)


def linearize(cls: Class) -> tuple[Class, ...] | None:
    """C3; None when the bases cannot be put in an order."""
    chains = [list(base.mro) for base in cls.bases] + [list(cls.bases)]
    order = [cls]
    while chains := [chain for chain in chains if chain]:
        for chain in chains:
            head = chain[0]
            if not any(head in other[1:] for other in chains):
                break
        else:
            return None
        order.append(head)
        for chain in chains:
            if chain[0] is head:
                del chain[0]
    return tuple(order)


def rebase(machine: Machine, cls: Class, bases: Value) -> None:
    """``cls.__bases__ = bases``. It cannot be undone, so under a condition the class is no longer wholly known."""
    items = machine.items(bases)
    if items is None or not all(isinstance(item, Class) for item in items) or machine.state.segments:
        cls.complete = "its bases are changed"
    if items is None:
        return
    cls.bases = tuple(item for item in items if isinstance(item, Class))
    order = linearize(cls)
    if order is None:
        machine.fail("TypeError", "Cannot create a consistent method resolution order (MRO) for bases")
    cls.mro = order


def class_of(machine: Machine, value: Value) -> Class | None:
    """``type(value)``; None where it is not known."""
    natives = machine.natives
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Const):
        return natives.of(value.asked(type) if isinstance(value, Derived) else type(value.value))
    if isinstance(value, (Seq, Map, SetValue)):
        return value.kind
    if isinstance(value, Class):
        return value.metaclass if value.metaclass is not None else natives.type
    if isinstance(value, Function):
        return natives.function
    if isinstance(value, Bound):
        return natives.of(types.MethodType)
    if isinstance(value, Builtin):
        return natives.of(types.BuiltinFunctionType)
    if isinstance(value, ModuleValue):
        return natives.of(types.ModuleType)
    if isinstance(value, Stream):
        return natives.of(types.GeneratorType)
    if isinstance(value, Descriptor):
        return natives.of(
            {"property": property, "classmethod": classmethod, "staticmethod": staticmethod}.get(value.kind, property)
        )
    if isinstance(value, Form):
        # since 3.11 `typing.Any` is a class; the other forms are objects of typing's own
        return natives.type if value.head == "typing.Any" else natives.of(types.GenericAlias)
    if isinstance(value, Unknown):
        return value.cls
    return None


def is_instance(machine: Machine, value: Value, cls: Value) -> Truth:
    """``isinstance(value, cls)``."""
    if isinstance(value, OneOf):
        return unite([is_instance(machine, option, cls) for option in value.options])
    if isinstance(cls, OneOf):
        return unite([is_instance(machine, value, option) for option in cls.options])
    alternatives = _alternatives(cls)
    if alternatives is not None:
        answers = [is_instance(machine, value, option) for option in alternatives]
        if any(answer is Truth.YES for answer in answers):
            return Truth.YES
        return Truth.NO if all(answer is Truth.NO for answer in answers) else Truth.MAYBE
    if isinstance(cls, Class):
        actual = class_of(machine, value)
        if actual is None:
            return Truth.YES if cls is machine.natives.object else Truth.MAYBE
        return _is_subclass(machine, actual, cls, value)
    return machine.library.is_instance(machine, value, cls)


def _alternatives(cls: Value) -> list[Value] | None:
    if isinstance(cls, Seq) and not cls.loose:
        return list(cls.content)
    if isinstance(cls, Form) and cls.head == "typing.Union":
        return list(cls.arguments)
    return None


def is_subclass(machine: Machine, value: Value, cls: Value) -> Truth:
    """``issubclass(value, cls)``."""
    if isinstance(value, OneOf):
        return unite([is_subclass(machine, option, cls) for option in value.options])
    alternatives = _alternatives(cls)
    if alternatives is not None:
        answers = [is_subclass(machine, value, option) for option in alternatives]
        if any(answer is Truth.YES for answer in answers):
            return Truth.YES
        return Truth.NO if all(answer is Truth.NO for answer in answers) else Truth.MAYBE
    if isinstance(value, Class) and isinstance(cls, Class):
        return _is_subclass(machine, value, cls, None)
    if isinstance(value, Form) and value.head == "typing.Any" and isinstance(cls, Class):
        return known(cls.native is object)
    return Truth.MAYBE


def _is_subclass(machine: Machine, actual: Class, cls: Class, value: Value | None) -> Truth:
    if cls in actual.mro:
        return Truth.YES
    if cls.notes.get("protocol"):
        return _satisfies(machine, actual, cls, value)
    if cls.metaclass is not None and lookup(cls.metaclass, "__instancecheck__").value is not None:
        return Truth.MAYBE
    abstract = cls.notes.get("abstract_check")
    if abstract is not None:
        return abstract(machine, actual, value)
    if isinstance(value, Unknown):
        # an unknown of a class may be of a subclass of it
        return (
            Truth.NO
            if actual.native in (str, int, float, bool, bytes, type(None))
            and cls.native is not None
            and not issubclass(cls.native, actual.native)
            else Truth.MAYBE
        )
    if actual.gap():
        return Truth.MAYBE
    if cls.native is not None and cls.native.__flags__ & (1 << 20) and actual.native is not None:
        return known(issubclass(actual.native, cls.native))
    return Truth.NO


def _satisfies(machine: Machine, actual: Class, protocol: Class, value: Value | None) -> Truth:
    """A class or instance against a runtime-checkable protocol: every member must be there."""
    members = protocol_members(protocol)
    if members is None:
        return Truth.MAYBE
    answer = Truth.YES
    for member in sorted(members):
        found = lookup(actual, member)
        if found.value is not None and not (isinstance(found.value, Const) and found.value.value is None):
            continue
        if isinstance(value, Instance) and member in value.content:
            if isinstance(value.content[member], Perhaps):
                answer = Truth.MAYBE
            continue
        if isinstance(value, Class) and machine.find(value, member) is not None:
            continue
        if not found.sure or (
            isinstance(value, Instance)
            and hidden(value.loose, member)
            and (value.loose is not UNBUILT or has_name(value, member))
        ):
            answer = Truth.MAYBE
            continue
        if isinstance(value, Instance) and lookup(actual, "__getattr__").value is not None:
            return Truth.MAYBE
        asked = value if isinstance(value, Class) else actual
        if asked.node is not None:
            remark(machine.remarks, asked, member)
        return Truth.NO
    return answer


def protocol_members(protocol: Class) -> set[str] | None:
    """The names a protocol asks for: those of its body and annotations and of its protocol bases."""
    names: set[str] = set()
    for cls in protocol.mro:
        if cls.notes.get("protocol") and cls.node is not None:
            for statement in _flat(cls.node.body):
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    names.add(statement.name)
                elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    names.add(statement.target.id)
                elif isinstance(statement, ast.Assign):
                    names.update(target.id for target in statement.targets if isinstance(target, ast.Name))
        elif cls.native is None and cls.node is not None:
            return None
    return {
        name
        for name in names
        if name not in ("__slots__", "__doc__", "__init__", "__class_getitem__", "__hash__", "__match_args__")
    }


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If):
            found += _flat(statement.body) + _flat(statement.orelse)
        else:
            found.append(statement)
    return found


# --- the class statement ---


def define(machine: Machine, node: ast.ClassDef) -> Value:
    """The value a ``class`` statement binds, its decorators applied."""
    frame = machine.frame
    decorators = [machine.evaluate(decorator) for decorator in node.decorator_list]
    bases = []
    for base in node.bases:
        if isinstance(base, ast.Starred):
            bases.append(machine.unknown("the bases are unpacked"))
        else:
            bases.append(machine.evaluate(base))
    keywords = {keyword.arg or "**": machine.evaluate(keyword.value) for keyword in node.keywords}
    outer = (
        f"{frame.function.qualname}.<locals>."
        if frame.function is not None
        else f"{frame.owner.qualname}."
        if frame.owner is not None
        else ""
    )
    cls = make(machine, node.name, bases, machine.frame.module.name)
    cls.qualname = outer + node.name
    cls.node = node
    cls.path = frame.path
    _run_body(machine, cls, node)
    finish(machine, cls, keywords)
    value: Value = cls
    for decorator in reversed(decorators):
        value = machine.call(decorator, [value])
    return value


def make(machine: Machine, name: str, bases: list[Value], module: str) -> Class:
    """A class without a body."""
    known_bases: list[Class] = []
    gap: str | None = None
    protocol = False
    for base in bases:
        resolved = machine.library.as_class(machine, base)
        if isinstance(resolved, Class):
            if resolved.name == "Protocol" and resolved.module == "typing":
                protocol = True
            if resolved not in known_bases:
                known_bases.append(resolved)
        elif resolved is not None:
            gap = f"the base {_shown(base)} of {name} is not known"
    if not known_bases:
        known_bases = [machine.natives.object]
    cls = Class(name, tuple(known_bases), machine.state.fresh(), module=module)
    order = linearize(cls)
    if order is None:
        machine.fail(
            "TypeError",
            "Cannot create a consistent method resolution order (MRO) for bases "
            + ", ".join(base.name for base in known_bases),
        )
    cls.mro = order
    if gap:
        cls.complete = gap
    cls.notes["protocol"] = protocol
    for base in known_bases:
        if base.metaclass is not None:
            cls.metaclass = base.metaclass
            break
    return cls


def _shown(value: Value) -> str:
    if isinstance(value, External):
        return value.name
    return f"({value.reason})" if isinstance(value, Unknown) else repr(value)


def _run_body(machine: Machine, cls: Class, node: ast.ClassDef) -> None:
    outer = machine.frame
    frame = Frame("class", node.name, outer.module, outer, scan(node.body), machine.state.fresh())
    frame.owner = cls
    frame.content = cls.content
    frame.node = node
    machine.frames.append(frame)
    try:
        machine.execute(node.body)
    finally:
        machine.frames.pop()
    # a rolled back arm replaces the content of the frame; the class keeps what the body left
    cls.content = frame.content


def finish(machine: Machine, cls: Class, keywords: dict[str, Value]) -> None:
    """What happens when the body of a class is done: metaclass, ``__set_name__``, hooks of the bases,
    ``__init_subclass__``.
    """
    metaclass = keywords.pop("metaclass", None)
    if isinstance(metaclass, Class):
        if metaclass.native is None:
            cls.metaclass = metaclass
    elif metaclass is not None and not (
        isinstance(metaclass, External) and machine.library.is_plain_metaclass(metaclass)
    ):
        cls.complete = "its metaclass is not known"
    if cls.metaclass is not None and any(
        isinstance(lookup(cls.metaclass, name).value, Function) for name in ("__new__", "__init__", "__prepare__")
    ):
        cls.complete = f"its metaclass {cls.metaclass.name} makes classes in a way that is not walked"
    for name, value in list(cls.content.items()):
        if isinstance(value, Descriptor) and not value.name:
            value.name = name
        if isinstance(value, Instance):
            naming = lookup(value.cls, "__set_name__").value
            if naming is not None:
                machine.call(naming, [value, cls, Const(name)])
    init_subclass = cls.content.get("__init_subclass__")
    if isinstance(init_subclass, Function):
        cls.content["__init_subclass__"] = Descriptor("classmethod", init_subclass)
    for base in cls.mro[1:]:
        hook = base.notes.get("on_subclass")
        if hook is not None:
            hook(machine, cls, keywords)
            break
    for base in cls.mro[1:]:
        inherited = base.content.get("__init_subclass__")
        if isinstance(inherited, Descriptor):
            machine.call(inherited.function, [cls], keywords)
            break
        if base.complete is not True:
            break


# --- instances ---


def instantiate(machine: Machine, cls: Class, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """``cls(*arguments, **keywords)``."""
    if cls.metaclass is not None:
        caller = lookup(cls.metaclass, "__call__").value
        if caller is not None:
            return machine.call(caller, [cls, *arguments], keywords)
    return construct(machine, cls, arguments, keywords)


def construct(machine: Machine, cls: Class, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """What ``type.__call__`` does: ``__new__``, then ``__init__``."""
    if cls.native is not None:
        return machine.library.construct_native(machine, cls, arguments, keywords)
    maker = cls.notes.get("construct") or next(
        (base.notes["construct"] for base in cls.mro if "construct" in base.notes), None
    )
    if maker is not None:
        return maker(machine, cls, arguments, keywords)
    if any("repeats" in base.notes for base in cls.mro):
        return machine.repeats.construct(
            machine, cls, arguments, keywords, lambda: _made(machine, cls, arguments, keywords)
        )
    return _made(machine, cls, arguments, keywords)


def _made(machine: Machine, cls: Class, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    new = lookup(cls, "__new__")
    init = lookup(cls, "__init__")
    if not new.sure or not init.sure:
        machine.escape([*arguments, *keywords.values()], f"{cls.name} has a base that is not known")
        return machine.unknown(f"an instance of {cls.name}, of which a base is not known: {cls.gap()}", cls=cls)
    abstract = missing_methods(cls)
    if abstract:
        names = ", ".join(f"'{name}'" for name in abstract)
        machine.fail("TypeError", f"Can't instantiate abstract class {cls.name} with abstract methods {names}")
    made: Value
    if new.value is not None:
        function = new.value.function if isinstance(new.value, Descriptor) else new.value
        made = machine.call(function, [cls, *arguments], keywords)
        if not isinstance(made, Instance) or cls not in made.cls.mro:
            if isinstance(made, OneOf):
                return fork(
                    machine,
                    [
                        lambda option=option: _initialized(machine, cls, option, init, arguments, keywords)
                        for option in made.options
                    ],
                    "the instance is one of several",
                )
            return made
    else:
        made = allocate(machine, cls, arguments, keywords)
    return _initialized(machine, cls, made, init, arguments, keywords)


def _initialized(
    machine: Machine, cls: Class, made: Value, init: Found, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    if not isinstance(made, Instance) or cls not in made.cls.mro:
        return made
    if init.value is not None:
        machine.call(init.value, [made, *arguments], keywords)
    elif (
        (arguments or keywords)
        and all(base.native in (None, object) for base in cls.mro)
        and lookup(cls, "__new__").value is None
    ):
        machine.fail("TypeError", f"{cls.name}() takes no arguments")
    return made


def allocate(machine: Machine, cls: Class, arguments: list[Value], keywords: dict[str, Value]) -> Instance:
    """What ``object.__new__`` (or that of a built-in base) does."""
    made = machine.instance(cls)
    native = next((base.native for base in cls.mro if base.native not in (None, object)), None)
    if native is not None:
        if native is property:
            made.content["fget"] = arguments[0] if arguments else Const(None)
        elif issubclass(native, BaseException):
            made.content["args"] = machine.tuple(list(arguments))
        elif issubclass(native, (dict, list, set)):
            own = lookup(cls, "__init__").value
            empty: list[Value] = []
            made.payload = machine.library.construct_native(
                machine,
                machine.natives.of(native),
                empty if own is not None else arguments,
                {} if own is not None else keywords,
            )
        elif issubclass(native, (str, int, float, tuple, frozenset, bytes)):
            made.payload = machine.library.construct_native(machine, machine.natives.of(native), arguments, keywords)
    return made


def is_exception(machine: Machine, cls: Class) -> bool:
    return cls.is_subclass(machine.natives.of(BaseException))


def missing_methods(cls: Class) -> list[str]:
    """The abstract methods that nothing along the MRO implements, where ABCMeta would refuse the instance."""
    if cls.gap() or not any(base.notes.get("abc") for base in cls.mro):
        return []
    names: set[str] = set()
    for base in cls.mro:
        names.update(name for name, value in base.content.items() if is_abstract(value))
    missing = []
    for name in sorted(names):
        found = lookup(cls, name).value
        if found is not None and is_abstract(found):
            missing.append(name)
    return missing


def is_abstract(value: Value) -> bool:
    if isinstance(value, Descriptor):
        return is_abstract(value.function)
    return isinstance(value, Function) and "__isabstractmethod__" in value.content
