"""Warnings about the input of a stream, each of which is logged once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cernis.answers.unused_records import (
    input_names,
    is_mostly_unused,
    missing_fluents,
    reasons_counted,
    unknown_names,
)
from cernis.check.catalogue import Catalogue
from cernis.check.model import Relation
from cernis.records.record_columns import SetAside
from cernis.spark.metrics import Metrics

LOGGER: Final = "cernis.stream"
_MOST: Final = 100
"""At most so many warnings are given; later ones are only counted."""
_NAMES: Final = 10_000
"""Records are counted by name for at most so many names that no rule mentions."""


@dataclass
class Notices:
    """Writes warnings about the input to the log `cernis.stream`."""

    catalogue: Catalogue
    unknown: Counter[str] = field(default_factory=Counter)
    """How many records there were of each name that no rule mentions."""
    fluents: set[Relation] = field(default_factory=set)
    """The input fluents of which there were records."""
    _said: set[str] = field(default_factory=set)
    _reasons: set[str] = field(default_factory=set)
    """Reasons why files were skipped; the log names the first file of each reason."""

    def take(
        self, ignored: Mapping[str, int], skipped: Iterable[SetAside], warnings: Iterable[str]
    ) -> None:
        """Take in the reports of a micro-batch."""
        for name, count in ignored.items():
            if name not in self.unknown and len(self._said) < _MOST:
                self._say(next(unknown_names({name: count}, input_names(self.catalogue))))
            if name in self.unknown or len(self.unknown) < _NAMES:
                self.unknown[name] += count
        for reason, each in {each.reason: each for each in skipped}.items():
            if reason not in self._reasons:
                self._reasons.add(reason)
                self._say(f"a file is skipped: {each}")
        for text in warnings:
            self._say(text)

    def _say(self, text: str) -> None:
        if text not in self._said and len(self._said) < _MOST:
            self._said.add(text)
            logging.getLogger(LOGGER).warning("%s", text)

    def known(self) -> list[tuple[str, int]]:
        """The fluents that there were records of, as commits of micro-batches keep them."""
        return sorted((relation.name, relation.arity) for relation in self.fluents)

    def resume(self, known: Iterable[tuple[str, int]]) -> None:
        """Take over the fluents of which the stream had records before it was stopped."""
        self.fluents.update(Relation(*each) for each in known)

    def missing(self) -> list[str]:
        """A sentence about fluents that rules read and that the stream has not brought so far."""
        return missing_fluents(self.fluents, self.catalogue)

    def unused(self, metrics: Metrics, set_aside: Iterable[SetAside]) -> list[str]:
        """Sentences about a stream that had little use for its records; none if it used most."""
        unused = metrics.ignored + metrics.set_aside
        used = metrics.events - unused - metrics.too_late
        if not is_mostly_unused(metrics.events, unused, used):
            return []
        lines = [f"{metrics.events - max(used, 0):,} of {metrics.events:,} records are not used"]
        lines += unknown_names(self.unknown, input_names(self.catalogue))
        return [*lines, *reasons_counted(each.reason for each in set_aside)]
