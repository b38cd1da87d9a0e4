"""The context of a query: what operators read and write while a query is evaluated.

It holds the relations as far as they have been derived, the encoding of values, the bounds of the
window, and results that several rules share within one query (`Context`) or that stay valid from
one query to the next (`Memo`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cernis.check.catalogue import Catalogue
from cernis.check.goal_checks import Modes
from cernis.check.model import Relation
from cernis.check.types import Types
from cernis.errors import DataError, KnowledgeError
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.kernels.bounds import TooManyPairs
from cernis.kernels.hashing import Numbering
from cernis.knowledge import Knowledge
from cernis.knowledge.ground_values import Value as KnownValue
from cernis.knowledge.ground_values import value
from cernis.operators.measuring import Profile, Timing
from cernis.plan.derived import Derived
from cernis.source import Sources, Span
from cernis.syntax.tree import Duration, Term
from cernis.tables.columns import Column, Rows, constant
from cernis.tables.domains import Domain, Domains, Value, numbers
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable


@dataclass(slots=True)
class Background:
    """The table of a background predicate: one array of codes or numbers for each argument."""

    columns: list[Array]
    domains: list[Domain | None]
    length: int
    finders: dict[tuple[int, ...], object] = field(default_factory=dict)


@dataclass(slots=True)
class Points:
    """Initiations or terminations of a fluent, one row for each: arguments, value and time.

    A termination of whatever value holds has the value -1. Where other rules have terminations as
    conditions, it is repeated for each value c that the instance had before, written as -2 - c.
    """

    arguments: list[Array]
    values: Array
    times: Integers


@dataclass(slots=True)
class Attempts:
    """Initiations whose delayed effects may be still to come: arguments, values, times, ends.

    An attempt ends when it is broken, when it has had its effects, or when another attempt replaces
    it. Most attempts need not be listed, because the table of intervals shows them: those that lie
    one tick before the start of an interval, end when it ends, and cannot be postponed.
    """

    arguments: list[Array]
    values: Integers
    times: Integers
    ends: Integers

    def take(self, rows: Integers) -> Attempts:
        """Some of them."""
        columns = [column[rows] for column in self.arguments]
        return Attempts(columns, self.values[rows], self.times[rows], self.ends[rows])


@dataclass(slots=True)
class Answers:
    """For each instance met so far, by its number: does the grounding allow it?"""

    numberings: list[Numbering]
    may: Booleans = field(default_factory=lambda: np.empty(0, np.bool_))


@dataclass(slots=True)
class Memo:
    """Results that stay valid from one query to the next, and from run to run.

    Domains only grow, so a result about their values stays true. Tables that the run fills are
    replaced now and then; a result about one is kept with the number of the filling it belongs to.
    """

    tables: dict[tuple[str, int], tuple[int, Background]] = field(default_factory=dict)
    slots: dict[tuple[str, Relation, int | str], Domain | None] = field(default_factory=dict)
    allowed: dict[tuple[Relation, int, int], Booleans] = field(default_factory=dict)
    answers: dict[tuple[int, int], Answers] = field(default_factory=dict)
    worked_out: dict[tuple[Hashable, int], Any] = field(default_factory=dict)

    filled: tuple[int, Knowledge] | None = None
    """Background knowledge with the members of dynamic domains, and the number of its filling."""

    def forget_filled(self) -> None:
        """Forget results about tables that a run has filled: the next run fills them again."""
        self.filled = None
        self.tables = {key: known for key, known in self.tables.items() if not known[0]}
        self.allowed = {key: known for key, known in self.allowed.items() if not key[2]}
        self.answers = {key: known for key, known in self.answers.items() if not key[1]}

    def once(self, name: Hashable, of: object, work: Callable[[], Any]) -> Any:
        """Do some work about a part of the plan the first time; afterwards return its result."""
        key = (name, id(of))
        if key not in self.worked_out:
            self.worked_out[key] = work()
        return self.worked_out[key]


@dataclass(slots=True)
class Context:
    """One query: its window, the relations as far as they are derived, and how values are encoded.

    Strata are evaluated in order. Each reads the tables of those before it here and adds its own.
    """

    knowledge: Knowledge
    modes: Modes
    types: Types
    catalogue: Catalogue
    domains: Domains
    tick: int
    ties: str
    start: int
    edge: int
    query: int
    forgotten: int
    """Up to where no records are seen: the edge, or a point after it if steps exceed windows."""
    events: dict[Relation, EventTable] = field(default_factory=dict)
    fluents: dict[Relation, FluentTable] = field(default_factory=dict)
    initiations: dict[Relation, Points] = field(default_factory=dict)
    terminations: dict[Relation, Points] = field(default_factory=dict)
    effect_origins: dict[Relation, Attempts] = field(default_factory=dict)
    """Initiations whose delayed effects may be still to come, for each fluent that has such."""
    filled: dict[tuple[str, int], list[Array]] = field(default_factory=dict)
    """Encoded rows that the run itself adds to background predicates: members of domains."""
    fillings: dict[tuple[str, int], int] = field(default_factory=dict)
    """For each such predicate, how often it has been filled, counted from 1."""
    unsure: set[Relation] = field(default_factory=set)
    """Fluents with instances of which it is not known whether they end at the query time.

    They depend on something that is given at the point of the query, and may go on after it.
    """
    ordered: dict[tuple[int, ...], tuple[Any, ...]] = field(default_factory=dict)
    """Orders of rows by some columns and time, shared by the identity of the columns."""
    numberings: dict[tuple[int, ...], Numbering] = field(default_factory=dict)
    """Numberings of combinations of arguments, shared by the domains of the arguments."""
    computed: dict[tuple[object, ...], tuple[Any, object]] = field(default_factory=dict)
    """Results of expressions and comparisons over whole tables, shared by the columns they read."""
    unsure_groups: dict[Relation, Booleans] = field(default_factory=dict)
    """For each fluent in `unsure`, which of its groups (instances with a value) are concerned."""
    clipped: dict[Relation, Booleans] = field(default_factory=dict)
    """Groups of fluents that start or end at `forgotten` only as records are seen from there on."""
    watched: frozenset[Relation] = frozenset()
    """Fluents whose initiations or terminations are conditions of other rules."""
    remembered: dict[Relation, FluentTable] = field(default_factory=dict)
    """Intervals that ended before the window's edge; rules with a declared memory see them."""
    seen: dict[Relation, FluentTable] = field(default_factory=dict)
    """All fluents as they were when the query had been evaluated, for later ones to look back."""
    past: dict[Relation, list[Any]] = field(default_factory=dict)
    """Intervals that end at the window's edge. They are final, and rules no longer see them."""
    matched: dict[int, list[Rows]] = field(default_factory=dict)
    """The matches of pattern steps that have been evaluated, by the identity of the step."""
    leftover: dict[int, EventTable] = field(default_factory=dict)
    """For some pattern steps, by identity: the matches before the window that they still need."""
    history: dict[tuple[str, Relation], EventTable] = field(default_factory=dict)
    """Occurrences before the window that patterns may still need, by relation."""
    entities: Any = None
    """The entities to which evaluation is restricted; None for all."""
    instances: Any = None
    """The instances to which the evaluation of a definition is restricted; None for all."""
    owned: Callable[[Relation, list[Array], list[Domain | None]], Array | None] | None = None
    """A function that selects the derived rows for which this bucket is responsible.

    It returns None if it is responsible for all rows. There is no function where no other bucket
    can derive the same rows.
    """
    profile: Profile | None = None
    """Where the costs of operators are recorded, if a profile was asked for."""
    timing: Timing | None = None
    """Where the times of strata are recorded, if they were asked for."""
    memo: Memo = field(default_factory=Memo)
    derived: Derived = field(default_factory=Derived)
    """What is worked out about parts of the plan, once."""
    sources: Sources = field(default_factory=Sources)
    """The texts of the program, for error messages that name a place."""

    def too_many(self, error: TooManyPairs, span: Span) -> DataError:
        """The error that says which literal gives too many pairs."""
        place, text = self.sources.place(span), " ".join(self.sources.text(span).split())
        return DataError(
            f"{f'{place}: ' if place else ''}{text[:200]} matches too often: {error}; let it share "
            "an argument with what comes before it, or bound the time between them"
        )

    def timed(self, relations: tuple[Relation, ...]) -> AbstractContextManager[None]:
        """Measure the evaluation of some relations, if their times were asked for."""
        return nullcontext() if self.timing is None else self.timing.of(relations)

    def leave_open(self, relation: Relation, instances: list[Array]) -> None:
        """Note instances, given by arguments and value, that may go on after the query."""
        self.unsure_groups[relation] = self._groups_of(relation, instances)
        self.unsure.add(relation)

    def clip(self, relation: Relation, instances: list[Array]) -> None:
        """Note instances that start or end only as records are seen again after a gap."""
        self.clipped[relation] = self._groups_of(relation, instances)

    def _groups_of(self, relation: Relation, instances: list[Array]) -> Booleans:
        """The groups of some instances of a fluent, given by arguments and value, as a mask."""
        table = self.fluents[relation]
        groups = table.finder(tuple(range(len(instances)))).one(instances, len(instances[0]))
        mask = np.zeros(len(table), np.bool_)
        mask[groups[groups >= 0]] = True
        return mask

    def domain(self, kind: str, relation: Relation, position: int | str) -> Domain | None:
        """The domain of a slot; None if it is held as an array of numbers."""
        slot = (kind, relation, position)
        if slot not in self.memo.slots:
            self.memo.slots[slot] = self.domains.encoding(self.types.find(slot))
        return self.memo.slots[slot]

    def background(self, name: str, arity: int) -> Background:
        """The table of a predicate, encoded when it is first asked for."""
        key = (name, arity)
        filling = self.filling(key)
        known = self.memo.tables.get(key)
        if known is None or known[0] != filling:
            known = self.memo.tables[key] = (filling, self._encode(key))
        return known[1]

    def filling(self, key: tuple[str, int]) -> int:
        """How often the run has filled a table; 0 for a table that it does not fill."""
        if key in self.fillings:
            return self.fillings[key]
        predicate = self.knowledge.predicates.get(key)
        return self.all_fillings if predicate is not None and predicate.grows else 0

    @property
    def all_fillings(self) -> int:
        """A number that changes whenever any table is filled again."""
        return sum(self.fillings.values())

    def knowing(self, goal: Term) -> Knowledge:
        """The knowledge that answers a goal; members of dynamic domains are in it if needed."""
        grows = self.derived.once("grows", goal, lambda: self.knowledge.grows(goal))
        return self._filled_knowledge() if grows else self.knowledge

    def _filled_knowledge(self) -> Knowledge:
        known = self.memo.filled
        if known is None or known[0] != self.all_fillings:
            rows = {key: self._rows(key, columns) for key, columns in self.filled.items()}
            known = self.memo.filled = (self.all_fillings, self.knowledge.filled(rows))
        return known[1]

    def _rows(self, key: tuple[str, int], columns: list[Array]) -> list[tuple[Any, ...]]:
        decoded = [
            column.tolist() if domain is None else domain.decode(column)
            for column, domain in zip(columns, self.slots_of(key), strict=True)
        ]
        return list(zip(*decoded, strict=True))

    def fill(
        self, key: tuple[str, int], rows: Sequence[tuple[KnownValue, ...]], filling: int
    ) -> None:
        """Fill a table of background knowledge."""
        values = list(zip(*rows, strict=True)) if rows else [()] * key[1]
        domains = self.slots_of(key)
        self.filled[key] = _encoded_rows(key, values, domains)
        self.fillings[key] = filling

    def slots_of(self, key: tuple[str, int]) -> list[Domain | None]:
        """The domains of a predicate's arguments."""
        return [self.domain("predicate", Relation(*key), at) for at in range(key[1])]

    def _encode(self, key: tuple[str, int]) -> Background:
        domains = self.slots_of(key)
        predicate = self.knowledge.predicates.get(key)
        is_derived = predicate is not None and predicate.grows and key not in self.filled
        knowledge = self._filled_knowledge() if is_derived else self.knowledge
        table = knowledge.table(*key) if predicate is not None else None
        count = len(table) if table is not None else 0
        if table is None:
            columns: list[Array] = [np.empty(0, np.int64)] * key[1]
        else:
            given = [tuple(column.values) for column in table.columns]
            columns = _encoded_rows(key, given, domains)
        filled = self.filled.get(key)
        if filled:
            count += len(filled[0])
            columns = [
                np.concatenate(both) if len(both[0]) else both[1]
                for both in zip(columns, filled, strict=True)
            ]
        return Background(columns, domains, count)


