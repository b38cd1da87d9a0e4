"""Explanations name the rules and the records, and are true."""

from __future__ import annotations

import json
from random import Random

import pytest

import cernis
from cernis.answers.answer_lines import argument_text
from cernis.errors import DataError
from cernis.explain.explaining import RunLimits, explain
from cernis.explain.explanation_tree import Explanation, Reason
from cernis.explain.histories import NamedRecord
from cernis.explain.questions import read_question
from cernis.explain.reachable_records import reachable
from cernis.explain.replays import missing_records, only
from cernis.knowledge.ground_values import field_value
from cernis.plan import explain as plan_text
from cernis.program import Program
from tests.agreement.compare import scenarios

TOY = """
initiatedAt(rich(X)=true, T)  :- happensAt(win_lottery(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose_wallet(X), T).
initiatedAt(location(X)=Y, T) :- happensAt(go_to(X, Y), T).
happy(X)=true iff rich(X)=true or location(X)=pub.
happensAt(party(X), T) :- happensAt(go_to(X, pub), T), holdsAt(rich(X)=true, T).
"""

EVENTS = """go_to|9|9|chris|work
win_lottery|13|13|chris
go_to|17|17|chris|pub
lose_wallet|19|19|chris
go_to|21|21|chris|home
go_to|3|3|ann|pub"""


def toy(question: str, time: int | None = None) -> Explanation:
    return cernis.load(TOY).explain(EVENTS, question, time)


def lines(explanation: Explanation) -> list[str]:
    """The records that an explanation names."""
    return [record.text for record in explanation.records]


def test_a_simple_fluent_begins_goes_on_and_ends() -> None:
    explanation = toy("rich(chris)=true", 15)
    assert explanation.holds
    assert [reason.kind for reason in explanation.tree.reasons] == ["began", "kept", "ended"]
    assert lines(explanation) == ["win_lottery|13|13|chris", "lose_wallet|19|19|chris"]


def test_another_value_ends_a_simple_fluent() -> None:
    assert lines(toy("location(chris)=pub", 20)) == [
        "go_to|17|17|chris|pub",
        "go_to|21|21|chris|home",
    ]


def test_of_a_union_one_part_is_enough() -> None:
    assert lines(toy("happy(chris)=true", 15)) == ["win_lottery|13|13|chris"]
    assert lines(toy("happy(chris)=true", 21)) == ["go_to|17|17|chris|pub"]


def test_a_derived_event_names_what_happened_and_what_held() -> None:
    assert lines(toy("party(chris)", 17)) == ["win_lottery|13|13|chris", "go_to|17|17|chris|pub"]


def test_without_a_time_it_is_the_last_one() -> None:
    assert toy("happy(chris)").time == 21
    assert toy("party(chris)").time == 17


def test_why_not_says_what_is_missing_and_when_it_was_nearest() -> None:
    text = toy("rich(chris)=true", 12).text()
    assert "no win_lottery(chris) after 2 and before 12" in text
    assert "the nearest one is at 13" in text


def test_why_not_of_a_union_has_all_parts() -> None:
    explanation = toy("happy(chris)=true", 30)
    assert not explanation.holds
    assert "rich(chris)=true does not hold; the nearest interval is [14,20)" in explanation.text()


def test_why_not_of_an_event_has_the_condition_that_failed() -> None:
    text = toy("party(ann)", 3).text()
    assert "failed: rich(ann)=true does not hold" in text


def test_a_break_at_the_same_point_is_named() -> None:
    rules = "initiatedAt(f=a, T) :- happensAt(e, T). initiatedAt(f=b, T) :- happensAt(e, T)."
    text = cernis.load(rules).explain("e|1|1\n", "f=a", 2).text()
    assert "the rule fired at 1, but something broke it there" in text


def test_a_delayed_effect_names_the_initiation() -> None:
    rules = """
    initiatedAt(f(X)=a, T) :- happensAt(e(X), T).
    fi(f(X)=a, f(X)=b, 10).
    """
    explanation = cernis.load(rules).explain("e|1|1|x\ne|30|30|y\n", "f(x)=b", 20)
    assert "10 after f(x)=a was initiated at 1" in explanation.text()
    assert lines(explanation) == ["e|1|1|x"]


