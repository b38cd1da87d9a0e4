"""Goals that gather all answers of another: `findall/3`, `aggregate_all/3`, `bagof/3`."""

# ruff: noqa: D102 - `run` and `resume` mean what `Node` and `ChoicePoint` say.

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from cernis.knowledge.resolution.cells import (
    NIL,
    Cell,
    Environment,
    Ref,
    build,
    chain,
    compare,
    copy,
    deref,
    parts,
    unify,
)
from cernis.knowledge.resolution.goal_nodes import Goal, enter
from cernis.knowledge.resolution.library import distinct, number, ordered
from cernis.knowledge.resolution.machine import AnswerChoice, ChoicePoint, Frame, Machine, Node
from cernis.knowledge.resolution.prolog_arithmetic import Fault

Finish: TypeAlias = Callable[[list[Cell]], Iterator[bool]]
"""From the answers gathered to the answers of the goal that gathers."""


class KeepAnswer(Node):
    """The end of a collected goal: keeps the answer and asks for the next."""

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        kept, keep = env
        kept.append(keep())
        return None


class CollectChoice(ChoicePoint):
    """Below the choices of a collected goal: reached when it has no more answers."""

    __slots__ = ("after", "finish", "kept")

    def __init__(self, mark: int, kept: list[Cell], finish: Finish, after: Frame) -> None:
        self.mark = mark
        self.kept = kept
        self.finish = finish
        self.after = after

    def resume(self, machine: Machine) -> Frame | None:
        answers = self.finish(self.kept)
        return AnswerChoice(self.mark, answers, self.after).resume(machine)


def collect(
    machine: Machine,
    body: Node | None,
    env: Environment,
    keep: Callable[[], Cell],
    finish: Finish,
    after: Frame,
    owner: str,
) -> Frame:
    """Run a goal to its end, keeping what `keep` says at each answer; then `finish` answers."""
    kept: list[Cell] = []
    machine.choices.append(CollectChoice(len(machine.trail), kept, finish, after))
    node = KeepAnswer()
    node.next, node.owner = None, owner
    end: Frame = (node, (kept, keep), 0, after, after[4] + 1)
    return enter(body, env, len(machine.choices), end)


class Gather(Goal):
    """A goal with a goal inside, already compiled."""

    __slots__ = ("body",)

    def __init__(self, goal: Cell, owner: str, body: Node | None) -> None:
        super().__init__(goal, owner)
        self.body = body


class FindAll(Gather):
    """`findall(Template, Goal, List)`: the answers in order, `[]` if there are none.

    A fourth argument is what stands after the last item.
    """

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        template, _, result, *tail = [build(cell, env) for cell in self.cells]

        def finish(kept: list[Cell]) -> Iterator[bool]:
            yield unify(chain(kept, tail[0] if tail else NIL), result, machine.trail)

        return collect(machine, self.body, env, lambda: copy(template), finish, after, self.owner)


class AggregateAll(Gather):
    """`aggregate_all(What, Goal, Result)`.

    What is `count`, `sum(E)`, `max(E)`, `min(E)`, `avg(E)`, `max(E, W)`, `min(E, W)`, `bag(E)` or
    `set(E)`. A maximum, minimum or average of nothing has no answer; of equal ones the first is
    taken.
    """

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        term, _, result = [deref(build(cell, env)) for cell in self.cells]
        name, arity = (term[0], len(term) - 1) if type(term) is tuple else (term, 0)
        aggregate = AGGREGATES.get((name, arity)) if isinstance(name, str) else None
        if aggregate is None:
            raise Fault("asks for an aggregate that is none of count, sum, max, min, avg, bag, set")

        def finish(kept: list[Cell]) -> Iterator[bool]:
            found = aggregate(kept)
            yield found is not None and unify(found, result, machine.trail)

        return collect(machine, self.body, env, lambda: copy(term), finish, after, self.owner)


def _extreme(pick: Callable[..., Cell]) -> Callable[[list[Cell]], Cell | None]:
    def aggregate(kept: list[Cell]) -> Cell | None:
        return pick([number(each[1]) for each in kept]) if kept else None

    return aggregate


def _extreme_with(name: str, pick: Callable[..., Cell]) -> Callable[[list[Cell]], Cell | None]:
    def aggregate(kept: list[Cell]) -> Cell | None:
        if not kept:
            return None
        best = pick(kept, key=lambda each: number(each[1]))
        return (name, number(best[1]), best[2])

    return aggregate


AGGREGATES: Final[dict[tuple[str, int], Callable[[list[Cell]], Cell | None]]] = {
    ("count", 0): len,
    ("count", 1): len,
    ("sum", 1): lambda kept: sum(number(each[1]) for each in kept),
    ("max", 1): _extreme(max),
    ("min", 1): _extreme(min),
    ("avg", 1): lambda kept: (
        float(sum(number(each[1]) for each in kept)) / len(kept) if kept else None
    ),
    ("max", 2): _extreme_with("max", max),
    ("min", 2): _extreme_with("min", min),
    ("bag", 1): lambda kept: chain([each[1] for each in kept]),
    ("set", 1): lambda kept: chain(distinct([each[1] for each in kept])),
}


class BagOf(Gather):
    """`bagof(Template, Goal, List)` and `setof/3`, which sorts and drops what is there twice.

    One answer for each instance of the goal's other variables, those in front of a `^` left out,
    in the standard order of the instances. A goal without answers gives none.
    """

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        template, goal, result = [build(cell, env) for cell in self.cells]
        witness = chain(_free(template, goal))
        as_set = self.goal[0] == "setof"

        def finish(kept: list[Cell]) -> Iterator[bool]:
            for key, members in _groups(kept):
                listed = distinct(members) if as_set else members
                yield unify(witness, key, machine.trail) and unify(
                    chain(listed), result, machine.trail
                )

        def keep() -> Cell:
            return copy(("-", witness, template))

        return collect(machine, self.body, env, keep, finish, after, self.owner)


def _free(template: Cell, goal: Cell) -> list[Ref]:
    """The goal's variables that are neither in the template nor in front of a `^`."""
    hidden = [template]
    goal = deref(goal)
    while type(goal) is tuple and goal[0] == "^" and len(goal) == 3:
        hidden.append(goal[1])
        goal = deref(goal[2])
    bound = {part for cell in hidden for part in parts(cell) if type(part) is Ref}
    refs = (part for part in parts(goal) if type(part) is Ref)
    return [ref for ref in dict.fromkeys(refs) if ref not in bound]


def _groups(kept: list[Cell]) -> list[tuple[Cell, list[Cell]]]:
    groups: list[tuple[Cell, list[Cell]]] = []
    for ranked in ordered([("-", each[1], index) for index, each in enumerate(kept)]):
        key, member = ranked[1], kept[ranked[2]][2]
        if groups and not compare(groups[-1][0], key):
            groups[-1][1].append(member)
        else:
            groups.append((key, [member]))
    return groups


COLLECTIONS: Final[dict[tuple[str, int], type[Gather]]] = {
    ("findall", 3): FindAll,
    ("findall", 4): FindAll,
    ("aggregate_all", 3): AggregateAll,
    ("bagof", 3): BagOf,
    ("setof", 3): BagOf,
}
