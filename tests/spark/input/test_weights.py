"""Entities are spread by weight: buckets are even, and no answer depends on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.session.settings import Settings
from cernis.spark.exchange.batch_job import Job, job_of
from cernis.spark.exchange.buckets import SLOTS, Spread, hashes_of
from cernis.spark.input.splits import splits_of
from cernis.spark.input.weights import dealt, loads, sampled, spread_by_weight
from tests.spark.batch.without_spark import run
from tests.spark.keyed import PROGRAMS, settings, stream

RULES = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
holdsFor(both(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(rich(X)=true, A), holdsFor(rich(Y)=true, B),
    intersect_all([N, A, B], I).
"""


def skewed(folder: Path, count: int, rng: np.random.Generator) -> list[Path]:
    """Half of all events are of one entity, half of all intervals of one pair."""
    for name in ("win", "lose"):
        own = rng.integers(1, 2000, count)
        own[::2] = 7
        table = pa.table({"occurrence": np.sort(rng.integers(0, 10_000, count)), "X": own})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=count // 4)
    pairs = rng.integers(1, 2000, (2, count // 4))
    pairs[:, ::2] = [[7], [8]]
    start = np.sort(rng.integers(0, 10_000, count // 4))
    times = {"start": start, "end": start + 5, "value": ["true"] * len(start)}
    pq.write_table(pa.table({**times, "X": pairs[0], "Y": pairs[1]}), folder / "near.parquet")
    return sorted(folder.glob("*.parquet"))


def real_loads(job: Job, files: list[Path], names: list[str], keys: list[str]) -> list[int]:
    """How many records of some files each bucket of a step gets."""
    found = np.zeros(job.buckets, np.int64)
    step = len(keys)
    for file in files:
        if file.stem in names:
            table = pq.read_table(file)
            columns = [table.column(key).to_numpy() for key in keys]
            where = job.spread(step).of(columns, len(table))
            found += np.bincount(where, minlength=job.buckets)
    return found.tolist()


def test_a_heavy_entity_has_a_bucket_of_its_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    files = skewed(tmp_path, 200_000, rng)
    job = job_of(cernis.load(RULES).plan, Settings(), 8)
    splits, mappings = splits_of(files, None)
    spreads, fullest = spread_by_weight(job, splits, mappings)
    job = replace(job, spreads=spreads)
    for names, keys in ((["win", "lose"], ["X"]), (["near"], ["X", "Y"])):
        own = real_loads(job, files, names, keys)
        half, rest = sum(own) // 2, own[1:]
        assert half <= own[0] < 1.02 * half, "seed 5"
        assert max(rest) < 1.1 * sum(rest) / len(rest), f"seed 5: {own}"
    assert fullest == pytest.approx(200_000, rel=0.05)


def test_buckets_are_even(tmp_path: Path) -> None:
    # A hundred entities whose weights fall off as those of words do.
    rng = np.random.default_rng(6)
    share = 1 / np.arange(10, 110)
    own = rng.choice(100, 200_000, p=share / share.sum())
    table = pa.table({"occurrence": np.arange(len(own)), "X": own})
    pq.write_table(table, tmp_path / "win.parquet")
    job = job_of(cernis.load(RULES).plan, Settings(), 6)
    splits, mappings = splits_of([tmp_path / "win.parquet"], None)
    weights = sampled(job, splits, mappings)[1]
    spread = Spread(6, dealt(weights, 6))
    mean = len(own) / 6
    assert loads(weights, spread).max() < 1.05 * mean, "seed 6"
    by_hash = np.bincount(Spread(6).of([own], len(own)))
    by_weight = np.bincount(spread.of([own], len(own)))
    assert by_weight.max() < 1.05 * mean < by_hash.max(), "seed 6"


def test_text_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "events.txt"
    file.write_text("".join(f"win|{n}|{n}|{'hot' if n % 2 else n}\n" for n in range(4000)))
    job = job_of(cernis.load(RULES).plan, Settings(), 4)
    splits, mappings = splits_of([file], None)
    slots = sampled(job, splits, mappings)[1]
    assert slots.max() / slots.sum() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_answer_depends_on_it(name: str) -> None:
    program = cernis.load(PROGRAMS[name].rules)
    for seed in range(4):
        random = Random(f"{name} {seed}")
        lines = stream(PROGRAMS[name], random, random.randint(0, 60), seed % 2 == 1)
        chosen = settings(random)
        buckets = random.randint(2, 5)
        rng = np.random.default_rng(seed)
        slots = [rng.integers(0, buckets, SLOTS).astype(np.uint16) for _ in range(4)]
        spreads = {step: Spread(buckets, own) for step, own in enumerate(slots)}
        found = run(program, lines, Settings(**chosen), buckets, 2, seed, spreads=spreads)
        expected = program.run("\n".join(lines) + "\n", **chosen)  # type: ignore[arg-type]
        assert found.text == expected.text(), f"seed {name} {seed}\n" + "\n".join(lines)


def test_hashes_are_wide() -> None:
    # 32 bits would not do: of 200,000 texts, some would share theirs.
    from cernis.records.record_columns import column_of

    texts = [f"vessel {n}" for n in range(200_000)]
    assert len(np.unique(hashes_of([column_of(texts)], len(texts)))) == len(texts)
