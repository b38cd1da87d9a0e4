"""The matrix: every case on every way to run, each held to the answers of a run.

The reference says what is right, and a run must say the same as it does, joined and as of each
query. The other ways answer query by query: sessions that evaluate from scratch, keys with news, or
are saved and restored after each query; the jobs of a stream in buckets; and Spark, in a batch and
as a stream. What they report must add up to the answers of the run, as of each query.

`python -m tests.matrix` runs all cases on all ways in this process, and `--spark` adds Spark, which
takes some seconds a case. Names of cases choose some of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cernis
from cernis.answers.result import Result, as_text
from cernis.program import Program
from tests.agreement.compare import Scenario, by_engine
from tests.fuzz.mixed_programs import stream_difference, sum_of
from tests.reference.answer_cache import kept
from tests.reference.cases import PENDING, Case, answer_text, read_cases, run_case
from tests.session import feeds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW, STEP = 7, 3
"""Ticks of a window, and of a step, for cases that have none of their own."""

MOST_QUERIES = 60

CASES = {
    case.name: case
    for case in read_cases(Path(__file__).parent / "cases")
    if not case.needs & (PENDING | {"uncertain", "credible"})
}


@dataclass(frozen=True)
class Answered:
    """A case, as it is set up or in small windows, and what a run says of it."""

    case: Case
    scenario: Scenario
    program: Program
    result: Result
    in_windows: bool


@cache
def answered(name: str, in_windows: bool) -> Answered | None:
    """A case and its answers as of each query; None if small windows do not suit it."""
    case = CASES[name]
    program = cernis.load(case.rules)
    chosen = _windowed(case, program) if in_windows else case.settings
    if chosen is None:
        return None
    scenario = Scenario((), tuple(case.events.splitlines()), chosen)  # type: ignore[arg-type]
    result = by_engine(scenario, program, per_query=True)
    return Answered(case, scenario, program, result, in_windows)


def _windowed(case: Case, program: Program) -> dict[str, Any] | None:
    tick = case.settings.get("tick") or program.checked.definitions.settings.tick
    span = case.settings.get("end", 0) - case.settings.get("start", 0)
    if "window" in case.settings or not 0 < span <= MOST_QUERIES * STEP * tick:
        return None
    return {**case.settings, "window": WINDOW * tick, "step": STEP * tick}


# -- ways in this process ----------------------------------------------------------------------


def _by_reference(case: Answered) -> str:
    """How a run differs from the reference: of fluents and events, as of each query.

    The reference of patterns knows no windows.
    """
    if "patterns" in case.case.needs:
        expected, found = answer_text(case.case), as_text(case.result.answer)
    else:
        expected, found = _queries_by_reference(case), case.result.text()
    return "" if found == expected or _is_cut(case) else f"gives\n{found}and not\n{expected}"


def _queries_by_reference(case: Answered) -> str:
    """The reference's answers as of each query, which are kept."""
    files = [path for path in sorted(case.case.folder.rglob("*")) if path.is_file()]
    texts = [(str(path.relative_to(case.case.folder)), path.read_bytes()) for path in files]
    settings = dict(case.scenario.settings)
    return kept(
        lambda: run_case(replace(case.case, settings=settings)).per_query_text(),
        "queries", texts, sorted(settings.items()),
    )  # fmt: skip


def _is_cut(case: Answered) -> bool:
    """Is it a case of patterns in small windows, which may cut what they match?"""
    return case.in_windows and "patterns" in case.case.needs


def _fed(case: Answered, is_incremental: bool, is_restored: bool = False) -> str:
    return feeds.difference(case.scenario, case.program, case.result, is_incremental, is_restored)


def _walked(case: Answered, is_restored: bool = False) -> str:
    """As sessions choose, where they walk lanes; otherwise they choose one of the other ways."""
    if not case.program.plan.is_swept:
        return ""
    return feeds.difference(case.scenario, case.program, case.result, None, is_restored)


WAYS: dict[str, Callable[[Answered], str]] = {
    "reference": _by_reference,
    "scratch": lambda case: _fed(case, False),
    "keys with news": lambda case: _fed(case, True),
    "restored scratch": lambda case: _fed(case, False, True),
    "restored keys with news": lambda case: _fed(case, True, True),
    "walked": _walked,
    "restored walked": lambda case: _walked(case, True),
    "stream": lambda case: stream_difference(case.scenario, case.program, case.result),
}
"""How each way differs from a run; empty if it does not."""


# -- Spark -------------------------------------------------------------------------------------


