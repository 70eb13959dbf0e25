"""The environment variables that the tree's own table knows."""

from __future__ import annotations

from preflight.launch.reading.modules import Modules, ModuleSource, look_up
from preflight.launch.reading.run import Run
from preflight.launch.reading.values import NotKnown, OutOfBudget, Raised

#: where vLLM keeps the table of its variables, and what it is called; both are what ``vllm.envs.X`` goes through
MODULE = "vllm.envs"
TABLE = "environment_variables"
#: vLLM's own variables; others (CUDA_VISIBLE_DEVICES, HF_HOME ...) are none of its business to refuse
PREFIX = "VLLM_"


def known_variables(source: ModuleSource) -> tuple[frozenset[str], str, int] | None:
    """The names in the tree's table of variables, and its place; None if the table cannot be read."""
    modules = Modules(source)
    module = modules.get(MODULE)
    if module is None or TABLE not in module.statements:
        return None
    try:
        table = look_up(Run(modules, [], {}), module, TABLE)
    except (KeyError, NotKnown, Raised, OutOfBudget, RecursionError):
        return None
    if not isinstance(table, dict) or not all(isinstance(name, str) for name in table):
        return None
    return frozenset(table), module.path, module.statements[TABLE][0].lineno
