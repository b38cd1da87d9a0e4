"""The reference evaluators of uncertainty: their cases, the vectors, and independent oracles."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cernis.errors import UnsupportedError
from cernis.syntax import parse_term
from cernis.syntax.tree import Term
from tests.reference.credible import (
    Batch,
    Durations,
    deletion_probability,
    exact,
    forget_by_duration,
    forget_by_score_range,
    maximal_intervals,
    mean,
    most_credible,
    online,
    reported,
    run_credible_batches,
    run_credible_case,
)
from tests.reference.patterns import compact, read_program
from tests.reference.uncertain import (
    Record,
    Undecided,
    answer_text,
    probabilities,
    run_uncertain_case,
    worlds,
)

CASES = Path(__file__).parent / "cases"

STREAM = [0, 0.5, 0.7, 0.9, 0.4, 0.1, 0, 0, 0.5, 1]
BATCHES = [STREAM[:4], STREAM[4:8], STREAM[8:]]
SHORT = [0, 0.3, 0.3, 0.6, 0.9]
DURATIONS = Durations(4.3, 2.4)


def folders(prefix: str) -> list[Path]:
    return sorted(CASES.glob(f"{prefix}_*"))


@pytest.mark.parametrize("folder", folders("uncertain"), ids=lambda folder: folder.name)
def test_uncertain_case(folder: Path) -> None:
    assert run_uncertain_case(folder) == (folder / "expected.txt").read_text()


@pytest.mark.parametrize("folder", folders("credible"), ids=lambda folder: folder.name)
def test_credible_case(folder: Path) -> None:
    assert run_credible_case(folder) == (folder / "expected.txt").read_text()
    expected = folder / "expected_batches.txt"
    if expected.exists():
        assert run_credible_batches(folder) == expected.read_text()


def records_of(text: str) -> list[Record]:
    """`0.3::a(x)@4`; certain without a probability; `f(x)=true@4` is an input fluent."""
    records: list[Record] = []
    for word in text.split():
        chance, _, rest = word.rpartition("::")
        what, _, time = rest.rpartition("@")
        records.append((float(chance or 1), parse_term(what), int(time)))
    return records


def run(
    rules: str, records: str | Sequence[Record], ties: str | None = None
) -> dict[str, dict[int, float]]:
    items = read_program(rules, "test")
    given_records = records_of(records) if isinstance(records, str) else records
    found = probabilities(items, given_records, ties=ties)
    return {compact(pair): series for pair, series in found.items()}


SWITCH = """
    initiatedAt(f=true, T) :- happensAt(a, T).
    terminatedAt(f=true, T) :- happensAt(b, T).
"""


def test_vector_of_inertia() -> None:
    series = run(SWITCH, "0.32::a@1 0.1::a@21")["f=true"]
    assert series[1] == 0
    assert series[2] == series[21] == pytest.approx(0.32)
    assert series[22] == pytest.approx(0.388)


def test_worlds_are_decided_as_far_as_needed() -> None:
    def question(world: object) -> bool:
        assert isinstance(world, dict)
        for fact in (("record", 0), ("record", 1)):
            if fact not in world:
                raise Undecided(fact)
            if not world[fact]:
                return False
        return True

    found = list(worlds(question, {("record", 0): 0.5, ("record", 1): 0.2, ("record", 2): 0.7}))
    assert found == [(0.1, True), (0.4, False), (0.5, False)]


def test_ties_between_initiation_and_break() -> None:
    both = "0.5::a@1 a@2 b@2"
    assert run(SWITCH, both)["f=true"][3] == 1
    assert run(SWITCH, both, ties="break")["f=true"][3] == 0


def test_own_fluent_in_a_body_is_the_same_fact() -> None:
    """Off if on, on if off: the probability is turned round, not squared."""
    rules = """
        initiatedAt(f=true, T) :- happensAt(a, T).
        initiatedAt(f=true, T) :- happensAt(press, T), \\+ holdsAt(f=true, T).
        terminatedAt(f=true, T) :- happensAt(press, T), holdsAt(f=true, T).
    """
    series = run(rules, "0.3::a@1 press@2 0.5::press@3")["f=true"]
    assert series[3] == pytest.approx(0.7)
    assert series[4] == pytest.approx(0.5 * 0.7 + 0.5 * 0.3)


SWITCHES = """
    initiatedAt(f=on, T) :- happensAt(a, T).
    initiatedAt(f=off, T) :- happensAt(b, T).
