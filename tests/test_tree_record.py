"""RECORD: what is one, what is none, and that nothing in it leads out of the tree."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.errors import TreeError
from preflight.tree.record import Entry, climbs_out_of, parse_record, read_record

FILE = Path("vllm-0.16.0.dist-info/RECORD")
OWN = "vllm-0.16.0.dist-info/RECORD,,\n"
HASH = "sha256=" + "A" * 43


def parse(text: str | bytes):
    return parse_record(text if isinstance(text, bytes) else text.encode(), FILE)


names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="/\\:"), min_size=1)
paths = st.lists(names.filter(lambda n: n not in (".", "..")), min_size=1, max_size=4).map("/".join)
digests = st.text("abcXYZ019-_", min_size=43, max_size=43)
entries = st.dictionaries(paths, st.tuples(digests, st.integers(0, 10**12)), max_size=20)


@settings(max_examples=60)
@given(entries, st.sampled_from(["\n", "\r\n"]))
def test_what_an_installer_writes_is_read_back(rows, end):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end)
    for path, (digest, size) in rows.items():
        writer.writerow([path, f"sha256={digest}", size])
    writer.writerow([FILE.as_posix(), "", ""])
    record = parse(out.getvalue())
    assert {e.path: (e.digest, e.size) for e in record.entries.values() if e.algorithm} == rows
    assert record.outside == ()


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_bytes_are_a_record_or_a_tree_error(data):
    try:
        record = parse(data)
    except TreeError as error:
        assert error.help
    else:
        assert FILE.as_posix() in record.entries


@settings(max_examples=40)
@given(entries, st.data())
def test_a_record_that_was_cut_is_not_taken_for_a_shorter_one(rows, data):
    lines = [f'"{path}",sha256={digest},{size}' for path, (digest, size) in rows.items() if '"' not in path]
    text = "\n".join([*lines, OWN]).encode()
    cut = data.draw(st.integers(0, len(text) - len(OWN)))
    with pytest.raises(TreeError):
        parse(text[:cut])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"vllm/a.py,{HASH}\n{OWN}", 1),
        (f"vllm/a.py,{HASH},3,more\n{OWN}", 1),
        (f"\nvllm/a.py,{HASH},three\n{OWN}", 2),
        (f"vllm/a.py,{'A' * 43},3\n{OWN}", 1),
        (f"vllm/a.py,sha256=,3\n{OWN}", 1),
        (f'"vllm/a.py,{HASH},3\n{OWN}', 1),
        (f"vllm/a.py,{HASH},3\nvllm/a.py,sha256={'B' * 43},3\n{OWN}", 2),
        (f"vllm/a.py,{HASH},3\nvllm/./a.py,{HASH},4\n{OWN}", 2),
        (f"vllm/../../../etc/shadow,{HASH},3\n{OWN}", 1),
        (f"../../../bin/../../etc/shadow,{HASH},3\n{OWN}", 1),
        (f"vllm\\..\\..\\x.py,{HASH},3\n{OWN}", 1),
        (f",{HASH},3\n{OWN}", 1),
        (f"vllm/\x1b[2J.py,{HASH},3\n{OWN}", 1),
        (b"vllm/a.py\0,,\n", 1),
        (b"\nvllm/\xff.py,,\n", 2),
        ("<html>\n<body>not found</body>\n", 1),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, line):
    with pytest.raises(TreeError) as raised:
        parse(text)
    assert f"line {line}:" in raised.value.message


@pytest.mark.parametrize("text", ["", "\n\n", f"vllm/a.py,{HASH},3\n"])
def test_an_empty_or_truncated_one_is_said(text):
    with pytest.raises(TreeError) as raised:
        parse(text)
    assert str(FILE) in raised.value.message


def test_the_same_row_twice_is_one_row():
    record = parse(f"vllm/a.py,{HASH},3\nvllm/a.py,{HASH},3\n{OWN}")
    assert len(record.entries) == 2


@pytest.mark.parametrize("path", ["../../../bin/vllm", "../../../../../etc/shadow", "/etc/shadow", "C:/Windows/x"])
def test_paths_outside_are_kept_apart(path):
    record = parse(f"{path},{HASH},3\n{OWN}")
    assert [entry.path for entry in record.outside] == [path]
    assert set(record.entries) == {FILE.as_posix()}


def test_scripts_of_the_environment_are_no_escape():
    def far(path: str) -> bool:
        return climbs_out_of(Entry(path, None, None, None, 1), 3)

    assert [far("../../../bin/vllm"), far("../bin/vllm"), far("../../../../x"), far("/x")] == [False, False, True, True]


def test_compiled_modules_of_all_systems_are_told():
    rows = "".join(f"vllm/{name},{HASH},3\n" for name in ("_C.abi3.so", "x.pyd", "y.dylib", "z.py", "so.txt"))
    assert parse(rows + OWN).compiled == {"vllm/_C.abi3.so", "vllm/x.pyd", "vllm/y.dylib"}


def test_a_record_that_is_a_folder_or_a_pipe_or_not_there_is_said(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe", "missing"):
        with pytest.raises(TreeError):
            read_record(tmp_path / name)


def test_a_huge_record_is_not_read(tmp_path):
    file = tmp_path / "RECORD"
    with file.open("wb") as stream:
        stream.truncate(1 << 30)
    with pytest.raises(TreeError) as raised:
        read_record(file)
    assert "1024 MiB" in raised.value.message
