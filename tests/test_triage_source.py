"""How a log comes: files, pipes, compression, other encodings, files that grow; and what cannot be read."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from preflight.triage.source import Log, LogUnreadable
from tests.triage_reading import LOGS, answer, root, triage

DEATH = LOGS / "incident-3-interface.log"
DATA = DEATH.read_bytes()
MESSAGE = "Model does not support EAGLE3 interface but aux_hidden_state_outputs was requested"


def test_standard_input_and_a_file_give_the_same() -> None:
    assert answer(DATA) == answer(DEATH)


def test_gzip(tmp_path: Path) -> None:
    packed = tmp_path / "launch.log.gz"
    packed.write_bytes(gzip.compress(DATA))
    assert answer(packed) == answer(DEATH)
    assert answer(packed.read_bytes()) == answer(DEATH)


def test_gzip_parts_one_behind_the_other_are_one_log() -> None:
    cut = DATA.index(b"\n", 3000) + 1
    assert answer(gzip.compress(DATA[:cut]) + gzip.compress(DATA[cut:])) == answer(DEATH)


def test_what_there_is_of_a_gzip_file_that_is_cut_off_is_read_and_said() -> None:
    packed = gzip.compress(DATA + os.urandom(20_000))
    found = answer(packed[: len(packed) - 9000])
    assert found["root_cause"]["message"] == MESSAGE
    assert [note for note in found["notes"] if "cut off" in note]


def test_what_there_is_of_a_damaged_gzip_file_is_read_and_said() -> None:
    packed = bytearray(gzip.compress(DATA + os.urandom(400_000)))
    packed[-200_000:-199_000] = b"\xff" * 1000
    found = answer(bytes(packed))
    assert found["root_cause"]["message"] == MESSAGE
    assert [note for note in found["notes"] if "damaged" in note]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_as_powershell_writes_it(encoding: str) -> None:
    data = DATA.decode().encode(encoding)
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
    assert root(marks.get(encoding, b"") + data)["message"] == MESSAGE


@pytest.mark.parametrize("data", [bz2.compress(DATA), b"\x28\xb5\x2f\xfd....", b"PK\x03\x04...."])
def test_other_compressions_are_named_with_the_way_out(data: bytes) -> None:
    with pytest.raises(LogUnreadable) as caught:
        triage(data)
    assert "preflight triage -" in (caught.value.help or "")


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match=r"none\.log"):
        triage(tmp_path / "none.log")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match="is a folder"):
        triage(tmp_path)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_what_is_no_path(name: str) -> None:
    with pytest.raises(LogUnreadable):
        Log(name, io.BytesIO())


def test_a_file_whose_reading_fails() -> None:
    """The kernel opens a process's memory and refuses to read its beginning, as a failing disk would."""
    with pytest.raises(LogUnreadable, match="cannot be read"):
        triage("/proc/self/mem")


def test_a_symbolic_link_to_itself(tmp_path: Path) -> None:
    loop = tmp_path / "loop.log"
    loop.symlink_to(loop)
    with pytest.raises(LogUnreadable):
        triage(loop)


def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(DATA))
    writer.start()
    assert root(pipe)["message"] == MESSAGE
    writer.join()


GROW = """
import sys, time
data = open(sys.argv[1], "rb").read()
with open(sys.argv[2], "ab", buffering=0) as log:
    for at in range(0, len(data), 2000):
        log.write(data[at:at + 2000])
        time.sleep(0.01)
"""


def grow(source: Path, log: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", GROW, str(source), str(log)])


def test_following_a_log_until_the_launch_has_failed(tmp_path: Path) -> None:
    log = tmp_path / "growing.log"
    log.touch()
    with grow(DEATH, log):
        code, text = triage(log, "--follow", "--output-format", "json")
    assert code == 1
    assert MESSAGE in text


def test_following_a_log_until_the_launch_serves(tmp_path: Path) -> None:
    log = tmp_path / "growing.log"
    log.write_bytes(b"an earlier line\n")
    with grow(LOGS / "healthy.log", log):
        code, text = triage(log, "--follow", "--output-format", "json")
    assert code == 0
    assert '"state": "serving"' in text


def test_following_a_log_that_is_replaced(tmp_path: Path) -> None:
    log = tmp_path / "rotated.log"
    log.write_bytes((LOGS / "just-stops.log").read_bytes())

    def rotate() -> None:
        time.sleep(0.5)
        fresh = tmp_path / "fresh.log"
        fresh.write_bytes(DATA)
        fresh.replace(log)

    thread = threading.Thread(target=rotate)
    thread.start()
    found = answer(log, "--follow")
    thread.join()
    assert found["root_cause"]["message"] == MESSAGE
    assert [note for note in found["notes"] if "replaced" in note]
