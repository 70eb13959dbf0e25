"""``torch.nn.Module`` and its kind: how attributes are set and found, the containers, and the plain layers.

The knowledge is that of torch's documentation of ``torch.nn``. Of a plain layer it is known which arguments it takes
and which parameters it makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.walk import assigning
from preflight.walk.derived import raw_of
from preflight.walk.library import torch_running
from preflight.walk.library.inspecting import SIGNATURE
from preflight.walk.library.registry import MAKERS, library_class, maker
from preflight.walk.library.torch_tensors import PARAMETER, is_parameter, make_tensor, need_size
from preflight.walk.operands import payload
from preflight.walk.truth import Truth
from preflight.walk.values import (
    NONE,
    TRUE,
    Arguments,
    Builtin,
    Const,
    Implementation,
    Instance,
    Keywords,
    Map,
    Seq,
    Value,
)

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


MODULE = "torch.nn.Module"
#: the names of buffers, which are no class of their own
BUFFERS = "_buffers"
_LOOSE = "a layer of torch has attributes that are not listed here"


@maker(MODULE, "torch.nn.modules.module.Module", "torch.nn.modules.Module")
def _module_class(machine: Machine) -> Value:
    """``torch.nn.Module``."""
    cls = library_class("Module", machine.natives.object, "torch.nn.modules.module")
    cls.notes["repeats"] = True
    cls.content["__init__"] = Builtin("Module.__init__", _init)
    cls.content["__setattr__"] = Builtin("Module.__setattr__", _set)
    cls.content["register_buffer"] = Builtin("register_buffer", _register_buffer)
    for name, keyword in (("register_parameter", "param"), ("add_module", "module"), ("register_module", "module")):
        cls.content[name] = Builtin(name, _registering(keyword))
    for name in _RETURNS_ITSELF:
        cls.content[name] = Builtin(name, lambda machine, given, named: given[0])
    for name in _METHODS:
        cls.content[name] = Builtin(
            name, lambda machine, given, named, name=name: machine.unknown(f"the result of Module.{name}")
        )
    cls.content["__call__"] = Builtin("Module.__call__", torch_running.call, hands_on=True)
    cls.content["eval"] = Builtin("Module.eval", torch_running.evaluating)
    cls.content["register_forward_pre_hook"] = Builtin("Module.register_forward_pre_hook", torch_running.hook)
    cls.content["modules"] = Builtin("Module.modules", torch_running.below)
    cls.content["named_modules"] = Builtin("Module.named_modules", torch_running.named_below)
    cls.content["forward"] = Builtin(
        "Module.forward",
        lambda machine, given, named: machine.unknown("the result of Module.forward"),
        {SIGNATURE: Const("(self, *input)")},
    )
    return cls


def is_module(machine: Machine, value: Value) -> bool:
    """Whether a value is surely a module."""
    return isinstance(value, Instance) and value.cls.is_subclass(machine.library.external_class(machine, MODULE))


_RETURNS_ITSELF = ("train", "to", "cuda", "cpu", "requires_grad_", "half", "bfloat16", "float", "double")
_METHODS = (
    "parameters",
    "named_parameters",
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
    "_apply",
    "_load_from_state_dict",
    "register_forward_hook",
    "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook",
    "compile",
    "extra_repr",
    "to_empty",
    "__dir__",
)


def _init(machine: Machine, given: Arguments, named: Keywords) -> Value:
    receiver = given[0]
    if isinstance(receiver, Instance):
        machine.state.touch(receiver)
        receiver.content[torch_running.READY] = TRUE
        receiver.content[BUFFERS] = machine.dict([])
    return NONE


def _set(machine: Machine, given: Arguments, named: Keywords) -> Value:
    """``module.name = value``: a parameter or module is registered, which needs ``Module.__init__`` to have run."""
    receiver, name, value = given
    if not isinstance(receiver, Instance):
        return NONE
    if not isinstance(name, Const):
        machine.loosen(receiver, "which attribute was set is not known", clear=True)
        return NONE
    if torch_running.READY not in receiver.content and not receiver.loose:
        kind = "parameters" if is_parameter(machine, value) else "module" if is_module(machine, value) else None
        if kind is not None:
            machine.fail("AttributeError", f"cannot assign {kind} before Module.__init__() call")
    before = receiver.content.get(name.value)
    if (
        before is not None
        and is_parameter(machine, before)
        and isinstance(value, Const)
        and raw_of(value) is not None
        and torch_running.READY in receiver.content
    ):
        machine.fail(
            "TypeError",
            f"cannot assign '{type(value.value).__name__}' as parameter '{name.value}' "
            "(torch.nn.Parameter or None expected)",
        )
    assigning.assign_plain(machine, receiver, name.value, value)
    return NONE


def _register_buffer(machine: Machine, given: Arguments, named: Keywords) -> Value:
    receiver, name, value, persistent = _taken(given, named, ("self", "name", "tensor", "persistent"))
    if isinstance(receiver, Instance) and isinstance(name, Const):
        buffers = receiver.content.get(BUFFERS)
        if isinstance(buffers, Map):
            machine.state.touch(buffers)
            kept = persistent if persistent is not None else TRUE
            buffers.content[raw_of(name)] = (name, kept)
        assigning.assign_plain(machine, receiver, name.value, value if value is not None else NONE)
    elif isinstance(receiver, Instance):
        machine.loosen(receiver, "which buffer was registered is not known", clear=False)
    return NONE


def _registering(keyword: str) -> Implementation:
    def run(machine: Machine, given: Arguments, named: Keywords) -> Value:
        receiver, name, value = _taken(given, named, ("self", "name", keyword))
        if isinstance(receiver, Instance) and isinstance(name, Const):
            assigning.assign_plain(machine, receiver, name.value, value if value is not None else NONE)
        elif isinstance(receiver, Instance):
            machine.loosen(receiver, "which name was registered is not known", clear=False)
        return NONE

    return run


def _taken(given: Arguments, named: Keywords, names: tuple[str, ...]) -> list[Value | None]:
    """The arguments by these names, by position or keyword."""
    return [given[index] if index < len(given) else named.get(name) for index, name in enumerate(names)]


# --- containers ---


def _container(name: str, fill: Callable[[Machine, Instance, Arguments, Keywords], None]) -> None:
    def make(machine: Machine) -> Value:
        base = machine.library.external_class(machine, MODULE)
        cls = library_class(name, base, "torch.nn.modules.container")

        def init(machine: Machine, given: Arguments, named: Keywords) -> Value:
            receiver = given[0]
            if isinstance(receiver, Instance):
                _init(machine, [receiver], {})
                fill(machine, receiver, given[1:], named)
            return NONE

        cls.content["__init__"] = Builtin(f"{name}.__init__", init)
        if name == "Sequential":
            cls.content["forward"] = Builtin(f"{name}.forward", torch_running.in_sequence)
        return cls

    maker(f"torch.nn.{name}", f"torch.nn.modules.{name}", f"torch.nn.modules.container.{name}")(make)


def _fill_list(machine: Machine, receiver: Instance, given: Arguments, named: Keywords) -> None:
    source = given[0] if given else named.get("modules", NONE)
    if isinstance(source, Const) and raw_of(source) is None:
        receiver.payload = machine.list([])
        return
    items = machine.items(source)
    made = machine.list(items or [])
    if items is None:
        made.loose = "the modules of a list are not known"
    receiver.payload = made


def _fill_dict(machine: Machine, receiver: Instance, given: Arguments, named: Keywords) -> None:
    from preflight.walk.expressions import merge

    made = machine.dict([])
    source = given[0] if given else named.get("modules", NONE)
    if not (isinstance(source, Const) and raw_of(source) is None):
        merge(machine, made, source)
    receiver.payload = made
    receiver.loose = "a module of a dict can be read as an attribute"


def _fill_sequence(machine: Machine, receiver: Instance, given: Arguments, named: Keywords) -> None:
    made = machine.list(list(given))
    only = given[0] if len(given) == 1 else None
    mapping = payload(only) if only is not None else None
    if isinstance(mapping, Map):
        made.content = [entry for _key, entry in mapping.content.values()]
        made.loose = mapping.loose
    elif only is not None and not is_module(machine, only):
        made.content, made.loose = [], "the modules of a sequence are not known"
    receiver.payload = made
    receiver.loose = "a module of a sequence can be read as an attribute"


_container("ModuleList", _fill_list)
_container("ModuleDict", _fill_dict)
_container("Sequential", _fill_sequence)


# --- plain layers ---


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer of torch: its arguments in order (``...`` for those that are not listed), and its parameters."""

    arguments: tuple[str, ...]
    needed: int = 0
    parameters: Callable[[Machine, dict[str, Value]], dict[str, list[Value] | None]] | None = None


