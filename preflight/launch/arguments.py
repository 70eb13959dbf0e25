"""A command's argument parser as data: what the tree's own parser code has defined, argument by argument."""

from __future__ import annotations

from dataclasses import dataclass, field

from preflight.launch.reading.values import NotKnown, Object, Unknown


@dataclass(slots=True, eq=False)
class Argument:
    """One ``add_argument``. ``options`` is empty for a positional argument.

    ``action`` is the name of one of argparse's own actions, "boolean" for ``--x``/``--no-x``, "custom" for a class of
    the tree, or "unknown". ``kind``, ``choices``, ``default`` and ``nargs`` may be values of the reading: functions of
    the tree, or what is not known. ``certain`` is False for an argument that exists only under a condition that is not
    known.
    """

    dest: str
    options: tuple[str, ...]
    action: str
    path: str
    line: int
    nargs: Object = None
    const: Object = None
    default: Object = None
    kind: Object = None  #: what ``type=`` names
    choices: Object = None
    required: bool = False
    help: str | None = None
    deprecated: bool = False
    instance: Object = None  #: the object of a class of the tree that acts
    certain: bool = True
    group: str | None = None

    @property
    def stands_in(self) -> bool:
        """True: the code that is read may hold one, as the action that ``add_argument`` returns."""
        return True

    def attribute(self, run: Object, name: str, where: tuple[str, int]) -> Object:
        """An attribute of the action. Raises NotKnown for one that is not modelled."""
        if name == "option_strings":
            return list(self.options)
        if name in ("dest", "default", "help", "choices", "nargs", "const", "required"):
            return getattr(self, name)
        raise NotKnown(Unknown(f"{name} of an argument"))

    @property
    def name(self) -> str:
        """As a message names it: the first long option, or the destination."""
        return next((option for option in self.options if option.startswith("--")), (*self.options, self.dest)[0])


@dataclass(slots=True, eq=False)
class Commands:
    """The subcommands of a parser."""

    dest: str | None
    required: bool
    parsers: dict[str, Parser] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Parser:
    """A parser with its arguments in order. ``gaps`` are the reasons why it may have more than these."""

    prog: str
    path: str = ""
    line: int = 0
    arguments: list[Argument] = field(default_factory=list)
    commands: Commands | None = None
    defaults: dict[str, Object] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)
    abbreviations: bool = True
    exclusive: list[tuple[bool, list[Argument]]] = field(default_factory=list)

    def by_option(self) -> dict[str, Argument]:
        """The arguments by every option string that names them."""
        return {option: argument for argument in self.arguments for option in argument.options}
