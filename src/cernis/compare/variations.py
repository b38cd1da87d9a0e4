"""What each value of a fact would have found: counts and lengths of time, value by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.compare.merged_programs import affected_relations
from cernis.compare.varied_facts import VariedFact, combinations, versions
from cernis.compare.version_runs import Evaluation, reported_relations, run_versions
from cernis.errors import DataError
from cernis.evaluate.answer import Answer
from cernis.session.settings import Settings


@dataclass(frozen=True, slots=True)
class VariedRelation:
    """A fluent or event that depends on the facts: for each combination of values, what there is.

    `counts` are intervals or happenings; `ticks` how long pairs hold in all, in time-points.
    """

    relation: Relation
    is_event: bool
    counts: tuple[int, ...]
    ticks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Variation:
    """What each combination of values of some facts finds."""

    titles: tuple[str, ...]
    values: tuple[tuple[int | float, ...], ...]
    current: tuple[int | float, ...]
    """The values that the program has."""
    relations: tuple[VariedRelation, ...]
    unchanged: int
    records: int
    note: str = ""


def vary(
    checked: Checked, facts: Sequence[VariedFact], evaluate: Evaluation, chosen: Settings
) -> Variation:
    """Let a program recognise with each combination of values, and once what they do not affect."""
    if len({fact.clause.span for fact in facts}) < len(facts):
        raise DataError("a fact is varied twice")
    values = combinations(facts)
    programs = list(versions(checked, facts, values))
    answers = run_versions(programs, evaluate, chosen)
    depending: set[Relation] = set()
    for program in programs[1:]:
        depending |= affected_relations(programs[0], program)
    reported = reported_relations(checked)
    run_end = answers.summary.end + answers.tick
    return Variation(
        tuple(fact.title for fact in facts), tuple(values), tuple(map(_current, facts)),
        tuple(
            _varied(relation, answers.answers, run_end)
            for relation in sorted(reported & depending)
        ),
        len(reported - depending), answers.summary.records, answers.note,
    )  # fmt: skip


def _current(fact: VariedFact) -> int | float:
    number = fact.clause.head.args[fact.position]  # type: ignore[union-attr]
    return number.value  # type: ignore[union-attr,return-value]


def _varied(relation: Relation, answers: Sequence[Answer], run_end: int) -> VariedRelation:
    is_event = any(relation in answer.events for answer in answers)
    counts, ticks = [], []
    for answer in answers:
        table, happened = answer.fluents.get(relation), answer.events.get(relation)
        if table is not None:
            counts.append(len(table.starts))
            ticks.append(int((np.minimum(table.ends, run_end) - table.starts).sum()))
        else:
            counts.append(0 if happened is None else len(happened))
            ticks.append(0)
    return VariedRelation(relation, is_event, tuple(counts), tuple(ticks))
