"""The processor time of a task by kind of work, so that a run can show where its time goes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from cernis.spark.exchange.exchange_rows import LAST, Kind, Row

T = TypeVar("T")


@dataclass(slots=True)
class TaskTimes:
    """Processor seconds of this process by kind of work.

    Kinds may be nested: time that is spent inside counts for the inner kind only. Time that is
    spent outside of all kinds, by Arrow, sockets and Spark's own worker, is not counted.
    """

    spent: dict[str, float] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def spent_on(self, kind: str) -> Iterator[None]:
        """A context whose processor time counts for a kind of work."""
        self._credit()
        self._open.append(kind)
        try:
            yield
        finally:
            self._credit()
            self._open.pop()

    def over(self, kind: str, items: Iterable[T]) -> Iterator[T]:
        """The items; the time that making them takes counts, that of using them does not."""
        iterator = iter(items)
        while True:
            with self.spent_on(kind):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def row(self) -> Row:
        """A report of the seconds by kind of work."""
        return Row(0, LAST, Kind.REPORT, {"seconds": dict(self.spent)})

    def _credit(self) -> None:
        now = time.process_time()
        if self._open:
            kind = self._open[-1]
            self.spent[kind] = self.spent.get(kind, 0.0) + now - self._since
        self._since = now
