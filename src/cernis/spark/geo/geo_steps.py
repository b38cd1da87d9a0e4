"""The steps from positions to events, each from rows of one partition to rows for the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cernis.geo.areas import Areas
from cernis.geo.events import FLUENT, motion_events, proximity_table
from cernis.geo.parameters import Parameters
from cernis.geo.proximity import NearbyPairs, Samples, joined, near_pairs
from cernis.geo.tracks import vessel_codes
from cernis.spark.geo.geo_blobs import Piece, buckets_of, pieces_of, rows_of, split
from cernis.spark.geo.geo_files import write_part

Batches = Iterator[pa.RecordBatch]

POSITIONS, SAMPLES, PAIRS, ASIDE, FILES = "positions", "samples", "pairs", "set_aside", "files"
"""Names of pieces that do not belong to a relation."""

CHUNK = 1 << 20
"""How many positions are spread over buckets at a time."""

SPAN = 64
"""How many successive slots of time go to the same bucket."""


@dataclass(frozen=True)
class Work:
    """The settings that workers need. With a folder, they write relations there."""

    parameters: Parameters
    areas: Areas
    arrivals: bool
    buckets: int
    folder: str | None = None


def spread(batches: Batches, work: Work) -> Batches:
    """Send positions to the buckets of their vessels."""
    return rows_of(_spread(batches, work))


def spread_again(batches: Batches, work: Work) -> Batches:
    """Send positions that are in blobs already to the buckets of their vessels."""
    tables = (table for _, _, table in pieces_of(batches))
    return spread((batch for table in tables for batch in table.to_batches()), work)


def _spread(batches: Batches, work: Work) -> Iterator[Piece]:
    for table in _chunks(batches):
        yield from split(table, buckets_of(table["vessel"], work.buckets), POSITIONS)


def _chunks(batches: Batches) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(each) for each in waiting) >= CHUNK:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def follow(batches: Batches, work: Work) -> Batches:
    """Find the events of vessels; send their places at common times to the buckets of the times."""
    return rows_of(_follow(batches, work))


def _follow(batches: Batches, work: Work) -> Iterator[Piece]:
    taken = list(pieces_of(batches))
    if not taken:
        return
    bucket = taken[0][0]
    positions = pa.concat_tables([table for _, _, table in taken])
    del taken
    motion = motion_events(positions, work.parameters, work.areas, arrivals=work.arrivals)
    del positions
    samples = pa.table({
        "vessel": motion.vessels.take(pa.array(motion.samples.vessel)),
        "slot": motion.samples.slot, "lon": motion.samples.lon, "lat": motion.samples.lat,
    })  # fmt: skip
    where = motion.samples.slot // SPAN % work.buckets
    yield from split(samples, where, SAMPLES)
    yield from _passed_on(bucket, {**motion.relations, ASIDE: motion.set_aside}, work)


def _passed_on(bucket: int, relations: dict[str, pa.Table], work: Work) -> Iterator[Piece]:
    """Pass relations on; or write them, and pass on the list of the files."""
    if work.folder is None:
        yield from ((bucket, name, table) for name, table in relations.items())
    else:
        yield bucket, FILES, write_part(work.folder, relations)


def find_near(batches: Batches, work: Work) -> Batches:
    """Find intervals of vessels near each other, and send them to the buckets of the pairs.

    Intervals are still cut at the edges of time buckets.
    """
    return rows_of(_find_near(batches, work))


def _find_near(batches: Batches, work: Work) -> Iterator[Piece]:
    samples: list[pa.Table] = []
    for bucket, name, table in pieces_of(batches):
        if name == SAMPLES:
            samples.append(table)
        else:
            yield bucket, name, table
    if samples:
        yield from _pairs(pa.concat_tables(samples), work)


def _pairs(samples: pa.Table, work: Work) -> Iterator[Piece]:
    vessel, vessels = vessel_codes(samples["vessel"])
    slot, lon, lat = (samples[name].to_numpy() for name in ("slot", "lon", "lat"))
    pairs = near_pairs(Samples(vessel, slot, lon, lat), work.parameters)
    table = proximity_table(pairs, vessels, False)
    yield from split(table, buckets_of(table["vessel1"], work.buckets), PAIRS)


def join_pairs(batches: Batches, work: Work) -> Batches:
    """Join the intervals of pairs that were cut at the edges of time buckets."""
    return rows_of(_join_pairs(batches, work))


def _join_pairs(batches: Batches, work: Work) -> Iterator[Piece]:
    pairs: list[pa.Table] = []
    number = 0
    for bucket, name, table in pieces_of(batches):
        if name == PAIRS:
            pairs.append(table)
            number = bucket
        else:
            yield bucket, name, table
    if pairs:
        yield from _passed_on(number, {FLUENT: _whole(pairs, work)}, work)


def _whole(parts: Iterable[pa.Table], work: Work) -> pa.Table:
    table = pa.concat_tables(parts)
    both = pa.chunked_array([*table["vessel1"].chunks, *table["vessel2"].chunks])
    codes, vessels = vessel_codes(both)
    vessel1, vessel2 = np.split(codes, [len(table)])
    start, end = table["start"].to_numpy(), table["end"].to_numpy()
    pairs = joined(NearbyPairs(vessel1, vessel2, start, end), work.parameters)
    return proximity_table(pairs, vessels, work.arrivals)
