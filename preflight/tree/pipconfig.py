"""The package index that pip is configured for: pip's configuration files and ``PIP_*`` variables.

The places and their order are those of pip's "Configuration" page: global, user, environment, ``PIP_CONFIG_FILE``, and
then the variables. Each later one overrides; ``[global]`` counts, and ``[install]`` over it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight.errors import FetchError
from preflight.tree.paths import exists, is_file, is_folder

_TIMEOUT = 15.0


@dataclass(frozen=True, slots=True)
class PipConfig:
    """What of pip's configuration matters for fetching. ``indexes`` None: nothing is said, so pip's default holds."""

    indexes: tuple[str, ...] | None
    extra_indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout: float = _TIMEOUT


def pip_config(environ: Mapping[str, str]) -> PipConfig:
    """Reads pip's configuration. Raises FetchError for a file that pip could not read either."""
    values: dict[str, str] = {}
    for file in _files(environ):
        values.update(_read(file))
    for key, value in environ.items():
        if key.startswith("PIP_") and value:
            values[key[4:].lower().replace("_", "-")] = value
    words = {key: tuple(value.split()) for key, value in values.items()}
    index = words.get("index-url", ())[:1] or None
    if values.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return PipConfig((), (), words.get("find-links", ()))
    return PipConfig(
        index,
        words.get("extra-index-url", ()),
        words.get("find-links", ()),
        values.get("cert"),
        values.get("client-cert"),
        values.get("proxy"),
        words.get("trusted-host", ()),
        _seconds(values.get("timeout") or values.get("default-timeout")),
    )


def _files(environ: Mapping[str, str]) -> list[Path]:
    """The configuration files that exist, in pip's order."""
    own = environ.get("PIP_CONFIG_FILE")
    if own == os.devnull:
        return []
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    if os.name == "nt":
        places = [Path(environ.get("PROGRAMDATA", "C:\\ProgramData"), "pip", "pip.ini")]
        user = [home / "pip" / "pip.ini", Path(environ.get("APPDATA") or home, "pip", "pip.ini")]
    elif sys.platform == "darwin":
        places = [Path("/Library/Application Support/pip/pip.conf")]
        support = home / "Library" / "Application Support" / "pip"
        user = [home / ".pip" / "pip.conf", (support if is_folder(support) else config / "pip") / "pip.conf"]
    else:
        folders = [folder for folder in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if folder]
        places = [*(Path(folder, "pip", "pip.conf") for folder in folders), Path("/etc/pip.conf")]
        user = [home / ".pip" / "pip.conf", config / "pip" / "pip.conf"]
    if not own or not exists(Path(own)):
        places += user
    name = "pip.ini" if os.name == "nt" else "pip.conf"
    places.append(Path(environ.get("VIRTUAL_ENV") or sys.prefix, name))
    if own:
        places.append(Path(own))
    return [place for place in places if is_file(place)]


def _read(file: Path) -> dict[str, str]:
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text("utf-8"), str(file))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = str(error).splitlines()[0]
        raise FetchError(f"pip's configuration {file} cannot be read: {reason}.", "Correct the file.") from None
    values: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            values.update((key.replace("_", "-"), value) for key, value in parser.items(section))
    return values


def _seconds(text: str | None) -> float:
    try:
        return max(float(text), 1.0) if text else _TIMEOUT
    except ValueError:
        return _TIMEOUT
