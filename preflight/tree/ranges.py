"""Opens a wheel where it is and reads single members of it: by HTTP range requests, or from a local file.

remotezip reads the wheel's directory by one range request and would then ask for every member by itself: thousands of
requests. Members that are wanted lie close together, so here their ranges are merged and fetched a few MiB at a time,
on a few connections, and remotezip's reader is served out of those.
"""

from __future__ import annotations

import io
import queue
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight.errors import FetchError
from preflight.tree.index import Wheel, local_path
from preflight.tree.web import Web, shown

if TYPE_CHECKING:
    from preflight.tree.remote import AheadFetcher

_TAIL = 2 << 20  #: holds the directory of a wheel with 6,000 files
_GAP = 192 << 10  #: fetching this much for nothing is quicker than another request
_SPAN = 3 << 20
_CONNECTIONS = 4
#: A wheel up to this size is fetched whole from a server that serves no ranges.
_WHOLE = 64 << 20


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the wheel that is fetched at once, and the members in it."""

    start: int
    end: int
    members: tuple[zipfile.ZipInfo, ...]


class OpenWheel:
    """A wheel's directory, and its members as they are asked for."""

    def __init__(self, wheel: Wheel, web: Web) -> None:
        """Reads the directory. Raises FetchError if it cannot be had."""
        self._wheel = wheel
        self._fetcher: AheadFetcher | None = None
        self._zip = self._local() or self._remote(wheel, web)

    def members(self) -> list[zipfile.ZipInfo]:
        """The members, folders left out."""
        return [info for info in self._zip.infolist() if not info.is_dir()]

    def spans(self, members: Iterable[zipfile.ZipInfo]) -> list[Span]:
        """The stretches to fetch for ``members``."""
        ends = sorted(info.header_offset for info in self._zip.infolist())
        end_of = dict(zip(ends, [*ends[1:], self._zip.start_dir], strict=True))
        spans: list[Span] = []
        for info in sorted(members, key=lambda info: info.header_offset):
            start, end = info.header_offset, end_of[info.header_offset]
            last = spans[-1] if spans else None
            if last is not None and start - last.end <= _GAP and end - last.start <= _SPAN:
                spans[-1] = Span(last.start, end, (*last.members, info))
            else:
                spans.append(Span(start, end, (info,)))
        return spans

    def read(self, spans: Sequence[Span]) -> Iterator[tuple[Span, dict[str, bytes]]]:
        """Each stretch with the contents of its members, in the order in which they arrive. Raises FetchError."""
        if self._fetcher is None:
            for span in spans:
                yield span, {info.filename: self._member(info) for info in span.members}
            return
        for span, data in _fetched(spans, self._fetcher):
            self._fetcher.hold(span.start, data)
            try:
                contents = {info.filename: self._member(info) for info in span.members}
            finally:
                self._fetcher.release(span.start)
            yield span, contents

    def _member(self, info: zipfile.ZipInfo) -> bytes:
        try:
            return self._zip.read(info)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
            raise _corrupt(self._wheel, f"{info.filename}: {error}") from None

    def _local(self) -> zipfile.ZipFile | None:
        file = local_path(self._wheel.url)
        if file is None:
            return None
        try:
            return zipfile.ZipFile(file)
        except (OSError, zipfile.BadZipFile) as error:
            raise FetchError(f"The wheel {file} cannot be read: {error}.", "Check the local package index.") from None

    def _remote(self, wheel: Wheel, web: Web) -> zipfile.ZipFile:
        import remotezip

        from preflight.tree.remote import AheadFetcher

        for suffix in (True, False):  # not every server knows "the last N bytes"
            made: list[AheadFetcher] = []

            def make(url: str, session: object, made: list[AheadFetcher] = made, **options: bool) -> AheadFetcher:
                made.append(AheadFetcher(web, url, session, **options))
                return made[0]

            try:
                opened = remotezip.RemoteZip(
                    wheel.url, initial_buffer_size=_TAIL, fetcher=make, support_suffix_range=suffix
                )
            except remotezip.RangeNotSupported:
                return _whole(wheel, web)
            except (zipfile.BadZipFile, remotezip.RemoteZipError, OSError) as error:
                if not suffix:
                    raise _corrupt(wheel, str(error)) from None
            else:
                self._fetcher = made[0]
                return opened
        raise AssertionError("the loop returns or raises")


def _whole(wheel: Wheel, web: Web) -> zipfile.ZipFile:
    """The wheel fetched whole, from a server that serves no ranges. Raises FetchError if it is too large for that."""
    from urllib3.exceptions import HTTPError

    with web.get(wheel.url, stream=True) as response:
        size = response.headers.get("Content-Length", "")
        if response.status_code != 200 or not size.isdigit() or int(size) > _WHOLE:
            how_large = f" of {int(size) >> 20} MiB" if size.isdigit() else ""
            raise FetchError(
                f"{shown(wheel.url)} serves no ranges of files, so the sources in the wheel{how_large} cannot be had "
                "without all of it.",
                f"Fetch it once with `pip download --no-deps {wheel.filename.partition('-')[0]}=={wheel.version}`, "
                "unpack it, and name the folder: --vllm-site-packages DIR.",
            )
        try:
            return zipfile.ZipFile(io.BytesIO(response.raw.read()))
        except (zipfile.BadZipFile, HTTPError, OSError) as error:
            raise _corrupt(wheel, str(error)) from None


def _corrupt(wheel: Wheel, what: str) -> FetchError:
    return FetchError(
        f"The wheel {wheel.filename} from {shown(wheel.url)} is damaged: {what}.",
        "Try again; if it stays so, the index (or a proxy in between) has a broken file.",
    )


def _fetched(spans: Sequence[Span], fetcher: AheadFetcher) -> Iterator[tuple[Span, bytes]]:
    """The stretches as they arrive. The threads are daemons: Ctrl-C does not wait for what is on its way."""
    todo: queue.SimpleQueue[Span | None] = queue.SimpleQueue()
    done: queue.Queue[tuple[Span, bytes | Exception]] = queue.Queue(maxsize=_CONNECTIONS)
    stopped = threading.Event()
    for span in spans:
        todo.put(span)

    def work() -> None:
        while not stopped.is_set():
            try:
                span = todo.get_nowait()
            except queue.Empty:
                return
            outcome: bytes | Exception
            try:
                outcome = fetcher.whole(span.start, span.end)
            except Exception as error:  # it is raised again where the stretch is waited for
                outcome = error
            done.put((span, outcome))

    for _ in range(min(_CONNECTIONS, len(spans))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in spans:
            span, outcome = done.get()
            if isinstance(outcome, Exception):
                raise outcome
            yield span, outcome
    finally:
        stopped.set()
        while not done.empty():
            done.get_nowait()  # lets threads that wait for room see that it is over
