"""What evaluation costs: time and rows of each operator, by the literal it comes from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from cernis.check.model import Relation
from cernis.source import Span


@dataclass(slots=True)
class Cost:
    """What one operator has cost so far."""

    calls: int = 0
    seconds: float = 0.0
    rows_in: int = 0
    rows_out: int = 0


@dataclass(slots=True)
class Evaluated:
    """How often a rule was evaluated from its first literal on, and at how many points in all."""

    scan: object
    times: int = 0
    points: int = 0


@dataclass(slots=True)
class Profile:
    """Costs by the name of the operator and the span of its literal, in the order they ran.

    `scans` counts the evaluations of each rule by the identity of its scan. A rule that is
    evaluated once in a query looks at no point of any entity twice.
    """

    costs: dict[tuple[str, Span], Cost] = field(default_factory=dict)
    scans: dict[int, Evaluated] = field(default_factory=dict)

    def evaluated(self, scan: object, points: int) -> None:
        """Count the evaluation of a rule at all points that its scan gives."""
        found = self.scans.setdefault(id(scan), Evaluated(scan))
        found.times += 1
        found.points += points

    @contextmanager
    def measured(self, operator: str, span: Span, rows_in: int) -> Iterator[Cost]:
        """Measure a block; it sets the rows that came out."""
        cost = self.costs.setdefault((operator, span), Cost())
        begun = time.perf_counter()
        yield cost
        cost.seconds += time.perf_counter() - begun
        cost.calls += 1
        cost.rows_in += rows_in


@dataclass(slots=True)
class Timing:
    """The time that strata take, or what is evaluated together, by the relations they define.

    Unlike a profile, it does not change how anything is evaluated.
    """

    seconds: dict[tuple[Relation, ...], float] = field(default_factory=dict)

    @contextmanager
    def of(self, relations: tuple[Relation, ...]) -> Iterator[None]:
        """Measure the evaluation of some relations."""
        begun = time.perf_counter()
        yield
        took = time.perf_counter() - begun
        self.seconds[relations] = self.seconds.get(relations, 0.0) + took


@dataclass(frozen=True, slots=True)
class Measuring:
    """What is measured during a query: nothing, unless it was asked for."""

    profile: Profile | None = None
    """Where the costs of operators are recorded."""
    timing: Timing | None = None
    """Where the times of strata are recorded."""

    def timed(self, relations: tuple[Relation, ...]) -> AbstractContextManager[None]:
        """Measure the evaluation of some relations, if their times were asked for."""
        return nullcontext() if self.timing is None else self.timing.of(relations)
