"""The entry points of a launch, as short programs over the tree's own names.

An entry point is Python text that is walked like any module. Where a name moved between releases, the text tries one
place after the other, as vLLM's own callers would.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from preflight.walk.modules import SourceModule

if TYPE_CHECKING:
    from preflight.walk.modules import World

#: the module that holds the entry points
ENTRY = "preflight_entry"
#: where the workers are that take the model runner below
WORKERS = "vllm.v1."
#: how a trail names it
PATH = "vllm serve"

TEXT = '''
try:
    from vllm.entrypoints.cli.serve import make_arg_parser, validate_parsed_serve_args
except ImportError:
    from vllm.entrypoints.openai.cli_args import make_arg_parser, validate_parsed_serve_args


def make_parser():
    """The parser of `vllm serve`."""
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    return make_arg_parser(FlexibleArgumentParser())


def parse(parser, argv):
    """The words of the command line through the parser."""
    return parser.parse_args(argv)


def take(values, objects):
    """The arguments as the parser gives them; a field of the engine's arguments has its default for itself."""
    from argparse import Namespace
    from dataclasses import MISSING, fields
    from vllm.engine.arg_utils import AsyncEngineArgs
    args = Namespace(**values)
    for field in fields(AsyncEngineArgs):
        if field.name in objects and field.default_factory is not MISSING:
            setattr(args, field.name, field.default_factory())
        elif field.name in objects and field.default is not MISSING:
            setattr(args, field.name, field.default)
    return args


def validate(args):
    """What `vllm serve` does with its arguments before it makes a config."""
    if getattr(args, "model_tag", None) is not None:
        args.model = args.model_tag
    validate_parsed_serve_args(args)
    return args


def configure(args):
    """The engine config, with every validator below it."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext
    return AsyncEngineArgs.from_cli_args(args).create_engine_config(UsageContext.OPENAI_API_SERVER)


def model_config_of(config):
    """The model's own config, as transformers has it."""
    return config.model_config.hf_config


def make_runner(config):
    """The model runner that a worker takes, with the drafter that the speculative config asks for."""
    from vllm import envs
    import torch
    second = getattr(config, "use_v2_model_runner", None)
    if second is None:
        second = getattr(envs, "VLLM_USE_V2_MODEL_RUNNER", False)
    if second:
        from vllm.v1.worker.gpu.model_runner import GPUModelRunner
    else:
        GPUModelRunner = runner_class()
    return GPUModelRunner(config, torch.device("cuda"))


def runner_class():
    """The class of the model runner that names what it gives a model; the second one gives the same."""
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner
    return GPUModelRunner


def construct(config):
    """The target model, layer by layer, without weights."""
    import torch
    from vllm.config import set_current_vllm_config
    try:
        from vllm.model_executor.model_loader.utils import initialize_model
    except ImportError:
        from vllm.model_executor.model_loader.loader import _initialize_model as initialize_model
    dtype = getattr(config.model_config, "dtype", None)
    if dtype is not None:
        torch.set_default_dtype(dtype)
    with set_current_vllm_config(config):
        return initialize_model(config)


def make_loader(config):
    """What gives the target its weights."""
    try:
        from vllm.model_executor.model_loader import get_model_loader
    except ImportError:
        from vllm.model_executor.model_loader.loader import get_model_loader
    return get_model_loader(config.load_config)


def load_weights(config, loader, model, model_config):
    """A loader gives a model its weights, with the config of the launch at hand as a worker has it."""
    from vllm.config import set_current_vllm_config
    with set_current_vllm_config(config):
        loader.load_weights(model, model_config)


def process_weights(config, model, given):
    """The methods of quantization fit the weights to what their kernels want."""
    from vllm.config import set_current_vllm_config
    from vllm.model_executor.model_loader.utils import process_weights_after_loading
    with set_current_vllm_config(config):
        process_weights_after_loading(model, config.model_config, given)


def first_pass(config, model, given, named):
    """A worker runs the model once, as it does for every launch but one of encoders only."""
    from vllm.config import set_current_vllm_config
    encoders = getattr(config.model_config, "multimodal_config", None)
    if encoders is not None and getattr(encoders, "mm_encoder_only", False):
        return
    with set_current_vllm_config(config):
        outcome = model.eval().forward(**named, **given)
    if outcome is None:
        raise TypeError("'NoneType' object is not subscriptable: `forward` returns nothing")


def first_logits(config, model, given):
    """Of a model that generates, what it makes of the outcome."""
    from vllm.config import set_current_vllm_config
    if config.model_config.runner_type != "generate":
        return
    with set_current_vllm_config(config):
        model.eval().compute_logits(*given, **given)


def first_draft(config, model, given):
    """The same of a drafter's model."""
    from vllm.config import set_current_vllm_config
    with set_current_vllm_config(config):
        model.eval().forward(*given, **given)


def load_models(runner):
    """The target and the drafter are loaded and fitted to each other."""
    runner.load_model()
'''


class WithEntries:
    """A world that also holds the entry points."""

    def __init__(self, world: World) -> None:
        self._world = world

    def find(self, name: str) -> SourceModule | str | None:
        """The module of the world, or that of the entry points."""
        if name == ENTRY:
            return SourceModule(PATH, ast.parse(TEXT), False)
        return self._world.find(name)

    def walked(self, name: str) -> bool:
        """Entry points are walked."""
        return name == ENTRY or self._world.walked(name)

    def installed(self, head: str) -> bool | None:
        """As the world says."""
        return self._world.installed(head)

    def home(self, module: str, name: str) -> tuple[str, str] | None:
        """As the world says."""
        return self._world.home(module, name)

    def lacks(self, module: str, name: str) -> bool:
        """As the world says."""
        return self._world.lacks(module, name)

    def stores(self, name: str) -> frozenset[str] | None:
        """As the world says."""
        return self._world.stores(name)
