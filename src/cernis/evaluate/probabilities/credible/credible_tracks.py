"""The credible intervals of uncertain fluents from query to query, by the tracks of their pairs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cernis.check.model import Relation
from cernis.evaluate.probabilities.courses import Courses, Credible
from cernis.evaluate.probabilities.credible.course_tracks import Tracks
from cernis.evaluate.probabilities.credible.credible_tables import (
    CredibleTable,
    PairSeeds,
    credible_rows,
    credible_table,
)
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.stores import StoredRows, stacked
from cernis.evaluate.windows import Window
from cernis.tables.interval_tables import INFINITY


@dataclass(slots=True)
class _Tracked:
    """The intervals of a fluent as of a query: as rows, and as a table with means."""

    rows: StoredRows
    table: CredibleTable


class CredibleTracks:
    """Keeps the tracks of uncertain fluents, and gives the intervals of their courses so far.

    `hidden` fluents have tracks if others are made of them; their final intervals are not listed.
    """

    def __init__(self, settings: UncertainSettings, tick: int, hidden: Collection[Relation]):
        self._settings = settings
        self._tick = tick
        self._hidden = hidden
        self.tracks: dict[Relation, Tracks] = {}
        self.final_intervals: dict[Relation, StoredRows] = {}
        """The intervals that have become final at the last query: no later one changes them."""
        self._tracked: dict[Relation, _Tracked] = {}
        self._window = Window(0, 0, 0)
        self._start = 0

    def new_tracks(self, relation: Relation, first: int) -> Tracks:
        """Tracks of a fluent, still without pairs."""
        recognition = self._settings.of(relation)
        seeds = None
        if recognition.durations is not None:
            seeds = PairSeeds(relation, recognition.seed)
        return Tracks(first, self._tick, recognition, seeds)

    def begin(self, window: Window, start: int) -> None:
        """Begin a query, and settle all points before the edge of its window."""
        self._window, self._start = window, start
        self._tracked, self.final_intervals = {}, {}
        for relation in self.tracks:
            self._settle(relation, window.edge + self._tick)

    def intervals(self, relation: Relation, courses: Courses) -> CredibleTable:
        """The credible intervals of a fluent that reach into the window."""
        return self._track(relation, courses).table

    def rows(self, relation: Relation, courses: Courses) -> StoredRows:
        """The intervals of a fluent that are not final; those up to the last point are open."""
        return self._track(relation, courses).rows

    def _track(self, relation: Relation, courses: Courses) -> _Tracked:
        if relation not in self._tracked:
            self._tracked[relation] = self._answered(relation, courses)
        return self._tracked[relation]

    def _answered(self, relation: Relation, courses: Courses) -> _Tracked:
        window, tick = self._window, self._tick
        if relation not in self.tracks:
            self.tracks[relation] = self.new_tracks(relation, self._start + tick)
        tracks = self.tracks[relation]
        tracks.take_courses(courses)
        assert tracks.pairs is not None
        if window.forgotten > window.edge:
            # No record will change the points between two windows.
            self._settle(relation, window.forgotten + tick)
        intervals = tracks.answer(window.query + tick)
        last = tracks.first + tick * tracks.points(window.query + tick)
        rows = credible_rows(tracks.pairs, intervals, last)
        return _Tracked(rows, credible_table(tracks.pairs, self._in_window(intervals), last))

    def _in_window(self, intervals: Credible) -> Credible:
        """The intervals that end after the edge of the window."""
        if self._window.edge <= self._start:
            return intervals
        known = intervals.ends > self._window.edge + self._tick
        return Credible(
            intervals.owner[known], intervals.starts[known], intervals.ends[known],
            intervals.means[known],
        )  # fmt: skip

    def _settle(self, relation: Relation, bound: int) -> None:
        """Settle all points of a fluent before a time."""
        tracks = self.tracks[relation]
        assert tracks.pairs is not None
        intervals = tracks.settle(bound)
        if relation not in self._hidden:
            rows = credible_rows(tracks.pairs, intervals, INFINITY)
            before = self.final_intervals.get(relation)
            self.final_intervals[relation] = rows if before is None else stacked(before, rows)
