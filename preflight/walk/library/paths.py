"""Paths and files: pure questions by the host, the rest by what the launch is known to have of files."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight.walk import operands
from preflight.walk.files import ASKED, FILE, FILES, FOLDER, FOLDERS, NOTHING, THERE
from preflight.walk.library.registry import MAKERS, function, library_class, maker
from preflight.walk.outcomes import Raised
from preflight.walk.values import NONE, Arguments, Builtin, Const, Instance, Keywords, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


for _name in ("Path", "PurePath", "PosixPath", "PurePosixPath"):
    MAKERS[f"pathlib.{_name}"] = lambda machine: machine.natives.of(PurePosixPath)


_PROBES = {"exists": THERE, "is_file": FILES, "is_dir": FOLDERS}


def path_attribute(machine: Machine, path: PurePosixPath, name: str) -> Value | None:
    """A method of ``Path`` that asks the file system; None for those that do not."""
    kinds = _PROBES.get(name)
    if kinds is not None:

        def probe(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
            kind = machine.library.files.kind(str(path))
            if kind is None:
                return machine.unknown(f"{ASKED}{path}", cls=machine.natives.bool)
            return Const(kind in kinds)

        return Builtin(f"Path.{name}", probe)
    if name == "open":
        return Builtin("Path.open", lambda machine, arguments, keywords: open_file(machine, str(path)))
    if name in ("read_text", "read_bytes"):
        return Builtin(name, lambda machine, arguments, keywords: _read_all(machine, str(path)))
    if name in ("resolve", "absolute", "expanduser"):
        if path.is_absolute():
            return Builtin(name, lambda machine, arguments, keywords: Const(path))
        return Builtin(name, lambda machine, arguments, keywords: machine.unknown("a path of this machine"))
    if name in ("glob", "rglob", "iterdir"):
        return Builtin(name, lambda machine, arguments, keywords: _listing(machine, path, name, arguments))
    if name in ("stat", "mkdir", "unlink", "write_text", "samefile", "owner", "touch", "rename"):
        return Builtin(name, lambda machine, arguments, keywords: machine.unknown("the files of this machine"))
    return None


def _listing(machine: Machine, path: PurePosixPath, name: str, arguments: Arguments) -> Value:
    """The entries of a folder that is known wholly."""
    pattern = arguments[0] if arguments else Const("*")
    if machine.library.files.kind(str(path)) != FOLDER or not isinstance(pattern, Const):
        return machine.unknown("the files of this machine")
    found = [path / known for known in machine.library.files.inside(str(path))]
    if name != "rglob":
        found = [known for known in found if known.parent == path]
    return machine.list([Const(known) for known in found if name == "iterdir" or known.match(str(pattern.value))])


def open_file(machine: Machine, path: str) -> Value:
    """``open(path)``: a file whose text is known, an error for one that is surely not there, else unknown."""
    kind = machine.library.files.kind(path)
    if kind == NOTHING:
        error = machine.instance(machine.natives.exception("FileNotFoundError"))
        message = f"[Errno 2] No such file or directory: '{path}'"
        error.content["args"] = machine.tuple([Const(2), Const(message)])
        raise Raised((machine.exit(error, message),))
    if machine.library.files.json(path) is None:
        machine.may_raise(f"{path} is opened")
        return machine.unknown(f"the content of {path}")
    cls = machine.library.external_class(machine, "preflight.File")
    made = machine.instance(cls)
    made.content["path"] = Const(path)
    return made


@function("builtins.open", "io.open")
def _open(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = operands.payload(arguments[0]) if arguments else NONE
    if isinstance(value, Const) and isinstance(value.value, (str, PurePosixPath)):
        return open_file(machine, str(value.value))
    machine.may_raise("a file is opened")
    return machine.unknown("a file that is not known")


def _read_all(machine: Machine, path: str) -> Value:
    data = machine.library.files.json(path)
    if data is None:
        machine.may_raise(f"{path} is read")
        return machine.unknown(f"the content of {path}")
    return Const(json.dumps(data), f"{PurePosixPath(path).name}: ")


@maker("preflight.File")
def _file_class(machine: Machine) -> Value:
    cls = library_class("TextIOWrapper", machine.natives.object, "_io")

    def read(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
        path = arguments[0].content["path"] if isinstance(arguments[0], Instance) else NONE
        return _read_all(machine, str(path.value)) if isinstance(path, Const) else machine.unknown("a file")

    cls.content["read"] = Builtin("read", read)
    cls.content["__enter__"] = Builtin("__enter__", lambda machine, arguments, keywords: arguments[0])
    cls.content["__exit__"] = Builtin("__exit__", lambda machine, arguments, keywords: NONE)
    cls.content["close"] = Builtin("close", lambda machine, arguments, keywords: NONE)
    return cls


@function("json.load")
def _json_load(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    source = arguments[0]
    if isinstance(source, Instance) and source.cls.name == "TextIOWrapper":
        return machine.call(
            machine.library.external(machine, "json.loads"), [machine.call(machine.get(source, "read"), [])]
        )
    machine.may_raise("JSON that is not known")
    return machine.unknown("JSON that is not known")


@function("importlib.import_module")
def _import_module(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    name = operands.payload(arguments[0])
    package = arguments[1] if len(arguments) > 1 else keywords.get("package")
    if not isinstance(name, Const):
        machine.may_raise("which module is imported is not known")
        return machine.unknown("which module is imported is not known")
    dotted = str(name.value)
    if dotted.startswith("."):
        if not isinstance(package, Const):
            return machine.unknown("which module is imported is not known")
        level = len(dotted) - len(dotted.lstrip("."))
        parts = str(package.value).split(".")
        dotted = ".".join([*parts[: len(parts) - level + 1], dotted.lstrip(".")])
    return machine.modules.import_module(machine, dotted)


@function("importlib.util.find_spec")
def _find_spec(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    name = operands.payload(arguments[0])
    if isinstance(name, Const):
        there = machine.library.installed(machine, str(name.value))
        if there is not None:
            return machine.unknown("the spec of a package", truthy=True) if there else NONE
    return machine.unknown("whether a package is installed")


@function("importlib.metadata.version", "importlib_metadata.version")
def _version(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    name = arguments[0].value if isinstance(arguments[0], Const) else None
    version = machine.library.versions.get(str(name))
    if version is not None:
        return Const(version, f"the installed {name}")
    machine.may_raise("the version of a package")
    return machine.unknown(f"the version of {name}", cls=machine.natives.str, truthy=True)


@function("importlib.metadata.entry_points", "importlib_metadata.entry_points")
def _entry_points(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    machine.assume("plugins", "no plugin of vLLM is installed")
    return machine.tuple([])


@function("transformers.utils.cached_file", "transformers.utils.hub.cached_file")
def _cached_file(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """A file of a checkpoint folder: its path, or an error where it is surely not there."""
    folder, name = operands.payload(arguments[0]), operands.payload(arguments[1])
    if isinstance(folder, Const) and isinstance(name, Const):
        path = str(PurePosixPath(str(folder.value)) / str(name.value))
        kind = machine.library.files.kind(path)
        if kind == FILE:
            return Const(path)
        if kind == NOTHING:
            quiet = keywords.get("_raise_exceptions_for_missing_entries")
            if isinstance(quiet, Const) and quiet.value is False:
                return NONE
            if name.value == "config.json" and machine.library.files.kind(str(folder.value)) in FOLDERS:
                return NONE  # a folder may say by another file what its model is
            machine.fail("OSError", f"{folder.value} does not appear to have a file named {name.value}.")
    machine.may_raise("a file of the hub")
    return machine.unknown("a file of the hub")


@function("transformers.utils.is_remote_url", "transformers.utils.hub.is_remote_url")
def _is_remote(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    value = operands.payload(arguments[0])
    if isinstance(value, Const):
        return Const(str(value.value).startswith(("http://", "https://")))
    return machine.unknown("whether it is the address of a file", cls=machine.natives.bool)


@maker("huggingface_hub.constants.HF_HUB_OFFLINE", "huggingface_hub.constants.is_offline_mode")
def _offline(machine: Machine) -> Value:
    given = machine.library.variables.get("HF_HUB_OFFLINE", machine.library.variables.get("TRANSFORMERS_OFFLINE", "0"))
    return Const(given.upper() in ("1", "ON", "YES", "TRUE"), "environment variable HF_HUB_OFFLINE")


def _installed(name: str) -> None:
    """The ``__version__`` of a package, where it is known which one is installed."""

    @maker(f"{name}.__version__")
    def make(machine: Machine) -> Value:
        version = machine.library.versions.get(name)
        if version is not None:
            return Const(version, f"the installed {name}")
        return machine.unknown(f"the version of {name}", cls=machine.natives.str, truthy=True)


for _name in ("torch", "transformers"):
    _installed(_name)


@function("transformers.utils.extract_commit_hash", "transformers.utils.hub.extract_commit_hash")
def _commit_hash(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """Only files in the hub's cache have one."""
    path = arguments[0]
    if isinstance(path, Const) and (path.value is None or machine.library.files.kind(str(path.value)) == FILE):
        return arguments[1] if len(arguments) > 1 else NONE
    return machine.unknown("the commit of a file of the hub")


