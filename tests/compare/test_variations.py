"""What a value of a fact would have found is what a program with that value finds."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

import cernis
from cernis.compare.variation_report import VariationReport
from cernis.compare.varied_facts import read_varied_fact
from cernis.errors import DataError
from tests.cli.command import run
from tests.compare.test_program_diff import EVENTS, FACTS, RULES, program


def test_each_value_finds_what_a_program_with_it_finds() -> None:
    variation = program().vary("limit(high, 110..140 by 5)", EVENTS)
    assert [str(each.relation) for each in variation.relations] == ["alarm/1", "level/1", "loud/1"]
    assert (variation.current, variation.unchanged) == ((120,), 2)
    for (value,) in variation.values:
        result = program(facts=FACTS.replace("120", str(value))).run(EVENTS)
        place = variation.values.index((value,))
        for varied in variation.relations:
            name = varied.relation.name
            table = result.event(name) if varied.is_event else result.fluent(name)
            assert varied.counts[place] == len(table), (value, name)


def test_several_facts_are_combined() -> None:
    variation = program().vary(["limit(high, 115..125 by 10)", "limit(low, 50..52)"], EVENTS)
    assert variation.values == ((115, 50), (115, 51), (115, 52), (125, 50), (125, 51), (125, 52))
    level = next(each for each in variation.relations if each.relation.name == "level")
    assert level.ticks == (21, 14, 14, 11, 4, 4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limit(high, 120)", "must have one range"),
        ("limit(high, 1..2, 3..4)", "must have one range"),
        ("limit(X, 1..2)", "must name all other arguments"),
        ("limit(high, 9..2)", "ends before it begins"),
        ("limit(high, 1..9 by -1)", "steps of 1..9 must be positive"),
        ("limit(high, 1..9000)", "9000 values; choose wider steps"),
        ("limit(middle, 1..2)", "there are limit(high, 120), limit(low, 60)"),
        ("limit(high, 1..2", "is no fact with a range in it"),
        ("limits(high, 1..2)", "there is no fact like"),
    ],
)
def test_a_fact_that_cannot_be_varied_says_why(text: str, words: str) -> None:
    with pytest.raises(DataError, match=re.escape(words)):
        read_varied_fact(text, program().checked)


def test_fractions_and_forms_of_numbers() -> None:
    checked = cernis.load("a(X)=true iff b(X)=true.\nlimit(low, 0.5).").checked
    fact = read_varied_fact("limit(low, 0..1 by 0.25)", checked)
    assert fact.values == (0, 0.25, 0.5, 0.75, 1)
    assert str(fact.with_value(1).head.args[1].value) == "1.0"  # type: ignore[union-attr]
    assert len(read_varied_fact("limit(low, 0.0..1.0)", checked).values) == 11


def test_pictures_and_json() -> None:
    variation = program().vary("limit(high, 110..140 by 10)", EVENTS)
    report = VariationReport(variation, 3600)
    bars = Xml.fromstring(report.svg()).iter("{http://www.w3.org/2000/svg}rect")
    assert len(list(bars)) == 1 + 3 * 4
    assert report.html().count("<h2>") == 3
    parts = json.loads(report.json())
    level = next(each for each in parts["relations"] if each["relation"] == "level/1")
    assert [each["count"] for each in level["values"]] == [3, 2, 1, 0]


def test_the_command_writes_a_picture(tmp_path: Path) -> None:
    (tmp_path / "rules.cer").write_text(RULES + FACTS, "utf-8")
    lines = ["|".join(map(str, event)) for event in EVENTS]
    (tmp_path / "events.txt").write_text("\n".join(lines) + "\n", "utf-8")
    args = ("vary", tmp_path / "rules.cer", "-i", tmp_path / "events.txt")
    outcome = run(*args, "--fact", "limit(high, 110..130 by 10)", "-o", tmp_path / "v.svg")
    assert (outcome.code, "* 120" in outcome.out) == (0, True)
    assert (tmp_path / "v.svg").read_text("utf-8").startswith("<svg")
    bad = run(*args, "--fact", "limit(high, 1..3)", "-o", tmp_path / "v.png")
    assert (bad.code, "must end in .html or .svg" in bad.err) == (2, True)
