"""How much of a pair's probability at a point each record carries.

The share of a record is what goes of the probability if the record is not there: positive for one
that makes the pair likelier, negative for one that makes it less likely. Shares need not add up:
where two records each would do alone, neither carries much.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.check.model import Relation
from cernis.errors import DataError, UnsupportedError
from cernis.evaluate.answer import Answer
from cernis.evaluate.probabilities.courses import Courses
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.run import Run
from cernis.kernels.array_types import Integers
from cernis.knowledge.ground_values import Value
from cernis.plan.builder import Plan
from cernis.records.record_columns import RecordKind, Records

MOST_RECORDS: Final = 500
"""A question is evaluated once for each record; for more than this it is refused."""

LEAST_SHARE: Final = 1e-12
"""A record that carries less than this carries nothing."""


@dataclass(frozen=True, slots=True)
class RecordShare:
    """A record, by its number over all sources, and how much of a probability it carries."""

    number: int
    text: str
    probability: float
    """How sure the source of the record is of it; 1 for a certain record."""
    share: float


@dataclass(frozen=True, slots=True)
class PairShares:
    """The probability of a pair at a point, and the records that carry it, the largest first."""

    probability: float
    records: tuple[RecordShare, ...]


@dataclass(frozen=True, slots=True)
class PairAtPoint:
    """A pair, by its fluent, arguments and value, at a time-point."""

    relation: Relation
    arguments: tuple[Value, ...]
    value: Value
    time: int


def record_shares(
    plan: Plan, records: Records, target: PairAtPoint, bounds: tuple[int, int], *,
    tick: int | None = None, ties: str | None = None, most: int = MOST_RECORDS,
    window: int | None = None, step: int | None = None, only: Collection[int] | None = None,
) -> PairShares:  # fmt: skip
    """The share of each record in the probability of a pair at a point.

    The bounds are the start and end of the run, which may have windows. Records should be those
    that rules can reach from the pair; of these only records of points before the asked one, or
    that cover it, can matter. `only` are the numbers of the records whose shares are wanted, if
    not those of all are.
    """
    run = _Reruns(plan, records, target, (*bounds, window, step), tick, ties)
    numbers = _earlier(records, target.time, run.tick)
    if only is not None:
        numbers = numbers[np.isin(numbers, np.array(sorted(only), np.int64))]
    if len(numbers) > most:
        raise DataError(
            f"{len(numbers):,} records may carry the probability: it is computed without each of "
            f"them, for {most:,} at most; ask with fewer records, or within a window"
        )
    whole = run.probability(())
    if whole is None:
        raise UnsupportedError(
            f"{target.relation} is made of credible intervals, and has no probability of its own"
        )
    shares = ((number, whole - (run.probability((number,)) or 0.0)) for number in numbers.tolist())
    carrying = [run.share(number, share) for number, share in shares if abs(share) > LEAST_SHARE]
    carrying.sort(key=lambda each: (-abs(each.share), each.number))
    return PairShares(whole, tuple(carrying))


class _Reruns:
    """Evaluates a plan over all records but some."""

    def __init__(
        self, plan: Plan, records: Records, target: PairAtPoint,
        bounds: tuple[int, int, int | None, int | None], tick: int | None, ties: str | None,
    ) -> None:  # fmt: skip
        self._plan, self._records, self._target, self._bounds = plan, records, target, bounds
        self._ties = ties
        # Which relations may be uncertain is to be the same in all runs.
        names = tuple(sorted(map(str, records.uncertain)))
        self._settings = UncertainSettings(uncertain=names)
        self.tick = Run(plan, tick, ties, None, self._settings).tick

    def probability(self, left_out: Collection[int]) -> float | None:
        """The probability of the pair without some records; None if it has none."""
        run = Run(self._plan, self.tick, self._ties, None, self._settings)
        answer = run.over(_without(self._records, left_out), *self._bounds)
        return _probability(answer, self._target)

    def share(self, number: int, share: float) -> RecordShare:
        """What is to be said of a record."""
        for part in self._records.relations.values():
            rows = np.flatnonzero(part.places == number)
            if len(rows):
                row = int(rows[0])
                chance = 1.0 if part.chances is None else float(part.chances[row])
                return RecordShare(number, part.text(row), chance, share)
        raise AssertionError(number)


def _without(records: Records, left_out: Collection[int]) -> Records:
    gone = np.array(sorted(left_out), np.int64)
    parts = {
        form: part.take(~np.isin(part.places, gone)) for form, part in records.relations.items()
    }
    kept = {form: part for form, part in parts.items() if len(part)}
    return Records(kept, count=sum(map(len, kept.values())), sources=records.sources)


def _earlier(records: Records, time: int, tick: int) -> Integers:
    """The numbers of the records that can have to do with what holds at a time."""
    parts = [np.empty(0, np.int64)]
    for form, part in records.relations.items():
        first = part.times[1]
        # A rule may ask for an interval's start, which is a tick before its first point.
        bound = time + tick if form.kind is RecordKind.INTERVAL else time
        parts.append(part.places[first <= bound])
    return np.unique(np.concatenate(parts))


def _probability(answer: Answer, target: PairAtPoint) -> float | None:
    courses = answer.courses.get(target.relation)
    if courses is None:
        return None if target.relation in answer.fluents else 0.0
    pair = _pair(courses, target)
    return 0.0 if pair is None else float(courses.probabilities_at(target.time)[pair])


def _pair(courses: Courses, target: PairAtPoint) -> int | None:
    """The number of a pair, if its fluent has it."""
    pairs = courses.pairs
    is_asked = np.ones(len(pairs), np.bool_)
    columns = zip(
        [*pairs.arguments, pairs.values], [*pairs.domains, pairs.value_domain],
        [*target.arguments, target.value], strict=True,
    )  # fmt: skip
    for column, domain, wanted in columns:
        values = column.tolist() if domain is None else domain.decode(column)
        same = [type(each) is type(wanted) and each == wanted for each in values]
        is_asked &= np.array(same, np.bool_)
    rows = np.flatnonzero(is_asked)
    return int(rows[0]) if len(rows) else None
