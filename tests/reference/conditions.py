"""What the conditions of rules can ask for about time."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.errors import KnowledgeError
from cernis.syntax.tree import Compound, Number, Term

from . import inertia
from .context import Context
from .instances import known_instances
from .intervals import holds_at
from .program import fluent_of, is_edge, is_unused, value_of
from .solve import Key, Predicate
from .state import Points
from .terms import Renamer, is_ground, order_key, substitute, unify


def time_predicates(context: Context) -> dict[Key, Predicate]:
    """happensAt, holdsAt, initiatedAt and terminatedAt, as far as evaluation has come.

    An event happens at a point or not: two equal records of it are one happening. Where there
    are several answers they come in the standard order of terms.
    """
    return {
        ("happensAt", 2): lambda goal: _happens_at(context, goal),
        ("holdsAt", 2): lambda goal: _holds_at(context, goal),
        ("initiatedAt", 2): lambda goal: _moved(goal, context.state.initiated),
        ("terminatedAt", 2): lambda goal: _terminated(context, goal),
    }


def _what_and_when(goal: Term) -> tuple[Term, int]:
    assert isinstance(goal, Compound)
    what, when = goal.args
    if not isinstance(when, Number):
        raise KnowledgeError(f"{goal.functor}/2", "the time is not the time of the rule")
    return what, int(when.value)


def _happens_at(context: Context, goal: Term) -> Iterator[Term]:
    event, point = _what_and_when(goal)
    happening = set(context.memory.events.get(point, ()))
    happening |= context.state.happened.get(point, set())
    if isinstance(event, Compound) and is_edge(event):
        pairs = _edges(context, event.functor, event.args[0], point)
        happening |= {Compound(event.functor, (pair,)) for pair in pairs}
    for happened in sorted(happening, key=order_key):
        yield Compound("happensAt", (happened, Number(point)))


def _edges(context: Context, which: str, asked: Term, point: int) -> Iterator[Term]:
    """The pairs asked for that start or end at the point: whose interval has an edge at T+τ.

    For the simple fluents under evaluation that follows from what is initiated and terminated
    at the point. An edge of a pair that rests on point input, at the query time, is one of the
    window and not of the fluent: the next point is not known yet. So is one at the point up to
    which the window forgets, where it is only that records are seen again. `startI` is apart: it
    happens at the first point of an interval, which earlier points have settled.
    """
    state = context.state
    if which == "startI":
        for pair in state.instances(asked):
            if point in [start for start, _ in state.intervals(pair)]:
                yield pair
        return
    happens = inertia.begins if which == "start" else inertia.ceases
    for pair in {*state.instances(asked), *state.initiated.get(point, ())}:
        if context.owns(pair):
            if happens(context, pair, point):
                yield pair
        elif point < context.window.query or pair not in context.unsure:
            at = 0 if which == "start" else 1
            is_edge = point + context.tick in [interval[at] for interval in state.intervals(pair)]
            if is_edge and not context.clipped.is_clipped(pair, point, state):
                yield pair


def _holds_at(context: Context, goal: Term) -> Iterator[Term]:
    asked, point = _what_and_when(goal)
    candidates = [asked] if is_ground(asked) else context.state.instances(asked)
    for pair in sorted(candidates, key=order_key):
        if holds_at(context.state.intervals(pair), point):
            yield Compound("holdsAt", (pair, Number(point)))


def _moved(goal: Term, points: Points) -> Iterator[Term]:
    assert isinstance(goal, Compound)
    _, point = _what_and_when(goal)
    for pair in sorted(points.get(point, ()), key=order_key):
        yield Compound(goal.functor, (pair, Number(point)))


def _terminated(context: Context, goal: Term) -> Iterator[Term]:
    """The terminations at the point that the goal unifies with.

    A termination whose head leaves the value open unifies with whatever value is asked for, and
    with a goal that asks for no value. An argument that the head leaves open is one of a known
    instance of the fluent; what the goal leaves open, too, ranges over these instances.
    """
    asked, point = _what_and_when(goal)
    found = {
        pair
        for pattern in context.state.terminated.get(point, ())
        for pair in _terminated_pairs(context, asked, Renamer("t").term(pattern, {}), point)
    }
    for pair in sorted(found, key=order_key):
        yield Compound("terminatedAt", (pair, Number(point)))


def _terminated_pairs(context: Context, asked: Term, pattern: Term, point: int) -> Iterator[Term]:
    env = unify(asked, pattern, {})
    if env is None:
        return
    pair = substitute(asked, env)
    if is_ground(fluent_of(pattern)) and (is_ground(pair) or is_unused(value_of(asked))):
        yield pair
        return
    for instance in known_instances(context, pair, point):
        unused = is_unused(value_of(pair))
        yield Compound("=", (fluent_of(instance), value_of(pair))) if unused else instance
