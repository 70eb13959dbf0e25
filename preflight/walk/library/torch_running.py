"""What a ``torch.nn.Module`` does while a model is run: calls, hooks, and going through what is below it.

Else what these give is not known. The knowledge is that of torch's documentation of ``torch.nn.Module``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.walk.values import FALSE, TRUE, Arguments, Const, Instance, Keywords, Seq, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine

#: the attribute that says that ``Module.__init__`` has run
READY = "training"
#: the attribute that says that hooks run before ``forward``
HOOKS = "_forward_pre_hooks"


def call(machine: Machine, given: Arguments, named: Keywords) -> Value:
    """``module(...)`` runs its ``forward``, which is entered while a model is run."""
    receiver, running = given[0], machine.library.running
    if running is None or not isinstance(receiver, Instance) or HOOKS in receiver.content:
        return machine.unknown("the result of Module.__call__")
    return running.run(machine, receiver, list(given[1:]), dict(named))


def evaluating(machine: Machine, given: Arguments, named: Keywords) -> Value:
    """``module.eval()``: while a model is run, what is below it is not training from then on."""
    receiver, running = given[0], machine.library.running
    for module in running.below(receiver, alike=True).values() if running and isinstance(receiver, Instance) else ():
        machine.state.touch(module)
        module.content[READY] = FALSE
    return receiver


def hook(machine: Machine, given: Arguments, named: Keywords) -> Value:
    """``module.register_forward_pre_hook(hook)``: what ``forward`` is given is then for the hook to say."""
    receiver = given[0]
    if isinstance(receiver, Instance):
        machine.state.touch(receiver)
        receiver.content[HOOKS] = TRUE
    return machine.unknown("the result of Module.register_forward_pre_hook")


def below(machine: Machine, given: Arguments, named: Keywords) -> Value:
    """``module.modules()``, which are gone through while a model is run."""
    receiver, running = given[0], machine.library.running
    if running is None or not isinstance(receiver, Instance):
        return machine.unknown("the result of Module.modules")
    return machine.list(list(running.below(receiver).values()))


def named_below(machine: Machine, given: Arguments, named: Keywords) -> Value:
    """``module.named_modules()``."""
    receiver, running = given[0], machine.library.running
    if running is None or not isinstance(receiver, Instance) or len(given) > 1 or named:
        return machine.unknown("the result of Module.named_modules")
    return machine.list([machine.tuple([Const(name), one]) for name, one in running.below(receiver).items()])


def in_sequence(machine: Machine, given: Arguments, named: Keywords) -> Value:
    """``Sequential.forward(input)``: each module is given what the one before it gives."""
    receiver, running = given[0], machine.library.running
    modules = receiver.payload if isinstance(receiver, Instance) else None
    if running is None or not isinstance(modules, Seq) or modules.loose or len(given) != 2:
        return machine.unknown("the result of Sequential.forward")
    value = given[1]
    for module in modules.content:
        value = machine.call(module, [value])
    return value
