"""What is walked over links: which kinds of instances there are, and why something is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.check.model import Relation
from cernis.plan.builder import Plan
from cernis.plan.linked.instance_kinds import KindTable, variable_names
from cernis.plan.linked.linked_fits import with_linked
from cernis.plan.linked.linked_plans import InstanceKind, KindLink
from cernis.plan.linked.rule_homes import KindDraft
from cernis.plan.sweep.fits import SweepSearch
from cernis.plan.sweep.unfit import NotSweptError
from cernis.source import NOWHERE
from cernis.syntax.tree import Atom, Variable
from tests.plan.linked.linked_programs import walk_all_over_links

EXAMPLES = Path(__file__).parents[3] / "examples"


def kinds_of(plan: Plan) -> dict[str, InstanceKind]:
    """The kinds of a plan's linked program, by the relation that their tuple is of."""
    return {str(kind.home): kind for program in plan.linked for kind in program.kinds}


def walked(text: str) -> Plan:
    """The plan of a text, with all walked over links that can be."""
    plan = cernis.load(text).plan
    walk_all_over_links(plan)
    return plan


def test_netbill_has_three_kinds() -> None:
    folder = EXAMPLES / "netbill"
    plan = cernis.load(folder / "rules.cer", [folder / "facts.cer"]).plan
    kinds = kinds_of(plan)
    assert list(kinds) == ["quote/3", "per(present_quote(_,_))/2", "suspended/2"]
    assert [str(r) for r in kinds["quote/3"].lane.definitions] == [
        "quote/3", "contract/3", "obl(send_EPO(_,_,_))/3", "obl(send_goods(_,_,_))/3",
        "per(accept_quote(_,_,_))/3",
    ]  # fmt: skip
    assert set(kinds["quote/3"].links) == {KindLink(2, (0,)), KindLink(2, (1,))}
    assert len(kinds["quote/3"].reads) == 2
    assert len(kinds["quote/3"].signals) == 2
    assert kinds["quote/3"].late.bit_count() == 1
    assert plan.linked[0].stages == (1, 2, 3)


def test_a_stage_alone_has_no_program_of_several_stages() -> None:
    folder = EXAMPLES / "netbill"
    plan = cernis.load(folder / "rules.cer", [folder / "facts.cer"]).plan
    assert plan.linked
    assert not any(each.linked for each in plan.stage_plans.values())


def test_a_rule_without_a_home_gets_a_kind_of_its_own() -> None:
    plan = walked("""
        initiatedAt(f(X)=true, T) :- happensAt(e(X, Y, Z), T), holdsAt(g(X, Y)=true, T),
            holdsAt(h(Z)=true, T).
        initiatedAt(g(X, Y)=true, T) :- happensAt(e(X, Y, _), T).
        initiatedAt(h(Z)=true, T) :- happensAt(e(_, _, Z), T).
    """)
    kind = kinds_of(plan)["e/3"]
    assert not kind.lane.definitions
    assert len(kind.links) == 3
    assert len(kind.signals) == 1


REASONS = {
    "asks what happens at a point to another instance": """
        initiatedAt(f(X, Y)=true, T) :- happensAt(e(X, Y), T), initiatedAt(g(X)=true, T).
        initiatedAt(g(X)=true, T) :- happensAt(e(X, _), T), holdsAt(f(X, _)=true, T).
    """,
    "relates two instances of one kind": """
        initiatedAt(f(X, Y)=true, T) :- happensAt(e(X, Y), T), \\+ holdsAt(f(Y, X)=true, T).
    """,
    "asks for instances by a part of their arguments": """
        initiatedAt(f(X, Y)=true, T) :- happensAt(e(X, Y), T), \\+ holdsAt(f(X, m1)=true, T).
    """,
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_does_not_fit(reason: str) -> None:
    plan = walked(REASONS[reason])
    assert not any(str(r) == "f/2" for program in plan.linked for r in program.definitions)


def test_columns_keep_what_is_in_no_cycle() -> None:
    plan = cernis.load("""
        initiatedAt(f(X, Y)=true, T) :- happensAt(e(X, Y), T), \\+ holdsAt(g(X)=true, T).
        initiatedAt(g(X)=true, T) :- happensAt(d(X), T).
    """).plan
    assert not plan.linked
    search = SweepSearch(plan.stages, plan.checked, plan.knowledge)
    plans = tuple(search.plan(stage) for stage in plan.stages)
    assert any(each.linked for each in with_linked(plans, plan.stages, search, only_cycles=False))


def test_relations_with_the_same_variables_are_of_one_kind() -> None:
    table = KindTable({Relation("f", 2): (0, 1), Relation("g", 2): (0, 1)})
    x, y = Variable("X"), Variable("Y")
    from cernis.check.model import Event

    table.join([Event(Relation("f", 2), (x, y)), Event(Relation("g", 2), (y, x))])
    assert table.kind[Relation("f", 2)] == table.kind[Relation("g", 2)]
    assert table.positions[Relation("g", 2)] == (1, 0)


def test_tuples_are_of_different_variables() -> None:
    assert variable_names([Variable("X"), Variable("Y")], NOWHERE) == ("X", "Y")
    for terms in ([Variable("X"), Variable("X")], [Atom("m1")], [Variable("_")]):
        with pytest.raises(NotSweptError):
            variable_names(terms, NOWHERE)


def test_records_read_by_other_arguments_have_another_name() -> None:
    draft = KindDraft(Relation("f", 2), (0, 1))
    event = Relation("e", 3)
    assert draft.record(event, (0, 1)) == event
    assert draft.record(event, (0, 1)) == event
    other = draft.record(event, (1, 0))
    assert other != event
    assert draft.records[other] == event
