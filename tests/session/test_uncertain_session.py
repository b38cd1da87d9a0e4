"""Sessions over uncertain records: against the definition, point by point, and against runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import cernis
from cernis.errors import CernisError, DataError
from cernis.program import Program
from cernis.syntax import parse_term
from tests.agreement.test_random_uncertain_programs import DECLARED, Drawn
from tests.reference.patterns import compact, read_program
from tests.reference.uncertain_windows import Told, Windows, folded

LAST = 14
MORE = "holdsFor(n(X)=on, I) :- holdsFor(f(X)=on, I).\n"


class Stream:
    """A drawn program, and records that come late or are taken back."""

    def __init__(self, seed: int, late: bool, static: bool = False) -> None:
        self.chance = random.Random(seed)
        drawn = Drawn(seed, cyclic=seed % 3 == 0, static=static)
        self.rules = drawn.rules
        self.ties = "break" if "ties(break)" in drawn.rules else "initiation"
        self.told: list[Told] = []
        for _ in range(16):
            _, what, _ = self.chance.choice(drawn.records)
            time = self.chance.randrange(1, LAST)
            arrival = time + (self.chance.choice([0, 0, 0, 1, 4]) if late else 0)
            gone = arrival + 1 if late and self.chance.random() < 0.2 else None
            chance = self.chance.choice([0.1, 0.5, 0.8, 1.0])
            self.told.append(Told((chance, parse_term(what), time), arrival, gone))

    def lines(self) -> list[tuple[int, str]]:
        """Text records and retractions, each with its arrival."""
        found = []
        for own in self.told:
            chance, what, time = own.record
            name, _, rest = compact(what).partition("(")
            value = "true|" if name == "near" else ""
            fields = f"{time}|{value}{rest[0]}"
            found.append((own.arrival, f"{chance}::{name}|{own.arrival}|{fields}"))
            if own.gone is not None:
                found.append((own.gone, f"{chance}::-{name}|{own.gone}|{fields}"))
        return sorted(found)

    def reference(self, window: int) -> Windows:
        items = read_program(self.rules, "drawn")
        return Windows(items, self.told, window, 0, ties=self.ties)

    def program(self) -> Program:
        return cernis.load(DECLARED + self.rules)


def pair_of(row: dict[str, Any]) -> str:
    return _pair(row["fluent"], row["args"], row["value"])


def _pair(name: str, args: Sequence[str], value: Any) -> str:
    return f"{name}({','.join(args)})={value}" if args else f"{name}={value}"


def close(found: set[tuple[Any, ...]], expected: set[tuple[Any, ...]]) -> bool:
    """Are they equal, probabilities up to rounding?"""

    def rounded(rows: set[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return sorted(((*row[:-1], round(row[-1], 7)) for row in rows), key=str)

    return rounded(found) == rounded(expected)


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize(("window", "step"), [(4, 2), (9, 3), (3, 4), (LAST, 5)])
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_as_defined(seed: int, window: int, step: int, limit: int | None, static: bool) -> None:
    """Late records, retractions, forgetting: the sum of the feed is the answer by definition."""
    stream = Stream(seed, late=True, static=static)
    print(f"seed {seed}\n{stream.rules}\n{stream.lines()}")
    reference = stream.reference(window)
    session = stream.program().uncertain_session(
        window=window, step=step, start=0, memory=limit, ties=stream.ties, mean_change=0
    )
    feeds, told, given = [], [], stream.lines()
    for time in range(step, LAST + step, step):
        session.insert([line for arrival, line in given if time - step < arrival <= time])
        feed = session.query(time)
        feeds.append(feed.table().to_pylist())
        told += feed.probabilities().to_pylist()
        reference.query(time)
        _compare_probabilities(session.probabilities().to_pylist(), reference, time)
        found = {
            (_pair(name, args, value), start, end, chance)
            for name, args, value, start, end, chance in folded(feeds)
        }
        expected = {
            (compact(pair), *each)
            for pair in reference.courses
            for each in reference.intervals(pair, 0.5, limit)
        }
        assert close(found, expected), f"at {time}"
    _compare_settled(told, reference, time)


def _compare_settled(told: list[dict[str, Any]], reference: Windows, last: int) -> None:
    """What the edge has passed was told, each point once, and as it stands."""
    found: dict[tuple[str, int], float] = {}
    for row in told:
        for point in range(row["start"], row["end"]):
            assert (pair_of(row), point) not in found
            found[pair_of(row), point] = row["probability"]
    for pair in reference.courses:
        for point, chance in enumerate(reference.series(pair), 1):
            if point <= last - reference.window:
                told_of = found.pop((compact(pair), point), 0.0)
                assert told_of == pytest.approx(chance, abs=1e-9), (compact(pair), point)
    assert not found


def _compare_probabilities(rows: list[dict[str, Any]], reference: Windows, time: int) -> None:
    found: dict[tuple[str, int], float] = {}
    for row in rows:
        for point in range(row["start"], time + 2 if row["end"] is None else row["end"]):
            found[pair_of(row), point] = row["probability"]
    edge = max(0, time - reference.window)
    for pair, course in reference.courses.items():
        for point in range(edge + 1, time + 2):
            chance = found.pop((compact(pair), point), 0.0)
            assert chance == pytest.approx(course.get(point, 0.0), abs=1e-9), (compact(pair), point)
    assert not [key for key in found if key[1] > edge]


@pytest.mark.parametrize(
    "memory", [{}, {"memory": 2}, {"memory": 2, "durations": {"f": (3, 1), "g": (4, 2)}}]
)
@pytest.mark.parametrize("seed", range(4))
def test_batches_of_a_stream_that_is_on_time_are_as_the_whole(
    seed: int, memory: dict[str, Any]
) -> None:
    """However it is cut, and however short the window is."""
    stream = Stream(seed, late=False)
    print(f"seed {seed}\n{stream.rules}\n{stream.lines()}")
    program, text = stream.program(), "\n".join(line for _, line in stream.lines()) + "\n"
    names = program.uncertain_session(start=0).uncertain
    whole = program.run_uncertain(
        text, start=0, end=LAST, uncertain=map(str, names), ties=stream.ties, **memory
    )
    expected = [pair_of(row) + str(row) for row in whole.intervals.to_pylist()]
    for window, step in [(1, 1), (4, 2), (7, 7), (LAST, 3)]:
        session = program.uncertain_session(
            window=window, step=step, start=0, ties=stream.ties, mean_change=0, **memory
        )
        session.insert(text)
        rows = [session.query(time).table().to_pylist() for time in range(step, LAST, step)]
        rows.append(session.query(LAST).table().to_pylist())
        keys = ("fluent", "args", "value", "start", "end", "probability")
        expected_rows = {
            tuple(tuple(row[key]) if key == "args" else row[key] for key in keys)
            for row in whole.intervals.to_pylist()
        }
        assert close(folded(rows), expected_rows), (window, step)
        again = program.run_uncertain(
            text, start=0, end=LAST, uncertain=map(str, names), ties=stream.ties, window=window,
            step=step, **memory,
        )  # fmt: skip
        found = [pair_of(row) + str(row) for row in again.intervals.to_pylist()]
        assert found == expected
        assert again.probability_text() == whole.probability_text()
        assert again.text() == whole.text()


# -- by hand -----------------------------------------------------------------------------------

SWITCH = """
    initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
    terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
