"""The steps of the planner, each by itself."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.model import Event, Pair, Relation
from cernis.plan.logical import Compute, Definition, Lookup, PointRule, Scan
from cernis.plan.sweep.definition_rows import key_names_of
from cernis.plan.sweep.delay_plans import delays_of
from cernis.plan.sweep.fact_values import KnownFacts, constants_in
from cernis.plan.sweep.grounded_values import GroundedValues
from cernis.plan.sweep.lane_blocks import Block, in_order, signal_block
from cernis.plan.sweep.lane_builder import parts_apart, without_alone_signals
from cernis.plan.sweep.lane_rules import RowBody, event_bit
from cernis.plan.sweep.lanes import FiredBit, FiredKind
from cernis.plan.sweep.record_tests import NEVER, ConditionSplit
from cernis.plan.sweep.rule_bodies import AskedKind, bodies_of, bound_names, names_asked
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import Instance, KnownInstances
from cernis.program import Program
from cernis.syntax.tree import Atom, Number, Variable

PORTS = """
initiatedAt(near(V, Kind)=true, T) :-
    happensAt(enters(V, Area), T), kind(Area, Kind), happensAt(slow(V, S), T), S < 5,
    \\+ happensAt(off(V), T).
terminatedAt(near(V, _)=true, T) :- happensAt(gone(V), T) ; happensAt(lost(V), T).
grounding(near(V, Kind)=true) :- ship(V), kind(_, Kind).
fi(near(V, port)=true, near(V, port)=false, R) :- lasts(R), R > 3.
kind(p1, port). kind(p2, port). kind(c1, coast). ship(a). lasts(2). lasts(9). lasts(7).
"""
NEAR = Relation("near", 2)
KEYS = {NEAR: (0,), Relation("enters", 2): (0,), Relation("slow", 2): (0,)}


def loaded() -> tuple[Program, Definition]:
    """The program, and the definition of near."""
    program = cernis.load(PORTS)
    (stage,) = program.plan.stages
    return program, stage.strata[0].definitions[0]


def near(kind: str, value: str = "true") -> Instance:
    """An instance of near for a key."""
    return Instance(NEAR, (None, Atom(kind)), Atom(value))


def test_bodies_are_written_out_and_sorted() -> None:
    _, definition = loaded()
    first, second = (rule for rule in definition.rules if isinstance(rule, PointRule))
    (body,) = bodies_of(first.steps)
    assert sorted((str(each.relation), each.negated) for each in body.literals) == [
        ("enters/2", False), ("off/1", True), ("slow/2", False),
    ]  # fmt: skip
    assert {type(step) for step in body.conditions} >= {Lookup}
    assert [each.literals[0].relation.name for each in bodies_of(second.steps)] == ["gone", "lost"]
    assert all(each.kind is AskedKind.EVENT for each in body.literals)


def test_conditions_go_to_the_record_they_are_about() -> None:
    program, definition = loaded()
    (body,) = bodies_of(definition.rules[0].steps)  # type: ignore[union-attr]
    keys = {**KEYS, Relation("off", 1): (0,)}
    split = ConditionSplit(("V",), keys, KnownFacts(program.plan.knowledge))
    tested = split.divide(body.literals, body.conditions, "T", {"Kind": Atom("port")})
    by_name = {bit.relation.name: bit for bit in tested.positive if bit.relation}
    assert [type(step) for step in by_name["enters"].steps] == [Scan, Lookup]
    assert by_name["enters"].values == (("Kind", Atom("port")),)
    assert by_name["slow"].values == ()
    assert len(by_name["slow"].steps) == 2
    assert [bit.relation.name for bit in tested.negative if bit.relation] == ["off"]
    assert not tested.facts


def test_a_fact_that_no_key_can_meet_is_never_true() -> None:
    program, _ = loaded()
    split = ConditionSplit(("V",), KEYS, KnownFacts(program.plan.knowledge))
    never = Lookup(cernis.syntax.parse_term("lasts(5)"), (), ())
    always = Lookup(cernis.syntax.parse_term("lasts(7)"), (), ())
    assert split.divide((), (never,), "", {}).facts == (NEVER,)
    assert split.divide((), (always,), "", {}).facts == ()


def test_facts_tell_the_values_of_variables() -> None:
    program, definition = loaded()
    facts = KnownFacts(program.plan.knowledge)
    goal = cernis.syntax.parse_term("kind(Area, Kind)")
    step = Lookup(goal, (), ("Area", "Kind"))
    assert facts.values("Kind", [step]) == {Atom("port"), Atom("coast")}
    assert facts.values("Kind", constants_in([step], {"Area": Atom("c1")})) == {Atom("coast")}
    assert facts.values("Other", [step]) is None
    grounded = GroundedValues(program.plan.knowledge, program.plan.checked.modes, facts)
    head = definition.rules[0].head  # type: ignore[union-attr]
    assert isinstance(head, Pair)
    assert grounded.of(head, definition.groundings)["Kind"] == {Atom("port"), Atom("coast")}


def test_a_name_of_a_number_is_not_put_into_arithmetic() -> None:
    step = Compute("Y", cernis.syntax.parse_term("X + 1"))
    assert names_asked(step) == {"X", "Y"}
    assert bound_names(step) == {"Y"}
    with pytest.raises(NotSweptError, match="arithmetic"):
        constants_in([step], {"X": Atom("e")})
    (changed,) = constants_in([step], {"X": Number(3)})
    assert names_asked(changed) == {"Y"}


def test_of_several_answers_the_shortest_delay_counts() -> None:
    program, definition = loaded()
    facts = KnownFacts(program.plan.knowledge)
    delays = [rule for rule in definition.rules if not isinstance(rule, PointRule)]
    drafts = delays_of(delays, [near("port"), near("coast")], (0,), facts)  # type: ignore[arg-type]
    assert [(each.source, each.target, each.delay) for each in drafts] == [
        (near("port"), near("port", "false"), 7)
    ]


def test_instances_are_few_or_an_error() -> None:
    known = KnownInstances(KEYS)
    assert known.add(near("port"))
    assert not known.add(near("port"))
    assert known.add(near("coast"))
    assert list(known.matching(NEAR, (None, Atom("coast"), None))) == [near("coast")]
    for number in range(6):
        known.add(near(f"k{number}"))
    with pytest.raises(NotSweptError, match="family"):
        known.add(near("one too many"))


def test_the_key_of_a_head_is_named_and_stands_once() -> None:
    head = Event(Relation("e", 2), (Variable("V"), Variable("W")))
    assert key_names_of(head, (0,)) == ("V",)
    for args in ((Variable("_"), Atom("a")), (Variable("V"), Variable("V"))):
        with pytest.raises(NotSweptError):
            key_names_of(Event(Relation("e", 2), args), (0,))


def signal(name: str) -> FiredBit:
    """A signal for a derived event."""
    return event_bit(Instance(Relation(name, 1), (None,)))


def block(name: str, *triggers: FiredBit) -> Block:
    """A block that sends a signal when one of others comes."""
    return signal_block(Relation(name, 1), signal(name), [RowBody(any=frozenset(triggers))])


def test_blocks_come_after_what_they_ask() -> None:
    record = FiredBit(FiredKind.RECORD, Relation("r", 1))
    a, b, c = block("a", signal("b")), block("b", record), block("c", signal("d"))
    d = block("d", signal("c"))
    assert in_order([a, b]) == ([b, a], [])
    assert in_order([c, b, d]) == ([b], [c, d])


def test_small_parts_are_joined_if_their_keys_are_values_of_one_kind() -> None:
    record = FiredBit(FiredKind.RECORD, Relation("r", 1))
    blocks = [block("a", record), block("b", signal("a")), block("c"), block("d")]
    assert parts_apart(blocks, lambda _: "name") == [blocks]
    apart = parts_apart(blocks, lambda relation: "number" if relation.name == "c" else "name")
    assert apart == [blocks[:2], blocks[2:3], blocks[3:]]


def test_a_signal_that_is_another_bit_is_that_bit() -> None:
    record = FiredBit(FiredKind.RECORD, Relation("r", 1))
    change = FiredBit(FiredKind.SIGNAL, Relation("f", 1), (None,), word="initiation")
    sent = signal_block(None, change, [RowBody(any=frozenset([record]))])
    (left,) = without_alone_signals([sent, block("a", change)])
    assert left.rows[0].body.any == frozenset([record])
