"""The steps of event patterns: each takes the matches of its parts, at most two, and gives its own.

Variables of a step are numbered in the order in which they are first met, so that two steps that
differ in the names of their variables only are one step. Such a step is evaluated once for all
rules that have it; a `StepUse` says what its variables are called where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from cernis.check.model import Boundary, Event, Pair, Preference
from cernis.plan.logical import PointOperator
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Term

UNLIMITED = -1
"""The limit of a step whose matches may be of any length."""


@dataclass(frozen=True, slots=True)
class StepUse:
    """A step as part of another or of a rule: what each of its variables is called there."""

    step: Step
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Only matches for which conditions are true; further variables may get values.

    If `at_end`, there is a variable for the end of the match among them.
    """

    steps: tuple[PointOperator, ...]
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Longest:
    """Only matches that are at most as long as an expression says."""

    duration: Term


@dataclass(frozen=True, slots=True)
class Slide:
    """An aggregate over a window that slides along the matches, in the order of their ends.

    A window is of matches with the same values of `key`. Without `last` and `past` it has all
    matches so far. `fold` combines the columns `one` and `other` to `both`.
    """

    kind: str
    result: str
    value: Term | None
    key: tuple[str, ...]
    last: int | None
    past: int | None
    fold: tuple[PointOperator, ...] = ()


ONE, OTHER, BOTH = "One", "Other", "Both"
"""The variables of a fold: two values, and what they make together."""

Around: TypeAlias = Conditions | Longest | Slide


@dataclass(frozen=True, slots=True)
class Occurrences:
    """One match for each occurrence of an event, or of an interval, start or end of a fluent."""

    atom: Event | Boundary | Pair
    names: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Instant:
    """One match at one time-point."""

    time: int
    names: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """The matches of either part."""

    parts: tuple[StepUse, StepUse]
    names: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refine:
    """The matches of a part that are left by what is written around it."""

    part: StepUse
    around: tuple[Around, ...]
    names: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Absent:
    """What must not lie between two matches; its own conditions may speak of their variables."""

    part: StepUse
    around: tuple[Around, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of matches of two parts, joined on the variables they share.

    The operator is one of the language but `or`. `limit` is the greatest length of a pair. Where a
    policy takes matches for equal, the preference chooses.
    """

    operator: str
    left: StepUse
    right: StepUse
    consumption: str
    limit: int
    absent: Absent | None
    around: tuple[Around, ...]
    names: tuple[str, ...]
    preference: Preference | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Step: TypeAlias = Occurrences | Instant | Choice | Refine | Join


def parts_below(step: Step) -> tuple[StepUse, ...]:
    """The parts of a step."""
    if isinstance(step, Choice):
        return step.parts
    if isinstance(step, Refine):
        return (step.part,)
    if isinstance(step, Join):
        absent = () if step.absent is None else (step.absent.part,)
        return (step.left, step.right, *absent)
    return ()


def steps_of(step: Step) -> Iterator[Step]:
    """A step and all below it; one that is used twice comes twice."""
    yield step
    for part in parts_below(step):
        yield from steps_of(part.step)