"""


def changes(feed: Any) -> list[tuple[Any, ...]]:
    keys = ("change", "fluent", "start", "end", "probability")
    rows = feed.table().to_pylist()
    return [tuple(_rounded(row[key]) for key in keys) for row in rows]


def _rounded(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def _sorted(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(_rounded(own) for own in row.values()) for row in rows), key=str)


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("seed", range(3))
def test_saved_and_restored(seed: int, limit: int | None, tmp_path: Path) -> None:
    """A session that is saved and restored after each query goes on as one that is not."""
    stream = Stream(seed, late=True, static=seed > 0)
    print(f"seed {seed}\n{stream.rules}\n{stream.lines()}")
    program, file = stream.program(), tmp_path / "s"
    one = program.uncertain_session(
        window=6, step=2, start=0, memory=limit, ties=stream.ties,
        durations={"f": {"mean": 3, "deviation": 1}} if limit else None,
    )  # fmt: skip
    two: Any = one
    one.save(file)
    for time in range(2, LAST + 2, 2):
        two = program.restore(file)
        batch = [line for arrival, line in stream.lines() if time - 2 < arrival <= time]
        tables = []
        for session in (one, two):
            session.insert(batch)
            feed = session.query(time)
            given = feed.table(), feed.probabilities(), session.intervals()
            tables.append([_sorted(table.to_pylist()) for table in given])
        assert tables[0] == tables[1]
        two.save(file)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("window", [6, 20])
def test_restored_with_a_further_fluent(seed: int, window: int, tmp_path: Path) -> None:
    """What has not changed goes on as if the rules had not, and the new fluent is derived."""
    stream = Stream(seed, late=True, static=seed % 2 == 1)
    print(f"seed {seed}\n{stream.rules}\n{stream.lines()}")
    program, file = stream.program(), tmp_path / "s"
    more = cernis.load(f"{DECLARED}{stream.rules}\n{MORE}")
    one: Any = program.uncertain_session(window=window, step=2, start=0, ties=stream.ties)
    two: Any = one
    for time in range(2, LAST + 2, 2):
        batch = [line for arrival, line in stream.lines() if time - 2 < arrival <= time]
        one.insert(batch)
        feed = one.query(time)
        if two is not one:
            two.insert(batch)
            assert _without(two.query(time).table(), "n") == _without(feed.table(), "n")
        if time == 8:
            one.save(file)
            two = more.restore(file)
            assert not _without(two.revision.table(), "n")
        if two is not one:
            assert _without(two.intervals(), "n") == _without(one.intervals(), "n")
            assert _without(two.probabilities(), "n") == _without(one.probabilities(), "n")
            rows = two.probabilities().to_pylist()
            keys = ("args", "value", "start", "end", "probability")
            parts = [
                [
                    tuple(str(_rounded(row[key])) for key in keys)
                    for row in rows
                    if row["fluent"] == name
                ]
                for name in ("n", "f")
            ]
            assert parts[0] == [each for each in parts[1] if each[1] == "on"]


def _without(table: Any, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table but for those of one fluent, whatever the version of the rules."""
    rows = [
        {key: value for key, value in row.items() if key != "rule_version"}
        for row in table.to_pylist() if row["fluent"] != name
    ]  # fmt: skip
    return _sorted(rows)


