"""What is worked out about the parts of a plan is worked out once for each part."""

from __future__ import annotations

import cernis
from cernis.plan.derived import Derived


def test_an_answer_is_worked_out_once_for_each_question_and_part() -> None:
    derived, asked = Derived(), list[str]()
    first, second = ["equal"], ["equal"]
    for part in (first, second, first):
        for question in ("size", "order"):
            derived.once(question, part, lambda question=question: asked.append(question))  # type: ignore[misc]
    # Parts that are equal are not the same part.
    assert sorted(asked) == ["order", "order", "size", "size"]


def test_an_answer_that_is_nothing_is_kept_as_well() -> None:
    derived, part, asked = Derived(), object(), list[int]()
    for _ in range(2):
        assert derived.once("size", part, lambda: asked.append(1)) is None
    assert asked == [1]


def test_plans_share_nothing() -> None:
    text = "initiatedAt(a(X)=true, T) :- happensAt(e(X), T)."
    one, other = cernis.load(text).plan, cernis.load(text).plan
    part = one.stages[0]
    assert one.derived.once("stage", part, lambda: 1) == 1
    assert other.derived.once("stage", part, lambda: 2) == 2
