"""Whether the server serves: its own ``/health``, asked every second from a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

_DEFAULT_PORT = 8000
_PATIENCE = 3.0
_PAUSE = 1.0
_ANYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens. ``socket`` is the path of a Unix socket, which goes before host and port."""

    host: str = "127.0.0.1"
    port: int = _DEFAULT_PORT
    tls: bool = False
    socket: str | None = None
    path: str = "/health"

    @property
    def url(self) -> str:
        """For people."""
        if self.socket is not None:
            return f"unix:{self.socket}{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.tls else ''}://{host}:{self.port}{self.path}"


def address_of(command: Sequence[str]) -> Address | None:
    """Where the flags of ``command`` make vLLM listen (``vllm serve``'s defaults otherwise); None: it will not."""
    values = {name: _flag(command, name) for name in ("host", "port", "uds", "ssl-keyfile", "ssl-certfile")}
    if "--headless" in command:
        return None
    port = values["port"] or ""
    host = values["host"] or ""
    return Address(
        host=_ANYWHERE.get(host, host),
        port=int(port) if port.isascii() and port.isdigit() else _DEFAULT_PORT,
        tls=values["ssl-keyfile"] is not None or values["ssl-certfile"] is not None,
        socket=values["uds"],
    )


def address_in(url: str) -> Address | None:
    """The address that ``url`` names; None when it names none."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    tls = parts.scheme == "https"
    host = _ANYWHERE.get(parts.hostname, parts.hostname)
    return Address(host, port or (443 if tls else 80), tls, None, parts.path or "/health")


def _flag(command: Sequence[str], name: str) -> str | None:
    """The value of ``--name value`` or ``--name=value``; of several the last, as argparse has it."""
    value = None
    for index, word in enumerate(command):
        flag, equals, rest = word.partition("=")
        if flag.replace("_", "-") == f"--{name}":
            value = rest if equals else command[index + 1] if index + 1 < len(command) else None
    return value


def answers(address: Address) -> bool:
    """Whether a server at ``address`` says that it is healthy. Raises nothing."""
    import http.client
    import socket

    connection: http.client.HTTPConnection
    if address.socket is not None:
        connection = http.client.HTTPConnection("localhost", timeout=_PATIENCE)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(_PATIENCE)
    elif address.tls:
        import ssl

        # Only this machine is asked, and only whether somebody is there.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(address.host, address.port, timeout=_PATIENCE, context=context)
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=_PATIENCE)
    try:
        if address.socket is not None:
            connection.sock.connect(address.socket)
        connection.request("GET", address.path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


class Watch:
    """Asks until the server answers, then stops. ``ready_at`` is when that was, on the monotonic clock."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._stop = threading.Event()
        self.ready_at: float | None = None
        self._thread = threading.Thread(target=self._ask, name="health", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        """The address that is asked now."""
        return self._address

    def move(self, url: str) -> None:
        """The server itself has said where it listens. Its path is kept."""
        found = address_in(url)
        if found is not None and self._address.socket is None:
            self._address = replace(found, path=self._address.path)

    def stop(self) -> None:
        """Ask no more."""
        self._stop.set()
        self._thread.join(_PATIENCE + 1)

    def _ask(self) -> None:
        while not self._stop.is_set():
            if answers(self._address):
                self.ready_at = time.monotonic()
                return
            self._stop.wait(_PAUSE)
