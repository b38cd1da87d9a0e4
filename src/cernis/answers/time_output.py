"""Time-points as times again: columns of timestamps, and texts of ISO 8601."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.errors import DataError
from cernis.kernels.array_types import Integers
from cernis.records.arrow_arrays import as_arrow, as_text
from cernis.syntax.time_scale import UNITS, TimeScale
from cernis.tables.interval_tables import INFINITY

TIME_TITLES: Final = ("query", "start", "end", "occurrence", "query_time")
"""The titles of columns of times in all tables of results."""

TOO_FAR: Final = (
    "the time-point {} is too far from 1970 to be written as a date; --epoch, or epoch=True, gives "
    "times as whole numbers"
)


@dataclass(frozen=True, slots=True)
class TimeOutput:
    """How times come out: as whole numbers, or, if the input had dates, as these."""

    scale: TimeScale = field(default_factory=TimeScale)
    dated: bool = False

    @property
    def kind(self) -> pa.DataType:
        """The Arrow type of times: microseconds, nanoseconds where these are the unit."""
        if not self.dated:
            return pa.int64()
        return pa.timestamp("ns" if self.scale.unit == "ns" else "us", "UTC")

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """A schema with its times as they come out."""
        for title in TIME_TITLES if self.dated else ():
            place = schema.get_field_index(title)
            if place >= 0:
                schema = schema.set(place, schema.field(place).with_type(self.kind))
        return schema

    def table(self, table: pa.Table) -> pa.Table:
        """A table with its times as they come out; a time that is null stays so."""
        for title in TIME_TITLES if self.dated else ():
            place = table.schema.get_field_index(title)
            if place >= 0 and pa.types.is_integer(table.schema.field(place).type):
                table = table.set_column(place, title, self._times(table.column(place)))
        return table

    def _times(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        ratio = UNITS[self.kind.unit] // self.scale.per_second
        try:
            counts = pc.multiply_checked(column, as_arrow(np.array([ratio]))[0])
        except pa.ArrowInvalid:
            farthest = pc.max(pc.abs(column)).as_py()
            raise DataError(TOO_FAR.format(farthest)) from None
        return counts.cast(self.kind)

    def texts(self, times: Integers) -> pa.Array:
        """Times as texts; an open end is `inf`."""
        is_open = times == INFINITY
        if self.dated:
            texts = self._dates(np.where(is_open, 0, times))
        else:
            texts = pc.cast(as_arrow(np.ascontiguousarray(times)), pa.string())
        return pc.if_else(as_arrow(is_open), as_text("inf"), texts) if is_open.any() else texts

    def _dates(self, times: Integers) -> pa.Array:
        far = np.iinfo(np.int64).max // (UNITS["us"] // min(self.scale.per_second, UNITS["us"]))
        farthest = int(np.abs(times).max(initial=0))
        if farthest > far:
            raise DataError(TOO_FAR.format(farthest))
        stamps = as_arrow(times).cast(pa.timestamp(self.scale.unit))
        return pc.binary_join_element_wise(
            pc.strftime(stamps, "%Y-%m-%dT%H:%M:%S"), as_text("Z"), as_text("")
        )

    def text(self, time: int) -> str:
        """One time as text."""
        return str(self.texts(np.array([time], np.int64))[0].as_py())


WHOLE_NUMBERS: Final = TimeOutput()
"""Times as the whole numbers that they are."""