def test_a_changed_fluent_is_derived_again_from_the_window(tmp_path: Path) -> None:
    file = tmp_path / "s"
    session: Any = cernis.load(SWITCH).uncertain_session(window=20, step=10, start=0, threshold=0.8)
    session.insert("0.8::up|2|2|a\n0.8::down|4|4|a\n")
    session.query(10)
    session.save(file)
    changed = SWITCH.replace("terminatedAt(on", "initiatedAt(low")
    restored: Any = cernis.load(changed).restore(file)
    assert sorted(changes(restored.revision), key=str) == [
        ("delete", "on", 3, 5, 0.8), ("insert", "low", 5, None, 0.8), ("insert", "on", 3, None, 0.8)
    ]  # fmt: skip
    rows = restored.probabilities().to_pylist()
    assert [(row["fluent"], row["probability"]) for row in rows] == [("low", 0.8), ("on", 0.8)]


def test_what_forgotten_records_made_likely_is_not_derived_again(tmp_path: Path) -> None:
    file = tmp_path / "s"
    session: Any = cernis.load(SWITCH).uncertain_session(window=10, step=10, start=0)
    session.insert("0.8::up|2|2|a\n")
    for time in (10, 20, 30):
        session.query(time)
    session.save(file)
    changed = SWITCH.replace("happensAt(up(X), T)", "happensAt(up(X), T), X \\= b")
    assert changed != SWITCH
    with pytest.raises(DataError, match="the rules have changed, and with them .* on/1"):
        cernis.load(changed).restore(file)