def spark_stream(case: Answered, spark: SparkSession, folder: Path) -> str:
    """How the sum of a Spark stream's changes differs from the last full query of a run.

    The records come in two files, by arrival; another moves the clock to the end. A case without
    windows has nothing that a stream could answer.
    """
    from cernis.spark import files, stream
    from cernis.spark.sinks import MemorySink

    chosen, summary, sink = case.scenario.settings, case.result.summary, MemorySink()
    if "window" not in chosen:
        return ""
    step = chosen.get("step", chosen["window"])
    _write_files(case, folder / "in", summary.end + 2 * step)
    stream(
        case.program, files(spark, folder / "in"), checkpoint=folder / "checkpoint", partitions=2,
        window=chosen["window"], step=step, start=summary.start, tick=chosen.get("tick"),
        ties=chosen.get("ties"), sink=sink, until_done=True,
    ).wait()  # fmt: skip
    query, answer = _last_full_query(case, step)
    found, expected = sum_of(sink.changes.to_pylist(), query), feeds.answer_rows(answer)
    told = f"at {query}: missing {expected - found}, too many {found - expected}"
    return "" if found == expected else told


def _write_files(case: Answered, folder: Path, end: int) -> None:
    lines = sorted(case.scenario.lines, key=feeds.arrival)
    half = len(lines) // 2
    folder.mkdir()
    for number, part in enumerate((lines[:half], lines[half:], [f"$clock|{end}"])):
        file = folder / f"{number}.txt"
        file.write_text("".join(f"{line}\n" for line in part), "utf-8")
        # The oldest come first.
        os.utime(file, (1e9 + number, 1e9 + number))


def _last_full_query(case: Answered, step: int) -> tuple[int, Any]:
    """A run's last query may come before a step is full; a stream has none there."""
    start = case.result.summary.start
    return [each for each in case.result.as_of if (each[0] - start) % step == 0][-1]


def spark_batches(
    cases: Iterable[Answered], spark: SparkSession, folder: Path
) -> Iterator[tuple[Answered, str]]:
    """How batches on Spark differ from runs: one job for all, as planning takes longer than one."""
    from tests.spark.batch.test_batch_run import texts

    named = {f"{number}": case for number, case in enumerate(cases)}
    rows = {name: _batch_rows(case, spark, folder / name) for name, case in named.items()}
    for name, found in texts(rows).items():
        expected = as_text(named[name].result.answer)
        yield named[name], "" if found == expected else f"gives\n{found}and not\n{expected}"


def _batch_rows(case: Answered, spark: SparkSession, file: Path) -> DataFrame:
    from cernis.spark import recognise

    file.write_text("".join(f"{line}\n" for line in case.scenario.lines), "utf-8")
    bounds = {"start": case.result.summary.start, "end": case.result.summary.end}
    chosen = {**case.scenario.settings, **bounds}
    return recognise(case.program, file, partitions=3, spark=spark, **chosen)._computation.rows


# -- the script --------------------------------------------------------------------------------

TOGETHER = 24
"""Batches that go through one job."""


def main(names: Iterable[str], with_spark: bool) -> int:
    """Run cases on all ways, tell what differs, and how many there were; gives how many differ."""
    cases = [
        case for name in names for in_windows in (False, True)
        if (case := answered(name, in_windows)) is not None
    ]  # fmt: skip
    counts = Counter[str]()
    outcomes = [_in_process(cases)] + ([_on_spark(cases)] if with_spark else [])
    for case, way, told in (each for some in outcomes for each in some):
        counts[way] += 1
        if told:
            counts["differing"] += 1
            kind = "in windows" if case.in_windows else "as it is"
            print(f"{case.case.name} {kind}, {way}: {told}\n", flush=True)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return counts["differing"]


Outcome = tuple[Answered, str, str]
"""A case, a way to run it, and what differs."""


def _in_process(cases: list[Answered]) -> Iterator[Outcome]:
    for case in cases:
        for way, differ in WAYS.items():
            yield case, way, _told(differ, case)


def _on_spark(cases: list[Answered]) -> Iterator[Outcome]:
    from cernis.spark.spark_session import session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    spark = session("local[2]", {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"})
    for first in range(0, len(cases), TOGETHER):
        with tempfile.TemporaryDirectory() as folder:
            for case, told in spark_batches(cases[first : first + TOGETHER], spark, Path(folder)):
                yield case, "Spark batch", told
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            if "window" in case.scenario.settings:
                told = _told(spark_stream, case, spark, Path(folder))
                yield case, "Spark stream", told
    spark.stop()


def _told(differ: Callable[..., str], *given: object) -> str:
    try:
        return differ(*given)
    except Exception:  # noqa: BLE001 - whatever it raises is a difference to tell
        return traceback.format_exc(limit=-3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="by default all")
    parser.add_argument("--spark", action="store_true", help="add batches and streams on Spark")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.exit(1 if main(asked.names or CASES, asked.spark) else 0)
