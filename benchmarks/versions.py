"""Two versions of the maritime rules over one history: what a diff costs, in runs of one version.

    python benchmarks/versions.py [--events 1000000] [--vessels 5000]

Both read the same Parquet files. Prints processor time of one run, and of a diff, with nothing
explained, in such runs: for a fact that few definitions use, for one that many use, and for two
versions without anything in common.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import cernis  # noqa: E402
from cernis.compare.program_diff import diff  # noqa: E402
from cernis.compare.version_runs import in_process  # noqa: E402
from cernis.session.settings import Settings  # noqa: E402
from examples.maritime.generate import facts, generate  # noqa: E402

RULES = ROOT / "examples/maritime/rules.cer"
CHANGES = {
    "one threshold of few definitions": ("trawlingTime, 1800", "trawlingTime, 1200"),
    "one threshold of many definitions": ("movingMin, 0.5", "movingMin, 0.7"),
}


def cost(work: Callable[[], object], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def write(tables: dict[str, pa.Table], folder: Path) -> list[Path]:
    paths = []
    for name, table in tables.items():
        paths.append(folder / f"{name}.parquet")
        pq.write_table(table, paths[-1])
    return paths


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument("--vessels", type=int, default=5_000)
    given = arguments.parse_args()
    cernis.keep_freed_memory()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = facts(given.vessels)
        (folder / "old.cer").write_text(text, "utf-8")
        paths = write(generate(given.events, given.vessels, 7), folder)
        old = cernis.load(RULES, [folder / "old.cer"])
        old.plan  # noqa: B018 - planned before anything is measured
        one = cost(lambda: old.run(paths))
        print(f"one run: {one:.2f} s, {given.events / one:,.0f} events a second")
        for words, (before, after) in CHANGES.items():
            assert before in text
            (folder / "new.cer").write_text(text.replace(before, after), "utf-8")
            new = cernis.load(RULES, [folder / "new.cer"])
            report(words, old, new, paths, one)


def report(
    words: str, old: cernis.Program, new: cernis.Program, paths: list[Path], one: float
) -> None:
    evaluate = in_process(paths)
    result = diff(old.checked, new.checked, evaluate, Settings(), explains=False)
    seconds = cost(lambda: diff(old.checked, new.checked, evaluate, Settings(), explains=False))
    twice = len(result.changed) + len(result.affected)
    print(
        f"{words}: {twice} of {twice + result.unchanged} definitions evaluated twice, "
        f"{seconds:.2f} s, {seconds / one:.2f} x one run"
    )


if __name__ == "__main__":
    main()
