"""Compares all ways to recognise from uncertain records on many random programs.

    python -m tests.agreement.many_uncertain_programs [--programs 1000] [--seed 0] [--spark 10]

Each program is drawn with its seed: cyclic or not, with statically determined fluents, starts and
ends, or exact probabilities. A run is compared with the reference, and with it a run in windows, a
session that is saved and restored at each query, and the stages of a job on Spark, in several
buckets. Of the first programs the job runs on Spark itself, if so many are asked for. Prints the
seeds of programs that differ, and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import cernis
from cernis.answers.uncertain_result import UncertainResult
from tests.agreement.test_exact_probabilities import EXACT, differences, exact_reference
from tests.agreement.test_random_uncertain_programs import DECLARED, EDGES, Drawn, courses
from tests.spark.batch.test_uncertain_stages import in_text, job_for
from tests.spark.batch.without_spark import run_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAME = 1e-9


def drawn_program(seed: int) -> tuple[Drawn, str]:
    """A program, and what stands before its rules."""
    drawn = Drawn(seed, cyclic=seed % 2 == 1, static=seed % 4 == 2)
    if seed % 4 == 3:
        drawn.rules += EDGES
    return drawn, EXACT if seed % 4 == 0 else DECLARED


def disagreements(seed: int, folder: Path) -> list[str]:
    """The ways that differ on one program."""
    drawn, head = drawn_program(seed)
    rules, text = head + drawn.rules, drawn.text()
    expected = exact_reference(drawn) if head == EXACT else drawn.reference()
    wrong = [] if _is_as_expected(courses(rules, text), expected) else ["run"]
    program = cernis.load(rules)
    names = sorted(map(str, program.uncertain_session(start=0).uncertain))
    ties = program.checked.definitions.settings.ties
    ties = ties if program.checked.definitions.settings.ties_said else "initiation"
    whole = program.run_uncertain(text, start=0, end=6, uncertain=names, ties=ties)
    told = (whole.text(), whole.probability_text())
    parts = program.run_uncertain(
        text, start=0, end=6, window=8, step=2, uncertain=names, ties=ties
    )
    wrong += [] if (parts.text(), parts.probability_text()) == told else ["windows"]
    wrong += [] if _by_session(program, text, ties, folder) == told[1] else ["session"]
    lines = text.splitlines()
    outcome = run_job(job_for(program, lines, 3), lines)
    alone = program.run_uncertain(text)
    is_same = in_text(outcome, program) == (alone.text(), alone.probability_text())
    return wrong if is_same else [*wrong, "stages"]


def _spark_session() -> SparkSession:
    """A session of two cores, whose workers find the package in this tree."""
    from cernis.spark.spark_session import session

    root = Path(__file__).parents[2]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(root / "src"), str(root)])
    return session("local[2]", {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"})


def _on_spark(seed: int, folder: Path, spark: SparkSession) -> bool:
    """Does Spark give what a run in the process gives?"""
    from cernis.spark import recognise_uncertain

    drawn, head = drawn_program(seed)
    program, file = cernis.load(head + drawn.rules), folder / f"{seed}.txt"
    file.write_text(drawn.text())
    found = recognise_uncertain(program, file, partitions=3, spark=spark).collect()
    alone = program.run_uncertain(drawn.text())
    told = (found.text(), found.probability_text())
    return told == (alone.text(), alone.probability_text())


def _is_as_expected(
    found: dict[str, dict[int, float]], expected: dict[str, dict[int, float]]
) -> bool:
    """Are there the same pairs, with the same probabilities at each point?"""
    return found.keys() <= expected.keys() and differences(found, expected) < SAME


def _by_session(program: cernis.Program, text: str, ties: str, folder: Path) -> str:
    """The probabilities that a session gives, saved and restored at each query."""
    file = folder / "session"
    session = program.uncertain_session(window=8, step=2, start=0, ties=ties)
    session.insert(text)
    for time in (2, 4, 6):
        session.save(file)
        session = program.restore(file)  # type: ignore[assignment]
        session.query(time)
    answer = session.answer()
    return UncertainResult(
        answer, program.checked.catalogue, session._result().summary
    ).probability_text()


def main() -> None:
    """Compare as many programs as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spark", type=int, default=0, help="so many of them on Spark, too")
    given = parser.parse_args()
    spark = _spark_session() if given.spark else None
    found = 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.programs):
            wrong = disagreements(seed, Path(folder))
            if spark is not None and seed < given.seed + given.spark:
                wrong += [] if _on_spark(seed, Path(folder), spark) else ["Spark"]
            if wrong:
                found += 1
                sys.stdout.write(f"seed {seed}: {', '.join(wrong)} differ\n")
                sys.stdout.flush()
    sys.stdout.write(f"{given.programs} programs, {found} with differences\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
