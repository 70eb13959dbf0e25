"""The tree as Python: modules, names, classes and signatures, decided as the interpreter would decide them.

Nothing of the tree is imported. Files are read when they are asked for, their facts (``facts.ModuleFacts``) are cached
by content hash, and what the facts mean in this tree is decided here. The way in is ``load_program``::

    program = load_program(tree, environ, use_cache=True)

    module = program.module("vllm.config")             # always a Module; module.spec.kind says whether it is there
    module = program.module_at("vllm/config.py")       # None for a file that no import path leads to
    module.facts.imports / .body / .hole               # plain data, places from 1
    program.syntax_tree(module)                        # ast.Module, or a facts.Hole that says why there is none

    found = program.resolve("vllm.config", "VllmConfig")   # a Resolution: what ``from x import y`` binds
    found.exists is Truth.NO                               # then found.missing says which module or name is not there
    found.only                                             # the Definition, if there is certainly just one
    found.definitions, found.unknown, found.may_be_unbound
    program.resolve_in(module, "nn.Module")            # a dotted name as code of that module sees it

    cls = program.find_class("vllm.x", "C")            # a Class, or the Resolution that says why there is not one
    cls.mro, cls.mro_error, cls.bases, cls.complete, cls.doubts
    cls.lookup("forward"), cls.has("forward")          # Member along the MRO; True, False or None (not known)
    program.signature(module, function_facts).bound().bind(CallShape(2, ("x",)))   # None or a BindProblem
    program.constructor(cls)                           # the Signature of calling the class, or None

    program.importing.failure("vllm.x")                # what certainly stops ``import vllm.x``, all the way down
    program.registry_reader.registry().entries         # architecture -> module, class, place
    program.model_infos.info(cls)                      # the flags of the tree's own model info, and EAGLE-3

The rooms, from the bottom: ``facts`` and ``extract`` (one file, no tree), ``finder`` and ``modules`` (where files are),
``namespace`` and ``resolver`` (names), ``classes`` and ``class_maker`` (classes), ``evaluate`` (the tree's own code run
on classes: decorators, factories, predicates), and what stands on all of them: ``importing``, ``registry``,
``model_info``, ``platforms``, ``requirements``.

``Truth`` has three values and refuses to be used as a bool. An answer that is not certain says why: ``unknown`` of a
Resolution, ``doubts`` of a Class, ``reason`` of a Signature, ``reason`` of a ModuleSpec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from preflight.program.cache import FactsCache
from preflight.program.classes import Base, Class, Doubt, Member
from preflight.program.conditions import Truth, decide, parse_expression
from preflight.program.definitions import Definition, Kind, Missing, Resolution
from preflight.program.finder import ModuleKind, ModuleSpec
from preflight.program.modules import Module
from preflight.program.program import Program
from preflight.program.signatures import BindProblem, CallShape, Signature
from preflight.tree.cachedir import cache_folder

if TYPE_CHECKING:
    from preflight.tree import Tree

__all__ = [
    "Base",
    "BindProblem",
    "CallShape",
    "Class",
    "Definition",
    "Doubt",
    "Kind",
    "Member",
    "Missing",
    "Module",
    "ModuleKind",
    "ModuleSpec",
    "Program",
    "Resolution",
    "Signature",
    "Truth",
    "decide",
    "load_program",
    "parse_expression",
]


def load_program(tree: Tree, environ: Mapping[str, str], use_cache: bool = True) -> Program:
    """The program of a tree. Costs next to nothing by itself; what is asked of it is read then."""
    return Program(tree, FactsCache(cache_folder(environ) / "facts" if use_cache else None))
