"""Stand-ins for the classes of ``argparse`` that the tree's code extends and calls: they note what it defines."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from preflight.launch.arguments import Argument, Commands, Parser
from preflight.launch.reading.values import (
    Bound,
    Class,
    External,
    Instance,
    Native,
    NativeBase,
    NotKnown,
    Object,
    Raised,
    Unknown,
    describe,
)

if TYPE_CHECKING:
    from preflight.launch.reading.run import Run

#: argparse's own classes for actions, by the name that ``action=`` gives them
_ACTIONS = {
    "_StoreAction": "store",
    "_StoreConstAction": "store_const",
    "_StoreTrueAction": "store_true",
    "_StoreFalseAction": "store_false",
    "_AppendAction": "append",
    "_AppendConstAction": "append_const",
    "_CountAction": "count",
    "_HelpAction": "help",
    "_VersionAction": "version",
    "_ExtendAction": "extend",
    "BooleanOptionalAction": "boolean",
}
_KNOWN_ACTIONS = frozenset(_ACTIONS.values())


class StandIn:
    """An object of ``argparse`` as the code sees it: ``attribute`` raises NotKnown for what is not modelled."""

    stands_in = True
    dotted = ""

    def attribute(self, run: Run, name: str, where: tuple[str, int]) -> Object:
        """``self.name``, where the code at ``where`` asks for it."""
        base = run.library.get(self.dotted)
        if base is not None and name in base.methods:
            return Bound(base.methods[name], self)
        raise NotKnown(Unknown(f"{name} of a {type(self).__name__.lower()}"))


class Builder(StandIn):
    """The parser that an instance of ``ArgumentParser`` (or of a class of the tree that extends it) is."""

    dotted = "argparse.ArgumentParser"

    def __init__(self, parser: Parser, instance: Instance | None) -> None:
        self.parser = parser
        self.instance = instance
        self.registry: dict[Object, Object] = {}
        self.groups: list[Object] = []
        self.made_by: Object = None  #: the class whose instances subparsers become
        self.idle = False  #: it is of a subcommand that is not read, see ``Run.lean``

    def attributes(self, name: str) -> Object:
        """The attributes of a parser that code asks for; None for others."""
        if name == "prog":
            return self.parser.prog
        if name == "_action_groups":
            return self.groups
        if name == "_actions":
            return [argument.instance or argument for argument in self.parser.arguments]
        if name == "_option_string_actions":
            return {option: argument.instance or argument for option, argument in self.parser.by_option().items()}
        return None

    def attribute(self, run: Run, name: str, where: tuple[str, int]) -> Object:
        given = self.attributes(name)
        return super().attribute(run, name, where) if given is None else given


class Group(StandIn):
    """An argument group, exclusive or not: its arguments are those of its parser."""

    dotted = "argparse._ArgumentGroup"

    def __init__(self, builder: Builder, title: str | None, members: list[Argument] | None = None) -> None:
        self.builder = builder
        self.title = title
        self.members = members


class Subparsers(StandIn):
    """What ``add_subparsers`` returns."""

    dotted = "argparse._SubParsersAction"

    def __init__(self, builder: Builder, commands: Commands) -> None:
        self.builder = builder
        self.commands = commands


class Namespace(StandIn):
    """The result of parsing. ``names`` are the values of the destinations; others raise AttributeError if complete."""

    def __init__(self, names: dict[str, Object], complete: bool) -> None:
        self.names = names
        self.complete = complete

    def attribute(self, run: Run, name: str, where: tuple[str, int]) -> Object:
        if name in self.names:
            return self.names[name]
        if self.complete:
            raise Raised(AttributeError(f"'Namespace' object has no attribute '{name}'"), *where)
        raise NotKnown(Unknown(f"the parsed {name}"))


def builder_of(value: Object) -> Builder | None:
    """The parser behind a parser, a group or a subparsers object; None for other values."""
    native = value.native if isinstance(value, Instance) else value
    if isinstance(native, Builder):
        return native
    return native.builder if isinstance(native, (Group, Subparsers)) else None


def idle_among(values: Iterable[Object]) -> Object:
    """The first of ``values`` that is the parser of a subcommand which is not read; None if there is none."""
    for value in values:
        builder = builder_of(value)
        if builder is not None and builder.idle:
            return value
    return None


def note_escape(value: Object, reader: str) -> None:
    """``value`` was handed to code that is not read: if it is a parser, it may have more arguments than we know."""
    builder = builder_of(value)
    if builder is not None:
        builder.parser.gaps.append(f"it is handed to {reader}")


# -- making parsers -------------------------------------------------------------------------------------------------


def _init_parser(run: Run, instance: Instance, *_: Object, **options: Object) -> None:
    prog = options.get("prog")
    path, line = place(run)
    parser = Parser(prog if isinstance(prog, str) else "", path, line)
    if options.get("allow_abbrev") is False:
        parser.abbreviations = False
    if options.get("prefix_chars", "-") != "-" or options.get("fromfile_prefix_chars") is not None:
        parser.gaps.append("it has prefix characters of its own")
    parents = options.get("parents", ())
    for parent in parents if isinstance(parents, (list, tuple)) else ():
        builder = builder_of(parent)
        if builder is None:
            parser.gaps.append("it has a parent that cannot be read")
        else:
            parser.arguments.extend(builder.parser.arguments)
    builder = Builder(parser, instance)
    builder.made_by = instance.cls if isinstance(instance, Instance) else None
    instance.native = builder
    if options.get("add_help", True) is not False:
        parser.arguments.append(Argument("help", ("-h", "--help"), "help", path, line, nargs=0))


def _new_parser(run: Run, **options: Object) -> Object:
    """A plain ``argparse.ArgumentParser``, no class of the tree's."""
    holder = _Plain()
    _init_parser(run, holder, **options)  # type: ignore[arg-type]
    return holder.native