def test_a_fluent_that_is_gone_is_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "s"
    rules = SWITCH + "initiatedAt(low(X)=true, T) :- happensAt(down(X), T).\n"
    session: Any = cernis.load(rules).uncertain_session(window=10, step=10, start=0, threshold=0.8)
    session.insert("0.8::up|2|2|a\n0.8::down|4|4|a\n")
    session.query(10)
    session.save(file)
    restored: Any = cernis.load(SWITCH).restore(file)
    assert changes(restored.revision) == [("delete", "low", 5, None, 0.8)]
    assert [row["fluent"] for row in restored.intervals().to_pylist()] == ["on"]


def test_a_fluent_that_was_certain_must_have_a_new_name(tmp_path: Path) -> None:
    file = tmp_path / "s"
    certain = "holdsFor(long(X)=true, I) :- holdsFor(on(X)=true, J), intDurGreater(J, 2, I).\n"
    session: Any = cernis.load(SWITCH + certain).uncertain_session(window=10, step=10, start=0)
    session.insert("0.8::up|2|2|a\n")
    session.query(10)
    session.save(file)
    likely = "holdsFor(long(X)=true, I) :- holdsFor(on(X)=true, I).\n"
    with pytest.raises(DataError, match="long/1 has a probability now"):
        cernis.load(SWITCH + likely).restore(file)


def test_records_with_ids(tmp_path: Path) -> None:
    """A record that comes again is ignored, and one is taken back by its id."""
    session: Any = cernis.load(SWITCH).uncertain_session(
        window=20, step=10, start=0, ids="id", threshold=0.8
    )
    session.insert("0.8::up|2|2|a|r1\n0.3::up|2|2|a|r1\n0.5::down|4|4|a|r2\n")
    assert changes(session.query(10)) == [("insert", "on", 3, 5, 0.8)]
    assert session.counts.duplicates == 1
    file = tmp_path / "s"
    session.save(file)
    for each in (session, cernis.load(SWITCH).restore(file)):
        each.insert("-down|11|4|a|r2\n0.9::up|12|2|a|r1\n")
        assert changes(each.query(20)) == [
            ("delete", "on", 3, 5, 0.8), ("insert", "on", 3, None, 0.8)
        ]  # fmt: skip
        assert each.counts.duplicates == 2


def test_records_too_far_in_the_future_are_set_aside() -> None:
    session = cernis.load(SWITCH).uncertain_session(window=20, step=10, start=0, future=5)
    session.insert("0.8::up|2|2|a\n0.8::up|99|99|a\n")
    session.query(10)
    assert len(session.counts.set_aside) == 1


def test_what_is_forgotten_goes_on_by_inertia() -> None:
    session = cernis.load(SWITCH).uncertain_session(window=10, step=5, start=0)
    session.insert("0.8::up|2|2|a\n0.5::down|4|4|a\n")
    assert changes(session.query(5)) == [("insert", "on", 3, None, 0.6)]
    assert len(session) == 2
    session.query(10)
    session.query(15)
    assert len(session) == 0
    (row,) = session.probabilities().to_pylist()
    assert (row["start"], row["end"], row["probability"]) == (6, None, pytest.approx(0.4))


def test_late_and_retracted_records_correct_what_was_told() -> None:
    session = cernis.load(SWITCH).uncertain_session(window=20, step=5, start=0)
    session.insert("0.9::up|1|1|a\n")
    assert changes(session.query(5)) == [("insert", "on", 1, None, 0.75)]
    session.insert("down|7|2|a\n")
    assert changes(session.query(10)) == [
        ("delete", "on", 1, None, 0.75), ("insert", "on", 2, 3, 0.9),
    ]  # fmt: skip
    session.insert("-down|12|2|a\n")
    assert changes(session.query(15))[-1] == ("insert", "on", 1, None, pytest.approx(0.84375))
    session.insert("up|40|12|b\n")
    session.query(40)
    (late,) = session.counts.too_late
    assert "too late" in late.reason


