"""The first forward pass: before it serves, every worker runs the model once, on made up input, to see how much memory
that takes. What the code of a patched model must raise there ends the launch, after all weights were read.

The model that was built is given input of which nothing is known; a call of a module runs its ``forward``, as torch
does, and a layer that is made like one before it is not run again. What is known of the engine around it is little: an
exception that may come of that is taken as not there, and only such are told as the code by itself must raise.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from preflight.walk import attributes
from preflight.walk.aside import ends_of
from preflight.walk.built import all_below, children_of, named_below
from preflight.walk.calls import Spread, defined
from preflight.walk.derived import raw_of
from preflight.walk.entries import ENTRY, PATH
from preflight.walk.loading import METHOD
from preflight.walk.outcomes import Exit, Raised
from preflight.walk.truth import Truth
from preflight.walk.values import NONE, Bound, Builtin, Class, Const, Function, Instance, Place, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: the stage, as a fault of it is told
STAGE = "first_pass"
#: the other entry points: what is done to the weights, what a model that generates does next, and the first run of a
#: drafter
_PROCESS, _LOGITS, _DRAFT = "process_weights", "first_logits", "first_draft"
#: the method of a drafter that runs its model on made up input, and, behind an underscore, that of a model runner
_DUMMY = "dummy_run"
#: so many pieces of code are walked of each; of the loading less: names that are not known lead it many ways, and what
#: must be raised comes soon
_STEPS, _LOADING_STEPS = 30_000, 6_000
#: so many times it is begun again past what is not told
_TRIES = 16
#: how the origin of the None ends that a ``forward`` without a ``return`` gives
_NOTHING = ", which returns nothing"
#: what a name brings that is bound nowhere
_OF_NAMES = ("NameError", "UnboundLocalError")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a first pass. ``files``: those that are not as released. ``concerns``: whether one of them may
    have a part in what runs, by the modules that define the classes of it; else it runs as it did in the release.
    ``lacks``: whether an object of a class (module, qualified name) surely never has an attribute. ``replaced``: if
    what a piece of code asks or calls may be another object by then than the one that a constructor put there.
    """

    files: frozenset[str]
    concerns: Callable[[frozenset[str]], bool]
    lacks: Callable[[str, str, str], bool]
    replaced: Callable[[ast.AST], bool]


@dataclass(frozen=True, slots=True)
class Passed:
    """What came of a part of it: the exception that ends ``stage``, or why it is ``open`` whether there is one."""

    stage: str
    exit: Exit | None = None
    open: str | None = None


