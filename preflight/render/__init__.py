"""A report -> text. One module a format, each with one function; they know the model and nothing else of ours."""

from __future__ import annotations

from importlib import import_module

from preflight.model import Report

#: Every output format of the contract; ``preflight.render.<name>`` has ``render_<name>(report, ...)``.
FORMATS = ("text", "short", "json", "sarif", "github", "junit")


def render(report: Report, format: str, *, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """Render ``report`` in ``format``, one of FORMATS. The result ends with a line feed.

    ``colour``, ``width`` (terminal columns) and ``verbose`` shape the formats that people read; the others are the same
    whatever they are. All but ``text``, ``short`` and ``github`` are pure ASCII or declare UTF-8.
    """
    module = import_module(f"preflight.render.{format}")
    if format == "text":
        return module.render_text(report, colour=colour, width=width, verbose=verbose)
    if format == "short":
        return module.render_short(report, colour=colour)
    return getattr(module, f"render_{format}")(report)
