"""The parts of `preflight launch` by themselves: addresses, the options, what cannot be started or written."""

from __future__ import annotations

import argparse
import http.server
import io
import os
import socketserver
import threading
from pathlib import Path

import pytest

from preflight.errors import PreflightError, UsageError
from preflight.supervise.child import exit_code
from preflight.supervise.command import add_arguments, run
from preflight.supervise.health import Address, address_in, address_of, answers
from preflight.supervise.progress import ProgressLine, duration
from tests.triage_reading import no_rules


@pytest.mark.parametrize(
    ("flags", "url"),
    [
        ([], "http://127.0.0.1:8000/health"),
        (["--port", "9000"], "http://127.0.0.1:9000/health"),
        (["--port=9000", "--host=0.0.0.0"], "http://127.0.0.1:9000/health"),
        (["--host", "::"], "http://[::1]:8000/health"),
        (["--host", "gpu7", "--port", "1", "--port", "2"], "http://gpu7:2/health"),
        (["--ssl-keyfile", "k", "--ssl_certfile", "c"], "https://127.0.0.1:8000/health"),
        (["--uds", "/run/v.sock"], "unix:/run/v.sock/health"),
        (["--port", "many"], "http://127.0.0.1:8000/health"),
        (["--port"], "http://127.0.0.1:8000/health"),
    ],
)
def test_where_the_flags_make_it_listen(flags: list[str], url: str) -> None:
    address = address_of(["vllm", "serve", "m", *flags])
    assert address is not None and address.url == url


def test_a_headless_launch_listens_nowhere() -> None:
    assert address_of(["vllm", "serve", "m", "--headless"]) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://0.0.0.0:8001", Address("127.0.0.1", 8001)),
        ("http://[::]:8001", Address("::1", 8001)),
        ("https://h/ready", Address("h", 443, True, None, "/ready")),
        ("http://h:99999", None),
        ("ftp://h", None),
        ("nonsense", None),
    ],
)
def test_addresses_as_urls(url: str, expected: Address | None) -> None:
    assert address_in(url) == expected


class Health(http.server.BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def address_string(self) -> str:
        return "somebody"  # a Unix socket has no address

    def log_message(self, format: str, *args: object) -> None:
        pass


class Sick(Health):
    status = 503


class Rude(Health):
    def do_GET(self) -> None:
        self.wfile.write(b"\x00 not http at all\r\n\r\n")


def serving(server: socketserver.BaseServer) -> threading.Thread:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    return thread


@pytest.mark.parametrize(("handler", "healthy"), [(Health, True), (Sick, False), (Rude, False)])
def test_health_over_http(handler: type, healthy: bool) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = serving(server)
        assert answers(Address("127.0.0.1", server.server_port)) is healthy
        server.shutdown()
        thread.join()
    assert answers(Address("127.0.0.1", server.server_port)) is False


def test_health_over_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "v.sock")
    with socketserver.UnixStreamServer(path, Health) as server:
        thread = serving(server)
        assert answers(Address(socket=path)) is True
        server.shutdown()
        thread.join()
    assert answers(Address(socket=str(tmp_path / "none.sock"))) is False


@pytest.mark.parametrize(("status", "code"), [(0, 0), (3, 3), (-15, 143), (-9, 137)])
def test_exit_codes(status: int, code: int) -> None:
    assert exit_code(status) == code


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.9, "59 s"), (725, "12:05"), (3723, "1:02:03")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_progress_line_draws_over_itself_and_never_into_output() -> None:
    out = io.StringIO()
    line = ProgressLine(out, True, 30)
    line.draw("one")
    line.draw("one")
    line.clear()
    line.clear()
    line.at_line_start = False
    line.draw("two")
    assert out.getvalue() == "\r\x1b[Kpreflight: one\r\x1b[K"
    ProgressLine(quiet := io.StringIO(), False, 30).draw("one")
    assert quiet.getvalue() == ""


def arguments(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser)
    return parser.parse_args(options)


def start(command: list[str], *options: str) -> int:
    streams = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    return run(
        arguments(*options), command=command, gate=lambda words: 0, environ=os.environ, rules=no_rules, **streams
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan", "inf"])
def test_a_timeout_that_is_none(seconds: str) -> None:
    with pytest.raises(argparse.ArgumentError):
        arguments("--ready-timeout", seconds)


def test_no_command() -> None:
    with pytest.raises(UsageError, match="no command"):
        start([])


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="not on PATH"):
        start(["no-such-program-of-ours"])


def test_a_command_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF is what it says, and not what it is")
    broken.chmod(0o755)
    with pytest.raises(PreflightError, match="cannot be started"):
        start([str(broken)])


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="cannot be written"):
        start(["true"], "--log", str(tmp_path / "none" / "x.log"))


def test_a_health_url_that_is_none() -> None:
    with pytest.raises(UsageError, match="no http address"):
        start(["true"], "--health-url", "nonsense")
