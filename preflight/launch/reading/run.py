"""One reading of launch code: what it is given, what it may spend, and what it came across."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight.launch.reading.doubt import Doubt
from preflight.launch.reading.values import Function, Object, OutOfBudget

if TYPE_CHECKING:
    from preflight.launch.reading.modules import Modules

#: Calls and loop rounds. The largest parser of any release (0.33.0) takes some 60,000 of them.
MAX_STEPS = 1_000_000
#: Nested calls. Python's own limit is 1,000 frames, and each of ours takes a dozen of them.
MAX_DEPTH = 60


@dataclass(slots=True)
class Frame:
    """A function that is running, and the line of its statement."""

    function: Function
    path: str
    line: int


@dataclass(slots=True, repr=False)
class Run:
    """``argv`` is ``sys.argv``, ``environ`` the environment variables of the launch, ``python`` the (major, minor) of
    the Python that will run it, ``main`` the module that runs as ``__main__``.

    ``open_text`` gives the text of a file that the launch names, None if it is not to be had. ``on_escape`` is told
    when a value is handed to code that is not read, with the name of that code.
    """

    modules: Modules
    argv: list[str]
    environ: dict[str, Object]
    python: tuple[int, int] = (3, 12)
    main: str | None = None
    open_text: Callable[[str], str | None] | None = None
    on_escape: Callable[[Object, str], None] | None = None
    library: dict[str, Object] = field(
        default_factory=dict
    )  #: stand-ins for names of libraries, beside those of ``library``
    assumed: dict[str, Callable[[Run], Object]] = field(default_factory=dict)  #: names of the tree whose value is given
    handover: Object = None  #: the parsed arguments, once they are there
    on_handover: Callable[[Function], None] = lambda function: None  #: told when a function is given these
    #: whether the parsers of subcommands that ``argv`` does not name are left as they are made: they get no arguments,
    #: and no function that is given one is entered
    lean: bool = False
    strict: bool = (
        False  #: an exception in a stand-in is a fault of ours and shown as one, instead of as something unknown
    )
    doubt: Doubt = field(default_factory=Doubt)
    frames: list[Frame] = field(default_factory=list)
    steps: int = 0
    unsure: int = 0  #: how many steps were taken that may raise and cannot be read
    generators: dict[int, bool] = field(default_factory=dict)  #: whether a function yields, by its node
    signatures: dict[int, Object] = field(default_factory=dict)  #: of functions, by their nodes
    loaded: list[str] = field(default_factory=list)  #: modules that were imported, in order

    def step(self) -> None:
        """One more call or loop round. Raises OutOfBudget."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise OutOfBudget
