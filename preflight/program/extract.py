"""The facts of one file out of its syntax tree. Only statements are walked; expressions are kept as text."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Sequence

from preflight.program.facts import (
    Assign,
    Branches,
    Call,
    ClassFacts,
    Delete,
    Expression,
    Guard,
    Handler,
    Hole,
    If,
    Import,
    Item,
    ModuleFacts,
    Raise,
    SetAttribute,
    Try,
    With,
)
from preflight.program.function_facts import FunctionExtractor
from preflight.program.source_text import SourceText
from preflight.program.syntax_nodes import FUNCTIONS, TRY, dotted

#: a file larger than this is no hand-written Python; reading it would cost more than it can tell
MAX_BYTES = 16 * 1024 * 1024


def parse(data: bytes) -> ast.Module | Hole:
    """The syntax tree of a file, or why there is none. Nothing that a file can hold makes this raise."""
    if len(data) > MAX_BYTES:
        return Hole(f"the file has {len(data)} bytes, more than the {MAX_BYTES} that are read", None, None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except SyntaxError as error:
        return Hole(error.msg or "invalid syntax", error.lineno, error.offset)
    except (ValueError, RecursionError, MemoryError, LookupError) as error:
        return Hole(f"{type(error).__name__}: {error}", None, None)


def extract(tree: ast.Module, data: bytes) -> ModuleFacts:
    """The facts of a file whose syntax tree is ``tree``. Raises RecursionError for absurdly nested code."""
    return Extractor(data).module(tree)


def facts_of(data: bytes) -> tuple[ModuleFacts, ast.Module | None]:
    """Parse and extract; a file that cannot be read gives facts that are a hole."""
    tree = parse(data)
    if isinstance(tree, Hole):
        return ModuleFacts((), (), (), (), None, tree), None
    try:
        return extract(tree, data), tree
    except RecursionError:
        return ModuleFacts((), (), (), (), None, Hole("the code is nested too deeply", None, None)), None


class Extractor:
    """Walks the body of one file; functions are the matter of ``FunctionExtractor``."""

    def __init__(self, data: bytes) -> None:
        self.text = SourceText(data)
        self.expression = self.text.expression
        self.column = self.text.column
        self.functions = FunctionExtractor(self)
        self.imports: list[Import] = []
        self.globals: list[str] = []
        self.dynamic: list[tuple[str, int]] = []
        self.replaced: int | None = None

    # -- a module -------------------------------------------------------------------------------------------------

    def module(self, tree: ast.Module) -> ModuleFacts:
        body = self.block(tree.body, (), "")
        self.imports.sort(key=lambda found: (found.line, found.column))
        self.dynamic.extend(self.text.dynamic_text())
        return ModuleFacts(
            body, tuple(self.imports), tuple(dict.fromkeys(self.globals)), tuple(self.dynamic), self.replaced
        )

    def block(self, statements: Sequence[ast.stmt], guards: tuple[Guard, ...], prefix: str) -> tuple[Item, ...]:
        """The items of a module's or a class's body; ``prefix`` is the qualified name of the class and a dot."""
        items: list[Item] = []
        for node in statements:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found = self.import_statement(node, guards)
                self.imports.extend(found)
                items.extend(found)
            elif isinstance(node, FUNCTIONS):
                items.append(self.functions.function(node, guards, prefix, in_class=bool(prefix)))
            elif isinstance(node, ast.ClassDef):
                items.append(self.class_statement(node, guards, prefix))
            elif isinstance(node, ast.If):
                test = self.expression(node.test)
                self.walrus(node.test, items)
                body = self.block(node.body, (*guards, Guard("if", node.lineno, test)), prefix)
                orelse = self.block(node.orelse, (*guards, Guard("else", node.lineno, test)), prefix)
                if body or orelse:
                    items.append(If(test, body, orelse, node.lineno))
            elif isinstance(node, TRY):
                items.append(self.try_statement(node, guards, prefix))
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                inner: list[Item] = []
                if not isinstance(node, ast.While):
                    self.targets(node.target, "for", None, inner)
                    self.walrus(node.iter, items)
                inside = (*guards, Guard("loop", node.lineno))
                arms = (
                    (*inner, *self.block(node.body, inside, prefix)),
                    self.block(node.orelse, inside, prefix),
                )
                items.append(Branches("loop", arms, node.lineno))
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                opened: list[Item] = []
                for item in node.items:
                    if item.optional_vars is not None:
                        self.targets(item.optional_vars, "with", None, opened)
                inside = (*guards, Guard("with", node.lineno))
                contexts = tuple(self.expression(item.context_expr) for item in node.items)
                items.append(With(contexts, (*opened, *self.block(node.body, inside, prefix)), node.lineno))
            elif isinstance(node, ast.Match):
                inside = (*guards, Guard("match", node.lineno))
                arms_found: list[tuple[Item, ...]] = []
                for case in node.cases:
                    captured: list[Item] = []
                    for part in ast.walk(case.pattern):
                        name = getattr(part, "name", None) or getattr(part, "rest", None)
                        if isinstance(name, str):
                            line, offset = getattr(part, "lineno", node.lineno), getattr(part, "col_offset", 0)
                            captured.append(Assign(name, "match", None, None, line, self.column(line, offset)))
                    arms_found.append((*captured, *self.block(case.body, inside, prefix)))
                items.append(Branches("match", tuple(arms_found), node.lineno))
            else:
                self.simple(node, items)
        return tuple(items)

    def simple(self, node: ast.stmt, items: list[Item]) -> None:
        """A statement without a body."""
        if isinstance(node, ast.Assign):
            self.walrus(node.value, items)
            value = self.expression(node.value)
            for target in node.targets:
                self.targets(target, "=", value, items, node.value)
        elif isinstance(node, ast.AnnAssign):
            annotation = self.expression(node.annotation)
            value = self.text.maybe(node.value)
            if isinstance(node.target, ast.Name):
                line, offset = node.target.lineno, node.target.col_offset
                kind = "=" if value is not None else ":"
                items.append(Assign(node.target.id, kind, value, annotation, line, self.column(line, offset)))
            elif value is not None:
                self.targets(node.target, "=", value, items)
        elif isinstance(node, ast.AugAssign):
            kind = _OPERATORS.get(type(node.op), "?") + "="
            self.targets(node.target, kind, self.expression(node.value), items)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    column = self.column(target.lineno, target.col_offset)
                    items.append(Delete(target.id, target.lineno, column))
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.walrus(node.value, items)
                self.notice_dynamic(node.value)
                items.append(Call(self.expression(node.value)))
        elif isinstance(node, ast.Raise):
            column = self.column(node.lineno, node.col_offset)
            items.append(Raise(self.text.maybe(node.exc), node.lineno, column))
        elif isinstance(node, ast.Assert):
            self.walrus(node.test, items)
        elif type(node).__name__ == "TypeAlias":  # Python 3.12 and later
            name = node.name  # type: ignore[attr-defined]
            items.append(Assign(name.id, "type", None, None, name.lineno, self.column(name.lineno, name.col_offset)))

    def targets(
        self,
        target: ast.expr,
        kind: str,
        value: Expression | None,
        items: list[Item],
        value_node: ast.expr | None = None,
    ) -> None:
        """The names and attributes that an assignment sets; a tuple is taken apart where the value is one too."""
        if isinstance(target, ast.Name):
            column = self.column(target.lineno, target.col_offset)
            items.append(Assign(target.id, kind, value, None, target.lineno, column))
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: Sequence[ast.expr] | None = None
            if isinstance(value_node, (ast.Tuple, ast.List)) and len(value_node.elts) == len(target.elts):
                parts = value_node.elts
                if any(isinstance(part, ast.Starred) for part in (*parts, *target.elts)):
                    parts = None
            for index, element in enumerate(target.elts):
                part = parts[index] if parts is not None else None
                self.targets(element, kind, self.text.maybe(part), items, part)
        elif isinstance(target, ast.Starred):
            self.targets(target.value, kind, None, items)
        elif isinstance(target, ast.Attribute):
            column = self.column(target.lineno, target.col_offset)
            where = self.expression(target.value)
            items.append(SetAttribute(where, target.attr, value, target.lineno, column))
        elif isinstance(target, ast.Subscript):
            where = self.expression(target.value)
            if where.text == "sys.modules":
                if self.expression(target.slice).text == "__name__":
                    self.replaced = target.lineno
            elif where.text in ("locals()", "vars()"):
                self.dynamic.append((f"{where.text}[...] is assigned", target.lineno))
            elif where.text != "globals()":
                column = self.column(target.lineno, target.col_offset)
                items.append(SetAttribute(where, "[]", value, target.lineno, column, self.expression(target.slice)))

    def walrus(self, node: ast.expr, items: list[Item]) -> None:
        """Names bound by ``:=``; one in a comprehension binds in the scope around it, which is this one."""
        if b":=" not in self.text.lines[node.lineno - 1] and node.lineno == node.end_lineno:
            return
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name):
                line, offset = part.target.lineno, part.target.col_offset
                items.append(Assign(part.target.id, ":=", None, None, line, self.column(line, offset)))

    def notice_dynamic(self, node: ast.expr) -> None:
        """Calls in a module's or class's body that bind names which nothing spells out."""
        if not isinstance(node, ast.Call):
            return
        name = dotted(node.func)
        if name in ("exec", "eval"):
            self.dynamic.append((f"{name} is called", node.lineno))
        elif name in ("setattr", "delattr") and node.args and not isinstance(node.args[0], ast.Name):
            self.dynamic.append((f"{name} is called on {self.expression(node.args[0]).text}", node.lineno))

    # -- statements with bodies -----------------------------------------------------------------------------------

    def import_statement(self, node: ast.Import | ast.ImportFrom, guards: tuple[Guard, ...]) -> list[Import]:
        found: list[Import] = []
        for alias in node.names:
            line, end = alias.lineno, alias.end_lineno or alias.lineno
            place = (
                line,
                self.column(line, alias.col_offset),
                end,
                self.column(end, alias.end_col_offset or 0),
                node.lineno,
                guards,
            )
            if isinstance(node, ast.Import):
                bound = alias.asname or alias.name.partition(".")[0]
                found.append(Import(0, alias.name, None, bound, alias.asname is not None, *place))
            else:
                bound = "" if alias.name == "*" else alias.asname or alias.name
                aliased = alias.asname is not None
                found.append(Import(node.level, node.module or "", alias.name, bound, aliased, *place))
        return found

    def try_statement(self, node: ast.Try, guards: tuple[Guard, ...], prefix: str) -> Try:
        caught_by = [self.caught(handler) for handler in node.handlers]
        caught = tuple(dict.fromkeys(name for names in caught_by for name in names))
        body = self.block(node.body, (*guards, Guard("try", node.lineno, None, caught)), prefix)
        handlers: list[Handler] = []
        for handler, names in zip(node.handlers, caught_by, strict=True):
            inside = (*guards, Guard("except", handler.lineno, None, names))
            handlers.append(Handler(names, self.block(handler.body, inside, prefix), handler.lineno))
        orelse = self.block(node.orelse, guards, prefix)
        final = self.block(node.finalbody, (*guards, Guard("finally", node.lineno)), prefix)
        return Try(body, tuple(handlers), orelse, final, node.lineno)

    def caught(self, handler: ast.ExceptHandler) -> tuple[str, ...]:
        if handler.type is None:
            return ("*",)
        kinds: Iterable[ast.expr] = handler.type.elts if isinstance(handler.type, ast.Tuple) else (handler.type,)
        return tuple(dotted(kind) or self.expression(kind).text for kind in kinds)

    def class_statement(self, node: ast.ClassDef, guards: tuple[Guard, ...], prefix: str) -> ClassFacts:
        qualname = prefix + node.name
        inside = (*guards, Guard("class", node.lineno, None, (), qualname))
        before = len(self.imports)
        body = self.block(node.body, inside, qualname + ".")
        decorators = tuple(self.expression(decorator) for decorator in node.decorator_list)
        return ClassFacts(
            node.name,
            qualname,
            node.lineno,
            self.column(node.lineno, node.col_offset),
            node.end_lineno or node.lineno,
            decorators[0].line if decorators else node.lineno,
            tuple(self.expression(base) for base in node.bases),
            tuple((keyword.arg or "**", self.expression(keyword.value)) for keyword in node.keywords),
            decorators,
            body,
            tuple(self.imports[before:]),
            bool(getattr(node, "type_params", None)),
        )


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
