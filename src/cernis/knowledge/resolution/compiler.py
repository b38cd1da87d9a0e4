"""Bodies of clauses, and goals met at run time, to nodes the machine can run."""

# ruff: noqa: D102 - `run` means what `Node` says.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cernis.knowledge.resolution.builtins import BUILTINS
from cernis.knowledge.resolution.cells import (
    UNBOUND,
    Cell,
    Environment,
    Ref,
    Slot,
    build,
    compound,
    deref,
)
from cernis.knowledge.resolution.gather import COLLECTIONS
from cernis.knowledge.resolution.goal_nodes import (
    Call,
    Compare,
    Cut,
    Disjunction,
    Fail,
    Goal,
    IfThenElse,
    Is,
    Many,
    Once,
    Unify,
    enter,
)
from cernis.knowledge.resolution.library import ANSWERS, TESTS
from cernis.knowledge.resolution.machine import Frame, Machine, Node
from cernis.knowledge.resolution.prolog_arithmetic import COMPARISONS, Fault

_TRUE: Final = ("true", "otherwise")


class ClauseVariables:
    """The variables of a clause, each with its slot; every `_` has one of its own."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}
        self.size = 0

    def slot(self, name: str) -> Slot:
        """The slot of a variable by its name."""
        if name in self._slots:
            return self._slots[name]
        made = Slot(self.size, name)
        self.size += 1
        if name != "_":
            self._slots[name] = made
        return made


def compile_body(goals: Sequence[Cell], owner: str) -> Node | None:
    """The first node of a body of goals, each linked to the next; None for an empty body."""
    following: Node | None = None
    for goal in reversed(list(_conjuncts(goals))):
        node = _compile(goal, owner)
        node.next = following
        following = node
    return following


def _conjuncts(goals: Sequence[Cell]) -> Iterator[Cell]:
    for goal in map(deref, goals):
        if isinstance(goal, tuple) and goal[0] == ",":
            yield from _conjuncts(goal[1:])
        elif goal not in _TRUE:
            yield goal


def _compile(goal: Cell, owner: str) -> Node:
    if isinstance(goal, Slot | Ref):
        return CallGoal(compound(("call", goal)), owner)
    if not isinstance(goal, tuple | str):
        raise Fault("has a body that is not a goal")
    name, args = (goal[0], goal[1:]) if isinstance(goal, tuple) else (goal, ())
    return _control(goal, name, args, owner) or _builtin(goal, name, len(args), owner)


def _control(goal: Cell, name: str, args: Sequence[Cell], owner: str) -> Node | None:
    def body(*goals: Cell) -> Node | None:
        return compile_body(goals, owner)

    match (name, len(args)):
        case (";", count) if count > 1:
            return _disjunction(goal, args, owner)
        case ("->", 2):
            return IfThenElse(goal, owner, body(args[0]), body(args[1]), body("fail"))
        case ("\\+" | "not", 1):
            return IfThenElse(goal, owner, body(args[0]), body("fail"), None)
        case ("once", 1):
            return IfThenElse(goal, owner, body(args[0]), None, body("fail"))
        case ("ignore", 1):
            return IfThenElse(goal, owner, body(args[0]), None, None)
        case ("forall", 2):
            counterexample = compound((",", args[0], compound(("\\+", args[1]))))
            return IfThenElse(goal, owner, body(counterexample), body("fail"), None)
        case ("call", count) if count:
            return CallGoal(goal, owner)
        case (_, count) if (name, count) in COLLECTIONS:
            return COLLECTIONS[name, count](goal, owner, body(_inside(args[1])))
    return None


def _inside(goal: Cell) -> Cell:
    """The goal after the variables that `^` hides from `bagof`."""
    goal = deref(goal)
    while isinstance(goal, tuple) and goal[0] == "^" and len(goal) == 3:
        goal = deref(goal[2])
    return goal


def _disjunction(goal: Cell, args: Sequence[Cell], owner: str) -> Node:
    first = deref(args[0])
    rest = compile_body([compound((";", *args[1:])) if len(args) > 2 else args[1]], owner)
    if isinstance(first, tuple) and first[0] == "->" and len(first) == 3:
        condition, then = (compile_body([part], owner) for part in first[1:])
        return IfThenElse(goal, owner, condition, then, rest)
    return Disjunction(goal, owner, compile_body([first], owner), rest)


def _builtin(goal: Cell, name: str, arity: int, owner: str) -> Node:
    key = (name, arity)
    if arity == 2 and name in COMPARISONS:
        return Compare(goal, owner, COMPARISONS[name])
    simple = _SIMPLE.get(key)
    if simple is not None:
        return simple(goal, owner)
    known = BUILTINS.get(key)
    # A library predicate is left to the database, where a definition in the program comes first.
    if known is not None and not known.library:
        if key in TESTS:
            return Once(goal, owner, TESTS[key])
        if key in ANSWERS:
            return Many(goal, owner, ANSWERS[key])
    return Call(goal, owner)


_SIMPLE: Final[dict[tuple[str, int], type[Goal]]] = {
    ("!", 0): Cut, ("fail", 0): Fail, ("false", 0): Fail, ("=", 2): Unify, ("is", 2): Is,
}  # fmt: skip


class CallGoal(Goal):
    """`call(G, ...)` or a variable in the place of a goal; a cut inside is local to it."""

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        target, *extra = [build(cell, env) for cell in self.cells]
        goal = _extended(deref(target), extra)
        body = compile_body([goal], self.owner)
        return enter(body, [], len(machine.choices), after)


def _extended(goal: Cell, extra: list[Cell]) -> Cell:
    if type(goal) is Ref:
        raise Fault(f"calls a goal where {UNBOUND}")
    if type(goal) is not tuple and not isinstance(goal, str):
        raise Fault("calls what is not a goal; call an atom or a compound term")
    if not extra:
        return goal
    return (*goal, *extra) if type(goal) is tuple else (goal, *extra)
