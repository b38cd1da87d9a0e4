"""Random programs through RTEC and cernis, pair by pair and query by query.

`CERNIS_RTEC=FOLDER python -m tests.conformance.compare FIRST LAST` compares the seeds from the
first to the last and counts what differs by kind.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cernis
from cernis.answers.result import as_text
from tests.conformance.programs import Scenario, drawn
from tests.conformance.rtec import Answer, Rtec, Windows, cernis_answer, clipped, folder

SAME = "identical"
BY_WINDOW = "RTEC's answer depends on the windows; cernis says what RTEC does in one window"
DEADLINES = "RTEC loses or keeps deadlines at the edges of windows; cernis says as in one window"
RELATIONS = "relations between intervals: partners before the window's edge"
OUTSIDE = "RTEC finds a value outside a cycle of deadlines before the effects that break it"
IN_CYCLE = "RTEC takes an initiation that a termination at its point cancels for one, in a cycle"
UNLIKE = "different"


@dataclass(frozen=True)
class Outcome:
    """One pair at one query: what each says."""

    kind: str
    windows: Windows
    query: int
    pair: str
    rtec: object
    cernis: object

    def __str__(self) -> str:
        where = f"window {self.windows.window}, step {self.windows.step}, query {self.query}"
        return f"{self.kind}: {where}: {self.pair}: RTEC {self.rtec}, cernis {self.cernis}"


def by_cernis(scenario: Scenario, windows: Windows) -> list[Answer]:
    """What each query gives."""
    program = cernis.load(scenario.rules, dialect="rtec")
    result = program.run(
        list(scenario.records), start=windows.start, end=windows.end, window=windows.window,
        step=windows.step, per_query=True,
    )  # fmt: skip
    return [cernis_answer(as_text(answer)) for _, answer in result.as_of]


@dataclass
class Comparison:
    """One scenario in both systems."""

    scenario: Scenario
    rtec: Rtec
    compiled: Path = field(init=False)
    _wholes: dict[tuple[Windows, int], Answer] = field(default_factory=dict)

    def outcomes(self) -> Iterator[Outcome]:
        """All pairs of all queries, of each of the windowings."""
        rules = self.rtec.work / "source.prolog"
        rules.write_text(self.scenario.rules)
        self.compiled = self.rtec.compile(rules)
        for windows in self.scenario.windows:
            theirs = self._by_rtec(self.scenario.records, windows)
            ours = by_cernis(self.scenario, windows)
            for at, query in enumerate(windows.queries):
                yield from self._query(windows, query, theirs[at], ours[at])

    def _query(
        self, windows: Windows, query: int, theirs: Answer, ours: Answer
    ) -> Iterator[Outcome]:
        seen = windows.seen(query)
        one, other = clipped(theirs, *seen), clipped(ours, *seen)
        for pair in sorted({*one, *other}):
            kind = SAME
            if one.get(pair) != other.get(pair):
                whole = clipped(self._whole(windows, query), 0, query + 1)
                kind = self._kind(pair, clipped(whole, *seen), other, [one, whole])
                if kind == UNLIKE and self.scenario.has_relations and not windows.is_one:
                    kind = RELATIONS
            yield Outcome(kind, windows, query, pair, one.get(pair), other.get(pair))

    def _kind(self, pair: str, whole: Answer, ours: Answer, theirs: list[Answer]) -> str:
        """What a difference is due to, as far as that can be told."""
        if whole.get(pair) == ours.get(pair):
            return DEADLINES if "\nfi(" in self.scenario.rules else BY_WINDOW
        if self.scenario.has_values_outside or any(_overlaps(pair, each) for each in theirs):
            return OUTSIDE
        return IN_CYCLE if self.scenario.has_ties_in_cycles else UNLIKE

    def _whole(self, windows: Windows, query: int) -> Answer:
        """What RTEC says in one window up to the query, of the records that count by then."""
        if (windows, query) not in self._wholes:
            kept = [line for line in self.scenario.records if _counts(line, windows, query)]
            one = Windows(query, query, query, windows.tick)
            self._wholes[windows, query] = self._by_rtec(kept, one)[0]
        return self._wholes[windows, query]

    def _by_rtec(self, lines: Iterable[str], windows: Windows) -> list[Answer]:
        records = self.rtec.work / "records.csv"
        records.write_text("".join(f"{line}\n" for line in lines))
        return self.rtec.run(self.compiled, [records], windows)


def _overlaps(pair: str, answer: Answer) -> bool:
    """Do two values of a fluent of the same unit as the pair's hold at once?"""
    unit = pair.partition("=")[0].partition("(")[2]
    points: set[tuple[str, int]] = set()
    for other, intervals in answer.items():
        fluent = other.partition("=")[0]
        if fluent.partition("(")[2] == unit:
            own = {(fluent, at) for start, end in intervals for at in range(start, end)}
            if points & own:
                return True
            points |= own
    return False


def _counts(line: str, windows: Windows, query: int) -> bool:
    """Has a record arrived, and was it not too late for the first query that could see it?"""
    arrival, time = (int(text) for text in line.split("|")[1:3])
    first = next((each for each in windows.queries if each >= arrival), query + 1)
    is_stay = line.startswith("stay|")
    return first <= query and (is_stay or time > first - windows.window)


def main(first: int, last: int, show: int = 1) -> int:
    """Compare some seeds; tells what differs, and gives how many pairs do."""
    source = folder()
    assert source is not None, "CERNIS_RTEC names no folder"
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as work:
        rtec = Rtec(source, Path(work))
        for seed in range(first, last + 1):
            scenario = drawn(seed)
            found = list(Comparison(scenario, rtec).outcomes())
            counts.update(each.kind for each in found)
            unlike = [each for each in found if each.kind == UNLIKE]
            if unlike:
                print(f"--- seed {seed}\n{scenario}")
            for each in unlike[:show]:
                print(each, flush=True)
    for kind, count in counts.most_common():
        print(f"{count:7} {kind}")
    return counts[UNLIKE]


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
