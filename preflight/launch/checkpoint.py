"""The configuration files of a checkpoint, as data; every value knows where it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preflight.launch.errors import LaunchError
from preflight.launch.files import exists, read_file

#: The largest config.json of the field (quantization lists of a thousand layers) has about two megabytes.
MAX_BYTES = 32 * 1024 * 1024
#: what a checkpoint's configuration is called: by transformers, and in Mistral's own format
CONFIG_NAMES = ("config.json", "params.json")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's configuration: ``config`` as the file has it, ``overrides`` (of ``--hf-overrides``) beside it.

    ``file`` is the name of the file; ``folder`` is where it and the checkpoint's code and weights are.
    """

    name: str
    folder: Path
    file: str
    config: Mapping[str, Any]
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def effective(self) -> dict[str, Any]:
        """The configuration with the overrides laid over its top level."""
        return {**self.config, **self.overrides}

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures that the configuration names; empty if it names none."""
        named = self.effective.get("architectures")
        return tuple(name for name in named if isinstance(name, str)) if isinstance(named, list) else ()

    def origin(self, *keys: str) -> str:
        """Where the value behind ``keys`` stands, as a report shows it."""
        if keys and keys[0] in self.overrides:
            return f"--hf-overrides: {'.'.join(keys)}"
        return f"{self.file}: {'.'.join(keys)}"


def read_model(name: str, folder: Path, file: Path | None, overrides: Mapping[str, Any]) -> ModelFiles | str:
    """Read a checkpoint's configuration.

    ``file`` is the one that the user named, if any. Returns the reason if there is none in the folder. Raises
    LaunchError for a file that is there and cannot be a configuration.
    """
    if file is not None and file.suffix.lower() != ".json":
        return f"{name} is a single file that holds no config.json"
    # a link that leads nowhere is there, and cannot be read
    files = (folder / known for known in CONFIG_NAMES)
    found = file or next((path for path in files if exists(path) or path.is_symlink()), None)
    if found is not None and not exists(found) and found.is_symlink():
        raise LaunchError(
            f"{_shown(name, found)} is a symbolic link that leads to no file",
            "download the checkpoint again, or name the folder that holds its files",
        )
    if found is None:
        return f"{name} has neither a {' nor a '.join(CONFIG_NAMES)}"
    return ModelFiles(name, folder, found.name, read_config(found, _shown(name, found)), overrides)


def _shown(name: str, file: Path) -> str:
    return name if name.endswith(file.name) else f"{name.rstrip('/')}/{file.name}"


def read_config(path: Path, shown: str) -> dict[str, Any]:
    """A config.json as data. Raises LaunchError with the file, the place and the reason."""
    data = read_file(path, shown, MAX_BYTES, "a model's configuration")
    help = "a checkpoint's config.json is a JSON object with the keys `architectures` and `model_type`"
    try:
        value = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise LaunchError(f"{shown} is no JSON: byte {error.start + 1} is no UTF-8 text", help) from None
    except json.JSONDecodeError as error:
        raise LaunchError(f"{shown}:{error.lineno}:{error.colno} is no JSON: {error.msg}", help) from None
    except RecursionError:
        raise LaunchError(f"{shown} is nested too deeply to be a model's configuration", help) from None
    except ValueError as error:  # a number of more digits than Python reads
        raise LaunchError(f"{shown} cannot be read: {error}", help) from None
    if not isinstance(value, dict):
        raise LaunchError(f"{shown} holds a JSON {_KINDS.get(type(value), 'value')}, not an object", help)
    return value


_KINDS: dict[type, str] = {list: "list", str: "string", int: "number", float: "number", bool: "truth value"}
