"""What a task spends its processor time on, so that a run can show where its time goes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from cernis.spark.exchange.exchange_rows import LAST, Kind, Row

T = TypeVar("T")


@dataclass(slots=True)
class Clock:
    """Processor seconds of this process by kind of work.

    Kinds may be nested: what is spent inside counts for the inner one only. What is spent outside
    of all is not known here: Arrow, sockets, Spark's own worker.
    """

    spent: dict[str, float] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def at(self, kind: str) -> Iterator[None]:
        """Count what is spent within for a kind of work."""
        self._credit()
        self._open.append(kind)
        try:
            yield
        finally:
            self._credit()
            self._open.pop()

    def over(self, kind: str, items: Iterable[T]) -> Iterator[T]:
        """The items, with what it takes to make them counted; not what is done with them."""
        iterator = iter(items)
        while True:
            with self.at(kind):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def row(self) -> Row:
        """A report of what was spent."""
        return Row(0, LAST, Kind.REPORT, {"seconds": dict(self.spent)})

    def _credit(self) -> None:
        now = time.process_time()
        if self._open:
            kind = self._open[-1]
            self.spent[kind] = self.spent.get(kind, 0.0) + now - self._since
        self._since = now
