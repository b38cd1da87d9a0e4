"""Longer keys for lanes: which are tried, and what they make fit."""

from __future__ import annotations

import cernis
from cernis.plan.logical import Stage
from cernis.plan.sweep.finer_keys import finer_stages
from tests.plan.sweep.test_fits import only_lane, reason, verdicts

STATUS = """
initiatedAt(status(K, M)=open, T) :- happensAt(propose(A, K, M), T), seat(K, A).
terminatedAt(status(K, M)=open, T) :- happensAt(close(M, K), T).
initiatedAt(late(M, K)=true, T) :- happensAt(vote(K, M), T), \\+ holdsAt(status(K, M)=open, T).
seat(k1, a1).
"""
VOTED = "initiatedAt(voted(A, K, M)=true, T) :- happensAt(cast(A, K, M), T).\n"
QUIET = "initiatedAt(quiet(K)=true, T) :- happensAt(hush(K), T).\n"


def stage_of(text: str) -> Stage:
    """The only stage of a program."""
    (stage,) = cernis.load(text).plan.stages
    return stage


def tried(text: str) -> list[tuple[tuple[str, ...], dict[str, tuple[int, ...]]]]:
    """The longer keys of a stage: their names, and where relations have them."""
    stage = stage_of(text)
    relations = [r for stratum in stage.strata for r in stratum.relations]
    return [
        (each.key, {str(relation): places for relation, places in each.keys})
        for each in finer_stages(stage, relations)
    ]


def test_a_longer_key_is_followed_through_the_rules() -> None:
    ((names, places),) = tried(STATUS)
    assert names == ("K", "M")
    assert places == {
        "status/2": (0, 1), "late/2": (1, 0), "propose/3": (1, 2), "close/2": (1, 0),
        "vote/2": (0, 1),
    }  # fmt: skip


def test_keys_with_fewer_arguments_come_first() -> None:
    """Of the arguments beside the stage's key, one after the other, and then all."""
    lengths = [len(names) for names, _ in tried(VOTED)]
    assert lengths == [2, 2, 3]


def test_fluents_of_two_entities_share_a_lane() -> None:
    lane = only_lane(STATUS)
    assert lane.key == ("K", "M")
    assert {str(relation) for relation in lane.definitions} == {"status/2", "late/2"}


def test_what_has_not_the_whole_key_stays_with_columns() -> None:
    assert verdicts(STATUS)["status/2"] == ("lane", "")
    text = STATUS + "seen(K)=true iff status(K, _M)=open.\n"
    assert reason(text, "seen/1") == "has not both K and M, by which others are walked"


def test_what_reads_nothing_of_the_rest_has_its_own_key() -> None:
    text = QUIET + "initiatedAt(loud(K, M)=true, T) :- happensAt(shout(K, M), T).\n"
    lanes = [lane for swept in cernis.load(text).plan.sweep for lane in swept.lanes]
    assert sorted(lane.key for lane in lanes) == [("K",), ("K", "M")]
    more = "initiatedAt(noisy(K)=true, T) :- happensAt(start(loud(K, _)=true), T).\n"
    assert reason(text + more, "noisy/1") == "reads loud/2, which is walked by another key"


def test_a_key_that_others_lead_to_is_tried_once() -> None:
    text = "".join(
        f"initiatedAt(f{number}(X, Y)=true, T) :- happensAt(a(X, Y), T).\n" for number in range(20)
    )
    ((names, places),) = tried(text)
    assert names == ("X", "Y")
    assert len(places) == 21