def _linear(machine: Machine, given: dict[str, Value]) -> dict[str, list[Value] | None]:
    sizes = [need_size(machine, "empty", given[name]) for name in ("out_features", "in_features")]
    return {"weight": sizes, **_biased(machine, given, sizes[:1])}


def _biased(machine: Machine, given: dict[str, Value], sizes: list[Value]) -> dict[str, list[Value] | None]:
    answer = machine.truth(given.get("bias", TRUE))
    return {"bias": sizes} if answer is Truth.YES else {}


def _embedding(machine: Machine, given: dict[str, Value]) -> dict[str, list[Value] | None]:
    return {"weight": [need_size(machine, "empty", given[name]) for name in ("num_embeddings", "embedding_dim")]}


def _norm(machine: Machine, given: dict[str, Value]) -> dict[str, list[Value] | None]:
    if machine.truth(given.get("elementwise_affine", TRUE)) is not Truth.YES:
        return {}
    shape = payload(given["normalized_shape"])
    sizes = None
    if isinstance(shape, Seq):
        sizes = list(shape.content) if not shape.loose else None
    elif isinstance(shape, Const):
        sizes = [need_size(machine, "empty", shape)]
    return (
        {"weight": sizes, "bias": sizes} if machine.truth(given.get("bias", TRUE)) is Truth.YES else {"weight": sizes}
    )


