"""The page of a dependency graph: what it tells of each vertex, and what it folds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cernis
from cernis.report.dependency_graph import picture_of
from cernis.report.graph_page import LastRun, as_page, helpers_of
from tests.cli.command import run

RULES = """
initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
initiatedAt(left(X)=true, T) :- happensAt(on(X)=true for at least 10s, T).
glad(X)=true iff on(X)=true and not left(X)=true.
"""


def facts_of(page: str) -> dict[str, Any]:
    text = page.split('id="cernis-graph">')[1].split("</script>")[0]
    return json.loads(text)  # type: ignore[no-any-return]


def vertices(facts: dict[str, Any], picture: int = 0) -> dict[str, dict[str, Any]]:
    return {each["label"]: each for each in facts["vertices"][picture]}


def test_each_vertex_has_its_rules_and_where_it_is_evaluated() -> None:
    facts = facts_of(as_page(cernis.load(RULES).plan))
    on = vertices(facts)["on=true"]
    assert [rule["text"].split("(")[0] for rule in on["rules"]] == ["initiatedAt", "terminatedAt"]
    assert (on["kind"], on["arguments"], on["count"]) == ("simple", ["X"], None)
    assert "by" in on["key"]
    assert vertices(facts)["up"]["kind"] == "input"
    assert vertices(facts)["glad=true"]["kind"] == "static"


def test_what_phrases_are_made_of_is_folded() -> None:
    program = cernis.load(RULES)
    assert helpers_of(program.checked)
    facts = facts_of(as_page(program.plan))
    few, everything = vertices(facts), vertices(facts, 1)
    assert set(few) < set(everything)
    labels = list(few)
    edges = {(labels[source], labels[target]) for source, target, _ in facts["edges"][0]}
    # Without its helpers, the phrase leads from one fluent to the other.
    assert ("on=true", "left=true") in edges
    picture = picture_of(program.checked.dependencies, program.checked.catalogue)
    assert picture.svg.count("data-vertex") == len(everything)


def test_a_run_gives_counts_and_costs(tmp_path: Path) -> None:
    (tmp_path / "rules.cer").write_text(RULES)
    (tmp_path / "events.txt").write_text("up|1|1|a\nup|2|2|b\ndown|5|5|a\n")
    page = tmp_path / "graph.html"
    done = run("graph", tmp_path / "rules.cer", "-i", tmp_path / "events.txt", "-o", page)
    assert done.code == 0, done.said
    facts = facts_of(page.read_text())
    on = vertices(facts)["on=true"]
    assert on["count"] == 2
    assert vertices(facts)["up"]["count"] == 2
    assert all(rule["seconds"] > 0 for rule in on["rules"])
    done = run("graph", tmp_path / "rules.cer", "-i", tmp_path / "events.txt", "-o", "graph.svg")
    assert (done.code, "must end in .html" in done.err) == (2, True)


def test_names_are_no_markup() -> None:
    program = cernis.load("""initiatedAt('</script><b>'(X)=true, T) :- happensAt(e(X), T).""")
    page = as_page(program.plan, run=LastRun(), title="</title><b>")
    assert "</script><b>" not in page
    assert "</title><b>" not in page
    assert any("</script><b>" in label for label in vertices(facts_of(page)))
