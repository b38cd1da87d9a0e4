"""Sessions: what their feeds add up to is what a run says as of each query."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

import cernis
from cernis.errors import DataError
from cernis.session import session as session_module
from cernis.session.session import Session
from tests.agreement.compare import Scenario, by_engine, scenarios
from tests.agreement.compare import difference as engine_difference
from tests.generators.streams import Settings
from tests.session.feeds import Fed, Sum, answer_rows, difference, rows

SEEDS = range(7_000, 7_048)


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
@pytest.mark.parametrize("chunk", range(4))
def test_feeds_add_up_to_the_answers_of_a_run(chunk: int, incremental: bool) -> None:
    for seed in SEEDS[chunk::4]:
        for scenario, program in scenarios(seed, 2):
            result = by_engine(scenario, program, per_query=True)
            found = difference(scenario, program, result, incremental)
            assert not found, f"seed {seed}\n{scenario}\n{found}"


FOUND = {
    "a_list_kept_by_no_key_lasts": Scenario(
        (
            "initiatedAt(fluent0(ann)=true, T) :- happensAt(order(bill(P1), N1), T).",
            "holdsFor(static2(P1)=P1, I2) :- holdsFor(fluent0(P1)=true, I1), "
            "intDurGreater(I1, 6, I2).",
        ),
        ("order|18|18|bill(bob)|1",),
        {"start": 0, "window": 18, "step": 6, "end": 54},
    ),
    "a_list_is_asked_for_a_value_only": Scenario(
        (
            "holdsFor(static0(P1, N1)=true, I2) :- holdsFor(level(P1)=N1, I1), "
            "holdsFor(dose(P1)=A1, I2), N2 is N1 * 2.",
        ),
        ("level|130|80|130|1|Far Out", "dose|170|170|2.5|Far Out"),
        {"window": 80, "step": 50, "start": 0, "end": 220},
    ),
    "a_long_interval_has_lost_its_beginning": Scenario(
        (
            "holdsFor(static0(N1)=red, I3) :- holdsFor(level(P1)=N1, I1), \\+ I1 = [], "
            "intDurGreater(I1, 50, I2), intersect_all([I2, I2], I3).",
        ),
        ("level|10|10|90|1|Far Out", "level|130|80|130|1|bob"),
        {"ties": "break", "window": 90, "step": 10, "start": 0, "end": 180},
    ),
    "nobody_is_left_to_be_initiated": Scenario(
        (
            "initiatedAt(fluent0(P1, -1)=true, T) :- happensAt(pour(P1, A1), T).",
            "initiatedAt(fluent0(P1, _)=true, T) :- happensAt(meet(P1, P2), T).",
            "ft(fluent0(P1, N1)=true, R) :- limit(P1, N), R is (N + 2) * 10.",
            "limit('Far Out', -1).",
        ),
        ("pour|60|60|Far Out|1.5", "meet|90|90|Far Out|bob"),
        {"window": 50, "step": 10, "start": 20, "end": 180},
    ),
}
"""What has been found by chance, made as small as it could be."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    scenario = FOUND[name]
    program = cernis.load(scenario.rules)
    result = by_engine(scenario, program, per_query=True)
    assert not difference(scenario, program, result, True)


def test_either_way_goes_on_from_the_other() -> None:
    for seed in SEEDS[1::3]:
        random = Random(seed)
        for scenario, program in scenarios(seed, 2):
            result = by_engine(scenario, program, per_query=True)
            fed, found = Fed(scenario, program, incremental=True), Sum()
            for window, (_, answer) in zip(fed.windows, result.as_of, strict=True):
                fed.insert(window.query)
                # Some queries evaluate everything, as after a change of rules.
                fed.session.is_revised = random.random() < 0.5
                feed = fed.session.query(window.query)
                found.add(feed.table(), feed.happenings())
                where = f"seed {seed} at {window.query}\n{scenario}"
                assert found.rows == answer_rows(answer), where


@pytest.mark.parametrize("seed", range(7_400, 7_412))
def test_steps_may_be_longer_than_windows(seed: int) -> None:
    """A run, and sessions either way: the same feed, and the same intervals in the window."""
    random = Random(seed)
    for drawn, program in scenarios(seed, 2):
        tick = program.checked.definitions.settings.tick
        window = tick * random.randint(2, 6)
        longer: Settings = {"window": window, "step": window + tick * random.randint(1, 8)}
        scenario = replace(drawn, settings=drawn.settings | longer)
        where = f"seed {seed}\n{scenario}"
        assert not engine_difference(scenario, program), where
        result = by_engine(scenario, program, per_query=True)
        assert not difference(scenario, program, result, True), where
        assert not difference(scenario, program, result, False), where
        ways = [Fed(scenario, program, incremental=way) for way in (True, False)]
        for each in ways[0].windows:
            listed = []
            for fed in ways:
                fed.insert(each.query)
                fed.session.query(each.query)
                listed.append(Counter(rows(fed.session.intervals())))
            assert listed[0] == listed[1], f"{where}\nat {each.query}"


