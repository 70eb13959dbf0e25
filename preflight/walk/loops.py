"""Loops: rounds are walked while it is known that there is another; what comes behind is uncertain."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from preflight.walk import narrowing, operands
from preflight.walk.generators import Unclear
from preflight.walk.naming import store, why
from preflight.walk.outcomes import (
    BREAK,
    CONTINUE,
    NEXT,
    Arm,
    Break,
    Continue,
    Outcome,
    Raise,
    Raised,
    collect,
    run_arm,
    run_arms,
    settle,
)
from preflight.walk.stored import Gaps
from preflight.walk.truth import Truth
from preflight.walk.values import Map, OneOf, Perhaps, Seq, Store, Unknown, Value

if TYPE_CHECKING:
    from preflight.walk.machine import Machine


def execute_for(machine: Machine, node: ast.For) -> Outcome:
    source = machine.evaluate(node.iter)
    if not isinstance(source, OneOf):
        return _over(machine, node, source)
    # the loop is walked over each of the few values, as if a condition had chosen it
    arms = run_arms(machine, [partial(_over, machine, node, option) for option in source.options])
    return settle(machine, arms, "which of several values is iterated is not known")


def _over(machine: Machine, node: ast.For, source: Value) -> Outcome:
    frame = machine.frame
    frame.node = node.iter
    base = len(machine.state.pendings)
    rounds = 0
    iterator = _items(machine, source)
    while True:
        frame.node = node.iter
        try:
            value = next(iterator, None)
        except Unclear as unclear:
            return _uncertain(machine, node, base, str(unclear))
        if value is None:
            return _leave_loop(machine, node, base, node.orelse)
        rounds += 1
        if rounds > machine.limits.rounds or (machine.spent() and rounds > 1):
            machine.doubt("walk-loop-budget", f"a loop was left after {rounds - 1} rounds")
            return _uncertain(machine, node, base, "the loop was not walked to its end")
        if isinstance(value, Perhaps):
            _perhaps_round(machine, node, value.value)
            continue
        store(machine, node.target, value)
        ended = _round(machine, node, base)
        if ended is not None:
            return ended


def _items(machine: Machine, source: Value) -> Iterator[Value]:
    """The items, with a ``Perhaps`` for one that may not be there."""
    if isinstance(source, Seq) and isinstance(source.loose, Gaps):
        return iter(source.loose.items)
    if isinstance(source, Map) and not source.loose:
        return iter(
            [Perhaps(key) if isinstance(entry, Perhaps) else key for key, entry in list(source.content.values())]
        )
    return machine.iterate(source)


def _perhaps_round(machine: Machine, node: ast.For, value: Value) -> None:
    """The round of an item that may not be there; the loop goes on, as it does without it."""

    def round_() -> Outcome:
        store(machine, node.target, value)
        return machine.execute(node.body)

    arms = run_arms(machine, [round_, lambda: NEXT])
    for arm in arms:
        if isinstance(arm.outcome, Continue):
            arm.outcome = NEXT
    settle(machine, arms, why(machine, node))


def execute_while(machine: Machine, node: ast.While) -> Outcome:
    base = len(machine.state.pendings)
    rounds = 0
    while True:
        truth = machine.truth(machine.evaluate(node.test))
        if truth is Truth.MAYBE:
            return _uncertain(machine, node, base, why(machine, node))
        if truth is Truth.NO:
            return _leave_loop(machine, node, base, node.orelse)
        rounds += 1
        if rounds > machine.limits.rounds or (machine.spent() and rounds > 1):
            machine.doubt("walk-loop-budget", f"a loop was left after {rounds - 1} rounds")
            return _uncertain(machine, node, base, "the loop was not walked to its end")
        machine.step()
        ended = _round(machine, node, base)
        if ended is not None:
            return ended


def _round(machine: Machine, node: ast.For | ast.While, base: int) -> Outcome | None:
    """One round; None when the next one follows."""
    state = machine.state
    start = len(state.pendings)
    outcome: Outcome
    try:
        outcome = machine.execute(node.body)
    except Raised as raised:
        if not _pending(machine, start, (Continue, Break)) and not _pending(machine, base, (Break,)):
            raise
        outcome = Raise(raised.exits)
    if _pending(machine, start, (Continue,)):
        arms = collect(machine, start, outcome)
        for arm in arms:
            if isinstance(arm.outcome, Continue):
                arm.outcome = NEXT
        outcome = _settled(machine, arms, node)
    if outcome is NEXT or outcome is CONTINUE:
        return None
    if _pending(machine, base, (Break,)):
        return _leave_loop(machine, node, base, [], outcome)
    return NEXT if outcome is BREAK else _raised(outcome)


def _raised(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Raise):
        raise Raised(outcome.exits)
    return outcome


def _settled(machine: Machine, arms: list[Arm], node: ast.stmt) -> Outcome:
    try:
        return settle(machine, arms, why(machine, node))
    except Raised as raised:
        return Raise(raised.exits)


def _pending(machine: Machine, base: int, kinds: tuple[type, ...]) -> bool:
    return any(isinstance(pending.outcome, kinds) for pending in machine.state.pendings[base:])


def _leave_loop(
    machine: Machine, node: ast.For | ast.While, base: int, orelse: list[ast.stmt], last: Outcome = NEXT
) -> Outcome:
    """The loop is over (``last``: how its last round ended); the breaks that wait join in, past its ``else``."""
    if not _pending(machine, base, (Break,)):
        if last is NEXT:
            return machine.execute(orelse)
        return NEXT if last is BREAK else _raised(last)
    return _join_breaks(machine, node, base, last, lambda: machine.execute(orelse))


def _join_breaks(
    machine: Machine, node: ast.For | ast.While, base: int, last: Outcome, rest: Callable[[], Outcome]
) -> Outcome:
    """Breaks that wait end the loop; what went on (with ``last``) goes on with ``rest``; both are joined."""
    arms: list[Arm] = []
    for arm in collect(machine, base, last):
        if isinstance(arm.outcome, Break):
            arm.outcome = NEXT
            arms.append(arm)
        elif arm.outcome is NEXT:

            def resume(arm: Arm = arm) -> Outcome:
                machine.state.apply(arm.delta)
                return rest()

            arms += run_arm(machine, resume)
        else:
            arms.append(arm)
    return settle(machine, arms, why(machine, node))


def _uncertain(machine: Machine, node: ast.For | ast.While, base: int, reason: str) -> Outcome:
    """The rest of a loop whose rounds are not known, behind those that were walked."""
    if _pending(machine, base, (Break,)):
        return _join_breaks(machine, node, base, NEXT, lambda: _any_rounds(machine, node, reason))
    return _any_rounds(machine, node, reason)


def _any_rounds(machine: Machine, node: ast.For | ast.While, reason: str) -> Outcome:
    """Any number of rounds: what a round may change is forgotten, then its body is one arm, no round the other."""

    def body() -> Outcome:
        if isinstance(node, ast.For):
            store(machine, node.target, machine.unknown(reason))
        else:
            narrowing.narrow(machine, node.test, True)
        outcome = machine.execute(node.body)
        return NEXT if outcome in (CONTINUE, NEXT) else outcome

    machine.arm_ends.append(min([machine.steps + machine.limits.branch_steps, *machine.arm_ends[-1:]]))
    try:
        forget_changes(machine, body, reason)
        arms = run_arm(machine, body)
    finally:
        machine.arm_ends.pop()
    for arm in arms:
        if isinstance(arm.outcome, (Break, Continue)):
            arm.outcome = NEXT
    arms += run_arm(machine, lambda: machine.execute(node.orelse))
    machine.frame.node = node
    return settle(machine, arms, reason)


def forget_changes(machine: Machine, body: Callable[[], Outcome], reason: str) -> None:
    """Forget all that ``body`` may change when it is run again and again."""
    for _ in range(4):
        changed = _changed(machine, run_arm(machine, body))
        if not changed:
            return
        for forget in changed:
            forget(reason)
    machine.doubt("walk-loop", "what a loop changes could not be bounded")


def _changed(machine: Machine, arms: list[Arm]) -> list[Callable[[str], None]]:
    """For everything that an arm left different from the present state: how to forget it."""
    forget: list[Callable[[str], None]] = []
    for arm in arms:
        for store_, content, loose in arm.delta.values():
            now = store_.content
            if (
                isinstance(now, list)
                or (now and isinstance(next(iter(now.values())), tuple))
                or (content and isinstance(content, dict) and isinstance(next(iter(content.values())), tuple))
            ):
                if not store_.loose and (loose or not operands.same_content(now, content)):
                    forget.append(lambda reason, s=store_: machine.loosen(s, reason, clear=True))
                continue
            for name in set(now) | set(content):
                before, after = now.get(name), content.get(name)
                if before is None or after is None or not operands.same_binding(before, after):
                    if isinstance(before, Unknown) and after is not None and not isinstance(after, Perhaps):
                        continue
                    if isinstance(before, Perhaps) and isinstance(before.value, Unknown):
                        continue
                    forget.append(
                        lambda reason, s=store_, n=name, gone=before is None or after is None: _forget(
                            machine, s, n, reason, gone
                        )
                    )
    return forget


def _forget(machine: Machine, store_: Store, name: str, reason: str, gone: bool) -> None:
    machine.state.touch(store_)
    value: Value = machine.unknown(reason)
    store_.content[name] = Perhaps(value) if gone else value