"""


def test_values_of_a_fluent_exclude_each_other() -> None:
    """Either is certain once one of them must hold, and both at once is impossible."""
    rules = (
        SWITCHES
        + """
        initiatedAt(both=true, T) :- happensAt(c, T), holdsAt(f=on, T), holdsAt(f=off, T).
        initiatedAt(either=true, T) :- happensAt(c, T), (holdsAt(f=on, T) ; holdsAt(f=off, T)).
        initiatedAt(either2=true, T) :- happensAt(c, T), holdsAt(f=on, T).
        initiatedAt(either2=true, T) :- happensAt(c, T), holdsAt(f=off, T).
        initiatedAt(some=true, T) :- happensAt(c, T), holdsAt(f=_, T).
        initiatedAt(none=true, T) :- happensAt(c, T), \\+ holdsAt(f=on, T), \\+ holdsAt(f=off, T).
    """
    )
    found = run(rules, "a@1 0.5::b@2 c@3")
    assert found["f=on"][3] == found["f=off"][3] == 0.5
    assert found.get("both=true", {4: 0})[4] == 0
    assert found["either=true"][4] == found["either2=true"][4] == found["some=true"][4] == 1
    assert found.get("none=true", {4: 0})[4] == 0
    found = run(rules, "0.8::a@1 0.25::b@2 c@3")
    assert found["f=on"][3] == pytest.approx(0.6)
    assert found["either=true"][4] == found["some=true"][4] == pytest.approx(0.85)
    assert found["none=true"][4] == pytest.approx(0.15)


def test_values_that_hold_together_count_as_independent() -> None:
    """Ties on initiation let both hold: so what they add up to is more than 1."""
    rules = (
        SWITCHES
        + """
        initiatedAt(both=true, T) :- happensAt(c, T), holdsAt(f=on, T), holdsAt(f=off, T).
    """
    )
    found = run(rules, "a@1 0.5::b@1 c@2")
    assert found["both=true"][3] == pytest.approx(0.5)
    assert run(rules, "a@1 0.5::b@1 c@2", ties="break").get("both=true", {3: 0})[3] == 0


def test_own_values_exclude_each_other() -> None:
    """A press turns it round: what was on is off, and never both."""
    rules = """
        initially(f=off).
        initiatedAt(f=on, T) :- happensAt(press, T), holdsAt(f=off, T).
        initiatedAt(f=off, T) :- happensAt(press, T), holdsAt(f=on, T).
        initiatedAt(f=broken, T) :- happensAt(hit, T), \\+ holdsAt(f=off, T).
    """
    found = run(rules, "0.5::press@1 0.5::press@2 0.5::hit@3")
    assert [found["f=on"][t] for t in (2, 3)] == [0.5, 0.5]
    assert [found["f=off"][t] for t in (2, 3, 4)] == [0.5, 0.5, 0.5]
    assert found["f=on"][4] == pytest.approx(0.25)
    assert found["f=broken"][4] == pytest.approx(0.25)


STATICS = """
    initiatedAt(f(X)=on, T) :- happensAt(a(X), T).
    initiatedAt(f(X)=off, T) :- happensAt(b(X), T).
    initiatedAt(g(X)=true, T) :- happensAt(c(X), T).
    either(X)=true iff f(X)=on or f(X)=off.
    both(X)=true iff f(X)=on, f(X)=off.
    on(X)=true iff f(X)=on, not g(X)=true.
    twice(X)=true iff (f(X)=on, g(X)=true) or (f(X)=on, not g(X)=true).
    some=true iff f(X)=on.
    holdsFor(free(X)=true, I) :- holdsFor(f(X)=off, I1), holdsFor(g(X)=true, I2),
        complement_all([I2], I3), union_all([I1, I3], I).
    initiatedAt(seen(X)=true, T) :- happensAt(see(X), T), holdsAt(on(X)=true, T).
