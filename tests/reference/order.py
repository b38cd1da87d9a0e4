"""In which order rules are evaluated: who uses what, components, and the order within a point."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cernis.errors import UnsupportedError
from cernis.syntax.tree import Clause, Compound, Term, functor, variables

from .program import FLUENT_KINDS, Program, Rule, fluent_of, is_edge, is_pair
from .terms import CONNECTIVES, unify

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Use:
    """A rule's body asks for this: `what` is holdsAt, holdsFor, happensAt, start, end, startI,
    initiatedAt or terminatedAt, `term` the pair or event. `positive` is false under negation
    and in findall and aggregates, where more answers below can mean fewer above."""

    what: str
    term: Term
    positive: bool

    @property
    def same_time(self) -> bool:
        """Does it ask what happens at this very point? What holds there was settled before."""
        return self.what not in ("holdsAt", "holdsFor", "startI")


def uses(rule: Rule, background: Sequence[Clause]) -> Iterator[Use]:
    """All that the rule's body asks for, through background rules too."""
    if rule.kind in ("fi", "ft"):
        # The initiation lies in the past: for the order within a point it is settled.
        yield Use("holdsAt", rule.head, True)
    seen: set[tuple[str, int]] = set()
    for goal in rule.body:
        yield from _uses(goal, True, background, seen)


def _uses(
    goal: Term, positive: bool, background: Sequence[Clause], seen: set[tuple[str, int]]
) -> Iterator[Use]:
    if not isinstance(goal, Compound):
        return
    name = goal.functor
    if name in CONNECTIVES:
        inner = positive and name in (",", ";")
        for arg in goal.args:
            yield from _uses(arg, inner, background, seen)
    elif name == "happensAt" and is_edge(goal.args[0]):
        event = goal.args[0]
        assert isinstance(event, Compound)
        yield Use(event.functor, event.args[0], positive)
    elif name in ("happensAt", "holdsAt", "holdsFor", "initiatedAt", "terminatedAt"):
        yield Use(name, goal.args[0], positive)
    elif functor(goal) not in seen:
        seen.add(functor(goal))
        for clause in background:
            if functor(clause.head) == functor(goal):
                for inner_goal in clause.body:
                    yield from _uses(inner_goal, positive, background, seen)


BINDS_NOTHING = frozenset({
    "\\+", "not", "forall", "<", ">", "=<", ">=", "=:=", "=\\=", "==", "\\==", "\\=",
    "@<", "@>", "@=<", "@>=",
})  # fmt: skip
"""Goals that give no variable a value."""


def only_negated(rule: Rule) -> set[str]:
    """The variables of the head that the body has in negations, and that no goal of it binds."""
    negative: set[str] = set()
    positive: set[str] = set()
    for goal in rule.body:
        is_negative = functor(goal)[0] in BINDS_NOTHING
        (negative if is_negative else positive).update(v.name for v in variables(goal))
    return ({v.name for v in variables(rule.head)} & negative) - positive


def meets(use: Use, rule: Rule) -> bool:
    """May the rule contribute to what is asked for?

    Whether a simple fluent has a value depends on the rules of all its values: each initiation
    breaks the others.
    """
    if use.what == "happensAt":
        return rule.kind == "happensAt" and _unifiable(use.term, rule.head)
    if not is_pair(use.term):
        return False
    if use.what in ("initiatedAt", "terminatedAt"):
        kinds = {"initiatedAt": ("initiatedAt", "initially", "fi")}.get(
            use.what, ("terminatedAt", "ft")
        )
        return rule.kind in kinds and _unifiable(use.term, rule.changes)
    if rule.kind == "holdsFor":
        return _unifiable(use.term, rule.head)
    return rule.kind in FLUENT_KINDS and same_fluent(use.term, rule.changes)


def same_fluent(left: Term, right: Term) -> bool:
    """May the two pairs be of one fluent?"""
    return _unifiable(fluent_of(left), fluent_of(right))


def _unifiable(left: Term, right: Term) -> bool:
    return unify(left, right, {}) is not None


def components(program: Program) -> list[list[Rule]]:
    """The rules in components, each after those it depends on.

    Rules that depend on each other are in one component, and so are all rules of one simple
    fluent. A statically determined fluent must not depend on itself.
    """
    asked = {rule: list(uses(rule, program.background)) for rule in program.rules}

    def depends(rule: Rule, other: Rule) -> bool:
        simple = rule.kind in FLUENT_KINDS and other.kind in FLUENT_KINDS
        if simple and same_fluent(rule.changes, other.changes):
            return True
        if program.is_rtec and _is_earlier_clause(program, other, rule):
            return True
        return any(meets(use, other) for use in asked[rule])

    result = ordered(program.rules, depends)
    for component in result:
        static = [rule for rule in component if rule.kind == "holdsFor"]
        if static and (len(component) > 1 or depends(static[0], static[0])):
            raise UnsupportedError("a statically determined fluent depends on itself")
    return result


def _is_earlier_clause(program: Program, other: Rule, rule: Rule) -> bool:
    """Is the other an earlier rule that may be of the same statically determined pair?"""
    if {rule.kind, other.kind} != {"holdsFor"} or not _unifiable(rule.head, other.head):
        return False
    return program.rules.index(other) < program.rules.index(rule)


def at_one_point(component: list[Rule], program: Program) -> list[list[Rule]]:
    """The rules of a component in the order in which they are evaluated at one time-point.

    Only what happens at the point itself matters for this order. Rules that need each other at
    the same point come together and are repeated until nothing changes; that has a meaning only
    if none of them negates another.
    """
    asked = {
        rule: [use for use in uses(rule, program.background) if use.same_time] for rule in component
    }
    groups = ordered(component, lambda rule, other: any(meets(use, other) for use in asked[rule]))
    for group in groups:
        for rule in group:
            for use in asked[rule]:
                negates = not use.positive or use.what in ("start", "end")
                if negates and any(meets(use, other) for other in group):
                    raise UnsupportedError("a rule depends on its own negation at one time-point")
    return groups


def ordered(nodes: list[Node], depends: Callable[[Node, Node], bool]) -> list[list[Node]]:
    """Strongly connected components, each after all it depends on; else in the given order."""
    below = {node: [other for other in nodes if depends(node, other)] for node in nodes}
    reach = {node: _reachable(node, below) for node in nodes}
    result: list[list[Node]] = []
    done: set[Node] = set()
    while len(done) < len(nodes):
        for node in nodes:
            if node in done:
                continue
            mutual = [other for other in reach[node] if node in reach[other]]
            component = [other for other in nodes if other == node or other in mutual]
            if reach[node] <= done.union(component):
                result.append(component)
                done.update(component)
    return result


def _reachable(start: Node, below: dict[Node, list[Node]]) -> set[Node]:
    seen: set[Node] = set()
    todo = list(below[start])
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo.extend(below[node])
    return seen
