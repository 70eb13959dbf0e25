"""The part of remotezip that asks for bytes, taught to serve what was fetched ahead. Imported only when fetching."""

from __future__ import annotations

import io
import time
from typing import Any

from remotezip import PartialBuffer, RangeNotSupported, RemoteFetcher, RemoteZipError
from urllib3.exceptions import HTTPError

from preflight.errors import FetchError
from preflight.tree.web import OFFLINE, Web, shown

_TRIES = 3


class AheadFetcher(RemoteFetcher):
    """Fetches ranges of one file through ``Web``; a range inside a stretch that is held costs no request."""

    def __init__(self, web: Web, url: str, session: object = None, support_suffix_range: bool = True) -> None:
        super().__init__(url, session, support_suffix_range)
        self._web = web
        self._address = url
        self._held: dict[int, bytes] = {}

    def hold(self, start: int, data: bytes) -> None:
        """Serve ranges inside ``data``, which begins at ``start``, until it is released."""
        self._held[start] = data

    def release(self, start: int) -> None:
        """Forget a stretch."""
        del self._held[start]

    def fetch(self, data_range: tuple[int, int | None], stream: bool = False) -> PartialBuffer:
        first, last = data_range
        if last is not None:
            for start, data in self._held.items():
                if start <= first and last < start + len(data):
                    piece = data[first - start : last + 1 - start]
                    return PartialBuffer(io.BytesIO(piece), first, len(piece), stream=False)
        # Never a stream: a connection that is left half read cannot be used again.
        buffer = self._tried(data_range)
        if last is None:  # the end of the file: its directory, and for a wheel the dist-info
            start = buffer.tell()
            data = buffer.read()
            self.hold(start, data)
            buffer = PartialBuffer(io.BytesIO(data), start, len(data), stream=False)
        return buffer

    def whole(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to ``end``. Raises FetchError if they cannot be had, with a few tries."""
        for _ in range(_TRIES):
            buffer = self.fetch((start, end - 1))
            data = buffer.read() if buffer.tell() == start else b""
            if len(data) == end - start:
                return data
        raise FetchError(f"{shown(self._address)} sends less than was asked for, {_TRIES} times.", OFFLINE)

    def get_file_size(self) -> int:
        """The size of the file, for servers that do not know a range without a beginning."""
        with self._web.get(self._address, headers={"Range": "bytes=0-0"}, stream=True) as response:
            size = response.headers.get("Content-Range", "").rpartition("/")[2]
            if not size.isdigit():
                raise RangeNotSupported("no Content-Range")
            return int(size)

    def _tried(self, data_range: tuple[int, int | None]) -> PartialBuffer:
        for attempt in range(_TRIES):
            try:
                return super().fetch(data_range, stream=False)
            except (HTTPError, OSError) as error:  # the connection broke while the answer was read
                if attempt + 1 == _TRIES:
                    what = type(error).__name__
                    raise FetchError(
                        f"The connection to {shown(self._address)} breaks off ({what}).", OFFLINE
                    ) from None
                time.sleep(0.3 * (attempt + 1))
        raise AssertionError("the loop returns or raises")

    def _request(self, kwargs: dict[str, Any]) -> tuple[Any, str]:
        response = self._web.get(self._address, stream=True, **kwargs)
        if response.status_code == 404:
            response.close()
            raise FetchError(
                f"{shown(self._address)} answers 404 for a wheel that its index names.", "Tell who runs the index."
            )
        if response.status_code == 200:
            response.close()
            raise RangeNotSupported("the whole file instead of a range")
        if response.status_code != 206 or "Content-Range" not in response.headers:
            response.close()
            raise RemoteZipError(f"{response.status_code} {response.reason}")
        return response.raw, response.headers["Content-Range"]
