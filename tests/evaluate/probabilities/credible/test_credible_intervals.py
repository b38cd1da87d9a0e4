"""Probabilistic maximal intervals: the vectors, the cases, and the definitions as twins."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cernis.evaluate.probabilities.credible.credible_intervals import (
    Intervals,
    SupportSets,
    longest,
    most_credible,
    recognise,
    united,
)
from cernis.evaluate.probabilities.credible.durations import (
    Durations,
    deletion_probabilities,
    learned,
)
from cernis.kernels.array_types import Floats, Integers
from tests.reference import credible as plain

CASES = Path(__file__).parents[3] / "cases"
STREAM = [0, 0.5, 0.7, 0.9, 0.4, 0.1, 0, 0, 0.5, 1]
BATCHES = [STREAM[:4], STREAM[4:8], STREAM[8:]]

Found = list[tuple[int, int]]


def one(stream: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The series of one entity."""
    return np.array(stream, np.float64), np.array([0, len(stream)])


def pairs(intervals: Intervals, entity: int = 0) -> Found:
    own = slice(intervals.offsets[entity], intervals.offsets[entity + 1])
    return list(zip(intervals.starts[own].tolist(), intervals.ends[own].tolist(), strict=True))


def joined(parts: Sequence[Intervals]) -> Intervals:
    """What was found for one entity, one batch behind the other."""
    columns = [np.concatenate([getattr(each, name) for each in parts])
               for name in ("starts", "ends", "sums")]  # fmt: skip
    return Intervals(np.array([0, len(columns[0])]), *columns, parts[0].threshold)


def online(
    batches: Sequence[Sequence[float]], threshold: float, *, limit: int | None = None,
    durations: Durations | None = None, draws: Sequence[float] = (), seed: int = 0,
) -> tuple[list[Intervals], list[list[tuple[int, float]]]]:  # fmt: skip
    """Batch after batch: what was found in each, and what was remembered after it."""
    memory = SupportSets.empty(1, seed)
    found, remembered = [], []
    numbers = list(draws)
    for batch in batches:
        intervals, memory = recognise(
            *one(batch), threshold, memory=memory, limit=limit, durations=durations,
            draws=np.array(numbers, np.float64),
        )  # fmt: skip
        numbers = []
        found.append(intervals)
        remembered.append(memory.starts(0))
    return found, remembered


def tenth(memory: Sequence[tuple[int, float]]) -> list[tuple[int, int]]:
    """Starts with their scores in tenths."""
    return [(point, round(score * 10)) for point, score in memory]


