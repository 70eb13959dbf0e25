"""What is written down about classes whose source is not at hand: the base of every model, and the typing machinery.

A sources-only tree has no torch beside it. What a class of vLLM inherits from ``torch.nn.Module`` decides whether an
attribute can be missing, so the names of that one class are known here (from torch's documentation and data model).
Where the environment holds torch, its own source is read instead.
"""

from __future__ import annotations

import abc
import enum
from dataclasses import dataclass

from preflight.program.facts import KIND_POSITIONAL_OR_KEYWORD, KIND_VAR_KEYWORD, KIND_VAR_POSITIONAL, Parameter


@dataclass(frozen=True, slots=True)
class KnownClass:
    """``defined`` is the module that defines it, ``methods`` and ``values`` are the names in its namespace."""

    defined: str
    methods: frozenset[str]
    values: frozenset[str]
    signatures: tuple[tuple[str, tuple[Parameter, ...]], ...] = ()


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _parameter(name: str, kind: int) -> Parameter:
    return Parameter(name, kind, None, None, 0, 0)


_SELF = _parameter("self", KIND_POSITIONAL_OR_KEYWORD)
_ANYTHING = (_SELF, _parameter("args", KIND_VAR_POSITIONAL), _parameter("kwargs", KIND_VAR_KEYWORD))

_MODULE = KnownClass(
    defined="torch.nn.modules.module",
    methods=words(
        """__init__ __call__ __getattr__ __setattr__ __delattr__ __dir__ __repr__ __setstate__ forward add_module apply
        bfloat16 buffers children compile cpu cuda double eval extra_repr float get_buffer get_extra_state get_parameter
        get_submodule half ipu load_state_dict modules mtia named_buffers named_children named_modules named_parameters
        parameters register_backward_hook register_buffer register_forward_hook register_forward_pre_hook
        register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook
        register_load_state_dict_pre_hook register_module register_parameter register_state_dict_post_hook
        register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory state_dict to to_empty
        train type xpu zero_grad _apply _call_impl _get_backward_hooks _get_backward_pre_hooks _get_name
        _load_from_state_dict _maybe_warn_non_full_backward_hook _named_members _register_load_state_dict_pre_hook
        _register_state_dict_hook _replicate_for_data_parallel _save_to_state_dict _slow_forward _wrapped_call_impl"""
    ),
    values=words(
        """T_destination call_super_init dump_patches training _version _compiled_call_impl _parameters _buffers
        _modules _backward_hooks _backward_pre_hooks _forward_hooks _forward_pre_hooks _is_full_backward_hook
        _forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks_with_kwargs _state_dict_hooks
        _state_dict_pre_hooks _load_state_dict_pre_hooks _load_state_dict_post_hooks _non_persistent_buffers_set"""
    ),
    signatures=(
        ("__init__", _ANYTHING),
        ("__call__", _ANYTHING),
        ("forward", (_SELF, _parameter("input", KIND_VAR_POSITIONAL))),
    ),
)

#: by every import path under which vLLM and its libraries name the class
KNOWN_CLASSES: dict[str, KnownClass] = {
    "torch.nn.Module": _MODULE,
    "torch.nn.modules.Module": _MODULE,
    "torch.nn.modules.module.Module": _MODULE,
}

#: modules whose Protocol, Generic, NamedTuple, TypedDict and friends have the meaning of ``typing``
TYPING_MODULES = frozenset({"typing", "typing_extensions"})

#: typing names that stand for a builtin or abstract class when they are a base: what ``__mro_entries__`` gives
TYPING_ALIASES: dict[str, str] = {
    "List": "builtins.list",
    "Dict": "builtins.dict",
    "Set": "builtins.set",
    "FrozenSet": "builtins.frozenset",
    "Tuple": "builtins.tuple",
    "Type": "builtins.type",
    "OrderedDict": "collections.OrderedDict",
    "DefaultDict": "collections.defaultdict",
    "Counter": "collections.Counter",
    "Deque": "collections.deque",
    "ChainMap": "collections.ChainMap",
    "AbstractSet": "collections.abc.Set",
    "MutableSet": "collections.abc.MutableSet",
    "ByteString": "collections.abc.ByteString",
    **{
        name: f"collections.abc.{name}"
        for name in sorted(
            words(
                """Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Iterable Iterator Generator
                Reversible Container Collection Callable Mapping MutableMapping Sequence MutableSequence MappingView
                KeysView ItemsView ValuesView Hashable Sized"""
            )
        )
    },
}

#: decorators that hand back the class or function unchanged, as far as names and signatures go; those of torch by
#: their public path, for where torch is not at hand, and by the path of their definition, for where it is
TRANSPARENT_DECORATORS = words(
    """typing.final typing.runtime_checkable typing.no_type_check typing.override typing.overload
    typing_extensions.final typing_extensions.runtime_checkable typing_extensions.override typing_extensions.overload
    typing_extensions.deprecated warnings.deprecated abc.abstractmethod enum.unique functools.total_ordering
    functools.lru_cache functools.cache functools.wraps contextlib.contextmanager contextlib.asynccontextmanager
    builtins.classmethod builtins.staticmethod
    torch.no_grad torch.inference_mode torch.enable_grad torch.jit.ignore torch.jit.unused torch.jit.export
    torch.compiler.disable torch._dynamo.disable
    torch.autograd.grad_mode.no_grad torch.autograd.grad_mode.inference_mode torch.autograd.grad_mode.enable_grad
    torch._jit_internal.ignore torch._jit_internal.unused torch._jit_internal.export
    torch._dynamo.decorators.disable"""
)

#: attributes that every class has, from ``type`` and ``object``
CLASS_ATTRIBUTES = frozenset(dir(type)) | frozenset(dir(object)) | {"__annotations__", "__abstractmethods__"}

#: what the metaclasses of the standard library add to a class, by the last name of the metaclass
METACLASS_ATTRIBUTES: dict[str, frozenset[str]] = {
    "ABCMeta": frozenset(dir(abc.ABCMeta)),
    "EnumMeta": frozenset(dir(enum.EnumMeta))
    | words(
        """__members__ _member_names_ _member_map_ _value2member_map_ _member_type_ _new_member_ _use_args_
        _unhashable_values_ _hashable_values_ _value_repr_ __new_member__"""
    ),
}
