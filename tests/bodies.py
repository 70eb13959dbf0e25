"""Random bodies of modules and functions, and what Python itself makes of them.

Every open question of a body (a condition, how often a loop runs, whether a manager swallows) is answered by a list of
booleans, so one body can be run in every way that it may take.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

NAMES = ("a", "b", "c")


class _Arithmetic(type):
    def __add__(cls, other: object) -> type:
        return cls

    __iadd__ = __add__


class Thing(metaclass=_Arithmetic):
    """The value of every name: it may be added to, and be a base class."""


class Answers:
    """Answers to the open questions of a body; no to all that come after the last."""

    def __init__(self, answers: Sequence[bool]) -> None:
        self._answers = iter(answers)

    def flag(self) -> bool:
        return next(self._answers, False)

    def items(self) -> list[type]:
        return [Thing] if self.flag() else []

    @contextlib.contextmanager
    def manager(self) -> Iterator[type]:
        try:
            yield Thing
        except Exception:
            if not self.flag():
                raise

    def namespace(self) -> dict[str, object]:
        return {
            "flag": self.flag,
            "items": self.items,
            "manager": self.manager,
            "suppress": contextlib.suppress,
            "use": lambda *values: None,
            "Thing": Thing,
        }


def indented(lines: str) -> str:
    return textwrap.indent(lines, "    ")


names = st.sampled_from(NAMES)

simple = st.one_of(
    st.builds("{} = Thing\n".format, names),
    st.builds("use({})\n".format, names),
    st.builds("use({})\n".format, names),
    st.builds("del {}\n".format, names),
    st.builds("{} += 1\n".format, names),
    st.builds("use(({} := Thing))\n".format, names),
    st.builds("use([{} for {} in (1, 2)])\n".format, names, names),
    st.builds("use([({} := {}) for i in (1,)])\n".format, names, names),
    st.builds("use({} if flag() else {})\n".format, names, names),
    st.builds("use(flag() and {})\n".format, names),
    st.builds("use(lambda: {})\n".format, names),
    st.builds("import os as {}\n".format, names),
    st.builds("{}: Thing = {}\n".format, names, names),
    st.builds("assert flag() or True, {}\n".format, names),
)


def compound(blocks: st.SearchStrategy[str], jumps: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Statements that hold blocks; ``jumps`` may end one inside of a loop."""
    inner = blocks.map(indented)
    looped = st.builds(lambda block, jump: indented(block + jump), blocks, jumps)
    caught = st.sampled_from(["NameError", "ValueError", "Exception", "(KeyError, NameError)"])
    return st.one_of(
        st.builds("if {}:\n{}".format, st.sampled_from(["flag()", "True", "False"]), inner),
        st.builds("if flag():\n{}else:\n{}".format, inner, inner),
        st.builds("for {} in items():\n{}".format, names, looped),
        st.builds("for {} in items():\n{}else:\n{}".format, names, looped, inner),
        st.builds("while flag():\n{}".format, looped),
        st.builds("try:\n{}except {}:\n{}".format, inner, caught, inner),
        st.builds("try:\n{}except {} as {}:\n{}else:\n{}".format, inner, caught, names, inner, inner),
        st.builds("try:\n{}finally:\n{}".format, inner, inner),
        st.builds("with manager() as {}:\n{}".format, names, inner),
        st.builds("with suppress(NameError):\n{}".format, inner),
        st.builds(
            "match flag():\n    case True:\n{}    case {}:\n{}".format, inner.map(indented), names, inner.map(indented)
        ),
    )


def block_of(statements: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(statements, min_size=1, max_size=4).map("".join)


def bodies(*more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Blocks of statements, ``more`` kinds of them among the simple ones."""
    jumps = st.sampled_from(["", "", "break\n", "continue\n", "raise ValueError\n"])
    leaf = block_of(st.one_of(simple, *more))
    return st.recursive(leaf, lambda blocks: block_of(st.one_of(simple, *more, compound(blocks, jumps))), max_leaves=8)


def defined(body: str, name: str = "f") -> str:
    return f"def {name}(x=None):\n{indented(body)}"


returns = st.sampled_from(["return\n", "if flag():\n    return\n"])
functions = bodies(
    returns,
    st.builds("def inner():\n    nonlocal {0}\n    {0} = Thing\ninner()\n".format, st.just("n")),
    st.builds("class K:\n    use({})\n    y = Thing\n".format, names),
)
modules = bodies(
    st.builds("class K({}):\n    y = {}\n    def m(self): return {}\n".format, names, names, names),
    st.builds("def f(x={}): return {}\n".format, names, names),
    st.builds("def g(x: {}) -> {}: ...\n".format, names, names),
    st.builds("@(lambda h: h)\nclass K:\n    {0} = {1}\n    z = {0}\n".format, names, names),
)
calling = bodies(
    st.builds("def f():\n    use({})\n    if flag(): return\n    use({})\n".format, names, names),
    st.builds("def g():\n    global {}\n    {} = Thing\n".format, st.just("a"), st.just("a")),
    st.just("use(globals() and 1)\n"),
    st.just("if 'f' in globals(): f()\n"),
    st.just("if 'g' in globals(): g()\n"),
)
answers = st.lists(st.booleans(), max_size=8)


def outcome(source: str, given: Sequence[bool], call: str | None = None) -> tuple[str, int] | None:
    """The exception that running a module (and then calling a function of it) ends in, and the line of the module's or
    the function's own code that raised it; None if it ends well."""
    space = Answers(given).namespace()
    code = compile(source, "<body>", "exec", dont_inherit=True)
    try:
        exec(code, space)
        if call is not None:
            space[call]()  # type: ignore[operator]
    except Exception as error:
        traceback = error.__traceback__
        line = 0
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == "<body>":
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        return type(error).__name__, line
    return None