class _Plain:
    native: Object = None
    cls = None


def _init_group(run: Run, instance: Instance, container: Object, *args: Object, **options: Object) -> None:
    builder = builder_of(container)
    if builder is None:
        raise NotKnown(Unknown("the parser of an argument group"))
    title = options.get("title", args[0] if args else None)
    instance.native = Group(builder, title if isinstance(title, str) else None)


def _add_group(run: Run, holder: Object, *args: Object, **options: Object) -> Group:
    builder = _require(holder)
    title = options.get("title", args[0] if args else None)
    return Group(builder, title if isinstance(title, str) else None)


def _add_exclusive_group(run: Run, holder: Object, *args: Object, **options: Object) -> Group:
    builder = _require(holder)
    members: list[Argument] = []
    builder.parser.exclusive.append((options.get("required") is True, members))
    return Group(builder, None, members)


def _add_subparsers(run: Run, holder: Object, **options: Object) -> Subparsers:
    builder = _require(holder)
    dest = options.get("dest")
    commands = Commands(dest if isinstance(dest, str) else None, options.get("required") is True)
    builder.parser.commands = commands
    return Subparsers(builder, commands)


def _add_parser(run: Run, holder: Subparsers, *args: Object, **options: Object) -> Object:
    from preflight.launch.reading.calls import call

    name = args[0] if args else options.pop("name", None)
    outer = holder.builder
    if not isinstance(name, str):
        outer.parser.gaps.append("a subcommand has a name that is not known")
        raise NotKnown(Unknown("the name of a subcommand"))
    options.pop("help", None)
    aliases = options.pop("aliases", ())
    deprecated = options.pop("deprecated", None)
    del deprecated
    if outer.idle:
        return outer.instance or outer
    options.setdefault("prog", f"{outer.parser.prog} {name}".strip())
    made = call(run, outer.made_by, [], options) if outer.made_by is not None else _new_parser(run, **options)
    builder = builder_of(made)
    if builder is None:
        outer.parser.gaps.append(f"the parser of {name} cannot be read")
        return made
    named = [name, *(aliases if isinstance(aliases, (list, tuple)) else ())]
    for alias in named:
        holder.commands.parsers[alias] = builder.parser
    builder.idle = run.lean and not any(alias in run.argv for alias in named)
    return made


def _set_defaults(run: Run, holder: Object, **defaults: Object) -> None:
    _require(holder).parser.defaults.update(defaults)


def _register(run: Run, holder: Object, registry: Object, name: Object, value: Object) -> None:
    if registry == "action":
        _require(holder).registry[name] = value


def _require(holder: Object) -> Builder:
    builder = builder_of(holder)
    if builder is None:
        raise NotKnown(Unknown("a parser that is not known"))
    return builder


def _quiet(run: Run, *_: Object, **__: Object) -> str:
    return ""


# -- arguments ------------------------------------------------------------------------------------------------------


