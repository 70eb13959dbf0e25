"""What one Python file says at import time, as plain data: the facts that are cached by content hash.

The facts of a file depend on nothing but its bytes: relative imports stay relative (level and name), conditions stay
undecided. What they mean in a tree is decided by the rest of this package. They are NamedTuples, not dataclasses,
because thousands of them are read back from the cache in a run, and only a tuple is rebuilt without running Python.

Lines and columns count from 1, columns count characters, an end is the place just behind the last character.
"""

from __future__ import annotations

from typing import NamedTuple

#: bumped whenever the shape or the meaning of the facts changes: it is part of the cache key
FACTS_VERSION = 5


class Expression(NamedTuple):
    """A piece of source: what stands at a place, to be parsed again only by those who need its value."""

    text: str
    line: int
    column: int


class Parameter(NamedTuple):
    """A parameter of a function. ``kind`` is one of the KIND_* below; ``default`` None: it must be given."""

    name: str
    kind: int
    default: Expression | None
    annotation: Expression | None
    line: int
    column: int


#: the kinds of a parameter, in the order of ``inspect.Parameter``
KIND_POSITIONAL_ONLY, KIND_POSITIONAL_OR_KEYWORD, KIND_VAR_POSITIONAL, KIND_KEYWORD_ONLY, KIND_VAR_KEYWORD = range(5)


class Guard(NamedTuple):
    """One thing that an import stands under, outermost first.

    ``kind``: "if" and "else" (``test`` is the condition), "try" (``caught`` are the names its handlers catch, "*" for a
    bare ``except``), "except" (``caught`` are those of this handler), "finally", "loop", "with", "match", "class" and
    "function" (``name`` is the qualified name).
    """

    kind: str
    line: int
    test: Expression | None = None
    caught: tuple[str, ...] = ()
    name: str = ""


class Import(NamedTuple):
    """One name of an import statement.

    ``import a.b as c``: module "a.b", name None, bound "c"; ``import a.b``: bound "a" (which is then module "a", for it
    is not ``aliased``); ``from ..m import x as y``: level 2, module "m", name "x", bound "y"; a star import has name
    "*" and bound "".
    ``end_line`` and ``end_column`` close the alias, ``statement_line`` is where the statement begins.
    """

    level: int
    module: str
    name: str | None
    bound: str
    aliased: bool
    line: int
    column: int
    end_line: int
    end_column: int
    statement_line: int
    guards: tuple[Guard, ...]


class Assign(NamedTuple):
    """A name gets a value. ``kind``: "=", ":=", an augmented operator such as "+=", ":" (annotation without a value),
    "for", "with", "except", "match" or "type"; ``value`` is None where it is not one expression for this name alone."""

    name: str
    kind: str
    value: Expression | None
    annotation: Expression | None
    line: int
    column: int


class Delete(NamedTuple):
    """``del name``."""

    name: str
    line: int
    column: int


class SetAttribute(NamedTuple):
    """``target.attribute = value`` or ``target[key] = value`` (attribute "[]") in the body of a module or class."""

    target: Expression
    attribute: str
    value: Expression | None
    line: int
    column: int
    key: Expression | None = None


class Call(NamedTuple):
    """An expression statement: it may change what it is given."""

    value: Expression


class Raise(NamedTuple):
    """A ``raise`` in the body of a module or class."""

    value: Expression | None
    line: int
    column: int


class If(NamedTuple):
    """``if test: body else: orelse``."""

    test: Expression
    body: tuple[Item, ...]
    orelse: tuple[Item, ...]
    line: int


class Handler(NamedTuple):
    """An ``except``; ``caught`` as in Guard."""

    caught: tuple[str, ...]
    body: tuple[Item, ...]
    line: int


class Try(NamedTuple):
    """``try`` with all its arms."""

    body: tuple[Item, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Item, ...]
    final: tuple[Item, ...]
    line: int


class Branches(NamedTuple):
    """A loop or a ``match``: any of the arms may run, or none. ``kind``: "loop" or "match"."""

    kind: str
    arms: tuple[tuple[Item, ...], ...]
    line: int


class With(NamedTuple):
    """``with``: the body runs; a manager may swallow an exception (``contexts`` say which managers there are)."""

    contexts: tuple[Expression, ...]
    body: tuple[Item, ...]
    line: int


class Store(NamedTuple):
    """``self.attribute = ...`` in a method; ``certain``: under no condition of that method."""

    attribute: str
    line: int
    column: int
    certain: bool
    kind: str  # "=", "+=", ":" or "del"


class FunctionFacts(NamedTuple):
    """A function or method.

    ``stub``: None for a real body, else "...", "docstring", "pass" or "raise NotImplementedError".
    ``stores`` are the attributes it sets on its first parameter, ``self_calls`` the methods it calls on it as a
    statement or as the whole right side of an assignment, ``init_calls`` whose ``__init__`` it calls ("super" or the
    name as written). ``inner`` are the functions and classes defined directly in it.
    """

    name: str
    qualname: str
    line: int
    column: int
    end_line: int
    is_async: bool
    parameters: tuple[Parameter, ...]
    returns: Expression | None
    decorators: tuple[Expression, ...]
    stub: str | None
    stores: tuple[Store, ...]
    self_calls: tuple[str, ...]
    init_calls: tuple[str, ...]
    imports: tuple[Import, ...]
    globals: tuple[str, ...]
    inner: tuple[FunctionFacts | ClassFacts, ...]


class ClassFacts(NamedTuple):
    """A class statement. ``line`` is the line of ``class``, ``first_line`` that of its first decorator."""

    name: str
    qualname: str
    line: int
    column: int
    end_line: int
    first_line: int
    bases: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    decorators: tuple[Expression, ...]
    body: tuple[Item, ...]
    imports: tuple[Import, ...]
    type_parameters: bool  # ``class C[T]``


class Hole(NamedTuple):
    """Why a file could not be read as Python."""

    message: str
    line: int | None
    column: int | None


class ModuleFacts(NamedTuple):
    """All of one file. ``imports`` is every import of it, in functions too, in source order."""

    body: tuple[Item, ...]
    imports: tuple[Import, ...]
    #: names that functions declare ``global``: they may be bound at any time
    globals: tuple[str, ...]
    #: why names may come and go that no statement names: ``globals()[...] = ``, ``exec``, ``setattr`` on a module ...
    dynamic: tuple[tuple[str, int], ...]
    #: the line of a statement that replaces the module itself: ``sys.modules[__name__] = ...``
    replaced: int | None
    hole: Hole | None = None


Item = Import | Assign | Delete | SetAttribute | Call | Raise | If | Try | Branches | With | FunctionFacts | ClassFacts
