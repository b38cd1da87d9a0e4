"""The applications of event patterns: their streams, and what is written down of them.

`python -m tests.agreement.test_pattern_applications` makes both anew. What is written down is by
the engine: the reference takes too long for as much, and is asked about smaller streams.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import cernis
from cernis.cli.main import app
from cernis.knowledge.ground_values import term_of
from cernis.knowledge.rdf import rdf_tables, read_rdf
from cernis.session.feed import FEED
from cernis.spark.sinks import fold
from cernis.syntax.printer import show
from cernis.syntax.tree import Compound
from examples.records import write_text
from tests.generators.patterns import by_reference
from tests.session.feeds import Sum, answer_rows
from tests.spark.streaming.local_stream import LocalStream

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = {"weather": (1500, 6, 11), "trading": (250, 3, 5), "jetstream": (1200, 10, 5)}
"""How many events, of how many entities, by which seed."""


SMALL = {"weather": (34, 2, 27), "trading": (36, 2, 5), "jetstream": (70, 5, 11)}
"""Streams that the reference is through with in a moment."""


def program(name: str) -> cernis.Program:
    folder = EXAMPLES / name
    return cernis.load(folder / "rules.cer", [folder / "facts.cer"])


def records(name: str, sample: tuple[int, int, int], folder: Path) -> Path:
    file = folder / "events.txt"
    write_text(import_module(f"examples.{name}.generate").generate(*sample), file)
    return file


def occurrences(name: str, lines: list[str]) -> str:
    """What occurs, by the reference. Triples are given to it as facts."""
    folder = EXAMPLES / name
    clauses = [(folder / own).read_text("utf-8") for own in ("rules.cer", "facts.cer")]
    for file in folder.glob("*.ttl"):
        for (predicate, _), table in rdf_tables(read_rdf(file)).items():
            clauses += [
                show(Compound(predicate, tuple(map(term_of, row)))) + "." for row in table.rows()
            ]
    return by_reference(clauses, lines, max(int(line.split("|")[2]) for line in lines))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_generator_makes_the_records(name: str, tmp_path: Path) -> None:
    made = records(name, SAMPLES[name], tmp_path)
    assert made.read_text("utf-8") == (EXAMPLES / name / "events.txt").read_text("utf-8")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_engine_gives_what_is_written_down(name: str) -> None:
    found = program(name).run(EXAMPLES / name / "events.txt").text()
    assert found == (EXAMPLES / name / "expected.txt").read_text("utf-8")


@pytest.mark.parametrize("name", SMALL)
def test_the_reference_says_the_same_of_a_small_stream(name: str, tmp_path: Path) -> None:
    file = records(name, SMALL[name], tmp_path)
    found = program(name).run(file).text().splitlines(True)
    expected = occurrences(name, file.read_text("utf-8").splitlines())
    assert expected
    occurring = "".join(line for line in found if line.startswith("occurs"))
    assert rounded(occurring) == rounded(expected)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_commands_of_its_page(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run as they stand, but for the number of events and where these are put."""
    page = (EXAMPLES / name / "README.md").read_text("utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    block = re.sub(r"--events \d+", "--events 400", block).replace("data", str(tmp_path))
    making, running = (line.split()[1:] for line in block.strip().splitlines())
    subprocess.run([sys.executable, *making], cwd=EXAMPLES.parent, check=True, timeout=120)
    monkeypatch.chdir(EXAMPLES.parent)
    done = CliRunner().invoke(app, running)
    assert done.exit_code == 0, done.output
    expected = cernis.load(EXAMPLES / name / "rules.cer", [tmp_path / "facts.cer"])
    assert done.stdout == expected.run(tmp_path / "events.txt").text()


@pytest.mark.parametrize("name", SAMPLES)
def test_sessions_and_streams_say_the_same(name: str, tmp_path: Path) -> None:
    """A session and a stream over buckets, fed in pieces, tell what a run does."""
    lines = (EXAMPLES / name / "events.txt").read_text("utf-8").splitlines()
    loaded = program(name)
    times = [int(line.split("|")[2]) for line in lines]
    low, high = min(times) - 1, max(times)
    step = (high - low) // 5 + 1
    settings = {"window": 3 * step, "step": step, "start": low}
    result = loaded.run(lines, end=low + 5 * step, **settings)
    session, total = loaded.session(**settings), Sum()
    stream = LocalStream(loaded, tmp_path, 3 * step, step, buckets=2, start=low)
    told = []
    for number in range(1, 6):
        query = low + number * step
        piece = [line for line, t in zip(lines, times, strict=True) if query - step < t <= query]
        session.insert(piece)
        feed = session.query(query)
        total.add(feed.table(), feed.happenings())
        told += stream.take([*piece, f"$clock|{query}"])
    assert total.rows == answer_rows(result.answer)
    assert len(fold(pa.Table.from_pylist(told, FEED))) == len(total.rows)


def rounded(text: str) -> str:
    """Lines with their floats to nine digits, in order: sums may be added up in another order."""
    short = re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.9g}", text)
    return "\n".join(sorted(short.splitlines()))


def main() -> None:
    """Write the records and what is recognised."""
    for name, sample in SAMPLES.items():
        folder = EXAMPLES / name
        text = program(name).run(records(name, sample, folder)).text()
        (folder / "expected.txt").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
