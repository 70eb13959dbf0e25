"""The walk of a launch, stage by stage; a fault does not hide those behind it (``preflight.walk.course``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk import attributes
from preflight.walk.course import NOT_CONSTRUCTED, Course, found_in
from preflight.walk.deep import run_deep
from preflight.walk.entries import ENTRY, WORKERS, WithEntries
from preflight.walk.files import Files
from preflight.walk.first_pass import STAGE as FIRST_PASS
from preflight.walk.first_pass import of_drafter, of_target
from preflight.walk.loading import METHOD as LOADING
from preflight.walk.loading import refused, suspects
from preflight.walk.machine import Limits, Machine
from preflight.walk.modules import Modules
from preflight.walk.outcomes import GaveUp, Raised
from preflight.walk.remote import WithRemote
from preflight.walk.result import WHOLE, Described, Lacking, Scope, Walk
from preflight.walk.straight import head_for, past_faults
from preflight.walk.surroundings import library
from preflight.walk.truth import Truth
from preflight.walk.values import NONE, Const, Instance, OneOf, Perhaps, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from preflight.walk.assumptions import Assumptions
    from preflight.walk.first_pass import Asked, Passed
    from preflight.walk.given import Given
    from preflight.walk.modules import World
    from preflight.walk.state import Segment

#: stages behind the finished config: a fault of the walk in one of them leaves what was found before it
_GUARDED = ("construct", "make_loader", "load_models")
#: nothing of the launch is known behind it
CONFIG_UNKNOWN = "walk-model-config-unknown"


def walk_launch(
    world: World,
    argv: Sequence[str],
    files: Files,
    assumptions: Assumptions,
    scope: Scope = WHOLE,
    limits: Limits | None = None,
    given: Given | None = None,
) -> Walk:
    """Walk ``vllm serve`` with the arguments ``argv``; ``given`` is what the tree's parser makes of them, if known.

    Raises nothing that the launch may be to blame for: what cannot be walked is a doubt of the result. An exception is
    a fault of the walk itself on the way to the engine config; behind that, it is a doubt as well.
    """
    return run_deep(lambda: _Launch(world, files, assumptions, limits or Limits()).walk(argv, scope, given))


class _Launch:
    def __init__(self, world: World, files: Files, assumptions: Assumptions, limits: Limits) -> None:
        self.machine = Machine(Modules(WithEntries(WithRemote(world, files))), library(assumptions, files), limits)
        self.result = Walk()
        self.missing: set[tuple[str, str]] = set()

    def walk(self, argv: Sequence[str], scope: Scope, given: Given | None) -> Walk:
        machine, result = self.machine, self.result
        arguments = None
        if given is not None:
            objects = machine.tuple([Const(name) for name in given.objects])
            arguments = self.stage("take", [machine.strings(_values(machine, given)), objects])
        else:
            parser = self.stage("make_parser", [])
            if parser is not None and not result.found:
                arguments = self.stage("parse", [parser, machine.list(words(argv))])
        if arguments is not None:
            arguments = self.stage("validate", [arguments])
        config = self.stage("configure", [arguments]) if arguments is not None else None
        if isinstance(config, Instance):
            result.config = config
            self._set_groups(config)
            self._describe(config)
            self._demand(config, scope.demanded)
            self._know_model(config)
            if scope.runner and self._asks_the_runner(config) and self._takes_the_runner(config):
                result.runner = self.stage("make_runner", [config])
            if scope.construct:
                self._construct(config)
            if scope.first_pass is not None:
                self._run_once(config, scope.first_pass)
            if isinstance(result.runner, Instance):
                machine.allow()
                self.stage("load_models", [result.runner])
                if scope.first_pass is not None:
                    self._run_drafter(config, result.runner, scope.first_pass)
        elif config is not None:
            reason = config.reason if isinstance(config, Unknown) else "what comes out is no object"
            self.result.stop("configure", "walk-config-unknown", f"the engine config is not known: {reason}", None)
        result.doubts = list(machine.doubts.values())
        result.assumed = dict(machine.assumed)
        result.steps = machine.steps
        return result

    def stage(self, name: str, arguments: list[Value]) -> Value | None:
        """Run an entry point past the faults that it has; None where it does not come to an end."""
        machine = self.machine
        machine.course = course = Course(machine, self.result, name, name in _GUARDED, self.missing)
        machine.repeats.forget()
        segment, base = machine.state.open(), len(machine.state.pendings)

        def enter() -> Value:
            module = machine.modules.module(machine, ENTRY)
            assert module is not None
            entry = machine.get(module, name)
            head_for(machine, entry)
            return machine.call(entry, arguments)

        try:
            return past_faults(machine, enter)
        except Raised:
            self._undo(segment, base)
            return None  # it is the stage's end, or there is no way past it
        except GaveUp as gave_up:
            self._undo(segment, base)
            if not (course.guarded and course.faults):
                # else what was to be said of the stage is said: it ends in a fault
                self.result.stop(name, gave_up.id, gave_up.reason, gave_up.place)
            return None
        except RecursionError:
            self._undo(segment, base)
            self.result.stop(name, "walk-depth", "the code is nested more deeply than can be followed", None)
            return None
        except Exception as error:
            if not course.guarded:
                raise
            self._undo(segment, base)
            self.result.stop(name, "walk-fault", f"the walk itself failed ({type(error).__name__}: {error})", None)
            return None

    def _construct(self, config: Instance) -> None:
        """Build the target, and have the drafter built when it is loaded; both have budgets of their own."""
        result, name = self.result, "construct"
        self.machine.allow()
        result.model = self.stage(name, [config])
        self.machine.library.target = config.content.get("model_config")
        told = self._told(name)
        if not isinstance(result.model, Instance) and not told:
            reason = result.model.reason if isinstance(result.model, Unknown) else "which class it is of is not known"
            self.result.stop(name, NOT_CONSTRUCTED, reason, None, decisive=False)
        elif isinstance(result.model, Instance) and not told and suspects(result.model):
            self._load(config, result.model)

    def _load(self, config: Instance, model: Instance) -> None:
        """Give the target its weights, where a look at it finds a reason to."""
        machine = self.machine
        machine.allow()
        loader = self.stage("make_loader", [config])
        if loader is not None:
            exits = refused(machine, config, loader, model, config.content.get("model_config", NONE))
            self.result.found += [found_in(machine, LOADING, exit) for exit in exits[-1:]]

    def _run_once(self, config: Instance, asked: Asked) -> None:
        """Load the weights of the target that was built, and run it."""
        model = self.result.model
        if isinstance(model, Instance) and not self._told("construct", LOADING):
            self.machine.allow()
            otherwise = self._run_otherwise(config)
            loader = self.stage("make_loader", [config]) if otherwise is None else None
            self._beside(lambda: of_target(self.machine, config, loader, model, asked, otherwise))

    def _run_drafter(self, config: Instance, runner: Instance, asked: Asked) -> None:
        """Run the drafter that was loaded, if there is one."""
        if self._run_otherwise(config) is None and not self._told("load_models"):
            self._beside(lambda: of_drafter(self.machine, config, runner, asked))

    def _beside(self, run: Callable[[], Iterable[Passed]]) -> None:
        """Keep what comes of pieces that are walked beside the stages; without them all else stands."""
        try:
            for passed in run():
                if passed.exit is not None:
                    self.result.found.append(found_in(self.machine, passed.stage, passed.exit))
                elif passed.open is not None:
                    self.result.stop(passed.stage, "first-run-open", passed.open, None, decisive=False)
        except Exception as error:
            reason = f"the walk itself failed ({type(error).__name__}: {error})"
            self.result.stop(FIRST_PASS, "walk-fault", reason, None, decisive=False)

    def _told(self, *stages: str) -> bool:
        """Whether something was said of one of these stages."""
        return any(one.stage in stages for one in (*self.result.found, *self.result.stopped))

    def _run_otherwise(self, config: Instance) -> str | None:
        """Why a worker does not run the models as they were built, or may not; None if it does."""
        worker = self._other_worker(config)
        if worker is not None:
            return f"the launch takes the worker {worker}, which is not walked"
        lora = config.content.get("lora_config")
        plain = isinstance(lora, Const) and lora.value is None
        return None if plain else "adapters may be put around the layers of the model before"

    def _know_model(self, config: Instance) -> None:
        """A config of the model that is not known (of a class of its own code, say) leaves open what is made of it."""
        found: Value | None = config
        for name in ("model_config", "hf_config"):
            found = found.content.get(name) if isinstance(found, Instance) else found
            if isinstance(found, Perhaps):
                found = found.value
        if isinstance(found, Unknown):
            reason = f"the model's config is not known: {found.reason}"
            self.result.stop("configure", CONFIG_UNKNOWN, reason, found.place)

    def _demand(self, config: Instance, demanded: Sequence[str]) -> None:
        """Ask the model's config for the attributes that the user demands of it."""
        if not demanded:
            return
        model = self.stage("model_config_of", [config])
        for path in demanded:
            owner: Value | None = model
            for name in path.split("."):
                if owner is None:
                    break
                there, value = attributes.probe(self.machine, owner, name)
                if there is Truth.NO:
                    self.result.lacking.append(Lacking(path, owner, name))
                elif there is Truth.MAYBE:
                    reason = f"whether the config has {path} is not known"
                    self.result.stop("configure", "walk-demand-open", reason, None)
                owner = value if there is Truth.YES else None

    def _describe(self, config: Instance) -> None:
        """Keep what the config says of the models; nothing that is not known is asked for."""
        target = config.content.get("model_config")
        speculative = config.content.get("speculative_config")
        drafter = speculative.content.get("draft_model_config") if isinstance(speculative, Instance) else None
        self.result.target, self.result.drafter = self._described(target), self._described(drafter)
        self.result.parallel = dict(self.machine.library.groups)

    def _described(self, config: Value | None) -> Described | None:
        if not isinstance(config, Instance):
            return None
        info = config.content.get("_model_info")
        infos = info.options if isinstance(info, OneOf) else (info,)
        names = [_name(one.content.get("architecture")) if isinstance(one, Instance) else None for one in infos]
        served = tuple(dict.fromkeys(name for name in names if name is not None)) if None not in names else ()
        return Described(_name(config.content.get("_architecture")), config.content.get("hf_config"), served)

    def _undo(self, segment: Segment, base: int) -> None:
        state = self.machine.state
        state.drain(base, segment)
        state.take(segment)
        state.tries = state.passing = 0
        self.machine.passing.clear()
        self.machine.frames.clear()
        self.machine.arm_ends.clear()

    def _asks_the_runner(self, config: Instance) -> bool:
        """Whether more is asked of the model than to run: a drafter, adapters, or weights of another format."""
        for name in ("speculative_config", "lora_config"):
            value = config.content.get(name)
            if value is not None and not (isinstance(value, Const) and value.value is None):
                return True
        load = config.content.get("load_config")
        form = load.content.get("load_format") if isinstance(load, Instance) else None
        return isinstance(form, Const) and form.value != "auto"

    def _other_worker(self, config: Instance) -> str | None:
        """The worker that the finished config names, where it is none of the engine whose model runner is walked."""
        parallel = config.content.get("parallel_config")
        worker = parallel.content.get("worker_cls") if isinstance(parallel, Instance) else None
        name = worker.value if isinstance(worker, Const) else None
        return name if isinstance(name, str) and name != "auto" and not name.startswith(WORKERS) else None

    def _takes_the_runner(self, config: Instance) -> bool:
        """Whether the worker is one whose model runner is walked; of another (that of the engine before it, or the
        user's own) it is said that its runner is not.
        """
        name = self._other_worker(config)
        if name is None:
            return True
        reason = f"the launch takes the worker {name}, which is not walked"
        self.result.stop("make_runner", "runner-not-walked", reason, None)
        return False

    def _set_groups(self, config: Instance) -> None:
        """The sizes of the parallel groups, as the finished config has them."""
        parallel = config.content.get("parallel_config")
        if not isinstance(parallel, Instance):
            return
        names = {
            "tp": "tensor_parallel_size",
            "pp": "pipeline_parallel_size",
            "dp": "data_parallel_size",
            "dcp": "decode_context_parallel_size",
            "pcp": "prefill_context_parallel_size",
        }
        for kind, name in names.items():
            size = parallel.content.get(name)
            if isinstance(size, Const) and isinstance(size.value, int):
                self.machine.library.groups[kind] = size.value


def _values(machine: Machine, given: Given) -> dict[str, Value]:
    """The arguments by name; what is an object of the tree is not known."""
    values = {name: machine.value(thing, origin) for name, (thing, origin) in given.known.items()}
    values |= {name: Unknown(f"the default of the argument {name}") for name in given.objects}
    return values | {name: Unknown(reason) for name, reason in given.unknown.items()}


def words(argv: Sequence[str]) -> list[Value]:
    """The words of a command line; a word behind a flag knows whose value it is."""
    made: list[Value] = []
    for index, word in enumerate(argv):
        before = argv[index - 1] if index else ""
        flag, equals, _value = word.partition("=")
        if word.startswith("-"):
            origin = flag if equals else "command line"
        else:
            origin = before if before.startswith("-") and "=" not in before else "command line"
        made.append(Const(word, origin))
    return made


def _name(value: Value | None) -> str | None:
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
