"""What a package index has of a project: wheels by version. Index pages are read by pypi-simple (PEP 503 and 691)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from preflight.errors import FetchError
from preflight.tree.distinfo import normalized
from preflight.tree.paths import is_file, is_folder, names_in
from preflight.tree.web import Web, shown

if TYPE_CHECKING:
    from packaging.version import Version
    from pypi_simple import DistributionPackage, ProjectPage

_HELP = "Name a version that the index has, or an installed tree: --vllm-site-packages DIR."
#: The sources are the same in the wheels of all platforms; the commonest one is there for the longest time.
_PLATFORMS = ("x86_64", "aarch64", "any", "")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel of an index. ``url`` is without credentials."""

    filename: str
    url: str
    version: Version
    yanked: bool
    uploaded: datetime | None


def wheels(name: str, web: Web) -> list[Wheel]:
    """All wheels of a project on the indexes that pip is configured for.

    Raises FetchError when no index has the project; an index that fails is an error only if no other has it.
    """
    found: list[Wheel] = []
    asked: list[str] = []
    failures: list[FetchError] = []
    sdists = False
    for kind, url in _sources(web):
        try:
            asked.append(shown(url))
            packages = _page(name, url, web) if kind == "index" else _links(name, url, web)
        except FetchError as error:
            failures.append(error)
            continue
        sdists = sdists or any(package.package_type == "sdist" for package in packages)
        found += [wheel for package in packages if (wheel := _wheel(package, name)) is not None]
    if found:
        return found
    if failures:
        raise failures[0]
    if sdists:
        raise FetchError(f"The index has {name} as source archives only, and no wheel of it.", _HELP)
    where = ", ".join(asked) or "nowhere: pip is configured to use no index (no-index)"
    raise FetchError(f"No package index has {name}; looked at {where}.", "Check the index in pip's configuration.")


def choose(name: str, wanted: str, found: Sequence[Wheel]) -> Wheel:
    """The wheel of the version ``wanted`` (``0.16.0``), or the newest that a specifier (``0.16.*``, ``>=0.16``) allows.

    Raises FetchError, with the nearest versions, if there is none; yanked ones are taken only if named exactly.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    if is_specifier(wanted):
        text = wanted if wanted.lstrip()[:1] in "<>=!~" else f"=={wanted}"
        try:
            allowed = SpecifierSet(text)
        except InvalidSpecifier:
            raise FetchError(f"{wanted!r} is no version of {name}, and no range of versions.", _HELP) from None
        versions = list(allowed.filter(wheel.version for wheel in found if not wheel.yanked))
        if not versions:
            raise FetchError(
                f"No release of {name} is in the range {wanted}; the index has {_near(found, None)}.", _HELP
            )
        return _best(wheel for wheel in found if wheel.version == max(versions))
    try:
        version = Version(wanted)
    except InvalidVersion:
        raise FetchError(f"{wanted!r} is no version of {name}; the index has {_near(found, None)}.", _HELP) from None
    same = [wheel for wheel in found if wheel.version == version]
    if not same and version.local is None:  # builds for other accelerators: 0.16.0+cu129
        same = [wheel for wheel in found if wheel.version.public == version.public]
    if not same:
        raise FetchError(f"The index has no {name} {wanted}; the nearest are {_near(found, version)}.", _HELP)
    return _best(same)


def is_specifier(wanted: str) -> bool:
    """True for a range of versions."""
    return any(sign in wanted for sign in "<>=!~*,")


def _sources(web: Web) -> list[tuple[str, str]]:
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    config = web.config
    indexes = (PYPI_SIMPLE_ENDPOINT,) if config.indexes is None else config.indexes
    return [
        *(("index", url) for url in (*indexes, *config.extra_indexes)),
        *(("links", url) for url in config.find_links),
    ]


def _page(name: str, url: str, web: Web) -> Sequence[DistributionPackage]:
    """An index's files of a project; none if it does not have the project."""
    from pypi_simple import ACCEPT_JSON_PREFERRED

    if (folder := local_path(url)) is not None:
        return _folder(name, folder / normalized(name).replace("_", "-"))
    address = f"{web.without_login(url).rstrip('/')}/{normalized(name).replace('_', '-')}/"
    return _remote(name, address, {"Accept": ACCEPT_JSON_PREFERRED}, web)


