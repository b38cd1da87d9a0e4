"""The applications with deadlines and cycles: what is written down, what the reference says."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import cernis
from cernis.program import Program
from examples.records import lines
from tests.agreement.compare import Scenario, difference
from tests.generators.streams import Settings

EXAMPLES = Path(__file__).parents[2] / "examples"
APPLICATIONS = ("netbill", "voting", "feedback")

WINDOWS: tuple[Settings, ...] = (
    {}, {"window": 3}, {"window": 10, "step": 5}, {"window": 40, "step": 7},
)  # fmt: skip


def application(name: str) -> tuple[Program, str, str]:
    """The program, its stream, and what comes of it."""
    folder = EXAMPLES / name
    program = cernis.load(folder / "rules.cer", [folder / "facts.cer"])
    events, expected = (
        (folder / file).read_text(encoding="utf-8") for file in ("events.txt", "expected.txt")
    )
    return program, events, expected


@pytest.mark.parametrize("name", APPLICATIONS)
@pytest.mark.parametrize("settings", WINDOWS, ids=str)
def test_has_the_answer_that_is_written_down_in_windows_of_any_size(
    name: str, settings: Settings
) -> None:
    program, events, expected = application(name)
    found = program.run(events, window=settings.get("window"), step=settings.get("step"))
    assert found.text() == expected


@pytest.mark.parametrize("name", APPLICATIONS)
def test_what_is_written_down_is_about_every_fluent_and_event(name: str) -> None:
    program, _, expected = application(name)
    defined = {vertex.relation for vertex in program.checked.dependencies.vertices}
    for relation in defined - program.checked.definitions.auxiliary:
        start = relation.name.partition("(_")[0]
        assert f"({start}(" in expected, relation


# fmt: off
SAMPLES = (
    ("netbill", 300, 30, 11, 0.0, Settings()),
    ("netbill", 250, 12, 12, 0.3, Settings(window=30, step=8)),
    ("voting", 250, 4, 11, 0.0, Settings()),
    ("voting", 200, 3, 12, 0.3, Settings(window=20, step=6)),
    ("feedback", 60, 6, 11, 0.0, Settings()),
    ("feedback", 40, 4, 12, 0.3, Settings(window=60, step=20)),
)
# fmt: on


@pytest.mark.parametrize(("name", "events", "entities", "seed", "late", "settings"), SAMPLES)
def test_equals_the_reference(
    name: str, events: int, entities: int, seed: int, late: float, settings: Settings
) -> None:
    generator = import_module(f"examples.{name}.generate")
    rules = (EXAMPLES / name / "rules.cer").read_text(encoding="utf-8")
    relations = generator.generate(events, entities, seed, late=late)
    stream = tuple(
        line for relation, table in relations.items() for line in lines(relation, table).to_pylist()
    )
    scenario = Scenario((rules, generator.facts(entities)), stream, settings)
    assert difference(scenario) == "", f"seed {seed}"
