"""What was recognised of uncertain records, for people and programs to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_lines import (
    argument_text,
    event_lines,
    joined_lines,
    ranked,
    template,
    text_lists,
    value_text,
)
from cernis.answers.answer_tables import (
    HAPPENINGS,
    INTERVALS,
    all_intervals,
    event_order,
    fluent_frame,
    happening_columns,
)
from cernis.answers.result import Summary, find_relation
from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.check.catalogue import Catalogue
from cernis.check.model import Relation
from cernis.errors import UnsupportedError
from cernis.evaluate.answer import Answer
from cernis.evaluate.probabilities.courses import Courses
from cernis.kernels.array_types import Floats
from cernis.records.arrow_arrays import as_arrow, as_text, as_texts
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

if TYPE_CHECKING:
    from cernis.answers.reports.report_content import RunOrigin

CREDIBLE: Final = INTERVALS.append(pa.field("probability", pa.float64()))
"""All intervals; the probability is the mean over the interval, and null for a certain fluent."""

PROBABILITIES: Final = pa.schema([
    ("fluent", pa.string()), ("args", pa.list_(pa.string())), ("value", pa.string()),
    ("start", pa.int64()), ("end", pa.int64()), ("probability", pa.float64()),
])  # fmt: skip
"""The probability that a pair holds at each point from start up to end; a last end is null."""


OCCURRENCES: Final = HAPPENINGS.append(pa.field("probability", pa.float64()))
"""The occurrences of uncertain patterns, each with its probability."""


class UncertainResult:
    """Credible intervals of all fluents that rules define, and their probabilities over time."""

    def __init__(
        self, answer: Answer, catalogue: Catalogue, summary: Summary,
        times: TimeOutput = WHOLE_NUMBERS, origin: RunOrigin | None = None,
        exact: Callable[[], Answer] | None = None,
    ) -> None:  # fmt: skip
        self.answer = answer
        self.summary = summary
        self.times = times
        self.origin = origin
        self._exact = exact
        self._catalogue = catalogue

    def __repr__(self) -> str:
        return (
            f"<UncertainResult: {len(self.intervals)} intervals of {len(self.answer.fluents)} "
            f"fluents, {len(self.answer.courses)} of them uncertain>"
        )

    def select(self, *names: str) -> UncertainResult:
        """The result with only the fluents and derived events of these names."""
        from cernis.answers.selection import selected_answer, selected_relations

        chosen = copy(self)
        for table in ("intervals", "probabilities", "occurrences", "deviations"):
            chosen.__dict__.pop(table, None)
        relations = selected_relations(names, self._catalogue, self._hidden)
        chosen.answer = selected_answer(self.answer, relations)
        return chosen

    @cached_property
    def intervals(self) -> pa.Table:
        """All intervals: `fluent, args, value, start, end, open, probability`.

        Half-open, `[start, end)`. One that reaches the end of the run is open, and its end null.
        The probability is the mean over the interval's points in the run; null for fluents that
        are certain.
        """
        parts = [CREDIBLE.empty_table()]
        for relation, table in sorted(self.answer.fluents.items()):
            means = self.answer.means.get(relation)
            parts.append(_numbered(_all_of(relation), table, means).select(CREDIBLE.names))
        return self.times.table(pa.concat_tables(parts))

    @cached_property
    def probabilities(self) -> pa.Table:
        """The probability of each pair over time: `fluent, args, value, start, end, probability`.

        It is the same at all points from start up to, not including, end. Where it is 0 there is
        no row.
        """
        parts = [PROBABILITIES.empty_table()]
        for relation, courses in sorted(self.answer.courses.items()):
            table, chances = courses.segments()
            own = _numbered(_all_of(relation), table, chances)
            parts.append(own.select(PROBABILITIES.names))
        return self.times.table(pa.concat_tables(parts))

    @cached_property
    def occurrences(self) -> pa.Table:
        """What patterns found: `event, args, start, occurrence, probability`.

        An occurrence is the closed interval from its start to the point `occurrence` at which it
        happens. Those of patterns over certain records are not among them: they are certain.
        """
        parts = [OCCURRENCES.empty_table()]
        for relation, chances in sorted(self.answer.occurrence_chances.items()):
            parts.append(_occurrences(relation, self.answer.possible[relation], chances))
        return self.times.table(pa.concat_tables(parts))

    @cached_property
    def deviations(self) -> pa.Table:
        """How far each pair's probability is off since rules take others as independent.

        `fluent, args, value, deviation, time, probability, exact`: the largest deviation from the
        probability that `:- exact(window).` gives, the first point that has it, and both
        probabilities there; the largest deviations first. The records are read and evaluated
        again. It is an UnsupportedError if too many pairs are related for exact probabilities.
        """
        from cernis.answers.independence import deviations

        if self._exact is None:
            raise UnsupportedError(
                "deviations from exact probabilities are those of a run in this process: "
                "program.run_uncertain(...).deviations"
            )
        return self.times.table(deviations(self.answer, self._exact()))

    def fluent(self, name: str) -> pa.Table:
        """The intervals of one fluent, with typed columns.

        The columns are its arguments, called as in the rules, then `value, start, end, open` and
        `probability`.
        """
        relation, table = find_relation(name, self.answer.fluents, "fluent")
        means = self.answer.means.get(relation)
        return self.times.table(_numbered(
            lambda marked: fluent_frame(relation, marked, self._catalogue), table, means
        ))  # fmt: skip

    def report(
        self, path: str | Path, *, title: str | None = None, events: bool = True,
        positions: pa.Table | None = None, areas: str | Path | Mapping[str, Any] | None = None,
        causes: bool | None = None,
    ) -> Path:  # fmt: skip
        """Write a page for a browser: credible intervals, and probabilities as bands.

        The page needs no other file and no network. Options are those of a certain result. Causes
        are those of the points at which a probability changes; they can be had of runs in which
        all records were known at once, without a window.
        """
        from cernis.answers.reports.report_file import ReportOptions, has_causes, write_report

        if causes is None:
            causes = events and has_causes(self.origin, self.answer)
        options = ReportOptions(title, events, positions, areas, causes)
        return write_report(path, self.origin, self.answer, self.summary, self.times, options)

    def _repr_html_(self) -> str:
        """What a notebook shows: a small timeline of credible intervals, and a table."""
        from cernis.answers.reports.notebook_view import result_view

        shown = [relation for relation in self._catalogue.fluents if relation not in self._hidden]
        return result_view(self.answer, self.times, shown)

    @property
    def _hidden(self) -> set[Relation]:
        return self.origin.checked.definitions.auxiliary if self.origin else set()

    def text(self) -> str:
        """One line for each pair: `holdsFor(F=V, [(start,end,probability),...]).`, sorted.

        Of a certain fluent, intervals have no probability. What patterns over uncertain records
        found is there as `occurs(E, [(start,end,probability),...]).`.
        """
        lines = [line for r, t in self.answer.fluents.items() for line in self._lines(r, t)]
        for relation, chances in self.answer.occurrence_chances.items():
            table = self.answer.possible[relation]
            for block in event_lines(relation, table, self.times, _digits(chances)):
                lines += block.to_pylist()
        return "".join(sorted(lines))

    def _lines(self, relation: Relation, table: FluentTable) -> Iterator[str]:
        edges = [table.starts, table.ends]
        means = self.answer.means.get(relation)
        texts = [self.times.texts(edges[0]), self.times.texts(edges[1])]
        texts += [] if means is None else [_digits(means)]
        entries = pc.binary_join_element_wise(*texts, as_text(","))
        return _pair_lines("holdsFor", relation, table, entries)

    def probability_text(self) -> str:
        """One line for each pair: `probability(F=V, [(2,0.32),(22,0.388)]).`, sorted.

        An entry is a point from which on the probability, 0 at first, is another; rounded to nine
        digits.
        """
        lines = [
            line for r, c in self.answer.courses.items() for line in _course_lines(r, c, self.times)
        ]
        return "".join(sorted(lines))


def _course_lines(relation: Relation, courses: Courses, output: TimeOutput) -> Iterator[str]:
    rounded = np.round(courses.chances, 9)
    owner = np.repeat(np.arange(len(courses.pairs)), np.diff(courses.offsets))
    first = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    before = np.where(first, 0.0, np.append(0.0, rounded[:-1])[: len(rounded)])
    is_reported = rounded != before
    offsets = np.searchsorted(owner[is_reported], np.arange(len(courses.pairs) + 1)).astype(
        np.int64
    )
    times = courses.times[is_reported]
    entries = pc.binary_join_element_wise(
        output.texts(times), _digits(rounded[is_reported]), as_text(",")
    )
    pairs = courses.pairs
    table = FluentTable(
        pairs.arguments, pairs.values, pairs.domains, pairs.value_domain, offsets, times, times
    )
    return _pair_lines("probability", relation, table, entries)


def _pair_lines(
    name: str, relation: Relation, table: FluentTable, entries: pa.Array
) -> Iterator[str]:
    """A line for each pair that has entries."""
    pieces = template(relation)
    pieces = [f"{name}({pieces[0]}", *pieces[1:]]
    pieces[-1] += "="
    columns = [
        ranked(column, domain, argument_text, following)
        for (column, domain), following in zip(table.columns()[:-1], pieces[1:], strict=True)
    ]
    columns.append(ranked(table.values, table.value_domain, value_text, ", ["))
    lists = text_lists(entries, table.offsets, "),(")
    rows = np.flatnonzero(np.diff(table.offsets))
    lines = joined_lines([*pieces, ", [("], columns, rows, lists.take(as_arrow(rows)), ")]).\n")
    yield from lines.to_pylist()


def _digits(chances: Floats) -> pa.Array:
    """Numbers with at most nine digits after the point."""
    distinct, codes = np.unique(np.round(chances, 9), return_inverse=True)
    texts = [f"{number:.9f}".rstrip("0").rstrip(".") for number in distinct.tolist()]
    return as_texts(texts).take(as_arrow(codes.astype(np.int64)))


def _occurrences(relation: Relation, table: EventTable, chances: Floats) -> pa.Table:
    """The occurrences of one pattern, by arguments and time."""
    order = event_order(table)
    columns = happening_columns(table.take(order))
    name = pa.repeat(pa.scalar(relation.name), len(table))
    return pa.table(
        {"event": name, **columns, "probability": as_arrow(chances[order])}, OCCURRENCES
    )


def _all_of(relation: Relation) -> Callable[[FluentTable], pa.Table]:
    return lambda table: all_intervals(Answer({relation: table}))


def _numbered(
    frame: Callable[[FluentTable], pa.Table], table: FluentTable, numbers: Floats | None
) -> pa.Table:
    """The intervals of one fluent in the order of a frame, with a probability each, or null."""
    # Intervals are identified by their places while they are sorted.
    places = np.arange(len(table.starts))
    framed = frame(
        FluentTable(
            table.arguments, table.values, table.domains, table.value_domain, table.offsets,
            places, table.ends,
        )
    )  # fmt: skip
    order = framed["start"].to_numpy()
    column = pa.nulls(len(order), pa.float64()) if numbers is None else as_arrow(numbers[order])
    place = framed.schema.get_field_index("start")
    framed = framed.set_column(place, "start", as_arrow(table.starts[order]))
    return framed.append_column("probability", column)