@pytest.mark.parametrize("incremental", [True, False])
def test_an_effect_between_windows_is_told_at_its_own_time(incremental: bool) -> None:
    rules = "initiatedAt(f(X)=v, T) :- happensAt(a(X), T).\nfi(f(X)=v, f(X)=w, 3).\n"
    session = Session(cernis.load(rules).plan, 5, None, 0, incremental=incremental)
    session.insert([("a", 4, 4, "x")])
    assert _changes(session, 5) == [("insert", "f", ("x",), "v", 5, None)]
    assert _changes(session, 20) == [
        ("delete", "f", ("x",), "v", 5, None),
        ("insert", "f", ("x",), "v", 5, 8),
        ("insert", "f", ("x",), "w", 8, None),
    ]
    assert [row[2:5] for row in rows(session.intervals())] == [("w", 8, None)]


@pytest.mark.parametrize("policy", ["partial", "final"])
def test_policies_report_what_is_settled(policy: str) -> None:
    """Both evaluators report the same, and in the end what an early report adds up to, if final."""
    for seed in SEEDS[::6]:
        for scenario, program in scenarios(seed, 1):
            sessions = [
                Fed(scenario, program, policy=policy, incremental=True),
                Fed(scenario, program, policy=policy, incremental=False),
            ]
            for window in sessions[0].windows:
                feeds = []
                for fed in sessions:
                    fed.insert(window.query)
                    feeds.append(Counter(rows(fed.session.query(window.query).table())))
                assert feeds[0] == feeds[1], f"seed {seed}\n{scenario}\nat {window.query}"
                if policy == "final":
                    assert not any(row[0] == "delete" for row in feeds[0])


TOY = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
initiatedAt(alarm(X)=on, T) :- happensAt(knock(X), T), \\+ holdsAt(rich(X)=true, T).
fi(alarm(X)=on, alarm(X)=off, 5).
"""


def _session(**options: object) -> Session:
    return cernis.load(TOY).session(**options)  # type: ignore[arg-type]


def _changes(session: Session, query: int) -> list[tuple[object, ...]]:
    return sorted(row[:6] for row in rows(session.query(query).table()))


def test_a_late_event_corrects_what_was_said() -> None:
    session = _session(window=100, step=10, start=0)
    session.insert([("win", 5, 5, "ann"), ("knock", 12, 12, "ann")])
    assert _changes(session, 20) == [("insert", "rich", ("ann",), "true", 6, None)]
    session.insert([("lose", 25, 8, "ann")])
    assert _changes(session, 30) == [
        ("delete", "rich", ("ann",), "true", 6, None),
        ("insert", "alarm", ("ann",), "off", 18, None),
        ("insert", "alarm", ("ann",), "on", 13, 18),
        ("insert", "rich", ("ann",), "true", 6, 9),
    ]


def test_a_retraction_takes_back_what_followed() -> None:
    session = _session(window=100, step=10, start=0)
    session.insert([("win", 5, 5, "ann"), ("lose", 9, 9, "ann")])
    session.query(10)
    session.retract([("lose", 11, 9, "ann")])
    assert _changes(session, 20) == [
        ("delete", "rich", ("ann",), "true", 6, 10),
        ("insert", "rich", ("ann",), "true", 6, None),
    ]


def test_a_deadline_fires_without_a_new_event() -> None:
    session = _session(window=100, step=10, start=0)
    session.insert([("knock", 8, 8, "bob")])
    assert _changes(session, 10) == [("insert", "alarm", ("bob",), "on", 9, None)]
    assert _changes(session, 20) == [
        ("delete", "alarm", ("bob",), "on", 9, None),
        ("insert", "alarm", ("bob",), "off", 14, None),
        ("insert", "alarm", ("bob",), "on", 9, 14),
    ]


def test_what_cannot_count_is_counted_elsewhere() -> None:
    session = _session(window=20, step=10, start=0)
    session.insert([("win", 5, 5, "ann"), ("win", 50, 50, "eve"), ("jump", 1, 1)])
    session.query(40)
    assert session.waiting == 1
    session.retract([("lose", 41, 39, "ann")])
    session.insert([("win", 41, 7, "bob")])
    session.query(45)
    assert [aside.reason for aside in session.counts.set_aside] == ["there is no record to retract"]
    assert len(session.counts.too_late) == 2
    assert session.counts.ignored == {"jump": 1}
    session.query(50)
    assert session.waiting == 0
    assert len(session) == 1


def test_of_many_that_are_too_late_some_are_listed() -> None:
    session = _session(window=10, step=10, start=0)
    _changes(session, 5_000)
    session.insert([("win", 5_000, number + 1, "ann") for number in range(3_000)])
    _changes(session, 5_010)
    assert session.counts.all_too_late == 3_000
    assert session.counts.too_late[-1].text == "win|5000|3000|ann"
    assert len(session.counts.too_late) == 1_000


def test_an_empty_batch_changes_nothing() -> None:
    session = _session(window=20, step=10, start=0)
    assert len(session.query(10)) == 0
    session.insert([])
    assert len(session.query(20)) == 0


def test_time_goes_forward() -> None:
    session = _session(window=20, step=10)
    session.query(10)
    with pytest.raises(DataError, match="time goes forward"):
        session.query(9)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(DataError, match="early, partial, final"):
        _session(policy="soon")


def test_the_window_knows_what_reaches_into_it() -> None:
    session = _session(window=10, step=10, start=0)
    found = Sum()
    for query, batch in ((10, [("win", 5, 5, "ann")]), (20, []), (40, [("lose", 35, 35, "ann")])):
        session.insert(batch)
        found.add(session.query(query).table())
    assert set(found.rows) == {("rich", ("ann",), "true", 6, 36)}
    assert [row[:5] for row in rows(session.intervals())] == [("rich", ("ann",), "true", 6, 36)]
    session.query(60)
    assert not session.intervals().num_rows


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
def test_new_codes_change_nothing(incremental: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "LEAST_CODES", 1)
    monkeypatch.setattr(session_module, "MOST_GROWTH", 2)
    for seed in SEEDS[::5]:
        for scenario, program in scenarios(seed, 2):
            result = by_engine(scenario, program, per_query=True)
            found = difference(scenario, program, result, incremental)
            assert not found, f"seed {seed}\n{scenario}\n{found}"


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
def test_values_that_the_window_has_passed_are_forgotten(
    incremental: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "LEAST_CODES", 100)
    session = Session(cernis.load(TOY).plan, 20, 10, 0, incremental=incremental)
    found = Sum()
    first = None
    for number in range(100):
        at = 10 * number + 5
        session.insert([(name, at, at + (name == "lose"), f"visitor {number} {k}")
                        for k in range(10) for name in ("win", "lose")])  # fmt: skip
        feed = session.query(at + 5)
        first = first or feed
        found.add(feed.table())
        assert session.codes <= 400
    assert len(found.rows) == 1000
    # A feed knows its values, whatever codes they have by now.
    assert first is not None
    assert {row[2][0] for row in rows(first.table())} == {f"visitor 0 {k}" for k in range(10)}


def test_combinations_that_the_window_has_passed_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few values, and numbers, which have no codes: what grows are the keys of a lane."""
    monkeypatch.setattr(session_module, "LEAST_CODES", 100)
    rules = """
        initiatedAt(open(Door, Visit)=true, T) :- happensAt(enter(Door, Visit), T).
        terminatedAt(open(Door, Visit)=true, T) :- happensAt(leave(Door, Visit), T).
    """
    session = Session(cernis.load(rules).plan, 20, 10, 0)
    assert session.may_walk
    found = Sum()
    for number in range(100):
        time = 10 * number + 5
        session.insert([(name, time, time + (name == "leave"), "door", 10 * number + k)
                        for k in range(10) for name in ("enter", "leave")])  # fmt: skip
        found.add(session.query(time + 5).table())
        assert session.codes <= 400
    assert session.may_walk
    assert len(found.rows) == 1000


