"""Lists, collections and compound terms in rules: windows and sessions agree, late records too."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from tests.agreement.compare import Scenario, by_engine, difference
from tests.reference.cases import Case
from tests.session import feeds
from tests.test_cases import CASES

NAMES = (
    "collections_of_what_holds", "collections_in_order", "collections_of_facts",
    "terms_in_arguments", "compound_values_open",
)  # fmt: skip
OF_TERMS = [case for case in CASES if case.name in NAMES]


@pytest.mark.parametrize("case", OF_TERMS, ids=lambda case: case.name)
def test_windows_and_sessions_with_late_records(case: Case) -> None:
    random = Random(case.name)
    program = cernis.load(case.rules)
    rules = tuple((case.rules).read_text(encoding="utf-8").splitlines())
    for window, step in ((7, 3), (4, 4)):
        lines = [_late(line, random) for line in case.events.splitlines()]
        settings = {"start": 0, "end": 24, "window": window, "step": step}
        scenario = Scenario(rules, tuple(lines), settings)
        assert difference(scenario, program) == "", (window, step, lines)
        result = by_engine(scenario, program, per_query=True)
        for incremental in (True, False):
            told = feeds.difference(scenario, program, result, incremental)
            assert told == "", (window, step, incremental, lines)


def _late(line: str, random: Random) -> str:
    name, arrival, *rest = line.split("|")
    return "|".join([name, str(int(arrival) + random.choice((0, 0, 1, 4))), *rest])