def generator(seed: int) -> Callable[[], float]:
    """The twin of the kernel's generator."""
    state = seed

    def draw() -> float:
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) % (1 << 64)
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % (1 << 64)
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % (1 << 64)
        return float((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53

    return draw


def folders() -> list[Path]:
    return sorted(CASES.glob("credible_*"))


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_case(folder: Path) -> None:
    """Each batch of a case is reached by a call that begins at the first point."""
    stream = [float(word) for word in (folder / "probabilities.txt").read_text().split()]
    chosen = tomllib.loads((folder / "case.toml").read_text())["settings"]
    sizes = chosen.get("batches", [len(stream)])
    known = Durations(chosen["mean"], chosen["deviation"]) if "mean" in chosen else None
    lines = []
    for begin, end in itertools.pairwise(np.cumsum([0, *sizes]).tolist()):
        found, memory = recognise(
            *one(stream[:end]), chosen["threshold"], limit=chosen.get("limit"), durations=known,
            batch=sizes[0], draws=np.array(chosen.get("draws", ()), np.float64),
        )  # fmt: skip
        own = [interval for interval in pairs(found) if interval[1] > begin]
        lines.append(_line(own, memory.starts(0)))
    every = most_credible(found) if chosen.get("credible") else found
    assert "".join(f"[{s},{e}]\n" for s, e in pairs(every)) == (folder / "expected.txt").read_text()
    batches = folder / "expected_batches.txt"
    if batches.exists():
        assert "".join(lines) == batches.read_text()


def maximal(probabilities: Floats, offsets: Integers, threshold: float) -> Intervals:
    """The maximal intervals of whole series."""
    return recognise(probabilities, offsets, threshold)[0]


def _line(found: Found, remembered: list[tuple[int, float]]) -> str:
    told = " ".join(f"[{start},{end}]" for start, end in found)
    memory = " ".join(f"({point},{score:g})" for point, score in remembered)
    return f"{told or '-'} | {memory or '-'}\n"


def test_vectors_of_the_whole_stream() -> None:
    found = maximal(*one(STREAM), 0.5)
    assert pairs(found) == [(1, 5), (2, 6), (8, 10)]
    assert found.means.tolist() == pytest.approx([0.5, 0.52, 0.5])
    assert pairs(most_credible(found)) == [(2, 6), (8, 10)]
    assert pairs(maximal(*one([0, 0.3, 0.3, 0.6, 0.9]), 0.5)) == [(2, 5)]


def test_vectors_of_bounded_memory() -> None:
    found, remembered = online([[0, 0.3, 0.3, 0.6], [0.9]], 0.5, limit=2)
    assert remembered[0] == [(1, 0), (2, -0.5)]
    assert pairs(found[1]) == [(2, 5)]
    found, remembered = online(BATCHES, 0.5, limit=2)
    assert [point for point, _ in remembered[1]] == [1, 2]
    assert (8, 10) not in pairs(joined(found))


@pytest.mark.parametrize(
    ("draws", "memory"), [([0.87], [2, 8]), ([0.88, 0.73], [1, 8]), ([0.88, 0.74], [1, 2])]
)
def test_vectors_of_durations(draws: list[float], memory: list[int]) -> None:
    chances = deletion_probabilities(Durations(4.3, 2.4))
    assert chances[[4, 7, 8]].tolist() == pytest.approx([0, 0.74, 0.88], abs=0.005)
    _, first = recognise(*one(BATCHES[0]), 0.5, limit=2)
    _, after = recognise(
        *one(BATCHES[1]), 0.5, memory=first, limit=2, durations=Durations(4.3, 2.4),
        draws=np.array(draws),
    )  # fmt: skip
    assert [point for point, _ in after.starts(0)] == memory


def test_a_mean_of_just_the_threshold_counts_in_long_series() -> None:
    stream = [0.7, 0.1, 0.1] * 100_000
    assert pairs(maximal(*one(stream), 0.3)) == [(1, 300_000)]
    assert pairs(maximal(*one([0.3 - 1e-8] * 100), 0.3)) == []


def test_nothing() -> None:
    none = np.empty(0)
    assert len(maximal(none, np.array([0]), 0.5)) == 0
    found, memory = recognise(none, np.array([0, 0, 0]), 0.5)
    assert found.offsets.tolist() == [0, 0, 0]
    assert memory.starts(1) == []
    assert len(longest(found)) == len(most_credible(found)) == 0


@pytest.mark.parametrize("more", [{"limit": -1}, {"batch": 0}, {"threshold": 1.5}])
def test_what_makes_no_sense_is_refused(more: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="threshold|memory|batch"):
        recognise(*one(STREAM), **{"threshold": 0.5, **more})  # type: ignore[arg-type]


def test_durations_are_learned() -> None:
    known = learned(np.array([2, 4]))
    assert known is not None
    assert (known.mean, known.deviation) == pytest.approx((10 / 3, (8 / 9) ** 0.5))
    assert learned(np.empty(0, np.int64)) is None
    with pytest.raises(ValueError, match="deviation"):
        Durations(3.0, -1.0)


tenths = st.lists(st.integers(0, 10).map(lambda number: number / 10), max_size=16)
thresholds = st.integers(1, 10).map(lambda number: number / 10)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[float], list[list[float]]]:
    """A stream, and the same in batches."""
    stream = draw(tenths)
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)), max_size=5)))
    bounds = [0, *cuts, len(stream)]
    return stream, [stream[low:high] for low, high in itertools.pairwise(bounds)]


