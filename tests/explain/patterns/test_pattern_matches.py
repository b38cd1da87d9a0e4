"""Matches row by row."""

from __future__ import annotations

import cernis
from cernis.evaluate.run import Run
from cernis.explain.patterns.pattern_matches import agree, latest_matches, matches_at
from cernis.explain.traces.traced_rules import traced
from cernis.plan import make_plan
from cernis.syntax.tree import Atom, Number


def test_matches_of_an_occurrence_and_up_to_a_time() -> None:
    program = cernis.load("e(X) <- a(X) seq b within 9.")
    tracing = traced(program.checked)
    (trace,) = tracing.rules
    answer = Run(make_plan(tracing.checked)).over(program.records("a|1|1|x\na|2|2|y\nb|3|3\n"))
    (match,) = matches_at(answer, trace, (Atom("x"),), 1, 3)
    assert [(row.start, row.end) for row in match.rows] == [(1, 1), (3, 3)]
    assert len(latest_matches(answer, trace, {}, 3)) == 2
    assert latest_matches(answer, trace, {}, 2) == []


def test_bindings_agree_on_what_both_have() -> None:
    assert agree({"X": Number(1)}, {"Y": Number(2)})
    assert not agree({"X": Number(1)}, {"X": Number(2)})
