"""Support sets that grow in place: as if each query had the whole memory before it."""

from __future__ import annotations

import numpy as np
import pytest

from cernis.evaluate.probabilities.credible.credible_intervals import (
    SupportSets,
    lowered,
    recognise,
)
from cernis.evaluate.probabilities.credible.support_pool import SupportPool
from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.credible import SCALE

THRESHOLD = 0.5


def part_of(memory: SupportSets, entities: Integers) -> SupportSets:
    """The support sets of some entities, taken one by one."""
    rows = [np.arange(memory.offsets[k], memory.offsets[k + 1]) for k in entities.tolist()]
    places = np.concatenate([*rows, np.empty(0, np.int64)]).astype(np.int64)
    columns = (memory.seen, memory.score, memory.lowest, memory.states)
    return SupportSets(
        np.append(0, np.cumsum([len(each) for each in rows])).astype(np.int64),
        memory.points[places], memory.scores[places], *(column[entities] for column in columns),
    )  # fmt: skip


def gains_of(points: Floats, offsets: Integers) -> Integers:
    units = np.maximum((points * SCALE + 0.5).astype(np.int64) - lowered(THRESHOLD), 0)
    return np.diff(np.append(0, np.cumsum(units))[offsets])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("limit", [None, 3])
def test_further_points_have_the_intervals_that_the_whole_memory_gives(
    seed: int, limit: int | None
) -> None:
    print(f"seed {seed}")
    chance = np.random.default_rng(seed)
    pool = SupportPool(SupportSets.empty(0))
    count, left_out = 0, 0
    for _ in range(30):
        more = int(chance.integers(0, 3))
        pool.add(SupportSets.empty(more, int(chance.integers(1000))))
        count += more
        entities = np.flatnonzero(chance.random(count) < 0.6)
        lengths = chance.integers(1, 12, len(entities))
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
        level = chance.choice([0.1, 0.5, 0.9])
        points = np.clip(chance.normal(level, 0.3, int(lengths.sum())), 0, 1).round(2)
        whole = pool.whole()
        batch = None if limit is None else 1
        expected, after = recognise(
            points, offsets, THRESHOLD, memory=part_of(whole, entities), limit=limit, batch=batch
        )
        gains = gains_of(points, offsets) if limit is None else None
        memory, skips = pool.taken(entities, gains)
        left_out += int(skips.sum())
        found, new = recognise(
            points, offsets, THRESHOLD, memory=memory, limit=limit, batch=batch
        )  # fmt: skip
        for name in ("offsets", "starts", "ends", "sums"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
        pool.put(entities, skips, new)
        _assert_same(part_of(pool.whole(), entities), after)
        others = np.setdiff1d(np.arange(count), entities)
        _assert_same(part_of(pool.whole(), others), part_of(whole, others))
        _assert_summaries(pool)
    assert (left_out > 0) == (limit is None)


def _assert_same(one: SupportSets, other: SupportSets) -> None:
    for name in ("offsets", "points", "scores", "seen", "score", "lowest", "states"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def _assert_summaries(pool: SupportPool) -> None:
    whole = pool.whole()
    some, scores = pool.last_scores()
    starts = [whole.starts(entity) for entity in range(len(pool))]
    assert some.tolist() == [entity for entity, each in enumerate(starts) if each]
    assert scores.tolist() == [
        int(whole.scores[whole.offsets[entity + 1] - 1]) for entity in some.tolist()
    ]
    assert pool.oldest().tolist() == [
        each[0][0] if each else int(whole.seen[entity]) + 1 for entity, each in enumerate(starts)
    ]
