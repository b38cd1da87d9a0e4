"""What notebooks show: a picture and a table that need no script, with names that are no markup."""

from __future__ import annotations

from xml.etree import ElementTree

import cernis
from cernis.answers.reports.notebook_view import program_view, result_view

RULES = """
initiatedAt(level(X)=V, T) :- happensAt(set(X, V), T).
happensAt(alarm(X), T) :- happensAt(set(X, high), T).
"""


def test_a_result_shows_its_longest_lanes_and_a_table() -> None:
    rows = "".join(f"set|{t}|{t}|<b>&{t % 20}|{'high' if t % 3 else 'low'}\n" for t in range(200))
    result = cernis.load(RULES).run(rows)
    page = result._repr_html_()
    tree = ElementTree.fromstring(page)
    assert "<script" not in page
    labels = [each.text for each in tree.iter("text")]
    assert "level(<b>&0)" in labels
    assert "and 6 more rows" in page
    cells = [each.text for each in tree.iter("td")]
    assert cells[:3] == ["level/1", "40", str(len(result.intervals))]
    assert result_view(result.answer, result.times, [])


def test_what_does_not_fit_a_pixel_is_drawn_once() -> None:
    rows = "".join(f"set|{t}|{t}|a|{t % 2}\n" for t in range(3_000))
    assert len(cernis.load(RULES).run(rows)._repr_html_()) < 150_000


def test_an_empty_result_and_uncertain_ones() -> None:
    program = cernis.load(RULES)
    assert "Nothing held." in program.run([])._repr_html_()
    page = program.run_uncertain("0.7::set|1|1|a|high\n", end=9)._repr_html_()
    assert "level(a)" in page


def test_a_program_shows_its_definitions() -> None:
    program = cernis.load(RULES)
    tree = ElementTree.fromstring(program._repr_html_())
    rows = [[cell.text for cell in row.iter("td")] for row in tree.iter("tr")]
    assert ["level", "X", "*", "simple fluent"] in rows
    assert ["alarm", "X", None, "derived event"] in rows
    assert program_view(program.checked.catalogue, set()).count("<tr>") == 4
