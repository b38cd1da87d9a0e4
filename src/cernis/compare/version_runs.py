"""Runs of several versions of a program over the same records, with what they share done once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from cernis.answers.result import Summary
from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.compare.merged_programs import MergedPrograms, Unmergeable, defined_relations, merged
from cernis.evaluate.answer import Answer
from cernis.plan.builder import Plan, make_plan
from cernis.records.record_columns import Records
from cernis.records.record_sources import Events, read_events
from cernis.session.recognise import recognise
from cernis.session.settings import Settings


@dataclass(slots=True)
class VersionAnswers:
    """The answers of versions over the same records.

    `note` says why nothing was shared, if nothing was. Where versions share the evaluation of a
    relation, both answers have the same table.
    """

    answers: list[Answer]
    summary: Summary
    tick: int
    records: list[Records | None] = field(default_factory=list)
    note: str = ""
    bounds: list[tuple[int, int]] = field(default_factory=list)
    """Where the run of each version starts and ends, if they were run by themselves."""


Evaluation: TypeAlias = Callable[[Plan, Settings], tuple[Answer, Summary, Records | None]]
"""Lets a plan recognise; gives the records, too, if they are in this process."""


def in_process(events: Events, mapping: str | Path | Mapping[str, Any] | None = None) -> Evaluation:
    """The evaluation of events in this process."""

    def evaluate(plan: Plan, chosen: Settings) -> tuple[Answer, Summary, Records | None]:
        records = read_events(events, plan.checked, mapping)
        result = recognise(plan, records, chosen)
        return result.answer, result.summary, records

    return evaluate


def run_versions(
    versions: Sequence[Checked], evaluate: Evaluation, chosen: Settings
) -> VersionAnswers:
    """The answers of versions; records are read once, and what is the same is evaluated once."""
    try:
        together = merged(versions)
    except Unmergeable as reason:
        return _one_by_one(versions, evaluate, chosen, str(reason))
    plan = make_plan(together.checked)
    answer, summary, records = evaluate(plan, chosen)
    answers = [part_of(answer, together, number, each) for number, each in enumerate(versions)]
    return VersionAnswers(answers, summary, _tick(plan, chosen), [records] * len(versions))


def run_apart(
    versions: Sequence[Checked], evaluations: Sequence[Evaluation], chosen: Settings
) -> VersionAnswers:
    """The answers of versions, each evaluated by itself, in its own way."""
    parts = []
    for version, evaluate in zip(versions, evaluations, strict=True):
        plan = make_plan(version)
        answer, summary, records = evaluate(plan, chosen)
        parts.append((_reported(answer, version), summary, records, _tick(plan, chosen)))
    answers, summaries, records_read, ticks = zip(*parts, strict=True)
    bounds = [(summary.start, summary.end) for summary in summaries]
    return VersionAnswers(list(answers), summaries[0], ticks[0], list(records_read), bounds=bounds)


def _one_by_one(
    versions: Sequence[Checked], evaluate: Evaluation, chosen: Settings, note: str
) -> VersionAnswers:
    """The answers of versions that do not fit into one program.

    Runs must be of the same length, though some versions may ignore the first or last records.
    """
    answers = run_apart(versions, [evaluate] * len(versions), chosen)
    starts, ends = zip(*answers.bounds, strict=True)
    if len({*starts}) > 1 or len({*ends}) > 1:
        common = replace(chosen, start=min(starts), end=max(ends))
        answers = run_apart(versions, [evaluate] * len(versions), common)
    answers.note = note
    return answers


def part_of(answer: Answer, together: MergedPrograms, number: int, version: Checked) -> Answer:
    """The answer of one version, under the names that its relations have there."""
    fluents, happened = {}, {}
    for relation in reported_relations(version):
        name = together.name_of(number, relation)
        if name in answer.fluents:
            fluents[relation] = answer.fluents[name]
        elif name in answer.events:
            happened[relation] = answer.events[name]
    return Answer(fluents, happened)


def reported_relations(version: Checked) -> set[Relation]:
    """The fluents and events of a version that are part of its results."""
    return set(defined_relations(version) - version.definitions.auxiliary)


def _reported(answer: Answer, version: Checked) -> Answer:
    wanted = reported_relations(version)
    return Answer(
        {relation: table for relation, table in answer.fluents.items() if relation in wanted},
        {relation: table for relation, table in answer.events.items() if relation in wanted},
    )


def _tick(plan: Plan, chosen: Settings) -> int:
    return chosen.tick or plan.checked.definitions.settings.tick