def test_a_mean_that_moves_little_is_not_told_again() -> None:
    text = "".join(f"{'0.9' if t % 7 else '0.2'}::up|{t}|{t}|a\n" for t in range(1, 400))
    text += "".join(f"0.5::down|{t}|{t}|a\n" for t in range(1, 400, 2))
    program = cernis.load(SWITCH)
    sessions = [
        program.uncertain_session(window=20, step=10, start=0, **more)  # type: ignore[arg-type]
        for more in ({"mean_change": 0.02}, {"mean_change": 0}, {})
    ]
    counts = [0, 0, 0]
    for session in sessions:
        session.insert(text)
    for time in range(10, 410, 10):
        told = [session.query(time).table() for session in sessions]
        counts = [count + table.num_rows for count, table in zip(counts, told, strict=True)]
        (sticky,), (exact,), _ = (session.intervals().to_pylist() for session in sessions)
        assert (sticky["start"], sticky["end"]) == (exact["start"], exact["end"])
        assert abs(sticky["probability"] - exact["probability"]) <= 0.02
    assert counts[1] == 79
    assert counts[2] <= counts[0] < 20
    with pytest.raises(DataError, match="change of a mean"):
        program.uncertain_session(mean_change=True)


def test_relations_that_are_not_named_are_certain() -> None:
    """Over certain records rules may do what is not defined under uncertainty."""
    rules = (
        SWITCH
        + """
        initiatedAt(open(X)=true, T) :- happensAt(unlock(X), T).
        ft(open(X)=true, 3) :- grounding(open(X)=true).
        initiatedAt(both(X)=true, T) :- happensAt(startI(open(X)=true), T), holdsAt(on(X)=true, T).
    """
    )
    rules = rules.replace("ft(open(X)=true, 3) :- grounding(open(X)=true).", "ft(open(_)=true, 3).")
    program = cernis.load(rules)
    with pytest.raises(CernisError, match="uncertain"):
        program.uncertain_session(start=0).query(1)
    session = program.uncertain_session(start=0, uncertain=["up", "down/1"], window=20, step=5)
    session.insert("0.6::up|1|1|a\n0.7::unlock|2|2|a\nunlock|3|3|a\n")
    found = changes(session.query(5))
    (aside,) = session.counts.set_aside
    assert "not among those" in aside.reason
    assert ("insert", "open", 4, None, 1.0) in found
    assert ("insert", "open", 4, 7, 1.0) in changes(session.query(10))
    probabilities = {row["fluent"]: row for row in session.probabilities().to_pylist()}
    assert probabilities["both"]["probability"] == pytest.approx(0.6)
    with pytest.raises(DataError, match="there are down/1, unlock/1, up/1"):
        program.uncertain_session(uncertain=["upp"])


def test_patterns_over_certain_events() -> None:
    rules = (
        SWITCH
        + """
        rush(X) <- knock(X) seq knock(X) within 8.
        initiatedAt(seen(X)=true, T) :- happensAt(rush(X), T), holdsAt(on(X)=true, T).
    """
    )
    session = cernis.load(rules).uncertain_session(
        start=0, window=5, step=5, uncertain=["up", "down"]
    )
    session.insert("0.8::up|1|1|a\nknock|4|4|a\nknock|9|9|a\n")
    assert session.query(5).happenings().num_rows == 0
    # What began before the window is part of a match in it.
    (found,) = session.query(10).happenings().to_pylist()
    assert found["event"] == "rush"
    chances = {row["fluent"]: row["probability"] for row in session.probabilities().to_pylist()}
    assert chances == {"on": pytest.approx(0.8), "seen": pytest.approx(0.8)}


