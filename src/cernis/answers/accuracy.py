"""How well intervals are recognised: against a truth, or against what the whole stream says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cernis.answers.answer_tables import INTERVALS
from cernis.answers.scores import Score, Spans, by_interval, by_point
from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.evaluate.answer import Answer
from cernis.evaluate.probabilities.credible.credible_tables import credible
from cernis.evaluate.probabilities.credible.durations import Durations, learned
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.syntax import parse
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Clause, Compound, Number, Sequence, Term, functor

_COLUMNS: Final = ("fluent", "args", "value", "start", "end")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The scores of one fluent under one way to recognise it."""

    fluent: str
    variant: str
    memory: int | None
    points: Score
    intervals: Score


def learn_durations(answer: Answer, tick: int, end: int) -> dict[str, tuple[Durations, int]]:
    """Mean and deviation of the intervals of each uncertain fluent, and how many there are.

    Lengths are in points; an interval that reaches the end of the run is measured to it.
    """
    durations = {}
    for relation in answer.means:
        table = answer.fluents[relation]
        lengths = (np.minimum(table.ends, end + 2 * tick) - table.starts) // tick
        own = learned(lengths)
        if own is not None:
            durations[str(relation)] = (own, len(lengths))
    return durations


def compare(
    answer: Answer, bounds: tuple[int, int, int], chosen: UncertainSettings,
    memories: Iterable[int], truth: pa.Table | None = None,
) -> list[Accuracy]:  # fmt: skip
    """The scores of each uncertain fluent, bounded by score range and with durations.

    What is true is what a table of intervals says, else what the whole stream says. The bounds
    are the run's start, end and tick.
    """
    scores = []
    sizes = list(memories)
    for relation in answer.means:
        if relation not in answer.courses:
            continue
        keys: dict[tuple[Any, ...], int] = {}
        whole = _spans(answer, relation, bounds, UncertainSettings(
            chosen.threshold, chosen.thresholds), keys)  # fmt: skip
        true = whole if truth is None else _true_spans(truth, relation, bounds, keys)
        rows: list[tuple[str, int | None, Spans]] = [("batch", None, whole)] if truth else []
        for memory in sizes:
            for variant in ("b", "bd") if chosen.durations else ("b",):
                durations = chosen.durations if variant == "bd" else {}
                bounded = UncertainSettings(
                    chosen.threshold, chosen.thresholds, memory, durations, chosen.seed
                )
                recognised = _spans(answer, relation, bounds, bounded, keys)
                rows.append((variant, memory, recognised))
        tick = bounds[2]
        scores += [
            Accuracy(str(relation), variant, memory, by_point(recognised, true, tick),
                     by_interval(recognised, true))
            for variant, memory, recognised in rows
        ]  # fmt: skip
    return scores


def micro_averages(accuracies: Iterable[Accuracy]) -> list[Accuracy]:
    """For each way with several fluents the score of all of them together, by adding counts."""
    ways: dict[tuple[str, int | None], list[Accuracy]] = {}
    for each in accuracies:
        ways.setdefault((each.variant, each.memory), []).append(each)
    none = Score(0, 0, 0)
    return [
        Accuracy(
            "all", variant, memory, sum((each.points for each in same), none),
            sum((each.intervals for each in same), none),
        )
        for (variant, memory), same in ways.items()
        if len(same) > 1
    ]  # fmt: skip


def _spans(
    answer: Answer, relation: Relation, bounds: tuple[int, int, int],
    chosen: UncertainSettings, keys: dict[tuple[Any, ...], int],
) -> Spans:  # fmt: skip
    courses = answer.courses[relation]
    recognised = credible(relation, courses, *bounds, chosen)
    pairs = courses.pairs
    columns = [
        (domain.decode(column) if domain is not None else column.tolist())
        for column, domain in zip(
            [*pairs.arguments, pairs.values], [*pairs.domains, pairs.value_domain], strict=True
        )
    ]  # fmt: skip
    names = [tuple(map(str, row)) for row in zip(*columns, strict=True)]
    numbers = np.array([keys.setdefault(name, len(keys)) for name in names], np.int64)
    return Spans(numbers[recognised.owner], recognised.starts, recognised.ends)


