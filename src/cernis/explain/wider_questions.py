"""Questions about more than one point: all that a pair did in a stretch of time, or an entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cernis.check.model import flatten
from cernis.errors import CernisError, DataError
from cernis.evaluate.answer import Answer
from cernis.evaluate.run import Run
from cernis.explain.body_proofs import terms
from cernis.explain.explaining import RunLimits, explain
from cernis.explain.explanation_tree import Explanation
from cernis.explain.histories import decoded_rows
from cernis.explain.questions import entity_text, read_question
from cernis.explain.reachable_records import is_any_of
from cernis.kernels.array_types import Array, Booleans
from cernis.knowledge.ground_values import Value, is_ground, term_of, value
from cernis.plan.builder import Plan
from cernis.records.record_columns import Coded, Records
from cernis.syntax import parse_term
from cernis.syntax.tree import Compound, Term
from cernis.tables.domains import Domain

MOST_EXPLAINED = 20
"""So many intervals and happenings are explained, the latest ones."""


def explain_over(
    plan: Plan, records: Records, text: str, first: int | None, last: int | None,
    limits: RunLimits, show_time: Callable[[int], str] = str, *,
    explain_one: Callable[..., Explanation] = explain,
) -> list[Explanation]:  # fmt: skip
    """Why what a text names held or happened from `first` to `last`: each time by itself.

    The text is a pair, an event, or an entity; of an entity it is all that has it as an argument.
    If there is nothing, it is why not at the end. `explain_one` explains each point.
    """
    run = Run(plan, limits.tick, limits.ties)
    answer = run.over(records, limits.start, limits.end, limits.window, limits.step)
    if first is not None and last is not None and first > last:
        raise DataError(
            f"the times go backward: {show_time(first)} is after {show_time(last)}; "
            "say the earlier one first"
        )
    low = first if first is not None else -(1 << 62)
    high = last if last is not None else 1 << 62
    points = sorted(set(_points(plan, answer, text, low, high)), key=lambda each: each[1])
    made = [
        explain_one(plan, records, question, point, limits, show_time)
        for question, point in points[-MOST_EXPLAINED:]
    ]
    if made or is_entity(plan, text):
        return made
    return [explain_one(plan, records, text, last, limits, show_time)]


def is_entity(plan: Plan, text: str) -> bool:
    """Does a text name an entity, and no pair or event of the program?"""
    try:
        term = parse_term(text)
    except CernisError:
        return False
    if not is_ground(term) or isinstance(term, Compound):
        return False
    relation, _ = flatten(term)
    catalogue = plan.checked.catalogue
    return relation not in catalogue.fluents and relation not in catalogue.events


def _points(
    plan: Plan, answer: Answer, text: str, low: int, high: int
) -> Iterator[tuple[str, int]]:
    """The questions that a text stands for, each with a point at which it is true."""
    entity = value(parse_term(text)) if is_entity(plan, text) else None
    question = None if entity is not None else read_question(text, plan.checked)
    for relation, table in answer.fluents.items():
        if question is not None and (relation != question.relation or question.value is None):
            continue
        columns = table.columns()
        wanted = None if question is None else (*question.args, question.value)
        groups = np.flatnonzero(_mask(columns, len(table), entity, wanted))
        rows = decoded_rows([(data[groups], domain) for data, domain in columns], len(groups))
        for group, row in zip(groups.tolist(), rows, strict=True):
            name = entity_text(relation, terms(row[:-1]), term_of(row[-1]))
            spans = slice(int(table.offsets[group]), int(table.offsets[group + 1]))
            for start, end in zip(
                table.starts[spans].tolist(), table.ends[spans].tolist(), strict=True
            ):
                if start <= high and end > low:
                    yield name, max(start, low)
    for relation, happenings in answer.events.items():
        if question is not None and (relation != question.relation or question.value is not None):
            continue
        columns = list(zip(happenings.arguments, happenings.domains, strict=True))
        args = None if question is None else question.args
        chosen = _mask(columns, len(happenings), entity, args)
        chosen &= (happenings.times >= low) & (happenings.times <= high)
        places = np.flatnonzero(chosen)
        rows = decoded_rows([(data[places], domain) for data, domain in columns], len(places))
        for place, row in zip(places.tolist(), rows, strict=True):
            yield entity_text(relation, terms(row), None), int(happenings.times[place])


def _mask(
    columns: list[tuple[Array, Domain | None]], length: int, entity: Value | None,
    wanted: tuple[Term | None, ...] | None,
) -> Booleans:  # fmt: skip
    """The rows that have an entity in any column, or what is wanted in each."""
    coded = [data if domain is None else Coded(domain.values, data) for data, domain in columns]
    if wanted is None:
        assert entity is not None
        chosen = np.zeros(length, np.bool_)
        for column in coded:
            chosen |= is_any_of(column, [entity])
        return chosen
    chosen = np.ones(length, np.bool_)
    for column, term in zip(coded, wanted, strict=True):
        assert term is not None
        chosen &= is_any_of(column, [value(term)])
    return chosen