def _conv(machine: Machine, given: dict[str, Value]) -> dict[str, list[Value] | None]:
    sizes = [need_size(machine, "empty", given[name]) for name in ("out_channels", "in_channels")]
    return {"weight": None, **_biased(machine, given, sizes[:1])}


_CONV = (
    "in_channels",
    "out_channels",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "groups",
    "bias",
    "padding_mode",
    "device",
    "dtype",
)
_NORM = ("normalized_shape", "eps", "elementwise_affine", "bias", "device", "dtype")
#: arguments that a layer keeps as they are; others become tuples, or defaults
_KEPT = frozenset(
    {
        "in_features",
        "out_features",
        "num_embeddings",
        "embedding_dim",
        "in_channels",
        "out_channels",
        "groups",
        "eps",
    }
)
_LAYERS: dict[str, _Layer | None] = {
    "Linear": _Layer(("in_features", "out_features", "bias", "device", "dtype"), 2, _linear),
    "Embedding": _Layer(
        (
            "num_embeddings",
            "embedding_dim",
            "padding_idx",
            "max_norm",
            "norm_type",
            "scale_grad_by_freq",
            "sparse",
            "_weight",
            "_freeze",
            "device",
            "dtype",
        ),
        2,
        _embedding,
    ),
    "LayerNorm": _Layer(_NORM, 1, _norm),
    "RMSNorm": None,
    "Conv1d": _Layer(_CONV, 3, _conv),
    "Conv2d": _Layer(_CONV, 3, _conv),
    "Conv3d": _Layer(_CONV, 3, _conv),
    "Dropout": _Layer(("p", "inplace")),
    "GELU": _Layer(("approximate",)),
    "ReLU": _Layer(("inplace",)),
    "SiLU": _Layer(("inplace",)),
    **dict.fromkeys(
        (
            "Identity",
            "Sigmoid",
            "Tanh",
            "Softmax",
            "GroupNorm",
            "BatchNorm1d",
            "BatchNorm2d",
            "BatchNorm3d",
            "ConvTranspose1d",
            "ConvTranspose2d",
            "AvgPool1d",
            "AvgPool2d",
            "AvgPool3d",
            "MaxPool2d",
            "AdaptiveAvgPool1d",
            "AdaptiveAvgPool2d",
            "MultiheadAttention",
            "Unfold",
            "GLU",
            "ReflectionPad2d",
            "ConstantPad1d",
            "ELU",
            "LeakyReLU",
            "Hardtanh",
            "ReLU6",
            "Softplus",
            "Mish",
            "PReLU",
            "PixelShuffle",
            "Upsample",
            "Flatten",
        )
    ),
}


def _layer(name: str, layer: _Layer | None) -> None:
    def make(machine: Machine) -> Value:
        base = machine.library.external_class(machine, MODULE)
        cls = library_class(name, base, "torch.nn")
        cls.content["__init__"] = Builtin(f"{name}.__init__", _layer_init(name, layer))
        return cls

    MAKERS[f"torch.nn.{name}"] = make


def _layer_init(name: str, layer: _Layer | None) -> Implementation:
    def init(machine: Machine, given: Arguments, named: Keywords) -> Value:
        receiver = given[0]
        if not isinstance(receiver, Instance):
            return NONE
        _init(machine, [receiver], {})
        receiver.loose = _LOOSE
        if layer is None:
            return NONE
        bound = _bound(machine, name, layer, given[1:], named)
        receiver.content.update({key: value for key, value in bound.items() if key in _KEPT})
        if layer.parameters is not None:
            made = layer.parameters(machine, bound)
            parameter = machine.library.external_class(machine, PARAMETER)
            for key in ("weight", "bias"):
                if key in made:
                    receiver.content[key] = make_tensor(machine, made[key], parameter)
                elif key in bound and machine.truth(bound[key]) is Truth.NO:
                    receiver.content[key] = NONE
        return NONE

    return init


def _bound(machine: Machine, name: str, layer: _Layer, given: Arguments, named: Keywords) -> dict[str, Value]:
    """The arguments of a layer by name; a call that cannot bind raises."""
    if len(given) > len(layer.arguments):
        machine.fail(
            "TypeError",
            f"{name}.__init__() takes at most {len(layer.arguments) + 1} positional arguments "
            f"but {len(given) + 1} were given",
        )
    bound = dict(zip(layer.arguments, given, strict=False))
    for key, value in named.items():
        if key not in layer.arguments:
            machine.fail("TypeError", f"{name}.__init__() got an unexpected keyword argument '{key}'")
        if key in bound:
            machine.fail("TypeError", f"{name}.__init__() got multiple values for argument '{key}'")
        bound[key] = value
    missing = [key for key in layer.arguments[: layer.needed] if key not in bound]
    if missing:
        machine.fail(
            "TypeError",
            f"{name}.__init__() missing {len(missing)} required positional "
            f"argument{'s' if len(missing) > 1 else ''}: {' and '.join(repr(key) for key in missing)}",
        )
    return bound


for _name, _known in _LAYERS.items():
    _layer(_name, _known)
