"""The expressions of a patch script."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight.operators import COMPARISONS
from preflight.tree.scripts.texts import LONGEST, TooMuch, TreeText
from preflight.tree.scripts.values import (
    Bound,
    Ended,
    Function,
    Handle,
    ModuleOfTree,
    Named,
    Raised,
    Record,
    Scope,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.tree.scripts.files import Files
    from preflight.tree.scripts.texts import Steps

#: values that Python itself may be asked about
PLAIN = (str, bytes, int, float, bool, list, tuple, dict, set, frozenset, type(None), PurePosixPath, range)
_MANY = 100_000
#: what a script is given when it is run
ARGV = Unknown("sys.argv is not known")
_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mod: operator.mod,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}


class Expressions:
    """Evaluates expressions; what it cannot know is an Unknown."""

    files: Files
    steps: Steps
    scope: Scope
    line: int
    shift: int
    script: str

    # given by the other half of the runner
    call: Callable[[ast.Call], Value]
    function: Callable[[ast.FunctionDef | ast.Lambda], Function]
    bind: Callable[[ast.expr, Value], None]

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        evaluate = getattr(self, f"_{type(node).__name__}_", None)
        if evaluate is None:
            return Unknown(f"`{ast.unparse(node)[:60]}` is not followed")
        return evaluate(node)

    def holds(self, node: ast.expr) -> bool | None:
        """Whether a test holds; None if that is not known."""
        return truth(self.value(node))

    def items(self, node: ast.expr) -> list[Value] | None:
        """What iterating gives; None if that is not known."""
        return listed(self.value(node))

    def shown(self, value: Value) -> str:
        """A value in a message."""
        return str(value)[:200] if isinstance(value, PLAIN) else "..."

    def exits(self, status: Value) -> None:
        """``sys.exit(status)``."""
        if status is None or status == 0 or isinstance(status, Unknown):
            raise Ended
        raise Raised("SystemExit", self.shown(status), self.line)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _Constant_(self, node: ast.Constant) -> Value:
        return node.value

    def _Name_(self, node: ast.Name) -> Value:
        try:
            return self.scope.get(node.id)
        except KeyError:
            pass
        if node.id == "__file__":
            from preflight.tree.scripts.files import REPOSITORY

            return f"{REPOSITORY}/{self.script}"
        return Named(f"builtins.{node.id}")

    def _Attribute_(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if isinstance(owner, Unknown):
            return owner
        if isinstance(owner, Named):
            return self._member(owner, node.attr)
        if isinstance(owner, PurePosixPath) and node.attr in ("parent", "name", "stem", "suffix", "parents", "parts"):
            found = getattr(owner, node.attr)
            return list(found) if node.attr in ("parents", "parts") else found
        if isinstance(owner, ModuleOfTree):
            if node.attr in ("origin", "__file__"):
                return owner.origin
            if node.attr in ("submodule_search_locations", "__path__"):
                return list(owner.folders) or None
            if node.attr == "name":
                return owner.name
            return Unknown(f"{node.attr} of a module is not known")
        if isinstance(owner, Record):
            return owner.fields.get(node.attr, Unknown(f"{node.attr} is not known"))
        if owner is None:
            raise Raised("AttributeError", f"'NoneType' object has no attribute {node.attr!r}", self.line)
        return Bound(owner, node.attr)

    def _member(self, owner: Named, name: str) -> Value:
        """A member of a module."""
        whole = f"{owner.name}.{name}"
        if owner.name.partition(".")[0] == "vllm":
            from preflight.tree.scripts.calls import module_of_tree

            if owner.name == "vllm" and name == "__version__":
                return self.files.version or Unknown("the version of vLLM is not known")
            if name in ("__file__", "__path__"):
                found = module_of_tree(self.files, owner.name)
                if found is None:
                    raise Raised("ModuleNotFoundError", f"No module named {owner.name!r}", self.line)
                return found.origin if name == "__file__" else list(found.folders)
            return Named(whole)
        if whole == "sys.argv":
            return ARGV
        if whole in ("os.environ", "sys.path", "sys.version_info", "sys.version", "sys.executable"):
            return Unknown(f"{whole} is not known")
        if whole in ("os.sep", "os.path.sep"):
            return "/"
        if whole == "os.linesep":
            return "\n"
        if owner.name == "re":
            import re

            flag = getattr(re, name, None)
            if isinstance(flag, re.RegexFlag):
                return int(flag)
        return Named(whole)

    def _Subscript_(self, node: ast.Subscript) -> Value:
        owner, key = self.value(node.value), self.value_of_slice(node.slice)
        if isinstance(owner, Unknown) or isinstance(key, Unknown):
            return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
        try:
            found = owner[key]
        except (TypeError, LookupError, ValueError) as error:
            if isinstance(owner, PLAIN) and isinstance(error, LookupError):
                raise Raised(type(error).__name__, str(error), self.line) from None
            return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
        return TreeText.of(found, owner.path) if isinstance(owner, TreeText) else found

    def value_of_slice(self, node: ast.expr) -> Value:
        """A key or a slice."""
        if not isinstance(node, ast.Slice):
            return self.value(node)
        parts = [None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
        unknown = next((part for part in parts if isinstance(part, Unknown)), None)
        return unknown if unknown is not None else slice(*parts)

    def _JoinedStr_(self, node: ast.JoinedStr) -> Value:
        parts: list[str] = []
        whose: TreeText | None = None
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.value(part.value)
            if isinstance(value, Unknown) and part is node.values[0]:
                from preflight.tree.scripts.files import ANYWHERE

                parts.append(ANYWHERE)
                continue
            if not isinstance(value, PLAIN) or part.format_spec is not None:
                return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
            whose = value if isinstance(value, TreeText) else whose
            parts.append(repr(value) if part.conversion == 114 else str(value))
        text = "".join(parts)
        return text if whose is None else TreeText.of(text, whose.path)

    def _List_(self, node: ast.List) -> Value:
        return self._several(node.elts)

    def _Tuple_(self, node: ast.Tuple) -> Value:
        found = self._several(node.elts)
        return found if isinstance(found, Unknown) else tuple(found)

    def _Set_(self, node: ast.Set) -> Value:
        found = self._several(node.elts)
        try:
            return found if isinstance(found, Unknown) else set(found)
        except TypeError:
            return Unknown("a set of things that are not followed")

    def _several(self, nodes: Iterable[ast.expr]) -> Value:
        found: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                more = self.items(node.value)
                if more is None:
                    return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
                found += more
            else:
                found.append(self.value(node))
        return found

    def _Dict_(self, node: ast.Dict) -> Value:
        found: dict[Value, Value] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            if key is None:
                if not isinstance(value, dict):
                    return Unknown("a dictionary is not known")
                found.update(value)
                continue
            name = self.value(key)
            if not isinstance(name, (str, bytes, int, float, tuple, PurePosixPath, type(None))):
                return Unknown("a key of a dictionary is not known")
            found[name] = value
        return found

    def _Lambda_(self, node: ast.Lambda) -> Value:
        return self.function(node)

    def _Call_(self, node: ast.Call) -> Value:
        return self.call(node)

    def _Starred_(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def _NamedExpr_(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _IfExp_(self, node: ast.IfExp) -> Value:
        answer = self.holds(node.test)
        if answer is None:
            return Unknown(f"whether `{ast.unparse(node.test)[:60]}` holds is not known")
        return self.value(node.body if answer else node.orelse)

    def _BoolOp_(self, node: ast.BoolOp) -> Value:
        deciding = isinstance(node.op, ast.Or)
        unknown: Unknown | None = None
        value: Value = None
        for part in node.values:
            value = self.value(part)
            answer = truth(value)
            if answer is None:
                unknown = Unknown(f"`{ast.unparse(part)[:60]}` is not known")
            elif answer is deciding:
                return value if unknown is None else (deciding if _only_tested(value) else unknown)
        return value if unknown is None else unknown

    def _UnaryOp_(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            answer = truth(value)
            return Unknown("it is not known") if answer is None else not answer
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        return Unknown(f"`{ast.unparse(node)[:60]}` is not followed")

    def _BinOp_(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Div) and isinstance(right, (str, PurePosixPath)):
            from preflight.tree.scripts.files import ANYWHERE

            if isinstance(left, (str, PurePosixPath, Unknown)):
                return PurePosixPath(ANYWHERE if isinstance(left, Unknown) else left) / right
        if isinstance(node.op, ast.Add) and isinstance(left, Unknown) and isinstance(right, str) and right[:1] == "/":
            from preflight.tree.scripts.files import ANYWHERE

            return ANYWHERE + right
        operation = _BINARY.get(type(node.op))
        if operation is None or not (isinstance(left, PLAIN) and isinstance(right, PLAIN)):
            return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
        if isinstance(node.op, ast.Mult) and not _is_small(left, right):
            raise TooMuch(f"`{ast.unparse(node)[:60]}` is too large")
        if isinstance(node.op, ast.Mod) and isinstance(left, (str, bytes)):
            values = right if isinstance(right, tuple) else (right,)
            if any(character.isdigit() for character in str(left)) or not all(isinstance(v, PLAIN) for v in values):
                return Unknown(f"`{ast.unparse(node)[:60]}` is not followed")
        try:
            result = operation(left, right)
        except (TypeError, ValueError, ArithmeticError) as error:
            return Unknown(f"`{ast.unparse(node)[:60]}` is not followed: {error}")
        if isinstance(result, (str, bytes, list)) and len(result) > LONGEST:
            raise TooMuch("the text gets too long")
        return self._kept(result, left, right)

    def _kept(self, result: Value, left: Value, right: Value) -> Value:
        """Text that is put before or behind a file's text makes it no other file's."""
        whose = left if isinstance(left, TreeText) else right
        if isinstance(result, str) and isinstance(whose, TreeText):
            from preflight.tree.scripts.outcome import Made

            added = right if whose is left else left
            self.steps.outcome.made.setdefault(whose.path, []).append(Made(self.line, str(added)))
            self.steps.found.add(whose.path)
            return TreeText.of(result, whose.path)
        return result

    def _Compare_(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            answer = self._compared(operation, left, right, node.lineno + self.shift)
            if answer is None:
                return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
            if not answer:
                return False
            left = right
        return True

    def _compared(self, operation: ast.cmpop, left: Value, right: Value, line: int) -> bool | None:
        if right == ARGV and isinstance(left, str) and left.startswith("-"):
            return isinstance(operation, ast.NotIn)  # it is run without options
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return None
        if isinstance(operation, (ast.Is, ast.IsNot)):
            if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
                return (left is right) is isinstance(operation, ast.Is)
            return None
        if not (isinstance(left, PLAIN) and isinstance(right, PLAIN)):
            return None
        if _holds_unknown(left) or _holds_unknown(right):
            return None
        try:
            if isinstance(operation, (ast.In, ast.NotIn)):
                found = left in right
                if isinstance(left, str):
                    self.steps.tested(right, left, line, found)
                return found is isinstance(operation, ast.In)
            return bool(COMPARISONS[type(operation)](left, right))
        except TypeError:
            return None

    # -- comprehensions -----------------------------------------------------------------------------------------------

    def _ListComp_(self, node: ast.ListComp) -> Value:
        return self._comprehended(node.generators, lambda: self.value(node.elt))

    def _GeneratorExp_(self, node: ast.GeneratorExp) -> Value:
        return self._comprehended(node.generators, lambda: self.value(node.elt))

    def _SetComp_(self, node: ast.SetComp) -> Value:
        return self._comprehended(node.generators, lambda: self.value(node.elt))

    def _DictComp_(self, node: ast.DictComp) -> Value:
        found = self._comprehended(node.generators, lambda: (self.value(node.key), self.value(node.value)))
        try:
            return found if isinstance(found, Unknown) else dict(found)
        except TypeError:
            return Unknown("a dictionary of things that are not followed")

    def _comprehended(self, generators: list[ast.comprehension], made: Callable[[], Value]) -> Value:
        found: list[Value] = []
        outer = self.scope
        self.scope = Scope(outer=outer)
        try:
            if self._each(generators, 0, made, found) is False:
                return Unknown("what a comprehension goes over is not known")
        finally:
            self.scope = outer
        return found

    def _each(
        self, generators: list[ast.comprehension], at: int, made: Callable[[], Value], found: list[Value]
    ) -> bool:
        if at == len(generators):
            found.append(made())
            if len(found) > _MANY:
                raise TooMuch("a comprehension is too long")
            return True
        items = self.items(generators[at].iter)
        if items is None:
            return False
        for item in items:
            self.bind(generators[at].target, item)
            answers = [self.holds(test) for test in generators[at].ifs]
            if None in answers:
                return False
            if all(answers) and not self._each(generators, at + 1, made, found):
                return False
        return True


def truth(value: Value) -> bool | None:
    """Whether a value is true; None if that is not known."""
    if isinstance(value, PLAIN):
        return bool(value)
    if isinstance(value, (ModuleOfTree, Handle, Function)):
        return True
    import re

    return True if isinstance(value, (re.Match, re.Pattern)) else None


def listed(value: Value) -> list[Value] | None:
    """What iterating over a value gives; None if that is not known."""
    if isinstance(value, (list, tuple, dict, set, frozenset, str, range)):
        if len(value) > LONGEST:
            raise TooMuch("a list is too long")
        return list(value)
    if isinstance(value, Handle) and isinstance(value.text, str):
        return value.text.splitlines(keepends=True)
    return None


def _only_tested(value: Value) -> bool:
    return isinstance(value, bool)


def _holds_unknown(value: Value) -> bool:
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(not isinstance(one, PLAIN) for one in value)
    return False


def _is_small(left: Value, right: Value) -> bool:
    number = left if isinstance(left, int) else right
    other = right if number is left else left
    if isinstance(other, (int, float)):
        return isinstance(number, int) and abs(number) < 1 << 64 and abs(other) < 1 << 64
    return isinstance(number, int) and number * max(len(other), 1) <= LONGEST