@settings(max_examples=150, deadline=None)
@given(st.lists(tenths, max_size=4), thresholds)
def test_all_entities_in_one_call_are_as_the_definition(
    given_streams: list[list[float]], threshold: float
) -> None:
    offsets = np.cumsum([0, *map(len, given_streams)])
    found = maximal(np.array([*itertools.chain(*given_streams)], np.float64), offsets, threshold)
    chosen = most_credible(found)
    for entity, stream in enumerate(given_streams):
        expected = plain.maximal_intervals(stream, threshold)
        assert pairs(found, entity) == expected
        assert pairs(chosen, entity) == plain.most_credible(expected, stream)
        own = slice(found.offsets[entity], found.offsets[entity + 1])
        means = [float(plain.mean(stream, each)) for each in expected]
        assert found.means[own].tolist() == pytest.approx(means, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(streams(), thresholds)
def test_unbounded_online_is_batch(
    stream: tuple[list[float], list[list[float]]], threshold: float
) -> None:
    whole, batches = stream
    found, remembered = online(batches, threshold)
    assert pairs(longest(joined(found))) == plain.maximal_intervals(whole, threshold)
    for own, after, expected in zip(
        found, remembered, plain.online(batches, threshold), strict=True
    ):
        assert pairs(own) == list(expected.found)
        assert tenth(after) == tenth(expected.memory)


@settings(max_examples=200, deadline=None)
@given(streams(), thresholds, st.integers(0, 4), st.integers(0, 2**62), st.booleans())
def test_bounded_online_is_as_defined(
    stream: tuple[list[float], list[list[float]]], threshold: float, limit: int, seed: int,
    has_durations: bool,
) -> None:  # fmt: skip
    _, batches = stream
    state = int(SupportSets.empty(1, seed).states[0])
    known = (2.3, 1.4) if has_durations else None
    expected = plain.online(
        batches, threshold, limit=limit, draw=generator(state),
        durations=plain.Durations(*known) if known else None,
    )  # fmt: skip
    found, remembered = online(
        batches, threshold, limit=limit, seed=seed, durations=Durations(*known) if known else None
    )
    for own, after, batch in zip(found, remembered, expected, strict=True):
        assert pairs(own) == list(batch.found)
        assert len(after) <= limit
        assert tenth(after) == tenth(batch.memory)
    assert pairs(longest(joined(found))) == plain.reported(expected)
    assert pairs(united(longest(joined(found)))) == plain.joined(plain.reported(expected))


@settings(max_examples=100, deadline=None)
@given(tenths, thresholds, st.integers(1, 5), st.integers(0, 4))
def test_batches_within_a_call_are_as_calls(
    stream: list[float], threshold: float, size: int, limit: int
) -> None:
    known = Durations(2.3, 1.4)
    found, memory = recognise(*one(stream), threshold, limit=limit, durations=known, batch=size)
    batches = [stream[low : low + size] for low in range(0, len(stream), size)] or [[]]
    parts, remembered = online(batches, threshold, limit=limit, durations=known)
    assert pairs(found) == pairs(longest(joined(parts)))
    assert memory.starts(0) == remembered[-1]


@pytest.mark.parametrize("seed", range(3))
def test_many_starts_are_forgotten_at_once(seed: int) -> None:
    """A batch of hundreds of possible starts, of which the longest score ranges are selected."""
    chance = np.random.default_rng(seed)
    stream = np.round(chance.random(400) * 0.5, 1).tolist()
    found, remembered = online([stream, [0.9] * 50], 0.5, limit=20)
    expected = plain.online([stream, [0.9] * 50], 0.5, limit=20)
    assert tenth(remembered[0]) == tenth(expected[0].memory)
    assert [pairs(own) for own in found] == [list(each.found) for each in expected]


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("limit", [3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_some_starts_are_forgotten_by_duration_and_others_by_score_range(
    seed: int, limit: int, size: int
) -> None:
    """Score ranges that are kept from one batch to the next are those of the starts that stay."""
    stream = np.round(np.random.default_rng(seed).random(200) * 0.7, 2).tolist()
    known = (limit + 2.0, 9.0)
    memory = SupportSets.empty(1, seed)
    found, after = recognise(
        *one(stream), 0.5, memory=memory, limit=limit, durations=Durations(*known), batch=size
    )
    expected = plain.online(
        [stream[low : low + size] for low in range(0, len(stream), size)], 0.5, limit=limit,
        durations=plain.Durations(*known), draw=generator(int(memory.states[0])),
    )  # fmt: skip
    assert [point for point, _ in after.starts(0)] == [point for point, _ in expected[-1].memory]
    assert pairs(found) == plain.reported(expected)


def test_chance_is_seeded_and_entities_do_not_meet() -> None:
    chance = np.random.default_rng(5)
    stream = chance.random(300) * 0.8
    known = Durations(20.0, 8.0)

    def memory(copies: int, seeds: list[int]) -> list[list[tuple[int, float]]]:
        series, offsets = np.tile(stream, copies), np.arange(copies + 1) * len(stream)
        _, after = recognise(
            series, offsets, 0.5, limit=10, durations=known, batch=1,
            memory=SupportSets.empty(copies, np.array(seeds)),
        )  # fmt: skip
        return [after.starts(entity) for entity in range(copies)]

    alone = memory(1, [7])[0]
    assert memory(3, [7, 8, 7])[::2] == [alone, alone]
    assert memory(2, [7, 8])[1] != alone