"""


def test_statically_determined_fluents() -> None:
    """Parts of one instance exclude each other, and others are independent."""
    found = run(STATICS, "0.8::a(x)@1 0.25::b(x)@2 0.5::c(x)@2 0.5::a(y)@2 0.5::see(x)@3")
    assert found["f(x)=on"][3] == pytest.approx(0.6)
    assert found["either(x)=true"][3] == pytest.approx(0.85)
    assert found.get("both(x)=true", {3: 0})[3] == 0
    assert found["on(x)=true"][3] == pytest.approx(0.3)
    assert found["twice(x)=true"][3] == pytest.approx(0.6)
    assert found["some=true"][3] == pytest.approx(1 - 0.4 * 0.5)
    assert found["free(x)=true"][3] == pytest.approx(1 - 0.75 * 0.5)
    assert found["seen(x)=true"][4] == pytest.approx(0.15)
    assert found["on(x)=true"][2] == pytest.approx(0.8)


def test_input_fluents_at_points() -> None:
    rules = "initiatedAt(f(X)=true, T) :- happensAt(a(X), T), holdsAt(near(X)=V, T), V > 2."
    found = run(rules, "a(x)@1 0.5::near(x)=1@1 0.4::near(x)=3@1 0.5::near(x)=4@1")
    assert found["f(x)=true"][2] == pytest.approx(1 - 0.6 * 0.5)


def test_older_forms() -> None:
    rules = """
        initiates(a(X), f(X)=true, T) :- \\+ happensAt(c(X), T).
        terminatedAt(f(X)=true, T1, T, T2) :- happensAt(b(X), T).
    """
    found = run(rules, "0.5::a(x)@1 0.4::c(x)@1 0.5::b(x)@2")
    assert found["f(x)=true"] == pytest.approx({1: 0, 2: 0.3, 3: 0.15})


def test_initiation_by_the_initiation_of_another_pair() -> None:
    rules = """
        initiatedAt(f=true, T) :- happensAt(a, T).
        initiatedAt(g=true, T) :- initiatedAt(f=true, T), happensAt(b, T).
    """
    found = run(rules, "0.5::a@1 0.4::b@1")
    assert found["g=true"][2] == pytest.approx(0.2)


def test_counting_events() -> None:
    rules = """
        initiatedAt(crowd=true, T) :-
            happensAt(tick, T), findall(P, happensAt(seen(P), T), L), length(L, N), N >= 2.
    """
    found = run(rules, "tick@1 0.5::seen(x)@1 0.5::seen(y)@1 0.5::seen(z)@1")
    assert found["crowd=true"][2] == pytest.approx(0.5)


def test_domains_from_the_input() -> None:
    rules = """
        initiatedAt(f(P, Q)=true, T) :- happensAt(pair(P, Q), T).
        grounding(walking(P)) :- id(P).
        grounding(f(P, Q)=true) :- id(P), id(Q).
        dynamicDomain(id(_)).
    """
    found = run(rules, "walking(x)@1 walking(y)@1 0.5::pair(x,y)@1 0.5::pair(x,z)@1")
    assert found == {"f(x,y)=true": {1: 0, 2: 0.5}}


def test_nothing_that_cannot_hold_is_told() -> None:
    assert run(SWITCH, "b@1") == {}
    assert run(SWITCH, []) == {}


@pytest.mark.parametrize(
    "rules",
    [
        "holdsFor(f=true, I) :- holdsFor(g=true, J), intDurGreater(J, 3, I).",
        "ft(f=true, 10). initiatedAt(g=true, T) :- initiatedAt(f=true, T).",
        "0.5::initiatedAt(f=true, T) :- happensAt(a, T).",
    ],
)
def test_what_is_not_defined_is_refused(rules: str) -> None:
    with pytest.raises(UnsupportedError):
        run(rules, "a@1")


def test_record_between_ticks_is_refused() -> None:
    with pytest.raises(ValueError, match="tick"):
        run(":- tick(40)." + SWITCH, "a@40 a@90")


def test_text_rounds_and_tells_changes_only() -> None:
    pair = parse_term("f(x,1)=true")
    series = {1: 0.0, 2: 1 / 3, 3: 1 / 3 + 1e-12, 4: 0.0}
    assert answer_text({pair: series}) == "probability(f(x,1)=true, [(2,0.333333333),(4,0)]).\n"


MANY = """
    initiatedAt(f(X)=on, T) :- happensAt(a(X), T), \\+ happensAt(c(X), T).
    initiatedAt(f(X)=off, T) :- happensAt(b(X), T).
    terminatedAt(f(X)=_, T) :- happensAt(c(X), T), happensAt(b(X), T).
