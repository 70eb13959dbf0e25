"""The calls of a patch script: files, paths, strings, regular expressions, and functions of the script itself."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight.tree.scripts.expressions import PLAIN, listed, truth
from preflight.tree.scripts.files import ANYWHERE, TREE, Files, Place
from preflight.tree.scripts.outcome import GaveUp, Made
from preflight.tree.scripts.texts import TooMuch, TreeText, checked_pattern
from preflight.tree.scripts.values import (
    Bound,
    Function,
    Handle,
    Left,
    ModuleOfTree,
    Named,
    Raised,
    Returned,
    Scope,
    Unknown,
    Value,
    words,
)

if TYPE_CHECKING:
    from preflight.tree.scripts.texts import Steps

_DEEPEST = 40
_LONG = 1_000_000
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
#: calls that change nothing which could be seen here
_SILENT = words(
    """builtins.print sys.stdout.write sys.stderr.write sys.stdout.flush os.makedirs os.chmod shutil.copymode
    shutil.copystat logging.basicConfig py_compile.compile ast.parse builtins.compile time.sleep
    importlib.invalidate_caches compileall.compile_dir compileall.compile_file"""
)
_BUILTINS: dict[str, Callable[..., Value]] = {
    "len": len, "str": str, "int": int, "bool": bool, "list": list, "tuple": tuple, "dict": dict, "set": set,
    "frozenset": frozenset, "sum": sum, "min": min, "max": max, "repr": repr, "abs": abs, "zip": zip,
    "reversed": reversed, "enumerate": enumerate, "any": any, "all": all,
}  # fmt: skip


class Calls:
    """Evaluates calls."""

    files: Files
    steps: Steps
    scope: Scope
    line: int
    shift: int
    script: str
    depth: int
    handles: list[Handle]

    # given by the other half of the runner
    value: Callable[[ast.expr], Value]
    bind: Callable[[ast.expr, Value], None]
    exits: Callable[[Value], None]
    block: Callable[[Sequence[ast.stmt]], None]

    def call(self, node: ast.Call) -> Value:
        """What a call gives."""
        target = self.value(node.func)
        arguments: list[Value] = []
        for part in node.args:
            value = self.value(part)
            if isinstance(part, ast.Starred):
                more = listed(value)
                if more is None:
                    return self._unknown_call(node, [value])
                arguments += more
            else:
                arguments.append(value)
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                return self._unknown_call(node, arguments)
            keywords[keyword.arg] = self.value(keyword.value)
        line = node.lineno + self.shift
        if isinstance(target, Function):
            return self._enter(target, arguments, keywords, node)
        if isinstance(target, Named):
            return self._named(target.name, arguments, keywords, node, line)
        if isinstance(target, Bound):
            return self._method(target.owner, target.name, arguments, keywords, node, line)
        return self._unknown_call(node, [*arguments, *keywords.values()])

    def _unknown_call(self, node: ast.Call, arguments: Sequence[Value]) -> Value:
        """A call that is not followed: it must not be able to change a file of the tree."""
        for value in arguments:
            if isinstance(value, Handle) or (isinstance(value, (str, PurePosixPath)) and self._is_of_tree(value)):
                raise GaveUp(
                    f"what `{ast.unparse(node.func)[:60]}` does with a file of the tree is not known", self.line
                )
            if isinstance(value, (list, tuple)) and any(
                isinstance(one, (str, PurePosixPath)) and self._is_of_tree(one) for one in value
            ):
                raise GaveUp(f"what `{ast.unparse(node)[:60]}` does to the tree is not known", self.line)
        return Unknown(f"what `{ast.unparse(node.func)[:60]}` gives is not known")

    def _is_of_tree(self, value: Value) -> bool:
        text = str(value)
        return len(text) < 1000 and "\n" not in text and "/" in text and self.files.place(text).tree is not None

    def _enter(self, function: Function, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """Call a function of the script."""
        if self.depth >= _DEEPEST:
            raise GaveUp("functions call one another too deeply", self.line)
        outer, line = self.scope, self.line
        self.scope = self._bound(function, arguments, keywords, node)
        self.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            self.block(function.node.body)
        except Returned as returned:
            return returned.value
        except Left:
            return None
        finally:
            self.scope, self.line = outer, line
            self.depth -= 1
        return None

    def _bound(self, function: Function, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Scope:
        """The scope of a call, its parameters bound."""
        parameters = function.node.args
        names = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
        scope = Scope(outer=function.scope)
        given = dict(zip(names, arguments, strict=False))
        rest = arguments[len(names) :]
        extra = {name: value for name, value in keywords.items() if name not in names}
        given.update({name: value for name, value in keywords.items() if name in names})
        for name, default in zip(names[len(names) - len(function.defaults) :], function.defaults, strict=True):
            given.setdefault(name, default)
        for one, default in zip(parameters.kwonlyargs, function.keyword_defaults, strict=True):
            given[one.arg] = extra.pop(one.arg, default)
        if (rest and parameters.vararg is None) or (extra and parameters.kwarg is None) or set(names) - set(given):
            raise Raised("TypeError", f"the arguments of {ast.unparse(node.func)[:60]} do not fit", self.line)
        if parameters.vararg is not None:
            given[parameters.vararg.arg] = tuple(rest)
        if parameters.kwarg is not None:
            given[parameters.kwarg.arg] = extra
        scope.names.update(given)
        return scope

    # -- functions of libraries ---------------------------------------------------------------------------------------

    def _named(self, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.Call, line: int) -> Value:
        module, _, last = name.rpartition(".")
        if name in _SILENT:
            return None
        if name in ("sys.exit", "builtins.exit", "builtins.quit", "os._exit"):
            self.exits(arguments[0] if arguments else None)
        if name in ("builtins.open", "io.open", "codecs.open"):
            return self._open(arguments, keywords)
        if module == "re":
            return self._regular(last, arguments, keywords, line, None)
        if module in ("os.path", "posixpath"):
            return self._os_path(last, arguments, node)
        if name in ("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath"):
            parts = [ANYWHERE if isinstance(part, Unknown) else part for part in arguments]
            if all(isinstance(part, (str, PurePosixPath)) for part in parts):
                return PurePosixPath(*parts)
            return Unknown("a path is not known")
        if module == "builtins" and last in (*_BUILTINS, "sorted", "range", "next", "iter", "map", "filter"):
            return self._builtin(last, arguments, keywords, node)
        if name in ("importlib.util.find_spec", "importlib.import_module", "pkgutil.get_loader"):
            return self._module(arguments, name.endswith("import_module"))
        if name in ("inspect.getfile", "inspect.getsourcefile") and arguments:
            if isinstance(arguments[0], Named):
                found = module_of_tree(self.files, arguments[0].name)
                return found.origin if found is not None else Unknown("the file of an object is not known")
            return arguments[0].origin if isinstance(arguments[0], ModuleOfTree) else Unknown("it is not known")
        if name in ("site.getsitepackages",):
            return [TREE]
        if name in ("sysconfig.get_path", "site.getusersitepackages"):
            return TREE
        if name == "sysconfig.get_paths":
            return {"purelib": TREE, "platlib": TREE}
        if name in ("shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.move", "os.replace", "os.rename"):
            return self._copied(arguments, last in ("move", "replace", "rename"), node)
        if (
            name in ("os.remove", "os.unlink")
            and len(arguments) == 1
            and isinstance(arguments[0], (str, PurePosixPath))
        ):
            self.files.write(self.files.place(str(arguments[0])), None)
            return None
        if name in ("glob.glob", "glob.iglob") and len(arguments) == 1 and isinstance(arguments[0], str):
            found_paths = self.files.matching(arguments[0])
            return Unknown("what the pattern finds is not known") if found_paths is None else found_paths
        if name == "textwrap.dedent" and len(arguments) == 1 and isinstance(arguments[0], str):
            import textwrap

            return textwrap.dedent(arguments[0])
        if name == "textwrap.indent" and len(arguments) == 2 and all(isinstance(one, str) for one in arguments):
            import textwrap

            return textwrap.indent(arguments[0], arguments[1])
        return self._unknown_call(node, [*arguments, *keywords.values()])

    def _builtin(self, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        if any(isinstance(value, Unknown) for value in (*arguments, *keywords.values())):
            if name == "str" and isinstance(arguments[0], Unknown):
                return arguments[0]
            return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
        if name == "next":
            values = listed(arguments[0])
            if values is None:
                return Unknown("what comes next is not known")
            if values or len(arguments) > 1:
                return values[0] if values else arguments[1]
            raise Raised("StopIteration", "", self.line)
        if name == "iter":
            return arguments[0]
        if name in ("any", "all") and (values := listed(arguments[0])) is not None:
            answers = [truth(value) for value in values]
            deciding = name == "any"
            if deciding in answers:
                return deciding
            return Unknown("it is not known") if None in answers else not deciding
        if name in ("map", "filter", "sorted") and (keywords or isinstance(arguments[0], Function)):
            return Unknown(f"`{ast.unparse(node)[:60]}` is not followed")
        if name == "range":
            if all(isinstance(value, int) and abs(value) < _LONG for value in arguments) and not keywords:
                return self._tried(lambda: list(range(*arguments)))
            return Unknown("a range is not known")
        if not all(isinstance(value, PLAIN) for value in (*arguments, *keywords.values())):
            return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
        if name == "sorted":
            return self._tried(lambda: sorted(*arguments))
        if name in ("map", "filter"):
            return Unknown("it is not followed")
        if name == "str" and len(arguments) == 1 and isinstance(arguments[0], TreeText):
            return arguments[0]
        made = self._tried(lambda: _BUILTINS[name](*arguments, **keywords))
        return list(made) if name in ("zip", "reversed", "enumerate") else made

    def _tried(self, run: Callable[[], Value]) -> Value:
        try:
            return run()
        except (TypeError, AttributeError) as error:
            # more likely something that is not followed right than a fault of the script
            raise GaveUp(f"a call is not followed: {str(error)[:200]}", self.line) from None
        except (ValueError, LookupError, ArithmeticError, UnicodeError) as error:
            raise Raised(type(error).__name__, str(error)[:200], self.line) from None

    def _module(self, arguments: list[Value], imported: bool) -> Value:
        name = arguments[0] if len(arguments) == 1 else None
        if not isinstance(name, str) or name.partition(".")[0] != "vllm":
            return Unknown("where a module is, is not known")
        found = module_of_tree(self.files, name)
        if found is None and imported:
            raise Raised("ModuleNotFoundError", f"No module named {name!r}", self.line)
        return found

    def _os_path(self, name: str, arguments: list[Value], node: ast.Call) -> Value:
        values = [ANYWHERE if isinstance(one, Unknown) and name == "join" else one for one in arguments]
        if not all(isinstance(one, (str, PurePosixPath)) for one in values):
            return Unknown(f"`{ast.unparse(node)[:60]}` is not known")
        texts = [str(one) for one in values]
        if name in ("exists", "isfile", "isdir", "lexists"):
            return self._exists(texts[0], name)
        if name in ("abspath", "realpath", "expanduser", "expandvars"):
            return texts[0]
        if name in ("join", "dirname", "basename", "normpath", "splitext", "split"):
            return self._tried(lambda: getattr(posixpath, name)(*texts))
        return Unknown(f"`{ast.unparse(node)[:60]}` is not known")

    def _exists(self, text: str, how: str) -> Value:
        place = self.files.place(text)
        there = self.files.data(place) is not None
        folder = self.files.is_folder(place)
        if there:
            return how not in ("isdir", "is_dir")
        if folder is None:
            return Unknown("whether a path is there is not known")
        if folder:
            return how not in ("isfile", "is_file")
        if place.tree is not None:
            self.steps.absent.setdefault(place.tree, self.line)
        return False

    def _copied(self, arguments: list[Value], moved: bool, node: ast.Call) -> Value:
        if len(arguments) != 2 or not all(isinstance(one, (str, PurePosixPath)) for one in arguments):
            return self._unknown_call(node, arguments)
        source, target = (self.files.place(str(one)) for one in arguments)
        data = self.files.data(source)
        if self.files.is_folder(target):
            target = self.files.place(f"{target.text}/{posixpath.basename(source.text)}")
        if target.tree is None and source.tree is None and data is None:
            return None
        if data is None and source.tree is not None:
            raise self._no_file(source)
        if data is None:
            raise GaveUp(f"what {posixpath.basename(source.text)} holds is not known", self.line)
        self.files.write(target, data)
        if target.tree is not None:
            self.steps.outcome.made.setdefault(target.tree, []).append(Made(self.line, ""))
        if moved:
            self.files.write(source, None)
        return str(target.text)

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

    # -- methods ------------------------------------------------------------------------------------------------------

    def _method(
        self, owner: Value, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.Call, line: int
    ) -> Value:
        if isinstance(owner, Handle):
            return self._of_handle(owner, name, arguments)
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


def module_of_tree(files: Files, name: str) -> ModuleOfTree | None:
    """A module of vLLM by its import path; None if the tree has none."""
    base = name.replace(".", "/")
    for path, folders in ((f"{base}/__init__.py", (f"{TREE}/{base}",)), (f"{base}.py", ())):
        if files.data(Place(f"{TREE}/{path}", path)) is not None:
            return ModuleOfTree(name, f"{TREE}/{path}", folders)
    return None