def place(run: Run) -> tuple[str, int]:
    """The statement that is running, of the code that calls a parser rather than of the parser's own class."""
    for frame in reversed(run.frames):
        owner = frame.function.owner
        if owner is None or not any(isinstance(base, NativeBase) for base in owner.order):
            return frame.path, frame.line
    return ("", 0)


def _add_argument(run: Run, holder: Object, *names: Object, **options: Object) -> Object:
    """``add_argument``: notes the argument and returns what stands for its action."""
    builder = _require(holder)
    native = holder.native if isinstance(holder, Instance) else holder
    group = native if isinstance(native, Group) else None
    parser = builder.parser
    if builder.idle:
        return holder
    where = place(run)
    if any(not isinstance(name, str) for name in names) or ("**" in options and not names):
        parser.gaps.append(f"{where[0]} line {where[1]} adds an argument whose name is not known")
        return Unknown("an argument whose name is not known")
    argument = _argument(run, builder, names, options, where)
    argument.certain = run.doubt.depth == 0
    argument.group = group.title if group is not None else None
    if argument.certain:
        taken = parser.by_option()
        for option in argument.options:
            if option in taken and taken[option].certain:
                error = argparse.ArgumentError(
                    None, f"argument {'/'.join(argument.options)}: conflicting option string: {option}"
                )
                raise Raised(error, *where)
    parser.arguments.append(argument)
    if group is not None and group.members is not None:
        group.members.append(argument)
    return argument.instance or argument


def _argument(
    run: Run, builder: Builder, names: tuple[str, ...], options: dict[str, Object], where: tuple[str, int]
) -> Argument:
    unknown = options.pop("**", None)  # the keywords are not known, only that there are some
    dest = options.pop("dest", None)
    optional = bool(names) and names[0].startswith("-")
    if dest is None or isinstance(dest, Unknown):
        long = next((name for name in names if name.startswith("--")), names[0] if names else "")
        dest = long.lstrip("-").replace("-", "_") if optional else (names[0] if names else "")
    action = options.pop("action", "store")
    action = builder.registry.get(action, action) if isinstance(action, (str, External, NativeBase)) else action
    help_text = options.pop("help", None)
    options.pop("metavar", None)
    options.pop("version", None)
    argument = Argument(
        dest,
        names if optional else (),
        "store",
        *where,
        nargs=options.get("nargs"),
        const=options.get("const"),
        default=options.get("default"),
        kind=options.get("type"),
        choices=options.get("choices"),
        required=options.get("required") is True,
        help=help_text if isinstance(help_text, str) else None,
        deprecated=options.pop("deprecated", False) is True,
    )
    if unknown is not None:
        argument.nargs = argument.kind = argument.choices = unknown
    if isinstance(action, Class):
        _act(run, argument, action, dict(options))
    elif isinstance(action, str) and action in _KNOWN_ACTIONS:
        argument.action = action
    elif isinstance(action, NativeBase) and action.dotted.rpartition(".")[2] in _ACTIONS:
        argument.action = _ACTIONS[action.dotted.rpartition(".")[2]]
    else:
        argument.action = "unknown"
    if argument.action == "boolean":
        argument.options = with_negations(argument.options)
    return argument


def with_negations(options: tuple[str, ...]) -> tuple[str, ...]:
    """The options of a BooleanOptionalAction: each ``--x`` is followed by its ``--no-x``."""
    found: list[str] = []
    for option in options:
        found.append(option)
        if option.startswith("--"):
            found.append("--no-" + option[2:])
    return tuple(found)


def _act(run: Run, argument: Argument, action: Class, options: dict[str, Object]) -> None:
    """An action that is a class of the tree: make its object, as argparse does, and read off it what it accepts."""
    from preflight.launch.reading.calls import call

    options = {"option_strings": list(argument.options), "dest": argument.dest, **options}
    if argument.help is not None:
        options["help"] = argument.help
    try:
        instance = call(run, action, [], options)
    except NotKnown as missing:
        instance = missing.unknown
    if not isinstance(instance, Instance):
        argument.action = "unknown"
        return
    argument.action = "custom"
    argument.instance = instance
    names = instance.names
    given = names.get("option_strings", list(argument.options))
    if isinstance(given, list) and all(isinstance(option, str) for option in given):
        argument.options = tuple(given)
    else:
        argument.action = "unknown"
    argument.nargs = names.get("nargs", argument.nargs)
    argument.const = names.get("const", argument.const)
    argument.default = names.get("default", argument.default)
    argument.kind = names.get("type", argument.kind)
    argument.choices = names.get("choices", argument.choices)


