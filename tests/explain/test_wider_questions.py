"""Questions about a stretch of time, or about an entity."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

import cernis
from cernis.cli.main import app
from cernis.explain.wider_questions import is_entity

RULES = """
initiatedAt(rich(X)=true, T)  :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
happensAt(party(X), T) :- happensAt(lose(X), T), holdsAt(rich(X)=true, T).
"""
EVENTS = "win|1|1|ann\nlose|4|4|ann\nwin|6|6|ann\nwin|7|7|bob\n"


def asked(text: str, *bounds: int | None) -> list[tuple[str, int]]:
    made = cernis.load(RULES).explain_all(EVENTS, text, *bounds)
    assert all(each.holds for each in made)
    return [(each.question, each.time) for each in made]


def test_each_interval_of_a_stretch_is_explained() -> None:
    assert asked("rich(ann)") == [("rich(ann)=true", 2), ("rich(ann)=true", 7)]
    assert asked("rich(ann)", 3, 5) == [("rich(ann)=true", 3)]


def test_an_entity_is_all_that_has_it_as_an_argument() -> None:
    assert asked("ann", None, 5) == [("rich(ann)=true", 2), ("party(ann)", 4)]
    assert asked("nobody") == []


def test_why_not_where_there_is_nothing() -> None:
    (made,) = cernis.load(RULES).explain_all(EVENTS, "rich(bob)", 1, 5)
    assert not made.holds


def test_an_entity_is_told_from_pairs_and_events() -> None:
    plan = cernis.load("initiatedAt(on=true, T) :- happensAt(press, T).").plan
    assert is_entity(plan, "b7")
    assert not is_entity(plan, "on")
    assert not is_entity(plan, "press")


def test_the_command_explains_entities_as_json_and_html(tmp_path: Path) -> None:
    rules, events = tmp_path / "rules.cer", tmp_path / "events.txt"
    rules.write_text(RULES)
    events.write_text(EVENTS)
    command = ["explain", str(rules), "--input", str(events), "ann"]
    found = CliRunner().invoke(app, [*command, "--to", "5", "--format", "json"])
    assert [each["question"] for each in json.loads(found.stdout)] == [
        "rich(ann)=true",
        "party(ann)",
    ]
    page = CliRunner().invoke(app, [*command, "--format", "html"])
    assert page.stdout.count("<h1>") == 3
