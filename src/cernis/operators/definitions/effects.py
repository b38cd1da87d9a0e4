"""Delayed effects of a fluent, for all its instances: how long, to which value, allowed or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cernis.check.amounts import FARTHEST
from cernis.check.model import (
    DelayedEffect,
    Grounding,
    Postponable,
)
from cernis.errors import DataError
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.inertia.delays import Effects
from cernis.kernels.inertia.points import ALL, NO_ACTION, NO_EFFECT, NO_POINT, UNTIL_DUE
from cernis.operators.collections import ROW
from cernis.operators.column_arithmetic import Numeric, as_numbers, compared
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_window import QueryWindow
from cernis.operators.definitions.grounding import allowed
from cernis.operators.definitions.rule_heads import agreeing
from cernis.operators.expressions import numeric_value
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.goal_plans import is_of_all
from cernis.plan.logical import Delay
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import WHOLE, Domain

_FAR = np.iinfo(np.int64).max


def effects_of(
    delays: Sequence[Delay], arguments: list[Array], domains: list[Domain | None],
    value_domain: Domain, groundings: tuple[Grounding, ...], context: Context,
) -> Effects:  # fmt: skip
    """The tables of effects for some instances; with one row where all instances have the same.

    Initiations must postpone the same effects of all instances: see `moved_alike`.

    Of several effects on one value the shorter wins, for each instance by itself; those that are
    equally short come together.
    """
    count = len(arguments[0]) if arguments else 1
    sources: dict[int, dict[int, Integers]] = {}
    for delay in delays:
        source, action = _codes(delay.effect, value_domain)
        length_of_action = sources.setdefault(source, {})
        length = _lengths(delay.effect, arguments, domains, count, context)
        length_of_action[action] = np.minimum(length_of_action.get(action, _FAR), length)
    slots = np.zeros(len(value_domain), np.int64)
    slots[list(sources)] = np.arange(1, 1 + len(sources))
    moved: dict[int, int] = {}
    for delay in delays:
        mask = _moved(delay, arguments, domains, count, context)
        if mask.any():
            is_late = any(each.until_due for each in delay.moved_by)
            moved[_codes(delay.effect, value_domain)[0]] = UNTIL_DUE if is_late else 1
            if not mask.all():
                raise UnevenError
    lengths, reported = _tables(list(sources.values()))
    done = reported
    for action in {action for actions in sources.values() for action in actions if action & 1}:
        if groundings and count:
            values = np.full(count, action >> 1)
            may = allowed(groundings, arguments, domains, values, value_domain, context)
            done = np.where((reported == action) & ~may[:, np.newaxis], ALL, done)
    lengths, reported, done = _of_one_height(lengths, reported, done)
    postponable = np.array([0, *(moved.get(source, 0) for source in sources)])
    return Effects(slots, lengths, reported, done, postponable, quiet_point(delays, context.window))


def quiet_point(delays: Sequence[Delay], window: QueryWindow) -> int:
    """The point whose initiations have no effects, if there is one: what holds initially."""
    return NO_POINT if all(delay.follows_initial for delay in delays) else window.start


def _tables(sources: list[dict[int, Integers]]) -> tuple[Integers, Integers]:
    """The shortest delays, by instance and slot, and the actions that come with them.

    Takes the delay of each action, one of all instances or one of each, slot by slot.
    """
    none = np.full(1, NO_EFFECT)
    columns, actions = [none], [np.full((1, 1), NO_ACTION)]
    for length_of_action in sources:
        shortest = np.minimum.reduce(np.broadcast_arrays(*length_of_action.values()))
        columns.append(np.where(shortest < _FAR, shortest, NO_EFFECT))
        come = [np.where((length == shortest) & (length < _FAR), action, NO_ACTION)
                for action, length in length_of_action.items()]  # fmt: skip
        # The largest first: where there is no action, the number for that is the least.
        actions.append(-np.sort(-np.stack(np.broadcast_arrays(*come)), axis=0))
    layers = max(int((column != NO_ACTION).any(axis=1).sum()) for column in actions)
    filled = [_filled(column, max(1, layers)) for column in actions]
    told = [layer for layers in zip(*filled, strict=True) for layer in layers]
    return np.stack(np.broadcast_arrays(*columns), 1), np.stack(np.broadcast_arrays(*told), 1)


def _filled(actions: Integers, layers: int) -> Integers:
    """So many rows, the further ones without actions."""
    more = np.full((max(0, layers - len(actions)), actions.shape[1]), NO_ACTION)
    return np.concatenate([actions, more])[:layers]


def _of_one_height(*tables: Integers) -> list[Integers]:
    height = np.broadcast_shapes(*((len(table), 1) for table in tables))[0]
    return [
        np.ascontiguousarray(np.broadcast_to(table, (height, table.shape[1]))) for table in tables
    ]


def _codes(effect: DelayedEffect, domain: Domain) -> tuple[int, int]:
    """The value that has the effect, and the action that this is."""
    source = int(constant_column(effect.source.value, domain).data[0])
    if effect.target is None:
        return source, source << 1
    return source, int(constant_column(effect.target.value, domain).data[0]) << 1 | 1


def _lengths(
    effect: DelayedEffect, arguments: list[Array], domains: list[Domain | None], count: int,
    context: Context,
) -> Integers:  # fmt: skip
    """The delay of each instance, or one of all; endless for those the effect is not about."""
    memo = context.background.memo
    if not memo.once("is of all", effect, lambda: is_of_all(effect)):
        return _answered_lengths(effect, arguments, domains, count, context)
    if effect.goals:
        return _answered_lengths(effect, arguments, domains, 1, context)
    # It depends on nothing, so it is the same at all queries.
    return memo.once("delay", effect, lambda: _answered_lengths(effect, [], [], 1, context))  # type: ignore[no-any-return]


def _answered_lengths(
    effect: DelayedEffect, arguments: list[Array], domains: list[Domain | None], count: int,
    context: Context,
) -> Integers:  # fmt: skip
    rows = _instances(effect, arguments, domains, count, context)
    values = _checked(effect, numeric_value(effect.delay, rows), rows.length)
    lengths = np.full(count, _FAR)
    # Where the body has several answers, the shortest delay comes first.
    np.minimum.at(lengths, rows.columns[ROW].values, values)
    return lengths


def _instances(
    about: DelayedEffect | Postponable, arguments: list[Array], domains: list[Domain | None],
    count: int, context: Context,
) -> Rows:  # fmt: skip
    """The instances that something is about, once for each answer to its goals.

    An effect with one delay for all is asked for once.
    """
    pair = about.source if isinstance(about, DelayedEffect) else about.pair
    is_alike = isinstance(about, DelayedEffect) and is_of_all(about)
    rows = Rows(count, {ROW: Column(np.arange(count))})
    given = [] if is_alike else [*zip(pair.args, arguments, domains, strict=True)]
    for arg, data, domain in given:
        rows = agreeing(arg, Column(data, domain, rows.columns[ROW].values), rows)
    return run_steps(context.goals.of_effect(about), rows, context).settled()


# -- postponing ------------------------------------------------------------------------------


class UnevenError(Exception):
    """Initiations postpone an effect of some instances and not of others."""


def moved_alike(
    delays: Sequence[Delay], arguments: list[Array], domains: list[Domain | None],
    context: Context,
) -> list[Integers] | None:  # fmt: skip
    """Instances divided by which of their effects initiations postpone; None if all are alike."""
    count = len(arguments[0]) if arguments else 1
    masks = [_moved(delay, arguments, domains, count, context) for delay in delays]
    if all(mask.all() or not mask.any() for mask in masks):
        return None
    kinds = np.zeros(count, np.int64)
    for mask in masks:
        _, kinds = np.unique(2 * kinds + mask, return_inverse=True)
    return [np.flatnonzero(kinds == kind) for kind in range(int(kinds.max()) + 1)]


def _moved(
    delay: Delay, arguments: list[Array], domains: list[Domain | None], count: int,
    context: Context,
) -> Booleans:  # fmt: skip
    """For which instances a further initiation postpones an effect; or one entry for all."""
    if not delay.moved_by or any(each.is_of_all for each in delay.moved_by):
        return np.full(1, bool(delay.moved_by))
    is_moved = np.zeros(count, np.bool_)
    for each in delay.moved_by:
        rows = _instances(each, arguments, domains, count, context)
        is_moved[rows.columns[ROW].values] = True
    return is_moved


def _checked(effect: DelayedEffect, values: Numeric, length: int) -> Integers:
    delays = as_numbers(values, length)
    bounds = np.zeros(1, np.int64), np.full(1, FARTHEST)
    if not (compared(">", delays, bounds[0]) & compared("<", delays, bounds[1])).all():
        raise DataError(f"the delay of {effect.source} must lie above 0 and below 2**62")
    with np.errstate(invalid="ignore"):
        floats = delays.floats.astype(np.int64)
    return np.where(delays.kinds == WHOLE, delays.ints, floats)
