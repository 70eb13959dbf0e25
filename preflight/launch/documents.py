"""YAML files of a launch, read as data and nothing else: no tags that make objects, a bounded size, aliases counted as
often as they are used, and the line of every value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

#: launch files are written by hand; the largest manifests of the field have some hundred kilobytes
MAX_BYTES = 4 * 1024 * 1024
#: values of a document, those behind an alias counted each time
MAX_VALUES = 100_000
_MAX_DEPTH = 100


class DocumentError(ValueError):
    """The text is no YAML that can be used; ``line`` is where, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain value. ``text`` is what stands there, ``value`` what YAML takes it for."""

    text: str
    value: Any
    line: int
    block: bool = False  #: written as a block, which begins in the line behind


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Mapping:
    entries: tuple[tuple[Scalar, Node], ...]
    line: int

    def get(self, name: str) -> Node | None:
        """The value of a key, the last one if it stands there twice, as YAML libraries have it."""
        found = [value for key, value in self.entries if key.text == name]
        return found[-1] if found else None


Node = Scalar | Sequence | Mapping


def read_documents(text: str) -> list[Node]:
    """All documents of a YAML text, empty ones left out. Raises DocumentError."""
    import yaml

    if len(text) > MAX_BYTES:
        raise DocumentError(f"it has {len(text):,} characters; preflight reads launch files up to {MAX_BYTES:,}")
    budget = [MAX_VALUES]
    try:
        loader = yaml.SafeLoader(text)
        try:
            documents = []
            while loader.check_node():
                node = loader.get_node()
                if node is not None:
                    documents.append(_convert(loader, node, budget, 0))
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        _refuse(error)
    except RecursionError:
        raise DocumentError("it is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError(str(error)) from None
    return [node for node in documents if not (isinstance(node, Scalar) and node.value is None)]


def load_plain(text: str) -> Any:  # noqa: ANN401 - whatever the document holds
    """What ``yaml.safe_load`` makes of a text. Raises DocumentError, also for what ``safe_load`` itself refuses."""
    documents = read_documents(text)
    if not documents:
        return None
    if len(documents) > 1:
        raise DocumentError("it holds more than one document", _line(documents[1]))
    return plain(documents[0])


def plain(node: Node) -> Any:  # noqa: ANN401
    """A node as dicts, lists and values."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {key.value: plain(value) for key, value in node.entries}


def _convert(loader: Any, node: Any, budget: list[int], depth: int) -> Node:  # noqa: ANN401 - PyYAML has no types
    import yaml

    line = node.start_mark.line + 1
    budget[0] -= 1
    if budget[0] < 0:
        raise DocumentError(f"it holds more than {MAX_VALUES:,} values, aliases counted each time they are used", line)
    if depth > _MAX_DEPTH:
        raise DocumentError(f"it is nested more than {_MAX_DEPTH} levels deep", line)
    if isinstance(node, yaml.SequenceNode):
        return Sequence(tuple(_convert(loader, item, budget, depth + 1) for item in node.value), line)
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)
        entries = []
        for key_node, value_node in node.value:
            key = _convert(loader, key_node, budget, depth + 1)
            if not isinstance(key, Scalar):
                raise DocumentError("a key is not a plain value", key.line)
            entries.append((key, _convert(loader, value_node, budget, depth + 1)))
        return Mapping(tuple(entries), line)
    value = loader.construct_object(node, deep=True)
    return Scalar(node.value, value, line, node.style in ("|", ">"))


def _refuse(error: Any) -> NoReturn:  # noqa: ANN401
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    raise DocumentError(str(problem), mark.line + 1 if mark is not None else None) from None


def _line(node: Node) -> int:
    return node.line


def walk(node: Node) -> Iterator[Mapping]:
    """Every mapping of a document, outermost first."""
    if isinstance(node, Mapping):
        yield node
        for _, value in node.entries:
            yield from walk(value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from walk(item)
