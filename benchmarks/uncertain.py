"""Uncertain records: what intervals and probabilities cost, and how accurate bounded memory is.

    python benchmarks/uncertain.py [--records 1000000] [--folds 5] [--skip-accuracy] [--picture DIR]

Prints one line a figure, and at the end what was asked for beside what was measured. A sort is the
time `numpy.sort` takes for as many random 64-bit integers. Times are those of the processor, with
the clock's behind them; the best of several runs counts.

Accuracy is f1 by point against the intervals of the whole stream, at a threshold of one half,
reasoning at each point. Durations are learned from the other folds; the counts of all folds are
added up.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

import cernis
from cernis.answers.accuracy import compare
from cernis.answers.noise import gamma_confidences, spurious_records
from cernis.answers.scores import Score
from cernis.evaluate.answer import Answer
from cernis.evaluate.evaluator_choice import QueriesAhead
from cernis.evaluate.probabilities.credible.credible_intervals import most_credible, recognise
from cernis.evaluate.probabilities.credible.durations import Durations, learned
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.run import Run
from cernis.evaluate.windows import Window
from cernis.program import Program
from cernis.records.record_columns import Records
from cernis.records.record_sources import read_events
from cernis.report.chart import chart
from cernis.session.recognise import bounds
from cernis.session.settings import Settings, settings

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from examples.maritime.simulate import simulate  # noqa: E402
from examples.maritime.uncertain import days_in_turn  # noqa: E402
from examples.surveillance.generate import generate  # noqa: E402

SEED = 8
EVENTS = ("walking", "running", "active", "inactive", "abrupt")
CONTEXT = ("coord", "orientation")
MEMORIES = range(10, 151, 10)
MEANS = {"smooth": (1.0, 2.0), "strong": (0.5, 1.5)}
"""Means of the gamma noise at the first and the last record."""
SPURIOUS = 0.02
SEEDS = 3
"""What is left to chance is done so often; the counts are added up."""
Panels = dict[str, dict[str, list[tuple[float, float]]]]


@dataclass(frozen=True)
class Timed:
    """The best time of several runs: of the processor, and by the clock."""

    cpu: float
    clock: float

    def __str__(self) -> str:
        return f"{self.cpu * 1e3:10.2f} ms (clock {self.clock * 1e3:.2f})"


@dataclass
class Goals:
    """What was asked for, beside what was measured."""

    lines: list[str] = field(default_factory=list)

    def most(self, what: str, asked: float, measured: float, unit: str, clock: float) -> None:
        """A figure that is to be at most so much; by the clock it was another."""
        met = "yes" if measured <= asked else "NO"
        self.lines.append(
            f"{what:<62} <= {asked:<6g} {measured:8.2f} {unit:<6} clock {clock:8.2f}  {met}"
        )

    def least(self, what: str, asked: float, measured: float) -> None:
        """A figure that is to be at least so much."""
        met = "yes" if measured >= asked else "NO"
        self.lines.append(f"{what:<62} >= {asked:<6g} {measured:8.3f} {met:>24}")

    def none(self, what: str, found: Sequence[object]) -> None:
        """What must not be."""
        told = ", ".join(map(str, found)) or "none"
        self.lines.append(f"{what:<62} none      {told}")

    def show(self) -> None:
        """Print them all."""
        print("\nasked for, and measured:")
        print("\n".join(self.lines))


def best(work: Callable[[], object], runs: int) -> Timed:
    times = []
    for _ in range(runs):
        cpu, clock = time.process_time(), time.perf_counter()
        work()
        times.append((time.process_time() - cpu, time.perf_counter() - clock))
    return Timed(*min(times))


def one_sort(count: int) -> float:
    keys = np.random.default_rng(SEED).integers(0, 1 << 62, count)
    return best(lambda: np.sort(keys), 3).cpu


# -- intervals ---------------------------------------------------------------------------------


def wave(entities: int, points: int) -> np.ndarray:
    """Probabilities that wander, a little more often low than high."""
    steps = np.random.default_rng(SEED).normal(0, 0.1, (entities, points))
    return np.clip(np.sin(np.cumsum(steps, axis=1)) / 2 + 0.4, 0, 1).ravel()


def interval_figures(goals: Goals) -> None:
    one, ends = wave(1, 8000), np.array([0, 8000])
    low = np.random.default_rng(SEED).random(8000) * 0.4
    known = Durations(400.0, 100.0)
    for memory in (50, 400):
        for name, stream in (("wave", one), ("all low", low)):
            for way, durations in (("b", None), ("bd", known)):
                found = best(
                    lambda s=stream, m=memory, d=durations: recognise(
                        s, ends, 0.5, limit=m, durations=d, batch=1
                    ), 20,
                )  # fmt: skip
                what = f"8,000 points, batches of 1, memory {memory:>3}, {way:<2}, {name:<8}"
                print(f"{what} {found}")
                asked = {50: 3.5, 400: 10.0}[memory]
                goals.most(what, asked, found.cpu * 1e3, "ms", found.clock * 1e3)
    many, ends = wave(10_000, 1000), np.arange(10_001) * 1000
    sort = one_sort(len(many))
    ways: dict[str, Callable[[], object]] = {
        "whole": lambda: recognise(many, ends, 0.5),
        "whole, most credible": lambda: most_credible(recognise(many, ends, 0.5)[0]),
        "memory 60, b": lambda: recognise(many, ends, 0.5, limit=60, batch=1),
        "memory 60, bd": lambda: recognise(
            many, ends, 0.5, limit=60, durations=Durations(50.0, 20.0), batch=1
        ),
    }
    for name, work in ways.items():
        found = best(work, 3)
        what = f"10,000 x 1,000 points, {name:<22}"
        print(f"{what} {found} {found.cpu / sort:6.2f} sorts")
        goals.most(what, 6, found.cpu / sort, "sorts", found.clock / sort)


# -- probabilities -----------------------------------------------------------------------------


def surveillance() -> Program:
    folder = ROOT / "examples" / "surveillance"
    return cernis.load(folder / "uncertain.cer", [folder / "facts.cer"])


def noisy_scenes(records: int, seed: int, noise: str) -> dict[str, pa.Table]:
    """Scenes before a camera with confidences; strong noise adds what never happened."""
    chance = np.random.default_rng(seed)
    tables = {}
    touched = EVENTS if noise == "smooth" else (*EVENTS, *CONTEXT)
    for name, table in generate(records, 10, seed).items():
        columns = {"val" if t == "value" else t: table[t] for t in table.column_names}
        if name in touched:
            times = table["occurrence"].to_numpy()
            columns["probability"] = pa.array(gamma_confidences(times, chance, *MEANS[noise]))
        tables[name] = pa.table(columns)
    if noise == "strong":
        _add_spurious(tables, chance)
    return tables


def _add_spurious(tables: dict[str, pa.Table], chance: np.random.Generator) -> None:
    counts = [len(tables[name]) for name in EVENTS]
    names = np.repeat(np.arange(len(EVENTS)), counts)
    rows, others = spurious_records(names, len(EVENTS), SPURIOUS, chance)
    every = pa.concat_tables([tables[name] for name in EVENTS]).take(pa.array(rows))
    for at, name in enumerate(EVENTS):
        copies = every.filter(pa.array(others == at))
        tables[name] = pa.concat_tables([tables[name], copies])


def probability_figures(records: int, goals: Goals) -> None:
    program = surveillance()
    for noise in MEANS:
        costs: list[float] = []
        for count in (records // 4, records // 2, records):
            given = read_events(noisy_scenes(count, SEED, noise), program.checked, uncertain=True)
            run = Run(program.plan, uncertain_settings=UncertainSettings())
            ends = bounds(given, Settings(), run.tick)
            sort = one_sort(count)
            for what, wanted in (("probabilities", False), ("and intervals", True)):
                found = best(
                    lambda g=given, e=ends, r=run, w=wanted: one_query(r, g, *e, intervals=w), 3
                )
                print(
                    f"surveillance, {noise} noise, {count:>9,} records, {what} {found} "
                    f"{found.cpu / sort:6.1f} sorts, {found.cpu / count * 1e9:6.0f} ns a record"
                )
                if not wanted:
                    costs.append(found.cpu / count)
                    told = (found.cpu / sort, "sorts", found.clock / sort)
        what = f"surveillance, {noise} noise, {records:,} records, probabilities"
        goals.most(what, 100, *told)
        grown = costs[-1] / costs[0]
        goals.most(f"{what}, cost of one by that in a quarter", 1.5, grown, "times", grown)


def one_query(run: Run, records: Records, start: int, end: int, intervals: bool) -> None:
    """A run in one query; credible intervals are looked for when the answer is asked for."""
    run.enter_workspace(run.forms_of(records))
    encoded = run.encoded(records)
    run.begin(start, QueriesAhead(is_only_one=True))
    run.memory.use_records(encoded)
    run.query(Window(start, end, start))
    if intervals:
        run.answer()
    else:
        run.end()


COMPOSITES = {
    "sequence": "raid(X) <- probe(X) seq attack(X) within 30.",
    "absence": "raid(X) <- not(calm(X))[probe(X), attack(X)] within 30.",
    "delayed effects": """
        initiatedAt(alarm(X)=on, T) :- happensAt(attack(X), T).
        terminatedAt(alarm(X)=on, T) :- happensAt(calm(X), T).
        fi(alarm(X)=on, alarm(X)=late, 30).
        ft(alarm(X)=late, 20).
    """,
}
"""Composites over three events of entities that have one each ten points."""
RAIDS = """
    initiatedAt(alarm(X)=true, T) :- happensAt(raid(X), T).
    terminatedAt(alarm(X)=true, T) :- happensAt(calm(X), T).
