"""``preflight interfaces``: which model classes of a tree implement which interfaces.

``interfaces_report`` asks the program model; ``render_interfaces`` writes the answer as text or as the contract's JSON.
"""

from preflight.interfaces.changes import Change, compare
from preflight.interfaces.data import InterfacesReport, MemberOrigin, MissingMember, ModelRow
from preflight.interfaces.rendering import render_interfaces
from preflight.interfaces.report import interfaces_report

__all__ = [
    "Change",
    "InterfacesReport",
    "MemberOrigin",
    "MissingMember",
    "ModelRow",
    "compare",
    "interfaces_report",
    "render_interfaces",
]
