"""Sessions fed as streams are, and what their feeds add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from cernis.answers.answer_tables import all_intervals, lists_of
from cernis.answers.result import Result
from cernis.evaluate.answer import Answer
from cernis.evaluate.windows import Window, windows
from cernis.program import Program
from cernis.records.record_sources import read_events
from cernis.session.recognise import bounds
from cernis.session.session import Session
from cernis.session.settings import settings
from tests.agreement.compare import Scenario
from tests.quick_folder import quick_folder

Rows = Counter[tuple[object, ...]]
LONG_AGO = -(1 << 62)


def rows(table: pa.Table) -> Iterator[tuple[object, ...]]:
    """The rows of a table, with lists as tuples."""
    for row in table.to_pylist():
        yield tuple(tuple(v) if isinstance(v, list) else v for v in row.values())


def answer_rows(answer: Answer) -> Rows:
    """Intervals and happenings, one a row."""
    found = Counter(row[:5] for row in rows(all_intervals(answer)))
    return found + occurrences(answer)


def occurrences(answer: Answer) -> Rows:
    """The happenings of all events, each once, as the sum of a feed has them."""
    found: Rows = Counter()
    for relation, table in answer.events.items():
        arguments = list(zip(table.arguments, table.domains, strict=True))
        texts = lists_of(arguments, len(table)).to_pylist()
        starts = [None] * len(table) if table.starts is None else table.starts.tolist()
        for args, *times in zip(texts, starts, table.times.tolist(), strict=True):
            found[(relation.name, tuple(args), *times)] = 1
    return found


class Sum:
    """What a change feed adds up to."""

    def __init__(self) -> None:
        self.rows: Rows = Counter()

    def add(self, *tables: pa.Table) -> None:
        """Take changes in. Nothing is deleted that is not there, or inserted twice."""
        for table in tables:
            changes = [(row[0], row[1:-2]) for row in rows(table)]
            for name, row in sorted(changes, key=lambda change: change[0] != "delete"):
                self.rows[row] += 1 if name == "insert" else -1
                assert self.rows[row] in (0, 1), (name, row)
                if not self.rows[row]:
                    del self.rows[row]


class Fed:
    """A session that is given the records of a scenario as they arrive."""

    def __init__(self, scenario: Scenario, program: Program, **options: object) -> None:
        chosen = settings(**scenario.settings)
        tick = chosen.tick or program.checked.definitions.settings.tick
        records = read_events(list(scenario.lines), program.checked)
        start, end = bounds(records, chosen, tick)
        self.windows: list[Window] = list(windows(start, end, chosen.window, chosen.step))
        self.session = Session(
            program.plan, chosen.window, chosen.step, start, chosen.tick, chosen.ties, **options
        )  # type: ignore[arg-type]
        self._lines = list(scenario.lines)

    def insert(self, query: int) -> None:
        """Insert what has arrived by a query; what cannot be read comes first."""
        now = [line for line in self._lines if arrival(line) <= query]
        self._lines = [line for line in self._lines if arrival(line) > query]
        if now:
            self.session.insert(now)

    def restore(self, program: Program) -> None:
        """Go on with a session that is read from the file of this one."""
        with quick_folder() as folder:
            self.session.save(f"{folder}/session")
            self.session = program.restore(f"{folder}/session")


def arrival(line: str) -> int:
    """When a line arrives; what cannot be read comes first."""
    fields = line.split("|")
    try:
        return int(fields[1])
    except (IndexError, ValueError):
        return LONG_AGO


def difference(
    scenario: Scenario, program: Program, result: Result, incremental: bool | None,
    is_restored: bool = False,
) -> str:  # fmt: skip
    """How the sum of a session's feed differs from the answers of a run; empty if it does not.

    The session is saved and restored after each query, if so asked.
    """
    fed, found = Fed(scenario, program, incremental=incremental), Sum()
    for window, (query, answer) in zip(fed.windows, result.as_of, strict=True):
        assert window.query == query
        fed.insert(query)
        feed = fed.session.query(query)
        found.add(feed.table(), feed.happenings())
        expected = answer_rows(answer)
        if found.rows != expected:
            return f"at {query}: missing {expected - found.rows}, too many {found.rows - expected}"
        if is_restored:
            fed.restore(program)
    return ""
