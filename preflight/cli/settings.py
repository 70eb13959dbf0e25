"""The configuration of a project: ``[tool.preflight]`` in pyproject.toml, or preflight.toml. One file, no cascade."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from preflight.errors import UsageError

#: A configuration larger than this is not one.
MAX_BYTES = 1 << 20

_FAIL_ON = ("error", "warning", "undecided")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the configuration says; an option on the command line goes before it.

    Relative paths are made absolute against the folder of the file. ``file`` is None when no configuration was found.
    """

    file: Path | None = None
    vllm: tuple[str, ...] = ()  #: releases, as versions or as ``0.18.*``
    vllm_site_packages: str | None = None
    python: str | None = None
    overlay: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    fail_on: str = "error"
    rules: tuple[Path, ...] = ()


def load_settings(start: Path | None = None) -> Settings:
    """The settings that hold in ``start`` (default: the current folder).

    The nearest folder upward that has a preflight.toml, or a pyproject.toml with ``[tool.preflight]``, decides.
    Raises UsageError for a
    file that cannot be read, is no TOML, or has a key or a value that means nothing.
    """
    try:
        here = (start or Path.cwd()).absolute()
    except OSError as error:
        raise UsageError(
            f"the current folder cannot be found: {error.strerror}", "change to one that exists"
        ) from error
    for folder in (here, *here.parents):
        own = folder / "preflight.toml"
        if os.path.lexists(own):
            return _settings(own, _read(own))
        shared = folder / "pyproject.toml"
        if shared.is_file():
            raw = _bytes(shared)
            # Most pyproject files on the way up are not ours: parsing them all would be felt in every commit.
            if b"preflight" in raw:
                table = _parse(shared, raw).get("tool")
                if isinstance(table, dict) and "preflight" in table:
                    return _settings(shared, table["preflight"])
    return Settings()


def _read(file: Path) -> dict[str, Any]:
    return _parse(file, _bytes(file))


def _bytes(file: Path) -> bytes:
    if not file.is_file():
        raise UsageError(f"{file} is no regular file", "write the configuration into a file of that name, or remove it")
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", "make it readable, or run elsewhere") from error
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{file} is larger than {MAX_BYTES} bytes, which no configuration is", "name the right file")
    return raw


def _parse(file: Path, raw: bytes) -> dict[str, Any]:
    from preflight.toml import TomlError, parse_toml

    try:
        return parse_toml(raw.decode("utf-8-sig"))  # editors of Windows put a mark at the start
    except (TomlError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}", "correct it at that place") from error


def _settings(file: Path, table: object) -> Settings:
    if not isinstance(table, Mapping):
        raise UsageError(f"{file}: [tool.preflight] is {table!r}, not a table", "write keys and values under it")
    known = {field.name.replace("_", "-") for field in fields(Settings)} - {"file"}
    unknown = sorted(set(table) - known)
    if unknown:
        raise UsageError(f"{file}: unknown key `{unknown[0]}`", f"the keys are {', '.join(sorted(known))}")
    fail_on = _text(file, table, "fail-on") or "error"
    if fail_on not in _FAIL_ON:
        raise UsageError(f"{file}: fail-on is `{fail_on}`", f"it is one of {', '.join(_FAIL_ON)}")
    folder = file.parent
    site_packages = _text(file, table, "vllm-site-packages")
    python = _text(file, table, "python")
    return Settings(
        file=file,
        vllm=_texts(file, table, "vllm"),
        vllm_site_packages=None if site_packages is None else str(folder / Path(site_packages).expanduser()),
        python=None if python is None else str(folder / Path(python).expanduser()),
        overlay=tuple(str(folder / path) for path in _texts(file, table, "overlay")),
        select=_texts(file, table, "select"),
        ignore=_texts(file, table, "ignore"),
        require=_texts(file, table, "require"),
        fail_on=fail_on,
        rules=tuple(folder / path for path in _texts(file, table, "rules")),
    )


def _text(file: Path, table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise UsageError(f"{file}: {key} is {value!r}, not a text", f'write {key} = "..."')
    return value


def _texts(file: Path, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and "" in value:
        raise UsageError(f"{file}: {key} holds an empty text", "write what is meant, or take the empty text out")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{file}: {key} is {value!r}, not a list of texts", f'write {key} = ["...", "..."]')
    return tuple(value)
