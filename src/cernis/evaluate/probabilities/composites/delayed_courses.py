"""Simple fluents with delayed effects over uncertain records.

The state of an instance is which of its values hold and since when each value that has effects is
under way. Its distribution is carried from point to point, so that an effect counts as likely as
its initiation and the absence of breaks in between, together with what holds. That is exact over
records, since those of different points are independent. Other fluents that rules ask for count as
independent facts of their point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import Courses, Pairs
from cernis.evaluate.probabilities.proof_groups import Actions, group_actions, probabilities_now
from cernis.evaluate.probabilities.proofs import Uncertainty, edge_relation
from cernis.evaluate.probabilities.uncertain_facts import TRUE, Facts, conjunctions, stacked
from cernis.evaluate.probabilities.uncertain_fluents import (
    InitialPairs,
    ProvenPoints,
    UncertainFluent,
    first_point,
)
from cernis.evaluate.probabilities.worlds import Worlds
from cernis.kernels.array_types import Array, Floats, Integers
from cernis.kernels.circuit_values import MOST_TOGETHER
from cernis.kernels.hashing import Numbering
from cernis.kernels.inertia.delays import Effects
from cernis.kernels.inertia.points import NO_ACTION, NO_POINT
from cernis.kernels.order import stable_order
from cernis.kernels.state_chances import (
    MOST_STATES,
    NO_ROOM,
    NOT_BEGUN,
    TOO_MANY,
    EffectBits,
    PointWorlds,
    StateRows,
    Steps,
    carry_states,
)
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.asked_terminations import ANY
from cernis.operators.definitions.effects import effects_of, moved_alike
from cernis.operators.definitions.fluent_heads import FluentHeads
from cernis.operators.definitions.instance_keys import InstanceKeys
from cernis.operators.definitions.values_apart import ending_values
from cernis.operators.distinct import distinct
from cernis.plan.logical import Definition
from cernis.tables.event_tables import EventTable

_MOST_VALUES: Final = 60
_MOST_DOUBTFUL: Final = 12
"""So many uncertain initiations and terminations of one instance may lie at one point."""
_INITIATES: Final = 0
_TERMINATES: Final = 1


@dataclass(slots=True)
class InstanceStates:
    """The states of the instances of a fluent: arguments, the codes of values, and rows.

    Bit k of what holds is the value `values[k]`; slots are of the values `sources`.
    """

    arguments: list[Array]
    values: Integers
    sources: Integers
    rows: StateRows

    def pruned(self) -> InstanceStates:
        """Without the instances of which nothing holds and nothing is under way for sure."""
        rows, sizes = self.rows, np.diff(self.rows.offsets)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        is_something = (rows.held != 0) | (rows.onsets != NOT_BEGUN).any(axis=1)
        kept = np.zeros(len(sizes), np.bool_)
        kept[owner[is_something]] = True
        chosen = kept[owner]
        offsets = np.append(0, np.cumsum(sizes[kept])).astype(np.int64)
        states = StateRows(offsets, rows.held[chosen], rows.onsets[chosen], rows.chances[chosen])
        arguments = [column[kept] for column in self.arguments]
        return InstanceStates(arguments, self.values, self.sources, states)


@dataclass(slots=True)
class DelayedRun:
    """What a query knows of a fluent with delayed effects: enough to carry it to any point."""

    arguments: list[Array]
    values: Integers
    sources: Integers
    points: PointWorlds
    first: StateRows
    effects: EffectBits
    tick: int
    has_breaks: int

    def carried(self, last: int, name: str) -> tuple[Steps, Steps, InstanceStates]:
        """The steps and edges over all points up to the last one, and the states after them."""
        steps, edges, rows = _carried(self, last, name)
        states = InstanceStates(self.arguments, self.values, self.sources, rows)
        return steps, edges, states.pruned()


def evaluate_delayed(
    definition: Definition, context: Context, uncertainty: Uncertainty, circuits: Circuits,
    before: InstanceStates | None,
) -> tuple[Courses, DelayedRun]:  # fmt: skip
    """The course of each pair of a fluent with delayed effects; enters its segments.

    `before` are the states right after the edge of the window; None at the first query.
    """
    refuse_changes(definition.relation, uncertainty)
    initiations, terminations, initial = UncertainFluent(definition, context, uncertainty).changes()
    heads = FluentHeads(definition, context)
    run = _Preparation(definition, context, uncertainty, heads).run(
        initiations, terminations, initial, circuits, before
    )
    steps, edges, _ = run.carried(context.window.query, str(definition.relation))
    courses = _courses(run, steps, heads, first_point(context, uncertainty))
    uncertainty.enter_courses(definition.relation, courses)
    if definition.relation in uncertainty.bounded:
        _put_edges(definition.relation, run, edges, heads, context, uncertainty)
    return courses, run


def _put_edges(
    relation: Relation, run: DelayedRun, edges: Steps, heads: FluentHeads, context: Context,
    uncertainty: Uncertainty,
) -> None:  # fmt: skip
    """Enter the starts and ends of the pairs of a fluent, each as a fact of its own."""
    literals = uncertainty.facts.add(np.minimum(edges.chances, 1.0))
    for number, edge in enumerate(("start", "end")):
        rows = np.flatnonzero(edges.values % 2 == number)
        arguments = [column[edges.instances[rows]] for column in run.arguments]
        values = heads.shown_values(run.values[edges.values[rows] // 2])
        context.relations.events[edge_relation(relation, edge)] = EventTable(
            [*arguments, values, literals[rows]], [*heads.domains, heads.value_domain, None],
            edges.times[rows],
        )  # fmt: skip
    uncertainty.edged.add(relation)


def refuse_changes(relation: Relation, uncertainty: Uncertainty) -> None:
    """Raise an error if rules ask for more of a fluent with delayed effects than what holds."""
    if relation in uncertainty.watched:
        raise UnsupportedError(
            f"{relation}: it has delayed effects, and its initiations and terminations are not "
            "defined over uncertain records; ask whether it holds, starts or ends"
        )


class _Preparation:
    """Brings what rules prove and what effects do into bits and worlds."""

    def __init__(
        self, definition: Definition, context: Context, uncertainty: Uncertainty,
        heads: FluentHeads,
    ) -> None:  # fmt: skip
        self._definition = definition
        self._context = context
        self._uncertainty = uncertainty
        self._heads = heads
        self._name = str(definition.relation)

    def run(
        self, initiations: ProvenPoints, terminations: ProvenPoints, initial: InitialPairs,
        circuits: Circuits, before: InstanceStates | None,
    ) -> DelayedRun:  # fmt: skip
        values = self._values(initiations, terminations, initial, before)
        known = initial.arguments if before is None else before.arguments
        counts = len(initial.values) if before is None else len(before.rows.offsets) - 1
        parts = [initiations.arguments, terminations.arguments, known]
        keys = InstanceKeys(self._heads.domains, parts, self._context.caches)
        numbering = Numbering()
        initiated, terminated, held = (
            numbering.of(keys.of(arguments, length))
            for arguments, length in zip(
                parts, [len(initiations.values), len(terminations.values), counts], strict=True
            )
        )
        arguments = keys.arguments(numbering.keys)
        count = len(numbering)
        effects, since = self._effects(arguments, values, count)
        points = self._points(
            count, values, (initiated, initiations), (terminated, terminations), circuits
        )
        if before is None:
            allowed = self._heads.may_hold(initial.arguments, initial.values)
            first = self._initial(
                count, held, allowed, initial, values, effects.sources, since
            )  # fmt: skip
        else:
            first = _translated(before, count, held, values, values[effects.sources])
        return DelayedRun(
            arguments, values, values[effects.sources], points, first, effects,
            self._context.window.tick, int(self._context.window.ties == "break"),
        )  # fmt: skip

    def _values(
        self, initiations: ProvenPoints, terminations: ProvenPoints, initial: InitialPairs,
        before: InstanceStates | None,
    ) -> Integers:  # fmt: skip
        domain = self._heads.value_codes
        codes = [
            initiations.values,
            terminations.values[terminations.values != ANY],
            initial.values,
        ]
        codes += [] if before is None else [before.values]
        for delay in self._definition.delays:
            pairs = [delay.effect.source, delay.effect.target]
            codes += [constant_column(p.value, domain).data for p in pairs if p is not None]
        values = np.unique(np.concatenate(codes)).astype(np.int64)
        if len(values) > _MOST_VALUES:
            raise UnsupportedError(
                f"{self._name}: it has delayed effects and {len(values)} values; over uncertain "
                f"records such a fluent may have {_MOST_VALUES} at most"
            )
        return values

    def _effects(
        self, arguments: list[Array], values: Integers, count: int
    ) -> tuple[EffectBits, int]:
        """The effects as bits; and since when what holds initially is under way."""
        parts, rows = self._effect_parts(arguments, count)
        slots = np.flatnonzero(parts[0].slots)
        slots = slots[np.argsort(parts[0].slots[slots])]
        ending = self._bits(values[self._ending(values)], values)
        lines, (lengths, initiates, terminates, moved) = _effect_tables(parts, rows, values, count)
        bits = EffectBits(
            lines, np.searchsorted(values, slots).astype(np.int64), lengths, initiates, terminates,
            moved, self._allowed(arguments, values, count), ending,
        )  # fmt: skip
        is_quiet = parts[0].quiet != NO_POINT
        return bits, NOT_BEGUN if is_quiet else self._context.window.start

    def _effect_parts(
        self, arguments: list[Array], count: int
    ) -> tuple[list[Effects], list[Integers]]:
        """The effects of instances, by which of them initiations postpone; and the instances."""
        heads, delays = self._heads, self._definition.delays
        parts = moved_alike(delays, arguments, heads.domains, self._context)
        rows = [np.arange(count)] if parts is None else parts
        return [
            effects_of(
                delays, [column[part] for column in arguments], heads.domains, heads.value_codes,
                self._definition.groundings, self._context,
            )
            for part in rows
        ], rows  # fmt: skip

    def _ending(self, values: Integers) -> Array:
        ending = ending_values(self._definition, self._heads.value_domain, self._context)
        return np.ones(len(values), np.bool_) if ending is None else ending.among(values)

    def _bits(self, some: Integers, values: Integers) -> int:
        return int(np.bitwise_or.reduce(np.left_shift(1, np.searchsorted(values, some)), initial=0))

    def _allowed(self, arguments: list[Array], values: Integers, count: int) -> Integers:
        repeated = [np.repeat(column, len(values)) for column in arguments]
        may = self._heads.may_hold(repeated, np.tile(values, count)).reshape(count, len(values))
        bits = np.left_shift(1, np.arange(len(values)))
        allowed: Integers = (may * bits).sum(axis=1).astype(np.int64)
        return allowed

    def _points(
        self, count: int, values: Integers, initiations: tuple[Integers, ProvenPoints],
        terminations: tuple[Integers, ProvenPoints], circuits: Circuits,
    ) -> PointWorlds:  # fmt: skip
        """The worlds of each point: which initiations and terminations are true in them."""
        both = [initiations, terminations]
        sizes = [len(part[1].values) for part in both]
        instances = np.concatenate([part[0] for part in both]).astype(np.int64)
        times = np.concatenate([part[1].times for part in both])
        codes = np.concatenate([part[1].values for part in both])
        kinds = np.repeat([_INITIATES, _TERMINATES], sizes)
        proofs = stacked([part[1].proofs for part in both])
        order = np.lexsort((codes, kinds, times, instances))
        columns = [column[order] for column in (instances, times, kinds, codes)]
        first, which = distinct(columns, [None] * 4)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        which, first = rank[which], np.sort(first)
        again = stable_order(which, len(first)) if len(which) else which
        facts = self._uncertainty.facts
        literals = facts.any_of(which[again], proofs.take(order[again]), len(first))
        instances, times, kinds, codes = (column[first] for column in columns)
        new = np.ones(len(first), np.bool_)
        new[1:] = (instances[1:] != instances[:-1]) | (times[1:] != times[:-1])
        point = np.cumsum(new) - 1
        starts = np.flatnonzero(new)
        doubtful = np.flatnonzero(literals != TRUE)
        counts = np.bincount(point[doubtful], minlength=len(starts)).astype(np.int64)
        if int(counts.max(initial=0)) > _MOST_DOUBTFUL:
            raise UnsupportedError(
                f"{self._name}: at one point {int(counts.max())} of its changes are uncertain, and "
                f"with delayed effects no more than {_MOST_DOUBTFUL} may be"
            )
        worlds = Worlds(counts)
        ranks = np.full(len(first), -1, np.int64)
        ranks[doubtful] = np.arange(len(doubtful)) - worlds.first[point[doubtful]]
        members, places = worlds.members(point, ranks)
        bits = np.left_shift(1, np.maximum(np.searchsorted(values, codes), 0))
        bits = np.where(codes == ANY, (1 << len(values)) - 1, bits).astype(np.int64)
        masks = np.zeros((2, len(worlds.rows)), np.int64)
        np.bitwise_or.at(masks, (kinds[members], places), bits[members])
        chances = _world_chances(worlds, literals[doubtful], facts, circuits, self._name)
        some = np.flatnonzero(chances > 0)
        return PointWorlds(
            np.searchsorted(instances[starts], np.arange(count + 1)).astype(np.int64),
            times[starts].astype(np.int64),
            np.searchsorted(worlds.rows[some], np.arange(len(starts) + 1)).astype(np.int64),
            masks[_INITIATES, some], masks[_TERMINATES, some], chances[some],
        )  # fmt: skip

    def _initial(
        self, count: int, held: Integers, allowed: Array, initial: InitialPairs, values: Integers,
        sources: Integers, since: int,
    ) -> StateRows:  # fmt: skip
        """The states at first: values of an instance exclude each other if they can."""
        may_hold_together = self._definition.ending_values is not None
        by_instance: dict[int, list[tuple[int, float]]] = {}
        for row in np.flatnonzero(allowed).tolist():
            bit = 1 << int(np.searchsorted(values, initial.values[row]))
            by_instance.setdefault(int(held[row]), []).append((bit, float(initial.chances[row])))
        masks, chances, offsets = [], [], [0]
        for instance in range(count):
            states = _together(by_instance.get(instance, []), apart=may_hold_together)
            masks += list(states)
            chances += list(states.values())
            offsets.append(len(masks))
        holds = np.array(masks, np.int64)
        onsets = np.where((holds[:, np.newaxis] >> sources) & 1, since, NOT_BEGUN)
        return StateRows(np.array(offsets), holds, onsets.astype(np.int64), np.array(chances))


def _world_chances(
    worlds: Worlds, literals: Integers, facts: Facts, circuits: Circuits, name: str
) -> Floats:
    """How likely each world is, by the literals of the uncertain changes of each point.

    Changes that rest on one record each are independent; others share records, or are formulas.
    """
    columns = list(worlds.literals(literals))
    chances = np.ones(len(worlds.rows))
    for column in columns:
        likely = facts.chances[column >> 1]
        chances *= np.where(column & 1, 1 - likely, likely)
    shared = np.flatnonzero(worlds.are_related(literals, facts)[worlds.rows])
    if len(shared):
        none = np.zeros(len(shared), np.int64)
        proofs = conjunctions([column[shared] for column in columns], len(shared))
        actions = Actions(np.arange(len(shared)), none, none, proofs)
        groups = group_actions(actions, facts, circuits, name)
        chances[shared] = probabilities_now(groups, facts, circuits)
    return chances


def _together(values: list[tuple[int, float]], apart: bool) -> dict[int, float]:
    """How likely each set of values is, as bits."""
    apart = apart or sum(chance for _, chance in values) > MOST_TOGETHER
    states = {0: 1.0}
    for choice in [[value] for value in values] if apart else [values]:
        none = 1 - sum(chance for _, chance in choice)
        states = {
            before | bit: weight * chance
            for before, weight in states.items()
            for bit, chance in [(0, none), *choice]
        }
    return {bits: chance for bits, chance in states.items() if chance > 0}


def _effect_tables(
    parts: list[Effects], rows: list[Integers], values: Integers, count: int
) -> tuple[Integers, list[Integers]]:
    """The line of each instance, and tables by line and slot.

    These are of the delay, what it initiates and terminates, and whether initiations postpone it.
    """
    lines, tables, first = np.zeros(count, np.int64), [], 0
    for effects, instances in zip(parts, rows, strict=True):
        lengths, initiates, terminates = _effect_bits(effects, values)
        moved = np.repeat(effects.postponable[np.newaxis, 1:], len(lengths), axis=0)
        tables.append([lengths, initiates, terminates, moved.astype(np.int64)])
        is_each = len(lengths) == len(instances)
        lines[instances] = first + (np.arange(len(instances)) if is_each else 0)
        first += len(lengths)
    return lines, [
        np.ascontiguousarray(np.concatenate(columns)) for columns in zip(*tables, strict=True)
    ]


def _effect_bits(effects: Effects, values: Integers) -> tuple[Integers, Integers, Integers]:
    """The delay of each slot, and what it initiates and terminates, line by line."""
    slots = effects.delays.shape[1]
    initiates = np.zeros((len(effects.delays), slots), np.int64)
    terminates = np.zeros_like(initiates)
    for first in range(0, effects.reported.shape[1], slots):
        actions = effects.reported[:, first : first + slots]
        places = np.clip(np.searchsorted(values, np.maximum(actions >> 1, 0)), 0, len(values) - 1)
        bits = np.where(actions != NO_ACTION, np.left_shift(1, places), 0)
        initiates |= np.where(actions & 1, bits, 0)
        terminates |= np.where(actions & 1, 0, bits)
    columns = (effects.delays, initiates, terminates)
    lengths, initiates, terminates = (np.ascontiguousarray(column[:, 1:]) for column in columns)
    return lengths.astype(np.int64), initiates, terminates


def _translated(
    before: InstanceStates, count: int, numbers: Integers, values: Integers, sources: Integers
) -> StateRows:
    """The states of the query before, by the numbers that instances and values have now."""
    rows = before.rows
    sizes = np.zeros(count, np.int64)
    sizes[numbers] = np.diff(rows.offsets)
    sizes = np.maximum(sizes, 1)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    held = np.zeros(offsets[-1], np.int64)
    onsets = np.full((offsets[-1], len(sources)), NOT_BEGUN, np.int64)
    chances = np.ones(offsets[-1])
    owner = np.repeat(np.arange(len(numbers)), np.diff(rows.offsets))
    places = offsets[numbers[owner]] + np.arange(len(owner)) - rows.offsets[owner]
    for bit, value in enumerate(before.values.tolist()):
        held[places] |= ((rows.held >> bit) & 1) << int(np.searchsorted(values, value))
    for slot, source in enumerate(before.sources.tolist()):
        onsets[places, np.flatnonzero(sources == source)[0]] = rows.onsets[:, slot]
    chances[places] = rows.chances
    return StateRows(offsets, held, onsets, chances)


def _carried(run: DelayedRun, last: int, name: str) -> tuple[Steps, Steps, StateRows]:
    instances, slots = len(run.points.point_offsets) - 1, len(run.sources)
    room = 4 * (len(run.points.times) + len(run.first.held)) + 64
    while True:
        steps, edges = Steps.with_room(room), Steps.with_room(2 * room)
        final = StateRows(
            np.zeros(instances + 1, np.int64), np.empty(room, np.int64),
            np.empty((room, slots), np.int64), np.empty(room),
        )  # fmt: skip
        count, edge_count = carry_states(
            run.points, run.first, run.effects, len(run.values), last, run.tick, run.has_breaks,
            np.empty(2 * MOST_STATES, np.int64), np.empty((2 * MOST_STATES, slots), np.int64),
            np.empty(2 * MOST_STATES), np.empty(len(run.values)), steps, edges, final,
            np.empty(2 * len(run.values)),
        )  # fmt: skip
        if count <= TOO_MANY:
            raise UnsupportedError(
                f"{name}: an instance has more than {MOST_STATES} states, since its values may be "
                "under way since so many points; let fewer initiations be uncertain, or delays "
                "be shorter"
            )
        if count != NO_ROOM:
            end = final.offsets[-1]
            rows = StateRows(
                final.offsets, final.held[:end], final.onsets[:end], final.chances[:end]
            )
            return steps.up_to(count), edges.up_to(edge_count), rows
        room *= 4


def _courses(run: DelayedRun, steps: Steps, heads: FluentHeads, since: int) -> Courses:
    """The courses of all pairs that may hold, from their steps."""
    count, values = len(run.points.point_offsets) - 1, len(run.values)
    initial = np.zeros(count * values)
    owner = np.repeat(np.arange(count), np.diff(run.first.offsets))
    for bit in range(values):
        holds = (run.first.held >> bit) & 1
        np.add.at(initial, owner * values + bit, holds * run.first.chances)
    begin = np.flatnonzero(initial > 0)
    numbers = np.concatenate([begin, steps.instances * values + steps.values])
    times = np.concatenate([np.full(len(begin), since), steps.times])
    chances = np.concatenate([initial[begin], steps.chances])
    # The steps of an instance come in the order of time, after what it begins with.
    order = stable_order(numbers, count * values) if len(numbers) else numbers
    numbers, times, chances = numbers[order], times[order], np.minimum(chances[order], 1.0)
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    known, offsets = numbers[first], np.append(first, len(numbers)).astype(np.int64)
    shown = heads.shown_values(run.values[known % values])
    arguments = [column[known // values] for column in run.arguments]
    pairs = Pairs(arguments, shown, heads.domains, heads.value_domain, initial[known])
    return Courses(pairs, offsets, times.astype(np.int64), chances)