"""

uncertain_records = st.lists(
    st.tuples(
        st.sampled_from([0.1, 0.5, 0.8, 1.0]),
        st.sampled_from(["a(x)", "b(x)", "c(x)", "a(y)"]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=6,
)


def as_records(chosen: Sequence[tuple[float, str, int]]) -> list[Record]:
    return [(chance, parse_term(what), time) for chance, what, time in chosen]


def certain_worlds(records: Sequence[Record]) -> Iterator[tuple[float, list[Record]]]:
    """All possible worlds of all records: probability, and what is true in them."""
    for truths in itertools.product((True, False), repeat=len(records)):
        weight = 1.0
        for truth, (chance, _, _) in zip(truths, records, strict=True):
            weight *= chance if truth else 1 - chance
        facts = [
            (float(truth), what, time)
            for truth, (_, what, time) in zip(truths, records, strict=True)
        ]
        yield weight, facts


@settings(max_examples=30, deadline=None)
@given(uncertain_records, st.sampled_from(["initiation", "break"]))
def test_step_by_step_is_the_sum_over_all_worlds(
    chosen: list[tuple[float, str, int]], ties: str
) -> None:
    """Fluents that use no other fluents are exact over the whole run."""
    records = as_records(chosen)
    expected: dict[tuple[str, int], float] = {}
    for weight, facts in certain_worlds(records):
        for pair, series in run(MANY, facts, ties).items():
            for time, holds in series.items():
                assert holds in (0, 1)
                expected[pair, time] = expected.get((pair, time), 0) + weight * holds
    for pair, series in run(MANY, records, ties).items():
        for time, chance in series.items():
            assert chance == pytest.approx(expected.get((pair, time), 0))


@settings(max_examples=30, deadline=None)
@given(uncertain_records, st.sampled_from(["initiation", "break"]))
def test_certain_input_gives_inertia(chosen: list[tuple[float, str, int]], ties: str) -> None:
    """Against the intervals that initiation and break points make, by hand for these rules."""
    happens = {(what, time) for _, what, time in chosen}
    found = run(MANY, [(1.0, parse_term(what), time) for what, time in happens], ties)
    start, end = min(time for _, time in happens), max(time for _, time in happens)
    for x in ("x", "y"):
        holds = {"on": False, "off": False}
        for now in range(start, end + 1):
            a, b, c = ((f"{name}({x})", now) in happens for name in "abc")
            on, off, both = a and not c, b, b and c
            for value, init, broken in (("on", on, off or both), ("off", off, on or both)):
                kept = holds[value] and not broken
                holds[value] = (init and not (broken and ties == "break")) or kept
                told = found.get(f"f({x})={value}", {}).get(now + 1, 0)
                assert told == holds[value]


def problog_probability(program: str, query: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problog = pytest.importorskip("problog")
        texts = pytest.importorskip("problog.program")
        model = texts.PrologString(f"{program}\nquery({query}).")
        result = problog.get_evaluatable().create_from(model).evaluate()
    return float(next(iter(result.values()), 0.0))


@pytest.mark.parametrize("seed", range(12))
def test_problog_agrees(seed: int) -> None:
    """Random rules over three uncertain events at three points, inertia written in ProbLog."""
    chance = random.Random(seed)
    bodies = {head: [_random_body(chance) for _ in range(2)] for head in ("init", "term")}
    facts = [
        (chance.choice([0.2, 0.5, 0.9]), name, time)
        for time in (1, 2, 3)
        for name in ("a", "b", "c")
        if chance.random() < 0.8
    ]
    rules, oracle = [], []
    for head, name in (("init", "initiatedAt"), ("term", "terminatedAt")):
        for body in bodies[head]:
            temporal = ", ".join(f"{sign}happensAt({event}, T)" for sign, event in body)
            rules.append(f"{name}(f=true, T) :- {temporal}.")
            oracle.append(f"{head}(T) :- {', '.join(f'{sign}{e}(T)' for sign, e in body)}.")
    oracle += [f"{p}::{name}({time})." for p, name, time in facts]
    oracle += [f"0.0::{name}(0)." for name in ("a", "b", "c")]
    oracle.append("holds(T) :- T > 1, P is T - 1, init(P).")
    oracle.append("holds(T) :- T > 1, P is T - 1, holds(P), \\+ term(P).")
    found = run(" ".join(rules), as_records(facts))
    for time in (2, 3, 4):
        expected = problog_probability("\n".join(oracle), f"holds({time})")
        assert found.get("f=true", {}).get(time, 0) == pytest.approx(expected)


def _random_body(chance: random.Random) -> list[tuple[str, str]]:
    """A positive literal first, then others of either sign."""
    first, *others = chance.sample(["a", "b", "c"], chance.choice([1, 2, 3]))
    return [("", first), *((chance.choice(["", "\\+ "]), other) for other in others)]


def test_vector_of_maximal_intervals() -> None:
    assert maximal_intervals(STREAM, 0.5) == [(1, 5), (2, 6), (8, 10)]
    assert maximal_intervals(SHORT, 0.5) == [(2, 5)]
    assert most_credible([(1, 5), (2, 6), (8, 10)], STREAM) == [(2, 6), (8, 10)]


def test_vector_of_unbounded_memory() -> None:
    first, second, third = online(BATCHES, 0.5)
    assert first == Batch(((1, 4),), ((1, 0), (2, -0.5)))
    assert second == Batch(((1, 5), (2, 6)), ((1, 0), (2, -0.5), (8, -0.9)))
    assert third == Batch(((8, 10),), ((1, 0), (2, -0.5), (8, -0.9), (9, -1.4)))


def test_vectors_of_bounded_memory() -> None:
    first, second = online([SHORT[:4], SHORT[4:]], 0.5, limit=2)
    assert first.memory == ((1, 0), (2, -0.5))
    assert second.found == ((2, 5),)
    found = online(BATCHES, 0.5, limit=2)
    assert found[1].memory == ((1, 0), (2, -0.5))
    assert (8, 10) not in reported(found)


def test_vectors_of_durations() -> None:
    assert deletion_probability(8, DURATIONS) == pytest.approx(0.88, abs=0.005)
    assert deletion_probability(7, DURATIONS) == pytest.approx(0.74, abs=0.005)
    assert deletion_probability(6.7, DURATIONS) == pytest.approx(0.68, abs=0.005)
    assert deletion_probability(4.3, DURATIONS) == 0
    assert deletion_probability(5, Durations(4, 0)) == 1
    assert deletion_probability(1e9, DURATIONS) == 1


@pytest.mark.parametrize(
    ("draws", "memory"),
    [([0.87], [2, 8]), ([0.88, 0.73], [1, 8]), ([0.88, 0.74], [1, 2])],
)
def test_chance_forgets(draws: list[float], memory: list[int]) -> None:
    """1 goes with 0.88, else 2 with 0.74; else the score range lets 8 go."""
    numbers = iter(draws)
    result = online(BATCHES[:2], 0.5, limit=2, durations=DURATIONS, draw=numbers.__next__)
    assert [point for point, _ in result[1].memory] == memory
    assert next(numbers, None) is None


def test_chance_is_seeded() -> None:
    def once(seed: int) -> list[Batch]:
        draw = random.Random(seed).random
        return online(BATCHES, 0.5, limit=2, durations=DURATIONS, draw=draw)

    assert once(7) == once(7)
    default = online(BATCHES, 0.5, limit=2, durations=DURATIONS)
    assert default == once(0)


def test_score_ranges_and_their_ties() -> None:
    starts = [(1, exact(0)), (2, exact(-0.5)), (4, exact(-0.7)), (6, exact(-0.9))]
    kept = [[point for point, _ in forget_by_score_range(starts, limit)] for limit in range(5)]
    assert kept == [[], [1], [1, 2], [1, 2, 4], [1, 2, 4, 6]]


def test_nothing_is_drawn_under_the_limit() -> None:
    starts = [(1, exact(0)), (2, exact(-0.5))]
    assert forget_by_duration(starts, 2, DURATIONS, 100, iter(()).__next__) == starts


def test_groups_of_overlapping_intervals() -> None:
    """[1,2] and [4,5] share no point, but [2,4] joins them."""
    numbers = [1.0, 0.5, 0.5, 0.5, 0.9]
    assert most_credible([(1, 2), (2, 4), (4, 5)], numbers) == [(1, 2)]
    assert most_credible([(1, 2), (3, 4)], numbers) == [(1, 2), (3, 4)]
    assert most_credible([], numbers) == []


def test_no_probabilities() -> None:
    assert maximal_intervals([], 0.5) == []
    assert online([], 0.5) == []
    assert online([[]], 0.5) == [Batch((), ())]


tenths = st.lists(st.integers(0, 10).map(lambda number: number / 10), max_size=14)
thresholds = st.integers(1, 10).map(lambda number: number / 10)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[float], list[list[float]]]:
    """A stream, and the same in batches."""
    stream = draw(tenths)
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)), max_size=4)))
    bounds = [0, *cuts, len(stream)]
    return stream, [stream[low:high] for low, high in itertools.pairwise(bounds)]


@settings(max_examples=150, deadline=None)
@given(streams(), thresholds)
def test_unbounded_online_is_batch(
    stream: tuple[list[float], list[list[float]]], threshold: float
) -> None:
    whole, batches = stream
    assert reported(online(batches, threshold)) == maximal_intervals(whole, threshold)


@settings(max_examples=100, deadline=None)
@given(streams(), thresholds, st.integers(0, 3))
def test_bounded_online_finds_parts_of_maximal_intervals(
    stream: tuple[list[float], list[list[float]]], threshold: float, limit: int
) -> None:
    whole, batches = stream
    all_found = maximal_intervals(whole, threshold)
    results = online(batches, threshold, limit=limit)
    assert all(len(result.memory) <= limit for result in results)
    for start, end in reported(results):
        assert any(low <= start and end <= high for low, high in all_found)
    assert online(batches, threshold, limit=99) == online(batches, threshold)


@settings(max_examples=100, deadline=None)
@given(tenths, thresholds)
def test_one_credible_interval_a_group(stream: list[float], threshold: float) -> None:
    every = maximal_intervals(stream, threshold)
    chosen = most_credible(every, stream)
    assert set(chosen) <= set(every)
    for (_, end), (start, _) in itertools.pairwise(chosen):
        assert end < start
    for one in every:
        assert mean(stream, one) >= exact(threshold)


def test_terms_of_answers_are_terms() -> None:
    found: dict[Term, dict[int, float]] = probabilities(
        read_program(SWITCH, "x"), records_of("a@1")
    )
    assert found == {parse_term("f=true"): {1: 0.0, 2: 1.0}}
