"""Where a plug-in is entered: the entry points that its metadata or its build files declare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from preflight.tree.gather import Given
from preflight.tree.kinds import INSTALLED_GROUP, PACKAGE, SCRIPTS_GROUP, STARTUP_GROUP, EntryPoint
from preflight.tree.paths import is_file, names_in
from preflight.tree.reading import read_bytes

_BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
#: what Python itself imports when it starts (module ``site``), in every process
_STARTUP = ("sitecustomize.py", "usercustomize.py")
_LIMIT = 4 << 20
_METADATA = re.compile(r"\.dist-info/(?:METADATA|RECORD)$")


def entry_points(path: Path, files: Sequence[Given]) -> tuple[EntryPoint, ...]:
    """The entry points of what is at ``path``: those that its ``files`` declare, or for a package's folder what stands
    beside it does. What cannot be read declares none."""
    texts = [(file.file.name, file.data) for file in files if _declares(file.name)]
    if not texts and any(file.parts == ("__init__.py",) for file in files):
        texts = list(_beside(path))
    found: dict[EntryPoint, None] = {}
    for name, data in texts:
        for point in _read(name, data.decode("utf-8", "replace")):
            found[point] = None
    if any(_METADATA.search(file.name) for file in files):
        tops = {file.parts[0] for file in files if len(file.parts) == 2 and file.parts[1] == "__init__.py"}
        found.update(dict.fromkeys(EntryPoint(INSTALLED_GROUP, top, top, "") for top in sorted(tops)))
    return tuple(found)


def installed_plugins(site: Path) -> tuple[EntryPoint, ...]:
    """The plug-ins of vLLM that distributions in a site folder declare, whatever their group is called in a release."""
    found: list[EntryPoint] = []
    for info in names_in(site):
        file = site / info / "entry_points.txt"
        if info.endswith(".dist-info") and is_file(file):
            try:
                text = read_bytes(file, _LIMIT).decode("utf-8", "replace")
            except OSError:
                continue
            found += [
                point
                for point in _of_ini(text, "")
                if point.group.startswith(f"{PACKAGE}.") and point.module.partition(".")[0] != PACKAGE
            ]
    return tuple(found)


def _declares(name: str) -> bool:
    last = name.rpartition("/")[2]
    return (
        last in _BUILD_FILES
        or last in _STARTUP
        or last.endswith(".pth")
        or re.search(r"\.(?:dist|egg)-info/entry_points\.txt$", name) is not None
    )


def _beside(package: Path) -> Iterator[tuple[str, bytes]]:
    """The build files of the folders above a package, and the metadata of the distribution that installed it."""
    name = package.name.lower().replace("-", "_")
    infos = [
        f"{one}/entry_points.txt"
        for one in names_in(package.parent)
        if one.endswith((".dist-info", ".egg-info")) and one.partition("-")[0].lower().replace("-", "_") == name
    ]
    folders = [package.parent, package.parent.parent] if package.parent.name == "src" else [package.parent]
    places = [package.parent / one for one in infos] or [folder / one for folder in folders for one in _BUILD_FILES]
    for place in places:
        if is_file(place):
            try:
                yield place.name, read_bytes(place, _LIMIT)
            except OSError:
                continue


def _read(name: str, text: str) -> Iterable[EntryPoint]:
    if name == "entry_points.txt":
        return _of_ini(text, "")
    if name.endswith(".pth") or name in _STARTUP:
        return _of_startup(text)
    if name == "setup.cfg":
        return _of_setup_cfg(text)
    if name == "pyproject.toml":
        return _of_pyproject(text)
    return _of_setup_py(text)


def _of_startup(text: str) -> Iterator[EntryPoint]:
    """The modules that lines at the left margin import: a ``.pth`` file has no others that run."""
    for match in re.finditer(r"^(?:import|from)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+(\w+))?", text, re.MULTILINE):
        yield EntryPoint(STARTUP_GROUP, match[1], match[1], "")
        if match[2]:
            yield EntryPoint(STARTUP_GROUP, match[2], f"{match[1]}.{match[2]}", "")


def _of_ini(text: str, group: str) -> Iterator[EntryPoint]:
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif "=" in line:
            point = _point(group, line)
            if point is not None:
                yield point


def _point(group: str, line: str) -> EntryPoint | None:
    """``name = module:attribute [extra]``."""
    name, _, target = line.partition("=")
    module, _, attribute = target.partition("[")[0].strip().partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        return None
    return EntryPoint(group, name.strip(), module, attribute.strip())


def _of_setup_cfg(text: str) -> Iterator[EntryPoint]:
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    if parser.has_section("options.entry_points"):
        for group, lines in parser.items("options.entry_points"):
            yield from _of_ini(lines, group)


def _of_pyproject(text: str) -> Iterator[EntryPoint]:
    from preflight.toml import parse_toml

    try:
        project = parse_toml(text)
    except ValueError:
        return
    project = project.get("project", {})
    if not isinstance(project, dict):
        return
    groups = project.get("entry-points", {})
    groups = dict(groups) if isinstance(groups, dict) else {}
    groups[SCRIPTS_GROUP] = project.get("scripts", {})
    for group, points in groups.items():
        for name, target in points.items() if isinstance(points, dict) else ():
            point = _point(str(group), f"{name} = {target}") if isinstance(target, str) else None
            if point is not None:
                yield point


def _of_setup_py(text: str) -> Iterator[EntryPoint]:
    """A literal ``entry_points=`` of a call."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "entry_points":
            try:
                groups = ast.literal_eval(node.value)
            except (ValueError, TypeError, RecursionError, MemoryError):
                continue
            if isinstance(groups, str):
                yield from _of_ini(groups, "")
            elif isinstance(groups, dict):
                for group, lines in groups.items():
                    joined = lines if isinstance(lines, str) else "\n".join(str(line) for line in lines)
                    yield from _of_ini(joined, str(group))
