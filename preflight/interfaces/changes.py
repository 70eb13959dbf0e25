"""What changed between two trees, as far as model classes and their interfaces go."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.interfaces.data import InterfacesReport, ModelRow


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. ``what`` is "added", "removed", "class", "interface", "error" or the name of a flag; ``before``
    is the value in the tree that is compared against."""

    architecture: str
    what: str
    before: str | bool | int | None
    after: str | bool | int | None


def compare(before: InterfacesReport, after: InterfacesReport) -> tuple[Change, ...]:
    """The differences, in the order of the new tree's registry; what was removed comes last."""
    old = {row.architecture: row for row in before.rows}
    found: list[Change] = []
    for row in after.rows:
        earlier = old.pop(row.architecture, None)
        if earlier is None:
            found.append(Change(row.architecture, "added", None, f"{row.module}:{row.name}"))
        else:
            found.extend(_row(earlier, row))
    for row in old.values():
        found.append(Change(row.architecture, "removed", f"{row.module}:{row.name}", None))
    return tuple(found)


def _row(before: ModelRow, after: ModelRow) -> list[Change]:
    found: list[Change] = []
    classes = [f"{row.module}:{row.name}" for row in (before, after)]
    if classes[0] != classes[1]:
        found.append(Change(after.architecture, "class", classes[0], classes[1]))
    old = {flag.name: flag.value for flag in before.flags}
    for flag in after.flags:
        if flag.name in old and old[flag.name] != flag.value:
            found.append(Change(after.architecture, flag.name, old[flag.name], flag.value))
    for name in after.interfaces:
        if name not in before.interfaces:
            found.append(Change(after.architecture, "interface", None, name))
    for name in before.interfaces:
        if name not in after.interfaces:
            found.append(Change(after.architecture, "interface", name, None))
    if (before.error is None) is not (after.error is None):
        found.append(Change(after.architecture, "error", before.error, after.error))
    return found