def test_a_record_of_a_far_future_is_set_aside() -> None:
    session = _session(window=20, step=10, start=0, future="15")
    session.insert([("win", 12, 12, "ann"), ("win", 9, 25, "bob"), ("win", 9, 26, "eve")])
    session.insert([("lose", 9000, 5, "ann"), ("win", 5, 9000, "zoe")])
    session.query(10)
    assert session.waiting == 2
    assert [aside.text for aside in session.counts.set_aside] == [
        "win|9|26|eve", "win|5|9000|zoe", "lose|9000|5|ann"
    ]  # fmt: skip
    assert all("of the future" in aside.reason for aside in session.counts.set_aside)
    assert [row[2] for row in _changes(session, 30)] == [("ann",), ("bob",)]


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
def test_arrivals_that_go_back(incremental: bool) -> None:
    """A clock that jumps back: what counts is what was given before the query."""
    session = Session(cernis.load(TOY).plan, 100, 10, 0, incremental=incremental)
    session.insert([("win", 19, 19, "ann")])
    assert _changes(session, 20) == [("insert", "rich", ("ann",), "true", 20, None)]
    session.insert([("win", 3, 3, "bob"), ("lose", 4, 4, "bob")])
    assert _changes(session, 20) == [("insert", "rich", ("bob",), "true", 4, 5)]
    session.retract([("win", 2, 19, "ann"), ("win", 2, 18, "ann")])
    assert _changes(session, 30) == [("delete", "rich", ("ann",), "true", 20, None)]
    assert len(session.counts.set_aside) == 1


def test_what_is_listed_of_unusable_records_is_bounded() -> None:
    session = _session(window=20, step=10, start=0)
    for number in range(30):
        session.insert([("win", "soon", "now", "ann")] * 100)
        session.query(10 * number)
    assert session.counts.all_set_aside == 3000
    assert len(session.counts.set_aside) <= 1100


def test_what_is_given_later_comes_later_whatever_its_line() -> None:
    """Of one arrival, a record of an earlier batch can be taken back by a later one."""
    session = _session(window=100, step=10, start=0)
    session.insert("win|5|5|bob\nwin|7|7|ann\n")
    session.insert("-win|7|7|ann\n")
    assert _changes(session, 10) == [("insert", "rich", ("bob",), "true", 6, None)]
    assert not session.counts.set_aside
