"""All that happened and held to the entities of a question: records, derived events, intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from cernis.check.model import DelayedEffect, Event, Relation
from cernis.evaluate.answer import Answer
from cernis.explain.patterns.pattern_parts import TracedPattern, with_parts
from cernis.explain.point_texts import point_text
from cernis.explain.traces.traced_rules import TracedRule
from cernis.kernels.array_types import Array
from cernis.knowledge.ground_values import Row, Value
from cernis.knowledge.knowledge import Knowledge
from cernis.plan.builder import Plan, make_plan
from cernis.plan.properties.growing_predicates import domain_goals
from cernis.records.record_columns import INFINITE, RecordColumns, RecordKind, Records, cell
from cernis.syntax.tree import Pattern, PatternRule, Variable
from cernis.tables.domains import Domain

Interval: TypeAlias = tuple[int, int]
Instance: TypeAlias = tuple[Row, Value]
"""The arguments and the value of a pair."""


def formed(row: object) -> object:
    """A value, or a row of them, to compare by: 2 and 2.0 are two values.

    >>> formed((2, "a")) == formed((2.0, "a")), formed((2, "a")) == formed((2, "a"))
    (False, True)
    """
    if isinstance(row, tuple):
        return tuple(map(formed, row))
    return (float, row) if isinstance(row, float) else row


class PairIntervals:
    """The intervals of the pairs of a fluent, in the order of time."""

    def __init__(self, pairs: Iterable[tuple[Instance, list[Interval]]]) -> None:
        self._pairs = {formed(instance): (instance, spans) for instance, spans in pairs}

    def __len__(self) -> int:
        return len(self._pairs)

    def get(self, instance: Instance) -> list[Interval]:
        """The intervals of one pair."""
        known = self._pairs.get(formed(instance))
        return [] if known is None else known[1]

    def items(self) -> Iterable[tuple[Instance, list[Interval]]]:
        """Each pair with its intervals."""
        return self._pairs.values()


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A record: its line of text, where it was read, and what it is about."""

    text: str
    place: str
    args: Row
    value: Value | None
    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class Happening:
    """An occurrence of an event; `record` is None where rules derived it."""

    args: Row
    start: int
    time: int
    record: NamedRecord | None = None