def test_a_duration_names_all_that_the_interval_is_made_of() -> None:
    rules = """
    initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
    terminatedAt(f(X)=true, T) :- happensAt(b(X), T).
    holdsFor(g(X)=true, I) :- holdsFor(f(X)=true, J), intDurGreater(J, 5, I).
    """
    text = cernis.load(rules).explain("a|1|1|x\nb|9|9|x\n", "g(x)=true", 8).text()
    assert "[2,10) is longer than 5" in text


def test_grounding_keeps_a_pair_out() -> None:
    rules = """
    initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
    grounding(f(X)=true) :- known(X).
    known(x).
    """
    text = cernis.load(rules).explain("a|1|1|y\n", "f(y)=true", 2).text()
    assert "no grounding allows f(y)=true" in text


def test_a_record_that_was_set_aside_is_named() -> None:
    program = cernis.load(TOY)
    text = program.explain(EVENTS + "\nwin_lottery|x|y|ann", "rich(ann)=true", 20).text()
    assert "set aside: win_lottery|x|y|ann" in text


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("hapy(chris)=true", "happy/1"),
        ("happy(X)=true", "has variables"),
        ("happy(chris", "is neither a pair, such as level"),
        ("partly(chris)", "party/1"),
    ],
)
def test_a_bad_question_is_a_clear_error(question: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        toy(question, 15)


def test_deep_reasons_are_folded() -> None:
    assert "more reasons below" in toy("happy(chris)=true", 15).text(1)


def test_json_has_the_whole_tree() -> None:
    tree = json.loads(toy("rich(chris)=true", 15).json())
    assert tree["holds"] is True
    assert tree["tree"]["reasons"][0]["reasons"][0]["record"] == "win_lottery|13|13|chris"


def test_a_tree_walks_all_its_reasons() -> None:
    tree = Reason("pair", "a", reasons=[Reason("note", "b"), Reason("note", "c")])
    assert [reason.text for reason in tree.walk()] == ["a", "b", "c"]


def test_only_records_of_the_entity_are_evaluated() -> None:
    program = cernis.load(TOY)
    question = read_question("happy(ann)=true", program.checked)
    near = reachable(program.plan, program.records(EVENTS), question)
    assert near.used == 1


def test_an_anonymous_variable_of_a_head_binds_no_other() -> None:
    """The events of `_` in a termination of all instances are those of all entities."""
    rules = """
    initiatedAt(on(X)=true, T) :- happensAt(press(X), T).
    terminatedAt(on(_)=true, T) :- happensAt(outage(_, Minutes), T), Minutes > 1.
    """
    explanation = cernis.load(rules).explain("press|1|1|a\noutage|5|5|north|30\n", "on(a)", 9)
    assert not explanation.holds
    explanation = cernis.load(rules).explain("press|1|1|a\noutage|5|5|north|30\n", "on(a)", 3)
    assert lines(explanation) == ["press|1|1|a", "outage|5|5|north|30"]


@pytest.mark.parametrize("value", ["red", "blue"])
def test_a_value_may_be_a_member_of_a_growing_domain(value: str) -> None:
    """What names the member is about another entity, and may be the value of an input fluent."""
    rules = """
    holdsFor(sign(X)=C, I) :- holdsFor(lamp(X)=C, I).
    grounding(sign(X)=C) :- colour(C).
    dynamicDomain(colour(_)).
    grounding(paint(_, C)) :- colour(C).
    grounding(wall(_)=C) :- colour(C).
    """
    events = f"paint|1|1|x|red\nwall|2|2|blue|y\nlamp|5|5|{value}|a\n"
    explanation = cernis.load(rules).explain(events, f"sign(a)={value}", 5)
    assert explanation.holds
    assert len(explanation.records) == 2


def test_a_rule_may_be_about_an_instance_of_which_there_is_nothing() -> None:
    """The colour of the lamp is bound by no interval; the complement is that of none."""
    rules = """
    holdsFor(dark(X)=true, I) :- holdsFor(room(X)=true, J), holdsFor(lamp(X, C)=on, K),
        relative_complement_all(J, [K], I).
    holdsFor(seen(X)=true, I) :- holdsFor(lamp(X, C)=on, K), holdsFor(room(X)=true, J),
        union_all([K, J], I).
    """
    events = "room|5|5|9|true|hall\n"
    for question in ("dark(hall)", "seen(hall)"):
        explanation = cernis.load(rules).explain(events, question, 6)
        assert explanation.holds
        assert "not explained yet" not in explanation.text()
        assert lines(explanation) == ["room|5|5|9|true|hall"]


def pairs(program: Program, text: tuple[str, ...], seed: int) -> list[tuple[str, int]]:
    """Some pairs that hold, each with a point of it; nested names are left out."""
    intervals = program.run(list(text)).intervals.to_pylist()
    rows = [row for row in intervals if "(" not in row["fluent"]]
    Random(seed).shuffle(rows)
    return [(_name(row), row["start"]) for row in rows[:3]]


def _name(row: dict[str, object]) -> str:
    args, held = row["args"], argument_text(field_value(str(row["value"])))
    assert isinstance(args, list)
    inside = ", ".join(argument_text(field_value(arg)) for arg in args)
    return f"{row['fluent']}({inside})={held}" if args else f"{row['fluent']}={held}"


@pytest.mark.parametrize("seed", range(60))
def test_what_holds_in_a_random_program_is_explained(seed: int) -> None:
    """The named records alone give the pair again, as do all that the question can reach."""
    scenario, program = next(iter(scenarios(seed, 1)))
    records = program.records(list(scenario.lines))
    summary = program.run(records).summary
    limits = RunLimits(start=summary.start, end=summary.end)
    for question, time in pairs(program, scenario.lines, seed):
        explanation = explain(program.plan, records, question, time, limits)
        assert explanation.holds, f"seed {seed}: {question} at {time}"
        numbers = {record.number for record in explanation.records}
        again = program.run(only(records, numbers), start=summary.start, end=summary.end)
        holding = {_name(row) for row in again.holds_at(time).to_pylist()}
        assert question in holding, f"seed {seed}: {question} at {time}"


@pytest.mark.parametrize("seed", range(1070, 1090))
def test_around_an_interval_an_explanation_says_what_a_run_says(seed: int) -> None:
    """Records of all that may break a pair are among those that are evaluated again."""
    scenario, program = next(iter(scenarios(seed, 1)))
    records = program.records(list(scenario.lines))
    result = program.run(records)
    limits = RunLimits(start=result.summary.start, end=result.summary.end)
    rows = [row for row in result.intervals.to_pylist() if "(" not in row["fluent"]]
    Random(seed).shuffle(rows)
    for row in rows[:3]:
        for time in (row["start"] - 1, row["end"]):
            if time is not None and limits.start <= time <= limits.end:
                holding = {_name(each) for each in result.holds_at(time).to_pylist()}
                explanation = explain(program.plan, records, _name(row), time, limits)
                context = f"seed {seed}: {_name(row)} at {time}"
                assert explanation.holds is (_name(row) in holding), context


def test_without_one_of_the_records_it_does_not_hold() -> None:
    program = cernis.load(TOY)
    records = program.records(EVENTS)
    explanation = program.explain(records, "party(chris)", 17)
    numbers = {record.number for record in explanation.records}
    for number in numbers:
        rest = only(records, numbers - {number})
        assert not program.explain(rest, "party(chris)", 17, start=2, end=21).holds


def test_missing_records_are_looked_for() -> None:
    others = [NamedRecord(f"e|{n}|{n}", "", (), None, n, n + 1, n) for n in range(1, 9)]
    missing = missing_records({0}, others, lambda numbers: {3, 5} <= numbers)
    assert missing is not None
    assert {each.number for each in missing} == {3, 5}
    assert missing_records({0}, others, lambda numbers: False) is None


LIMITS = """
initiatedAt(high(X)=true, T) :- happensAt(rate(X, R), T), limit(Most), R > Most.
terminatedAt(high(X)=true, T) :- happensAt(rate(X, R), T), R < 10.
limit(120).
"""


def test_the_smallest_change_of_a_fact_is_named() -> None:
    text = cernis.load(LIMITS).explain("rate|1|1|x|118\nrate|2|2|x|90\n", "high(x)", 3).text()
    assert "no R > 120 since 1; closest 118 at 1" in text
    assert "with limit(117) in place of limit(120), it would hold" in text


def test_a_change_that_does_not_help_is_not_named() -> None:
    rules = LIMITS + "terminatedAt(high(X)=true, T) :- happensAt(rate(X, R), T), R > 110."
    text = cernis.load(rules).explain("rate|1|1|x|118\n", "high(x)", 3).text()
    assert "it would hold" not in text


def test_what_a_complement_takes_away_is_the_reason() -> None:
    rules = TOY + "sad(X)=true iff location(X)=work, not rich(X)=true."
    text = cernis.load(rules).explain(EVENTS, "sad(chris)", 15).text()
    assert "location(chris)=work holds\n" in text
    assert "rich(chris)=true holds, and the rule takes it away" in text
    later = cernis.load(rules).explain(EVENTS, "sad(chris)", 30).text()
    assert "rich(chris)=true does not hold, as the rule asks" in later


def test_the_smallest_change_of_a_constant_in_a_rule_is_named() -> None:
    rules = "initiatedAt(high(X)=true, T) :- happensAt(rate(X, R), T), R > 120."
    text = cernis.load(rules).explain("rate|1|1|x|118\nrate|2|2|x|90\n", "high(x)", 3).text()
    assert "with R > 117 in place of R > 120, it would hold" in text


def test_the_smallest_move_of_a_record_is_named() -> None:
    rules = """
    initiatedAt(on(X)=true, T)  :- happensAt(press(X), T), holdsAt(power(X)=true, T).
    initiatedAt(power(X)=true, T) :- happensAt(plug(X), T).
    """
    text = cernis.load(rules).explain("press|4|4|x\nplug|5|5|x\n", "on(x)", 9).text()
    assert "with the record press|4|4|x at 6, it would hold" in text


def test_a_record_that_came_too_late_is_moved() -> None:
    text = cernis.load(TOY).explain(EVENTS, "rich(chris)=true", 12).text()
    assert "with the record win_lottery|13|13|chris at 11, it would hold" in text


def test_values_of_equal_size_and_other_form_are_told_apart() -> None:
    program = cernis.load("initiatedAt(level(X)=N, T) :- happensAt(sets(X, N), T).")
    events = "sets|1|1|a|1\nsets|5|5|a|1.0\nsets|9|9|a|2\n"
    whole, half = (program.explain(events, f"level(a)={each}") for each in ("1", "1.0"))
    assert (whole.tree.interval, lines(whole)[0]) == ((2, 6), "sets|1|1|a|1")
    assert (half.tree.interval, lines(half)[0]) == ((6, 10), "sets|5|5|a|1.0")
    session = program.session()
    session.insert(events)
    session.query(10)
    assert session.explain("level(a)=1").tree.interval == (2, 6)


def test_changes_of_fractions_have_few_digits() -> None:
    rules = LIMITS.replace("limit(120)", "limit(119.5)")
    text = cernis.load(rules).explain("rate|1|1|x|118.3712345\n", "high(x)", 3).text()
    assert "with limit(118.37) in place of limit(119.5), it would hold" in text
    rules = "initiatedAt(high(X)=true, T) :- happensAt(rate(X, R), T), R > 120.5."
    text = cernis.load(rules).explain("rate|1|1|x|118.5\n", "high(x)", 3).text()
    assert "with R > 118.4 in place of R > 120.5, it would hold" in text


def test_clocks_show_what_they_say() -> None:
    rules = """
    :- time(zone('Europe/Athens')).
    initiatedAt(night(X)=true, T) :- happensAt(rate(X, R), T), hour(T) >= 22, R > 100.
    """
    program = cernis.load(rules)
    events = (
        "rate|2026-03-02T23:10|2026-03-02T23:10|x|130\nrate|2026-03-02T12:10|2026-03-02T12:10|y|9"
    )
    text = program.explain(events, "night(x)").text()
    assert "23 (the hour of 2026-03-02T21:10:00Z in Europe/Athens) >= 22" in text
    later = program.explain(events, "night(y)").text()
    assert "no hour(T) >= 22 since 2026-03-02T10:10:00Z; closest 12" in later
    assert "hour(T) >= 22" in plan_text(program.plan)


def test_an_event_that_nothing_triggered_says_so_at_the_point() -> None:
    rules = """
    initiatedAt(power=on, T) :- happensAt(plug, T).
    happensAt(hum, T) :- happensAt(start(power=on), T), limit(high, L), L > 5.
    limit(high, 3).
    """
    program = cernis.load(rules)
    text = program.explain("plug|4|4\n", "hum", 7).text()
    assert "no start(power=on) at 7" in text
    assert "the nearest one is at 4" in text
    assert "failed: 3 > 5 is not true" in program.explain("plug|4|4\n", "hum", 4).text()
