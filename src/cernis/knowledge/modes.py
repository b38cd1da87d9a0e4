"""Which arguments of a predicate must be bound where it is called, and which are afterwards."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cernis.knowledge.call_graph import NEGATIONS
from cernis.knowledge.ground_values import Key
from cernis.knowledge.resolution.builtins import Builtin, Mode, builtin
from cernis.syntax.tree import Clause, Compound, Term, functor, variables


def names(term: Term) -> frozenset[str]:
    """The named variables of a term."""
    return frozenset(each.name for each in variables(term) if each.name != "_")


@dataclass(slots=True)
class BindingFlow:
    """Bound variables along a body, and those that were needed before anything bound them."""

    bound: frozenset[str]
    missing: frozenset[str] = frozenset()

    def require(self, wanted: Iterable[str]) -> None:
        """Note what is not bound yet; after the goal that needs it, it is."""
        missing = frozenset(wanted) - self.bound
        self.missing |= missing
        self.bound |= missing


def follow(goal: Term, flow: BindingFlow, modes: Mapping[Key, Mode]) -> None:
    """Take the flow past a goal. A predicate without a mode is taken to bind all its arguments."""
    key = functor(goal)
    args = goal.args if isinstance(goal, Compound) else ()
    known = None if key in modes else builtin(*key)
    if key[0] == ",":
        for arg in args:
            follow(arg, flow, modes)
    elif key[0] == ";":
        _follow_branches(args, flow, modes)
    elif key in NEGATIONS or key == ("forall", 2):
        _follow_inside(args, flow, modes)
    elif known is not None:
        _follow_builtin(known, args, flow, modes)
    else:
        mode = modes.get(key, Mode((), tuple(range(len(args)))))
        _follow_mode(mode, args, flow)


def _follow_branches(
    branches: Sequence[Term], flow: BindingFlow, modes: Mapping[Key, Mode]
) -> None:
    ends = []
    for branch in branches:
        inside = BindingFlow(flow.bound, flow.missing)
        follow(branch, inside, modes)
        ends.append(inside)
    flow.missing = frozenset().union(*(end.missing for end in ends))
    flow.bound = frozenset.intersection(*(end.bound for end in ends)) | flow.missing


def _follow_inside(goals: Sequence[Term], flow: BindingFlow, modes: Mapping[Key, Mode]) -> None:
    """A goal whose bindings do not come out: only what it needs counts."""
    inside = BindingFlow(flow.bound, flow.missing)
    for goal in goals:
        follow(goal, inside, modes)
    flow.bound |= inside.missing
    flow.missing = inside.missing


def _follow_builtin(
    known: Builtin, args: Sequence[Term], flow: BindingFlow, modes: Mapping[Key, Mode]
) -> None:
    if known.kind == "collection":
        _follow_inside([args[1]], flow, modes)
        flow.bound |= names(args[2])
        return
    for position in known.goals:
        follow(args[position], flow, modes)
    for mode in known.modes:
        if known.name == "=" and any(_has_unnamed(args[at]) for at in mode.needs):
            continue
        if all(names(args[at]) <= flow.bound for at in mode.needs):
            _follow_mode(mode, args, flow)
            return
    if known.name != "=":
        _follow_mode(known.modes[0], args, flow)


def _has_unnamed(term: Term) -> bool:
    """Is a part of the term a variable that nothing can give a value?"""
    return any(variable.name == "_" for variable in variables(term))


def _follow_mode(mode: Mode, args: Sequence[Term], flow: BindingFlow) -> None:
    flow.require(name for position in mode.needs for name in names(args[position]))
    flow.bound = flow.bound.union(*(names(args[position]) for position in mode.binds))


def clause_mode(clause: Clause, modes: Mapping[Key, Mode]) -> Mode:
    """The mode a clause alone has."""
    args = clause.head.args if isinstance(clause.head, Compound) else ()
    flow = BindingFlow(frozenset())
    for goal in clause.body:
        follow(goal, flow, modes)
    needs = tuple(position for position, arg in enumerate(args) if names(arg) & flow.missing)
    anonymous = [any(each.name == "_" for each in variables(arg)) for arg in args]
    binds = tuple(
        position for position, arg in enumerate(args)
        if position not in needs and names(arg) <= flow.bound and not anonymous[position]
    )  # fmt: skip
    return Mode(needs, binds)


def group_modes(
    group: Sequence[Key], clauses: Mapping[Key, Sequence[Clause]], below: Mapping[Key, Mode]
) -> dict[Key, Mode]:
    """The modes of predicates that call each other, given those of what they call.

    Starts from what would be best, nothing needed and all bound, and takes back what a clause
    does not keep until nothing changes.
    """
    assumed = {key: Mode((), tuple(range(key[1]))) for key in group}
    while True:
        modes = ChainMap(assumed, below)  # type: ignore[arg-type]
        after = {key: _merged(key, clauses[key], modes) for key in group}
        if after == assumed:
            return assumed
        assumed = after


def _merged(key: Key, clauses: Sequence[Clause], modes: Mapping[Key, Mode]) -> Mode:
    each = [clause_mode(clause, modes) for clause in clauses]
    before = modes[key]
    needs = {position for mode in each for position in mode.needs} | set(before.needs)
    binds = set(before.binds) - needs
    for mode in each:
        binds &= {*mode.binds, *mode.needs}
    return Mode(tuple(sorted(needs)), tuple(sorted(binds)))
