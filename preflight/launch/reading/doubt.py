"""Ways that may or may not be taken: what each changes is taken back, and what they leave behind is joined.

Containers are the unit: before one is changed in a doubtful way, its content is kept. Names are containers too (the
names of a scope, a module, a class, an instance are dicts).
"""

from __future__ import annotations

from preflight.launch.reading.values import NotKnown, Object, Unknown

_MISSING = object()
#: what a way leaves behind: the containers that it changed, with their content at its end
Changes = dict[int, tuple[Object, Object]]


class Doubt:
    """The doubtful ways that are open. ``depth`` is 0 where everything that runs is certain to run."""

    def __init__(self) -> None:
        self._open: list[Changes] = []
        self._tainted: dict[int, Object] = {}

    @property
    def depth(self) -> int:
        return len(self._open)

    @property
    def taints(self) -> bool:
        """False as long as nothing is tainted."""
        return bool(self._tainted)

    def touch(self, container: Object) -> None:
        """``container`` is about to be changed."""
        if self._open and id(container) not in self._open[-1]:
            self._open[-1][id(container)] = (container, _copy(container))

    def tainted(self, value: Object) -> bool:
        """True for a list or set whose content depends on a way that may not have been taken."""
        return id(value) in self._tainted

    def taint(self, container: Object) -> None:
        """The content of ``container`` is not known any more: it was changed at a place that is not known."""
        self._tainted[id(container)] = container

    def pause(self) -> list[Changes]:
        """Set the open ways aside for code that runs for certain (a module's body, whoever asks for it first)."""
        aside, self._open = self._open, []
        return aside

    def resume(self, aside: list[Changes]) -> None:
        """Go on where ``pause`` stopped."""
        self._open = aside

    def enter(self) -> None:
        """A doubtful way begins."""
        self._open.append({})

    def leave(self) -> Changes:
        """The way ends: its changes are taken back and returned."""
        changes: Changes = {}
        for key, (container, before) in self._open.pop().items():
            changes[key] = (container, _copy(container))
            _restore(container, before)
        return changes

    def join(self, ways: list[Changes]) -> None:
        """Lay over the present state what the ``ways`` that go on from here have in common; the rest is not known."""
        if not ways:
            return
        containers = {key: container for way in ways for key, (container, _) in way.items()}
        for key, container in containers.items():
            contents = [way[key][1] if key in way else _copy(container) for way in ways]
            self.touch(container)
            if isinstance(container, dict):
                _restore(container, _join_dicts(contents))
            elif all(_equal(content, contents[0]) for content in contents[1:]):
                _restore(container, contents[0])
            else:
                self._tainted[key] = container


def join_values(values: list[Object]) -> Object:
    """The value that all of ``values`` are, or an Unknown."""
    first = values[0]
    if all(other is first or _equal(first, other) for other in values[1:]):
        return first
    return Unknown("it depends on a condition that is not known")


def _join_dicts(contents: list[dict[Object, Object]]) -> dict[Object, Object]:
    joined: dict[Object, Object] = {}
    for content in contents:
        for key in content:
            if key not in joined:
                values = [other.get(key, _MISSING) for other in contents]
                joined[key] = join_values(values)
    return joined


def _equal(left: Object, right: Object) -> bool:
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    try:
        return bool(left == right)
    except (NotKnown, RecursionError):
        return False


def _copy(container: Object) -> Object:
    return list(container) if isinstance(container, list) else container.copy()


def _restore(container: Object, content: Object) -> None:
    container.clear()
    if isinstance(container, list):
        container.extend(content)
    else:
        container.update(content)
