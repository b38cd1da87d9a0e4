"""Simple fluents: the definitions of section 4 of the semantics, for one point at a time."""

from __future__ import annotations

from cernis.syntax.tree import Term

from .context import Context
from .intervals import INF
from .program import fluent_of
from .terms import unify


def broken(context: Context, pair: Term, point: int) -> bool:
    """Is the point in TP: is the pair terminated there, or another value initiated?

    In the dialect rtec a value that nothing names as a constant does not break others.
    """
    if any(
        other != pair
        and fluent_of(other) == fluent_of(pair)
        and (not context.program.is_rtec or context.program.names(other))
        for other in context.state.initiated.get(point, ())
    ):
        return True
    patterns = context.state.terminated.get(point, ())
    return any(unify(pattern, pair, {}) is not None for pattern in patterns)


def counts(context: Context, pair: Term, point: int) -> bool:
    """Is the pair initiated at the point, to an effect?

    A pair that grounding does not allow has none: its initiation only breaks other values.
    Under the tie rule `break`, an initiation at a point that breaks the pair has none either.
    """
    if pair not in context.state.initiated.get(point, ()) or not context.domain.allows(pair):
        return False
    return context.program.ties == "initiation" or not broken(context, pair, point)


def begins(context: Context, pair: Term, point: int) -> bool:
    """Does the pair not hold so far, and is initiated here?"""
    return not _is_open(context, pair) and counts(context, pair, point)


def ceases(context: Context, pair: Term, point: int) -> bool:
    """Does the pair hold so far, and is broken here?

    An initiation that counts at the same point lets holding go on across the break.
    """
    return (
        _is_open(context, pair)
        and broken(context, pair, point)
        and not counts(context, pair, point)
    )


def step(context: Context, point: int) -> None:
    """What holds goes on unless it ceases at the point; what begins there holds from T+τ on.

    Asks for the pairs of the component under evaluation, when all its rules have been applied
    at the point.
    """
    state = context.state
    if not state.initiated.get(point) and not state.terminated.get(point):
        return
    ceasing = [pair for pair in state.simple if context.owns(pair) and ceases(context, pair, point)]
    beginning = [
        pair
        for pair in state.initiated.get(point, ())
        if context.owns(pair) and begins(context, pair, point)
    ]
    for pair in ceasing:
        start, _ = state.simple[pair].pop()
        state.simple[pair].append((start, point + context.tick))
    for pair in beginning:
        state.simple.setdefault(pair, []).append((point + context.tick, INF))


def _is_open(context: Context, pair: Term) -> bool:
    intervals = context.state.simple.get(pair, [])
    return bool(intervals) and intervals[-1][1] == INF
