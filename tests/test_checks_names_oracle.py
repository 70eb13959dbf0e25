"""Names, decided as Python decides them: random bodies are run by Python itself, in many of the ways they may take."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings

from preflight.checks.body.flow import Flow
from preflight.checks.body.moment import Moment
from preflight.checks.body.scopes import read_scopes
from preflight.program import Truth, decide
from preflight.program.conditions import Platform
from tests.bodies import Answers, answers, calling, defined, functions, modules, outcome

KNOWN = frozenset(Answers(()).namespace()) | frozenset(dir(__builtins__)) | frozenset(dir(__import__("builtins")))
SLOW = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


class Listener:
    """Notes what is certainly unbound."""

    def __init__(self) -> None:
        self.unbound_names: list[tuple[ast.Name, bool, Moment]] = []

    def test(self, node: ast.expr) -> Truth:
        return decide(node, Platform())

    def star(self, node: ast.ImportFrom) -> None:
        return None

    def imports(self, node: ast.AST, alias: ast.alias, moment: Moment) -> None:
        return None

    def attribute(self, node: ast.Attribute, moment: Moment, function: ast.AST | None = None) -> None:
        return None

    def unbound(self, node: ast.Name, local: bool, moment: Moment) -> None:
        self.unbound_names.append((node, local, moment))

    def fatal(self, error: type[Exception], local: bool) -> list[int]:
        """The lines at which every run certainly raises, that nothing catches."""
        return [
            node.lineno
            for node, is_local, moment in self.unbound_names
            if is_local is local and moment.certain and moment.catches(error) is Truth.NO
        ]


def followed(source: str, function: str | None = None) -> Listener:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    listener = Listener()
    scopes = read_scopes(tree, listener.test, True)
    flow = Flow(tree, scopes, listener, True, KNOWN)
    flow.module()
    if function is not None:
        listener.unbound_names.clear()
        (node,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
        flow.function(node)
    return listener


def compiles(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<body>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def is_open(source: str) -> bool:
    """Whether the source has something that the flow leaves open: a condition, what is caught, how many items there are."""
    return any(word in source for word in ("flag()", "items()", "manager()", " for ", "try:", "suppress"))


@SLOW
@given(modules, answers)
def test_what_is_certain_at_import_happens(body: str, given_answers: Sequence[bool]) -> None:
    if not compiles(body):
        return
    if followed(body).fatal(NameError, local=False):
        assert outcome(body, given_answers) is not None, body


@SLOW
@given(modules)
def test_what_happens_at_import_is_certain_where_nothing_is_open(body: str) -> None:
    if not compiles(body) or is_open(body):
        return
    fatal = followed(body).fatal(NameError, local=False)
    ended = outcome(body, ())
    if ended is None:
        assert not fatal, body
    elif ended[0] == "NameError":
        assert fatal and (ended[1] in fatal or "finally" in body), body


@SLOW
@given(calling, answers)
def test_a_function_that_the_module_calls_runs_then(body: str, given_answers: Sequence[bool]) -> None:
    # of a function that is defined twice the flow enters neither; what it may bind by `global` is the caller's to know
    if not compiles(body) or body.count("def g(") > 1:
        return
    if followed(body).fatal(NameError, local=False):
        assert outcome(body, given_answers) is not None, body


@SLOW
@given(functions, answers)
@example("try:\n    del a\nfinally:\n    return\n", [])
@example("for x in n:\n    try:\n        del a\n    finally:\n        break\n", [])
def test_a_local_that_every_way_reads_unbound_fails_in_every_call(body: str, given_answers: Sequence[bool]) -> None:
    source = "n = Thing\n" + defined("n = Thing\n" + body)
    if not compiles(source):
        return
    if followed(source, "f").fatal(UnboundLocalError, local=True):
        assert outcome(source, given_answers, "f") is not None, source


@SLOW
@given(functions)
def test_an_unbound_local_is_seen_where_nothing_is_open(body: str) -> None:
    source = defined("n = Thing\n" + body)
    if not compiles(source) or is_open(source):
        return
    ended = outcome(source, (), "f")
    fatal = followed(source, "f").fatal(UnboundLocalError, local=True)
    if ended is None:
        assert not fatal, source
    elif ended[0] == "UnboundLocalError":
        assert fatal and (ended[1] in fatal or "finally" in source), source


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("try:\n    x = 1\nexcept E as e:\n    pass\nuse(e)\n", [6]),
        ("for i in ():\n    y = 1\nuse(y)\n", []),
        ("while True:\n    if flag(): break\n    y = 1\nuse(y)\n", []),
        ("while True:\n    pass\nuse(y)\ny = 1\n", []),
        ("del x\nuse(x)\n", [3]),
        ("if flag():\n    return\nuse(y)\ny = 1\n", []),
        ("match x:\n    case [y, *z]: pass\nuse(y, z)\n", []),
        ("def inner():\n    return y\ny = 1\nreturn inner\n", []),
        ("use([y for y in (1,)])\nuse(y)\ny = 1\n", [3]),
        ("y: int\nuse(y)\n", [3]),
        ("with suppress(ValueError):\n    y = 1\nuse(y)\n", []),
        ("import os.path\nos.x\n", []),
        ("try:\n    return\nexcept E:\n    pass\nuse(y)\ny = 1\n", []),
        ("with manager():\n    return\nuse(y)\ny = 1\n", []),
        ("use(y)\nglobal y\n", None),
    ],
)
def test_locals(body: str, lines: list[int] | None) -> None:
    source = defined(body)
    if lines is None:
        assert not compiles(source)
        return
    assert followed(source, "f").fatal(UnboundLocalError, local=True) == lines
