"""Random miniature packages whose modules import from each other, and what importing them really does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import strategies as st

MODULES = ("a", "b", "p", "p.c", "p.d")
NAMES = ("x", "y", "z")
WANTED = (*NAMES, "x", "y", "c", "nowhere")

#: imports each module in a process of its own and says what it raises
_PROBE = """
import json, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
ended = {}
for name in sys.argv[2:]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            __import__(name)
            text = ""
        except BaseException as error:
            text = type(error).__name__
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        ended[name] = stream.read()
    os.waitpid(child, 0)
print(json.dumps(ended))
"""


def path_of(module: str) -> str:
    return f"vllm/{module.replace('.', '/')}/__init__.py" if module == "p" else f"vllm/{module.replace('.', '/')}.py"


def really(folder: Path, modules: Sequence[str]) -> dict[str, str]:
    """The name of the exception that importing each module raises, "" for none; each in a fresh process."""
    words = [sys.executable, "-I", "-S", "-c", _PROBE, str(folder), *(f"vllm.{module}" for module in modules)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return {name.removeprefix("vllm."): error for name, error in json.loads(done.stdout).items()}


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


module_names = st.sampled_from(MODULES)
wanted = st.sampled_from(WANTED)
bound = st.sampled_from(NAMES)

imports = st.one_of(
    st.builds("from vllm.{} import {}\n".format, module_names, wanted),
    st.builds("from vllm.{} import {} as {}\n".format, module_names, wanted, bound),
    st.builds("from vllm import {}\n".format, st.sampled_from(["a", "b", "p", "q"])),
    st.builds("import vllm.{}\n".format, st.sampled_from([*MODULES, "q", "p.e"])),
    st.builds("import vllm.{} as {}\n".format, module_names, bound),
    st.builds("from vllm.{} import *\n".format, module_names),
)
bindings = st.one_of(
    st.builds("{} = 1\n".format, bound),
    st.builds("def {}(): return nothing\n".format, bound),
    st.builds("class {}: ...\n".format, bound),
)
guarded = st.one_of(
    st.builds(lambda one, two: f"try:\n{_indented(one)}except ImportError:\n{_indented(two)}", imports, bindings),
    # in a function a star import does not compile
    st.builds(lambda one: f"def f():\n{_indented(one)}", imports.filter(lambda text: "*" not in text)),
    st.builds(lambda one: f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n{_indented(one)}", imports),
    st.builds(lambda one, two: f"try:\n{_indented(one)}except ValueError:\n{_indented(two)}", imports, bindings),
    st.builds("{0} = 1\nclass K:\n    k = {0}\n".format, bound),
    st.builds("__all__ = ['{}', '{}']\n".format, bound, bound),
)
module_texts = st.lists(st.one_of(bindings, bindings, imports, guarded), max_size=4).map("".join)


@st.composite
def packages(draw: st.DrawFn) -> Mapping[str, str]:
    """The text of each module by its path."""
    return {path_of(module): draw(module_texts) for module in MODULES}
