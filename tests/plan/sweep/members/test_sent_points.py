"""Which rules are met at points that another lane sends, and what of them is asked there."""

import pytest

import cernis
from cernis.plan.builder import Plan
from cernis.plan.sweep.lanes import FiredKind

RULES = """
initiatedAt(status(K, M)=voting, T) :- happensAt(second(_A, K, M), T).
terminatedAt(status(K, M)=voting, T) :- happensAt(close(_A, K, M, _N), T).
initiatedAt(voted(A, K, M)=V, T) :- happensAt(vote(A, K, M, V), T).
chair(k1, ann). chair(k2, bob).
"""
AYES = "aggregate_all(count, holdsAt(voted(_, K, M)=aye, T), N)"


def plan_of(rules: str) -> Plan:
    return cernis.load(RULES + rules).plan


def ways(rules: str) -> dict[str, str]:
    verdicts = (each for swept in plan_of(rules).sweep for each in swept.verdicts)
    return {each.relation.name: str(each.way) for each in verdicts}


def test_a_count_is_asked_of_the_point() -> None:
    ends = "happensAt(end(status(K, M)=voting), T)"
    rule = f"initiatedAt(out(K, M)=yes, T) :- {ends}, {AYES}, N > 1."
    plan = plan_of(rule)
    assert plan.is_swept
    lane = plan.lanes[-1]
    (sent,) = lane.sent
    assert (sent.key_names, sent.members) == (("K", "M"), None)
    assert [relation.name for relation in lane.counted] == ["voted"]
    assert not lane.events
    first, *_ = plan.lanes
    assert sent.gate in first.sent_gates


def test_members_are_told() -> None:
    rule = """initiatedAt(warned(A)=true, T) :- happensAt(end(status(K, M)=voting), T), chair(K, A),
        \\+ happensAt(close(A, K, M, _), T)."""
    plan = plan_of(rule)
    assert plan.is_swept
    lane = next(lane for lane in plan.lanes if lane.sent)
    assert lane.key == ("A",)
    (sent,) = lane.sent
    assert sent.members is not None
    assert sent.names == ("K", "M", "A")
    (bit,) = [bit for bit in lane.fired if bit.kind is FiredKind.RECORD]
    assert len(bit.steps) == 1


@pytest.mark.parametrize(
    "rule",
    [
        # A record has the number that the count is compared with.
        f"happensAt(out(K, M), T) :- happensAt(close(_, K, M, L), T), {AYES}, N > L.",
        # What is counted is no number of instances.
        "happensAt(out(K, M), T) :- happensAt(end(status(K, M)=voting), T), "
        "findall(A, holdsAt(voted(A, K, M)=aye, T), L), L = [ann].",
        # Votes are counted for one member, or of all motions.
        "happensAt(out(K, M), T) :- happensAt(end(status(K, M)=voting), T), "
        "aggregate_all(count, holdsAt(voted(ann, K, M)=aye, T), N), N > 0.",
        "happensAt(out(K, M), T) :- happensAt(end(status(K, M)=voting), T), "
        "aggregate_all(count, holdsAt(voted(_, K, _)=aye, T), N), N > 0.",
        # A committee with two chairs of whom one closes the ballot.
        "happensAt(out(A), T) :- happensAt(end(status(K, M)=voting), T), chair(K, A), "
        "\\+ happensAt(close(A, K, M, _), T). chair(k1, cid).",
    ],
)  # fmt: skip
def test_what_no_point_is_sent_for(rule: str) -> None:
    assert ways(rule)["out"] == "columns"
