"""Lanes go on from what columns have left, and columns from what lanes have left."""

from __future__ import annotations

import pytest

import cernis
from cernis.evaluate.query_loop import Handover
from cernis.session.session import Session
from tests.session.test_walked_sessions import RULES, batches, feed


def other_way(session: Session, handover: Handover) -> None:
    """Let a session go on by columns if it walked lanes, and the other way round."""
    session.may_walk = not session.may_walk
    session.evaluator = session._make_evaluator(False)
    session.go_on(handover, False)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("window", "step"), [(60, 20), (20, 35)])
def test_sessions_change_their_way_after_each_query(seed: int, window: int, step: int) -> None:
    plan = cernis.load(RULES).plan
    changing = Session(plan, window, step, 0)
    columns = Session(plan, window, step, 0, incremental=False)
    queries = list(range(step, 9 * step, step))
    for query, (come, gone) in zip(queries, batches(seed, queries), strict=True):
        expected = feed(columns, query, come, gone)
        assert feed(changing, query, come, gone) == expected, f"seed {seed}, query {query}"
        other_way(changing, changing.hand_over())