@dataclass(slots=True)
class History:
    """What is known of the entities of a question, by relation."""

    plan: Plan
    records: Records
    answer: Answer
    start: int
    end: int
    tick: int
    traces: tuple[TracedRule, ...] = ()
    """The traces of the patterns that a question can reach; the answer has their events."""
    evaluate: Callable[[Plan], Answer] | None = None
    """Evaluates the records once more, by the plan of another program."""
    _knowledge: Knowledge | None = None
    _events: dict[Relation, list[Happening]] = field(default_factory=dict)
    _by_time: dict[Relation, dict[int, list[Happening]]] = field(default_factory=dict)
    _fluents: dict[Relation, PairIntervals] = field(default_factory=dict)
    _records: dict[Relation, list[NamedRecord]] = field(default_factory=dict)
    _parts: dict[Pattern, tuple[Answer, list[TracedPattern]]] = field(default_factory=dict)
    members: dict[tuple[str, int], dict[Row, NamedRecord]] = field(default_factory=dict)
    """The members of the domains that grow with the input, each with the first record of it."""

    def __post_init__(self) -> None:
        self.members = self._members()

    @property
    def knowledge(self) -> Knowledge:
        """The background of the program, with the members that the input fills domains with."""
        if self._knowledge is None:
            rows = {key: list(known) for key, known in self.members.items()}
            self._knowledge = self.plan.knowledge.filled(rows) if rows else self.plan.knowledge
        return self._knowledge

    @property
    def effects(self) -> list[DelayedEffect]:
        """The delayed effects of the program."""
        return self.plan.checked.definitions.effects

    def events(self, relation: Relation) -> list[Happening]:
        """All happenings of an event, in the order of time."""
        if relation not in self._events:
            read = [
                Happening(each.args, each.start, each.start, each)
                for each in self.records_of(relation)
            ]
            known = [*read, *self._derived(relation)]
            self._events[relation] = sorted(known, key=lambda each: each.time)
        return self._events[relation]

    def events_at(self, relation: Relation, time: int) -> list[Happening]:
        """The happenings of an event at a time-point."""
        if relation not in self._by_time:
            by_time: dict[int, list[Happening]] = {}
            for each in self.events(relation):
                by_time.setdefault(each.time, []).append(each)
            self._by_time[relation] = by_time
        return self._by_time[relation].get(time, [])

    def fluent(self, relation: Relation) -> PairIntervals:
        """The intervals of all pairs of a fluent, in the order of time."""
        if relation not in self._fluents:
            derived = PairIntervals(self._intervals(relation))
            self._fluents[relation] = derived or PairIntervals(self._recorded(relation))
        return self._fluents[relation]

    def records_of(self, relation: Relation) -> list[NamedRecord]:
        """The records of a relation that were not taken back."""
        if relation not in self._records:
            parts = [p for form, p in self.records.relations.items() if form.relation == relation]
            self._records[relation] = [each for part in parts for each in self._named(part)]
        return self._records[relation]

    def all_records(self) -> Iterator[NamedRecord]:
        """The records of all relations."""
        for relation in dict.fromkeys(form.relation for form in self.records.relations):
            yield from self.records_of(relation)

    def pattern_parts(self, rule: PatternRule) -> tuple[Answer, list[TracedPattern]]:
        """The parts of a pattern, and an answer that has the matches of each."""
        if rule.pattern not in self._parts:
            checked, parts = with_parts(self.plan.checked, rule)
            assert self.evaluate is not None
            self._parts[rule.pattern] = self.evaluate(make_plan(checked)), parts
        return self._parts[rule.pattern]

    def _named(self, part: RecordColumns) -> Iterator[NamedRecord]:
        is_event = part.form.kind is RecordKind.EVENT
        for row in range(len(part)):
            if part.gone is not None and part.gone[row] < INFINITE:
                continue
            values = tuple(cell(column, row) for column in part.columns)
            start, number = int(part.times[1][row]), int(part.places[row])
            is_interval = part.form.kind is RecordKind.INTERVAL
            end = int(part.times[2][row]) if is_interval else start + self.tick
            source, line = self.records.sources.line(number)
            yield NamedRecord(
                self._record_text(part, row), f"{source or 'record'}:{line}" if line else source,
                values if is_event else values[1:], None if is_event else values[0],
                start, end, number,
            )  # fmt: skip

    def _record_text(self, part: RecordColumns, row: int) -> str:
        """A record as a line of text, its times as the input has them."""
        text = part.text(row)
        if not self.records.dated:
            return text
        name, *fields = text.split("|")
        count = len(part.form.titles)
        times = [each if each == "inf" else point_text(int(each)) for each in fields[:count]]
        return "|".join([name, *times, *fields[count:]])

    def _derived(self, relation: Relation) -> Iterator[Happening]:
        table = self.answer.events.get(relation)
        if table is None:
            return
        rows = decoded_rows(list(zip(table.arguments, table.domains, strict=True)), len(table))
        starts = table.times if table.starts is None else table.starts
        for args, start, time in zip(rows, starts.tolist(), table.times.tolist(), strict=True):
            yield Happening(args, start, time)

    def _intervals(self, relation: Relation) -> Iterator[tuple[Instance, list[Interval]]]:
        table = self.answer.fluents.get(relation)
        if table is None:
            return
        spans = list(zip(table.starts.tolist(), table.ends.tolist(), strict=True))
        offsets = table.offsets.tolist()
        for group, row in enumerate(decoded_rows(table.columns(), len(table))):
            yield (row[:-1], row[-1]), spans[offsets[group] : offsets[group + 1]]

    def _recorded(self, relation: Relation) -> Iterator[tuple[Instance, list[Interval]]]:
        pieces: dict[object, tuple[Instance, list[Interval]]] = {}
        for each in self.records_of(relation):
            if each.value is not None:
                instance = each.args, each.value
                pieces.setdefault(formed(instance), (instance, []))[1].append(
                    (each.start, each.end)
                )
        for instance, spans in pieces.values():
            yield instance, united(spans)

    def _members(self) -> dict[tuple[str, int], dict[Row, NamedRecord]]:
        definitions = self.plan.checked.definitions
        keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
        members: dict[tuple[str, int], dict[Row, NamedRecord]] = {key: {} for key in keys}
        for grounding in definitions.groundings if keys else ():
            entity = grounding.entity
            terms = entity.args if isinstance(entity, Event) else (*entity.args, entity.value)
            names = [term.name if isinstance(term, Variable) else "" for term in terms]
            for goal in domain_goals(grounding, keys):
                places = [names.index(arg.name) for arg in goal.args if isinstance(arg, Variable)]
                known = members[goal.functor, len(goal.args)]
                for each in self.records_of(entity.relation):
                    values = each.args if each.value is None else (*each.args, each.value)
                    known.setdefault(tuple(values[place] for place in places), each)
        return members


def decoded_rows(columns: list[tuple[Array, Domain | None]], length: int) -> list[Row]:
    """The values of columns, row by row."""
    decoded = [
        column.tolist() if domain is None else list(domain.decode(column))
        for column, domain in columns
    ]
    return list(zip(*decoded, strict=True)) if decoded else [()] * length


def united(spans: list[Interval]) -> list[Interval]:
    """Intervals in the order of time, those that overlap or meet joined.

    >>> united([(5, 8), (1, 3), (3, 4)])
    [(1, 4), (5, 8)]
    """
    joined: list[Interval] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
