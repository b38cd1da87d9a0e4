"""Which records began and ended intervals, and made events happen, for all of them at once.

From intervals and happenings it goes down the rules by joins: from a head to the traces of its
rules, from these to the happenings and edges they were true of, and so on to records. Each join is
one over columns; how many there are depends on how deep the rules go, not on how many records
there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cernis.check.model import DelayedEffect, Relation
from cernis.evaluate.answer import Answer
from cernis.explain.phrase_causes import length_of
from cernis.explain.traces.fact_joins import (
    CauseRows,
    Coding,
    WantedFacts,
    constant,
    distinct_causes,
    find_facts,
    fitting,
    is_constant,
    unlike,
    whole_numbers,
)
from cernis.explain.traces.traced_rules import TracedPart, TracedProgram, TracedRule
from cernis.kernels.array_types import Integers
from cernis.knowledge.ground_values import is_ground
from cernis.knowledge.knowledge import Knowledge
from cernis.knowledge.terms import substitute
from cernis.records.record_columns import (
    INFINITE,
    RecordColumns,
    RecordKind,
    Records,
    coding_of,
)
from cernis.source import Sources, Span
from cernis.syntax.tree import Term, Variable
from cernis.tables.event_tables import EventTable

_MOST_STEPS = 100_000
"""So many joins are made before what is left is given up; rules that lead back to themselves do so
from later to earlier, and come to an end long before."""

NO_RECORD = -1
"""In place of a record where there is none: what holds initially."""


@dataclass(slots=True)
class Provenance:
    """Finds the records that facts rest on, from the answer of a traced program and its input."""

    program: TracedProgram
    answer: Answer
    records: Records
    knowledge: Knowledge
    start: int
    tick: int
    _inputs: dict[tuple[Relation, str], list[tuple[EventTable, Integers]]] = field(
        default_factory=dict
    )
    _waiting: list[tuple[str, Relation, WantedFacts]] = field(default_factory=list)
    _causes: list[CauseRows] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    """The places of the rules that causes name by number."""
    _numbers: dict[Span, int] = field(default_factory=dict)
    is_uncertain: bool = False
    """Are starts and ends the points at which a probability changes?"""

    def of(self, kind: str, relation: Relation, facts: WantedFacts) -> CauseRows:
        """The records that facts of a kind rest on, that of a part of a traced rule."""
        self._waiting, self._causes = [(kind, relation, facts)], []
        for _ in range(_MOST_STEPS):
            if not self._waiting:
                break
            kind, relation, facts = self._waiting.pop()
            if len(facts.times):
                self._follow(kind, relation, facts)
        return distinct_causes(self._causes)

    def place_of(self, number: int, sources: Sources) -> str:
        """The file and line of a rule that causes name by number."""
        place = sources.place(self.spans[number])
        return f"{place.name}:{place.line}" if place else ""

    def _follow(self, kind: str, relation: Relation, facts: WantedFacts) -> None:
        definitions = self.program.checked.definitions
        if kind == "happens":
            self._follow_event(relation, facts)
        elif kind == "lasts":
            assert facts.starts is not None
            began = replace(facts, times=facts.starts - self.tick, starts=None)
            self._waiting += [
                ("start", relation, began), ("end", relation, replace(facts, starts=None))
            ]  # fmt: skip
        elif kind == "startI":
            self._follow("start", relation, replace(facts, times=facts.times - self.tick))
        elif kind in ("initiation", "termination"):
            self._follow_change(kind, relation, facts)
        elif any(rule.pair.relation == relation for rule in definitions.statics):
            self._by_rules((kind,), relation, facts)
        elif relation in self.answer.fluents:
            self._follow_change(kind, relation, facts)
        else:
            self._by_records(relation, kind, facts)

    # -- events ----------------------------------------------------------------------------------

    def _follow_event(self, relation: Relation, facts: WantedFacts) -> None:
        if relation in self.answer.events:
            self._by_rules(("happens",), relation, facts)
        else:
            self._by_records(relation, "happens", facts)

    def _by_records(self, relation: Relation, edge: str, facts: WantedFacts) -> None:
        for table, places in self._input(relation, edge):
            rows, trace_rows = find_facts(table, tuple(range(len(facts.columns))), facts)
            self._found(facts, rows, places[trace_rows])

    def _found(self, facts: WantedFacts, rows: Integers, places: Integers) -> None:
        self._causes.append(
            CauseRows(facts.owners[rows], facts.rules[rows], facts.matches[rows], places)
        )

    # -- rules -----------------------------------------------------------------------------------

    def _by_rules(self, effects: tuple[str, ...], relation: Relation, facts: WantedFacts) -> None:
        for rule in self.program.rules:
            if rule.relation == relation and rule.effect in effects:
                fit = fitting(facts, rule.head)
                is_left = np.ones(len(fit.times), np.bool_)
                if rule.event is not None:
                    rows, trace_rows = self._joined(rule, rule.event, fit)
                    self._parts(rule, rule.event, fit.take(rows), trace_rows)
                    is_left[rows] = False
                if rule.effect in ("start", "end"):
                    self._edges(rule, fit.take(np.flatnonzero(is_left)))

    def _edges(self, rule: TracedRule, facts: WantedFacts) -> None:
        """The edges of a pair that no event traces, as at the end of a run."""
        part = rule.parts[0]
        columns: list[Coding | None] = [
            constant(each, len(facts.times)) if is_constant(each) else None for each in part.columns
        ]
        for outside, inside in rule.shared:
            columns[inside] = facts.columns[outside]
        number = self._number(rule.span)
        rules = np.where(facts.rules < 0, number, facts.rules)
        self._waiting.append(
            (part.kind, part.relation, replace(facts, columns=columns, rules=rules))
        )

    def _joined(
        self, rule: TracedRule, event: Relation, facts: WantedFacts
    ) -> tuple[Integers, Integers]:
        """The rows of facts that a rule made, and those of its trace."""
        table = self.answer.events.get(event)
        if table is None or not len(table):
            none = np.empty(0, np.int64)
            return none, none
        head = tuple(place if isinstance(place, int) else None for place in rule.head)
        rows, trace_rows = find_facts(table, head, facts)
        if facts.starts is not None and table.starts is not None:
            same = table.starts[trace_rows] == facts.starts[rows]
            rows, trace_rows = rows[same], trace_rows[same]
        return rows, trace_rows

    def _parts(
        self, rule: TracedRule, event: Relation, facts: WantedFacts, trace_rows: Integers
    ) -> None:
        if not len(trace_rows):
            return
        table = self.answer.events[event]
        number = self._number(rule.span)
        rules = np.where(facts.rules < 0, number, facts.rules)
        matches = (
            np.where(facts.matches < 0, trace_rows, facts.matches) if rule.is_pattern else None
        )
        for part in rule.parts:
            columns = [_column(table, place, trace_rows) for place in part.columns]
            times, starts = table.times[trace_rows], None
            if part.end is not None and part.start is not None:
                times = whole_numbers(table, part.end, trace_rows)
                starts = whole_numbers(table, part.start, trace_rows)
            below = WantedFacts(
                columns, times, facts.owners, rules,
                facts.matches if matches is None else matches, starts,
            )  # fmt: skip
            self._waiting.append((part.kind, part.relation, _without_starts(part, below)))

    def _number(self, span: Span) -> int:
        if span not in self._numbers:
            self._numbers[span] = len(self.spans)
            self.spans.append(span)
        return self._numbers[span]

    # -- simple fluents --------------------------------------------------------------------------

    def _follow_change(self, kind: str, relation: Relation, facts: WantedFacts) -> None:
        """Where an interval begins or ends, or a change that may do neither."""
        if self.is_uncertain and kind in ("start", "end"):
            self._follow_chance(relation, facts)
            return
        effects = {
            "start": ("begins",), "end": ("ends", "replaces"), "initiation": ("initiates",),
            "termination": ("terminates",),
        }  # fmt: skip
        self._by_rules(effects[kind], relation, facts)
        if kind in ("start", "initiation"):
            self._initially(relation, facts)
            self._by_effects(relation, facts, "target")
        else:
            self._by_effects(relation, facts, "terminated")
        if kind == "end":
            self._by_effects(relation, facts, "other value")

    def _follow_chance(self, relation: Relation, facts: WantedFacts) -> None:
        """Where a probability changes: by an initiation of any value, or by a termination."""
        of_any_value = replace(facts, columns=[*facts.columns[:-1], None])
        self._by_rules(("initiates",), relation, of_any_value)
        self._by_rules(("terminates",), relation, facts)
        self._initially(relation, facts)

    def _initially(self, relation: Relation, facts: WantedFacts) -> None:
        rows = np.flatnonzero(facts.times == self.start)
        for rule in self.program.checked.definitions.initials if len(rows) else ():
            if rule.pair.relation == relation:
                fit = fitting(facts.take(rows), (*rule.pair.args, rule.pair.value))
                chosen = replace(
                    fit,
                    rules=np.where(fit.rules < 0, self._number(rule.span), fit.rules),
                )
                every = np.arange(len(chosen.times))
                self._found(chosen, every, np.full(len(every), NO_RECORD))

    # -- delayed effects -------------------------------------------------------------------------

    def _by_effects(self, relation: Relation, facts: WantedFacts, role: str) -> None:
        """The earlier initiations that had an effect at the times of facts."""
        for effect in self.program.checked.definitions.effects:
            target = effect.target
            if role == "terminated":
                is_one = target is None and effect.source.relation == relation
                pair = effect.source
            else:
                is_one = target is not None and target.relation == relation
                pair = target if target is not None else effect.source
            if is_one:
                terms = pair.args if role == "other value" else (*pair.args, pair.value)
                for known, delay in self._delays(effect):
                    fit = fitting(facts, tuple(substitute(term, known) for term in terms))
                    if role == "other value":
                        fit = unlike(fit, pair.value)
                    self._waiting.append(self._source(effect, known, terms, fit, delay))

    def _source(
        self, effect: DelayedEffect, known: dict[str, Term], terms: tuple[Term, ...],
        facts: WantedFacts, delay: int,
    ) -> tuple[str, Relation, WantedFacts]:  # fmt: skip
        columns: list[Coding | None] = []
        source = effect.source
        for term in (substitute(each, known) for each in (*source.args, source.value)):
            if isinstance(term, Variable):
                named = [at for at, each in enumerate(terms) if each == term]
                columns.append(facts.columns[named[0]] if named else None)
            else:
                columns.append(constant(term, len(facts.times)))
        rules = np.where(facts.rules < 0, self._number(effect.span), facts.rules)
        earlier = replace(facts, columns=columns, times=facts.times - delay, rules=rules)
        return "initiation", source.relation, earlier

    def _delays(self, effect: DelayedEffect) -> Iterator[tuple[dict[str, Term], int]]:
        """What the goals of an effect give its variables, and its delay with these."""
        answers: list[dict[str, Term]] = [{}]
        for goal in effect.goals:
            answers = [
                {**known, **{n: t for n, t in more.items() if is_ground(t)}}
                for known in answers
                for more in self.knowledge.solve(substitute(goal, known), 1000)
            ]
        for known in answers:
            delay = substitute(effect.delay, known)
            if is_ground(delay):
                yield known, length_of(delay)

    # -- input -----------------------------------------------------------------------------------

    def _input(self, relation: Relation, edge: str) -> list[tuple[EventTable, Integers]]:
        """The records of a relation as events at their time, start or end, and their places."""
        if (relation, edge) not in self._inputs:
            parts = [p for form, p in self.records.relations.items() if form.relation == relation]
            self._inputs[relation, edge] = [self._coded(part, edge) for part in parts if len(part)]
        return self._inputs[relation, edge]

    def _coded(self, part: RecordColumns, edge: str) -> tuple[EventTable, Integers]:
        if part.gone is not None:
            part = part.take(part.gone == INFINITE)
        is_event = part.form.kind is RecordKind.EVENT
        held = part.columns if is_event else [*part.columns[1:], part.columns[0]]
        codings = [coding_of(column) for column in held]
        times = part.times[1]
        if not is_event and edge == "start":
            times = times - self.tick
        elif not is_event and part.form.kind is RecordKind.INTERVAL:
            times = part.times[2] - self.tick
        arguments, domains = [c for c, _ in codings], [d for _, d in codings]
        return EventTable(arguments, domains, times), part.places


def _without_starts(part: TracedPart, facts: WantedFacts) -> WantedFacts:
    """Only what lasts is asked for by its start; of an event the start tells occurrences apart."""
    return facts if part.kind in ("lasts", "happens") else replace(facts, starts=None)


def _column(table: EventTable, place: int | Term | None, rows: Integers) -> Coding | None:
    """What a trace has at a place: one of its columns, or a constant."""
    if isinstance(place, int):
        return table.arguments[place][rows], table.domains[place]
    return constant(place, len(rows)) if is_constant(place) else None
