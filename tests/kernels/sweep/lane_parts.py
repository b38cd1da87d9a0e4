"""Lanes by names: rules, fluents and events, as tests write them."""

from __future__ import annotations

from dataclasses import dataclass

Names = frozenset[str]
NO_NAMES: Names = frozenset()


@dataclass(frozen=True)
class Rule:
    """Fires at a point; `kind` is `init`, `term` or `signal`, `head` a pair or a signal."""

    kind: str
    head: str
    any: Names = NO_NAMES
    all: Names = NO_NAMES
    none: Names = NO_NAMES
    starts: Names = NO_NAMES
    ends: Names = NO_NAMES
    pos: Names = NO_NAMES
    neg: Names = NO_NAMES


@dataclass(frozen=True)
class Delay:
    """An initiation of `source` initiates `target` later, or terminates the source: None."""

    source: str
    delay: int
    target: str | None
    is_postponable: bool


@dataclass(frozen=True)
class Fluent:
    """A simple fluent: its pairs, rules and delayed effects."""

    pairs: tuple[str, ...]
    rules: tuple[Rule, ...]
    delays: tuple[Delay, ...] = ()


@dataclass(frozen=True)
class Static:
    """A causal statically determined pair: it holds where one of its terms is met."""

    pair: str
    terms: tuple[tuple[Names, Names], ...]


@dataclass(frozen=True)
class Event:
    """A derived event: rules whose head is a signal."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Guard:
    """Fires for a record of `event` by what `fluent` had before, compared with its payload.

    `kind` is `same` or `other` if it had this value or another one, `not same` if it did not have
    this one, `more` if it had one that is larger by more than `least`.
    """

    name: str
    event: str
    fluent: str
    kind: str
    least: int = 0


@dataclass(frozen=True)
class OpenRule:
    """Initiates or terminates a value: `value` is a number, `payload`, or `any`.

    A payload is that of the records that fire what is in `rule.any`.
    """

    rule: Rule
    value: int | str


@dataclass(frozen=True)
class OpenFluent:
    """A simple fluent that takes any value; values in `named` have pairs that rules ask for."""

    name: str
    named: tuple[int, ...]
    rules: tuple[OpenRule, ...]

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pairs that rules may ask for, but for the one that stands for all other values."""
        return tuple(f"{self.name}={value}" for value in self.named)

    @property
    def other(self) -> str:
        """The pair that stands for all values that have no pair."""
        return f"{self.name}=other"


@dataclass(frozen=True)
class LaneProgram:
    """The definitions of a lane in the order in which they depend on each other."""

    events: tuple[str, ...]
    signals: tuple[str, ...]
    definitions: tuple[Fluent | Static | Event | OpenFluent, ...]
    ties: str = "break"
    is_rtec: bool = False
    tick: int = 1
    guards: tuple[Guard, ...] = ()

    @property
    def open_fluents(self) -> tuple[OpenFluent, ...]:
        """The fluents that take any value."""
        return tuple(each for each in self.definitions if isinstance(each, OpenFluent))

    @property
    def pairs(self) -> tuple[str, ...]:
        """All pairs, simple and statically determined, in order."""
        owners = [
            each.pairs if isinstance(each, Fluent | OpenFluent) else (each.pair,)
            for each in self.definitions
            if not isinstance(each, Event)
        ]
        return tuple(pair for pairs in owners for pair in pairs)

    @property
    def delays(self) -> tuple[Delay, ...]:
        """The delayed effects of all fluents."""
        fluents = [each for each in self.definitions if isinstance(each, Fluent)]
        return tuple(delay for fluent in fluents for delay in fluent.delays)
