"""The calls of a patch script: files, paths, strings, regular expressions, and functions of the script itself."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from preflight.tree.scripts.expressions import PLAIN, listed, truth
from preflight.tree.scripts.files import ANYWHERE, TREE, Files, Place
from preflight.tree.scripts.methods import Methods
from preflight.tree.scripts.opened import Opened
from preflight.tree.scripts.outcome import GaveUp, Made
from preflight.tree.scripts.texts import TreeText
from preflight.tree.scripts.values import (
    ArgumentParser,
    Bound,
    Function,
    Handle,
    Left,
    ModuleOfTree,
    Named,
    Raised,
    Record,
    RecordClass,
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
#: calls that change nothing which could be seen here
_SILENT = words(
    """builtins.print sys.stdout.write sys.stderr.write sys.stdout.flush os.makedirs os.chmod shutil.copymode
    shutil.copystat logging.basicConfig py_compile.compile ast.parse builtins.compile time.sleep
    importlib.invalidate_caches compileall.compile_dir compileall.compile_file"""
)
#: methods, of whatever object, that only say something
_TALKS = words("info debug warning error critical exception log echo print add_argument_group set_defaults")
_BUILTINS: dict[str, Callable[..., Value]] = {
    "len": len, "str": str, "int": int, "bool": bool, "list": list, "tuple": tuple, "dict": dict, "set": set,
    "frozenset": frozenset, "sum": sum, "min": min, "max": max, "repr": repr, "abs": abs, "zip": zip,
    "reversed": reversed, "enumerate": enumerate, "any": any, "all": all,
}  # fmt: skip


class Calls(Opened, Methods):
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
        if isinstance(target, RecordClass):
            return self._made(target, arguments, keywords)
        if isinstance(target, Function):
            return self._enter(target, arguments, keywords, node)
        if isinstance(target, Named):
            return self._named(target.name, arguments, keywords, node, line)
        if isinstance(target, Bound):
            return self._method(target.owner, target.name, arguments, keywords, node, line)
        return self._unknown_call(node, [*arguments, *keywords.values()])

    def _made(self, cls: RecordClass, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """An object of a class that only has fields."""
        fields = {**cls.defaults, **dict(zip(cls.fields, arguments, strict=False)), **keywords}
        if len(arguments) > len(cls.fields) or set(fields) != set(cls.fields):
            return Unknown(f"the arguments of {cls.name} do not fit")
        return Record({name: fields[name] for name in cls.fields})

    def _unknown_call(self, node: ast.Call, arguments: Sequence[Value]) -> Value:
        """A call that is not followed: it must not be able to change a file of the tree."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TALKS:
            return Unknown(f"what `{ast.unparse(node.func)[:60]}` gives is not known")
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
        before = self.steps.state
        result: Value = None
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            self.block(function.node.body)
        except Returned as returned:
            result = returned.value
        except Left:
            pass
        finally:
            self.scope, self.line = outer, line
            self.depth -= 1
        self.steps.left(before)
        return result

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
        if name == "argparse.ArgumentParser":
            return ArgumentParser()
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
        if (
            name == "shutil.rmtree"
            and arguments
            and isinstance(arguments[0], (str, PurePosixPath))
            and self.files.remove_folder(self.files.place(str(arguments[0])))
        ):
            return None
        if name in ("os.system", "os.popen") and any(TREE in str(value) for value in arguments):
            raise GaveUp(f"what a command does to the tree is not known: `{ast.unparse(node)[:60]}`", self.line)
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


def module_of_tree(files: Files, name: str) -> ModuleOfTree | None:
    """A module of vLLM by its import path; None if the tree has none."""
    base = name.replace(".", "/")
    for path, folders in ((f"{base}/__init__.py", (f"{TREE}/{base}",)), (f"{base}.py", ())):
        if files.data(Place(f"{TREE}/{path}", path)) is not None:
            return ModuleOfTree(name, f"{TREE}/{path}", folders)
    return None
