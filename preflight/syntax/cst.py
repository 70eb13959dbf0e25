"""Parsing by libcst, which the deeper checks of patched files stand on."""

from __future__ import annotations

from preflight.syntax.source import Source

#: libcst reads about 20,000 lines a second; above this size it is not asked.
MAX_BYTES = 2 * 1024 * 1024


def parse_problem(source: Source) -> str | None:
    """Why libcst cannot parse a source, as a phrase; None if it can. The import of libcst is paid here, not before."""
    if source.text is None:
        return None
    if len(source.data) > MAX_BYTES:
        return f"it has {len(source.data):,} bytes, more than is given to libcst"
    import libcst

    try:
        libcst.parse_module(source.data)
    except libcst.ParserSyntaxError as error:
        return f"libcst stops at line {error.raw_line}: {error.message}"
    except (RecursionError, MemoryError):
        return "libcst runs out of stack: the code is nested too deeply"
    except Exception as error:  # libcst's native parser panics on some inputs, each with an exception of its own
        return f"libcst fails on it: {error}"
    return None