def _init_action(
    run: Run,
    instance: Instance,
    option_strings: Object,
    dest: Object = None,
    nargs: Object = None,
    const: Object = None,
    default: Object = None,
    type: Object = None,
    choices: Object = None,
    required: Object = False,
    help: Object = None,
    metavar: Object = None,
    **_: Object,
) -> None:
    run.doubt.touch(instance.names)
    instance.names.update(
        option_strings=option_strings, dest=dest, nargs=nargs, const=const, default=default, type=type,
        choices=choices, required=required, help=help, metavar=metavar,
    )  # fmt: skip


def _init_boolean(
    run: Run, instance: Instance, option_strings: Object, dest: Object = None, *_: Object, **options: Object
) -> None:
    options.pop("nargs", None)
    _init_action(run, instance, list(with_negations(tuple(option_strings))), dest, 0, **options)


def _init_flag(
    run: Run, instance: Instance, option_strings: Object, dest: Object = None, *_: Object, **options: Object
) -> None:
    options.pop("nargs", None)
    _init_action(run, instance, option_strings, dest, 0, **options)


def _call_boolean(
    run: Run, instance: Instance, parser: Object, namespace: Object, values: Object, option: Object = None
) -> None:
    if isinstance(option, str) and isinstance(namespace, Namespace):
        namespace.names[instance.names["dest"]] = not option.startswith("--no-")


def _call_store(
    run: Run, instance: Instance, parser: Object, namespace: Object, values: Object, option: Object = None
) -> None:
    if isinstance(namespace, Namespace):
        namespace.names[instance.names["dest"]] = values


def _error(run: Run, holder: Object, message: Object = "") -> None:
    raise Raised(SystemExit(f"error: {describe(message)}"), *place(run))


Parse = Callable[["Run", Builder, Object], Namespace]


def install(parse: Parse) -> dict[str, Object]:
    """The stand-ins by the import path that they stand for. ``parse`` is called with the words to be parsed."""

    def parse_args(run: Run, holder: Object, args: Object = None, namespace: Object = None) -> Namespace:
        return parse(run, _require(holder), run.argv[1:] if args is None else args)

    def parse_known(run: Run, holder: Object, args: Object = None, namespace: Object = None) -> tuple[Object, Object]:
        return parse(run, _require(holder), run.argv[1:] if args is None else args), Unknown("the words left over")

    container = {
        "add_argument": _add_argument,
        "add_argument_group": _add_group,
        "add_mutually_exclusive_group": _add_exclusive_group,
        "set_defaults": _set_defaults,
        "register": _register,
    }
    parser_methods = {
        **container,
        "__init__": _init_parser,
        "__new__": _new_parser,
        "add_subparsers": _add_subparsers,
        "parse_args": parse_args,
        "parse_known_args": parse_known,
        "error": _error,
        "exit": _error,
        "format_help": _quiet,
        "print_help": _quiet,
        "format_usage": _quiet,
    }
    group_methods = {**container, "__init__": _init_group}
    action = NativeBase("argparse.Action", _natives({"__init__": _init_action}))
    found: dict[str, Object] = {
        "argparse.ArgumentParser": NativeBase("argparse.ArgumentParser", _natives(parser_methods), _parser_attribute),
        "argparse._ArgumentGroup": NativeBase("argparse._ArgumentGroup", _natives(group_methods)),
        "argparse.Action": action,
        "argparse._SubParsersAction": NativeBase("argparse._SubParsersAction", _natives({"add_parser": _add_parser})),
    }
    for name, meaning in _ACTIONS.items():
        methods: dict[str, Object] = {"__init__": _init_action, "__call__": _call_store}
        if meaning == "boolean":
            methods = {"__init__": _init_boolean, "__call__": _call_boolean}
        elif meaning in ("store_true", "store_false", "store_const", "count", "help", "version"):
            methods = {"__init__": _init_flag}
        found[f"argparse.{name}"] = NativeBase(f"argparse.{name}", _natives(methods), bases=(action,))
    return found


def _natives(methods: dict[str, Callable[..., Object]]) -> dict[str, Native]:
    return {name: Native(name, function) for name, function in methods.items()}


def _parser_attribute(instance: Instance, name: str) -> Object:
    return instance.native.attributes(name) if isinstance(instance.native, Builder) else None
