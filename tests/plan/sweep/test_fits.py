"""What fits a lane, and the reasons why other definitions do not."""

from __future__ import annotations

import pytest

import cernis
from cernis.plan.sweep.lanes import FiredKind, Lane, LaneOp, StateKind, SweepWay

GOING = "initiatedAt(at(P)=X, T) :- happensAt(go(P, X), T).\n"
MANY = "".join(f"p(a, x{number}). " for number in range(9))
LAMP = """
initiatedAt(lit(L)=on, T) :- happensAt(switch(L), T), \\+ holdsAt(lit(L)=on, T).
terminatedAt(lit(L)=on, T) :- happensAt(switch(L), T), holdsAt(lit(L)=on, T).
"""


def verdicts(text: str) -> dict[str, tuple[str, str]]:
    """By relation: how it is evaluated, and why."""
    plans = cernis.load(text).plan.sweep
    return {
        str(verdict.relation): (str(verdict.way), verdict.reason)
        for swept in plans
        for verdict in swept.verdicts
    }


def only_lane(text: str) -> Lane:
    """The lane of a program that has one."""
    (lane,) = (lane for swept in cernis.load(text).plan.sweep for lane in swept.lanes)
    return lane


def reason(text: str, relation: str) -> str:
    """Why a definition is not in a lane."""
    way, why = verdicts(text)[relation]
    assert way == SweepWay.COLUMNS
    return why


def test_a_simple_fluent_is_rows_and_a_commit() -> None:
    lane = only_lane(LAMP)
    assert [bit.kind for bit in lane.state] == [StateKind.PAIR]
    assert [bit.kind for bit in lane.fired] == [FiredKind.RECORD]
    assert [row.masks for row in lane.rows] == [
        (LaneOp.RULE, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0),
        (LaneOp.RULE, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0),
        (LaneOp.COMMIT, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0),
    ]
    assert lane.reported == 1


def test_what_starts_is_read_after_it_is_decided() -> None:
    text = LAMP + "happensAt(glow(L), T) :- happensAt(start(lit(L)=on), T)."
    lane = only_lane(text)
    assert [row.op for row in lane.rows] == [*[LaneOp.RULE] * 2, LaneOp.COMMIT, LaneOp.RULE]
    assert lane.rows[-1].starts == 1
    assert lane.fired[lane.rows[-1].signal.bit_length() - 1].word == "event"
    assert lane.reported_signals == lane.rows[-1].signal


def test_facts_about_the_key_are_bits_where_no_record_is() -> None:
    text = (
        LAMP
        + """
        initiatedAt(bright(L)=true, T) :- happensAt(start(lit(L)=on), T), strong(L).
        terminatedAt(bright(L)=true, T) :- happensAt(end(lit(L)=on), T).
        strong(a). strong(b).
    """
    )
    lane = only_lane(text)
    facts = [bit for bit in lane.state if bit.kind is StateKind.FACT]
    assert [bit.variables for bit in facts] == [("L",)]
    assert not lane.reported >> lane.state.index(facts[0]) & 1


def test_a_delay_has_a_timer_for_its_source() -> None:
    lane = only_lane(LAMP + "fi(lit(L)=on, lit(L)=off, R) :- lasts(R). p(lit(_)=on). lasts(7).")
    (delay,) = lane.delays
    assert (delay.delay, delay.postponable, delay.until_due) == (7, True, False)
    assert lane.state[delay.armed].kind is StateKind.ARMED
    assert lane.fired[delay.due].kind is FiredKind.DUE


def test_a_family_of_few_constants_is_unrolled() -> None:
    text = """
        initiatedAt(near(V, Kind)=true, T) :- happensAt(enters(V, A), T), kind(A, Kind).
        terminatedAt(near(V, _)=true, T) :- happensAt(gone(V), T).
        kind(p1, port). kind(p2, port). kind(c1, coast).
    """
    lane = only_lane(text)
    names = [str(bit.arguments[1]) for bit in lane.state]
    assert sorted(names) == ["Atom(name='coast')", "Atom(name='port')"]
    commits = [row.init for row in lane.rows if row.op is LaneOp.COMMIT]
    assert sorted(commits) == [1, 2]