def _links(name: str, url: str, web: Web) -> Sequence[DistributionPackage]:
    """The files of a project in a folder or on a page of links (pip's ``find-links``)."""
    folder = local_path(url)
    if folder is not None:
        packages = _folder(name, folder)
    else:
        packages = _remote(name, web.without_login(url), {"Accept": "text/html"}, web)
    return [package for package in packages if normalized(package.project or "") == normalized(name)]


def _remote(name: str, address: str, headers: dict[str, str], web: Web) -> Sequence[DistributionPackage]:
    from pypi_simple import ProjectPage, UnsupportedContentTypeError, UnsupportedRepoVersionError

    with web.get(address, headers=headers) as response:
        if response.status_code == 404:
            return ()
        if response.status_code != 200:
            raise FetchError(
                f"{shown(address)} answers {response.status_code} ({response.reason}) for {name}.", "Try again later."
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a newer minor version of the format is no concern here
                page: ProjectPage = ProjectPage.from_response(response, name)
        except (UnsupportedContentTypeError, UnsupportedRepoVersionError, ValueError) as error:
            what = str(error).splitlines()[0][:200]
            raise FetchError(
                f"{shown(address)} does not answer as a package index does: {what}.", "Check pip's index-url."
            ) from None
        return page.packages


def _folder(name: str, folder: Path) -> Sequence[DistributionPackage]:
    """The files of a local index's project folder, or of a page or a folder of wheels."""
    from pypi_simple import DistributionPackage, ProjectPage
    from pypi_simple.html import Link

    file = folder / "index.html" if is_folder(folder) else folder
    if is_file(file):
        try:
            return ProjectPage.from_html(name, file.read_bytes(), file.as_uri()).packages
        except OSError as error:
            raise FetchError(f"{file} cannot be read: {error.strerror}.") from None
    links = (
        Link(each, (folder / each).as_uri(), {}) for each in names_in(folder) if each.endswith((".whl", ".tar.gz"))
    )
    return [DistributionPackage.from_link(link) for link in links]


def local_path(url: str) -> Path | None:
    """The path of a ``file:`` address, or of a plain path (``find-links`` takes both); None for the web's."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = unquote(parts.path)
        return Path(path.lstrip("/") if os.name == "nt" else path)
    return None if parts.scheme in ("http", "https") else Path(os.path.expanduser(url))  # noqa: PTH111


def _wheel(package: DistributionPackage, name: str) -> Wheel | None:
    from packaging.version import InvalidVersion, Version

    if (
        package.package_type != "wheel"
        or package.version is None
        or normalized(package.project or "") != normalized(name)
    ):
        return None
    try:
        version = Version(package.version)
    except InvalidVersion:
        return None
    return Wheel(package.filename, package.url, version, package.is_yanked, package.upload_time)


def _best(same: Iterable[Wheel]) -> Wheel:
    def rank(wheel: Wheel) -> tuple[bool, int, bool, str]:
        platform = wheel.filename.removesuffix(".whl").rpartition("-")[2]
        arch = next(i for i, part in enumerate(_PLATFORMS) if part in platform)
        return (wheel.yanked, arch, "linux" not in platform and platform != "any", wheel.filename)

    return min(same, key=rank)


def _near(found: Sequence[Wheel], version: Version | None) -> str:
    """Up to six versions: those around ``version``, or the newest."""
    versions = sorted({wheel.version for wheel in found if not wheel.yanked and not wheel.version.is_prerelease})
    if version is not None:
        place = sum(other < version for other in versions)
        start = max(0, min(place - 3, len(versions) - 6))
        versions = versions[start : start + 6]
    return ", ".join(map(str, versions[-6:])) or "none that is not yanked"
