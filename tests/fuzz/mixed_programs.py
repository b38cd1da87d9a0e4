"""Random programs whose columns mix numbers, texts, floats and huge integers, on all ways to run.

`python -m tests.fuzz.mixed_programs FIRST LAST` compares the seeds from the first to the last: the
reference, a run, one that walks whatever can be walked, sessions evaluated from scratch, from
changes and in the usual way, which are restored after each query, and a local stream. With
`--spark N`, Spark recognises every N-th of them, too. Disagreements are told with their seed, cut
down to the clauses, records and settings they take.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import cernis
from cernis.answers.result import Result, as_text
from cernis.errors import CernisError, OverflowFault
from cernis.evaluate.evaluator_choice import fits_walks
from cernis.evaluate.run import Run
from cernis.evaluate.windows import windows
from cernis.plan.properties.foreign_domains import foreign_domains
from cernis.program import Program
from cernis.records.record_sources import read_events
from cernis.session.recognise import bounds
from cernis.session.settings import settings
from cernis.spark.exchange.batch_job import job_of
from tests.agreement import compare
from tests.agreement.compare import Scenario, Skip, by_engine, shrunk
from tests.generators.programs import Text, random_program
from tests.generators.streams import SPAN, Settings, random_habits, random_settings, random_stream
from tests.generators.vocabulary import CONSTANTS, chance
from tests.quick_folder import quick_folder
from tests.session import feeds
from tests.session.feeds import Fed, answer_rows
from tests.spark.streaming.local_stream import LocalStream

NUMBERS = (
    "0", "1", "2", "3", "-1", "1.0", "2.0", "2.5", "-0.5", "003", "2.50",
    "9007199254740992", "9007199254740993", "9007199254740992.0", "1234567890123456789",
    "9223372036854775807", "-9223372036854775807", "4000000000",
)  # fmt: skip
NO_NUMBERS = ("ann", "red", "lobby", "x1", "Far Out", "2 3")
BEYOND = ("9223372036854775808", "-123456789012345678901234567890")
"""Whole numbers of more than 64 bits: records that have one are set aside."""


def mixed_constants(random: Random) -> dict[str, tuple[str, ...]]:
    """A few values for each type, of any kind."""
    numbers = (*random.sample(NUMBERS, 5), *random.sample(NO_NUMBERS, 1), "1", "2")
    persons = ("ann", "bob", "'Far Out'", *random.sample(("7", "7.0", "7.5", *NUMBERS[-6:]), 2))
    colours = ("red", "green", "blue", *random.sample(("3", "3.0", "1", "-0.5"), 1))
    amounts = ("0.5", "1.5", "2.5", *random.sample(NUMBERS, 2), *random.sample(NO_NUMBERS, 1))
    return {
        "person": persons, "colour": colours, "number": numbers, "amount": amounts,
        "truth": CONSTANTS["truth"],
    }  # fmt: skip


def in_rules(constants: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The values as rules write them: a text of several words, or in capitals, has quotes."""
    return {kind: tuple(map(_written, own)) for kind, own in constants.items()}


