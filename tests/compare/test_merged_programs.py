"""A program merged with itself, all under other names, gives its answer twice."""

import pytest

import cernis
from cernis.answers.result import as_text
from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.compare import merged_programs
from cernis.compare.merged_programs import defined_relations, merged
from cernis.evaluate.answer import Answer
from cernis.program import Program
from tests.agreement.compare import Scenario, by_engine
from tests.matrix import CASES

SOME = sorted(CASES)[::9]
"""Each of them takes a second; all of them did when this was written."""


def everything_else(checked: Checked, *others: Checked) -> frozenset[Relation]:
    return defined_relations(others[0] if others else checked)


def all_predicates(old: Checked, new: Checked) -> frozenset[Relation]:
    return frozenset({*new.clauses, *new.tables})


@pytest.mark.parametrize("name", SOME)
def test_both_versions_have_the_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    program = cernis.load(case.rules)
    monkeypatch.setattr(merged_programs, "affected_relations", everything_else)
    monkeypatch.setattr(merged_programs, "changed_predicates", all_predicates)
    both = merged([program.checked, program.checked])
    scenario = Scenario((), tuple(case.events.splitlines()), case.settings)  # type: ignore[arg-type]
    result = by_engine(scenario, Program(both.checked)).answer
    expected = as_text(by_engine(scenario, program).answer)
    for version in (0, 1):
        assert as_text(part_of(result, both, version, program.checked)) == expected


def part_of(
    answer: Answer, both: merged_programs.MergedPrograms, version: int, checked: Checked
) -> Answer:
    """The answer of one version, under the names it has there."""
    wanted = {both.name_of(version, relation): relation for relation in defined_relations(checked)}
    return Answer(
        {wanted[name]: table for name, table in answer.fluents.items() if name in wanted},
        {wanted[name]: table for name, table in answer.events.items() if name in wanted},
    )
