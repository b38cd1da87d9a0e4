"""Points that another lane sends as records of a lane: to members of its key, and with counts.

What a point fires is decided when it comes, and again if what was counted there has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cernis.check.model import Pair
from cernis.evaluate.sweep.gated_records import places_of, sorted_points
from cernis.evaluate.sweep.key_numbers import KeyMap, KeyNumbers
from cernis.evaluate.sweep.members.counted_keys import CountedKeys, WalkedLane
from cernis.evaluate.sweep.sign_conditions import with_values
from cernis.kernels.array_types import Array, Booleans, Integers, Matrix, Words
from cernis.knowledge.ground_values import canonical
from cernis.operators.collections import ROW
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.rule_heads import head_column
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import Aggregate, Scan, Stab
from cernis.plan.sweep.lanes import FiredBit, FiredKind, Lane, StateKind, Steps
from cernis.plan.sweep.members.sent_points import SentPoints
from cernis.syntax.tree import Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain

EnterKeys = Callable[[list[Array], int], Integers]
"""Gives keys of a lane their numbers."""


class SentRows(NamedTuple):
    """Records by their point, in its order: the sender's key and the time; then the key here."""

    points: Integers
    times: Integers
    keys: Integers
    words: Words

    def take(self, chosen: Integers | Booleans) -> SentRows:
        """Some of the rows."""
        return SentRows(
            self.points[chosen], self.times[chosen], self.keys[chosen], self.words[chosen]
        )


class SentChange(NamedTuple):
    """Records that have come, or that are taken back."""

    keys: Integers
    times: Integers
    words: Words
    is_gone: bool


class SentRecords:
    """The records of a lane that are points of another one."""

    def __init__(
        self, lane: Lane, sent: SentPoints, earlier: Sequence[WalkedLane],
        domains: Sequence[Domain | None], enter: EnterKeys,
    ) -> None:  # fmt: skip
        """`domains` are those of the key of the lane; `earlier` are lanes that were made before."""
        self._sent, self._enter = sent, enter
        self._sender = next(each for each in earlier if sent.gate in each.lane.sent_gates)
        self._signal = self._sender.lane.sent_gates[sent.gate]
        self._positions = lane.positions(sent.relation)
        self._domains = list(domains)
        self._tests = [
            _PointTest(number, bit) for number, bit in enumerate(lane.fired)
            if bit.kind is FiredKind.RECORD and bit.relation == sent.relation
        ]  # fmt: skip
        self._counts = _PointCounts(self._tests, sent, self._sender, earlier)
        none = np.empty(0, np.int64)
        self._rows = SentRows(none, none, none, np.empty(0, np.uint64))

    def changes(self, edge: int, context: Context) -> Iterator[SentChange]:
        """What records come or go now that the other lanes are walked."""
        self._forget(edge)
        self._counts.update()
        gone, come = self._flipped()
        if len(gone):
            is_gone = self._are_at(gone)
            rows = self._rows.take(is_gone)
            yield SentChange(rows.keys, rows.times, rows.words, is_gone=True)
            self._rows = self._rows.take(~is_gone)
        yield from self._decided_again(context)
        if len(come):
            new = self._new_rows(come, context)
            yield SentChange(new.keys, new.times, new.words, is_gone=False)
            self._put_in(new)

    def _forget(self, edge: int) -> None:
        if len(self._rows.times) and self._rows.times.min() <= edge:
            self._rows = self._rows.take(self._rows.times > edge)

    def _flipped(self) -> tuple[Matrix, Matrix]:
        """The points that are sent no longer, and those that are sent now: key and time."""
        changes = self._sender.latest
        assert changes is not None
        gone, come = (
            np.column_stack([points.keys, points.times])[points.bits == self._signal]
            for points in (changes.signals_gone, changes.signals_come)
        )
        return gone, come

    def _are_at(self, points: Matrix) -> Booleans:
        """Which of the rows are at some points?"""
        order = sorted_points(points[:, 0], points[:, 1])
        keys, times = points[order, 0], points[order, 1]
        places = places_of(keys, times, self._rows.points, self._rows.times, is_after=False)
        inside = np.minimum(places, len(keys) - 1)
        is_same = (keys[inside] == self._rows.points) & (times[inside] == self._rows.times)
        return np.asarray(is_same & (places < len(keys)), np.bool_)

    def _decided_again(self, context: Context) -> Iterator[SentChange]:
        """Rows whose point is in a group of which something counted has changed."""
        chosen = self._counts.affected(self._rows.points)
        if not len(chosen):
            return
        old = self._rows.take(chosen)
        is_first = np.ones(len(chosen), np.bool_)
        is_first[1:] = (old.points[1:] != old.points[:-1]) | (old.times[1:] != old.times[:-1])
        new = self._new_rows(np.column_stack([old.points, old.times])[is_first], context)
        differs = new.words != old.words
        for rows, is_gone in ((old, True), (new, False)):
            changed = rows.take(differs)
            yield SentChange(changed.keys, changed.times, changed.words, is_gone)
        self._rows.words[chosen] = new.words

    # -- rows of points ---------------------------------------------------------------------

    def _new_rows(self, points: Matrix, context: Context) -> SentRows:
        points = points[sorted_points(points[:, 0], points[:, 1])]
        numbers, times = points[:, 0].copy(), points[:, 1].copy()
        columns = self._columns(numbers)
        if self._sent.members is not None:
            columns, rows = self._with_members(columns, len(numbers), context)
            numbers, times = numbers[rows], times[rows]
        words = self._words(numbers, times, columns, context)
        names = [self._sent.names[place] for place in self._positions]
        table = Rows(len(numbers), columns)
        keys = [
            head_column(Variable(name), table, domain)
            for name, domain in zip(names, self._domains, strict=True)
        ]
        return SentRows(numbers, times, self._enter(keys, len(numbers)), words)

    def _columns(self, numbers: Integers) -> dict[str, Column]:
        """The values of keys of the sender, by name."""
        coded = self._sender.of_keys.coded_columns(numbers)
        return dict(zip(self._sent.key_names, coded, strict=True))

    def _with_members(
        self, columns: dict[str, Column], count: int, context: Context
    ) -> tuple[dict[str, Column], Integers]:
        """The columns of a row for each member of a key, and the place of its point."""
        assert self._sent.members is not None
        rows = Rows(count, {**columns, ROW: Column(np.arange(count))})
        rows = run_steps(self._sent.members.steps, rows, context).settled()
        rows = rows.take(np.argsort(rows.columns[ROW].values, kind="stable"))
        return {name: rows.columns[name] for name in self._sent.names}, rows.columns[ROW].values

    def _words(
        self, numbers: Integers, times: Integers, columns: dict[str, Column], context: Context
    ) -> Words:
        """What each row fires."""
        words = np.zeros(len(numbers), np.uint64)
        counts = self._counts.counts(numbers, times)
        for test in self._tests:
            words[test.rows(columns, counts, times, context)] |= np.uint64(1 << test.number)
        return words

    def _put_in(self, new: SentRows) -> None:
        known = self._rows
        if not len(known.times):
            self._rows = new
            return
        places = places_of(known.points, known.times, new.points, new.times, is_after=True)
        self._rows = SentRows(
            *(np.insert(old, places, added) for old, added in zip(known, new, strict=True))
        )


