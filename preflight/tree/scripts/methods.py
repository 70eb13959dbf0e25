"""The methods that a patch script calls: of text, of lists, of paths, of files, of regular expressions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight.tree.scripts.expressions import PLAIN, listed
from preflight.tree.scripts.files import Files
from preflight.tree.scripts.outcome import GaveUp
from preflight.tree.scripts.texts import TooMuch, TreeText, checked_pattern
from preflight.tree.scripts.values import (
    ArgumentParser,
    Function,
    Handle,
    Raised,
    Record,
    Unknown,
    Value,
    words,
)

if TYPE_CHECKING:
    from preflight.tree.scripts.texts import Steps

#: what may be asked of a plain value; ``format`` and the like may make text of any length
_STRING = words(
    """strip lstrip rstrip split rsplit splitlines startswith endswith lower upper title find rfind index rindex count
    partition rpartition removeprefix removesuffix join encode isidentifier isspace isdigit capitalize casefold
    isalpha isalnum"""
)
_LIST = words("append extend insert pop remove index count sort reverse copy clear")
_DICT = words("get items keys values setdefault pop update copy")
_SET = words("add discard remove union difference intersection issubset copy update")
_PATH = words("joinpath with_suffix with_name as_posix is_absolute relative_to")
_SAME = words("resolve absolute expanduser")


class Methods:
    """Evaluates calls of methods."""

    files: Files
    steps: Steps
    line: int

    # given by the other parts of the runner
    close: Callable[[Handle], None]
    _enter: Callable[[Function, list[Value], dict[str, Value], ast.Call], Value]
    _unknown_call: Callable[[ast.Call, Sequence[Value]], Value]
    _tried: Callable[[Callable[[], Value]], Value]
    _open: Callable[[list[Value], dict[str, Value]], Value]
    _read: Callable[..., Value]
    _write: Callable[[str, Value], None]
    _exists: Callable[[str, str], Value]
    _copied: Callable[[list[Value], bool, ast.Call], Value]

    # -- methods ------------------------------------------------------------------------------------------------------

    def _method(
        self, owner: Value, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.Call, line: int
    ) -> Value:
        if isinstance(owner, Handle):
            return self._of_handle(owner, name, arguments)
        if isinstance(owner, ArgumentParser):
            if name == "add_argument":
                owner.add(arguments, keywords)
                return None
            if name in ("parse_args", "parse_known_args"):
                given = Record(dict(owner.defaults))
                return given if name == "parse_args" else (given, [])
            return Unknown(f"{name} of an argument parser is not followed")
        if isinstance(owner, PurePosixPath):
            return self._of_path(owner, name, arguments, keywords, node)
        if isinstance(owner, re.Pattern):
            return self._regular(name, arguments, keywords, line, owner)
        if isinstance(owner, re.Match):
            if name in ("group", "start", "end", "span", "groups", "groupdict", "expand"):
                if any(isinstance(value, Unknown) for value in arguments):
                    return Unknown("it is not known")
                return self._tried(lambda: getattr(owner, name)(*arguments))
            return Unknown("it is not followed")
        if any(isinstance(value, Unknown) for value in (*arguments, *keywords.values())):
            if isinstance(owner, (list, set)) and name in ("append", "add", "insert"):
                self._tried(lambda: getattr(owner, name)(*arguments))
                return None
            return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
        if isinstance(owner, str):
            return self._of_text(owner, name, arguments, keywords, node, line)
        allowed = _LIST if isinstance(owner, list) else _DICT if isinstance(owner, dict) else _SET
        if isinstance(owner, bytes):
            allowed = _STRING | {"decode", "replace"}
        if isinstance(owner, (list, dict, set, bytes)) and name in allowed and not keywords:
            if name == "replace" and len(owner) > 1 << 22:
                raise TooMuch("the text is too long")
            found = self._tried(lambda: getattr(owner, name)(*arguments))
            return list(found) if isinstance(owner, dict) and name in ("items", "keys", "values") else found
        return self._unknown_call(node, [*arguments, *keywords.values()])

    def _of_text(
        self, owner: str, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.Call, line: int
    ) -> Value:
        if name == "replace" and len(arguments) >= 2 and all(isinstance(value, str) for value in arguments[:2]):
            count = keywords.get("count", arguments[2] if len(arguments) > 2 else -1)
            if not isinstance(count, int):
                return Unknown("it is not known")
            return self.steps.replace(owner, arguments[0], arguments[1], count, line)
        if name not in _STRING:
            return Unknown(f"`{ast.unparse(node)[:60]}` is not followed")
        if name == "join":
            parts = listed(arguments[0]) if len(arguments) == 1 else None
            if parts is None or not all(isinstance(part, str) for part in parts):
                return Unknown("what is joined is not known")
            whose = next((part for part in parts if isinstance(part, TreeText)), None)
            text = owner.join(parts)
            return text if whose is None else TreeText.of(text, whose.path)
        if name in ("count", "find", "index", "rfind", "rindex") and arguments and isinstance(arguments[0], str):
            self.steps.tested(owner, arguments[0], line, arguments[0] in owner)
        found = self._tried(lambda: getattr(owner, name)(*arguments, **keywords))
        if isinstance(owner, TreeText):
            if isinstance(found, str):
                return TreeText.of(found, owner.path)
            if name in ("partition", "rpartition", "split", "rsplit", "splitlines"):
                return type(found)(TreeText.of(part, owner.path) for part in found)
        return found

    def _of_handle(self, handle: Handle, name: str, arguments: list[Value]) -> Value:
        if name == "write" and len(arguments) == 1:
            handle.parts.append(arguments[0])
            return None
        if name == "writelines" and len(arguments) == 1:
            parts = listed(arguments[0])
            handle.parts += parts if parts is not None else [Unknown("it is not known")]
            return None
        if name == "close":
            self.close(handle)
            return None
        if name in ("flush", "truncate", "seek", "fsync"):
            if name == "seek" and "+" in handle.mode:
                handle.parts = []
            return None
        if name == "read" and not arguments:
            return handle.text
        if name == "readlines" and not arguments and isinstance(handle.text, str):
            text = handle.text
            lines = text.splitlines(keepends=True)
            return [TreeText.of(one, text.path) for one in lines] if isinstance(text, TreeText) else lines
        return Unknown(f"what `{name}` of a file gives is not known")

    def _of_path(
        self, path: PurePosixPath, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        if name in ("read_text", "read_bytes"):
            return self._read(str(path), name == "read_bytes")
        if name in ("write_text", "write_bytes"):
            value = arguments[0] if arguments else keywords.get("data", Unknown("it is not known"))
            self._write(str(path), value)
            return None
        if name == "open":
            return self._open([path, *arguments], keywords)
        if name in ("exists", "is_file", "is_dir"):
            return self._exists(str(path), name)
        if name in ("glob", "rglob") and len(arguments) == 1 and isinstance(arguments[0], str):
            pattern = f"{path}/**/{arguments[0]}" if name == "rglob" else f"{path}/{arguments[0]}"
            found = self.files.matching(pattern.replace("**/", "*") if name == "rglob" else pattern)
            return (
                Unknown("what the pattern finds is not known") if found is None else [PurePosixPath(p) for p in found]
            )
        if name in ("unlink", "rename", "replace"):
            if name == "unlink":
                self.files.write(self.files.place(str(path)), None)
                return None
            return self._copied([path, *arguments], True, node)
        if name in ("mkdir", "chmod", "touch"):
            return None
        if name in _SAME:
            return path
        if name in _PATH and all(isinstance(value, (str, PurePosixPath)) for value in arguments):
            return self._tried(lambda: getattr(path, name)(*arguments))
        return self._unknown_call(node, [path, *arguments])

    # -- regular expressions ------------------------------------------------------------------------------------------

    def _regular(
        self, name: str, arguments: list[Value], keywords: dict[str, Value], line: int, compiled: re.Pattern[str] | None
    ) -> Value:
        if name == "escape" and len(arguments) == 1 and isinstance(arguments[0], str):
            return re.escape(arguments[0])
        values = [*([compiled] if compiled is not None else []), *arguments]
        if any(not isinstance(one, (*PLAIN, re.Pattern, Function)) for one in (*values, *keywords.values())):
            return Unknown("it is not known")
        order = {"compile": ("pattern", "flags"), "sub": ("pattern", "repl", "string", "count", "flags")}
        order["subn"] = order["sub"]
        names = order.get(name, ("pattern", "string", "flags"))
        given = dict(zip(names, values, strict=False)) | keywords
        pattern, text, flags = given.get("pattern"), given.get("string"), given.get("flags", 0)
        if name not in ("compile", "sub", "subn", "search", "match", "fullmatch", "findall", "finditer", "split"):
            return Unknown(f"re.{name} is not followed")
        if not isinstance(pattern, (str, re.Pattern)) or not isinstance(flags, int):
            return Unknown("a pattern is not known")
        checked_pattern(pattern, flags)
        if name == "compile":
            return self._tried(lambda: re.compile(pattern, flags))
        if not isinstance(text, str):
            return Unknown("the text is not known")
        shown = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
        if name in ("sub", "subn"):
            return self._substituted(name, pattern, given, text, flags, line, shown)
        found = self._tried(lambda: getattr(re, name)(pattern, text, **({"flags": flags} if flags else {})))
        if name == "finditer":
            found = list(found)
        self.steps.tested(text, shown, line, bool(found))
        return found

    def _substituted(
        self, name: str, pattern: Value, given: dict[str, Value], text: str, flags: int, line: int, shown: str
    ) -> Value:
        replacement, count = given.get("repl"), given.get("count", 0)
        made: list[str] = []

        def expand(match: re.Match[str]) -> str:
            if isinstance(replacement, Function):
                result = self._enter(replacement, [match], {}, ast.Call(ast.Name("repl"), [], []))
                if not isinstance(result, str):
                    raise GaveUp("what a replacement function gives is not known", line)
            else:
                result = match.expand(str(replacement))
            made.append(result)
            return result

        if not isinstance(replacement, (str, Function)) or not isinstance(count, int):
            return Unknown("a replacement is not known")
        flag = {"flags": flags} if flags else {}
        try:
            result, number = re.subn(pattern, expand, text, count=count, **flag)
        except re.error as error:
            raise Raised("re.error", str(error), line) from None
        except IndexError as error:
            raise Raised("IndexError", str(error), line) from None
        new = self.steps.substituted(text, result, shown, number, line, "\n".join(made))
        return (new, number) if name == "subn" else new
