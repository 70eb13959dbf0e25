"""The commands of a shell script that copy, move, make and delete files."""

from __future__ import annotations

import posixpath
import re

from preflight.tree.scripts.files import Place
from preflight.tree.scripts.meaning import Meaning, braces_of, holds, shown
from preflight.tree.scripts.outcome import GaveUp, ScriptWhy
from preflight.tree.scripts.words import Command

_FLAT = frozenset({"-d", "--directory"})


class Copying(Meaning):
    """Carries these commands out; each gives its status, None where that is not known."""

    def _cp(self, name: str, words: list[str], command: Command) -> bool | None:
        """``cp``, ``mv``, ``install`` and ``ln``: afterwards the target has the source's content."""
        options, rest = self._options(name, words)
        given = {option for option, _ in options}
        if name == "install" and given & _FLAT:
            return self._mkdir(name, rest, command)
        into = next((value for option, value in options if option in ("-t", "--target-directory")), None)
        if into is None:
            if len(rest) < 2:
                return None
            *rest, into = rest
            place = self._place(into)
            in_folder = into.endswith("/") or into in (".", "..") or len(rest) > 1 or self._is_folder(place)
        else:
            in_folder = True
        status: bool | None = None
        whole = name in ("mv", "ln") or bool(given & {"-r", "-R", "-a", "--recursive", "--archive"})
        for word in rest:
            for source in braces_of(word):
                if self._copy_one(name, source, (into, in_folder), "-D" in given, whole) is False:
                    status = False
        return status

    def _copy_one(self, name: str, source: str, to: tuple[str, bool], makes: bool, whole: bool) -> bool | None:
        into, in_folder = to
        from_tree = self._place(source)
        data = self._content(source) if not re.search(r"[*?\[]", source) else None
        named = self._script(source) if data is not None else None
        if data is not None:
            target = posixpath.join(into, posixpath.basename(source)) if in_folder else into
            status = self._put(self._place(target), data, named, makes)
            if name == "mv" and from_tree.tree is not None:
                self._write(from_tree, None)
            return status
        inside = self._inside(source)
        if not whole:
            depth = posixpath.normpath(source).count("/")
            inside = tuple(one for one in inside if one.count("/") <= depth + self._here.count("/") + bool(self._here))
        if not inside or from_tree.tree is not None:
            target = self._place(posixpath.join(into, posixpath.basename(source)) if in_folder else into)
            if target.tree is not None or from_tree.tree is not None:
                raise GaveUp(f"{shown(source)} is copied over {target.tree or into}, and is not at hand", self.line)
            return None
        top = next(one for one in self._in_repository(source) if holds(one, inside[0]))
        wild = re.search(r"[*?\[]", top) is not None
        top = posixpath.dirname(top) if wild else top
        base = into
        if in_folder and not wild and not source.endswith(("/.", "/..")) and source != ".":
            base = posixpath.join(into, posixpath.basename(source.rstrip("/")))
        for one in inside:
            content = self._of_repository(one)
            if content is not None:
                rest = one if top in ("", ".") else one[len(top) + 1 :]
                self._put(self._place(posixpath.join(base, rest)), content, one, makes=True)
        return None

    def _put(self, place: Place, data: bytes, named: str | None, makes: bool) -> bool | None:
        if named is not None:
            self._copied[place.text] = named
        if place.tree is None:
            self.files.write(place, data)
            return None
        folder = self.files.place(posixpath.dirname(place.text))
        if not makes and folder.tree is not None and not self._is_folder(folder):
            self._fails(ScriptWhy.STOPS if self._strict else ScriptWhy.NO_FILE, folder.tree, None, "")
            return False
        if named is not None:
            self.used.add(named)
        self._write(place, data)
        return None

    def _mkdir(self, name: str, words: list[str], command: Command) -> bool | None:
        for word in self._options("cp", words)[1]:
            text = self._place(word).text
            while len(text) > 1:
                self._made.add(text)
                text = posixpath.dirname(text)
        return None

    def _rm(self, name: str, words: list[str], command: Command) -> bool | None:
        options, rest = self._options(name, words)
        given = {option for option, _ in options}
        for place in (place for word in rest for place in self._places(word)):
            if place.tree is None or "__pycache__" in place.text:
                continue
            if self.files.data(place) is not None:
                self._write(place, None)
            elif self.files.is_folder(place):
                if not given & {"-r", "-R", "--recursive"}:
                    return False
                self._certain()
                self.files.remove_folder(place)
            elif not given & {"-f", "--force"}:
                self._fails(ScriptWhy.STOPS if self._strict else ScriptWhy.NO_FILE, place.tree, None, "")
                return False
        return None

    def _touch(self, words: list[str]) -> bool | None:
        for word in words:
            place = self._place(word)
            if place.tree is not None and self.files.data(place) is None and not self._is_folder(place):
                self._write(place, b"")
        return None
