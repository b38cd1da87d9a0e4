"""Records of a lane that count only at points at which another lane opens a gate for them.

Records are kept by the point at which they happen: the key that they name of the other lane, and
the time. Whatever comes or goes, a record or a gate, changes no more than the records of its point:
a record that did count and does not is taken back, one that did not and does has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.sweep.key_numbers import KeyMap, KeyNumbers
from cernis.evaluate.sweep.lane_state import BitPoints, LaneChanges
from cernis.kernels.array_types import Array, Booleans, Integers, Matrix, Words
from cernis.kernels.order import order_by
from cernis.kernels.sweep.gates.open_gates import open_masks
from cernis.plan.sweep.lanes import Lane

_FEWER_KEYS = 4
"""Keys are searched if there are more of them for each point that is asked for."""


class GatingLane(Protocol):
    """A lane that has been walked up to the query, and may open gates."""

    lane: Lane
    latest: LaneChanges | None

    @property
    def of_keys(self) -> KeyNumbers:
        """The numbers of its keys."""


class GatedRows(NamedTuple):
    """Records by their point: its key and time, then the key in their lane, and what they fire."""

    points: Integers
    times: Integers
    keys: Integers
    words: Words
    payload: Matrix

    def take(self, chosen: Integers | Booleans) -> GatedRows:
        """Some of the rows."""
        return GatedRows(
            self.points[chosen], self.times[chosen], self.keys[chosen], self.words[chosen],
            self.payload[chosen],
        )  # fmt: skip


class RecordChange(NamedTuple):
    """Records that have come to count, or that count no longer."""

    keys: Integers
    times: Integers
    words: Words
    payload: Matrix
    is_gone: bool


def places_of(
    keys: Integers, times: Integers, wanted: Integers, wanted_times: Integers, is_after: bool
) -> Integers:
    """The place of each wanted point among points in order, before or after those equal to it."""
    low = np.searchsorted(keys, wanted, "left")
    high = np.searchsorted(keys, wanted, "right")
    while True:
        is_open = low < high
        if not is_open.any():
            return np.asarray(low, np.int64)
        middle = np.where(is_open, (low + high) // 2, 0)
        known = times[middle]
        is_before = is_open & ((known <= wanted_times) if is_after else (known < wanted_times))
        low = np.where(is_before, middle + 1, low)
        high = np.where(is_open & ~is_before, middle, high)


def sorted_points(keys: Integers, times: Integers) -> Integers:
    """The order of points by key and time."""
    is_after = (keys[1:] > keys[:-1]) | ((keys[1:] == keys[:-1]) & (times[1:] >= times[:-1]))
    if is_after.all():
        return np.arange(len(keys))
    return order_by(keys, times)


class OpenGates:
    """The points at which gates are open, in order, each with a mask of the bits they let pass."""

    def __init__(self) -> None:
        self.keys, self.times = np.empty(0, np.int64), np.empty(0, np.int64)
        self.masks = np.empty(0, np.uint64)

    def at_points(self, keys: Integers, times: Integers) -> Words:
        """What is let pass at some points."""
        masks = np.zeros(len(keys), np.uint64)
        if len(self.keys) and len(keys):
            open_masks(self.keys, self.times, self.masks, keys, times, self._firsts(keys), masks)
        return masks

    def _firsts(self, keys: Integers) -> Integers:
        """Where each key begins, if so many points are asked for that this is worth knowing."""
        count = int(max(keys.max(), self.keys[-1])) + 1
        if len(keys) * _FEWER_KEYS < count:
            return np.empty(0, np.int64)
        firsts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(self.keys, minlength=count), out=firsts[1:])
        return firsts

    def change(self, keys: Integers, times: Integers, flipped: Words) -> None:
        """Open what is closed and close what is open, at points that are in order and differ."""
        if not len(self.keys):
            self.keys, self.times, self.masks = keys, times, flipped.copy()
            return
        places = places_of(self.keys, self.times, keys, times, is_after=False)
        is_known = np.zeros(len(keys), np.bool_)
        inside = np.flatnonzero(places < len(self.keys))
        known = places[inside]
        is_known[inside] = (self.keys[known] == keys[inside]) & (self.times[known] == times[inside])
        self.masks[places[is_known]] ^= flipped[is_known]
        new = ~is_known
        self._put(places[new], keys[new], times[new], flipped[new])
        if (self.masks[places_of(self.keys, self.times, keys, times, is_after=False)] == 0).any():
            self._keep(self.masks != 0)

    def _put(self, places: Integers, keys: Integers, times: Integers, masks: Words) -> None:
        if len(places):
            self.keys = np.insert(self.keys, places, keys)
            self.times = np.insert(self.times, places, times)
            self.masks = np.insert(self.masks, places, masks)

    def _keep(self, chosen: Booleans) -> None:
        self.keys, self.times, self.masks = (
            self.keys[chosen], self.times[chosen], self.masks[chosen]
        )  # fmt: skip

    def forget(self, edge: int) -> None:
        """Forget the points up to the edge."""
        if len(self.times) and self.times.min() <= edge:
            self._keep(self.times > edge)


@dataclass(frozen=True, slots=True)
class _Opener:
    """A lane that opens gates: which fired bit lets which bits pass."""

    lane: GatingLane
    passed: Mapping[int, int]
    numbers: KeyMap


class GatedRecords:
    """The records of one event that a lane reads through gates.

    `senders` are lanes that were made before; all that open gates for this event have their key at
    the same places among its arguments.
    """

    def __init__(self, lane: Lane, relation: Relation, senders: Sequence[GatingLane]) -> None:
        bits = {number: gate for number, gate in lane.gates.items()
                if lane.fired[number].relation == relation}  # fmt: skip
        self.gated = np.uint64(sum(1 << number for number in bits))
        opening = [
            (sender, _passed(sender.lane, bits)) for sender in senders
            if not sender.lane.sent_gates.keys().isdisjoint(bits.values())
        ]  # fmt: skip
        first = opening[0][0]
        self._positions = first.lane.positions(relation)
        self._points = KeyNumbers(first.of_keys.domains)
        self._openers = [
            _Opener(sender, passed, KeyMap(sender.of_keys, self._points))
            for sender, passed in opening
        ]
        self._open = OpenGates()
        self._rows: GatedRows | None = None
        self._unsorted: list[GatedRows] = []
        """Further rows, which are put in their places when they are asked for."""
        self._added: list[GatedRows] = []
        self._removed: list[GatedRows] = []

    def take(
        self, arguments: list[Array], keys: Integers, times: Integers, words: Words,
        payload: Matrix | None, is_gone: bool,
    ) -> None:  # fmt: skip
        """Take note of records that have come, or that are taken back."""
        columns = [arguments[place] for place in self._positions]
        known = np.zeros((len(times), 0), np.int64) if payload is None else payload
        rows = GatedRows(self._points.enter(columns, len(times)), times, keys, words, known)
        (self._removed if is_gone else self._added).append(rows)

    def changes(self, edge: int) -> Iterator[RecordChange]:
        """What counts now and did not, or did and does not, now that the other lanes are walked."""
        flips = self._flips()
        self._put_unsorted()
        self._forget(edge)
        for rows in self._removed:
            yield self._change(rows, self._open_at(rows), is_gone=True)
            self._take_out(rows)
        if flips is not None:
            affected = self._at_points(*flips[:2])
            before = self._open_at(affected)
            self._open.change(*flips)
            after = self._open_at(affected)
            differs = (affected.words & self.gated & (before ^ after)) != 0
            changed = affected.take(differs)
            yield self._change(changed, before[differs], is_gone=True)
            yield self._change(changed, after[differs], is_gone=False)
        for rows in self._added:
            yield self._change(rows, self._open_at(rows), is_gone=False)
            self._unsorted.append(rows)
        self._added, self._removed = [], []

    def _change(self, rows: GatedRows, passed: Words, is_gone: bool) -> RecordChange:
        words = rows.words & (passed | ~self.gated)
        return RecordChange(rows.keys, rows.times, words, rows.payload, is_gone)

    def _open_at(self, rows: GatedRows) -> Words:
        return self._open.at_points(rows.points, rows.times)

    # -- gates ------------------------------------------------------------------------------

    def _flips(self) -> tuple[Integers, Integers, Words] | None:
        """The points at which gates open or close, in order, and which bits that is about."""
        parts = [part for opener in self._openers for part in _flipped(opener)]
        if not parts:
            return None
        points, times, masks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = sorted_points(points, times)
        points, times, masks = points[order], times[order], masks[order]
        is_first = np.ones(len(points), np.bool_)
        is_first[1:] = (points[1:] != points[:-1]) | (times[1:] != times[:-1])
        first = np.flatnonzero(is_first)
        return points[first], times[first], np.bitwise_xor.reduceat(masks, first)

    # -- records ----------------------------------------------------------------------------

    def _forget(self, edge: int) -> None:
        self._open.forget(edge)
        if self._rows is not None and len(self._rows.times) and self._rows.times.min() <= edge:
            self._rows = self._rows.take(self._rows.times > edge)

    def _put_unsorted(self) -> None:
        if self._unsorted:
            columns = zip(*self._unsorted, strict=True)
            self._unsorted = []
            self._put_in(GatedRows(*map(np.concatenate, columns)))

    def _put_in(self, rows: GatedRows) -> None:
        """Keep records that gates may let pass."""
        rows = rows.take((rows.words & self.gated) != 0)
        rows = rows.take(sorted_points(rows.points, rows.times))
        if self._rows is None or not len(self._rows.times):
            self._rows = rows
        elif len(rows.times):
            known = self._rows
            places = places_of(known.points, known.times, rows.points, rows.times, is_after=True)
            self._rows = GatedRows(
                *(np.insert(old, places, new, axis=0)
                  for old, new in zip(known, rows, strict=True))
            )  # fmt: skip

    def _places_at(self, points: Integers, times: Integers) -> Integers:
        """Where the records of some points are kept."""
        assert self._rows is not None
        known = self._rows
        first = places_of(known.points, known.times, points, times, is_after=False)
        counts = places_of(known.points, known.times, points, times, is_after=True) - first
        before = np.cumsum(counts) - counts
        return np.repeat(first - before, counts) + np.arange(int(counts.sum()))

    def _at_points(self, points: Integers, times: Integers) -> GatedRows:
        """The records of some points, which differ."""
        if self._rows is None:
            none = np.empty(0, np.int64)
            return GatedRows(none, none, none, none.astype(np.uint64), none.reshape(0, 1))
        return self._rows.take(self._places_at(points, times))

    def _take_out(self, rows: GatedRows) -> None:
        """Keep records no longer: of equal ones, as many as are taken back."""
        rows = rows.take((rows.words & self.gated) != 0)
        if self._rows is None or not len(rows.times):
            return
        order = sorted_points(rows.points, rows.times)
        points, times = rows.points[order], rows.times[order]
        is_first = np.ones(len(points), np.bool_)
        is_first[1:] = (points[1:] != points[:-1]) | (times[1:] != times[:-1])
        places = self._places_at(points[is_first], times[is_first])
        gone = places[_matched(self._rows.take(places), rows)]
        is_kept = np.ones(len(self._rows.times), np.bool_)
        is_kept[gone] = False
        self._rows = self._rows.take(is_kept)


def _passed(sender: Lane, bits: Mapping[int, Relation]) -> dict[int, int]:
    """By fired bit of a lane that opens gates: the mask of the bits that these let pass."""
    passed: dict[int, int] = {}
    for number, gate in bits.items():
        if gate in sender.sent_gates:
            signal = sender.sent_gates[gate]
            passed[signal] = passed.get(signal, 0) | 1 << number
    return passed


def _flipped(opener: _Opener) -> Iterator[tuple[Integers, Integers, Words]]:
    """The points at which a lane has opened or closed gates, with the bits they are about."""
    changes = opener.lane.latest
    assert changes is not None
    masks = np.zeros(64, np.uint64)
    for signal, mask in opener.passed.items():
        masks[signal] = mask
    for points in (changes.signals_come, changes.signals_gone):
        chosen = BitPoints(*(column[masks[points.bits] != 0] for column in points))
        if len(chosen.bits):
            yield opener.numbers(chosen.keys), chosen.times, masks[chosen.bits]


def _matched(known: GatedRows, gone: GatedRows) -> Integers:
    """The places of known rows that are gone, each of which stands for one that is equal."""
    columns = [
        np.concatenate([a, b]) for a, b in
        ((known.points, gone.points), (known.times, gone.times), (known.keys, gone.keys),
         (known.words.view(np.int64), gone.words.view(np.int64)),
         *zip(known.payload.T, gone.payload.T, strict=True))
    ]  # fmt: skip
    is_gone = np.arange(len(columns[0])) >= len(known.times)
    order = np.lexsort((is_gone, *columns))
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.logical_or.reduce([c[order][1:] != c[order][:-1] for c in columns])
    groups = np.cumsum(is_first) - 1
    count = np.bincount(groups, is_gone[order]).astype(np.int64)
    starts = np.flatnonzero(is_first)
    rank = np.arange(len(order)) - starts[groups]
    return np.asarray(order[~is_gone[order] & (rank < count[groups])], np.int64)
