"""The commands of a compose file and of Kubernetes manifests: what their containers run, with which environment."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from preflight.launch.documents import Mapping, Node, Scalar, Sequence, walk
from preflight.launch.sources.found import Assignment, Doubt, FoundCommand
from preflight.launch.unresolved import mark
from preflight.launch.words import Origin, Word

_COMPOSE_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Za-z_]\w*)(?:(:?[-?+])([^}]*))?\}|([A-Za-z_]\w*))")
_KUBERNETES_VARIABLE = re.compile(r"\$(?:(\$)(?=\()|\(([A-Za-z_][\w.-]*)\))")


def is_compose(node: Node) -> bool:
    """True for the document of a compose file."""
    return isinstance(node, Mapping) and isinstance(node.get("services"), Mapping)


def is_kubernetes(node: Node) -> bool:
    """True for a Kubernetes object."""
    return isinstance(node, Mapping) and isinstance(node.get("kind"), Scalar) and node.get("apiVersion") is not None


def compose_commands(
    node: Mapping, path: str, given: tuple[Assignment, ...], doubts: list[Doubt]
) -> Iterator[FoundCommand]:
    """What each service runs: its entrypoint and its command in one. ``given`` are variables for ``${...}``."""
    services = node.get("services")
    assert isinstance(services, Mapping)
    values = {item.name: item.value for item in given}
    for _, service in services.entries:
        if not isinstance(service, Mapping):
            continue
        words = [*_compose_words(service.get("entrypoint"), path, values, doubts)]
        words += _compose_words(service.get("command"), path, values, doubts)
        environment = tuple(_compose_environment(service.get("environment"), path, values))
        env_file = service.get("env_file")
        if env_file is not None:
            doubts.append(Doubt("the variables of env_file are not read", Origin(path, env_file.line)))
        image = service.get("image")
        named = _interpolated(image.text, values) if isinstance(image, Scalar) else None
        yield FoundCommand(tuple(words), environment, named)


def _compose_words(node: Node | None, path: str, values: dict[str, str], doubts: list[Doubt]) -> Iterator[Word]:
    if isinstance(node, Sequence):
        for item in node.items:
            if isinstance(item, Scalar):
                yield Word(_interpolated(item.text, values), Origin(path, item.line))
    elif isinstance(node, Scalar) and node.value is not None:
        origin = Origin(path, node.line)
        try:
            parts = shlex.split(_interpolated(node.text, values))
        except ValueError as error:
            doubts.append(Doubt(f"the command cannot be split into words: {error}", origin))
            return
        for part in parts:
            yield Word(part, origin)


def _compose_environment(node: Node | None, path: str, values: dict[str, str]) -> Iterator[Assignment]:
    if isinstance(node, Mapping):
        for key, value in node.entries:
            if isinstance(value, Scalar):
                # a key without a value is taken from the shell that runs compose
                text = mark(f"${key.text}") if value.value is None else _interpolated(value.text, values)
                yield Assignment(key.text, text, Origin(path, key.line))
    elif isinstance(node, Sequence):
        for item in node.items:
            if isinstance(item, Scalar):
                name, given, text = item.text.partition("=")
                value = _interpolated(text, values) if given else mark(f"${name}")
                yield Assignment(name, value, Origin(path, item.line))


def _interpolated(text: str, values: dict[str, str]) -> str:
    """Compose's own ``$NAME`` and ``${NAME:-default}``; ``$$`` is a dollar sign."""

    def put(found: re.Match[str]) -> str:
        if found.group(1):
            return "$"
        name = found.group(2) or found.group(5)
        value = values.get(name)
        operator, rest = found.group(3), found.group(4) or ""
        if operator and operator.endswith("-"):
            return rest if value is None or (operator == ":-" and not value) else value
        if operator and operator.endswith("+"):
            return rest if value else ""
        return mark(found.group()) if value is None else value

    return _COMPOSE_VARIABLE.sub(put, text)


def kubernetes_commands(node: Mapping, path: str, given: tuple[Assignment, ...]) -> Iterator[FoundCommand]:
    """What the containers of a Kubernetes object run, wherever they stand; init containers are left out."""
    overrides = {item.name: item.value for item in given}
    for holder in walk(node):
        containers = holder.get("containers")
        if not isinstance(containers, Sequence):
            continue
        for container in containers.items:
            if not isinstance(container, Mapping):
                continue
            environment = tuple(_kubernetes_environment(container.get("env"), path, overrides))
            values = {item.name: item.value for item in environment}
            words = [
                Word(_substituted(item.text, values), Origin(path, item.line + (1 if item.block else 0)))
                for name in ("command", "args")
                for item in _scalars(container.get(name))
            ]
            image = container.get("image")
            yield FoundCommand(tuple(words), environment, image.text if isinstance(image, Scalar) else None)


def _scalars(node: Node | None) -> Iterator[Scalar]:
    for item in node.items if isinstance(node, Sequence) else ():
        if isinstance(item, Scalar):
            yield item


def _kubernetes_environment(node: Node | None, path: str, overrides: dict[str, str]) -> Iterator[Assignment]:
    values: dict[str, str] = {}
    for item in node.items if isinstance(node, Sequence) else ():
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(name, Scalar):
            continue
        value = item.get("value")
        text = mark(f"$({name.text})")
        if name.text in overrides:
            text = overrides[name.text]
        elif isinstance(value, Scalar):
            text = _substituted(value.text, values)
        values[name.text] = text
        yield Assignment(name.text, text, Origin(path, name.line))


def _substituted(text: str, values: dict[str, str]) -> str:
    """Kubernetes' ``$(NAME)``; one that no variable of the container has stays as it is, and ``$$(`` is ``$(``."""

    def put(found: re.Match[str]) -> str:
        if found.group(1):
            return "$"
        return values.get(found.group(2), found.group())

    return _KUBERNETES_VARIABLE.sub(put, text)
