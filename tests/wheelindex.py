"""A package index on this machine, with wheels made by the test and the faults that indexes have."""

from __future__ import annotations

import base64
import io
import json
import random
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.minitree import record_hash

#: Larger than what is fetched at once of a wheel's end, so that members in front of it need ranges of their own.
TAIL = 2 << 20
#: Larger than what is fetched for nothing between two members.
GAP = 200 << 10


def noise(size: int, seed: int = 0) -> bytes:
    """Bytes that do not compress, the same in every run."""
    return random.Random(seed).randbytes(size)


def make_wheel(
    name: str = "vllm",
    version: str = "0.16.0",
    files: Mapping[str, bytes] | None = None,
    requires: tuple[str, ...] = (),
    record: Mapping[str, str | None] | None = None,
) -> bytes:
    """A wheel with ``files`` in their order, the dist-info last. ``record`` replaces the hash of paths in RECORD
    (None: the row is left out)."""
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Requires-Python: >=3.10"]
    lines += [f"Requires-Dist: {text}" for text in requires]
    content = dict(files or {f"{name}/__init__.py": b"", f"{name}/core.py": b"x = 1\n"})
    content[f"{info}/METADATA"] = ("\n".join(lines) + "\n").encode()
    content[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\n"
    rows = []
    for path, data in content.items():
        digest = (record or {}).get(path, record_hash(data))
        if digest is not None:
            rows.append(f"{path},sha256={digest},{len(data)}\n")
    content[f"{info}/RECORD"] = ("".join(rows) + f"{info}/RECORD,,\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in content.items():
            archive.writestr(path, data, zipfile.ZIP_DEFLATED if path.endswith(".py") else zipfile.ZIP_STORED)
    return buffer.getvalue()


def spread_wheel(count: int = 6, version: str = "0.16.0") -> bytes:
    """A wheel whose modules are so far from each other that each is fetched by itself."""
    files: dict[str, bytes] = {"vllm/__init__.py": b""}
    for i in range(count):
        files[f"vllm/lib_{i}.abi3.so"] = noise(GAP, i)
        files[f"vllm/m{i}.py"] = f"x = {i}\n".encode()
    files["vllm/_C.abi3.so"] = noise(TAIL, 99)
    return make_wheel(version=version, files=files)


@dataclass
class Index:
    """The state of a server: what it has, how it misbehaves, and what it was asked."""

    wheels: dict[str, bytes] = field(default_factory=dict)
    yanked: set[str] = field(default_factory=set)
    uploaded: dict[str, str] = field(default_factory=dict)
    form: str = "json"  #: json or html
    ranges: bool = True
    suffix_ranges: bool = True
    pretend_size: int | None = None
    status: int | None = None  #: answer every request with this
    wheel_status: int | None = None
    login: str | None = None  #: user:password
    cut: int = 0  #: this many of the answers to come end too early
    corrupt: bytes | None = None  #: these bytes of a wheel are flipped on the way
    delay: float = 0.0  #: seconds before each range
    dies_after: int | None = None  #: wheel requests that are served before connections are only closed
    page: bytes | None = None  #: answer the index page with this, as text/plain
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """What pip's index-url would be."""
        login = f"{self.login}@" if self.login else ""
        return f"http://{login}127.0.0.1:{self.port}/simple/"

    @property
    def ranges_asked(self) -> list[str]:
        """The ranges of wheels that were asked for."""
        return [wanted for path, wanted in self.asked if path.endswith(".whl") and wanted]


@contextmanager
def serving(index: Index) -> Iterator[Index]:
    """Serves ``index`` on a port of its own until the end of the block."""

    class Handler(_Handler):
        state = index

    with _Server(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        index.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield index
        finally:
            server.shutdown()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Says nothing: clients that are killed reset their connections."""


class _Handler(BaseHTTPRequestHandler):
    state: Index
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        """Answers as the index is told to."""
        state = self.state
        state.asked.append((self.path, self.headers.get("Range")))
        if state.status is not None:
            return self.answer(state.status, b"")
        if state.login is not None:
            wanted = "Basic " + base64.b64encode(state.login.encode()).decode()
            if self.headers.get("Authorization") != wanted:
                return self.answer(401, b"")
        parts = self.path.strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2:
            return self.page(parts[1])
        if parts[0] == "files" and parts[-1] in state.wheels:
            return self.wheel(parts[-1])
        return self.answer(404, b"")

    def page(self, project: str) -> None:
        """A project's page."""
        state = self.state
        if state.page is not None:
            return self.answer(200, state.page, "text/plain")
        names = [name for name in state.wheels if name.split("-")[0].lower().replace("_", "-") == project]
        if not names:
            return self.answer(404, b"")
        if state.form == "json":
            files = [
                {
                    "filename": name,
                    "url": f"../../files/{name}",
                    "hashes": {},
                    "yanked": name in state.yanked,
                    **({"upload-time": state.uploaded[name]} if name in state.uploaded else {}),
                }
                for name in names
            ]
            page = {"meta": {"api-version": "1.1"}, "name": project, "versions": [], "files": files}
            return self.answer(200, json.dumps(page).encode(), "application/vnd.pypi.simple.v1+json")
        links = "".join(
            f'<a href="../../files/{name}#sha256=0"{" data-yanked" if name in state.yanked else ""}>{name}</a>\n'
            for name in names
        )
        return self.answer(200, f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")

    def wheel(self, name: str) -> None:
        """A wheel, or a range of it."""
        state = self.state
        data = state.wheels[name]
        if state.corrupt is not None:
            assert state.corrupt in data
            data = data.replace(state.corrupt, bytes(byte ^ 0xFF for byte in state.corrupt))
        if state.wheel_status is not None:
            return self.answer(state.wheel_status, b"")
        if state.dies_after is not None:
            state.dies_after -= 1
            if state.dies_after < 0:
                self.close_connection = True
                return None
        wanted = self.headers.get("Range")
        if wanted is None or not state.ranges:
            return self.answer(200, data, size=state.pretend_size)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        if not first:
            if not state.suffix_ranges:
                return self.answer(501, b"")
            start, end = max(0, len(data) - int(last)), len(data) - 1
        else:
            start, end = int(first), min(int(last) if last else len(data) - 1, len(data) - 1)
        time.sleep(state.delay)
        headers = {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
        return self.answer(206, data[start : end + 1], headers=headers, cut=bool(state.cut))

    def answer(
        self,
        status: int,
        body: bytes,
        kind: str = "application/octet-stream",
        size: int | None = None,
        headers: Mapping[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        """Sends one answer; ``cut``: and closes the connection before its end."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        if cut:
            self.state.cut -= 1
            body = body[: len(body) // 2]
            self.close_connection = True
        try:
            self.wfile.write(body)
        except OSError:  # whoever asked is gone
            self.close_connection = True
