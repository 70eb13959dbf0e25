"""The answer of ``preflight show`` as text or JSON. The JSON's shape is public and fixed by the contract."""

from __future__ import annotations

import json
from collections.abc import Iterator

from preflight import __version__
from preflight.model import FORMAT_VERSION, Report, Verdict
from preflight.render.display import one_line, wrapped
from preflight.render.json import report_data
from preflight.render.plain import Json, clean, plain, shown
from preflight.show.data import ShownModel, ShowReport

#: without --verbose: of a config, this many values are shown
_VALUES = 24


def render_show(report: ShowReport, format: str, *, width: int = 100, verbose: bool = False) -> str:
    """The state as ``format`` ("text" or "json"), with a line feed at the end. ``verbose`` shows every config value."""
    if format == "json":
        return json.dumps(_data(report), indent=2, allow_nan=False) + "\n"
    return "\n".join(_text(report, width, verbose)) + "\n"


def _data(report: ShowReport) -> dict[str, Json]:
    frame = report_data(Report(Verdict.NOT_CHECKED, tree=report.tree, launch=report.launch, undecided=report.undecided))
    return {
        "format_version": FORMAT_VERSION,
        "tool": {"name": "preflight", "version": __version__},
        "tree": frame["tree"],
        "launch": frame["launch"],
        "model": None if report.model is None else _model(report.model),
        "drafter": None if report.drafter is None else _model(report.drafter),
        "parallel": dict(report.parallel),
        "assumed": [{"text": clean(one.text), "stated": one.stated} for one in report.assumed],
        "undecided": frame["undecided"],
    }


def _model(model: ShownModel) -> dict[str, Json]:
    return {
        "architecture": None if model.architecture is None else clean(model.architecture),
        "class": None if model.cls is None else clean(model.cls),
        "mro": [clean(name) for name in model.mro],
        "interfaces": [clean(name) for name in model.interfaces],
        "flags": {clean(name): plain(value) for name, value in model.flags},
        "config": [
            {"name": clean(value.name), "value": plain(value.value), "origin": clean(value.origin)}
            for value in model.config
        ],
        "modules": [
            {
                "name": clean(module.name),
                "class": clean(module.cls),
                "parameters": [
                    {"name": clean(name), "shape": None if shape is None else list(shape), "buffer": buffer}
                    for name, shape, buffer in module.parameters
                ],
                "open": [clean(name) for name in module.open],
            }
            for module in model.modules
        ],
        "error": None if model.error is None else clean(model.error),
    }


def _text(report: ShowReport, width: int, verbose: bool) -> Iterator[str]:
    tree = report.tree
    versions = (f"vllm {tree.vllm or '?'}", f"transformers {tree.transformers or '?'}", f"Python {tree.python or '?'}")
    yield f"tree: {one_line(tree.site_packages)} ({', '.join(versions)})"
    yield f"patched: {len(tree.patched) or 'nothing'}"
    for file in tree.patched:
        yield f"  {one_line(file.path)} ({file.state.value})"
    if report.launch is not None:
        yield f"launch: {one_line(report.launch.model or '?')}"
        for name, value in report.launch.flags.items():
            yield f"  {one_line(name)} = {shown(value)}"
    if report.parallel:
        yield f"parallel layout: {', '.join(f'{name}={size}' for name, size in report.parallel)}"
    for title, model in (("model", report.model), ("drafter", report.drafter)):
        if model is not None:
            yield from _model_text(title, model, width, verbose)
    if report.assumed:
        said = ", ".join(f"{one.text}{' (stated)' if one.stated else ''}" for one in report.assumed)
        yield from wrapped(one_line(said), "assumed: ", "  ", width)
    for question in report.undecided:
        yield from wrapped(one_line(question.message), "undecided: ", "  ", width)
    for note in report.notes:
        yield from wrapped(one_line(note), "note: ", "  ", width)


def _model_text(title: str, model: ShownModel, width: int, verbose: bool) -> Iterator[str]:
    yield f"{title}: {one_line(model.architecture or '?')} is {one_line(model.cls or 'no class of this tree')}"
    if model.error is not None:
        yield from wrapped(one_line(model.error), "  not to be had: ", "    ", width)
    if model.mro:
        yield from wrapped(", ".join(map(one_line, model.mro)), "  MRO: ", "    ", width)
    if model.modules:
        parameters = sum(len(module.parameters) for module in model.modules)
        yield f"  modules: {len(model.modules)}, with {parameters} parameters and saved buffers"
    if model.interfaces:
        yield from wrapped(", ".join(map(one_line, model.interfaces)), "  interfaces: ", "    ", width)
    # what a file says comes before what code makes of it
    config = sorted(model.config, key=lambda value: ": " not in value.origin)
    values = config if verbose else config[:_VALUES]
    for value in values:
        yield f"  config.{one_line(value.name)} = {shown(value.value)} ({one_line(value.origin)})"
    if len(values) < len(model.config):
        yield f"  ... {len(model.config) - len(values)} more values (--verbose shows them)"
