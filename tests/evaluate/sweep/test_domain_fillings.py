"""Which domains groundings follow."""

from __future__ import annotations

import cernis
from cernis.evaluate.run import Run
from cernis.evaluate.sweep.domain_fillings import DomainFillings
from cernis.evaluate.windows import Window
from cernis.records.record_sources import read_events

RULES = """
dynamicDomain(lamp(_)).
dynamicDomain(switch(_)).
grounding(lit(X)=true) :- lamp(X).
grounding(off(X)=true) :- lamp(X), \\+ switch(X).
grounding(seen(X)) :- lamp(X).
grounding(pressed(X)) :- switch(X).
initiatedAt(lit(X)=true, T) :- happensAt(seen(X), T).
initiatedAt(off(X)=true, T) :- happensAt(pressed(X), T).
"""


def test_only_tables_that_are_looked_at_count() -> None:
    program = cernis.load(RULES)
    groundings = program.checked.definitions.groundings
    lit, off = (
        DomainFillings([tuple(each for each in groundings if each.entity.relation.name == name)])
        for name in ("lit", "off")
    )
    run = Run(program.plan)
    run.over(read_events("seen|1|1|a\n", program.checked))
    context = run.context(Window(0, 1, 0))
    context.background.fillings |= {("lamp", 1): 2, ("switch", 1): 5}
    assert (lit.current(context), lit.only_grow(context)) == (2, True)
    assert (off.current(context), off.only_grow(context)) == (7, False)
