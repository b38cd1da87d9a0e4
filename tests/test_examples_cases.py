"""The tests that stand beside the examples pass."""

from pathlib import Path

import pytest

from cernis.testing.case_sessions import CaseSession, case_paths

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("path", case_paths([EXAMPLES]), ids=lambda path: path.stem)
def test_cases_of_an_example_pass(path: Path) -> None:
    outcomes = list(CaseSession().outcomes([path]))
    assert len(outcomes) > 1
    assert [outcome.name for outcome in outcomes if not outcome.is_passed] == []