def test_static_fluents_follow_their_parts_point_by_point() -> None:
    program = cernis.load(
        SWITCH + "dark(X)=true iff on(X)=true, not lit(X)=true.\npoints(lit(_)=_)."
    )
    session = program.uncertain_session(window=10, step=10, start=0)
    session.insert("up|2|2|a\n0.9::lit|5|5|true|a\n0.9::lit|6|6|true|a\ndown|18|18|a\n")
    session.query(10)
    dark = [row for row in session.probabilities().to_pylist() if row["fluent"] == "dark"]
    assert [(row["start"], row["end"]) for row in dark] == [(3, 5), (5, 7), (7, None)]
    assert [row["probability"] for row in dark] == pytest.approx([1, 0.1, 1])
    told = [row for row in session.query(20).probabilities().to_pylist() if row["fluent"] == "dark"]
    assert [(row["start"], row["end"]) for row in told] == [(3, 5), (5, 7), (7, 11)]


def test_static_values_of_several_strata_go_on_between_windows() -> None:
    rules = (
        SWITCH
        + """
        holdsFor(state(X)=lit, I) :- holdsFor(on(X)=true, I).
        holdsFor(state(X)=dark, I) :- holdsFor(state(X)=lit, J), complement_all([J], I).
    """
    )
    session = cernis.load(rules).uncertain_session(window=4, step=8, start=0)
    session.insert("0.8::up|2|2|a\n0.5::down|7|7|a\n0.5::down|14|14|a\n")
    told: list[dict[str, Any]] = []
    for time in (4, 12, 20):
        told += session.query(time).probabilities().to_pylist()
        told += session.probabilities().to_pylist() if time == 20 else []
    found = {}
    for row in (row for row in told if row["fluent"] == "state"):
        for point in range(row["start"], row["end"] or 22):
            assert found.setdefault((row["value"], point), row["probability"]) == row["probability"]
    for value, chance in (("lit", 0.8), ("dark", 0.2)):
        assert [found[value, point] for point in range(3, 22)] == pytest.approx([chance] * 19)


def test_exact_probabilities_reach_back_to_the_edge() -> None:
    rules = (
        SWITCH
        + """
        :- exact(window).
        initiatedAt(seen(X)=true, T) :- happensAt(look(X), T), holdsAt(on(X)=true, T).
        initiatedAt(both(X)=true, T) :-
            happensAt(ask(X), T), holdsAt(on(X)=true, T), holdsAt(seen(X)=true, T).
    """
    )
    text = "0.5::up|1|1|a\nlook|2|2|a\nask|3|3|a\n"
    whole = cernis.load(rules).run_uncertain(text, start=0, end=8).probabilities.to_pylist()
    chances = {row["fluent"]: row["probability"] for row in whole}
    assert chances == {"on": 0.5, "seen": 0.5, "both": 0.5}
    session = cernis.load(rules).uncertain_session(window=8, step=4, start=0)
    session.insert(text)
    for time in (4, 8):
        session.query(time)
        rows = session.probabilities().to_pylist()
        assert {row["fluent"]: row["probability"] for row in rows} == chances
    far = cernis.load(rules.replace("window", "9")).uncertain_session(window=8, step=4, start=0)
    far.query(8)
    with pytest.raises(DataError, match="exact over 9 points, and the window has 8"):
        far.query(12)


def test_static_fluents_that_are_measured_are_made_of_credible_intervals() -> None:
    program = cernis.load(
        SWITCH
        + "dark(X)=true iff on(X)=true, not lit(X)=true.\npoints(lit(_)=_).\n"
        + "holdsFor(night(X)=true, I) :- holdsFor(dark(X)=true, J), intDurGreater(J, 3, I)."
    )
    session = program.uncertain_session(window=10, step=10, start=0)
    session.insert("up|2|2|a\n0.9::lit|5|5|true|a\n0.9::lit|6|6|true|a\ndown|18|18|a\n")
    found = [change for change in changes(session.query(10)) if change[1] == "night"]
    assert found == [("insert", "night", 1, None, None)]


