"""The way from facts to records, by joins."""

from __future__ import annotations

import numpy as np

import cernis
from cernis.check.model import Relation
from cernis.evaluate.run import Run
from cernis.explain.traces.fact_joins import constant, facts_wanted, fitting
from cernis.explain.traces.provenance import Provenance
from cernis.explain.traces.traced_rules import traced
from cernis.plan import make_plan
from cernis.records.record_columns import coding_of, column_of
from cernis.syntax.tree import Atom, Variable


def test_the_records_behind_a_start() -> None:
    program = cernis.load("initiatedAt(f(X)=true, T) :- happensAt(a(X, _), T).")
    records = program.records("a|1|1|x|5\na|1|1|x|6\na|2|2|y|5\n")
    tracing = traced(program.checked)
    answer = Run(make_plan(tracing.checked)).over(records, 0, 2)
    tracer = Provenance(tracing, answer, records, program.plan.knowledge, 0, 1)
    facts = facts_wanted([coding_of(column_of(["x"])), constant(Atom("true"), 1)], np.array([1]))
    assert tracer.of("start", Relation("f", 1), facts).records.tolist() == [1, 2]


def test_facts_that_fit_constants() -> None:
    facts = facts_wanted([coding_of(column_of(["x", "y", "x"]))], np.arange(3))
    assert fitting(facts, (Atom("x"),)).owners.tolist() == [0, 2]
    assert fitting(facts, (Variable("X"),)).owners.tolist() == [0, 1, 2]


def test_a_number_equals_no_other_form_of_it() -> None:
    facts = facts_wanted([coding_of(column_of([1, 2]))], np.arange(2))
    assert fitting(facts, (Atom("1"),)).owners.tolist() == []
