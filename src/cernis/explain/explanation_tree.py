"""An explanation: a tree of what held or happened, by which rule, and from which records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from cernis.explain.histories import NamedRecord
from cernis.explain.point_texts import with_times
from cernis.knowledge.user_functions import without_digests
from cernis.knowledge.zone_clock import with_plain_clocks


@dataclass(slots=True)
class Reason:
    """One node: a sentence, what it is about, and the reasons below it, deepest causes last.

    `kind` is one of pair, event, began, kept, ended, rule, record, fact, condition, absent, failed,
    miss, change, share, note.
    """

    kind: str
    text: str
    place: str = ""
    bindings: dict[str, str] = field(default_factory=dict)
    interval: tuple[int, int] | None = None
    record: NamedRecord | None = None
    reasons: list[Reason] = field(default_factory=list)

    def walk(self) -> Iterator[Reason]:
        """This node and all below it."""
        yield self
        for reason in self.reasons:
            yield from reason.walk()

    def as_dict(self) -> dict[str, Any]:
        """The node for JSON; what is empty is left out."""
        parts: dict[str, Any] = {"kind": self.kind, "text": self.text}
        if self.place:
            parts["place"] = self.place
        if self.bindings:
            parts["bindings"] = self.bindings
        if self.interval:
            parts["interval"] = list(self.interval)
        if self.record:
            parts["record"] = self.record.text
        if self.reasons:
            parts["reasons"] = [reason.as_dict() for reason in self.reasons]
        return parts


@dataclass(slots=True)
class Explanation:
    """The answer to a question: whether it holds, and the tree of reasons."""

    question: str
    time: int
    holds: bool
    tree: Reason
    check: Callable[[set[int]], bool] | None = None
    """Do the records with some numbers, evaluated alone, give the answer?"""
    shown_time: str = ""
    """The time as it is written: a date if the input has such."""
    probability: float | None = None
    """How likely a pair is from uncertain records; None if records are certain."""

    def write_times(self, show_time: Callable[[int], str]) -> None:
        """Write all time-points in the texts of the tree."""
        self.shown_time = show_time(self.time)
        for reason in self.tree.walk():
            reason.text = with_plain_clocks(with_times(reason.text, show_time), show_time)
            if reason.record is not None:
                text = with_times(reason.record.text, show_time)
                reason.record = replace(reason.record, text=text)

    @property
    def records(self) -> list[NamedRecord]:
        """The records that the tree names, each once, in the order of their places."""
        named = {
            reason.record.number: reason.record for reason in self.tree.walk() if reason.record
        }
        return [named[number] for number in sorted(named)]

    def minimal_records(self) -> list[NamedRecord]:
        """Of the records that the tree names, so few that each is needed.

        They give the answer by themselves, and without any one of them it is not given. There may
        be other such sets.
        """
        if self.check is None:
            return []
        kept = {record.number for record in self.records}
        while True:
            spare = next((n for n in sorted(kept) if self.check(kept - {n})), None)
            if spare is None:
                return [record for record in self.records if record.number in kept]
            kept.remove(spare)

    def html(self, depth: int = 4) -> str:
        """A page of its own; what lies deeper than `depth` is folded until somebody opens it."""
        from cernis.explain.explanation_pages import explanation_page

        return explanation_page([self], depth)

    def text(self, depth: int | None = None, colour: bool = False) -> str:
        """The tree as indented lines; what lies deeper than `depth` is folded."""
        lines = (f"{line}\n" for line in _lines(self.tree, "", "", depth, colour))
        return without_digests("".join(lines))

    def json(self) -> str:
        """The explanation as JSON."""
        return without_digests(json.dumps(self.as_dict(), indent=2, ensure_ascii=False))

    def as_dict(self) -> dict[str, Any]:
        """The explanation for JSON."""
        known = {} if self.probability is None else {"probability": self.probability}
        return {
            "question": self.question, "time": self.time, "at": self.shown_time,
            "holds": self.holds, **known, "tree": self.tree.as_dict(),
        }  # fmt: skip

    def __str__(self) -> str:
        return self.text()


_COLOURS = {
    "pair": "1", "event": "1", "record": "32", "fact": "36", "failed": "31", "absent": "35",
    "miss": "33", "change": "33", "note": "2", "kept": "2",
}  # fmt: skip


def _lines(reason: Reason, first: str, rest: str, depth: int | None, colour: bool) -> Iterator[str]:
    yield first + _line(reason, colour)
    if depth is not None and depth <= 0:
        hidden = sum(1 for _ in reason.walk()) - 1
        if hidden:
            yield f"{rest}└─ … {hidden} more reasons below; raise the depth to see them"
        return
    for number, below in enumerate(reason.reasons, 1):
        is_last = number == len(reason.reasons)
        yield from _lines(
            below, rest + ("└─ " if is_last else "├─ "), rest + ("   " if is_last else "│  "),
            None if depth is None else depth - 1, colour,
        )  # fmt: skip


def _line(reason: Reason, colour: bool) -> str:
    text = reason.text
    if reason.bindings:
        text += " with " + ", ".join(f"{name}={each}" for name, each in reason.bindings.items())
    if colour and reason.kind in _COLOURS:
        text = f"\033[{_COLOURS[reason.kind]}m{text}\033[0m"
    return f"{text}  ({reason.place})" if reason.place else text
