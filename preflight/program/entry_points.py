"""The few names of vLLM that have to be known to find everything else: each with the reason why it is a way in.

Everything else (models, interfaces, flags, methods, paths) is read from the tree. A tree in which one of these names is
gone gets an answer that says so.
"""

from __future__ import annotations

#: the variable that holds the registry; plugins register through it, so it is public API since 0.2
MODEL_REGISTRY = "ModelRegistry"
#: the registry's map from architecture to entry, and an entry's two fields
REGISTRY_MODELS = "models"
ENTRY_MODULE = "module_name"
ENTRY_CLASS = "class_name"
#: the dataclass that the registry fills for a class; its fields are the flags that the engine asks for
MODEL_INFO = "_ModelInfo"
MODEL_INFO_MAKER = "from_model_cls"
#: the predicate that the model runner asks before it turns on EAGLE-3; it is no field of the info
EAGLE3_PREDICATE = "supports_eagle3"
#: the object that every ``if`` on the platform asks; it is made in the ``__getattr__`` of the package ``platforms``
CURRENT_PLATFORM = "current_platform"
#: the function that loads plug-ins of the general group in every process; plug-ins rely on it
LOAD_PLUGINS = "load_general_plugins"
GENERAL_GROUP = "vllm.general_plugins"
#: the field that names the class of the workers; platforms fill it, and plug-ins of platforms do as well
WORKER_CLASS = "worker_cls"
#: the variable that says how processes are started, as every release so far has called it
START_METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
#: the one that keeps the engine of ``LLM`` in the process of its caller
SEPARATE_ENGINE = "VLLM_ENABLE_V1_MULTIPROCESSING"
#: what starts an engine for its caller: the class of the Python interface, the engine of servers, the server
ENGINE_INTERFACE = "LLM"
ENGINE_STARTERS = frozenset({ENGINE_INTERFACE, "AsyncLLM", "AsyncLLMEngine", "run_server"})
#: the class that is the engine of its caller; a tree with two of them has an engine of before that runs in other ways
ENGINE = "LLMEngine"
