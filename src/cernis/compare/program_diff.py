"""Compares two versions of a program, or two ways to run one, over the same records."""

from __future__ import annotations

from collections.abc import Sequence

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.compare.program_differences import (
    ChangedRow,
    ProgramDifferences,
    answer_differences,
    definition_changes,
)
from cernis.compare.version_runs import Evaluation, VersionAnswers, run_apart, run_versions
from cernis.errors import CernisError
from cernis.explain.explaining import RunLimits, explain
from cernis.explain.questions import entity_text
from cernis.knowledge.ground_values import field_value, term_of
from cernis.plan.builder import make_plan
from cernis.session.settings import Settings

_EXPLAINED = 6
"""So many relations that differ have an example explained."""


def diff(
    old: Checked, new: Checked, evaluate: Evaluation, chosen: Settings, *, examples: int = 3,
    explains: bool = True,
) -> ProgramDifferences:  # fmt: skip
    """What differs between the answers of two versions, with examples and their reasons."""
    answers = run_versions([old, new], evaluate, chosen)
    result = definition_changes(old, new)
    _fill(result, answers, examples)
    if explains:
        _explain(result, (old, new), answers, chosen)
    return result


def diff_evaluations(
    program: Checked, evaluations: Sequence[Evaluation], chosen: Settings, *, examples: int = 3
) -> ProgramDifferences:
    """What differs between the answers that two engines give to one program."""
    answers = run_apart([program, program], evaluations, chosen)
    result = definition_changes(program, program)
    _fill(result, answers, examples)
    return result


def _fill(result: ProgramDifferences, answers: VersionAnswers, examples: int) -> None:
    summary = answers.summary
    run_end = summary.end + answers.tick
    before, after = answers.answers
    result.relations = list(answer_differences(before, after, run_end, examples))
    result.records, result.start, result.end = summary.records, summary.start, summary.end
    result.note = answers.note
    result.dated = any(records is not None and records.dated for records in answers.records)


def _explain(
    result: ProgramDifferences, versions: tuple[Checked, Checked], answers: VersionAnswers,
    chosen: Settings,
) -> None:  # fmt: skip
    """Explain one example of each relation that differs, in the version that has it."""
    limits = RunLimits(
        chosen.window, chosen.step, result.start, result.end, chosen.tick, chosen.ties
    )
    plans = [make_plan(version) for version in versions]
    differing = [each for each in result.relations if not each.is_same and each.rows]
    for difference in differing[:_EXPLAINED]:
        row = difference.rows[0]
        for number, words in enumerate(("before", "after")):
            records = answers.records[number]
            if records is None:
                continue
            question = row_text(difference.relation, row)
            try:
                text = str(explain(plans[number], records, question, row.point, limits))
            except CernisError:
                # A relation that this version does not have has nothing to explain.
                continue
            key = difference.relation, row
            result.explanations[key] = (*result.explanations.get(key, ()), (words, text))


def row_text(relation: Relation, row: ChangedRow) -> str:
    """The pair or event of a row, as rules write it."""
    args = tuple(term_of(field_value(arg)) for arg in row.args)
    value = None if row.value is None else term_of(field_value(row.value))
    return entity_text(relation, args, value)
