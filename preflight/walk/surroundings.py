"""What vLLM asks of the machine and the network while it starts, answered from assumptions instead of walked.

Each answer is found by the name of the function or attribute it stands for, wherever the tree keeps it, and notes the
assumption it rests on. Nothing here knows a rule of vLLM's; what is answered is only what no file says.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from preflight.walk import texts
from preflight.walk.assumptions import PLATFORM, Assumptions
from preflight.walk.files import Files
from preflight.walk.library.registry import Library, library_class
from preflight.walk.loading import all_weights, by_names
from preflight.walk.models import load_model
from preflight.walk.outcomes import Raised
from preflight.walk.remote import load_class
from preflight.walk.values import NONE, TRUE, Builtin, Class, Const, Implementation, Instance, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

Maker = Callable[["Machine"], Value]
#: the base class of configs, as transformers has called it
_CONFIGS = ("PretrainedConfig", "PreTrainedConfig")
#: the platforms on which a Triton that is installed finds its driver
_WITH_TRITON = ("cuda", "rocm")
GIB = 1 << 30


def library(assumptions: Assumptions, files: Files) -> Library:
    """The library knowledge of a launch on such a machine."""
    made = Library(_overrides(assumptions))
    made.absent = assumptions.absent
    made.present = assumptions.present
    made.variables = assumptions.variables
    made.open_variables = assumptions.open_variables
    made.versions = assumptions.versions
    made.cpu_memory = int(assumptions.cpu_memory * GIB)
    made.python = assumptions.python
    made.files = files
    return made


def _answers(key: str, sentence: str, make: Callable[[Machine], Value]) -> Maker:
    """A function that gives one answer, whatever it is called with."""

    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        machine.assume(key, sentence)
        return make(machine)

    return lambda machine: Builtin(key, run)


def _overrides(assumed: Assumptions) -> dict[str, Maker]:
    count = _answers(
        "gpu-count", f"gpu-count={assumed.gpu_count}", lambda machine: Const(assumed.gpu_count, "gpu-count")
    )
    memory = _answers(
        "gpu-memory",
        f"gpu-memory={assumed.gpu_memory:g}",
        lambda machine: Const(int(assumed.gpu_memory * GIB), "gpu-memory"),
    )
    return {
        "current_platform": lambda machine: _platform(machine, assumed),
        "*.get_device_capability": _answers(
            "capability",
            f"capability={assumed.capability[0]}.{assumed.capability[1]}",
            lambda machine: _capability(machine, assumed),
        ),
        "*.get_device_name": lambda machine: Builtin(
            "name", lambda machine, given, named: machine.unknown("the name of a GPU", cls=machine.natives.str)
        ),
        "*.get_device_total_memory": memory,
        "*.device_count": count,
        "*.is_fully_connected": lambda machine: Builtin(
            "connected",
            lambda machine, given, named: machine.unknown("how the GPUs are connected", cls=machine.natives.bool),
        ),
        "*.num_compute_units": lambda machine: Builtin(
            "units",
            lambda machine, given, named: machine.unknown(
                "the compute units of a GPU", cls=machine.natives.int, truthy=True
            ),
        ),
        "*.import_kernels": lambda machine: Builtin("kernels", lambda machine, given, named: NONE),
        "*.set_device": lambda machine: Builtin("set_device", lambda machine, given, named: NONE),
        "cuda_device_count_stateless": count,
        "get_ip": lambda machine: Builtin("get_ip", lambda machine, given, named: Const("127.0.0.1")),
        "get_open_port": lambda machine: Builtin(
            "get_open_port",
            lambda machine, given, named: machine.unknown("a free port", cls=machine.natives.int, truthy=True),
        ),
        "get_open_ports_list": lambda machine: Builtin(
            "ports",
            lambda machine, given, named: machine.list(
                [machine.unknown("a free port", cls=machine.natives.int, truthy=True)] * 5
            ),
        ),
        "init_logger": lambda machine: Builtin(
            "init_logger", lambda machine, given, named: machine.library.external(machine, "preflight.Logger")
        ),
        "maybe_register_config_serialize_by_value": lambda machine: Builtin(
            "register", lambda machine, given, named: NONE
        ),
        "load_plugins_by_group": _answers(
            "plugins", "no plugin of vLLM is installed", lambda machine: machine.dict([])
        ),
        "load_general_plugins": _answers("plugins", "no plugin of vLLM is installed", lambda machine: NONE),
        "_LazyRegisteredModel.inspect_model_cls": lambda machine: Builtin("inspect_model_cls", _inspect),
        "BaseModelLoader.load_model": lambda machine: Builtin("load_model", load_model),
        "DefaultModelLoader.get_all_weights": lambda machine: Builtin("get_all_weights", all_weights),
        "AutoWeightsLoader.load_weights": lambda machine: Builtin("load_weights", by_names),
        **{name: lambda machine, kind=kind: Builtin(kind, _group(kind)) for name, kind in _GROUPS.items()},
        # tokenizers and processors ask files and libraries that no walk enters
        **{name: lambda machine, name=name: Builtin(name, _not_entered(name)) for name in _NOT_ENTERED},
        "get_class_from_dynamic_module": lambda machine: Builtin("get_class_from_dynamic_module", load_class),
        "LazyLoader": lambda machine: Builtin("LazyLoader", _lazy_module),
        "ArgumentParser.error": lambda machine: Builtin("error", _parser_error),
        # what is made for people to read costs half of a walk, and decides nothing
        **{f"{name}.__repr__": lambda machine: Builtin("__repr__", _repr) for name in _CONFIGS},
        "replace_list_option_in_docstrings.<locals>.docstring_decorator": lambda machine: Builtin("docs", _same),
        # Triton counts its drivers that see a GPU, of which such a machine has one
        "HAS_TRITON": lambda machine: _has_triton(machine, assumed),
        # a traced function does what it does without
        "instrument_otel": lambda machine: Builtin("instrument_otel", _same),
        "get_attr_docs": lambda machine: Builtin("get_attr_docs", _docs),
    }


def _platform(machine: Machine, assumed: Assumptions) -> Value:
    """The platform object: the class of the tree that needs no driver to be asked, where there are two."""
    machine.assume("platform", f"platform={assumed.platform}")
    module = machine.modules.module(machine, f"vllm.platforms.{assumed.platform}")
    if module is None:
        return machine.unknown(f"the platform {assumed.platform} of this tree")
    for name in (f"NonNvml{assumed.platform.capitalize()}Platform", f"{assumed.platform.capitalize()}Platform"):
        cls = machine.find(module, name)
        if isinstance(cls, Class):
            return machine.call(cls, [])
    return machine.unknown(f"the platform {assumed.platform} of this tree")


def _repr(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    made = machine.unknown("the text of a config", cls=machine.natives.str, truthy=True)
    cls = machine.class_of(arguments[0])
    made.text = f"{cls.name} {{...}}" if cls is not None else None
    return made


def _same(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """A decorator that changes nothing: its function is the first argument, however that is called."""
    return next(iter((*arguments, *keywords.values())), NONE)


def _docs(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """The texts below the assignments of a class, which the tree's code reads from its source."""
    cls = next(iter((*arguments, *keywords.values())), NONE)
    if not isinstance(cls, Class) or cls.node is None:
        return machine.unknown("the source of a class")
    found: dict[str, Value] = {}
    for statement, below in zip(cls.node.body, cls.node.body[1:]):  # noqa: B905 - pairs of neighbours
        text = below.value if isinstance(below, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            found.update({target.id: Const(text.value) for target in targets if isinstance(target, ast.Name)})
    return machine.strings(found)


def _has_triton(machine: Machine, assumed: Assumptions) -> Value:
    if assumed.platform not in _WITH_TRITON:
        return machine.unknown("whether Triton has a driver on this machine", cls=machine.natives.bool)
    there = machine.library.installed(machine, "triton")
    return Const(there is not False, PLATFORM)


def _capability(machine: Machine, assumed: Assumptions) -> Value:
    module = machine.modules.module(machine, "vllm.platforms.interface")
    cls = machine.find(module, "DeviceCapability") if module is not None else None
    if cls is None:
        return machine.unknown("the capability of a GPU")
    return machine.call(cls, [Const(assumed.capability[0], "capability"), Const(assumed.capability[1], "capability")])


_NOT_ENTERED = (
    "MultiModalRegistry._create_processing_info",
    "MultiModalRegistry._create_processing_ctx",
    "MultiModalRegistry.create_processor",
    "MultiModalRegistry.supports_multimodal_inputs",
    "init_tokenizer_from_config",
    "cached_get_tokenizer",
    "get_tokenizer",
)


def _not_entered(name: str) -> Implementation:
    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        machine.may_raise(f"{name} is not entered")
        return machine.unknown(f"the result of {name}")

    return run


#: functions that give a parallel group, and the size each has
_GROUPS = {
    "get_tp_group": "tp",
    "get_pp_group": "pp",
    "get_dp_group": "dp",
    "get_ep_group": "ep",
    "get_dcp_group": "dcp",
    "get_pcp_group": "pcp",
}


def _group(kind: str) -> Implementation:
    """The group of a process: its size is that of the launch, which process it is, is not known."""
    made_groups: dict[int | None, Instance] = {}

    def run(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        size = machine.library.groups.get(kind)
        known = made_groups.get(size)
        if known is not None:
            return known
        cls = library_class("GroupCoordinator", machine.natives.object, "vllm.distributed")
        made = made_groups[size] = Instance(cls, 0)
        made.loose = "a group of processes"
        if size is not None:
            made.content["world_size"] = Const(size)
            if size == 1:
                made.content.update({"is_first_rank": TRUE, "is_last_rank": TRUE, "rank_in_group": Const(0)})
        return made

    return run


def _parser_error(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """``parser.error(message)`` prints the message and ends the process with code 2."""
    error = machine.instance(machine.natives.exception("SystemExit"))
    error.content["code"] = Const(2)
    raise Raised((machine.exit(error, texts.shown(machine, arguments[1])),))


def _lazy_module(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """A module that is imported when it is first used; names of modules are walked when they are first used anyway."""
    name = arguments[2]
    if not isinstance(name, Const):
        return machine.unknown("a module that is loaded lazily")
    return machine.modules.import_module(machine, str(name.value))


def _inspect(machine: Machine, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """A class of the registry is inspected in a process of its own; here it is walked in this one."""
    receiver = arguments[0]
    module = machine.modules.module(machine, receiver.cls.module) if isinstance(receiver, Instance) else None
    if module is None:
        return machine.unknown("what the registry finds about a class")
    loaded = machine.call(machine.get(receiver, "load_model_cls"), [])
    return machine.call(machine.get(machine.get(module, "_ModelInfo"), "from_model_cls"), [loaded])
