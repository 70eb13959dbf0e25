"""Miniature installed vLLM trees for tests: a few files, a true RECORD, and patched files laid over them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

#: A compiled module is what tells an installed tree from a checkout; its content is never looked at.
STUB_LIBRARY = "vllm/_C.abi3.so"


def make_tree(
    folder: Path,
    release: Mapping[str, str | bytes] | None = None,
    patched: Mapping[str, str | bytes | None] | None = None,
    version: str = "0.16.0",
    *,
    transformers: str | None = None,
    requires_python: str = "<3.14,>=3.10",
) -> Path:
    """Write a site-packages folder with a miniature vLLM below ``folder`` and return it.

    ``release`` is what the release ships (path -> text; every package folder on the way gets an empty ``__init__.py``
    unless one is given); RECORD carries its true hashes. ``patched`` is written afterwards: other text for a modified
    file, a new path for an added one, None for one that is taken away. Paths outside ``vllm/`` are written too, as
    files of other distributions, and RECORD does not name them. ``transformers`` adds the dist-info of that version.
    """
    site_packages = folder / "site-packages"
    patched = patched or {}
    files: dict[str, bytes] = {STUB_LIBRARY: b"\x7fELF, a stub\n", "vllm/__init__.py": b""}
    for path in [*(release or {}), *patched]:
        for parent in PurePosixPath(path).parents:
            if parent.parts[:1] == ("vllm",):
                files.setdefault(f"{parent}/__init__.py", b"")
    files.update({path: _as_bytes(text) for path, text in (release or {}).items()})
    own = {path: data for path, data in files.items() if path.startswith("vllm/")}
    info = f"vllm-{version}.dist-info"
    own[f"{info}/METADATA"] = _metadata("vllm", version, requires_python)
    own[f"{info}/INSTALLER"] = b"pip\n"
    record = [f"{path},sha256={record_hash(data)},{len(data)}" for path, data in sorted(own.items())]
    record.append(f"{info}/RECORD,,")
    files.update(own)
    files[f"{info}/RECORD"] = "\n".join([*record, ""]).encode()
    if transformers is not None:
        files[f"transformers-{transformers}.dist-info/METADATA"] = _metadata("transformers", transformers, ">=3.9")
    for path, data in files.items():
        write(site_packages / path, data)
    for path, text in patched.items():
        if text is None:
            (site_packages / path).unlink()
        else:
            write(site_packages / path, _as_bytes(text))
    return site_packages


def record_hash(data: bytes) -> str:
    """The sha256 of ``data`` as RECORD spells it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write(path: Path, data: bytes) -> None:
    """Write ``data`` into ``path``, making its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _metadata(name: str, version: str, requires_python: str) -> bytes:
    return f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nRequires-Python: {requires_python}\n".encode()
