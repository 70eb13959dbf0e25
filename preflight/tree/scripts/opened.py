"""The files that a patch script opens: reading and writing."""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight.tree.scripts.files import Files, Place
from preflight.tree.scripts.outcome import GaveUp, Made
from preflight.tree.scripts.texts import TreeText
from preflight.tree.scripts.values import (
    Handle,
    Raised,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from preflight.tree.scripts.texts import Steps


class Opened:
    """Reads and writes files for a script."""

    files: Files
    steps: Steps
    line: int
    handles: list[Handle]

    # -- files --------------------------------------------------------------------------------------------------------

    def _open(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        mode = keywords.get("mode", arguments[1] if len(arguments) > 1 else "r")
        path = arguments[0] if arguments else keywords.get("file")
        if not isinstance(path, (str, PurePosixPath)) or not isinstance(mode, str):
            if isinstance(mode, str) and not set(mode) & set("wax+"):
                return Unknown("what is in a file is not known")
            return Unknown("a file that is written is not known")
        handle = Handle(str(path), mode)
        if "w" not in mode and "x" not in mode:
            handle.text = self._read(str(path), "b" in mode)
        if set(mode) & set("wax+"):
            self.handles.append(handle)
        return handle

    def close_all(self, path: str | None = None) -> None:
        """Write what was given to files that nobody has closed: Python does that when it drops them."""
        for handle in [one for one in self.handles if path is None or one.path == path]:
            self.close(handle)

    def close(self, handle: Handle) -> None:
        """Write what was given to a file that is open for writing."""
        if handle in self.handles:
            self.handles.remove(handle)
        if not set(handle.mode) & set("wax+") or not (handle.parts or "w" in handle.mode):
            return
        parts = handle.parts
        handle.parts = []
        known = handle.text if "a" in handle.mode else ""
        handle.mode = "closed"
        if any(isinstance(part, Unknown) for part in parts) or isinstance(known, Unknown):
            self._write(handle.path, Unknown("what is written is not known"))
            return
        whose = next((part for part in parts if isinstance(part, TreeText)), None)
        if any(isinstance(part, bytes) for part in parts):
            self._write(handle.path, b"".join(part for part in parts if isinstance(part, bytes)))
        else:
            text = (known if isinstance(known, str) else "") + "".join(str(part) for part in parts)
            self._write(handle.path, TreeText.of(text, whose.path) if whose is not None else text)

    def _read(self, path: str, binary: bool = False) -> Value:
        place = self.files.place(path)
        self.close_all(path)
        data = self.files.data(place)
        if data is None:
            if place.tree is None:
                return Unknown(f"what is in {posixpath.basename(path)} is not known")
            raise self._no_file(place)
        self.steps.reads += place.tree is not None
        if binary:
            return data
        try:
            text = data.decode().replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise GaveUp(f"{place.tree or posixpath.basename(path)} is no UTF-8", self.line) from None
        return TreeText.of(text, place.tree) if place.tree is not None else text

    def _no_file(self, place: Place) -> Raised:
        self.steps.absent.setdefault(place.tree or "", self.line)
        return Raised("FileNotFoundError", place.tree or place.text, self.line)

    def _write(self, path: str, value: Value) -> None:
        place = self.files.place(path)
        if place.tree is None and not isinstance(value, (str, bytes)):
            return
        if isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
        elif isinstance(value, bytes):
            data = value
        else:
            raise GaveUp(f"what is written to {place.tree} is not known", self.line)
        self.files.write(place, data)
        if place.tree is not None:
            self.steps.outcome.made.setdefault(place.tree, []).append(Made(self.line, ""))
