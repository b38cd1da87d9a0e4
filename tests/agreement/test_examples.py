"""The example applications on the engine: equal to the reference, and nothing without result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

import cernis
from cernis.answers.result import as_text
from cernis.evaluate.answer import Answer
from cernis.evaluate.run import Run
from cernis.program import Program
from examples.records import lines
from tests.agreement.compare import Scenario, by_engine, by_reference
from tests.generators.streams import Settings

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Sample:
    """Data of an application: how much of it, and how it is run.

    Of a stream with a picture a tick, one in `thin` is kept.
    """

    application: str
    events: int
    entities: int
    seed: int
    late: float = 0.0
    thin: int = 1
    settings: Settings | None = None

    def __str__(self) -> str:
        shown = "".join(f"-{key}={value}" for key, value in (self.settings or {}).items())
        return f"{self.application}-{self.events}{shown}"


def generator(application: str) -> ModuleType:
    return import_module(f"examples.{application}.generate")


def clauses(application: str, entities: int) -> tuple[str, ...]:
    """The rules and the facts that go with so many entities."""
    rules = (EXAMPLES / application / "rules.cer").read_text(encoding="utf-8")
    return (rules, generator(application).facts(entities))


def tables(sample: Sample) -> dict[str, pa.Table]:
    made: dict[str, pa.Table] = generator(sample.application).generate(
        sample.events, sample.entities, sample.seed, late=sample.late
    )
    return {name: _thinned(table, sample.thin) for name, table in made.items()}


def _thinned(table: pa.Table, every: int) -> pa.Table:
    """The fluents of every so many ticks of 40, and all events, moved up to the next of them."""
    if every == 1:
        return table
    grid = 40 * every
    times = table.column("occurrence").to_numpy()
    if "value" in table.column_names:
        return table.filter(pa.array(times % grid == 0))
    moved = pa.array(-(-times // grid) * grid)
    for name in ("arrival", "occurrence"):
        table = table.set_column(table.column_names.index(name), name, moved)
    return table


def text_lines(relations: Mapping[str, pa.Table]) -> tuple[str, ...]:
    return tuple(
        line for name, table in relations.items() for line in lines(name, table).to_pylist()
    )


def by_engine_on_tables(
    program: Program, relations: Mapping[str, pa.Table], settings: Settings
) -> Answer:
    return Run(program.plan, settings.get("tick"), settings.get("ties")).over(
        relations, settings.get("start"), settings.get("end"),
        settings.get("window"), settings.get("step"),
    )  # fmt: skip


# fmt: off
SAMPLES = (
    Sample("toy", 300, 4, 7),
    Sample("toy", 300, 4, 7, 0.3, settings={"window": 60, "step": 20}),
    Sample("maritime", 800, 20, 10),
    Sample("maritime", 500, 8, 7, 0.2, settings={"window": 7200, "step": 3600}),
    Sample("fleet", 400, 8, 2),
    Sample("fleet", 400, 5, 7, 0.2, settings={"window": 1000, "step": 300}),
    Sample("surveillance", 12_000, 6, 7, thin=50, settings={"tick": 2000}),
    Sample(
        "surveillance", 12_000, 6, 7, thin=50,
        settings={"tick": 2000, "window": 40_000, "step": 20_000},
    ),
)
# fmt: on


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_equals_the_reference_as_text_and_as_tables(sample: Sample) -> None:
    settings = sample.settings or Settings()
    relations = tables(sample)
    scenario = Scenario(
        clauses(sample.application, sample.entities), text_lines(relations), settings
    )
    program = cernis.load(scenario.rules)
    expected = by_reference(scenario).text()
    assert by_engine(scenario, program).text() == expected
    assert as_text(by_engine_on_tables(program, relations, settings)) == expected
    assert expected


LARGE = (
    Sample("toy", 5_000, 20, 7),
    Sample("maritime", 60_000, 200, 7),
    Sample("fleet", 60_000, 100, 7),
    Sample("surveillance", 40_000, 10, 7, thin=5, settings={"tick": 200}),
)


@pytest.mark.parametrize("sample", LARGE, ids=str)
def test_every_fluent_and_event_comes_about(sample: Sample) -> None:
    program = cernis.load("\n".join(clauses(sample.application, sample.entities)))
    answer = by_engine_on_tables(program, tables(sample), sample.settings or Settings())
    empty = [str(relation) for relation, table in answer.fluents.items() if not len(table.starts)]
    empty += [str(relation) for relation, table in answer.events.items() if not len(table)]
    assert empty == []
    assert answer.fluents