def test_two_events_at_a_point_are_all_asked_for() -> None:
    lane = only_lane("""
        initiatedAt(f(X)=true, T) :- happensAt(a(X), T), happensAt(b(X), T), \\+ happensAt(c(X), T).
    """)
    rule = lane.rows[0]
    assert (rule.any | rule.all | rule.none).bit_count() == 3
    assert rule.none.bit_count() == 1


def test_causal_static_fluents_are_terms() -> None:
    lane = only_lane("""
        initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
        initiatedAt(g(X)=true, T) :- happensAt(b(X), T).
        h(X)=true iff f(X)=true, not g(X)=true.
    """)
    term, derive = lane.rows[-2:]
    assert (term.op, derive.op) == (LaneOp.TERM, LaneOp.DERIVE)
    assert (term.pos, term.neg) == (1, 2)


@pytest.mark.parametrize(
    ("text", "relation", "why"),
    [
        (GOING + "fi(at(P)=a, at(P)=b, 5).", "at/1", "delayed effects of a value that may be any"),
        (
            GOING
            + "grounding(at(P)=X) :- p(P, X).\ngrounding(at(P)=X) :- q(P, X).\nq(a, b).\n"
            + MANY,
            "at/1",
            "several groundings of a value",
        ),
        (":- ties(initiation).\n" + GOING, "at/1", "needs a register for its open value, X"),
        (
            GOING
            + "initiatedAt(f(P)=u, T) :- happensAt(a(P), T), holdsAt(at(P)=X, T), place(P, X)."
            "\nplace(p, x).",
            "f/1",
            "asks of an open value what no comparison says",
        ),
        (
            GOING + "initiatedAt(f(P)=u, T) :- happensAt(start(at(P)=_), T).",
            "f/1",
            "with whatever value it has",
        ),
        (
            "initiatedAt(f(X)=true, T) :- happensAt(a(X, N), T), happensAt(b(X, M), T), N < M.",
            "f/1",
            "joins two records",
        ),
        (
            "initiatedAt(f(X)=true, T) :- happensAt(a(X), T), \\+ happensAt(b(X, Y), T), g(X, Y). "
            + " ".join(f"g(x{number % 5}, y{number})." for number in range(40)),
            "f/1",
            "compares Y, which takes any value",
        ),
        (
            "initiatedAt(f(X)=N, T) :- happensAt(a(X), T), "
            "aggregate_all(count, happensAt(b(X, _), T), N).",
            "f/1",
            "counts or collects",
        ),
        (
            "initiatedAt(f(X)=V, T) :- happensAt(start(given(X)=V), T).",
            "f/1",
            "whose intervals are input, with any value",
        ),
        (
            "initiatedAt(f(X)=true, T) :- initiatedAt(given(X)=true, T).",
            "f/1",
            "asks what changes given/1, whose intervals are input",
        ),
        (
            "initiatedAt(f(X)=true, T) :- happensAt(start(both(X)=true), T). "
            "holdsFor(both(X)=true, I) :- holdsFor(given(X)=true, A), holdsFor(given(X)=false, B), "
            "intersect_all([A, B], I).",
            "f/1",
            "reads both/1, which is a list",
        ),
        (
            "initiatedAt(f(X)=true, T) :- happensAt(a(X), T). fi(f(X)=true, f(X)=false, R) :- "
            "slow(X, R). slow(u, 3). slow(v, 4).",
            "f/1",
            "differ from key to key",
        ),
        ("e(X) <- a(X) seq b(X) within 5.", "e/1", "pattern"),
    ],
)
def test_reasons(text: str, relation: str, why: str) -> None:
    assert why in reason(text, relation)


