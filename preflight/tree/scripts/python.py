"""Follows a Python patch script, statement by statement, with the tree's text as data.

It is a small evaluator of what such scripts are made of: strings, paths, regular expressions, tests, loops over
literal lists, functions of the script itself. What it does not know is an ``Unknown``; a step whose effect on the tree
depends on one ends in ``GaveUp``, with the reason. A test that nobody can decide and that only guards an exit is taken
to pass: the question is what the script does where it works.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Sequence
from dataclasses import replace

from preflight.tree.scripts.calls import Calls
from preflight.tree.scripts.expressions import Expressions
from preflight.tree.scripts.files import Files
from preflight.tree.scripts.outcome import GaveUp, Outcome, ScriptFailure, ScriptWhy
from preflight.tree.scripts.texts import Steps, TooMuch
from preflight.tree.scripts.values import (
    Ended,
    Function,
    Handle,
    Left,
    Named,
    Raised,
    RecordClass,
    Returned,
    Scope,
    Unknown,
    Value,
)

_MOST_STEPS = 200_000
#: a script with more bytes is no script that somebody has written: its syntax tree would fill all memory
LARGEST = 2 << 20


def follow(source: str, script: str, files: Files, first_line: int = 1) -> Outcome:
    """What a script does. ``first_line`` is the line of ``script`` at which ``source`` begins (a heredoc)."""
    outcome = Outcome(script)
    steps = Steps(script, outcome)
    written = dict(files.written)
    runner = _Runner(script, files, steps, first_line - 1)
    if len(source) > LARGEST:
        outcome.given_up = (f"it has more than {LARGEST >> 20} MB", first_line)
        return outcome
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        outcome.given_up = (f"it is no Python: {getattr(error, 'msg', error)}", first_line)
        return outcome
    try:
        with contextlib.suppress(Ended, Returned, Left):
            runner.block(tree.body)
        runner.close_all()
    except Raised as raised:
        outcome.failures.append(_stop(steps, script, raised))
    except GaveUp as gave_up:
        outcome.given_up = (gave_up.reason, gave_up.line)
    except (TooMuch, MemoryError) as error:
        outcome.given_up = (str(error) or "it needs too much memory", runner.line)
    except RecursionError:
        outcome.given_up = ("it is nested too deeply", runner.line)
    changed = {
        path: data
        for path, data in files.written.items()
        if written.get(path, b"\0never") != data and files.before(path) != data
    }
    if outcome.stopped:
        line = next(failure for failure in outcome.failures if failure.why is ScriptWhy.STOPS)
        outcome.failures = [
            one for one in outcome.failures if one is line or (one.path, one.anchor) != (line.path, line.anchor)
        ]
    elif outcome.given_up is None:
        outcome.failures += _without_effect(steps, script, changed)
    if outcome.given_up is not None or outcome.stopped:
        files.written.clear()
        files.written.update(written)
    else:
        outcome.writes = changed
    return outcome


def _stop(steps: Steps, script: str, raised: Raised) -> ScriptFailure:
    """The failure that ends a script, with what it looked for last and did not find."""
    reason = f"{raised.name}: {raised.message}" if raised.message else raised.name
    for (path, anchor), line in reversed(steps.missed.items()):
        if abs(line - raised.line) <= 3:
            return ScriptFailure(script, raised.line, ScriptWhy.STOPS, path, anchor, reason=reason)
    for failure in reversed(steps.outcome.failures):
        if failure.anchor is not None and 0 <= raised.line - failure.line <= 8:
            return ScriptFailure(script, failure.line, ScriptWhy.STOPS, failure.path, failure.anchor, reason=reason)
    for path, line in reversed(steps.absent.items()):
        if abs(line - raised.line) <= 3:
            return ScriptFailure(script, raised.line, ScriptWhy.STOPS, path, reason=reason)
    for failure in steps.outcome.failures:
        if failure.handled:
            return replace(failure, why=ScriptWhy.STOPS, reason=reason, handled=False)
    return ScriptFailure(script, raised.line, ScriptWhy.STOPS, reason=reason)


def _without_effect(steps: Steps, script: str, changed: dict[str, bytes | None]) -> list[ScriptFailure]:
    """Anchors that a test did not find, of files that the script then left alone."""
    said = {failure.path for failure in steps.outcome.failures}
    found: list[ScriptFailure] = []
    for (path, anchor), line in steps.missed.items():
        if path not in changed and path not in said and path not in steps.found:
            said.add(path)
            found.append(ScriptFailure(script, line, ScriptWhy.NO_ANCHOR, path, anchor))
    if not changed and not found and not said and not steps.found:
        found += [ScriptFailure(script, line, ScriptWhy.NO_FILE, path) for path, line in steps.absent.items()]
    return found


class _Runner(Expressions, Calls):
    """One script while it is followed."""

    def __init__(self, script: str, files: Files, steps: Steps, shift: int) -> None:
        self.script = script
        self.files = files
        self.steps = steps
        self.shift = shift
        self.line = shift + 1
        self.scope = Scope({"__name__": "__main__"})
        self.depth = 0
        self.handles: list[Handle] = []
        self._budget = _MOST_STEPS

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Run the statements in order."""
        for statement in body:
            self._budget -= 1
            if self._budget < 0:
                raise GaveUp("it runs for too long to be followed", self.line)
            self.line = statement.lineno + self.shift
            run = getattr(self, f"_{type(statement).__name__}", None)
            if run is None:
                raise GaveUp(f"a statement of this kind is not followed ({type(statement).__name__})", self.line)
            run(statement)

    # -- simple statements --------------------------------------------------------------------------------------------

    def _Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _Pass(self, node: ast.Pass) -> None: ...

    def _Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def _AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.BinOp(_loaded(node.target), node.op, node.value)
        self.bind(node.target, self.value(ast.copy_location(load, node)))

    def _Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names.pop(target.id, None)
            else:
                raise GaveUp("what is deleted is not followed", self.line)

    def _Global(self, node: ast.Global) -> None:
        self.scope.shared.update(node.names)

    def _Nonlocal(self, node: ast.Nonlocal) -> None:
        raise GaveUp("`nonlocal` is not followed", self.line)

    def _Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self.scope.put(alias.asname or name, Named(name))

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            known = not node.level and alias.name != "*"
            self.scope.put(alias.asname or alias.name, Named(whole) if known else Unknown(f"{alias.name} is imported"))

    def _FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.scope.put(node.name, Unknown(f"{node.name} is decorated"))
        else:
            self.scope.put(node.name, self.function(node))

    def _AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.scope.put(node.name, Unknown(f"{node.name} is a coroutine"))

    def _ClassDef(self, node: ast.ClassDef) -> None:
        made = self._record(node)
        self.scope.put(node.name, made if made is not None else Unknown(f"{node.name} is a class of the script"))

    def _record(self, node: ast.ClassDef) -> RecordClass | None:
        """A class that has fields and nothing else."""
        decorated = [ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list]
        bases = [ast.unparse(one).rpartition(".")[2] for one in node.bases]
        body = [one for one in node.body if not isinstance(one, (ast.Pass, ast.Expr))]
        if (decorated, bases) not in ((["dataclass"], []), ([], ["NamedTuple"])):
            return None
        if not all(isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) for one in body):
            return None
        fields = [(one.target.id, one.value) for one in body if isinstance(one, ast.AnnAssign)]  # type: ignore[union-attr]
        defaults = {name: self.value(value) for name, value in fields if value is not None}
        return RecordClass(node.name, tuple(name for name, _ in fields), defaults)

    def _Return(self, node: ast.Return) -> None:
        raise Returned(None if node.value is None else self.value(node.value))

    def _Break(self, node: ast.Break) -> None:
        raise Left(False)

    def _Continue(self, node: ast.Continue) -> None:
        raise Left(True)

    def _Raise(self, node: ast.Raise) -> None:
        made = node.exc
        if made is None:
            raise Raised("an exception", "", self.line)
        call = made if isinstance(made, ast.Call) else None
        target = call.func if call is not None else made
        name = target.id if isinstance(target, ast.Name) else ast.unparse(target)
        words = [self.value(argument) for argument in call.args] if call is not None else []
        if name == "SystemExit":
            self.exits(words[0] if words else None)
        raise Raised(name, " ".join(self.shown(word) for word in words), self.line)

    def _Assert(self, node: ast.Assert) -> None:
        if self.holds(node.test) is False:
            said = self.shown(self.value(node.msg)) if node.msg is not None else f"assert {ast.unparse(node.test)}"
            raise Raised("AssertionError", said, node.lineno + self.shift)

    # -- compound statements ------------------------------------------------------------------------------------------

    def _If(self, node: ast.If) -> None:
        answer = self.holds(node.test)
        if answer is True:
            self.block(node.body)
        elif answer is False or _only_leaves(node.body) or _only_says(node.body):
            self.block(node.orelse)
        elif not node.orelse or not _only_leaves(node.orelse):
            raise GaveUp(f"whether `{_short(node.test)}` holds is not known here", self.line)
        else:
            self.block(node.body)

    def _For(self, node: ast.For) -> None:
        items = self.items(node.iter)
        if items is None:
            raise GaveUp(f"what `{_short(node.iter)}` has is not known here", self.line)
        for item in items:
            self._budget -= 1
            self.bind(node.target, item)
            try:
                self.block(node.body)
            except Left as left:
                if not left.again:
                    return
        self.block(node.orelse)

    def _While(self, node: ast.While) -> None:
        while True:
            answer = self.holds(node.test)
            if answer is None:
                raise GaveUp(f"whether `{_short(node.test)}` holds is not known here", self.line)
            if answer is False:
                self.block(node.orelse)
                return
            try:
                self.block(node.body)
            except Left as left:
                if not left.again:
                    return

    def _With(self, node: ast.With) -> None:
        opened: list[Handle] = []
        for item in node.items:
            value = self.value(item.context_expr)
            if isinstance(value, Handle):
                opened.append(value)
            elif not isinstance(value, Unknown):
                value = Unknown("what the context manager gives is not known")
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        try:
            self.block(node.body)
        finally:
            for handle in opened:
                self.close(handle)

    def _Try(self, node: ast.Try) -> None:
        try:
            self.block(node.body)
        except Raised as raised:
            handler = next((one for one in node.handlers if self._catches(one, raised)), None)
            if handler is None:
                self.block(node.finalbody)
                raise
            if handler.name:
                self.scope.put(handler.name, Unknown("an exception"))
            try:
                self.block(handler.body)
            except Raised as again:
                if again.name == "an exception":  # a bare `raise`
                    raise raised from None
                raise
        else:
            self.block(node.orelse)
        self.block(node.finalbody)

    def _catches(self, handler: ast.ExceptHandler, raised: Raised) -> bool:
        if handler.type is None:
            return True
        parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        error = getattr(builtins, raised.name, None)
        for part in parts:
            known = getattr(builtins, part.id, None) if isinstance(part, ast.Name) else None
            if not isinstance(known, type) or not isinstance(error, type):
                if ast.unparse(part) == raised.name:
                    return True
                if isinstance(known, type) and known in (Exception, BaseException):
                    return True
                raise GaveUp(f"whether `except {_short(handler.type)}` catches {raised.name} is not known", self.line)
            if issubclass(error, known):
                return True
        return False

    # -- names --------------------------------------------------------------------------------------------------------

    def bind(self, target: ast.expr, value: Value) -> None:
        """Give a target its value."""
        if isinstance(target, ast.Name):
            self.scope.put(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, Unknown):
                for part in target.elts:
                    self.bind(part, value)
                return
            parts = list(value) if isinstance(value, (list, tuple, str)) else None
            if parts is None or len(parts) != len(target.elts) or any(isinstance(p, ast.Starred) for p in target.elts):
                raise GaveUp(f"what `{_short(target)}` gets is not followed", self.line)
            for part, item in zip(target.elts, parts, strict=True):
                self.bind(part, item)
        elif isinstance(target, ast.Subscript):
            owner, key = self.value(target.value), self.value_of_slice(target.slice)
            if isinstance(owner, Unknown):
                return
            if not isinstance(owner, (list, dict)) or isinstance(key, Unknown):
                raise GaveUp(f"what `{_short(target)}` gets is not followed", self.line)
            try:
                owner[key] = value
            except (TypeError, IndexError, ValueError) as error:
                raise Raised(type(error).__name__, str(error), self.line) from None
        elif isinstance(target, ast.Attribute) and isinstance(self.value(target.value), Unknown):
            return
        else:
            raise GaveUp(f"what `{_short(target)}` gets is not followed", self.line)

    def function(self, node: ast.FunctionDef | ast.Lambda) -> Function:
        """A function of the script, with the defaults that it has now."""
        return Function(
            node,
            self.scope,
            tuple(self.value(one) for one in node.args.defaults),
            tuple(None if one is None else self.value(one) for one in node.args.kw_defaults),
        )


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _only_leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends in an exit, a raise or a return, and does nothing but talk before."""
    return bool(body) and _leaves(body[-1]) and _only_says(body[:-1])


def _leaves(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Raise, ast.Return, ast.Continue)):
        return True
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func) in ("sys.exit", "exit", "quit", "os._exit", "parser.error")
    return False


def _only_says(body: Sequence[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass)
        or (
            isinstance(statement, ast.Expr)
            and (
                isinstance(statement.value, ast.Constant)
                or (
                    isinstance(statement.value, ast.Call)
                    and ast.unparse(statement.value.func).rpartition(".")[2]
                    in ("print", "info", "warning", "error", "debug", "write", "print_help", "exception")
                    and "write_text" not in ast.unparse(statement.value.func)
                )
            )
        )
        for statement in body
    )
