"""Sessions with event patterns: feeds add up to the answers of a run, and to the reference's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import KnowledgeError
from cernis.program import Program
from cernis.session.session import Session
from tests.agreement.compare import Scenario, by_engine
from tests.generators.patterns import Drawing, by_reference, random_records
from tests.session.feeds import Rows, Sum, difference, occurrences, rows
from tests.spark.keyed import PROGRAMS, stream

END = 20


def as_text(found: Rows) -> str:
    """The lines of an answer, as the reference writes them, without regard to their order."""
    lines: dict[str, list[tuple[int, int]]] = {}
    for name, args, *times in found:
        head = f"{name}({', '.join(args)})" if args else str(name)  # type: ignore[arg-type]
        lines.setdefault(head, []).append(tuple(times))  # type: ignore[arg-type]
    return "".join(
        f"occurs({head}, [{','.join(f'({s},{e})' for s, e in sorted(own))}]).\n"
        for head, own in sorted(lines.items())
    )


def retracted(lines: list[str], random: Random) -> list[str]:
    """The records with those taken back behind them, some of them late, in order of arrival."""
    found = []
    for line in lines:
        name, _, time, *args = line.split("|")
        arrival = min(int(time) + random.choice([0, 0, 1, 3, 6]), END)
        found.append((arrival, "|".join([name, str(arrival), time, *args])))
        later = arrival + random.choice([1, 4])
        if random.random() < 0.2 and later <= END:
            found.append((later, "|".join([f"-{name}", str(later), time, *args])))
    return [line for _, line in sorted(found, key=lambda each: each[0])]


def fed(session: Session, lines: list[str], queries: list[int], random: Random) -> list[Rows]:
    """What the feed adds up to after each query, whatever pieces the records come in."""
    total, sums = Sum(), []
    for query in queries:
        now = [line for line in lines if int(line.split("|")[1]) <= query]
        lines = lines[len(now) :]
        while now:
            count = random.randint(1, len(now))
            session.insert(now[:count])
            now = now[count:]
        total.add(session.query(query).happenings())
        sums.append(total.rows.copy())
    return sums


def drawn(seed: int) -> tuple[Random, list[str], Program, list[str]]:
    random = Random(seed)
    clauses = Drawing(random).rules()
    lines = random_records(random)
    return random, clauses, cernis.load("\n".join(clauses)), lines


@pytest.mark.parametrize("chunk", range(4))
def test_feeds_add_up_to_the_answers_of_a_run(chunk: int) -> None:
    for seed in range(9_000 + chunk, 9_160, 4):
        random, clauses, program, lines = drawn(seed)
        lines = retracted(lines, random)
        window, step = random.choice([(4, 2), (6, 3), (5, 5), (12, 4), (20, 4)])
        result = program.run(lines, start=0, end=END, window=window, step=step, per_query=True)
        session = program.session(window=window, step=step, start=0)
        queries = [query for query, _ in result.as_of]
        sums = fed(session, lines, queries, random)
        for query, found, (_, answer) in zip(queries, sums, result.as_of, strict=True):
            told = "\n".join([f"seed {seed}, {window} {step}, at {query}", *clauses, *lines])
            assert found == occurrences(answer), told


@pytest.mark.parametrize("chunk", range(4))
def test_whatever_the_order_the_sum_is_what_the_reference_says(chunk: int) -> None:
    """What comes late or is taken back counts as if all had come in order, or never."""
    for seed in range(9_300 + chunk, 9_420, 4):
        random, clauses, program, lines = drawn(seed)
        left, gone = list(lines), [line for line in lines if random.random() < 0.2]
        for line in gone:
            left.remove(line)
        lines = _with_gone(lines, gone, random)
        try:
            expected = by_reference(clauses, left, END)
        except KnowledgeError:
            continue
        session = program.session(window=END, step=1, start=0)
        sums = fed(session, lines, sorted({*random.sample(range(1, END), 6), END}), random)
        told = "\n".join([f"seed {seed}", *clauses, *lines])
        assert as_text(sums[-1]) == expected, told


def _with_gone(lines: list[str], gone: list[str], random: Random) -> list[str]:
    found = []
    for line in lines:
        name, _, time, *args = line.split("|")
        arrival = random.randint(int(time), END - 1)
        found.append((arrival, 0, "|".join([name, str(arrival), time, *args])))
    for line in gone:
        name, _, time, *args = line.split("|")
        found.append((END, 1, "|".join([f"-{name}", str(END), time, *args])))
    return [line for *_, line in sorted(found, key=lambda each: each[:2])]


@pytest.mark.parametrize("name", ["patterns", "patterns of pairs"])
def test_with_fluents_that_rest_on_patterns_and_bear_them(name: str) -> None:
    program = cernis.load(PROGRAMS[name].rules)
    for seed in range(12):
        random = Random(f"{name} {seed}")
        lines = stream(PROGRAMS[name], random, 60, retractions=True)
        # A record and its retraction come in the order in which they were drawn.
        lines.sort(key=lambda line: int(line.split("|")[1]))
        window, step = random.choice([(8, 4), (15, 5), (30, 10), (60, 7)])
        settings = {"window": window, "step": step, "start": -1, "end": 60}
        scenario = Scenario((PROGRAMS[name].rules,), tuple(lines), settings)  # type: ignore[arg-type]
        result = by_engine(scenario, program, per_query=True)
        told = difference(scenario, program, result, None)
        assert not told, f"seed {name} {seed}\n{scenario}\n{told}"


# -- by hand -----------------------------------------------------------------------------------


def _told(session: Session, query: int) -> list[tuple[object, ...]]:
    return sorted(row[:5] for row in rows(session.query(query).happenings()))


@pytest.mark.parametrize(
    ("policy", "before", "after"),
    [
        ("unrestricted", [(1, 4), (3, 4)], [(1, 2), (1, 4), (3, 4)]),
        ("recent", [(3, 4)], [(1, 2), (3, 4)]),
        ("chronological", [(1, 4)], [(1, 2), (3, 4)]),
    ],
)
def test_a_late_event_counts_as_if_it_had_come_in_order(
    policy: str, before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    session = cernis.load(f":- consumption({policy}).\ne <- a seq b within 9.\n").session(
        window=20, step=10, start=0
    )
    session.insert([("a", 1, 1), ("a", 3, 3), ("b", 4, 4)])
    assert _told(session, 10) == [("insert", "e", (), *times) for times in before]
    session.insert([("b", 12, 2)])
    gone = [("delete", "e", (), *times) for times in before if times not in after]
    come = [("insert", "e", (), *times) for times in after if times not in before]
    assert _told(session, 15) == gone + come
    session.retract([("b", 16, 2)])
    swapped = {"insert": "delete", "delete": "insert"}
    back = sorted((swapped[str(change)], *rest) for change, *rest in gone + come)
    assert _told(session, 18) == back


def test_what_ends_an_absence_is_told_by_time_alone() -> None:
    """The deadline of a fluent passes, and the pattern that waits for it is complete."""
    session = cernis.load("""
