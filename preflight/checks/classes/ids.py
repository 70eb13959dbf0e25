"""The ids of the checks of classes, which rule files name."""

from __future__ import annotations

MEMBER_MISSING = "interface-member-missing"
NOT_CLAIMED = "interface-not-claimed"
MRO_CONFLICT = "mro-conflict"
OVERRIDE = "override-incompatible"
CANNOT_BIND = "call-cannot-bind"
SWALLOWED = "keyword-swallowed"
DELEGATE = "delegate-missing"
NEVER_SET = "attribute-never-set"
NOT_RETURNED = "hidden-states-not-returned"
WRONG_RESULT = "interface-result-wrong"
REQUIRED = "required-interface-missing"
BROKEN = "registry-entry-broken"
NOT_REGISTERED = "model-not-registered"

ALL = frozenset(
    {
        MEMBER_MISSING,
        NOT_CLAIMED,
        MRO_CONFLICT,
        OVERRIDE,
        CANNOT_BIND,
        SWALLOWED,
        DELEGATE,
        NEVER_SET,
        NOT_RETURNED,
        WRONG_RESULT,
        REQUIRED,
        BROKEN,
        NOT_REGISTERED,
    }
)
