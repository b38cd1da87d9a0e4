"""Delayed effects of a fluent, for all its instances: how long, to which value, allowed or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cernis.check.model import Condition, DelayedEffect, Grounding
from cernis.errors import DataError
from cernis.kernels.delays import CLASH, ENDS, NO_EFFECT
from cernis.operators.context import Context, constant_column
from cernis.operators.expressions import reckon
from cernis.operators.grounding import allowed
from cernis.operators.pipeline import ROW, run_steps
from cernis.plan.logical import Delay, PointOperator
from cernis.plan.pipeline import Pipeline, entity_names
from cernis.syntax.tree import Variable
from cernis.tables.columns import Array, Column, Rows
from cernis.tables.domains import Domain

Integers: TypeAlias = npt.NDArray[np.int64]


def effects_of(
    delays: Sequence[Delay], arguments: list[Array], domains: list[Domain | None],
    value_domain: Domain, groundings: Sequence[Grounding], context: Context,
) -> tuple[Integers, Integers, Integers, Integers]:  # fmt: skip
    """Delays and targets by value and instance, which targets it may have, postponability.

    Of several effects on one value the shorter wins, for each instance by itself. Of effects that
    come together, one that begins a value counts before one that only ends; two that would begin
    different values clash.
    """
    count = len(arguments[0]) if arguments else 1
    sources = [_codes(delay.effect, value_domain) for delay in delays]
    size = len(value_domain)
    lengths = np.full((size, count), NO_EFFECT, np.int64)
    targets = np.full((size, count), ENDS, np.int64)
    postponable = np.zeros(size, np.int64)
    for delay, (source, target) in zip(delays, sources, strict=True):
        own = _lengths(delay.effect, arguments, domains, count, context)
        known, before = lengths[source], targets[source]
        shorter = (own >= 0) & ((known < 0) | (own < known))
        together = (own >= 0) & (own == known) & (before != target) & (target != ENDS)
        targets[source] = np.select(
            [shorter, together & (before == ENDS), together], [target, target, CLASH], before
        )
        lengths[source] = np.where(shorter, own, known)
        postponable[source] |= delay.postponable
    may = np.ones((size, count), np.int64)
    if groundings and count:
        for target in {target for _, target in sources if target >= 0}:
            values = np.full(count, target)
            columns = arguments if arguments else []
            may[target] = allowed(groundings, columns, domains, values, value_domain, context)
    return lengths, targets, may, postponable


def _codes(effect: DelayedEffect, domain: Domain) -> tuple[int, int]:
    source = int(constant_column(effect.source.value, domain).data[0])
    if effect.target is None:
        return source, ENDS
    return source, int(constant_column(effect.target.value, domain).data[0])


def _lengths(
    effect: DelayedEffect, arguments: list[Array], domains: list[Domain | None], count: int,
    context: Context,
) -> Integers:  # fmt: skip
    """The delay of each instance; -1 for those the effect is not about."""
    rows = Rows(count, {ROW: Column(np.arange(count))})
    for arg, data, domain in zip(effect.source.args, arguments, domains, strict=True):
        numbers = rows.columns[ROW].values
        column = Column(data, domain, numbers)
        if not isinstance(arg, Variable):
            wanted = constant_column(arg, domain).data[0]
            rows = rows.where(column.values == wanted).settled()
        elif arg.name in rows.columns:
            rows = rows.where(rows.columns[arg.name].values == column.values).settled()
        elif arg.name != "_":
            rows = rows.with_columns({arg.name: column})
    steps = context.memo.once("delay", effect, lambda: _planned(effect, context))
    rows = run_steps(steps, rows, context).settled()
    values = np.broadcast_to(reckon(effect.delay, rows), rows.length)
    if len(values) and not (values > 0).all():
        raise DataError(f"the delay of {effect.source} must lie above 0")
    lengths = np.full(count, NO_EFFECT, np.int64)
    # Where the body has several answers, the shortest delay comes first.
    order = np.argsort(-values, kind="stable")
    lengths[rows.columns[ROW].values[order]] = values[order]
    return lengths


def _planned(effect: DelayedEffect, context: Context) -> tuple[PointOperator, ...]:
    goals = [Condition(goal, False, goal.span) for goal in effect.goals]
    bound = entity_names(effect.source)
    return Pipeline(context.knowledge, context.modes, bound=bound).run(goals)
