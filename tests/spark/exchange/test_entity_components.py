"""Stages by components of linked entities give the answers of the process."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cernis
from cernis.check.model import Relation
from cernis.plan.properties.routes import Way
from cernis.records.record_columns import Coded
from cernis.session.settings import Settings
from cernis.spark import recognise
from cernis.spark.exchange.batch_job import Job, job_of
from cernis.spark.exchange.entity_components import (
    Linked,
    distinct,
    entities_of,
    spread,
    warn_of_giants,
)
from cernis.spark.exchange.pack import pack_links
from cernis.spark.input.survey import with_components
from tests.spark import linked
from tests.spark.batch.test_batch_stage import same
from tests.spark.batch.without_spark import parts_of, run
from tests.spark.keyed import PROGRAMS, settings, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("number", range(8))
def test_random_programs(number: int) -> None:
    seeds = count(1000 * number)
    for _ in range(5):
        seed = next(seed for seed in seeds if linked.program(Random(seed)) is not None)
        random = Random(seed)
        program = linked.program(random)
        assert program is not None
        for retractions in (False, True):
            lines = linked.stream(random, random.randint(20, 80), retractions)
            told = same(program, lines, settings(random), random)
            assert not told, f"seed {seed}\n{told}\n" + "\n".join(lines)


def test_what_only_facts_join_goes_to_the_components_of_both() -> None:
    program = cernis.load(PROGRAMS["cycle across keys"].rules)
    lines = ["win|1|1|k", "win|1|1|3", "win|1|1|o", "win|1|1|n"]
    for who in ("l", "m", "k", "5", "3"):
        lines += [f"lends|2|2|far{who}|{who}", f"asks|4|4|x|{who}", f"flees|7|7|{who}"]
    expected = program.run("\n".join(lines) + "\n", end=20).text()
    assert "broke(l)=true, [(5,8)" in expected
    for buckets in (2, 3, 5, 8):
        assert run(program, lines, Settings(end=20), buckets).text == expected, buckets


def job(buckets: int, lines: list[str]) -> Job:
    """The job of the program that crosses keys, with the components of some records."""
    made = job_of(cernis.load(PROGRAMS["cycle across keys"].rules).plan, Settings(), buckets)
    parts = parts_of(lines, 2, made)
    rows = [row for part in parts for row in pack_links(part, made)]
    return with_components(made, ((row.step, row.content) for row in rows))


def test_linked_entities_share_a_bucket_and_others_are_spread() -> None:
    lines = [f"lends|1|1|a{n}|a{n + 1}" for n in range(0, 40, 2)]
    lines += [f"lends|1|1|a{n}|a{n + 3}" for n in range(0, 40, 10)]
    made = job(4, lines)
    people = [f"a{n}" for n in range(42)]
    kinds = made.loaded.plan.routes.homes[Relation("lends", 2)].kinds
    where = made.placed(2, [Coded(people, np.arange(42))], 42, kinds).tolist()
    for line in lines:
        one, other = (people.index(name) for name in line.split("|")[3:])
        assert where[one] == where[other], line
    assert set(where) == {0, 1, 2, 3}


def test_routes_of_a_cycle_across_keys() -> None:
    routes = job_of(cernis.load(PROGRAMS["cycle across keys"].rules).plan, Settings(), 3)
    ways = {str(r): home.way for r, home in routes.loaded.plan.routes.homes.items()}
    assert ways["lends/2"] is Way.LINKED
    assert ways["near/2"] is Way.KEYED
    # What is linked is asked for by those who need it, as keyed relations are.
    onward = routes.loaded.plan.routes.onward
    assert {str(r): [d.way for d in own] for r, own in onward.items()} == {
        "win/1": [Way.LINKED], "rich/1": [Way.LINKED], "knows/2": [Way.LINKED],
        "broke/1": [Way.DEMANDED],
    }  # fmt: skip


def test_equal_values_of_two_kinds_are_two_entities() -> None:
    numbers = np.array([1, 2, 3])
    assert not set(entities_of(numbers, 0).tolist()) & set(entities_of(numbers, 1).tolist())
    assert np.array_equal(entities_of(numbers, 1), entities_of(Coded([1, 2.0, 3], numbers - 1), 1))


def test_the_heaviest_component_goes_to_the_emptiest_bucket() -> None:
    nodes = np.array([10, 20, 30, 40, 50, 60], np.uint64)
    made = Linked(nodes[:5:2], nodes[1::2], np.array([5, 4, 3]))
    components, outcome = spread(distinct([made, made]), 2)
    assert components.buckets.tolist() == [0, 0, 1, 1, 1, 1]
    assert (outcome.components, outcome.entities, outcome.share) == (3, 6, 5 / 12)
    none = distinct([])
    components, outcome = spread(none, 2)
    assert len(components.entities) == 0
    assert outcome.share == 0


def test_a_giant_component_is_warned_of() -> None:
    ring = np.arange(10, dtype=np.uint64)
    one, other = (spread(Linked(ring[:-1:s], ring[1::s], np.ones(9 // s + s // 2, np.int64)), 2)[1]
                  for s in (1, 2))  # fmt: skip
    with pytest.warns(UserWarning, match=r"stage 3: one component .* 100% .*1 components of 10"):
        warn_of_giants({3: one})
    warn_of_giants({3: other})


def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    keyed = PROGRAMS["cycle across keys"]
    program = cernis.load(keyed.rules)
    file = tmp_path / "events.txt"
    file.write_text("\n".join(stream(keyed, Random(8), 60)) + "\n")
    expected = program.run(file, window=15, step=5)
    found = recognise(
        program, file, window=15, step=5, end=expected.summary.end, partitions=3, spark=spark
    )
    assert found._computation.job.components[2].entities.size
    assert found.collect().text() == expected.text(), "seed 8"
    chain = "".join(f"lends|{n}|{n}|a{n}|a{n + 1}\n" for n in range(9))
    file.write_text(chain + "flees|12|12|a3\n")
    with pytest.warns(UserWarning, match="stage 2: one component of linked entities has 100%"):
        found = recognise(program, file, end=20, partitions=3, spark=spark)
    assert found.collect().text() == program.run(file, end=20).text()
