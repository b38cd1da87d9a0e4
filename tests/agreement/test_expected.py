"""The small streams that lie in the folders of the examples, and what is written down of them.

`python -m tests.agreement.test_expected` makes them anew: the records by the generators, the
intervals by the reference evaluator.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from examples.records import write_text
from tests.agreement.test_examples import EXAMPLES, Sample, tables
from tests.reference.evaluate import Settings, evaluate
from tests.reference.load import load
from tests.reference.program import read_program
from tests.reference.records import read_records

SAMPLES = (
    Sample("maritime", 1500, 16, 1),
    Sample("fleet", 600, 8, 7),
    Sample("surveillance", 12_000, 6, 7, thin=10, settings={"tick": 400}),
)


def written(application: str, name: str) -> str:
    return (EXAMPLES / application / name).read_text(encoding="utf-8")


def by_engine(application: str, settings: dict[str, int]) -> str:
    folder = EXAMPLES / application
    program = cernis.load(folder / "rules.cer", [folder / "facts.cer"])
    return program.run(folder / "events.txt", **settings).text()


def by_reference(application: str, settings: dict[str, int]) -> str:
    folder = EXAMPLES / application
    items = load([folder / "rules.cer", folder / "facts.cer"])
    records = read_records(written(application, "events.txt"), read_program(items))
    return evaluate(items, records, Settings(**settings)).text()


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_generator_makes_the_records(sample: Sample, tmp_path: Path) -> None:
    write_text(tables(sample), tmp_path / "events.txt")
    made = (tmp_path / "events.txt").read_text(encoding="utf-8")
    assert made == written(sample.application, "events.txt")


@pytest.mark.parametrize("sample", [Sample("toy", 5, 1, 0), *SAMPLES], ids=str)
def test_the_engine_gives_what_is_written_down(sample: Sample) -> None:
    expected = written(sample.application, "expected.txt")
    assert expected
    assert by_engine(sample.application, dict(sample.settings or {})) == expected


def test_the_reference_gives_what_is_written_down() -> None:
    # The others take it a minute or two.
    assert by_reference("fleet", {}) == written("fleet", "expected.txt")


def main() -> None:
    """Write the records and the intervals."""
    for sample in SAMPLES:
        folder = EXAMPLES / sample.application
        write_text(tables(sample), folder / "events.txt")
        text = by_reference(sample.application, dict(sample.settings or {}))
        (folder / "expected.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
