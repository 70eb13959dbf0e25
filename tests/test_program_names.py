"""Names, resolved as importing them would bind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.program import Definition, Kind, ModuleKind, Program, Truth
from tests.minitree import write
from tests.programs import WHOLE_ENVIRONMENT, program_of


def target(program: Program, module: str, name: str) -> str | None:
    only = program.resolve(module, name).only
    return only.target if only is not None else None


def places(definitions: tuple[Definition, ...]) -> set[tuple[str | None, int | None]]:
    return {(definition.path, definition.line) for definition in definitions}


def test_reexports_aliases_stars_and_submodules(tmp_path: Path) -> None:
    program = program_of(
        tmp_path,
        {
            "vllm/a/__init__.py": "from .b import Thing as Other\nfrom .c import *\nAlias = Other\n",
            "vllm/a/b.py": "class Thing: ...\n",
            "vllm/a/c.py": "from .d import *\n__all__ = ['shown'] + d_names\n_hidden = 1\n",
            "vllm/a/d.py": "d_names = []\ndef shown(): ...\ndef unlisted(): ...\n_private = 1\n",
            "vllm/a/e.py": "",
        },
    )
    assert target(program, "vllm.a", "Other") == "vllm.a.b.Thing"
    assert target(program, "vllm.a", "Alias") == "vllm.a.b.Thing"
    assert target(program, "vllm.a", "e") == "vllm.a.e"
    assert target(program, "vllm.a.c", "shown") == "vllm.a.d.shown"
    # the list is computed: what it holds is known, what it may hold besides is not
    assert program.resolve("vllm.a", "unlisted").exists is Truth.MAYBE
    assert target(program, "vllm.a.c", "_private") is None


def test_a_star_takes_public_names_or_what_is_listed(tmp_path: Path) -> None:
    program = program_of(
        tmp_path,
        {
            "vllm/a.py": "from vllm.b import *\nfrom vllm.c import *\n",
            "vllm/b.py": "import os\nx = 1\n_y = 2\n",
            "vllm/c.py": "__all__ = ('z',)\n__all__ += ['_w']\n__all__.append('v')\nz = _w = v = u = 1\n",
        },
    )
    for name in ("x", "os", "z", "_w", "v"):
        assert program.resolve("vllm.a", name).exists is Truth.YES, name
    for name in ("_y", "u"):
        missing = program.resolve("vllm.a", name).missing
        assert missing is not None and (missing.module, missing.name) == ("vllm.a", name)


def test_what_is_missing_says_which_module_or_name(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/a.py": "x = 1\n", "vllm/p/__init__.py": "", "vllm/p/q.py": ""})
    found = program.resolve("vllm.a", "y").missing
    assert found is not None and (found.module, found.name) == ("vllm.a", "y")
    found = program.resolve("vllm.gone.deep", "y").missing
    assert found is not None and (found.module, found.name) == ("vllm.gone", None)
    found = program.resolve("vllm.a.inner", "y").missing
    assert found is not None and (found.module, found.name) == ("vllm.a.inner", None)
    assert target(program, "vllm.p", "q") == "vllm.p.q"


def test_conditions_that_are_decided_take_one_arm(tmp_path: Path) -> None:
    text = """\
        import sys, os, typing
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from vllm.gone import a
        else:
            a = object
        if not typing.TYPE_CHECKING and sys.version_info >= (3, 11):
            from vllm.new import b
        else:
            from vllm.old import b
        if sys.platform.startswith("win") or os.name == "nt":
            from vllm.gone import c
        elif __name__ == "__main__":
            from vllm.gone import d
        else:
            c = 1
        """
    files = {"vllm/m.py": text, "vllm/new.py": "def b(): ...\n", "vllm/old.py": "def b(): ...\n"}
    for python, module in (((3, 12), "vllm.new"), ((3, 10), "vllm.old")):
        program = program_of(tmp_path / module, files, python=python)
        assert program.resolve("vllm.m", "a").exists is Truth.YES
        assert target(program, "vllm.m", "b") == f"{module}.b"
        assert target(program, "vllm.m", "c") == "vllm.m.c"
        assert program.resolve("vllm.m", "d").exists is Truth.NO


def test_an_open_condition_keeps_both_arms(tmp_path: Path) -> None:
    text = "if ready():\n    def f(): ...\nelse:\n    def f(x): ...\nif ready():\n    def g(): ...\n"
    program = program_of(tmp_path, {"vllm/m.py": text})
    both = program.resolve("vllm.m", "f")
    assert both.exists is Truth.YES and both.only is None
    assert places(both.definitions) == {("vllm/m.py", 2), ("vllm/m.py", 4)}
    one = program.resolve("vllm.m", "g")
    assert one.exists is Truth.MAYBE and one.may_be_unbound


def test_an_arm_that_raises_binds_nothing(tmp_path: Path) -> None:
    text = "if ready():\n    raise ImportError('no')\nelse:\n    x = 1\nif other():\n    y = 1\nelse:\n    raise E\n"
    program = program_of(tmp_path, {"vllm/m.py": text})
    assert program.resolve("vllm.m", "x").only is not None
    assert program.resolve("vllm.m", "y").only is not None


@pytest.mark.parametrize(
    ("imported", "expected"),
    [("vllm.there", "vllm.there.f"), ("vllm.gone", "vllm.m.f"), ("vllm.there.gone", "vllm.m.f")],
)
@pytest.mark.parametrize("caught", ["ImportError", "(ImportError, OSError)", "Exception", "ModuleNotFoundError", ""])
def test_a_try_around_an_import_is_decided_by_what_is_there(
    tmp_path: Path, imported: str, expected: str, caught: str
) -> None:
    text = f"try:\n    from {imported} import f\nexcept {caught}:\n    def f(): ...\n"
    program = program_of(tmp_path, {"vllm/m.py": text, "vllm/there.py": "def f(): ...\n"})
    assert target(program, "vllm.m", "f") == expected


def test_a_try_around_a_package_that_may_be_there_is_open(tmp_path: Path) -> None:
    text = "try:\n    import fastthing\n    HAS = yes\nexcept ImportError:\n    fastthing = None\n    HAS = no\n"
    program = program_of(tmp_path, {"vllm/m.py": text})
    assert len(program.resolve("vllm.m", "HAS").definitions) == 2
    assert {d.kind for d in program.resolve("vllm.m", "fastthing").definitions} == {Kind.MODULE, Kind.VALUE}


def test_a_module_that_fails_to_import_takes_the_handler(tmp_path: Path) -> None:
    files = {
        "vllm/m.py": "try:\n    from vllm.broken import f\nexcept ImportError:\n    f = None\n",
        "vllm/broken.py": "from vllm.gone import nothing\ndef f(): ...\n",
    }
    only = program_of(tmp_path, files).resolve("vllm.m", "f").only
    assert only is not None and (only.kind, only.module) == (Kind.VALUE, "vllm.m")


def test_cycles_end(tmp_path: Path) -> None:
    program = program_of(
        tmp_path,
        {
            "vllm/a.py": "from vllm.b import *\nfrom vllm.b import x, z\nclass A: ...\n",
            "vllm/b.py": "from vllm.a import *\nfrom vllm.a import x, A\nz = 1\n",
            "vllm/c.py": "from vllm.c import itself\nfrom vllm.d import other\n",
            "vllm/d.py": "from vllm.c import other\n",
        },
    )
    assert target(program, "vllm.b", "A") == "vllm.a.A"
    assert target(program, "vllm.a", "z") == "vllm.b.z"
    for module, name in (("vllm.a", "x"), ("vllm.c", "itself"), ("vllm.c", "other")):
        assert program.resolve(module, name).exists is not Truth.YES, (module, name)


def test_a_package_may_import_its_modules_out_of_itself(tmp_path: Path) -> None:
    files = {"vllm/p/__init__.py": "from vllm.p import q as q\nfrom . import r\n", "vllm/p/q.py": "", "vllm/p/r.py": ""}
    program = program_of(tmp_path, files)
    assert [target(program, "vllm.p", name) for name in "qr"] == ["vllm.p.q", "vllm.p.r"]


def test_a_long_chain_of_reexports_is_no_recursion_error(tmp_path: Path) -> None:
    files = {f"vllm/m{i}.py": f"from vllm.m{i + 1} import x\n" for i in range(150)}
    files["vllm/m150.py"] = "def x(): ...\n"
    assert target(program_of(tmp_path, files), "vllm.m0", "x") == "vllm.m150.x"


def test_names_are_those_above_the_statement(tmp_path: Path) -> None:
    files = {
        "vllm/base.py": "class Layer:\n    def old(self): ...\n",
        "vllm/m.py": "from vllm.base import Layer\nclass Layer(Layer):\n    x = 1\nFirst = Layer\nLayer = 1\n",
    }
    program = program_of(tmp_path, files)
    module = program.module("vllm.m")
    assert [d.target for d in program.resolver.dotted(module, "Layer", 2).definitions] == ["vllm.base.Layer"]
    assert target(program, "vllm.m", "First") == "vllm.m.Layer"
    only = program.resolve("vllm.m", "Layer").only
    assert only is not None and only.kind is Kind.VALUE


def test_a_deleted_name_was_there_before(tmp_path: Path) -> None:
    text = "class _Probe:\n    def method(self): ...\nalias = _Probe\ndel _Probe\n"
    program = program_of(tmp_path, {"vllm/m.py": text})
    module = program.module("vllm.m")
    assert program.resolve("vllm.m", "_Probe").exists is Truth.NO
    assert [d.target for d in program.resolver.dotted(module, "_Probe", 3).definitions] == ["vllm.m._Probe"]
    assert target(program, "vllm.m", "alias") == "vllm.m._Probe"


def test_relative_imports_count_from_the_package(tmp_path: Path) -> None:
    files = {
        "vllm/p/__init__.py": "from . import q\nfrom .q import x\n",
        "vllm/p/q.py": "from .. import top\nfrom ..top import y as x\nfrom ..... import z\n",
        "vllm/top.py": "def y(): ...\n",
    }
    program = program_of(tmp_path, files)
    assert target(program, "vllm.p", "x") == "vllm.top.y"
    assert target(program, "vllm.p.q", "top") == "vllm.top"
    assert program.resolve("vllm.p.q", "z").exists is Truth.NO


def test_a_hole_is_unknown_and_never_missing(tmp_path: Path) -> None:
    program = program_of(
        tmp_path, {"vllm/m.py": "def f(:\n", "vllm/n.py": "from vllm.m import *\nfrom vllm.m import f\n"}
    )
    assert program.module("vllm.m").hole is not None
    for module, name in (("vllm.m", "f"), ("vllm.n", "f"), ("vllm.n", "g")):
        assert program.resolve(module, name).exists is Truth.MAYBE


@pytest.mark.parametrize(
    "text",
    [
        "def fill():\n    globals()['x'] = 1\nfill()\n",
        "def __setattr__(name, value):\n    if name in NAMES:\n        globals()[name] = value\n",
        "from torchthing import *\n",
        "import sys\nsetattr(sys.modules[__name__], 'x', 1)\n",
        "def f():\n    global x\n    x = 1\n",
    ],
)
def test_names_that_may_be_made_at_run_time_are_not_missing(tmp_path: Path, text: str) -> None:
    assert program_of(tmp_path, {"vllm/m.py": text}).resolve("vllm.m", "x").exists is Truth.MAYBE


def test_a_name_that_gets_another_value_is_no_new_name(tmp_path: Path) -> None:
    text = "y = 1\ndef change(name, value):\n    if name in globals():\n        globals()[name] = value\n"
    program = program_of(tmp_path, {"vllm/m.py": text})
    assert [program.resolve("vllm.m", name).exists for name in "xy"] == [Truth.NO, Truth.YES]


def test_modules_that_code_registers_are_not_absent(tmp_path: Path) -> None:
    files = {
        "vllm/p/__init__.py": "import sys\nsys.modules[f'{__name__}.made'] = thing\n",
        "vllm/q.py": "import sys\ndef install():\n    sys.modules.setdefault('otherthing', thing)\n",
        "vllm/m.py": "import vllm.p.made\nfrom vllm.p.made import x\nfrom otherthing import y\n",
        **WHOLE_ENVIRONMENT,
    }
    program = program_of(tmp_path, files)
    assert program.tree.whole_environment
    assert [program.resolve("vllm.m", name).exists for name in ("x", "y")] == [Truth.MAYBE, Truth.MAYBE]
    assert program.importing.failure("vllm.m") is None


def test_compiled_modules_exist_and_are_opaque(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/m.py": "from vllm import _C\nfrom vllm._C import op\nimport vllm._C.inner\n"})
    assert program.module("vllm._C").spec.kind is ModuleKind.OPAQUE
    assert program.resolve("vllm.m", "_C").exists is Truth.YES
    found = program.resolve("vllm.m", "op")
    assert found.missing is None and found.definitions[0].kind is Kind.OPAQUE
    assert program.importing.failure("vllm.m") is None


def test_packages_that_are_not_there(tmp_path: Path) -> None:
    unknown = program_of(tmp_path / "sources", {"vllm/m.py": ""})
    assert unknown.module("nosuchthing").spec.kind is ModuleKind.UNKNOWN
    absent = program_of(tmp_path / "whole", {"vllm/m.py": "", "torch/nn/__init__.py": "", **WHOLE_ENVIRONMENT})
    assert absent.tree.whole_environment
    assert absent.module("nosuchthing").spec.kind is ModuleKind.ABSENT
    assert absent.module("torch.nn").spec.kind is ModuleKind.SOURCE
    assert absent.module("torch.gone").spec.kind is ModuleKind.ABSENT
    missing = absent.resolve("nosuchthing.inner", "x").missing
    assert missing is not None and (missing.module, missing.name) == ("nosuchthing", None)


def test_what_a_pth_file_adds_is_found(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "editable" / "__init__.py", b"x = 1\n")
    files = {
        "vllm/m.py": "",
        "torch/__init__.py": "",
        "extra.pth": f"import nothing\n# a comment\n{elsewhere}\n/gone\n",
    }
    program = program_of(tmp_path / "tree", files)
    assert program.resolve("editable", "x").exists is Truth.YES


def test_the_standard_library_and_namespace_packages(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/space/inner.py": "x = 1\n"})
    (program.tree.root / "vllm/space/__init__.py").unlink()
    program = Program(_reopened(program), None, (3, 12))
    assert program.module("vllm.space").spec.kind is ModuleKind.NAMESPACE
    assert target(program, "vllm.space.inner", "x") == "vllm.space.inner.x"
    for module, name in (("os", "path"), ("collections.abc", "Mapping"), ("typing", "Protocol"), ("sys", "argv")):
        assert program.resolve(module, name).missing is None
    assert program.module("os.path").spec.found


def _reopened(program: Program):
    from preflight.tree import TreeRequest, open_tree

    return open_tree(TreeRequest(site_packages=str(program.tree.root)), {})


LAZY = {
    "lazything/__init__.py": """\
        from typing import TYPE_CHECKING
        from .tools import helper, make_lazy
        if TYPE_CHECKING:
            from .models import *
            from .core import Base as Base
        else:
            import sys
            sys.modules[__name__] = make_lazy(__name__)
        """,
    "lazything/tools.py": """\
        from types import ModuleType
        def helper(): ...
        class make_lazy(ModuleType):
            def __getattr__(self, name):
                if name.endswith("Fast"):
                    return getattr(self, name[:-4])
                raise AttributeError(name)
        """,
    "lazything/core.py": "class Base: ...\n",
    "lazything/models/__init__.py": """\
        from typing import TYPE_CHECKING
        from ..tools import make_lazy
        if TYPE_CHECKING:
            from .one import *
        else:
            import sys
            sys.modules[__name__] = make_lazy(__name__)
        """,
    "lazything/models/one/__init__.py": """\
        from typing import TYPE_CHECKING
        from ...tools import make_lazy
        if TYPE_CHECKING:
            from .configuration_one import *
        else:
            import sys
            sys.modules[__name__] = make_lazy(__name__)
        """,
    "lazything/models/one/configuration_one.py": "__all__ = ['OneConfig']\nclass OneConfig: ...\nclass Inner: ...\n",
    "lazything/models/one/other_one.py": "__all__ = ['NotStarred']\nclass NotStarred: ...\n",
}


def test_lazy_packages_are_read_by_what_they_declare(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/m.py": "", **LAZY}, cache=tmp_path / "cache")
    assert target(program, "lazything", "OneConfig") == "lazything.models.one.configuration_one.OneConfig"
    assert target(program, "lazything.models.one", "OneConfig") == "lazything.models.one.configuration_one.OneConfig"
    assert target(program, "lazything", "Base") == "lazything.core.Base"
    assert target(program, "lazything.models", "one") == "lazything.models.one"
    # nothing exports it, but the package's text has it: it may be made in some way
    assert program.resolve("lazything", "NotStarred").exists is Truth.MAYBE
    missing = program.resolve("lazything", "TwoConfig").missing
    assert missing is not None and (missing.module, missing.name) == ("lazything", "TwoConfig")
    assert program.resolve("lazything.models.two", "TwoConfig").exists is Truth.NO
    # the object makes such names out of others
    assert program.resolve("lazything", "OneProcessorFast").exists is Truth.MAYBE
    assert program.resolve("lazything.models.one", "OneProcessorSlow").exists is Truth.NO
    again = program.beside(program.tree)
    assert target(again, "lazything", "OneConfig") == "lazything.models.one.configuration_one.OneConfig"


def test_a_finder_in_sys_meta_path_is_asked(tmp_path: Path) -> None:
    files = {
        "vllm/p/__init__.py": """\
            import re, sys
            OLD = {"old_name": "new_name"}
            PATTERN = re.compile(rf"{re.escape(__name__)}\\.models\\.(\\w+)_fast")
            class Finder:
                def __init__(self, resolve):
                    self.resolve = resolve
                def find_spec(self, fullname, path=None, target=None):
                    if self.resolve(fullname) is None:
                        return None
                    return make(fullname)
            def resolve(fullname):
                if (match := PATTERN.fullmatch(fullname)) is not None:
                    return match[1]
                package, _, name = fullname.rpartition(".")
                if package == __name__ and name in OLD:
                    return OLD[name]
                return None
            sys.meta_path.append(Finder(resolve))
            """,
        "vllm/p/models/__init__.py": "",
        "vllm/m.py": "import vllm.p.old_name\nimport vllm.p.models.a_fast\nimport vllm.p.models.gone\n",
    }
    program = program_of(tmp_path, files)
    found = {item.module: program.resolver.imported(program.module("vllm.m"), item) for item in
             program.module("vllm.m").facts.imports}  # fmt: skip
    assert found["vllm.p.old_name"].missing is None
    assert found["vllm.p.models.a_fast"].missing is None
    assert found["vllm.p.models.gone"].missing is not None


def test_a_modules_own_getattr_is_run(tmp_path: Path) -> None:
    files = {
        "vllm/p/__init__.py": """\
            TABLE = {"Thing": ".inner:Thing", "gone": ".inner:Gone"}
            def __getattr__(name):
                from importlib import import_module
                if name in TABLE:
                    module_name, attribute = TABLE[name].split(":")
                    return getattr(import_module(module_name, __package__), attribute)
                if name == "number":
                    return 7
                raise AttributeError(name)
            """,
        "vllm/p/inner.py": "class Thing: ...\n",
        "vllm/q.py": "def __getattr__(name):\n    return unknown_thing(name)\nfrom outside import unknown_thing\n",
        "vllm/r.py": "from outside import *\ndef __getattr__(name):\n    raise AttributeError(name)\n",
    }
    program = program_of(tmp_path, files)
    assert target(program, "vllm.p", "Thing") == "vllm.p.inner.Thing"
    assert program.resolve("vllm.p", "number").value == 7
    assert program.resolve("vllm.p", "gone").exists is Truth.NO
    assert program.resolve("vllm.p", "nothing").exists is Truth.NO
    assert program.resolve("vllm.q", "anything").exists is Truth.MAYBE
    assert program.resolve("vllm.r", "anything").exists is Truth.MAYBE


PLATFORM = {
    "vllm/platforms/__init__.py": """\
        def __getattr__(name):
            if name == "current_platform":
                return find_by_probing_the_machine()
            raise AttributeError(name)
        """,
    "vllm/platforms/interface.py": """\
        import enum
        class PlatformEnum(enum.Enum):
            CUDA = enum.auto()
            ROCM = enum.auto()
        class Platform:
            _enum: PlatformEnum
            device_type: str
            def is_cuda(self) -> bool:
                return self._enum == PlatformEnum.CUDA
            def is_rocm(self) -> bool:
                return self._enum == PlatformEnum.ROCM
            def has_memory(self):
                return ask_the_driver()
        """,
    "vllm/platforms/cuda.py": """\
        from .interface import Platform, PlatformEnum
        class CudaPlatform(Platform):
            _enum = PlatformEnum.CUDA
            device_type: str = "cuda"
        """,
    "vllm/platforms/rocm.py": """\
        from .interface import Platform, PlatformEnum
        class RocmPlatform(Platform):
            _enum = PlatformEnum.ROCM
            device_type = "cuda"
        """,
    "vllm/m.py": """\
        from vllm.platforms import current_platform
        if current_platform.is_rocm():
            from vllm.amd import model
        elif current_platform.device_type == "tpu":
            pass
        else:
            from vllm.nvidia import model
        if current_platform.is_cuda() and current_platform.has_memory():
            x = 1
        """,
    "vllm/amd.py": "def model(): ...\n",
    "vllm/nvidia.py": "def model(): ...\n",
}


@pytest.mark.parametrize(
    ("version", "accelerator", "expected"),
    [("0.16.0", None, "vllm.nvidia"), ("0.16.0+rocm700", None, "vllm.amd"), ("0.16.0", "rocm", "vllm.amd")],
)
def test_the_platform_decides(tmp_path: Path, version: str, accelerator: str | None, expected: str) -> None:
    program = program_of(tmp_path, PLATFORM, version=version, accelerator=accelerator)
    assert target(program, "vllm.m", "model") == f"{expected}.model"
    assert program.resolve("vllm.m", "x").exists is (Truth.MAYBE if expected == "vllm.nvidia" else Truth.NO)


def test_symbols_and_near_names(tmp_path: Path) -> None:
    program = program_of(
        tmp_path,
        {"vllm/a.py": "class VllmConfig: ...\n", "vllm/b.py": "from vllm.a import VllmConfig\n# VllmConfigs\n"},
    )
    assert [found.target for found in program.symbols("VllmConfig")] == ["vllm.a.VllmConfig"]
    assert [module.name for module in program.texts.modules_with("VllmConfigs")] == ["vllm.b"]
    assert program.near("VllmConfg", program.names_of("vllm.b")) == ["VllmConfig"]
    assert {"a", "b"} <= set(program.names_of("vllm"))


def test_paths_and_modules(tmp_path: Path) -> None:
    program = program_of(tmp_path, {"vllm/p/__init__.py": "", "vllm/a.py": "", "vllm/not-a-module.py": ""})
    found = {path: program.module_at(path) for path in ("vllm/p/__init__.py", "vllm/a.py", "vllm/not-a-module.py")}
    names = {path: module.name if module is not None else None for path, module in found.items()}
    assert names == {"vllm/p/__init__.py": "vllm.p", "vllm/a.py": "vllm.a", "vllm/not-a-module.py": None}
    assert {module.path for module in program.tree_modules()} == {"vllm/__init__.py", "vllm/p/__init__.py", "vllm/a.py"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import os; x = 1; __import__('_distutils_hack').add_shim()", ModuleKind.ABSENT),
        (
            "import sys, os, shelf; sys.path.insert(0, os.path.join(shelf.__path__[0], 'dsl', 'packages'))",
            ModuleKind.SOURCE,
        ),
        ("import __editable___hidden_1_0_finder; __editable___hidden_1_0_finder.install()", ModuleKind.UNKNOWN),
        ("import strange; strange.install()", ModuleKind.UNKNOWN),
        ("# import strange", ModuleKind.ABSENT),
    ],
)
def test_code_that_runs_at_start_up_may_add_modules(tmp_path: Path, line: str, expected: ModuleKind) -> None:
    files = {
        **WHOLE_ENVIRONMENT,
        "extra.pth": f"{line}\n",
        "shelf/dsl/packages/hidden/__init__.py": "",
        "__editable___hidden_1_0_finder.py": "MAPPING = {'hidden': '/elsewhere/hidden'}\n",
        "vllm/m.py": "import hidden\n",
    }
    program = program_of(tmp_path, files)
    assert program.module("hidden").spec.kind is expected
    assert (program.importing.failure("vllm.m") is None) is (expected is not ModuleKind.ABSENT)


@pytest.mark.parametrize(
    "files",
    [
        {"hidden.pyc": b"\0"},
        {"hidden/__init__.pyc": b"\0", "hidden/part.pyc": b"\0"},
        {"hidden/__init__.cpython-312-x86_64-linux-gnu.so": b"\x7fELF"},
        {"hidden.abi3.so": b"\x7fELF"},
        {"hidden/part.py": ""},
        {"more.pth": "archive.zip\n", "archive.zip": b"PK"},
        {"more.pth": "shelf\n", "shelf/hidden.py": "name = 1\n"},
        {
            "google_nspkg.pth": "import sys, types; m = __import__('importlib.util').util.module_from_spec",
            "hidden/part.py": "",
        },
    ],
)
def test_whatever_provides_a_module_it_is_not_absent(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    program = program_of(tmp_path, {**WHOLE_ENVIRONMENT, **files})
    assert program.module("hidden").spec.kind is not ModuleKind.ABSENT


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("wide/__init__.py", "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"),
        ("wide/__init__.py", "import os\n__path__.append(os.environ['WIDE'])\n"),
        ("wide.py", "import sys\n__path__ = []\nsys.meta_path.append(finder)\n"),
    ],
)
def test_a_package_may_look_for_its_modules_by_itself(tmp_path: Path, module: str, text: str) -> None:
    program = program_of(tmp_path, {**WHOLE_ENVIRONMENT, module: text})
    assert program.module("wide.moves").spec.kind is ModuleKind.UNKNOWN
    assert program.resolve("wide", "moves").exists is not Truth.NO
    assert program.module("narrow").spec.kind is ModuleKind.ABSENT


def test_modules_that_only_other_pythons_have_are_not_absent(tmp_path: Path) -> None:
    program = program_of(tmp_path, WHOLE_ENVIRONMENT, python=(3, 10))
    assert {program.module(name).spec.kind for name in ("distutils", "imp", "tomllib", "annotationlib")} <= {
        ModuleKind.OPAQUE,
        ModuleKind.SOURCE,
    }
