"""The comparisons of Python's syntax as functions, for everything that evaluates code instead of running it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

#: which of two comes first
ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
#: whether they are equal, too
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne, **ORDER}