def _written(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return text if text.isalnum() and text[0].islower() else f"'{text.strip(chr(39))}'"
    return text


def longer_steps(random: Random, chosen: Settings, text: Text) -> Settings:
    """The settings, mostly with a window, and often with steps that are longer."""
    if "window" not in chosen and chance(random, 0.6):
        chosen = {**chosen, "window": text.tick * random.randint(2, 14)}
    if "window" in chosen and chance(random, 0.35):
        chosen = {**chosen, "step": chosen["window"] + text.tick * random.randint(0, SPAN)}
    return chosen


def scenarios(seed: int, runs: int = 2) -> Iterator[tuple[Scenario, Program]]:
    """A random program with several streams and settings; every fourth has columns of one type."""
    random = Random(f"mixed {seed}")
    constants: Mapping[str, Sequence[str]] = CONSTANTS
    if seed % 4:
        constants = mixed_constants(random)
    text, program = random_program(random, in_rules(constants) if seed % 4 else CONSTANTS)
    for _ in range(runs):
        values = dict(constants)
        if seed % 4 and chance(random, 0.1):
            values["number"] = (*constants["number"], random.choice(BEYOND))
        habits = replace(random_habits(random), constants=values)
        lines = random_stream(random, text, habits)
        chosen = longer_steps(random, random_settings(random, text), text)
        yield Scenario(text.clauses, lines, chosen), program


# -- ways to run -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Which way differs, and how."""

    way: str
    message: str


def differences(scenario: Scenario, program: Program | None = None) -> Iterator[Difference]:
    """All ways that say otherwise than a run, or the run itself, if the reference does.

    Raises Skip where the reference, or the run, says that there is no answer.
    """
    program = program or cernis.load(scenario.rules)
    found = compare.difference(scenario, program)
    if found:
        yield Difference("reference", found)
        return
    result = by_engine(scenario, program, per_query=True)
    for way, differing in (
        ("scratch", lambda: feeds.difference(scenario, program, result, False)),
        ("changes", lambda: feeds.difference(scenario, program, result, True)),
        ("intervals", lambda: _intervals_apart(scenario, program)),
        ("walks", lambda: _walk_difference(scenario, program, result)),
        ("restored", lambda: feeds.difference(scenario, program, result, None, is_restored=True)),
        ("stream", lambda: _unless_too_large(scenario, program, result)),
    ):
        message = _tried(differing)
        if message:
            yield Difference(way, message)


def _unless_too_large(scenario: Scenario, program: Program, result: Result) -> str:
    """As `stream_difference`; a stream goes on after the end, where rules may compute more."""
    try:
        return stream_difference(scenario, program, result)
    except OverflowFault:
        return ""


def _tried(differing: Callable[[], str]) -> str:
    try:
        return differing()
    except Exception as error:  # noqa: BLE001 - whatever it raises is a fault to report
        last = "".join(traceback.format_tb(error.__traceback__)[-2:])
        return f"raised {type(error).__name__}: {error}\n{last}"


def _intervals_apart(scenario: Scenario, program: Program) -> str:
    """How the intervals that sessions list in the end depend on the way they were evaluated."""
    listed = []
    for is_incremental in (False, True):
        fed = Fed(scenario, program, incremental=is_incremental)
        for window in fed.windows:
            fed.insert(window.query)
            fed.session.query(window.query)
        listed.append(Counter(feeds.rows(fed.session.intervals())))
    one, other = listed
    return "" if one == other else f"only from scratch {one - other}, from changes {other - one}"


class _WalkedRun(Run):
    """A run that walks whatever can be walked, also where columns are evaluated above."""

    @property
    def may_walk(self) -> bool:
        """Yes."""
        return True


def _walk_difference(scenario: Scenario, program: Program, result: Result) -> str:
    """How the answers of a run that walks differ."""
    chosen = settings(**scenario.settings)
    run = _WalkedRun(program.plan, chosen.tick, chosen.ties)
    if not program.plan.walked or not fits_walks(program.plan, run.tick, run.ties):
        return ""
    records = read_events(list(scenario.lines), program.checked)
    limits, found = bounds(records, chosen, run.tick), list[str]()
    run.over(
        records, *limits, chosen.window, chosen.step,
        on_query=lambda _, answer: found.append(as_text(answer)),
    )  # fmt: skip
    for (query, answer), text in zip(result.as_of, found, strict=True):
        if as_text(answer) != text:
            return f"at {query}: {as_text(answer)}, walked {text}"
    return ""


def stream_difference(scenario: Scenario, program: Program, result: Result) -> str:
    """How the sum of a stream's changes differs from the answers of a run.

    Its micro-batches, and the number of its buckets, depend on the scenario alone.
    """
    random = Random(str(scenario))
    chosen = settings(**scenario.settings)
    if chosen.window is None:
        return ""
    tick = chosen.tick or program.checked.definitions.settings.tick
    start, end = bounds(read_events(list(scenario.lines), program.checked), chosen, tick)
    step = chosen.step or chosen.window
    with quick_folder() as folder:
        stream = LocalStream(
            program, Path(folder), chosen.window, step, start=start, tick=chosen.tick,
            ties=chosen.ties, buckets=_buckets(program, random),
        )  # fmt: skip
        changes: list[dict[str, Any]] = []
        for batch in [*_batches(scenario.lines, random), [f"$clock|{end + 2 * step}"]]:
            changes += stream.take(batch)
    whole = {window.query for window in windows(start, end, chosen.window, step)}
    if (end - start) % step:
        whole.discard(end)
    for query, answer in result.as_of:
        if query in whole:
            found, expected = sum_of(changes, query), answer_rows(answer)
            if found != expected:
                return f"at {query}: missing {expected - found}, too many {found - expected}"
    return ""


def _buckets(program: Program, random: Random) -> int:
    """Some number of buckets; one where the rules need all in one place."""
    routes = job_of(program.plan, settings(), 2).loaded.plan.stream_routes
    if foreign_domains(program.plan, routes) or not routes.owned:
        return 1
    return random.choice((1, 1, 2, 3))


def _batches(lines: Sequence[str], random: Random) -> Iterator[list[str]]:
    """Records by arrival, in micro-batches of any size."""
    waiting = sorted(lines, key=feeds.arrival)
    while waiting:
        count = random.choice((1, 3, 8, 30))
        yield waiting[:count]
        waiting = waiting[count:]


def sum_of(changes: list[dict[str, Any]], query: int) -> Counter[tuple[object, ...]]:
    """What the changes of a stream up to a query add up to."""
    found: Counter[tuple[object, ...]] = Counter()
    for change in changes:
        if change["query_time"] > query:
            continue
        args = tuple(change["args"])
        if change["value"] is None:
            # A happening at a point has no end; an occurrence of a pattern has both.
            is_point = change["end"] is None
            times = (None, change["start"]) if is_point else (change["start"], change["end"])
            row: tuple[object, ...] = (change["fluent"], args, *times)
        else:
            row = (change["fluent"], args, change["value"], change["start"], change["end"])
        found[row] += 1 if change["change"] == "insert" else -1
    return Counter({row: count for row, count in found.items() if count})


# -- Spark -------------------------------------------------------------------------------------


TOGETHER = 20
"""Runs that go through one job, as a job takes longer to plan than such a run."""


def spark_differences(seeds: Sequence[int], spark: Any, folder: Path) -> Iterator[tuple[int, str]]:
    """How Spark's answers on the first scenarios of some seeds differ from those of runs."""
    from cernis.spark import recognise
    from tests.spark.batch.test_batch_run import texts

    runs, expected = {}, {}
    for seed in seeds:
        scenario, program = next(scenarios(seed))
        try:
            result = by_engine(scenario, program)
        except CernisError:
            continue
        file = folder / f"{seed}.txt"
        file.write_text("\n".join(scenario.lines) + "\n", "utf-8")
        chosen = {**scenario.settings, "start": result.summary.start, "end": result.summary.end}
        partitions = Random(seed).choice((1, 2, 3))
        found = recognise(program, file, partitions=partitions, spark=spark, **chosen)
        runs[str(seed)], expected[str(seed)] = found._computation.rows, as_text(result.answer)
    for name, text in texts(runs).items():
        found = "" if text == expected[name] else f"run:\n{expected[name]}\nSpark:\n{text}"
        yield int(name), found


# -- the whole ---------------------------------------------------------------------------------


def small(scenario: Scenario, way: str) -> Scenario:
    """The scenario cut down to what it takes for a way to differ."""

    def differing(smaller: Scenario) -> str:
        found = next((each for each in differences(smaller) if each.way == way), None)
        return "" if found is None else found.message

    return shrunk(scenario, 400, differing)


def told(seed: int, run: int, scenario: Scenario, found: Difference, is_short: bool) -> str:
    """A disagreement, cut down unless time is short."""
    if is_short:
        return f"seed {seed}, run {run}, {found.way}: {found.message[:300]}"
    less = small(scenario, found.way)
    message = next((e.message for e in differences(less) if e.way == found.way), found.message)
    return f"seed {seed}, run {run}, {found.way}:\n{less}\n{message}"


def main(first: int, last: int, every: int = 0, is_short: bool = False) -> int:
    """Compare seeds, tell what differs, and how many were compared; gives how many differ."""
    began, counts = time.monotonic(), Counter[str]()
    for seed in range(first, last + 1):
        for run, (scenario, program) in enumerate(scenarios(seed)):
            try:
                found = list(differences(scenario, program))
            except Skip:
                counts["without an answer"] += 1
                continue
            counts["compared"] += 1
            counts["equal"] += not found
            for each in found:
                counts[f"{each.way} differs"] += 1
                print(told(seed, run, scenario, each, is_short), end="\n\n", flush=True)
    if every:
        counts += _by_spark(range(first, last + 1, every))
    shown = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(f"seeds {first} to {last}: {shown}, in {time.monotonic() - began:.0f} s", flush=True)
    return sum(count for name, count in counts.items() if name.endswith("differs"))


def _by_spark(seeds: Sequence[int]) -> Counter[str]:
    from cernis.spark.spark_session import session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    counts = Counter[str]()
    spark = session("local[2]", {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"})
    with quick_folder() as folder:
        for low in range(0, len(seeds), TOGETHER):
            for seed, found in spark_differences(seeds[low : low + TOGETHER], spark, Path(folder)):
                counts["on Spark"] += 1
                if found:
                    counts["Spark differs"] += 1
                    scenario, _ = next(scenarios(seed))
                    print(f"seed {seed}, Spark:\n{scenario}\n{found}\n", flush=True)
    spark.stop()
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--spark", type=int, default=0, help="let Spark recognise every n-th")
    parser.add_argument("--short", action="store_true", help="do not cut down what differs")
    asked = parser.parse_args()
    sys.exit(1 if main(asked.first, asked.last, asked.spark, asked.short) else 0)