def _encoded_rows(
    key: tuple[str, int], columns: Sequence[tuple[KnownValue, ...]],
    domains: Sequence[Domain | None],
) -> list[Array]:  # fmt: skip
    """The columns of a predicate; whole numbers of more than 64 bits are an error."""
    try:
        return [_encoded(*each) for each in zip(columns, domains, strict=True)]
    except OverflowError:
        far = next(v for own in columns for v in own if isinstance(v, int) and v.bit_length() > 63)
        raise KnowledgeError(
            f"{key[0]}/{key[1]}",
            f"{far} is a whole number of more than 64 bits; write it with a "
            "decimal point if it is one to compute with, or in quotes if it is a name",
        ) from None


def _encoded(values: tuple[KnownValue, ...], domain: Domain | None) -> Array:
    if domain is None:
        return numbers(values)
    if values and type(values[0]) is int and set(map(type, values)) == {int}:
        return domain.encode_integers(np.array(values, np.int64))
    return domain.encode(values)  # type: ignore[arg-type]


def constant_column(term: Term, domain: Domain | None) -> Column:
    """A ground term as a column of one value."""
    if domain is None:
        return constant(_value(term), None)
    known = domain.constants.get(term)
    if known is None:
        known = domain.constants[term] = constant(_value(term), domain)
    return known  # type: ignore[return-value]


def _value(term: Term) -> Value:
    if isinstance(term, Duration):
        from cernis.syntax.tokens import DURATION_UNITS

        return term.amount * DURATION_UNITS[term.unit]
    return value(term)  # type: ignore[return-value]


def recoded(column: Column, domain: Domain | None, length: int) -> Array:
    """The values of a column row by row, as codes of another domain or as numbers."""
    values = column.expanded(length)
    if not length:
        # An empty column has no type of its own; as integers, it turns no other column into floats.
        return np.empty(0, np.int64)
    if column.domain is domain:
        return values
    if column.domain is None:
        assert domain is not None
        return domain.encode_numbers(values)
    if domain is None:
        used, places = np.unique(values, return_inverse=True)
        return numbers(column.domain.decode(used))[places]
    known = column.domain.values
    table = domain.encode(known)
    return table[values] if len(known) else values
