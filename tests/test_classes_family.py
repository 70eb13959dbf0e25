"""The checks of classes on miniature trees: what they tell from what they cannot tell."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest

from preflight.checks.classes import survey as survey_module
from preflight.checks.classes.family import check_classes
from preflight.checks.context import CheckOptions
from preflight.cli import main
from preflight.model import Fault, Severity
from preflight.program import FactsCache, Program
from tests.checking import context_of
from tests.faults import found_by
from tests.minimodels import FILES, MODELS
from tests.minitree import make_tree
from tests.programs import tree_of

TOY = "vllm/toy.py"
BASE = """\
    class Base:
        def __init__(self, size):
            self.size = size
            self.half = self.halved()

        def halved(self):
            return self.size // 2

        def grow(self, by):
            return self.size + by

        @property
        def area(self):
            def times(other):
                return self.size * other
            return times
    """

#: code that looks wrong and is not, or of which nobody can tell
SILENT = {
    "a named tuple has methods of its own": """\
        from typing import NamedTuple
        class Pair(NamedTuple):
            first: int
            second: int
        def turned():
            pair = Pair(1, 2)
            return pair._replace(first=2)._asdict()
        """,
    "a function asks what the object is": """\
        from vllm.base import Base
        def grows(value): ...
        class Toy:
            def __init__(self):
                self.base = Base(1)
                if grows(self.base):
                    self.base.grow_more()
        """,
    "an attribute that is declared, for others to set": """\
        class Toy:
            kind: type
            def __init__(self):
                self.made = self.kind()
        """,
    "an attribute that is set by its name, out of a table": """\
        class Toy:
            def __init__(self, values):
                for name in ("left", "right"):
                    values.give(self, name)
                self.both = self.left + self.right
        """,
    "an attribute that a helper sets by its name": """\
        from elsewhere import replace_parameter
        class Toy:
            def __init__(self, value):
                replace_parameter(self, "weight", value)
                self.shape = self.weight.shape
        """,
    "a method under another name": """\
        from vllm.base import Base
        class Toy:
            size = 1
            grown = Base.grow
            def __init__(self):
                self.more = self.grown(2)
        """,
    "a property that gives a function, by super()": """\
        from vllm.base import Base
        class Toy(Base):
            @property
            def area(self):
                outer = super().area
                def times(other):
                    return outer(other)
                return times
        """,
    "a class attribute that is set from outside": """\
        class Plain:
            def __init__(self): ...
        class Other:
            def __init__(self, size): ...
        class Toy:
            part = Plain
            def __init__(self):
                self.made = self.part(3)
        Toy.part = Other
        """,
    "__new__ is given the class": """\
        class Toy:
            def __new__(cls, size):
                made = super().__new__(cls)
                cls.prepare(made)
                return made
            def prepare(self): ...
        """,
    "a base that is not at hand": """\
        from elsewhere import Model
        class Toy(Model):
            def __init__(self):
                self.layers = self.make_layers()
        """,
    "an except that is ready for it": """\
        class Toy:
            def __init__(self):
                try:
                    self.value = self.given
                except AttributeError:
                    self.value = None
        """,
    "an attribute of the same name is set on others, and the object was handed out": """\
        def give(toy):
            toy.value = 1
        class Toy:
            def __init__(self):
                give(self)
                self.more = self.value + 1
        """,
    "a decorator that puts a constructor over the other and hands nothing on": """\
        def plain(cls):
            def __init__(self, **kwargs):
                self.kwargs = kwargs
            cls.__init__ = __init__
            return cls
        @plain
        class Part:
            def __init__(self, size): ...
        class Toy:
            def __init__(self):
                self.part = Part(sise=1)
        """,
    "keywords out of a dictionary": """\
        from vllm.base import Base
        def make(options):
            return Base(**options)
        """,
}

#: code that certainly fails, with the check and the line
FOUND = {
    "an object that is handed to its own method and comes back": (
        """\
        from vllm.base import Base
        class Toy:
            def __init__(self):
                self.base = Base(1)
                self.base = self.same(self.base)
                self.base.grow_more()
            def same(self, base):
                return self.base
        """,
        ("delegate-missing", 6, Severity.WARNING),
    ),
    "the subclass puts something else in the place of what the base made": (
        """\
        from vllm.base import Base
        class Part:
            def run(self, value, more): ...
        class Small:
            def run(self, value): ...
        class Outer:
            def __init__(self):
                self.part = Part()
            def forward(self):
                return self.part.run(1, more=2)
        class Toy(Outer):
            def __init__(self):
                super().__init__()
                self.part = Small()
        """,
        ("call-cannot-bind", 10, Severity.WARNING),
    ),
    "a helper of the base that is called with a keyword it does not have": (
        """\
        from vllm.base import Base
        class Toy(Base):
            def __init__(self):
                super().__init__(1)
                self.more = self.grow(amount=2)
        """,
        ("call-cannot-bind", 5, Severity.WARNING),
    ),
    "an __init__ that leaves out the base's": (
        """\
        from vllm.base import Base
        class Toy(Base):
            def __init__(self):
                self.more = self.size + 1
        """,
        ("attribute-never-set", 4, Severity.WARNING),
    ),
    "an attribute of the same name is set on others, and by nobody here": (
        """\
        def give(other):
            other.value = 1
        class Toy:
            def __init__(self):
                self.more = self.value + 1
        """,
        ("attribute-never-set", 5, Severity.WARNING),
    ),
    "a decorator that puts a constructor over the other and hands the rest on": (
        """\
        def timed(cls):
            old_init = cls.__init__
            def __init__(self, *, prefix="", **kwargs):
                old_init(self, **kwargs)
                self.prefix = prefix
            cls.__init__ = __init__
            return cls
        @timed
        class Part:
            def __init__(self, size): ...
        class Toy:
            def __init__(self):
                self.part = Part(
                    prefix="part",
                    sise=1,
                )
        """,
        ("call-cannot-bind", 15, Severity.WARNING),
    ),
    "bases in no order, below a decorator that adds one": (
        """\
        class More: ...
        def more(cls):
            cls.__bases__ = cls.__bases__ + (More,)
            return cls
        class Base: ...
        @more
        class Toy(object, Base): ...
        """,
        ("mro-conflict", 7, None),
    ),
    "bases out of a tuple": (
        """\
        from vllm.base import Base
        class Toy(*(Base,), *()):
            def __init__(self):
                super().__init__(1)
                self.more = self.shrink(1)
        """,
        ("attribute-never-set", 5, Severity.WARNING),
    ),
    "a method of the wrong object": (
        """\
        from vllm.base import Base
        class Toy:
            def __init__(self):
                self.base = Base(1)
                self.more = self.base.shrink(1)
        """,
        ("delegate-missing", 5, Severity.WARNING),
    ),
}


def faults_of(
    folder: Path,
    files: dict[str, str],
    changes: dict[str, str | None] | None = None,
    options: CheckOptions | None = None,
) -> list[Fault]:
    """The faults that a patch of a miniature release has; without ``changes`` the files are added by the patch."""
    release = files if changes is not None else {}
    tree = tree_of(folder, {"vllm/base.py": BASE, **release})
    laid = files if changes is None else changes
    tree = tree.with_overlay(
        {path: None if text is None else textwrap.dedent(text).encode() for path, text in laid.items()}
    )
    program = Program(tree, FactsCache(None))
    options = options or CheckOptions()
    paths = tuple(file.path for file in tree.facts.patched) if not options.whole_tree else tuple(tree.files())
    context = context_of(tree, program, paths, options)
    return [item for item in check_classes(context) if isinstance(item, Fault)]


@pytest.mark.parametrize("name", SILENT)
def test_what_is_not_certain_is_not_told(tmp_path: Path, name: str) -> None:
    assert faults_of(tmp_path, {TOY: SILENT[name]}) == []


@pytest.mark.parametrize("name", FOUND)
def test_what_is_certain_is_told(tmp_path: Path, name: str) -> None:
    text, expected = FOUND[name]
    (fault,) = faults_of(tmp_path, {TOY: text})
    assert (fault.check, fault.span.line, fault.severity) == expected


def test_a_constructor_that_a_decorator_puts_there_is_no_other_of_the_same_line(tmp_path: Path) -> None:
    wrap = """\
        class Wrapper:
            def __init__(self):
                self.code = 1
                self.on_start = self.hook

            def hook(self):
                return self.code

        def wrapped(cls):
            cls.__bases__ = cls.__bases__ + (Wrapper,)
            old = cls.__init__

            def __init__(self, size):
                old(self, size)
                Wrapper.__init__(self)

            cls.__init__ = __init__
            return cls
        """
    line = textwrap.dedent(wrap).splitlines().index("    def __init__(self, size):") + 1
    head = "from vllm.base import Base\nfrom vllm.wrap import wrapped\n"
    for above in range(line - 6, line + 2):
        toy = "@wrapped\nclass Toy(Base):\n    def __init__(self, size):\n        super().__init__(size)\n"
        text = head + "\n" * (above - 3) + toy
        assert faults_of(tmp_path / str(above), {"vllm/wrap.py": wrap, TOY: text}) == [], above


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("class Toy(Nope): ...\n", [("PF204", "error", 1)]),
        ("class Toy(nope.Nope): ...\n", [("PF204", "error", 1)]),
        ("class Toy(Nope[int]): ...\n", [("PF204", "error", 1)]),
        ("class Toy(Late): ...\nclass Late: ...\n", [("PF206", "error", 1)]),
        # the class statement ends before its decorator is called
        ("def no(cls):\n    raise TypeError\n\n@no\nclass Toy(Nope): ...\n", [("PF204", "error", 5)]),
        ("def no(cls):\n    raise TypeError\n\n@no\nclass Toy: ...\n", [("PF303", "error", 5)]),
        # a handler takes what the class statement raises
        ("try:\n    class Toy(Nope): ...\nexcept NameError:\n    class Toy: ...\n", []),
    ],
)
def test_a_base_that_nothing_binds_is_told_once(tmp_path: Path, text: str, wanted: list[tuple[str, str, int]]) -> None:
    found = found_by(tmp_path, {"vllm/toy.py": "import os\n"}, {"vllm/toy.py": text}, ("PF2", "PF3"))
    assert [(one.rule, one.severity, one.line) for one in found] == wanted


def test_what_the_release_has_itself_is_told_with_the_whole_tree_only(tmp_path: Path) -> None:
    was = FOUND["a method of the wrong object"][0]
    patched = was + "        self.less = self.base.dwindle(1)\n"
    (fault,) = faults_of(tmp_path / "patch", {TOY: was}, {TOY: patched})
    assert (fault.span.line, fault.severity) == (6, Severity.WARNING)
    both = faults_of(tmp_path / "all", {TOY: was}, {TOY: patched}, CheckOptions(whole_tree=True))
    assert sorted((one.span.line, one.severity) for one in both) == [(5, Severity.INFO), (6, Severity.WARNING)]
    assert faults_of(tmp_path / "comment", {TOY: was}, {TOY: was + "        # patched\n"}) == []


def test_a_comment_hides_no_change(tmp_path: Path) -> None:
    was = FOUND["a method of the wrong object"][0]
    right = was.replace("shrink", "grow")
    assert faults_of(tmp_path / "comment", {TOY: right}, {TOY: right + "        # patched\n"}) == []
    (fault,) = faults_of(tmp_path / "both", {TOY: right}, {TOY: was + "        # patched\n"})
    assert fault.span.line == 5


def test_a_fault_that_the_patch_moves_is_still_the_releases(tmp_path: Path) -> None:
    was = FOUND["a method of the wrong object"][0]
    assert faults_of(tmp_path, {TOY: was}, {TOY: "        # patched\n" + was}) == []


def test_a_change_that_breaks_another_file_is_told_where_it_was_made(tmp_path: Path) -> None:
    caller = "from vllm.base import Base\nMADE = Base(1).grow(by=2)\nOTHER = Base(size=3)\n"
    patched = textwrap.dedent(BASE).replace("def __init__(self, size):", "def __init__(self, width):")
    patched = patched.replace("self.size = size", "self.size = width")
    (fault,) = faults_of(tmp_path, {"vllm/caller.py": caller}, {"vllm/base.py": patched})
    assert (fault.check, fault.span.path, fault.span.line) == ("call-cannot-bind", "vllm/base.py", 2)
    assert ("vllm/caller.py", 3) in {(step.path, step.line) for step in fault.trail}


def test_the_whole_tree_in_parts_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"vllm/part{number}.py": text for number, (text, _) in enumerate(FOUND.values())}
    options = CheckOptions(whole_tree=True)
    whole = faults_of(tmp_path / "whole", files, options=options)
    monkeypatch.setattr(survey_module, "PART", 2)
    parts = faults_of(tmp_path / "parts", files, options=options)
    assert sorted(parts, key=lambda fault: fault.span.path) == sorted(whole, key=lambda fault: fault.span.path)
    assert len(whole) == len(FOUND)


# -- on the command line ----------------------------------------------------------------------------------------------

INTERFACES = """\
from typing import Protocol, runtime_checkable


