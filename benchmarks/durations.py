"""Whether durations help a bounded memory: on records of one's own, with noise, part by part.

    python benchmarks/durations.py --input movement.csv --input appearance.csv
        [--memory 60] [--means 1,2,4] [--seeds 4:7]

The records are text, in the form that examples/surveillance reads, as the CAVIAR benchmark has
them; none come with the project. They are divided into five parts of equal time. Durations are
learned from four parts and used on the fifth, each part in turn, for each seed of the noise. Prints
for each fluent f1 by point and by interval: by score range alone, with durations as in the
literature, and with those that `cernis learn-durations` chooses; and the counts of the last.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import cernis  # noqa: E402
from cernis import Program  # noqa: E402
from cernis.answers.accuracy import compare  # noqa: E402
from cernis.answers.duration_choice import choose_durations  # noqa: E402
from cernis.answers.noisy_text import Noise, with_noise  # noqa: E402
from cernis.answers.scores import Score  # noqa: E402
from cernis.evaluate.answer import Answer  # noqa: E402
from cernis.evaluate.probabilities.credible.durations import Durations  # noqa: E402
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings  # noqa: E402

EVENTS = ("walking", "running", "active", "inactive", "abrupt")
CONTEXT = ("coord", "orientation")
FLUENTS = ("moving/2", "meeting/2", "fighting/2")
PARTS = 5
SPURIOUS = 0.02
WAYS = ("score range", "literature", "chosen")

Bounds = tuple[int, int, int]
Totals = dict[tuple[str, str], tuple[Score, Score]]


def parts_of(files: list[Path]) -> list[list[str]]:
    """The records of all files in parts of equal time, each in the order of time."""
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    lines.sort(key=lambda line: int(line.split("|")[2]))
    times = np.array([int(line.split("|")[2]) for line in lines])
    edges = np.linspace(times.min(), times.max() + 1, PARTS + 1)
    part = np.searchsorted(edges, times, "right") - 1
    return [[lines[row] for row in np.flatnonzero(part == number)] for number in range(PARTS)]


def noisy(parts: list[list[str]], noise: str, mean: float, seed: int) -> list[list[str]]:
    """The parts with gamma noise of one mean; strong noise is on the context, too."""
    is_strong = noise == "strong"
    context, spurious = (CONTEXT, SPURIOUS) if is_strong else ((), 0.0)
    return [
        with_noise(
            part, Noise(EVENTS, context, mean, mean, spurious, seed=seed * len(parts) + number)
        )
        for number, part in enumerate(parts)
    ]


def recognised(program: Program, lines: list[str]) -> tuple[Answer, Bounds]:
    result = program.run_uncertain("\n".join(lines) + "\n")
    tick = program.checked.definitions.settings.tick
    return result.answer, (result.summary.start, result.summary.end, tick)


def laws(
    answer: Answer, bounds: Bounds, memory: int, seed: int, estimate: str | None
) -> Mapping[str, Durations]:
    """The durations that are learned, by fluent."""
    settings = UncertainSettings(seed=seed)
    choices = choose_durations(answer, bounds, settings, memory, estimate)
    return {
        name: choice.durations for name, choice in choices.items() if choice.durations is not None
    }


def add_scores(
    totals: Totals, way: str, test: tuple[Answer, Bounds], memory: int, seed: int,
    durations: Mapping[str, Durations],
) -> None:  # fmt: skip
    settings = UncertainSettings(memory=memory, durations=durations, seed=seed)
    variant = "bd" if durations else "b"
    for each in compare(*test, settings, [memory]):
        if each.fluent in FLUENTS and each.variant == variant:
            points, spans = totals.get((each.fluent, way), (Score(0, 0, 0), Score(0, 0, 0)))
            totals[each.fluent, way] = points + each.points, spans + each.intervals


def compared(program: Program, parts: list[list[str]], memory: int, seed: int) -> Totals:
    """The scores of each fluent and way over all parts, each by what the others teach."""
    totals: Totals = {}
    tests = [recognised(program, part) for part in parts]
    for number, test in enumerate(tests):
        others = [line for each in range(PARTS) if each != number for line in parts[each]]
        training = recognised(program, others)
        add_scores(totals, WAYS[0], test, memory, seed, {})
        for way, estimate in ((WAYS[1], "plain"), (WAYS[2], None)):
            durations = laws(*training, memory, seed, estimate)
            add_scores(totals, way, test, memory, seed, durations)
    return totals


def row(noise: str, mean: float, fluent: str, totals: Totals) -> str:
    """One line of the table."""
    cells = [f"{noise}, {mean:g}", fluent.partition("/")[0]]
    for way in WAYS:
        points, spans = totals[fluent, way]
        cells.append(f"{points.f1:.3f} ({spans.f1:.2f})")
    cells += [f"{s.right}/{s.wrong}/{s.missed}" for s in totals[fluent, WAYS[2]]]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=Path, action="append", required=True)
    parser.add_argument("--memory", type=int, default=60)
    parser.add_argument("--means", default="1,2,4")
    parser.add_argument("--seeds", default="0:3", help="the first, and the one after the last")
    chosen = parser.parse_args()
    folder = ROOT / "examples" / "surveillance"
    program = cernis.load(folder / "uncertain.cer", [folder / "facts.cer"])
    parts = parts_of(chosen.input)
    first, last = map(int, chosen.seeds.split(":"))
    gains, good = [], 0
    for noise in ("smooth", "strong"):
        for mean in map(float, chosen.means.split(",")):
            totals: Totals = {}
            for seed in range(first, last):
                streams = noisy(parts, noise, mean, seed)
                for key, scores in compared(program, streams, chosen.memory, seed).items():
                    known = totals.get(key, (Score(0, 0, 0), Score(0, 0, 0)))
                    totals[key] = known[0] + scores[0], known[1] + scores[1]
            for fluent in FLUENTS:
                print(row(noise, mean, fluent, totals), flush=True)
                f1 = totals[fluent, WAYS[2]][0].f1
                gains.append(f1 - totals[fluent, WAYS[0]][0].f1)
                good += f1 >= 0.9
    print(
        f"memory {chosen.memory}: chosen durations do at least as well as score range alone in "
        f"{sum(gain >= 0 for gain in gains)} of {len(gains)} cases, to within 0.005 in "
        f"{sum(gain >= -0.005 for gain in gains)}, and reach 0.9 in {good}"
    )


if __name__ == "__main__":
    main()
