"""Codes and what was worked out with them, from one session of a plan to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.evaluate.workspace import Workspace
from cernis.operators.context.background_tables import BackgroundTables
from cernis.session.session import Session
from cernis.tables.domains import Domains
from tests.spark.streaming.local_stream import stream_of

RULES = """\
limit(truck, 80).
limit(car, 100).
initiatedAt(fast(V)=true, T) :- happensAt(speed(V, Kind, S), T), limit(Kind, Max), S > Max.
terminatedAt(fast(V)=true, T) :- happensAt(speed(V, Kind, S), T), limit(Kind, Max), S =< Max.
"""


def answered(session: Session, line: str, query: int) -> int:
    """Whether a session reports a change after one more record."""
    session.insert([line])
    return len(session.query(query).table())


def test_the_next_session_of_a_plan_has_the_codes_that_one_has_left() -> None:
    plan = cernis.load(RULES).plan
    first, second = (Session(plan, 100, 10, 0) for _ in range(2))
    assert first._domains is not second._domains
    assert answered(first, "speed|5|5|v|truck|90", 10) == 1
    first.leave_workspace()
    third = Session(plan, 100, 10, 0)
    assert third._domains is first._domains
    assert answered(third, "speed|5|5|w|truck|90", 10) == 1


def test_values_of_other_forms_have_codes_of_their_own() -> None:
    plan = cernis.load(RULES).plan
    first = Session(plan, 100, 10, 0)
    first.leave_workspace()
    other = Session(plan, 100, 10, 0)
    assert answered(other, "speed|5|5|v|truck|unknown", 10) == 0
    assert other._domains is not first._domains


def test_codes_of_too_many_values_are_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cernis.evaluate.workspace._MOST_VALUES", 2)
    workspace = Workspace(Domains())
    assert workspace.is_worth_keeping()
    for value in range(3):
        workspace.domains.of("vessel").code(value)
    assert not workspace.is_worth_keeping()


def test_the_buckets_of_a_stream_encode_background_facts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = []
    encode = BackgroundTables._encode

    def noted(tables: BackgroundTables, key: tuple[str, int]) -> object:
        encoded.append(key)
        return encode(tables, key)

    monkeypatch.setattr(BackgroundTables, "_encode", noted)
    stream = stream_of(RULES, tmp_path, 100, 10, start=0, buckets=3)
    changes = [stream.take([f"speed|{at}|{at}|v{at % 7}|truck|90"]) for at in range(5, 65, 10)]
    assert sum(map(len, changes)) > 0
    # Once for each bucket that has records, and not in each of six micro-batches.
    assert 1 <= len(encoded) <= 3
    assert set(encoded) == {("limit", 2)}