def _true_spans(
    truth: pa.Table, relation: Relation, bounds: tuple[int, int, int],
    keys: dict[tuple[Any, ...], int],
) -> Spans:  # fmt: skip
    """The true intervals of a fluent, as far as they lie in the run."""
    start, end, tick = bounds
    rows = [
        row for row in truth.select(list(_COLUMNS)).to_pylist()
        if row["fluent"] == relation.name and len(row["args"]) == relation.arity
    ]  # fmt: skip
    numbers = [keys.setdefault((*row["args"], row["value"]), len(keys)) for row in rows]
    starts = np.array([row["start"] for row in rows], np.int64)
    ends = np.array([end + 2 * tick if r["end"] is None else r["end"] for r in rows], np.int64)
    starts, ends = np.maximum(starts, start + tick), np.minimum(ends, end + 2 * tick)
    some = starts < ends
    return Spans(np.array(numbers, np.int64)[some], starts[some], ends[some])


def read_intervals(file: Path) -> pa.Table:
    """Intervals that a run has written: `fluent, args, value, start, end, open`.

    As Parquet, JSON lines, or text of `holdsFor(F=V, [(1,5),(7,inf)]).`
    """
    try:
        if file.is_dir():
            table = _of_folder(file)
        elif file.suffix == ".parquet":
            from pyarrow import parquet

            table = parquet.ParquetFile(file).read()
        elif file.suffix in (".jsonl", ".json"):
            from pyarrow import json

            table = json.read_json(file)
        else:
            table = _from_text(file.read_text("utf-8"), str(file))
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from None
    missing = [title for title in _COLUMNS if title not in table.column_names]
    if missing:
        raise DataError(f"{file} has no column {missing[0]}; there are {table.column_names}")
    return table


def _of_folder(folder: Path) -> pa.Table:
    """The intervals of a folder with one for each fluent, as `cernis run` writes Parquet."""
    from pyarrow import dataset

    kind = dataset.partitioning(pa.schema([("fluent", pa.string())]), flavor="hive")
    return dataset.dataset(folder, format="parquet", partitioning=kind).to_table()


def _from_text(text: str, name: str) -> pa.Table:
    rows: list[Mapping[str, Any]] = []
    for item in parse(text, name).items:
        head = item.head if isinstance(item, Clause) else None
        if head is None or functor(head) != ("holdsFor", 2):
            raise DataError(f"{name}: there are only clauses holdsFor(F=V, [(start,end),...])")
        assert isinstance(head, Compound)
        rows += _rows(head.args[0], head.args[1], name)
    return pa.Table.from_pylist(rows, INTERVALS)


def _text(term: Term) -> str:
    return term.name if isinstance(term, Atom) else show(term)


def _rows(pair: Term, intervals: Term, name: str) -> Iterable[Mapping[str, Any]]:
    if intervals == Atom("[]"):
        return
    if functor(pair) != ("=", 2) or not isinstance(intervals, Sequence):
        raise DataError(f"{name}: {show(pair)} is no fluent with a value and a list of intervals")
    assert isinstance(pair, Compound)
    fluent, value = pair.args
    for entry in intervals.items:
        edges = entry.args if isinstance(entry, Compound) and entry.functor == "," else ()
        numbers = [each.value for each in edges[:2] if isinstance(each, Number)]
        is_open = len(edges) > 1 and edges[1] == Atom("inf")
        if len(numbers) + is_open != 2:
            raise DataError(f"{name}: {show(entry)} is no interval")
        yield {
            "fluent": functor(fluent)[0],
            "args": list(map(_text, fluent.args)) if isinstance(fluent, Compound) else [],
            "value": _text(value),
            "start": numbers[0],
            "end": None if is_open else numbers[1],
            "open": is_open,
        }
