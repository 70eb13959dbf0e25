"""torch as far as a launch needs it: its dtypes, and what it says of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.library.registry import MAKERS, function, library_class, maker
from preflight.walk.values import NONE, Arguments, Builtin, Const, Keywords, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


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
    cls = library_class("dtype", machine.natives.object, "torch")
    cls.notes["singleton"] = True
    return cls


def _dtype(machine: Machine, name: str) -> Value:
    """A dtype: one object each, so identity and equality hold."""
    if name in _SAME:
        return machine.library.external(machine, f"torch.{_SAME[name]}")
    cls = machine.library.external_class(machine, "torch.dtype")
    made = machine.instance(cls)
    made.content["__text__"] = Const(f"torch.{name}")
    made.content["is_floating_point"] = Const("float" in name)
    if digits := "".join(character for character in name.partition("_")[0] if character.isdigit()):
        made.content["itemsize"] = Const(max(1, int(digits) // 8))
    cls.content.setdefault(
        "__repr__", Builtin("__repr__", lambda machine, given, named: machine.get(given[0], "__text__"))
    )
    return made


@function("torch.cuda.is_available")
def _cuda(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return machine.unknown("whether a GPU is there", cls=machine.natives.bool)


_DEFAULT = "the default dtype"


@function("torch.get_default_dtype")
def _default_dtype(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    known = machine.library.kept.get(_DEFAULT)
    return known if known is not None else machine.unknown("the default dtype")


@function("torch.set_default_dtype")
def _set_default_dtype(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """What is set under a condition that is not known is not known afterwards."""
    value = arguments[0] if arguments else keywords.get("d", NONE)
    if machine.library.kept.get(_DEFAULT) is not value:
        machine.repeats.start_anew()
    machine.library.kept[_DEFAULT] = value if not machine.state.arms else machine.unknown("the default dtype")
    return NONE
