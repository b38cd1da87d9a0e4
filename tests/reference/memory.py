"""Which records count at which query (section 6 of the semantics).

A query at q sees the records of `(w, q]` that have arrived by q, where w = q - ω, but never
less than the start of the run. Of an interval that reaches across w, the part behind w is seen.
A record is too late if, at the first query after its arrival, it lies wholly at or before w.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cernis.errors import UnsupportedError
from cernis.syntax.tree import Term

from .intervals import Intervals, from_on, maximal
from .records import Record


@dataclass(frozen=True, slots=True)
class Window:
    """One query: its time q, and w, the point up to which all is forgotten."""

    forgotten: int
    query: int


@dataclass(slots=True)
class Memory:
    """What a query sees: events by time, input fluents with their intervals, and which of those
    end at the query time only because no later point can be known yet. `told` is every term any
    query of the run has seen so far."""

    events: dict[int, set[Term]] = field(default_factory=dict)
    fluents: dict[Term, Intervals] = field(default_factory=dict)
    at_query: set[Term] = field(default_factory=set)
    told: set[Term] = field(default_factory=set)


@dataclass(slots=True)
class Sorted:
    """The records of a run, told apart."""

    counted: list[Record] = field(default_factory=list)
    too_late: list[Record] = field(default_factory=list)
    outside: list[Record] = field(default_factory=list)
    unmatched: list[Record] = field(default_factory=list)


def sort_records(records: Iterable[Record], start: int, windows: list[Window], tick: int) -> Sorted:
    """Tell apart what counts, what is too late, and what is no part of the run at all.

    Outside the run is what lies before its start or behind its end, or arrives after its last
    query. A retraction is too late under the same rule as other records, and then so is what it
    retracts; one that finds nothing to retract is unmatched.
    """
    end = windows[-1].query
    found, unmatched = match_retractions(records)
    result = Sorted(unmatched=unmatched)
    for record in found:
        first = next((window for window in windows if window.query >= record.arrival), None)
        if first is None or record.last(tick) <= start or record.start > end:
            result.outside.append(record)
        elif record.last(tick) <= first.forgotten:
            result.too_late.append(record)
        else:
            result.counted.append(record)
    return result


def match_retractions(records: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """The records by arrival, and apart from them the retractions that find nothing to retract."""
    present: Counter[tuple[object, ...]] = Counter()
    found, unmatched = [], []
    for record in sorted(records, key=lambda record: (record.arrival, record.line)):
        if record.retraction and not present[record.same()]:
            unmatched.append(record)
        else:
            present[record.same()] += -1 if record.retraction else 1
            found.append(record)
    return found, unmatched


def memory_at(counted: Iterable[Record], window: Window, tick: int) -> Memory:
    """What the query sees. The records are in order of arrival."""
    arrived = [record for record in counted if record.arrival <= window.query]
    result = Memory()
    for record in _present(arrived):
        if not _certain(record) or record.start > window.query:
            continue
        result.told.add(record.term)
        if record.last(tick) > window.forgotten:
            _see(result, record, window, tick)
    result.fluents = {pair: maximal(parts) for pair, parts in result.fluents.items()}
    return result


def _present(arrived: list[Record]) -> list[Record]:
    """The records that no retraction has taken back."""
    present: list[Record] = []
    for record in arrived:
        if not record.retraction:
            present.append(record)
            continue
        earlier = next(other for other in present if other.same() == record.same())
        present.remove(earlier)
    return present


def _certain(record: Record) -> bool:
    """A record with probability 1 is a fact, one with 0 is none."""
    if record.probability is None or record.probability in (0, 1):
        return record.probability != 0
    raise UnsupportedError(f"line {record.line}: an uncertain record in a certain evaluation")


def _see(memory: Memory, record: Record, window: Window, tick: int) -> None:
    if record.kind == "event":
        memory.events.setdefault(record.start, set()).add(record.term)
        return
    end = record.start + tick if record.end is None else record.end
    part = from_on([(record.start, end)], window.forgotten + tick)
    memory.fluents.setdefault(record.term, []).extend(part)
    if record.kind == "point" and record.start == window.query:
        memory.at_query.add(record.term)
