"""The plan of each example, word for word: `python -m tests.plan.golden` writes them anew."""

from __future__ import annotations

import pytest

from tests.plan.golden import GOLDEN, plan_text, programs


@pytest.mark.parametrize("name", sorted(programs()))
def test_plan_text(name: str) -> None:
    assert plan_text(name) == (GOLDEN / f"{name}.txt").read_text("utf-8")


def test_every_kept_plan_has_its_program() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(programs())
