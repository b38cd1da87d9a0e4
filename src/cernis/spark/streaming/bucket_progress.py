"""How far a bucket of a stream has come, and what it has taken in since its session was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_shapes import MOST_REPLAYED
from cernis.session.saved.saved_values import form_of, plain_form
from cernis.spark.streaming.stream_clock import Clock

_SHARE: Final = 4
FEW: Final = 2_000
"""Logged micro-batches have at most one record for `_SHARE` of those in the window, or a few."""


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """A micro-batch of which the state has the records, and not the session that took them in."""

    batch: int
    queries: int
    """How many queries it has answered."""
    records: int
    before: str
    """The digest of the version that it began with."""


@dataclass(frozen=True, slots=True)
class BucketProgress:
    """How far a bucket has come: its clock, and the size of its session at the last query."""

    clock: Clock = field(default_factory=Clock)
    held: int = 0
    open_intervals: int = 0
    kept: int = 0
    log: tuple[LoggedBatch, ...] = ()
    """The micro-batches since the session was written."""

    def may_log(self, batch: LoggedBatch, held: int) -> bool:
        """May a micro-batch be logged, so that the session with its records is not written?"""
        log = (*self.log, batch)
        queries, records = (sum(each.queries for each in log), sum(each.records for each in log))
        return queries <= MOST_REPLAYED and records <= max(held // _SHARE, FEW)

    def since(self, digest: str) -> tuple[LoggedBatch, ...] | None:
        """The micro-batches since a version; None if the log does not go on from that version."""
        for place, each in enumerate(self.log):
            if each.before == digest:
                return self.log[place:]
        return None

    def tree(self) -> Tree:
        """It as plain data."""
        clock = self.clock
        return {
            "start": clock.start, "time": clock.time, "query": clock.query,
            "forms": sorted(plain_form(form) for form in clock.forms), "held": self.held,
            "open_intervals": self.open_intervals, "kept": self.kept,
            "log": [[each.batch, each.queries, each.records, each.before] for each in self.log],
        }  # fmt: skip

    @staticmethod
    def of(tree: Tree) -> BucketProgress:
        """It from plain data."""
        forms = frozenset(form_of(each) for each in tree["forms"])
        clock = Clock(tree["start"], tree["time"], tree["query"], forms)
        # States of earlier versions have no number of kept occurrences, and no log.
        log = tuple(LoggedBatch(*each) for each in tree.get("log", ()))
        return BucketProgress(clock, tree["held"], tree["open_intervals"], tree.get("kept", 0), log)