def test_policies() -> None:
    """Final intervals are never taken back; partial ones begin before the next window."""
    text = "".join(f"0.9::up|{t}|{t}|a\ndown|{t + 4}|{t + 4}|a\n" for t in range(1, 200, 20))
    text += "0.9::up|3|3|silent\ndown|8|8|silent\n"
    durations = {"on": (4, 1)}
    final, early = [], []
    for policy, told in (("final", final), ("early", early)):
        session = cernis.load(SWITCH).uncertain_session(
            window=20, step=10, start=0, memory=2, durations=durations, policy=policy
        )
        session.insert(text)
        for time in range(10, 221, 10):
            told.append(session.query(time).table().to_pylist())
    assert all(row["change"] == "insert" for rows in final for row in rows)
    assert len(folded(final)) >= 5
    assert ("silent",) in {row[1] for row in folded(final)}
    assert folded(final) <= folded(early)
    session = cernis.load(SWITCH).uncertain_session(window=20, step=10, start=0, policy="partial")
    session.insert("up|19|19|a\n")
    session.query(10)
    assert changes(session.query(20)) == []
    assert changes(session.query(30))[0][:3] == ("insert", "on", 8)


def test_memory_is_bounded() -> None:
    """What is kept of a pair does not grow with the stream, if durations say what is too old."""
    session = cernis.load(SWITCH).uncertain_session(
        window=20, step=20, start=0, memory=5, durations={"on": (4, 1)}
    )
    sizes = []
    for time in range(20, 2001, 20):
        session.insert(f"0.9::up|{time - 15}|{time - 15}|a\n0.9::down|{time - 9}|{time - 9}|a\n")
        session.query(time)
        (tracks,) = session.evaluator.credible.tracks.values()
        sizes.append(len(tracks.memory.whole().points) + len(tracks.ended_intervals))
        assert len(tracks.memory.whole().points) <= 5
    assert max(sizes) <= 12
    assert len(session) == 2


def test_intervals_of_input_fluents_cross_the_edge() -> None:
    program = cernis.load(
        "initiatedAt(seen(X)=true, T) :- happensAt(look(X), T), holdsAt(lit(X)=true, T).\n"
        "collectIntervals(lit(_)=_)."
    )
    session = program.uncertain_session(window=10, step=10, start=0)
    session.insert("0.5::lit|3|3|30|true|a\nlook|25|25|a\n")
    for time in (10, 20, 30):
        session.query(time)
    (row,) = session.probabilities().to_pylist()
    assert (row["fluent"], row["start"], row["probability"]) == ("seen", 26, 0.5)


def test_time_goes_forward_and_nothing_is_nothing() -> None:
    session = cernis.load(SWITCH).uncertain_session(window=10, start=0)
    assert session.intervals().num_rows == session.probabilities().num_rows == 0
    assert session.query(10).table().num_rows == 0
    with pytest.raises(DataError, match="time goes forward"):
        session.query(5)
    with pytest.raises(DataError, match="threshold"):
        cernis.load(SWITCH).uncertain_session(threshold=2)


def test_certain_intervals_do_not_start_where_a_window_sees_them_after_a_gap() -> None:
    rules = """
        collectIntervals(dose(_)=given).
        treated(X)=true iff dose(X)=given.
        happensAt(begins(X), T) :- happensAt(start(treated(X)=true), T).
        happensAt(ends(X), T) :- happensAt(end(treated(X)=true), T).
    """
    session = cernis.load(SWITCH + rules).uncertain_session(
        window=10, step=20, start=0, uncertain=["up", "down"]
    )
    session.insert("0.8::up|12|12|a\ndose|20|5|15|given|a\ndose|20|12|15|given|b\n")
    found = [(own["event"], *own["args"], own["occurrence"])
             for own in session.query(20).happenings().to_pylist()]  # fmt: skip
    assert sorted(found) == [("begins", "b", 11), ("ends", "a", 14), ("ends", "b", 14)]