initiatedAt(open(X)=true, T) :- happensAt(opens(X), T).
terminatedAt(open(X)=true, T) :- happensAt(shuts(X), T).
ft(open(X)=true, 10).
alone(X) <- not(knock(X))[opens(X), end(open(X)=true)] within 10.
""").session(window=30, step=5, start=0)
    session.insert([("opens", 2, 2, "hall"), ("opens", 4, 4, "loft"), ("knock", 6, 6, "loft")])
    assert [_told(session, query) for query in (5, 10)] == [[], []]
    assert _told(session, 15) == [("insert", "alone", ("hall",), 2, 12)]
    session.insert([("knock", 16, 9, "hall")])
    assert _told(session, 20) == [("delete", "alone", ("hall",), 2, 12)]


def test_no_more_is_kept_than_a_match_can_need() -> None:
    session = cernis.load("e(X) <- a(X) seq b(X) within 15.\n").session(window=10, step=10, start=0)
    for query in range(10, 210, 10):
        times = range(query - 9, query + 1)
        session.insert([("a" if t % 2 else "b", t, t, "x") for t in times])
        found = [row[3:5] for row in _told(session, query)]
        assert set(found) == {
            (a, b) for b in times for a in range(1, b, 2) if b % 2 == 0 and b - a <= 15
        }
        # Before the window, only those of the last 15 that a match can begin with.
        assert session.kept <= 8
    assert session.dropped >= 80
    assert len(session) == 10


@pytest.mark.parametrize(
    ("rules", "most"),
    [
        (":- consumption(chronological). e(X) <- a(X) seq b(X).", 20),
        (":- consumption(chronological). e(X) <- a(X) seq b(X) within 30.", 20),
        (":- consumption(chronological). e(X) <- a(X) seq b(X) where p(X). p(X) :- X \\= y.", 20),
        (":- consumption(recent). e(X) <- a(X) seq b(X).", 3),
        (":- consumption(recent). d(X) <- a(X) seq b(X) within 4. e(X) <- d(X) seq b(X).", 12),
        ("e(X, N) <- a(X) where N = count(X, last(3)).", 6),
        ("e(N) <- a(_) where N = count(last(5)), N > 1.", 4),
    ],
)
def test_policies_and_windows_tell_what_is_still_needed(rules: str, most: int) -> None:
    """What is kept does not grow with the stream, and the answer is that of a whole run."""
    random = Random(rules)
    program = cernis.load(rules)
    session, total, lines = program.session(window=8, step=4, start=0), Sum(), []
    for query in range(4, 404, 4):
        new = [
            f"{random.choice('abb')}|{query}|{t}|{random.choice('xyz')}"
            for t in range(query - 5, query + 1) if t > 0 and random.random() < 0.5
        ]  # fmt: skip
        lines += new
        session.insert(new)
        total.add(session.query(query).happenings())
        assert session.kept <= most, f"at {query}: {session.kept}"
    assert total.rows == occurrences(program.run(lines, start=0, end=400).answer)
    assert session.dropped > 20


def test_a_match_from_long_ago_needs_no_window() -> None:
    session = cernis.load(":- consumption(recent).\ne <- a seq b.\n").session(
        window=10, step=10, start=0
    )
    session.insert([("a", 3, 3)])
    for query in range(10, 1_000, 10):
        assert _told(session, query) == []
    session.insert([("b", 995, 995)])
    assert _told(session, 1_000) == [("insert", "e", (), 3, 995)]


def test_a_restored_session_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    file = tmp_path / "session"
    for seed in range(9_400, 9_440):
        random, clauses, program, lines = drawn(seed)
        lines = retracted(lines, random)
        window, step = random.choice([(4, 2), (6, 3), (5, 5), (12, 4)])
        one, two = (program.session(window=window, step=step, start=0) for _ in range(2))
        for query in range(step, END + 1, step):
            now = [line for line in lines if int(line.split("|")[1]) <= query]
            lines = lines[len(now) :]
            one.insert(now)
            two.insert(now)
            if random.random() < 0.5:
                two.save(file)
                two = program.restore(file)
            feeds = [Counter(rows(own.query(query).happenings())) for own in (one, two)]
            told = "\n".join([f"seed {seed}, {window} {step}, at {query}", *clauses])
            assert feeds[0] == feeds[1], told
            assert (one.kept, one.dropped) == (two.kept, two.dropped), told
