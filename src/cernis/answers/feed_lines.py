"""The changes of a feed as lines of text: `+ happy(chris)=true [14,22) at 30`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def feed_lines(changes: pa.Table) -> Iterator[str]:
    """A line for each change, in their order."""
    return map(line_of, with_text_times(changes).to_pylist())


def with_text_times(changes: pa.Table) -> pa.Table:
    """The changes with timestamps as texts of ISO 8601, without fractions that are nought."""
    for place, field_ in enumerate(changes.schema):
        if pa.types.is_timestamp(field_.type):
            texts = pc.strftime(changes.column(place), "%Y-%m-%dT%H:%M:%S")
            texts = pc.replace_substring_regex(texts, r"\.0+$|(\.\d*[1-9])0+$", r"\1")
            zoned = pc.binary_join_element_wise(texts, "Z", "")
            changes = changes.set_column(place, field_.name, zoned)
    return changes


def line_of(row: Mapping[str, Any]) -> str:
    """A change as a line.

    >>> line_of({"change": "insert", "fluent": "rich", "args": ["kim"], "value": "true",
    ...     "start": 14, "end": None, "query_time": 20})
    '+ rich(kim)=true [14,inf) at 20'
    >>> line_of({"change": "insert", "fluent": "theft", "args": ["pen"], "value": None,
    ...     "start": 14, "end": 17, "query_time": 20})
    '+ theft(pen) [14,17] at 20'
    """
    args = f"({', '.join(row['args'])})" if row["args"] else ""
    sign = {"insert": "+", "delete": "-"}.get(row["change"], "=")
    chance = row.get("probability")
    sure = "" if chance is None else f" {chance:.3f}"
    if row["value"] is None:
        start, end = row["start"], row["end"]
        when = start if end is None else f"[{start},{end}]"
        return f"{sign} {row['fluent']}{args} {when}{sure} at {row['query_time']}"
    end = "inf" if row["end"] is None else row["end"]
    pair = f"{row['fluent']}{args}={row['value']}"
    return f"{sign} {pair} [{row['start']},{end}){sure} at {row['query_time']}"