class _PointTest:
    """A fired bit of points: what is counted for it, and what is asked of the counts."""

    def __init__(self, number: int, bit: FiredBit) -> None:
        scan, *steps = bit.steps
        assert isinstance(scan, Scan)
        self.number, self._time, self._values = number, scan.time, bit.values
        self.counted = [step for step in steps if isinstance(step, Aggregate)]
        self._steps: Steps = tuple(step for step in steps if not isinstance(step, Aggregate))

    def rows(
        self, columns: dict[str, Column], counts: dict[Pair, Integers], times: Integers,
        context: Context,
    ) -> Integers:  # fmt: skip
        """The rows that set the bit."""
        known = {**columns, ROW: Column(np.arange(len(times)))}
        for step in self.counted:
            assert isinstance(step.result, Variable)
            known[step.result.name] = Column(counts[counted_pair(step)])
        if self._time:
            known[self._time] = Column(times)
        rows = run_steps(self._steps, Rows(len(times), known), context).settled()
        return with_values(rows, self._values).columns[ROW].values


def counted_pair(step: Aggregate) -> Pair:
    """The pair whose instances are counted."""
    stab = step.body[0]
    assert isinstance(stab, Stab)
    return stab.pair


class _PointCounts:
    """What is counted at points, in lanes that have been walked before."""

    def __init__(
        self, tests: Sequence[_PointTest], sent: SentPoints, sender: WalkedLane,
        earlier: Sequence[WalkedLane],
    ) -> None:  # fmt: skip
        groups = KeyNumbers(sender.of_keys.domains)
        self._group_of = KeyMap(sender.of_keys, groups)
        pairs = dict.fromkeys(counted_pair(step) for test in tests for step in test.counted)
        self._counted: dict[tuple[int, ...], _CountedLane] = {}
        for pair in pairs:
            number = next(at for at, each in enumerate(earlier)
                          if pair.relation in each.lane.definitions)  # fmt: skip
            lane = earlier[number]
            args = [pair.args[place] for place in lane.lane.positions(pair.relation)]
            places = [args.index(Variable(name)) for name in sent.key_names]
            known = self._counted.setdefault(
                (number, *places), _CountedLane(CountedKeys(lane, places, groups), {})
            )
            known.masks[pair] = _mask_of(lane.lane, pair)

    def update(self) -> None:
        """Take note of keys that are new."""
        for counted in self._counted.values():
            counted.keys.update()

    def affected(self, points: Integers) -> Integers:
        """The points at which a count may have changed."""
        if not self._counted or not len(points):
            return np.empty(0, np.int64)
        changed = np.concatenate([counted.keys.changed() for counted in self._counted.values()])
        return np.flatnonzero(np.isin(self._group_of(points), changed))

    def counts(self, numbers: Integers, times: Integers) -> dict[Pair, Integers]:
        """The counts at points, by what is counted."""
        counts: dict[Pair, Integers] = {}
        for counted in self._counted.values():
            masks = np.array(list(counted.masks.values()), np.uint64)
            columns = counted.keys.counts(self._group_of(numbers), times, masks).T
            counts |= zip(counted.masks, map(np.ascontiguousarray, columns), strict=True)
        return counts


class _CountedLane(NamedTuple):
    """The keys of a lane by group, and the bits that are counted, by pair."""

    keys: CountedKeys
    masks: dict[Pair, np.uint64]


def _mask_of(lane: Lane, pair: Pair) -> np.uint64:
    """The bits of a lane that are counted."""
    key, mask = lane.positions(pair.relation), 0
    for number, bit in enumerate(lane.state):
        if bit.relation != pair.relation or bit.kind not in (StateKind.PAIR, StateKind.OPEN):
            continue
        terms = zip((*pair.args, pair.value), (*bit.arguments, bit.value), strict=True)
        if all(
            place in key or isinstance(term, Variable) or canonical(term) == known
            for place, (term, known) in enumerate(terms)
        ):  # fmt: skip
            mask |= 1 << number
    return np.uint64(mask)