#: what the hub's client takes for the name of a repository; anything else it refuses before it asks anybody
_REPOSITORY = re.compile(r"(\b[\w.-]+\b/)?\b[\w.-]{1,96}\b")


@maker(
    "huggingface_hub.errors.HFValidationError",
    "huggingface_hub.utils.HFValidationError",
    "huggingface_hub.utils._validators.HFValidationError",
)
def _validation_error(machine: Machine) -> Value:
    """The client's own class of ValueError."""
    return library_class("HFValidationError", machine.natives.exception("ValueError"), "huggingface_hub.errors")


def _is_folder(machine: Machine, repository: Value) -> bool:
    """Whether a model is one of the launch, by its name there. Raises what the client raises for the path
    of a folder.
    """
    if not isinstance(repository, Const):
        return False
    name = str(repository.value)
    if machine.library.files.kind(name) not in FOLDERS:
        return False
    if not _REPOSITORY.fullmatch(name):
        error = machine.call(
            machine.library.external(machine, "huggingface_hub.errors.HFValidationError"),
            [Const(f"Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{name}'.")],
        )
        raise Raised((machine.exit(error, machine.text(error)),))
    return True


@function("huggingface_hub.try_to_load_from_cache", "huggingface_hub.file_download.try_to_load_from_cache")
def _from_cache(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    if _is_folder(machine, operands.payload(arguments[0] if arguments else keywords.get("repo_id", NONE))):
        return NONE
    machine.may_raise("the cache of the hub")
    return machine.unknown("the cache of the hub")


@function(
    "huggingface_hub.hf_hub_download", "huggingface_hub.snapshot_download", "huggingface_hub.get_safetensors_metadata"
)
def _download(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    _is_folder(machine, operands.payload(arguments[0] if arguments else keywords.get("repo_id", NONE)))
    machine.may_raise("a download from the hub")
    return machine.unknown("a file of the hub")


@function("transformers.utils.resolve_revision", "transformers.utils.hub.resolve_revision")
def _resolve_revision(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    """The revision of a folder is the one that was asked for."""
    folder = operands.payload(arguments[0])
    if isinstance(folder, Const) and machine.library.files.kind(str(folder.value)) in FOLDERS:
        return keywords.get("revision", arguments[1] if len(arguments) > 1 else NONE)
    machine.may_raise("the revision of a repository of the hub")
    return machine.unknown("the revision of a repository of the hub")


@function("glob.glob", "glob.iglob")
def _glob(machine: Machine, arguments: Arguments, keywords: Keywords) -> Value:
    pattern = operands.payload(arguments[0])
    if isinstance(pattern, Const) and isinstance(pattern.value, str) and "**" not in pattern.value:
        path = PurePosixPath(pattern.value)
        found = _listing(machine, path.parent, "glob", [Const(path.name)])
        items = machine.items(found)
        return (
            machine.list([Const(str(item.value)) for item in items if isinstance(item, Const)])
            if items is not None
            else found
        )
    return machine.unknown("the files of this machine")
