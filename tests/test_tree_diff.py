"""Diffs are applied exactly as ``git apply`` applies them, or not at all."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight.errors import TreeError
from preflight.tree.diff import Applied, Mark, Why, apply, looks_like_diff, read_diff
from tests.gitrepo import ENVIRON, git


def applied(diff: str | bytes, files: dict[str, bytes]) -> Applied:
    data = diff.encode("utf-8", "surrogateescape") if isinstance(diff, str) else diff

    def place(names) -> str | None:
        stripped = [name.split("/", 1)[-1] if name[:2] in ("a/", "b/") else name for name in names]
        return next((name for name in stripped if name in files), stripped[0])

    return apply(read_diff(data, "x.patch"), "x.patch", place, files.get)


lines = st.lists(
    st.sampled_from(["a", "b", "c", "", "  d", "é", "\tx", "-- y", "++ z", "@@ -1 +1 @@", "\\ w"]), max_size=12
)
contents = st.builds(
    lambda ls, end, crlf: (("\r\n" if crlf else "\n").join(ls) + end).encode(),
    lines,
    st.sampled_from(["", "\n"]),
    st.booleans(),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=contents, after=contents, context=st.integers(0, 4))
def test_what_git_makes_is_applied_as_git_applies_it(tmp_path, before, after, context):
    (tmp_path / "old").write_bytes(before)
    (tmp_path / "new").write_bytes(after)
    made = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", f"-U{context}", "old", "new"],
        cwd=tmp_path, env=ENVIRON, capture_output=True, check=False,
    )  # fmt: skip
    if before == after:
        assert made.stdout == b""
        return
    diff = made.stdout.replace(b"b/new", b"b/old")
    result = applied(diff, {"old": before})
    assert result.failures == ()
    assert result.changes == {"old": after}
    # and on another content it does what git does: refuse, or the same
    other = after + b"tail\n" + before
    (tmp_path / "old").write_bytes(other)
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        cwd=tmp_path,
        env={**ENVIRON, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
        input=diff,
        capture_output=True,
        check=False,
    )
    ours = applied(diff, {"old": other})
    if not ours.failures:
        assert done.returncode == 0
        assert ours.changes["old"] == (tmp_path / "old").read_bytes()


@settings(max_examples=60)
@given(before=lines, after=lines, context=st.integers(0, 3))
def test_what_difflib_makes_is_applied(before, after, context):
    old, new = [f"{line}\n" for line in before], [f"{line}\n" for line in after]
    diff = "".join(difflib.unified_diff(old, new, "a/x", "b/x", n=context))
    if not diff:
        assert old == new
        return
    result = applied(diff, {"x": "".join(old).encode()})
    assert result.changes == {"x": "".join(new).encode()}
    back = "".join(difflib.unified_diff(new, old, "a/x", "b/x", n=context))
    assert applied(back, {"x": result.changes["x"] or b""}).changes == {"x": "".join(old).encode()}


@settings(max_examples=80)
@given(
    st.binary(max_size=400)
    | st.builds(
        lambda ls: "\n".join(ls).encode(),
        st.lists(
            st.sampled_from(
                [
                    "--- a/x",
                    "+++ b/x",
                    "@@ -1 +1 @@",
                    "@@ -1,3 +1,2 @@",
                    "-a",
                    "+b",
                    " c",
                    "diff --git a/x b/x",
                    "\\ No newline at end of file",
                    "rename from x",
                    "Binary files a/x and b/x differ",
                    "GIT binary patch",
                    "new file mode 100644",
                    "@@@ -1 +1 @@@",
                    "",
                ]
            )
        ),
    )
)
def test_any_bytes_are_a_diff_or_a_tree_error(data):  # fmt: skip
    try:
        files = read_diff(data, "x.patch")
    except TreeError as error:
        assert "x.patch" in error.message
    else:
        apply(files, "x.patch", lambda names: names[0], {"x": b"a\n"}.get)


BASE = b"one\ntwo\nthree\nfour\nfive\n"
DIFF = "--- a/x\n+++ b/x\n@@ -2,3 +2,3 @@\n two\n-three\n+THREE\n four\n"


def test_failures_name_the_lines_of_both():
    result = applied(DIFF, {"x": BASE.replace(b"four", b"vier")})
    [failure] = result.failures
    assert (failure.why, failure.diff_line, failure.tree_line) == (Why.DIFFERS, 7, 4)
    assert (failure.wanted, failure.found) == ("four\n", "vier\n")
    assert result.changes == {}


def test_a_hunk_whose_lines_moved_says_where_they_are():
    [failure] = applied(DIFF, {"x": b"zero\n" + BASE}).failures
    assert (failure.why, failure.tree_line, failure.moved_to) == (Why.MOVED, 2, 3)


def test_a_hunk_that_is_applied_already_says_so():
    [failure] = applied(DIFF, {"x": BASE.replace(b"three", b"THREE")}).failures
    assert (failure.why, failure.tree_line) == (Why.APPLIED, 2)


def test_a_file_that_ends_before_the_hunk():
    [failure] = applied(DIFF, {"x": b"one\ntwo\n"}).failures
    assert (failure.why, failure.tree_line, failure.found) == (Why.DIFFERS, 3, None)


def test_every_hunk_is_tried():
    diff = DIFF + "@@ -5 +5 @@\n-five\n+FIVE\n"
    result = applied(diff, {"x": BASE.replace(b"four", b"vier")})
    assert len(result.failures) == 1
    assert result.changes == {}  # a file is not left half patched
    diff += "@@ -6 +6 @@\n-six\n+SIX\n"
    assert [f.diff_line for f in applied(diff, {"x": BASE.replace(b"four", b"vier")}).failures] == [7, 12]


def test_a_hunk_that_is_applied_already_does_not_keep_the_others_from_it():
    diff = DIFF + "@@ -5 +5 @@\n-five\n+FIVE\n"
    result = applied(diff, {"x": BASE.replace(b"three", b"THREE")})
    assert result.changes["x"] == BASE.replace(b"three", b"THREE").replace(b"five", b"FIVE")


def test_every_line_knows_what_made_it():
    first = applied(DIFF, {"x": BASE})
    assert first.marks["x"] == (None, None, Mark("x.patch", 6), None, None)
    second = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n+zero\n one\n-two\n+TWO\n THREE\n"
    then = apply(
        read_diff(second.encode(), "y.patch"), "y.patch", lambda names: "x", first.changes.get, first.marks.get
    )
    assert then.marks["x"] == (
        Mark("y.patch", 4), None, Mark("y.patch", 7), Mark("x.patch", 6), None, None,
    )  # fmt: skip


@settings(max_examples=60)
@given(before=lines, after=lines, context=st.integers(0, 3))
def test_the_lines_that_a_diff_made_are_those_it_adds(before, after, context):
    old, new = [f"{line}\n" for line in before], [f"{line}\n" for line in after]
    text = list(difflib.unified_diff(old, new, "a/x", "b/x", n=context))
    if not text:
        return
    result = applied("".join(text), {"x": "".join(old).encode()})
    marks = result.marks["x"]
    assert len(marks) == len(new)
    for line, mark in zip(new, marks, strict=True):
        if mark is not None:
            assert text[mark.line - 1] == "+" + line
    assert sum(mark is not None for mark in marks) == sum(line.startswith("+") for line in text[2:])


def test_hunks_that_overlap_are_refused():
    diff = DIFF + "@@ -3 +3 @@\n-three\n+x\n"
    assert [f.why for f in applied(diff, {"x": BASE}).failures] == [Why.OVERLAPS]


def test_files_that_are_not_there_or_there_already():
    new = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n"
    assert [f.why for f in applied(DIFF, {}).failures] == [Why.NO_FILE]
    assert applied(new, {}).changes == {"x": b"new\n"}
    assert [f.why for f in applied(new, {"x": b"other\n"}).failures] == [Why.EXISTS]
    assert [f.why for f in applied(new, {"x": b"new\n"}).failures] == [Why.APPLIED]


def test_a_file_of_diff_minus_N_is_new_or_deleted():
    epoch = "1970-01-01 00:00:00.000000000 +0000"
    new = f"--- a/x\t{epoch}\n+++ b/x\t2026-01-01 00:00:00 +0000\n@@ -0,0 +1 @@\n+new\n"
    gone = f"--- a/x\t2026-01-01 00:00:00 +0000\n+++ b/x\t{epoch}\n@@ -1 +0,0 @@\n-new\n"
    assert applied(new, {}).changes == {"x": b"new\n"}
    assert applied(gone, {"x": b"new\n"}).changes == {"x": None}


def test_windows_line_ends_are_compared_as_they_are():
    windows = BASE.replace(b"\n", b"\r\n")
    diff = DIFF.replace(" two\n-three\n+THREE\n four\n", " two\r\n-three\r\n+THREE\r\n four\r\n")
    assert applied(diff, {"x": windows}).changes == {"x": windows.replace(b"three", b"THREE")}
    assert [f.why for f in applied(diff, {"x": BASE}).failures] == [Why.DIFFERS]


def test_bytes_that_are_no_utf8_stay_as_they_are():
    assert applied(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\xff\n+\xfe\n", {"x": b"\xff\n"}).changes == {"x": b"\xfe\n"}


def test_a_real_series_with_a_rename_a_deletion_and_a_mode(tmp_path):
    repository = tmp_path
    (repository / "a.py").write_bytes(b"".join(b"line %d\n" % i for i in range(30)))
    (repository / "gone.py").write_bytes(b"gone\n")
    (repository / "run.py").write_bytes(b"run\n")
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "base")
    before = {file.name: file.read_bytes() for file in repository.glob("*.py")}
    git(repository, "mv", "a.py", "b.py")
    (repository / "b.py").write_bytes(before["a.py"].replace(b"line 7\n", b"seven\n"))
    git(repository, "commit", "-q", "-a", "-m", "Rename\n\n--- a/not-a-header in the message\n")
    (repository / "gone.py").unlink()
    (repository / "run.py").chmod(0o755)
    (repository / "ä new.py").write_bytes(b"no newline")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "More")
    series = git(repository, "format-patch", "--stdout", "-M", "HEAD~2")
    result = applied(series, before)
    assert result.failures == ()
    left = {**before, **result.changes}
    assert {name: data for name, data in left.items() if data is not None} == {
        file.name: file.read_bytes() for file in repository.glob("*.py")
    }


@pytest.mark.parametrize(
    "diff",
    [
        "",
        "nothing of a diff\n",
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n@@ nonsense\n@@ -1 +1,2 @@\n*\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n- a\n -b\n++c\n",
        "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n",
        "--- a/x\n+++ b/x\n\0",
    ],
)
def test_what_is_no_whole_diff_is_a_tree_error(diff):
    with pytest.raises(TreeError) as raised:
        applied(diff, {"x": b"a\n"})
    assert "x.patch" in raised.value.message and raised.value.help


def test_binary_files_and_links_are_left_aside(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\0\1\2" * 50)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "base")
    (tmp_path / "x.bin").write_bytes(b"\0\3" * 50)
    (tmp_path / "link.py").symlink_to("x.bin")
    git(tmp_path, "add", "-A")
    for option in ("--binary", "--no-color"):
        result = applied(git(tmp_path, "diff", "--cached", option), {"x.bin": b""})
        assert (result.changes, result.failures, set(result.skipped)) == ({}, (), {"b/x.bin", "b/link.py"})


def test_a_diff_is_told_by_its_headers():
    assert looks_like_diff(DIFF.encode()) and looks_like_diff(b"From x\n\ndiff --git a/x b/x\n")
    assert not looks_like_diff(b"x = '''\n--- a\n'''\n")


def test_the_incident(tmp_path):
    patch = Path(__file__).parent / "fixtures" / "patches" / "incident-malformed.patch"
    files = read_diff(patch.read_bytes(), patch.name)
    assert [file.name for file in files] == ["b/vllm/model_executor/models/deepseek_v2.py"]


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    before=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=10),
    edits=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", "X\n", "X\nY\n"])), min_size=1, max_size=2),
    moved=st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["", "new\n", "a\nb\n"])), max_size=2),
    end=st.booleans(),
    crlf=st.booleans(),
)
def test_on_a_file_that_has_changed_it_is_applied_where_git_finds_it_in_place(
    tmp_path, before, edits, moved, end, crlf
):
    """Git looks for a hunk at other lines too, and says so (offset): there we refuse, and everywhere else we agree."""
    old = [f"{line}{number % 4}\n" for number, line in enumerate(before)]
    new, other = list(old), list(old)
    for where, text in edits:
        new[where : where + 1] = [text]
    for where, text in moved:
        other[where : where + (not text)] = [text]
    texts = ["".join(one) for one in (old, new, other)]
    texts = [text if end else text.removesuffix("\n") for text in texts]
    data = [(text.replace("\n", "\r\n") if crlf else text).encode() for text in texts]
    (tmp_path / "old").write_bytes(data[0])
    (tmp_path / "new").write_bytes(data[1])
    made = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", "old", "new"], cwd=tmp_path, env=ENVIRON, capture_output=True, check=False
    )  # fmt: skip
    diff = made.stdout.replace(b"b/new", b"b/old")
    if not diff:
        return
    context = any(line.startswith(b" ") for line in diff.splitlines())
    (tmp_path / "old").write_bytes(data[2])
    done = subprocess.run(
        ["git", "apply", "--verbose", "--whitespace=nowarn", *(() if context else ("--unidiff-zero",)), "-"],
        cwd=tmp_path,
        env={**ENVIRON, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
        input=diff,
        capture_output=True,
        check=False,
    )
    result = applied(diff, {"old": data[2]})
    in_place = done.returncode == 0 and b"offset" not in done.stderr
    if result.failures == ():
        assert done.returncode == 0
        assert result.changes["old"] == ((tmp_path / "old").read_bytes() if (tmp_path / "old").exists() else None)
    elif in_place and context and b"\\ No newline" not in diff:  # git joins such a line with what comes behind it
        # git takes what stands at the end of the file, or begins it, for in place where the lines before have changed
        assert {failure.why for failure in result.failures} <= {Why.MOVED, Why.APPLIED}
    if done.returncode != 0:
        assert result.failures != ()