"""


def composite_figures(records: int) -> None:
    """Patterns and delayed effects: what doubt about the same records costs."""
    random = np.random.default_rng(SEED)
    times = np.sort(random.integers(1, 2001, records)).tolist()
    names = random.choice(["probe", "attack", "calm"], records, p=[0.45, 0.45, 0.1]).tolist()
    entities = random.integers(0, max(records // 200, 1), records).tolist()
    chances = random.choice([0.3, 0.5, 0.7, 0.9], records).tolist()
    plain = [f"{n}|{t}|{t}|v{e}" for n, t, e in zip(names, times, entities, strict=True)]
    doubted = [f"{p}::{line}" for p, line in zip(chances, plain, strict=True)]
    sort = one_sort(records)
    for what, rules in COMPOSITES.items():
        program = cernis.load(rules if "alarm" in rules else rules + RAIDS)
        costs = []
        for lines, chosen in ((plain, None), (doubted, UncertainSettings())):
            given = read_events(lines, program.checked, uncertain=chosen is not None)
            run = Run(program.plan, uncertain_settings=chosen)
            start, end = bounds(given, Settings(), run.tick)
            costs.append(best(
                lambda g=given, r=run, s=start, e=end: one_query(r, g, s, e, intervals=False), 3
            ))  # fmt: skip
        certain, uncertain = costs
        print(
            f"{what}, {records:,} records: certain {certain.cpu / sort:.1f} sorts, uncertain "
            f"{uncertain.cpu / sort:.1f} sorts, {uncertain.cpu / certain.cpu:.1f} times"
        )


def session_figures(records: int) -> None:
    """A session in windows of a tenth of the stream, four queries a window: what a query costs."""
    program = surveillance()
    given = read_events(noisy_scenes(records, SEED, "smooth"), program.checked, uncertain=True)
    tick = program.checked.definitions.settings.tick
    start, end = bounds(given, Settings(), tick)
    window = (end - start) // 10 // tick * tick
    chosen = settings(window, window // 4 // tick * tick)
    for memory in (None, 60):
        likely = UncertainSettings(memory=memory)
        runs = []

        def work(likely: UncertainSettings = likely, runs: list[int] = runs) -> None:
            run = Run(program.plan, uncertain_settings=likely)
            run.over(given, start, end, chosen.window, chosen.step)
            runs.append(run.queries)

        found = best(work, 2)
        each = found.cpu / runs[0]
        print(
            f"session, {records:,} records, {records // 10:,} a window, memory {memory}: "
            f"{each * 1e3:.1f} ms a query, {each / one_sort(records // 10):.1f} sorts of its window"
        )


# -- accuracy ----------------------------------------------------------------------------------


@dataclass
class Fold:
    """One stream, recognised as a whole."""

    answer: Answer
    limits: tuple[int, int, int]

    def lengths(self, fluent: str) -> np.ndarray:
        relation = next(own for own in self.answer.fluents if str(own) == fluent)
        _, end, tick = self.limits
        table = self.answer.fluents[relation]
        return (np.minimum(table.ends, end + 2 * tick) - table.starts) // tick


def recognised(program: Program, tables: dict[str, pa.Table]) -> Fold:
    result = program.run_uncertain(tables)
    tick = program.checked.definitions.settings.tick
    return Fold(result.answer, (result.summary.start, result.summary.end, tick))


def accuracy(folds: list[Fold], fluents: list[str], title: str, goals: Goals) -> Panels:
    """Print f1 of b and bd for each memory; the counts of all folds are added up."""
    totals: dict[tuple[str, str, int], Score] = {}
    for at, fold in enumerate(folds):
        others = [other for place, other in enumerate(folds) if place != at]
        known = {}
        for fluent in fluents:
            own = learned(np.concatenate([other.lengths(fluent) for other in others]))
            known |= {} if own is None else {fluent: own}
        for seed in range(SEED, SEED + SEEDS):
            chosen = UncertainSettings(memory=max(MEMORIES), durations=known, seed=seed)
            for each in compare(fold.answer, fold.limits, chosen, MEMORIES):
                if each.fluent in fluents and each.memory is not None:
                    key = (each.fluent, each.variant, each.memory)
                    totals[key] = totals.get(key, Score(0, 0, 0)) + each.points
    panels: Panels = {}
    for fluent in fluents:
        for way in ("b", "bd"):
            scores = [totals[fluent, way, memory].f1 for memory in MEMORIES]
            shown = " ".join(f"{score:.3f}" for score in scores)
            print(f"f1 {title:<22} {fluent:<13} {way:<2} {shown}")
            lines = panels.setdefault(f"{title}: {fluent}", {})
            lines[way] = [(float(m), s) for m, s in zip(MEMORIES, scores, strict=True)]
        below = [
            memory for memory in MEMORIES
            if totals[fluent, "bd", memory].f1 < totals[fluent, "b", memory].f1
        ]  # fmt: skip
        at_60 = totals[fluent, "bd", 60].f1
        print(f"f1 {title:<22} {fluent:<13} bd at 60: {at_60:.3f}; below b at: {below or 'none'}")
        goals.least(f"f1 {title} {fluent}, bd at memory 60", 0.9, at_60)
        goals.least(f"f1 {title} {fluent}, bd less b at 60", 0, at_60 - totals[fluent, "b", 60].f1)
        goals.none(f"f1 {title} {fluent}, bd below b at memory", below)
    return panels


def accuracy_figures(folds: int, goals: Goals) -> Panels:
    print(f"f1 by point for memory {' '.join(f'{memory:>5}' for memory in MEMORIES)}")
    program = surveillance()
    panels: Panels = {}
    for noise in MEANS:
        streams = [noisy_scenes(300_000, SEED + at, noise) for at in range(folds)]
        own = [recognised(program, tables) for tables in streams]
        names = ["moving/2", "meeting/2", "fighting/2"]
        panels |= accuracy(own, names, f"surveillance {noise}", goals)
    for noise, c in (("smooth", 10_000.0), ("strong", 5_000.0)):
        own = []
        for at in range(folds):
            days = [simulate(20, 100 * at + day) for day in range(12)]
            own.append(recognised(_maritime(days[0].facts), days_in_turn(days, c)))
        panels |= accuracy(own, ["rendezVous/2", "tugging/2"], f"maritime {noise}", goals)
    return panels


def _maritime(facts: str) -> Program:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.cer"
        file.write_text(facts, "utf-8")
        return cernis.load(ROOT / "examples" / "maritime" / "uncertain.cer", [file])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--skip-accuracy", action="store_true")
    parser.add_argument("--picture", type=Path, metavar="DIR", help="draw f1 against memory there")
    given = parser.parse_args()
    goals = Goals()
    interval_figures(goals)
    probability_figures(given.records, goals)
    composite_figures(given.records // 5)
    session_figures(given.records)
    if not given.skip_accuracy:
        panels = accuracy_figures(given.folds, goals)
        if given.picture is not None:
            given.picture.mkdir(parents=True, exist_ok=True)
            file = given.picture / "f1-against-memory.svg"
            file.write_text(chart(panels, "memory", "f1"), "utf-8")
    goals.show()


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
