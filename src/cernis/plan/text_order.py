"""The steps of a rule in the order of its text."""

from __future__ import annotations

from collections.abc import Sequence

from cernis.plan.logical import (
    AntiStab,
    Compute,
    EventAntiJoin,
    Except,
    Exclude,
    Filter,
    PointOperator,
    Scan,
    names_in,
)


def in_text_order(steps: Sequence[PointOperator]) -> tuple[PointOperator, ...]:
    """The steps in the order of the text, as far as each still comes after what it builds upon."""
    left = [(step, _binds(step), frozenset(names_in(step))) for step in steps]
    in_order: list[PointOperator] = []
    while left:
        free = [
            place for place, (_, _, names) in enumerate(left)
            if not any(isinstance(step, Scan) or binds & names for step, binds, _ in left[:place])
        ]  # fmt: skip
        chosen = min(free, key=lambda at: left[at][0].span[0])
        in_order.append(left.pop(chosen)[0])
    return tuple(in_order)


def _binds(step: PointOperator) -> frozenset[str]:
    """The variables that a step may give a value."""
    if isinstance(step, Compute):
        return frozenset([step.variable])
    if isinstance(step, Filter | EventAntiJoin | AntiStab | Exclude | Except):
        return frozenset()
    return frozenset(names_in(step))
