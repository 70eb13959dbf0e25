"""Bytes to text as Python would: what decodes, what does not, and at which byte."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syntaxlab import Lab

from preflight.syntax.source import MAX_BYTES, SourceStore, decode, encode_like
from preflight.tree import SourceUnreadable


@pytest.fixture(scope="module")
def lab():
    lab = Lab()
    yield lab
    lab.compiler.close()


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"x = 1\n", "x = 1\n", "utf-8"),
        ("x = 'ü'\n".encode(), "x = 'ü'\n", "utf-8"),
        (codecs.BOM_UTF8 + b"x = 1\n", "x = 1\n", "utf-8"),
        (codecs.BOM_UTF8 + b"# coding: utf-8\n", "# coding: utf-8\n", "utf-8"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", "iso8859-1"),
        (b"#!/bin/sh\n# vim: fileencoding=cp1252\n'\x80'\n", "#!/bin/sh\n# vim: fileencoding=cp1252\n'€'\n", "cp1252"),
        (b"\n# coding: latin-1\n'\xe9'\n", "\n# coding: latin-1\n'é'\n", "iso8859-1"),
        (b"x = 1\r\ny = 2\r", "x = 1\r\ny = 2\r", "utf-8"),
    ],
)
def test_decodes_as_python_does(lab: Lab, data: bytes, text: str, encoding: str) -> None:
    source = decode("x.py", data)
    assert (source.text, source.encoding, source.problem) == (text, encoding, None)
    assert lab.compiles(data)


@pytest.mark.parametrize(
    ("data", "kind", "line", "column"),
    [
        (b"x = 1\ny = '\xe9'\n", "undecodable", 2, 6),
        ("x = 'üü'".encode() + b"\xff", "undecodable", 1, 9),
        (b"x = 1\n\x00\n", "null-byte", 2, 1),
        (b"\x7fELF\x02\x01\x01\x00\x00", "null-byte", 1, 8),
        ("x = 1\n".encode("utf-16"), "null-byte", 1, 1),
        (b"# coding: no-such-codec\n", "unknown-encoding", 1, 1),
        (b"\n# coding: rot13\n", "unknown-encoding", 2, 1),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "bom-conflict", 1, 1),
        (b"x = '\xed\xa0\x80'\n", "undecodable", 1, 6),
    ],
)
def test_says_where_it_does_not_decode(lab: Lab, data: bytes, kind: str, line: int, column: int) -> None:
    source = decode("x.py", data)
    assert source.text is None
    assert source.problem is not None
    assert (source.problem.kind, source.problem.line, source.problem.column) == (kind, line, column)
    assert not lab.compiles(data)


def test_a_cookie_behind_code_is_a_comment(lab: Lab) -> None:
    data = b"x = 1\n# coding: no-such-codec\n"
    assert decode("x.py", data).problem is None
    assert lab.compiles(data)


def test_too_big_is_said_before_anything_is_decoded() -> None:
    source = decode("x.py", b"#" * (MAX_BYTES + 1))
    assert source.problem is not None
    assert source.problem.kind == "too-big"


def test_an_undecodable_file_can_still_be_shown() -> None:
    assert decode("x.py", b"x = 1\ny = '\xe9'\n").lines[:2] == ("x = 1", "y = '\ufffd'")


@settings(max_examples=150)
@given(st.binary(max_size=40), st.sampled_from([b"", codecs.BOM_UTF8, b"# coding: latin-1\n", b"# coding: ascii\n"]))
def test_python_reads_what_we_decode_and_only_that(lab: Lab, body: bytes, head: bytes) -> None:
    # within a string of three quotes every character is allowed, so only decoding can fail
    data = head + b"'''" + body.replace(b"'", b" ").replace(b"\\", b" ") + b"'''\n"
    assert (decode("x.py", data).problem is None) == lab.compiles(data)


def test_a_byte_in_a_comment_is_a_problem_of_ours_though_python_imports_the_file(lab: Lab) -> None:
    data = b"x = 1\n# \xff\n"
    source = decode("x.py", data)
    assert source.problem is not None
    assert (source.problem.kind, source.problem.line) == ("undecodable", 2)
    assert lab.compiles(data)


@settings(max_examples=100)
@given(st.text(max_size=60), st.booleans())
def test_encoding_gives_the_bytes_back(text: str, bom: bool) -> None:
    data = (codecs.BOM_UTF8 if bom else b"") + text.encode("utf-8", "replace")
    source = decode("x.py", data)
    if source.text is not None:
        assert encode_like(source, source.text) == data
        assert "".join(line for line in source.lines) == source.text.replace("\r", "").replace("\n", "")


class OneFile:
    """A tree's reading side: one file that is there, one that cannot be read."""

    def __init__(self) -> None:
        self.reads: list[str] = []

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        if path == "vllm/locked.py":
            raise SourceUnreadable(path, "permission denied")
        return b"x = 1\n"


def test_the_store_reads_each_file_once_and_never_raises() -> None:
    tree = OneFile()
    store = SourceStore(tree)  # type: ignore[arg-type]
    assert store.get("vllm/a.py") is store.get("vllm/a.py")
    locked = store.get("vllm/locked.py")
    assert locked.problem is not None
    assert (locked.text, locked.problem.kind) == (None, "unreadable")
    assert tree.reads == ["vllm/a.py", "vllm/locked.py"]