class Running:
    """Modules that run, or are gone through, while a first pass is walked: each kind of layer once, and once for each
    way in which it is called."""

    def __init__(self) -> None:
        self._done: set[Hashable] = set()
        self._arms: int | None = None

    def run(self, machine: Machine, module: Instance, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """``module(...)``."""
        if self._arms is None:
            self._arms = machine.state.arms
        # what was run under a condition that is not known may yet have to be run under none
        conditional = machine.state.arms > self._arms
        called = (_made_of(module), len(arguments), frozenset(keywords))
        if (called, False) in self._done or (called, conditional) in self._done:
            return machine.unknown(f"the result of another {module.cls.name}")
        self._done.add((called, conditional))
        forward = attributes.find(machine, module, "forward")
        if not isinstance(forward, (Bound, Function, Builtin)):
            return machine.unknown(f"the result of a {module.cls.name}")
        given = machine.call(forward, arguments, keywords)
        if isinstance(given, Const) and raw_of(given) is None:
            return _nothing_of(module)
        return given

    def below(self, module: Instance, *, alike: bool = False) -> dict[str, Instance]:
        """The modules of a module by their dotted names, itself among them; of each kind one, or all that are
        ``alike``."""
        found: dict[Hashable, tuple[str, Instance]] = {}
        for name, one in named_below(module):
            found.setdefault(name if alike else _made_of(one), (name, one))
        return dict(found.values())


def of_target(
    machine: Machine, config: Instance, loader: Value | None, model: Instance, asked: Asked, otherwise: str | None
) -> Iterator[Passed]:
    """What comes of the loading of the target's weights, and of its first run behind it. ``otherwise``: why a worker
    does not run the model as it was built."""
    loading = frozenset(cls.module for cls in loader.cls.mro) if isinstance(loader, Instance) else frozenset()
    if not asked.concerns(_modules_of(model) | loading):
        return
    if otherwise is not None:
        yield Passed(STAGE, open=otherwise)
        return
    given = Unknown("the input of a first pass")
    named = machine.strings(dict.fromkeys(_given_by_name(machine), given))
    parts: list[tuple[str, str, list[Value]]] = []
    if isinstance(loader, Instance):
        parts.append((METHOD, METHOD, [config, loader, model, config.content.get("model_config", NONE)]))
    parts += [
        (METHOD, _PROCESS, [config, model, given]),
        (STAGE, STAGE, [config, model, given, named]),
        (STAGE, _LOGITS, [config, model, given]),
    ]
    for stage, entry, arguments in parts:
        passed = _of_entry(machine, stage, entry, arguments, model, asked)
        if passed is not None:
            yield passed
            if passed.exit is not None:
                return


def of_drafter(machine: Machine, config: Instance, runner: Instance, asked: Asked) -> Iterator[Passed]:
    """What comes of the first run of the drafter, where the runner has one that runs a model."""
    drafter = runner.content.get("drafter")
    model = drafter.content.get("model") if isinstance(drafter, Instance) else None
    if drafter is None and isinstance(config.content.get("speculative_config"), Instance):
        yield Passed(STAGE, open="the drafter of this model runner is not followed")
    if not isinstance(drafter, Instance) or not isinstance(model, Instance):
        return
    if _runs(drafter.cls, _DUMMY) and asked.concerns(_modules_of(model)):
        if not _drafts(machine, runner):
            yield Passed(STAGE, open="whether the model runner has its drafter run, too, is not known")
            return
        given = Unknown("the input of a first pass")
        passed = _of_entry(machine, STAGE, _DRAFT, [config, model, given], model, asked)
        if passed is not None:
            yield passed


def _modules_of(model: Instance) -> frozenset[str]:
    """The modules that define the classes of what a model is made of."""
    return frozenset(cls.module for module in all_below(model) for cls in module.cls.mro)


def _given_by_name(machine: Machine) -> list[str]:
    """The names under which the model runner of the tree gives a model its input, in a run that is no request's."""
    entry = machine.modules.module(machine, ENTRY)
    try:
        runner = machine.call(machine.get(entry, "runner_class"), []) if entry is not None else None
    except Raised:
        return []  # this tree has no such runner
    calls = _runs(runner, f"_{_DUMMY}") if isinstance(runner, Class) else []
    names = [{keyword.arg for keyword in node.keywords if keyword.arg is not None} for node in calls]
    return sorted(set.intersection(*names)) if names else []


def _runs(cls: Class, name: str) -> list[ast.Call]:
    """The calls of its model with keywords in a method of a class."""
    method = _written(cls, name)
    calls = [node for node in ast.walk(method) if isinstance(node, ast.Call)] if method is not None else []
    return [node for node in calls if node.keywords and ast.unparse(node.func) in ("self.model", "model")]


def _drafts(machine: Machine, runner: Instance) -> bool:
    """Whether the runner surely has its drafter run, too, where it runs the model on made up input."""
    method = _written(runner.cls, f"_{_DUMMY}")
    module = machine.modules.module(machine, runner.cls.module)
    closure = machine.modules.frame_of(module) if module is not None else None
    tests = _tests_around(method.body, f"self.drafter.{_DUMMY}") if method is not None else None
    if method is None or closure is None or tests is None:
        return False
    for test in tests:
        asks = Function(ast.Lambda(method.args, test), closure, method.name, machine.state.fresh())
        try:
            answer = machine.call(asks, [runner, Spread("the input of a run")], {})
        except Raised:
            return False
        if machine.truth(answer) is not Truth.YES:
            return False
    return True


def _tests_around(statements: list[ast.stmt], called: str) -> list[ast.expr] | None:
    """The conditions under which a block comes to a call; None where it does not come to it by conditions alone."""
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            if ast.unparse(statement.value.func) == called:
                return []
        elif isinstance(statement, (ast.If, ast.With)):
            tests = _tests_around(statement.body, called)
            if tests is not None:
                return [statement.test, *tests] if isinstance(statement, ast.If) else tests
    return None


def _written(cls: Class, name: str) -> ast.FunctionDef | None:
    """A method as the first class that has it writes it, whatever its decorators make of it."""
    for base in cls.mro:
        for statement in base.node.body if base.node is not None else ():
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return statement
    return None


def _of_entry(
    machine: Machine, stage: str, entry: str, arguments: list[Value], model: Instance, asked: Asked
) -> Passed | None:
    past = machine.past
    machine.past = set(past)
    try:
        for _ in range(_TRIES):
            machine.library.running = Running()
            machine.repeats.forget()
            ends = ends_of(machine, entry, arguments, _LOADING_STEPS if entry == METHOD else _STEPS)
            others = [exit for exit in ends.exits if not _is_certain(machine, exit, model, asked)]
            if not others:
                if ends.exits:
                    return Passed(stage, _placed(machine, ends.exits[-1], model))
                return Passed(stage, open=ends.open) if ends.open is not None else None
            spots = {exit.spot for exit in others}
            if not all(exit.is_passable for exit in others) or spots <= machine.past:
                break
            machine.past |= spots
        return Passed(stage, open=f"it may end in an exception: {others[-1].message or 'one that is not known'}")
    finally:
        machine.past = past
        machine.library.running = None


def _placed(machine: Machine, exit: Exit, model: Instance) -> Exit:
    """The exception where it is to be mended: the call of the engine stands in no file of the tree, what it calls
    does."""
    if exit.place.path != PATH:
        return exit
    if exit.callee is not None:
        return replace(exit, place=exit.callee)
    called = _forward_of(machine, model)
    return replace(exit, place=called or exit.place, values=(("what it gives", _nothing_of(model)),))


def _forward_of(machine: Machine, model: Instance) -> Place | None:
    """Where the ``forward`` of a model is defined."""
    found = attributes.find(machine, model, "forward")
    function = found.function if isinstance(found, Bound) else found
    return defined(function) if isinstance(function, Function) else None


def _is_certain(machine: Machine, exit: Exit, model: Instance, asked: Asked) -> bool:
    """Whether an exception comes of the code of a patched file alone, whatever the engine has set before."""
    name = exit.cls.name if exit.cls is not None else ""
    if (exit.callee is not None or exit.missing is not None) and exit.way and asked.replaced(exit.way[-1][1]):
        return False
    if exit.callee is not None:
        return exit.callee.path in asked.files or exit.place.path in asked.files
    if exit.place.path == PATH and name == "TypeError":
        called = _forward_of(machine, model)
        return called is not None and called.path in asked.files
    if exit.place.path not in asked.files:
        return False
    if name in _OF_NAMES:
        return name == "UnboundLocalError" or (exit.unbound is not None and machine.modules.world.lacks(*exit.unbound))
    if nothing_given(exit) is not None:
        return True
    if exit.missing is None:
        return False
    owner, attribute = exit.missing
    return (
        isinstance(owner, Instance) and not owner.loose and asked.lacks(owner.cls.module, owner.cls.qualname, attribute)
    )


def _nothing_of(module: Instance) -> Const:
    return Const(None, f"{module.cls.name}.forward{_NOTHING}")


def nothing_given(exit: Exit) -> str | None:
    """The ``forward`` that an exception comes of because it returns nothing."""
    about = [value for _name, value in exit.values] + ([exit.missing[0]] if exit.missing is not None else [])
    for value in about:
        if isinstance(value, Const) and value.origin is not None and value.origin.endswith(_NOTHING):
            return value.origin.removesuffix(_NOTHING)
    return None


def _made_of(module: Instance) -> Hashable:
    """What tells how a module is made: its class, its children's, and what switches it."""
    children = tuple((name, child.cls) for name, child in children_of(module))
    switches = tuple(
        (name, value.value)
        for name, value in module.content.items()
        if isinstance(value, Const) and (value.value is None or isinstance(value.value, bool))
    )
    return module.cls, children, switches