def test_what_reads_columns_stays_with_columns() -> None:
    text = """
        initiatedAt(at(P)=X, T) :- happensAt(go(P, X), T).
        fi(at(P)=home, at(P)=bed, 60).
        initiatedAt(home(P)=true, T) :- happensAt(ring(P), T), holdsAt(at(P)=home, T).
        initiatedAt(rung(P)=true, T) :- happensAt(ring(P), T).
    """
    ways = {name: way for name, (way, _) in verdicts(text).items()}
    assert ways == {"at/1": "columns", "home/1": "columns", "rung/1": "lane"}


def test_only_definitions_that_read_a_common_event_share_a_lane() -> None:
    rule = "initiatedAt(f(X)=u, T) :- happensAt(a(X), T).\n"
    apart = cernis.load(rule + "initiatedAt(g(X)=u, T) :- happensAt(b(X), T).").plan.sweep
    assert sorted(len(lane.definitions) for swept in apart for lane in swept.lanes) == [1, 1]
    assert len(only_lane(rule + "initiatedAt(g(X)=u, T) :- happensAt(a(X), T).").definitions) == 2


def test_what_is_terminated_need_never_be_initiated() -> None:
    lane = only_lane("""
        terminatedAt(f(X, green)=_, T) :- happensAt(e(X), T).
        initiatedAt(f(X, red)=u, T) :- happensAt(e(X), T).
        initiatedAt(g(X)=v, T) :- terminatedAt(f(X, _)=w, T).
    """)
    rules = [row for row in lane.rows if row.op is LaneOp.RULE]
    assert sorted(row.init.bit_count() for row in rules) == [1, 1]
    assert rules[0].any & rules[1].any


def test_a_long_chain_is_cut_where_a_word_is_full() -> None:
    rules = ["initiatedAt(f0(X)=true, T) :- happensAt(e(X), T)."]
    for number in range(1, 80):
        trigger = f"happensAt(start(f{number - 1}(X)=true), T)"
        rules.append(f"initiatedAt(f{number}(X)=true, T) :- {trigger}.")
    decided = verdicts("\n".join(rules))
    in_lane = [name for name, (way, _) in decided.items() if way == "lane"]
    assert in_lane == [f"f{number}/1" for number in range(64)]
    assert decided["f64/1"][1] == "needs more bits than a word has"
    assert "f64/1" in decided["f65/1"][1] or "more bits" in decided["f65/1"][1]


def test_a_definition_may_ask_for_its_own_initiations() -> None:
    lane = only_lane("""
        initiatedAt(f(X)=a, T) :- happensAt(e(X), T).
        initiatedAt(g(X)=a, T) :- initiatedAt(f(X)=a, T).
        initiatedAt(f(X)=b, T) :- initiatedAt(g(X)=a, T), happensAt(d(X), T).
    """)
    assert len(list(lane.blocks)) == 2


@pytest.mark.filterwarnings("ignore::cernis.ProgramWarning")
def test_what_is_both_an_event_and_a_fluent_stays_with_columns() -> None:
    text = """
    busy(X)=yes iff on(X)=high or on(X)=low.
    initiatedAt(on(X)=V, T) :- happensAt(switch(X, V), T), level(V).
    initiatedAt(noted(X)=yes, T) :- happensAt(busy(X), T).
    level(high). level(low).
    """
    assert reason(text, "noted/1") == "has to do with busy/1, an event and a fluent"
    assert reason(text, "busy/1") == "has to do with busy/1, an event and a fluent"
    assert verdicts(text)["on/1"][0] == SweepWay.LANE
    lines = "switch|1|1|a|high\nbusy|5|5|a\nbusy|6|6|b\n"
    assert cernis.load(text).run(lines).text() == (
        "holdsFor(busy(a)=yes, [(2,inf)]).\n"
        "holdsFor(noted(a)=yes, [(6,inf)]).\n"
        "holdsFor(noted(b)=yes, [(7,inf)]).\n"
        "holdsFor(on(a)=high, [(2,inf)]).\n"
    )
