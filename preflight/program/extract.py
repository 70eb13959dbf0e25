"""The facts of one file out of its syntax tree. Only statements are walked; expressions are kept as text."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Sequence

from preflight.program.facts import (
    KIND_KEYWORD_ONLY,
    KIND_POSITIONAL_ONLY,
    KIND_POSITIONAL_OR_KEYWORD,
    KIND_VAR_KEYWORD,
    KIND_VAR_POSITIONAL,
    Assign,
    Branches,
    Call,
    ClassFacts,
    Delete,
    Expression,
    FunctionFacts,
    Guard,
    Handler,
    Hole,
    If,
    Import,
    Item,
    ModuleFacts,
    Parameter,
    Raise,
    SetAttribute,
    Store,
    Try,
    With,
)

#: a file larger than this is no hand-written Python; reading it would cost more than it can tell
MAX_BYTES = 16 * 1024 * 1024

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRY = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)


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
    return _Extractor(data).module(tree)


def facts_of(data: bytes) -> tuple[ModuleFacts, ast.Module | None]:
    """Parse and extract; a file that cannot be read gives facts that are a hole."""
    tree = parse(data)
    if isinstance(tree, Hole):
        return ModuleFacts((), (), (), (), None, tree), None
    try:
        return extract(tree, data), tree
    except RecursionError:
        return ModuleFacts((), (), (), (), None, Hole("the code is nested too deeply", None, None)), None


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` as text, None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


class _Scope:
    """What is collected while the statements of one function are walked."""

    __slots__ = ("depth", "globals", "imports", "init_calls", "inner", "qualname", "self_calls", "self_name", "stores")

    def __init__(self, qualname: str, self_name: str | None) -> None:
        self.qualname = qualname
        self.self_name = self_name
        self.stores: list[Store] = []
        self.self_calls: list[str] = []
        self.init_calls: list[str] = []
        self.imports: list[Import] = []
        self.globals: list[str] = []
        self.inner: list[FunctionFacts | ClassFacts] = []
        self.depth = 0  # how many conditions the statement stands under


class _Extractor:
    def __init__(self, data: bytes) -> None:
        text = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            text = _as_utf8(data)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.lines = text.split(b"\n")
        self.ascii = text.isascii()
        self.imports: list[Import] = []
        self.globals: list[str] = []
        self.dynamic: list[tuple[str, int]] = []
        self.replaced: int | None = None

    # -- places ---------------------------------------------------------------------------------------------------

    def column(self, line: int, offset: int) -> int:
        if self.ascii:
            return offset + 1
        return len(self.lines[line - 1][:offset].decode("utf-8", "replace")) + 1

    def expression(self, node: ast.expr) -> Expression:
        line, end = node.lineno, node.end_lineno or node.lineno
        start, stop = node.col_offset, node.end_col_offset or 0
        if line == end:
            piece = self.lines[line - 1][start:stop]
        else:
            piece = b"\n".join([self.lines[line - 1][start:], *self.lines[line : end - 1], self.lines[end - 1][:stop]])
        return Expression(piece.decode("utf-8", "replace"), line, self.column(line, start))

    def maybe(self, node: ast.expr | None) -> Expression | None:
        return None if node is None else self.expression(node)

    # -- a module -------------------------------------------------------------------------------------------------

    def module(self, tree: ast.Module) -> ModuleFacts:
        body = self.block(tree.body, (), "")
        self.imports.sort(key=lambda found: (found.line, found.column))
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
            elif isinstance(node, _FUNCTIONS):
                items.append(self.function(node, guards, prefix, in_class=bool(prefix)))
            elif isinstance(node, ast.ClassDef):
                items.append(self.class_statement(node, guards, prefix))
            elif isinstance(node, ast.If):
                test = self.expression(node.test)
                self.walrus(node.test, items)
                body = self.block(node.body, (*guards, Guard("if", node.lineno, test)), prefix)
                orelse = self.block(node.orelse, (*guards, Guard("else", node.lineno, test)), prefix)
                if body or orelse:
                    items.append(If(test, body, orelse, node.lineno))
            elif isinstance(node, _TRY):
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
            value = self.maybe(node.value)
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
            items.append(Raise(self.maybe(node.exc), node.lineno, column))
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
                self.targets(element, kind, self.maybe(part), items, part)
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
                else:
                    self.dynamic.append(("sys.modules is written", target.lineno))
            elif where.text in ("globals()", "locals()", "vars()"):
                self.dynamic.append((f"{where.text}[...] is assigned", target.lineno))
            else:
                column = self.column(target.lineno, target.col_offset)
                items.append(SetAttribute(where, "[]", value, target.lineno, column, self.expression(target.slice)))

    def walrus(self, node: ast.expr, items: list[Item]) -> None:
        """Names bound by ``:=``; one in a comprehension binds in the scope around it, which is this one."""
        if b":=" not in self.lines[node.lineno - 1] and node.lineno == node.end_lineno:
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
        if name is None:
            inner = node.func
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Call):
                owner = dotted(inner.value.func)
                if owner in ("globals", "locals", "vars") and inner.attr in ("update", "setdefault", "pop", "clear"):
                    self.dynamic.append((f"{owner}().{inner.attr} is called", node.lineno))
            return
        if name in ("sys.meta_path.append", "sys.meta_path.insert"):
            self.dynamic.append(("sys.meta_path gets a finder", node.lineno))
        elif name in ("exec", "eval"):
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

    def function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        guards: tuple[Guard, ...],
        prefix: str,
        in_class: bool,
    ) -> FunctionFacts:
        qualname = prefix + node.name
        parameters = self.parameters(node.args)
        decorators = tuple(self.expression(decorator) for decorator in node.decorator_list)
        static = any(decorator.text in ("staticmethod", "classmethod") for decorator in decorators)
        self_name = parameters[0].name if in_class and not static and parameters else None
        scope = _Scope(qualname, self_name)
        self.function_block(node.body, (*guards, Guard("function", node.lineno, None, (), qualname)), scope)
        self.imports.extend(scope.imports)
        self.globals.extend(scope.globals)
        return FunctionFacts(
            node.name,
            qualname,
            node.lineno,
            self.column(node.lineno, node.col_offset),
            node.end_lineno or node.lineno,
            isinstance(node, ast.AsyncFunctionDef),
            parameters,
            self.maybe(node.returns),
            decorators,
            _stub(node.body),
            tuple(scope.stores),
            tuple(dict.fromkeys(scope.self_calls)),
            tuple(dict.fromkeys(scope.init_calls)),
            tuple(scope.imports),
            tuple(dict.fromkeys(scope.globals)),
            tuple(scope.inner),
        )

    def parameters(self, arguments: ast.arguments) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
        defaults.extend(arguments.defaults)
        for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
            only = index < len(arguments.posonlyargs)
            found.append(
                self.parameter(argument, KIND_POSITIONAL_ONLY if only else KIND_POSITIONAL_OR_KEYWORD, default)
            )
        if arguments.vararg is not None:
            found.append(self.parameter(arguments.vararg, KIND_VAR_POSITIONAL, None))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            found.append(self.parameter(argument, KIND_KEYWORD_ONLY, default))
        if arguments.kwarg is not None:
            found.append(self.parameter(arguments.kwarg, KIND_VAR_KEYWORD, None))
        return tuple(found)

    def parameter(self, argument: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
        column = self.column(argument.lineno, argument.col_offset)
        return Parameter(
            argument.arg, kind, self.maybe(default), self.maybe(argument.annotation), argument.lineno, column
        )

    # -- the statements of a function -----------------------------------------------------------------------------

    def function_block(self, statements: Sequence[ast.stmt], guards: tuple[Guard, ...], scope: _Scope) -> None:
        for node in statements:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                scope.imports.extend(self.import_statement(node, guards))
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)):
                self.store_statement(node, scope)
            elif isinstance(node, ast.Expr):
                self.call_statement(node.value, scope)
            elif isinstance(node, ast.Global):
                scope.globals.extend(node.names)
            elif isinstance(node, ast.If):
                test = self.expression(node.test)
                scope.depth += 1
                self.function_block(node.body, (*guards, Guard("if", node.lineno, test)), scope)
                self.function_block(node.orelse, (*guards, Guard("else", node.lineno, test)), scope)
                scope.depth -= 1
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                scope.depth += 1
                if not isinstance(node, ast.While):
                    self.store_target(node.target, "=", scope)
                inside = (*guards, Guard("loop", node.lineno))
                self.function_block(node.body, inside, scope)
                self.function_block(node.orelse, inside, scope)
                scope.depth -= 1
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    if item.optional_vars is not None:
                        self.store_target(item.optional_vars, "=", scope)
                self.function_block(node.body, (*guards, Guard("with", node.lineno)), scope)
            elif isinstance(node, _TRY):
                self.function_try(node, guards, scope)
            elif isinstance(node, ast.Match):
                scope.depth += 1
                for case in node.cases:
                    self.function_block(case.body, (*guards, Guard("match", node.lineno)), scope)
                scope.depth -= 1
            elif isinstance(node, _FUNCTIONS):
                prefix = scope.qualname + ".<locals>."
                inner = self.function(node, guards, prefix, in_class=False)
                scope.inner.append(inner)
            elif isinstance(node, ast.ClassDef):
                scope.inner.append(self.class_statement(node, guards, scope.qualname + ".<locals>."))

    def function_try(self, node: ast.Try, guards: tuple[Guard, ...], scope: _Scope) -> None:
        caught_by = [self.caught(handler) for handler in node.handlers]
        caught = tuple(dict.fromkeys(name for names in caught_by for name in names))
        scope.depth += 1
        self.function_block(node.body, (*guards, Guard("try", node.lineno, None, caught)), scope)
        for handler, names in zip(node.handlers, caught_by, strict=True):
            self.function_block(handler.body, (*guards, Guard("except", handler.lineno, None, names)), scope)
        self.function_block(node.orelse, guards, scope)
        scope.depth -= 1
        self.function_block(node.finalbody, (*guards, Guard("finally", node.lineno)), scope)

    def store_statement(self, node: ast.stmt, scope: _Scope) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.store_target(target, "=", scope)
            self.call_statement(node.value, scope)
        elif isinstance(node, ast.AnnAssign):
            self.store_target(node.target, ":" if node.value is None else "=", scope)
            if node.value is not None:
                self.call_statement(node.value, scope)
        elif isinstance(node, ast.AugAssign):
            self.store_target(node.target, "+=", scope)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self.store_target(target, "del", scope)

    def store_target(self, target: ast.expr, kind: str, scope: _Scope) -> None:
        if isinstance(target, ast.Attribute):
            if isinstance(target.value, ast.Name) and target.value.id == scope.self_name:
                column = self.column(target.lineno, target.col_offset)
                scope.stores.append(Store(target.attr, target.lineno, column, scope.depth == 0, kind))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.store_target(element, kind, scope)
        elif isinstance(target, ast.Starred):
            self.store_target(target.value, kind, scope)

    def call_statement(self, node: ast.expr, scope: _Scope) -> None:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return
        owner, attribute = node.func.value, node.func.attr
        if isinstance(owner, ast.Name) and owner.id == scope.self_name:
            scope.self_calls.append(attribute)
        elif attribute == "__init__":
            if isinstance(owner, ast.Call) and dotted(owner.func) == "super":
                scope.init_calls.append("super")
            else:
                scope.init_calls.append(dotted(owner) or self.expression(owner).text)


def _as_utf8(data: bytes) -> bytes:
    """Source in another encoding, as the offsets of its syntax tree count it: in UTF-8."""
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding, "replace").encode("utf-8")
    except (SyntaxError, LookupError):
        return data


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _stub(body: Sequence[ast.stmt]) -> str | None:
    """What a body without content is made of, None for a real one."""
    rest = list(body)
    docstring = False
    if rest and _is_string(rest[0]):
        docstring = True
        rest = rest[1:]
    if not rest:
        return "docstring"
    if len(rest) > 1:
        return None
    only = rest[0]
    if isinstance(only, ast.Pass):
        return "pass"
    if isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant):
        return "..." if only.value.value is Ellipsis else ("docstring" if docstring else None)
    if isinstance(only, ast.Raise) and only.exc is not None:
        raised = only.exc.func if isinstance(only.exc, ast.Call) else only.exc
        if dotted(raised) == "NotImplementedError":
            return "raise NotImplementedError"
    return None


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
