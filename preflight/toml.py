"""TOML for every Python that we run on: the standard library's reader, and before 3.11 the package it came from."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class TomlError(ValueError):
    """The text is no TOML; the message says where and why."""


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of ``text``. Raises TomlError, for a text that nests too deeply as well."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("it nests too deeply to be read") from error
    except ValueError as error:  # TOMLDecodeError is one, and so is a number of too many digits
        raise TomlError(str(error)) from error
