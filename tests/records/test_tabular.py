"""Tables like one that was read before, against the same tables read for the first time."""

import random
from typing import Any

import pyarrow as pa
import pytest

import cernis
from cernis.records.gathering import Gathering
from cernis.records.mapping import Mappings
from cernis.records.record_columns import Records
from cernis.records.record_shapes import Shapes
from cernis.records.record_sources import read_unresolved
from cernis.records.tabular import add_plain_table

PROGRAM = cernis.load("""
initiatedAt(busy(V, N)=true, T) :- happensAt(speed(V, S, N), T), S > 3.
terminatedAt(busy(V, N)=true, T) :- happensAt(stop(V, N), T).
""")
CHECKED = PROGRAM.plan.checked
INTERVALS = cernis.load("""
collectIntervals(near(_, _)=true).
holdsFor(close(V, W)=true, I) :- holdsFor(near(V, W)=true, I).
""").plan.checked


def table(r: random.Random, has_gaps: bool) -> pa.Table:
    """A table that may be any way a table can be."""
    count = r.randint(1, 6)
    times = [r.choice([5, 7, 2**62 + 1]) if r.random() < 0.1 else r.randint(1, 9)
             for _ in range(count)]  # fmt: skip
    arrivals = [time + r.choice([0, 0, 2]) for time in times] if r.random() < 0.7 else times
    columns: dict[str, Any] = {
        "arrival": pa.array(arrivals, pa.int64()),
        "occurrence": pa.array(times, pa.int64()),
        "v": pa.array([r.randint(1, 3) for _ in range(count)], pa.int64()),
        "s": pa.array([r.choice([1.5, 8.0]) for _ in range(count)], pa.float64()),
        "n": pa.array([r.choice(["a", "b"]) for _ in range(count)]).dictionary_encode(),
    }
    if has_gaps:
        title = r.choice(list(columns))
        values = columns[title].to_pylist()
        values[r.randrange(count)] = float("nan") if title == "s" and r.random() < 0.5 else None
        columns[title] = pa.array(values, columns[title].type)
    whole = pa.table(columns)
    return pa.concat_tables([whole, whole]) if r.random() < 0.3 else whole.slice(r.randint(0, 1))


def contents(records: Records) -> Any:
    """All that there is to know about records."""
    rows = [
        [part.text(row) for row in range(len(part))] + [part.places.tolist()]
        for part in records.relations.values()
    ]
    return rows, list(map(str, records.set_aside)), records.count, records.dated, records.notes


@pytest.mark.parametrize("seed", range(60))
def test_a_table_like_the_last_one_is_read_as_any_other(seed: int) -> None:
    r = random.Random(seed)
    shapes = Shapes(CHECKED)
    for _ in range(5):
        given = {"speed": table(r, has_gaps=r.random() < 0.3)}
        again = contents(read_unresolved(given, CHECKED, shapes=shapes))
        assert again == contents(read_unresolved(given, CHECKED)), f"seed {seed}"
    assert "speed" in shapes.plain_tables


@pytest.mark.parametrize("seed", range(30))
def test_intervals_are_read_the_same_way(seed: int) -> None:
    r = random.Random(seed)
    shapes = Shapes(INTERVALS)
    for _ in range(4):
        starts = [r.randint(1, 9) for _ in range(r.randint(1, 4))]
        ends = [None if r.random() < 0.1 else s + r.choice([0, 1, 4, 4, 4]) for s in starts]
        given = {"near": pa.table({
            "start": pa.array(starts, pa.int64()), "end": pa.array(ends, pa.int64()),
            "value": pa.array([r.choice(["true"]) for _ in starts]).dictionary_encode(),
            "v": pa.array([1 for _ in starts]), "w": pa.array([r.randint(2, 3) for _ in starts]),
        })}  # fmt: skip
        again = contents(read_unresolved(given, INTERVALS, shapes=shapes))
        assert again == contents(read_unresolved(given, INTERVALS)), f"seed {seed}"
    assert "near" in shapes.plain_tables


def test_only_a_table_like_the_last_one_is_plain() -> None:
    r, shapes = random.Random(1), Shapes(CHECKED)
    plain = table(r, has_gaps=False).combine_chunks()
    assert not add_plain_table("speed", plain, Gathering(shapes), Mappings())
    read_unresolved({"speed": plain}, CHECKED, shapes=shapes)
    assert add_plain_table("speed", plain, Gathering(shapes), Mappings())
    renamed = plain.rename_columns(["arrival", "occurrence", "v", "speed", "n"])
    others = [renamed, plain.select(["arrival", "occurrence", "v", "n", "s"]), plain.slice(0, 0)]
    others += [plain.replace_schema_metadata({"a": "b"}), plain.to_pydict()]
    for other in others:
        assert not add_plain_table("speed", other, Gathering(shapes), Mappings())
    assert not add_plain_table("speed", plain, Gathering(shapes, ids="n"), Mappings())
    assert not add_plain_table("stop", plain, Gathering(shapes), Mappings())


def test_names_of_columns_that_a_mapping_gives_are_not_passed_over() -> None:
    shapes = Shapes(CHECKED)
    plain = table(random.Random(2), has_gaps=False)
    read_unresolved({"speed": plain}, CHECKED, shapes=shapes)
    other = plain.rename_columns(["arrival", "occurrence", "v", "s", "n"])
    mapping = {"defaults": {"occurrence": "arrival", "arrival": "occurrence"}}
    swapped = read_unresolved({"speed": other}, CHECKED, mapping, shapes=shapes)
    assert contents(swapped) == contents(read_unresolved({"speed": other}, CHECKED, mapping))
