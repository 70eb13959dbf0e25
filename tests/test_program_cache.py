"""The cache of facts: it can be lost, never be wrong, and nothing is parsed twice."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from preflight.program.cache import FactsCache
from preflight.program.extract import facts_of
from tests.programs import program_of, tree_of

SOURCE = b"import a\n\n\nclass C(a.B):\n    def f(self, x=1): ...\n"
FILES = {"vllm/one.py": "from vllm.two import thing\n", "vllm/two.py": "thing = 1\n"}


def stored(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_facts_come_back_as_they_were(tmp_path: Path) -> None:
    facts, _ = facts_of(SOURCE)
    FactsCache(tmp_path).put(SOURCE, facts)
    assert FactsCache(tmp_path).get(SOURCE) == facts
    assert FactsCache(tmp_path).get(SOURCE + b"\n") is None


def test_a_second_run_parses_nothing(tmp_path: Path) -> None:
    for expected in (2, 0):
        program = program_of(tmp_path / str(expected), FILES, cache=tmp_path / "cache")
        assert program.resolve("vllm.one", "thing").only is not None
        assert program.loader.parsed == expected


def test_one_run_parses_nothing_twice(tmp_path: Path) -> None:
    program = program_of(tmp_path, FILES)
    for _ in range(3):
        module = program.module("vllm.one")
        assert program.syntax_tree(module) is program.syntax_tree(module)
        assert module.facts is module.facts
    assert program.loader.parsed == 1


def test_another_tree_shares_what_was_read(tmp_path: Path) -> None:
    program = program_of(tmp_path / "one", FILES, python=(3, 10), accelerator="rocm", cache=tmp_path / "cache")
    assert program.resolve("vllm.one", "thing").only is not None
    beside = program.beside(tree_of(tmp_path / "other", {**FILES, "vllm/three.py": "from vllm.one import thing\n"}))
    assert beside.resolve("vllm.three", "thing").only is not None
    assert beside.loader.parsed == 1
    assert (beside.platform.python, beside.platforms.accelerator) == ((3, 10), "rocm")


def test_what_is_corrupt_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    facts, _ = facts_of(SOURCE)
    FactsCache(tmp_path).put(SOURCE, facts)
    (file,) = stored(tmp_path)
    whole = file.read_bytes()
    for broken in (b"", whole[:-1], whole[:20], b"x" * len(whole), whole[:30] + b"\0" + whole[31:]):
        file.write_bytes(broken)
        assert FactsCache(tmp_path).get(SOURCE) is None
    FactsCache(tmp_path).put(SOURCE, facts)
    assert FactsCache(tmp_path).get(SOURCE) == facts


class _Evil:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-cache-file",)


def test_a_foreign_pickle_builds_nothing(tmp_path: Path, monkeypatch) -> None:
    import hashlib

    monkeypatch.chdir(tmp_path)
    facts, _ = facts_of(SOURCE)
    FactsCache(tmp_path / "cache").put(SOURCE, facts)
    (file,) = stored(tmp_path / "cache")
    payload = pickle.dumps(_Evil(), 5)
    file.write_bytes(hashlib.blake2b(payload, digest_size=16).digest() + payload)
    assert FactsCache(tmp_path / "cache").get(SOURCE) is None
    assert not (tmp_path / "made-by-a-cache-file").exists()


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("not a folder")
    cache = FactsCache(blocked)
    facts, _ = facts_of(SOURCE)
    cache.put(SOURCE, facts)
    assert FactsCache(blocked).get(SOURCE) is None
    assert FactsCache(None).get(SOURCE) is None


def test_no_half_file_is_ever_left(tmp_path: Path) -> None:
    cache = FactsCache(tmp_path)
    for number in range(5):
        data = SOURCE + b"#" * number
        cache.put(data, facts_of(data)[0])
    assert len(stored(tmp_path)) == 5
    assert not [path for path in stored(tmp_path) if path.name.startswith(".")]
