"""torch as far as construction needs it: the attribute rules of ``nn.Module``; tensors themselves are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import attributes
from preflight.walk.library.registry import MAKERS, function, maker
from preflight.walk.values import NONE, Builtin, Class, Const, Instance, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

Arguments = list[Value]
Keywords = dict[str, Value]

for _name in [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "half",
    "float",
    "double",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "bool",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex64",
    "long",
    "short",
    "int",
    "uint16",
    "uint32",
    "uint64",
    "float4_e2m1fn_x2",
]:
    MAKERS[f"torch.{_name}"] = lambda machine, name=_name: _dtype(machine, name)

_SAME = {"half": "float16", "float": "float32", "double": "float64", "long": "int64", "short": "int16", "int": "int32"}


@maker("torch.dtype")
def _dtype_class(machine: Machine) -> Value:
    cls = Class("dtype", (machine.natives.object,), 0, module="torch")
    cls.mro = (cls, machine.natives.object)
    cls.notes["singleton"] = True
    return cls


def _dtype(machine: Machine, name: str) -> Value:
    """A dtype: one object each, so identity and equality hold."""
    if name in _SAME:
        return machine.library.external(machine, f"torch.{_SAME[name]}")
    cls = machine.library.external(machine, "torch.dtype")
    assert isinstance(cls, Class)
    made = machine.instance(cls)
    made.content["__text__"] = Const(f"torch.{name}")
    made.content["is_floating_point"] = Const("float" in name)
    if digits := "".join(character for character in name.partition("_")[0] if character.isdigit()):
        made.content["itemsize"] = Const(max(1, int(digits) // 8))
    cls.content.setdefault(
        "__repr__", Builtin("__repr__", lambda machine, given, named: machine.get(given[0], "__text__"))
    )
    return made


@maker("torch.nn.Module", "torch.nn.modules.module.Module")
def _module(machine: Machine) -> Value:
    known = machine.library._made.get("preflight.Module")
    if known is not None:
        return known
    cls = Class("Module", (machine.natives.object,), 0, module="torch.nn.modules.module")
    cls.mro = (cls, machine.natives.object)
    cls.notes["repeats"] = True

    def register(machine: Machine, given: Arguments, named: Keywords) -> Value:
        receiver, name = given[0], given[1] if len(given) > 1 else named.get("name", NONE)
        value = (
            given[2]
            if len(given) > 2
            else next((named[key] for key in ("tensor", "param", "module") if key in named), NONE)
        )
        if isinstance(receiver, Instance) and isinstance(name, Const):
            attributes.assign_plain(machine, receiver, name.value, value)
        return NONE

    def init(machine: Machine, given: Arguments, named: Keywords) -> Value:
        receiver = given[0]
        if isinstance(receiver, Instance):
            machine.state.touch(receiver)
            receiver.content["training"] = Const(True)
        return NONE

    cls.content["__init__"] = Builtin("Module.__init__", init)
    for name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        cls.content[name] = Builtin(name, register)
    for name in ("eval", "train", "to", "cuda", "cpu", "requires_grad_", "half", "bfloat16", "float"):
        cls.content[name] = Builtin(name, lambda machine, given, named: given[0])
    for name in _METHODS:
        cls.content[name] = Builtin(
            name, lambda machine, given, named, name=name: machine.unknown(f"the result of Module.{name}")
        )
    machine.library._made["preflight.Module"] = cls
    return cls


_METHODS = [
    "parameters",
    "named_parameters",
    "modules",
    "named_modules",
    "children",
    "named_children",
    "buffers",
    "named_buffers",
    "state_dict",
    "load_state_dict",
    "apply",
    "get_parameter",
    "get_submodule",
    "get_buffer",
    "zero_grad",
    "__call__",
    "forward",
    "_apply",
    "_load_from_state_dict",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook",
    "compile",
    "extra_repr",
    "to_empty",
    "__dir__",
]


@function("torch.cuda.is_available")
def _cuda(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("whether a GPU is there", cls=machine.natives.bool)


@function("torch.get_default_dtype")
def _default_dtype(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("the default dtype")