@runtime_checkable
class SupportsStages(Protocol):
    def set_stages(self, stages: tuple[int, ...]) -> None: ...

    def get_stages(self) -> tuple[int, ...]: ...
"""
RIGHT = """\
from vllm.interfaces import SupportsStages


class Right(SupportsStages):
    def set_stages(self, stages):
        self.stages = stages

    def get_stages(self):
        return (1, 2)


class Bare:
    pass
"""
HALF = """\
from vllm.interfaces import SupportsStages


class Half(SupportsStages):
    def set_stages(self, stages):
        self.stages = stages


class Hands(SupportsStages):
    def __init__(self):
        self.inner = Half()

    def set_stages(self, stages):
        self.inner.set_stages(stages)

    def get_stages(self):
        return self.inner.get_stages()
"""


def checked(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *words: str,
    config: str = "",
    more: str = "",
) -> tuple[int, dict]:
    tree = make_tree(folder, {"vllm/interfaces.py": INTERFACES, TOY: RIGHT, "vllm/half.py": more})
    workspace = folder / "workspace"
    workspace.mkdir()
    if config:
        (workspace / "pyproject.toml").write_text(config)
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(folder / "cache"))
    code = main(["check", "--vllm-site-packages", os.fspath(tree), *words, "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Right", []),
        ("Bare", [("PF310", 12)]),
        ("Half", [("PF301", 4)]),
        ("Hands", [("PF301", 4)]),
    ],
)
def test_what_is_demanded_of_a_class(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    expected: list[tuple[str, int]],
) -> None:
    code, report = checked(tmp_path, monkeypatch, capsys, "--require", f"SupportsStages={name}", more=HALF)
    assert [(finding["rule"], finding["line"]) for finding in report["findings"]] == expected
    assert {finding["severity"] for finding in report["findings"]} <= {"error"}
    assert code == (1 if expected else 0)


def test_the_configuration_demands_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = '[tool.preflight]\nrequire = ["SupportsStages=Bare"]\n'
    code, report = checked(tmp_path, monkeypatch, capsys, config=config)
    (finding,) = report["findings"]
    assert (code, finding["rule"]) == (1, "PF310")
    assert [value["value"] for value in finding["values"]] == [
        "set_stages(self, stages: tuple[int, ...]) -> None",
        "get_stages(self) -> tuple[int, ...]",
    ]


def test_the_command_line_goes_before_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = '[tool.preflight]\nrequire = "SupportsStages=Bare"\n'
    code, report = checked(tmp_path, monkeypatch, capsys, "--require", "SupportsStages=Right", config=config)
    assert (code, report["findings"]) == (0, [])


@pytest.mark.parametrize("demand", ["SupportsStage=Right", "SupportsStages=Rigth", "SupportsStages=", "=Right", "a b"])
def test_a_demand_that_the_tree_cannot_answer_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], demand: str
) -> None:
    code, report = checked(tmp_path, monkeypatch, capsys, "--require", demand)
    if demand == "SupportsStages=":
        # no class is named, and nothing is patched: the question stays open
        assert (code, report["undecided"][-1]["id"]) == (0, "nothing-to-require")
        return
    assert (code, report["verdict"]) == (2, "not-checked")
    assert demand.partition("=")[0] in report["error"]["message"]


MODEL = """\
    import torch.nn as nn
    class Layer(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.size = size
    class Unused(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Layer(sise=1)
    class Sometimes(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Layer(sise=2)
    class Always(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Layer(sise=3)
    class ToyForCausalLM(nn.Module):
        def __init__(self, *, config):
            super().__init__()
            self.some = Sometimes() if config.some else None
            self.layers = [made(lambda: Always()) for _ in range(config.layers)]
    def made(layer):
        return layer()
    """


def test_a_fault_is_certain_where_every_launch_of_the_file_makes_the_class(tmp_path: Path) -> None:
    found = {fault.span.line: fault.severity for fault in faults_of(tmp_path, {**FILES, f"{MODELS}/toy.py": MODEL})}
    assert (found[9], found[13], found[17]) == (Severity.WARNING, Severity.WARNING, None)


def test_another_registered_class_of_the_file_may_be_launched_instead(tmp_path: Path) -> None:
    registry = FILES[f"{MODELS}/registry.py"].replace('("toy", "GoneForCausalLM")', '("toy", "Layer")')
    files = {**FILES, f"{MODELS}/registry.py": registry, f"{MODELS}/toy.py": MODEL}
    found = {fault.span.line: fault.severity for fault in faults_of(tmp_path, files)}
    assert found[17] is Severity.WARNING