# -- occurrences of patterns -------------------------------------------------------------------

PATTERNS = """
    e <- a(X) seq b(X) within 3.
    g(X) <- not(c(X))[a(X), b(X)] within 4.
    k <- e seq c(_) within 5.
"""

Occurrence = tuple[str, int, int]


def told_occurrences(feed: Any, told: dict[Occurrence, float]) -> None:
    """Bring what was told of occurrences up to a feed: none is told twice, or deleted unknown."""
    for row in feed.happenings().to_pylist():
        args = f"({','.join(row['args'])})" if row["args"] else ""
        key = f"{row['event']}{args}", row["start"], row["occurrence"]
        if row["change"] == "delete":
            assert told.pop(key) == row["probability"]
        else:
            assert key not in told
            told[key] = row["probability"]


@pytest.mark.parametrize("seed", range(4))
def test_the_sum_of_feeds_has_the_occurrences(seed: int, tmp_path: Path) -> None:
    """With late records and retractions, saved and restored: as the reference has it."""
    chance = random.Random(seed)
    window, step = chance.choice([(4, 2), (5, 3), (9, 3)])
    records: list[Told] = []
    for time in sorted(chance.choices(range(1, 12), k=7)):
        arrival = time + chance.choice([0, 0, 2])
        gone = arrival + 1 if chance.random() < 0.3 else None
        what = parse_term(f"{chance.choice('aabbc')}({chance.choice('xy')})")
        records.append(Told((chance.choice([0.2, 0.5, 1.0]), what, time), arrival, gone))
    print(f"seed {seed} window {window} step {step} {records}")
    reference = Windows(read_program(PATTERNS, "patterns"), records, window, 0)
    session: Any = cernis.load(PATTERNS).uncertain_session(
        window=window, step=step, start=0, mean_change=0
    )
    told: dict[Occurrence, float] = {}
    for time in range(step, 15, step):
        for each in records:
            p, what, at = each.record
            name, _, rest = compact(what).partition("(")
            for moment, sign in ((each.arrival, ""), (each.gone, "-")):
                if moment is not None and time - step < moment <= time:
                    session.insert(f"{p}::{sign}{name}|{moment}|{at}|{rest[0]}\n")
        told_occurrences(session.query(time), told)
        session.save(tmp_path / "s")
        session = cernis.load(PATTERNS).restore(tmp_path / "s")
        reference.query(time)
        expected = {
            (compact(event), int(start), int(end)): p
            for (event, (start, end)), p in reference.occurrences.items() if p > 1e-12
        }  # fmt: skip
        assert told == pytest.approx(expected, abs=1e-9), f"at {time}"


def test_an_occurrence_is_told_again_only_if_it_has_become_less_likely_by_enough() -> None:
    session: Any = cernis.load("raid <- not(calm)[probe, attack] within 10.").uncertain_session(
        window=20, step=5, start=0
    )
    session.insert("0.5::probe|1|1\n0.8::probe|2|2\n0.9::attack|5|5\n")
    assert session.query(5).text() == "+ raid [1,5] 0.450 at 5\n+ raid [2,5] 0.720 at 5\n"
    session.insert("0.05::calm|6|3\n")
    assert session.query(10).text() == ""
    session.insert("0.2::calm|11|4\n0.5::-probe|11|1\n")
    expected = "- raid [1,5] 0.450 at 15\n- raid [2,5] 0.720 at 15\n+ raid [2,5] 0.547 at 15\n"
    assert session.query(15).text() == expected


def test_happenings_over_certain_records_are_told_with_probability_one() -> None:
    session: Any = cernis.load("e <- a seq b within 9. f <- c seq b within 9.").uncertain_session(
        start=0, uncertain=["c"]
    )
    session.insert("a|1|1\nb|2|2\n0.5::c|1|1\n")
    rows = session.query(5).happenings().to_pylist()
    assert [(row["event"], row["probability"]) for row in rows] == [("e", 1.0), ("f", 0.5)]
