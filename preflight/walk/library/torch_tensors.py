"""Tensors of torch: what is known of one is its shape, where the sizes are known; everything else stays open.

The knowledge is that of torch's documentation: the functions that make a tensor of sizes, what they refuse as a size,
and that a parameter is a tensor that takes the attributes that are set on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import assigning
from preflight.walk.derived import raw_of
from preflight.walk.library.registry import MAKERS, library_class, maker
from preflight.walk.operands import payload
from preflight.walk.values import (
    NONE,
    Arguments,
    Builtin,
    Class,
    Const,
    Implementation,
    Instance,
    Keywords,
    Map,
    Seq,
    SetValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


#: the class of all tensors, and that of those which a module registers when they are set on it
TENSOR, PARAMETER = "torch.Tensor", "torch.nn.Parameter"
_GAP = "what a tensor holds is not known"
#: functions whose first arguments are sizes, one by one or in one sequence
_OF_SIZES = ("empty", "zeros", "ones", "rand", "randn")


@maker(TENSOR, "torch._tensor.Tensor")
def _tensor_class(machine: Machine) -> Value:
    """The class of all tensors."""
    cls = library_class("Tensor", machine.natives.object, "torch")
    cls.complete = _GAP
    cls.content["__setattr__"] = Builtin("Tensor.__setattr__", _set)
    return cls


@maker(PARAMETER, "torch.nn.parameter.Parameter")
def _parameter_class(machine: Machine) -> Value:
    """The class of tensors that a module registers when they are set on it."""
    base = machine.library.external_class(machine, TENSOR)
    cls = library_class("Parameter", base, "torch.nn.parameter")
    cls.content["__new__"] = Builtin("Parameter.__new__", _new_parameter)
    cls.content["__init__"] = Builtin("Parameter.__init__", lambda machine, given, named: NONE)
    return cls


def is_parameter(machine: Machine, value: Value) -> bool:
    """Whether a value is surely a parameter."""
    return isinstance(value, Instance) and value.cls.is_subclass(machine.library.external_class(machine, PARAMETER))


def make_tensor(machine: Machine, sizes: list[Value] | None, cls: Class | None = None) -> Instance:
    """A tensor of these sizes, or of sizes that are not known."""
    made = machine.instance(cls if cls is not None else machine.library.external_class(machine, TENSOR))
    made.loose = _GAP
    if sizes is not None:
        made.content["shape"] = machine.tuple(list(sizes))
        made.content["ndim"] = Const(len(sizes))
    return made


def shape_of(value: Value) -> tuple[int, ...] | None:
    """The shape of a tensor where all of its sizes are known."""
    shape = value.content.get("shape") if isinstance(value, Instance) else None
    if not isinstance(shape, Seq) or shape.loose:
        return None
    sizes = [raw_of(size) if isinstance(size, Const) else None for size in shape.content]
    return tuple(size for size in sizes if isinstance(size, int)) if None not in sizes else None


def _set(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """An attribute of a tensor; other ``data`` may have another shape."""
    receiver, name, value = arguments
    if isinstance(receiver, Instance) and isinstance(name, Const):
        if name.value == "data":
            machine.state.touch(receiver)
            for stale in ("shape", "ndim"):
                receiver.content.pop(stale, None)
        assigning.assign_plain(machine, receiver, name.value, value)
    return NONE


def _new_parameter(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    cls = arguments[0]
    data = arguments[1] if len(arguments) > 1 else keywords.get("data", NONE)
    made = make_tensor(
        machine, None, cls if isinstance(cls, Class) else machine.library.external_class(machine, PARAMETER)
    )
    if isinstance(data, Instance):
        for name in ("shape", "ndim"):
            if name in data.content:
                made.content[name] = data.content[name]
    return made


def need_size(machine: Machine, function: str, value: Value) -> Value:
    """A size as torch takes it; what can be none raises. An unknown number stands for one that is not known."""
    size = payload(value)
    if isinstance(size, Const):
        raw = raw_of(size)
        if isinstance(raw, int):
            if raw < 0:
                machine.fail("RuntimeError", f"Trying to create tensor with negative dimension {size.value}")
            return size
        if raw is None or isinstance(raw, (str, float)):
            machine.fail(
                "TypeError",
                f"{function}(): a size must be an int, not {type(raw).__name__}",
                values=(("the size", value),),
            )
    elif isinstance(size, (Map, SetValue)):
        machine.fail("TypeError", f"{function}(): a size must be an int, not {size.kind.name}")
    return machine.unknown("a size that is not known", cls=machine.natives.int)


def _sizes(machine: Machine, function: str, given: Arguments, keywords: Keywords) -> list[Value] | None:
    """The sizes that a call gives, one by one or in one sequence; None where how many there are is not known."""
    if not given:
        given = [keywords["size"]] if "size" in keywords else []
    if len(given) == 1:
        only = payload(given[0])
        if isinstance(only, Seq):
            if only.loose:
                return None
            given = list(only.content)
        elif isinstance(only, Instance) or (isinstance(only, Unknown) and only.cls is not machine.natives.int):
            return None
    return [need_size(machine, function, size) for size in given]


def _of_sizes(name: str) -> Implementation:
    def run(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        return make_tensor(machine, _sizes(machine, name, arguments, keywords))

    return run


def _full(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    return make_tensor(machine, _sizes(machine, "full", arguments[:1], keywords))


def _arange(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """``arange(end)``, ``arange(start, end, step)``: numbers, none of them None."""
    for value in (*arguments, *(keywords[name] for name in ("start", "end", "step") if name in keywords)):
        bound = payload(value)
        if isinstance(bound, Const) and (raw_of(bound) is None or isinstance(raw_of(bound), str)):
            kind = type(bound.value).__name__
            machine.fail(
                "TypeError",
                f"arange() received an invalid combination of arguments: a bound is {kind}",
                values=(("the bound", value),),
            )
    numbers = [raw_of(value) if isinstance(value, Const) else None for value in arguments]
    if (
        len(numbers) == 1
        and isinstance(numbers[0], int)
        and numbers[0] >= 0
        and not keywords.keys() & {"start", "step"}
    ):
        return make_tensor(machine, [arguments[0]])
    return make_tensor(machine, [machine.unknown("how many numbers there are", cls=machine.natives.int)])


for _name in _OF_SIZES:
    MAKERS[f"torch.{_name}"] = lambda machine, name=_name: Builtin(f"torch.{name}", _of_sizes(name))
MAKERS["torch.full"] = lambda machine: Builtin("torch.full", _full)
MAKERS["torch.arange"] = lambda machine: Builtin("torch.arange", _arange)
