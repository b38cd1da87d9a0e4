"""Input records as tables, and their text and Parquet forms.

A relation is a `pyarrow.Table` whose first columns are the times and whose other columns are the
value, for a fluent, and the arguments in order:

- event: `arrival, occurrence, args...`
- fluent at a point: `arrival, occurrence, value, args...`
- fluent on an interval `[start, end)`: `arrival, start, end, value, args...`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Relations: TypeAlias = dict[str, pa.Table]
Column: TypeAlias = Integers | Floats | pa.Array

CHUNK = 250_000
"""Rows turned into text at a time, so that the text of a stream is never held twice."""


def names(codes: Integers, values: list[str]) -> pa.Array:
    """The strings that codes stand for, each string stored once."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))


def constant(value: str, rows: int) -> pa.Array:
    """A column of one and the same string."""
    return names(np.zeros(rows, dtype=np.int64), [value])


def lags(rng: np.random.Generator, rows: int, late: float, scale: float) -> Integers:
    """How long after its time each record arrives.

    A share `late` of the records lags by a gamma-distributed time of shape 2; the others, and
    all of them when `late` is 0, arrive at once.
    """
    delayed = rng.random(rows) < late
    lag = np.zeros(rows, dtype=np.int64)
    lag[delayed] = np.ceil(rng.gamma(2.0, scale, int(delayed.sum()))).astype(np.int64)
    return lag


def relation(columns: Mapping[str, Column]) -> pa.Table:
    """A table of records, ordered by arrival; records that arrive together keep their order."""
    table = pa.table(dict(columns))
    arrival = table.column("arrival").to_numpy()
    if bool(np.all(arrival[1:] >= arrival[:-1])):
        return table
    return table.take(pa.array(np.argsort(arrival, kind="stable")))


def lines(name: str, table: pa.Table) -> pa.Array:
    """The records of a relation as text, one string a record, in the order of the table."""
    fields = [_text(table.column(column)) for column in table.column_names]
    return pc.binary_join_element_wise(pa.scalar(name), *fields, "|")


def _text(column: pa.ChunkedArray) -> pa.Array:
    flat = column.combine_chunks()
    if not pa.types.is_floating(flat.type):
        return pc.cast(flat, pa.string())
    # Always one decimal: a plain cast writes 12.0 as 12, and a column would mix two types.
    tenths = np.rint(flat.to_numpy() * 10).astype(np.int64)
    sign = names((tenths < 0).astype(np.int64), ["", "-"]).cast(pa.string())
    whole = pc.cast(pa.array(np.abs(tenths) // 10), pa.string())
    decimal = pc.cast(pa.array(np.abs(tenths) % 10), pa.string())
    number = pc.binary_join_element_wise(whole, decimal, ".")
    return pc.binary_join_element_wise(sign, number, "")


def write_text(relations: Mapping[str, pa.Table], path: Path) -> None:
    """Write all records into one file, ordered by arrival, ties in the order of `relations`."""
    tables = [table for table in relations.values() if len(table)]
    owners = [name for name, table in relations.items() if len(table)]
    arrivals = [table.column("arrival").to_numpy() for table in tables]
    with path.open("wb") as out:
        for bounds in _slices(arrivals):
            parts = [
                (lines(owner, table.slice(low, high - low)), arrival[low:high])
                for owner, table, arrival, (low, high) in zip(
                    owners, tables, arrivals, bounds, strict=True
                )
            ]
            _write_merged(parts, out.write)


def _slices(arrivals: list[Integers]) -> list[list[tuple[int, int]]]:
    """Cut the tables at common times, so that each cut has about `CHUNK` rows in all."""
    if not arrivals:
        return []
    everything = np.sort(np.concatenate(arrivals))
    cuts = np.unique(everything[CHUNK::CHUNK])
    edges = [
        np.concatenate(([0], np.searchsorted(arrival, cuts), [len(arrival)]))
        for arrival in arrivals
    ]
    return [[(int(edge[at]), int(edge[at + 1])) for edge in edges] for at in range(len(cuts) + 1)]


def _write_merged(parts: list[tuple[pa.Array, Integers]], write: Callable[[bytes], object]) -> None:
    order = np.argsort(np.concatenate([arrival for _, arrival in parts]), kind="stable")
    texts = pa.concat_arrays([text for text, _ in parts]).take(pa.array(order))
    if len(texts):
        write(b"\n".join(texts.cast(pa.binary()).to_pylist()) + b"\n")


def write_parquet(relations: Mapping[str, pa.Table], directory: Path) -> None:
    """Write each relation, empty ones too, into `<name>.parquet`."""
    for name, table in relations.items():
        pq.write_table(table, directory / f"{name}.parquet", compression="zstd")


def run(
    description: str,
    generate: Callable[..., Relations],
    facts: Callable[[int], str],
    *,
    entities: int,
) -> None:
    """The command line of a generator: write the records and the facts that go with them."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--events", type=int, default=100_000, help="number of records")
    parser.add_argument("--entities", type=int, default=entities, help="number of entities")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same data")
    parser.add_argument("--late", type=float, default=0.0, help="share of records that lag")
    parser.add_argument("--output", type=Path, required=True, help="directory to write to")
    parser.add_argument("--format", choices=("text", "parquet"), default="text")
    options = parser.parse_args()
    relations = generate(options.events, options.entities, options.seed, late=options.late)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "facts.cer").write_text(facts(options.entities), encoding="utf-8")
    if options.format == "text":
        write_text(relations, options.output / "events.txt")
    else:
        write_parquet(relations, options.output)
