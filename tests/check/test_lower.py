"""Clauses become definitions: one form for all spellings, and a word where there is none."""

import pytest

from cernis.check.model import (
    Boundary,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Consumption,
    DelayedEffect,
    Either,
    Event,
    Happens,
    Holds,
    HoldsFor,
    InputShape,
    IntervalOperation,
    NotEmpty,
    Pair,
    Relation,
    Unless,
    flatten,
)
from cernis.syntax import parse_term, show
from cernis.syntax.tree import Atom, Compound, Number, Term, Variable
from tests.check.checking import checked, errors, found, places, understood

PLAIN = "initiatedAt(f(X)=true, T) :- happensAt(e(X), T), p(X)."
FACTS = " p(a). q(a)."


def pair(text: str) -> Pair:
    """A pair without a place."""
    term = parse_term(text)
    assert isinstance(term, Compound)
    relation, args = flatten(term.args[0])
    return Pair(relation, args, term.args[1])


def event(text: str) -> Event:
    """An event without a place."""
    return Event(*flatten(parse_term(text)))


def goal(text: str) -> Condition:
    """A condition that no time enters."""
    return Condition(parse_term(text), False)


# -- simple fluents --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "initiatedAt(f(X)=true, T1, T, T2) :- happensAt(e(X), T), p(X).",
        "initiatedAt(f(X)=true, T1, T, T2) :- T1 =< T, happensAt(e(X), T), T < T2, p(X).",
        "initiates(e(X), f(X)=true, T) :- p(X).",
        "initiatedAt(f(X)=true, T) :- happensAt(e(X), T), true, p(X), !.",
    ],
)
def test_spellings_of_an_initiation(text: str) -> None:
    (rule,) = understood(text + FACTS).changes
    body = (Happens(event("e(X)"), False), goal("p(X)"))
    assert rule == ChangeRule(True, pair("f(X)=true"), "T", body)


@pytest.mark.parametrize(
    "text",
    [
        "terminatedAt(f(X)=true, T) :- happensAt(e(X), T).",
        "terminatedAt(f(X)=true, T1, T, T2) :- happensAt(e(X), T), T1 =< T, T < T2.",
        "terminates(e(X), f(X)=true, T).",
    ],
)
def test_spellings_of_a_termination(text: str) -> None:
    (rule,) = understood(text).changes
    body = (Happens(event("e(X)"), False),)
    assert rule == ChangeRule(False, pair("f(X)=true"), "T", body)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("happensAt(d(X), T)", Happens(event("d(X)"), False)),
        ("\\+ happensAt(d(X), T)", Happens(event("d(X)"), True)),
        ("not happensAt(d(X), T)", Happens(event("d(X)"), True)),
        ("holdsAt(g(X)=1, T)", Holds(pair("g(X)=1"), False)),
        ("not holdsAt(g(X)=1, T)", Holds(pair("g(X)=1"), True)),
        ("\\+ (holdsAt(g(X)=1, T))", Holds(pair("g(X)=1"), True)),
        ("happensAt(start(g(X)=1), T)", Boundary("start", pair("g(X)=1"), False)),
        ("\\+ happensAt(end(g(X)=1), T)", Boundary("end", pair("g(X)=1"), True)),
        ("happensAt(start(X), T)", Happens(event("start(X)"), False)),
        ("initiatedAt(g(X)=1, T)", Changes(True, pair("g(X)=1"), False)),
        ("not terminatedAt(g(X)=1, T)", Changes(False, pair("g(X)=1"), True)),
        ("initiatedAt(g(X)=1, A, T, B)", Changes(True, pair("g(X)=1"), False)),
        ("X > 3", goal("X > 3")),
        ("\\+ p(X)", Condition(parse_term("p(X)"), True)),
        ("(p(X) ; q(X))", goal("(p(X) ; q(X))")),
        (
            "(happensAt(d(X), T) ; holdsAt(g(X)=1, T), p(X))",
            Either(
                (
                    (Happens(event("d(X)"), False),),
                    (Holds(pair("g(X)=1"), False), goal("p(X)")),
                )
            ),
        ),
        (
            "\\+ (holdsAt(g(X)=1, T), p(X))",
            Unless((Holds(pair("g(X)=1"), False), goal("p(X)"))),
        ),
        (
            "\\+ \\+ holdsAt(g(X)=1, T)",
            Unless((Holds(pair("g(X)=1"), True),)),
        ),
        (
            "findall(Y, holdsAt(g(Y)=1, T), _L)",
            Collect("findall", Variable("Y"), (Holds(pair("g(Y)=1"), False),), Variable("_L")),
        ),
        (
            "aggregate_all(sum(Y), holdsAt(g(Y)=1, T), _S)",
            Collect("sum", Variable("Y"), (Holds(pair("g(Y)=1"), False),), Variable("_S")),
        ),
    ],
)
def test_literals_of_bodies(text: str, literal: object) -> None:
    rules = f"initiatedAt(f(X)=true, T) :- happensAt(e(X), T), {text}."
    more = "initiatedAt(g(X)=1, T) :- happensAt(e(X), T). terminates(z(X), g(X)=1, T)."
    first = understood(f"{rules} {more} {FACTS}").changes[0]
    assert first.body[1] == literal


def test_events_are_defined_like_initiations() -> None:
    (rule,) = understood("happensAt(d(X), T) :- happensAt(e(X), T), \\+ holdsAt(g=1, T).").events
    assert rule.event == event("d(X)")
    assert rule.body == (Happens(event("e(X)"), False), Holds(pair("g=1"), True))


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("rich", "rich/0", []),
        ("location(X)", "location/1", ["X"]),
        ("obl(pay(C, M))", "obl(pay(_,_))/2", ["C", "M"]),
        ("obl(send_EPO(C, iServer, GD))", "obl(send_EPO(_,_,_))/3", ["C", "iServer", "GD"]),
        ("pow(vote(V, M), 3)", "pow(vote(_,_),_)/3", ["V", "M", "3"]),
        ("f(g(h(X)), [a])", "f(g(h(_)),_)/2", ["X", "[a]"]),
        ("f(X + 1)", "f/1", ["X + 1"]),
    ],
)
def test_nested_names_are_part_of_the_relation(text: str, name: str, args: list[str]) -> None:
    relation, flat = flatten(parse_term(text))
    assert str(relation) == name
    assert [show(arg) for arg in flat] == args


# -- statically determined fluents -------------------------------------------------------------


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (
            "f(X)=true iff a(X)=1 or b(X)=2.",
            "holdsFor(f(X)=true, I3) :- holdsFor(a(X)=1, I1), holdsFor(b(X)=2, I2), "
            "union_all([I1, I2], I3).",
        ),
        (
            "f(X)=true iff a(X)=1, b(X)=2.",
            "holdsFor(f(X)=true, I3) :- holdsFor(a(X)=1, I1), holdsFor(b(X)=2, I2), "
            "intersect_all([I1, I2], I3).",
        ),
        (
            "f(X)=true iff a(X)=1 and not b(X)=2.",
            "holdsFor(f(X)=true, I3) :- holdsFor(a(X)=1, I1), holdsFor(b(X)=2, I2), "
            "relative_complement_all(I1, [I2], I3).",
        ),
        (
            "f(X)=true iff not b(X)=2.",
            "holdsFor(f(X)=true, I2) :- holdsFor(b(X)=2, I1), complement_all([I1], I2).",
        ),
        (
            "f(X)=true iff (a(X)=1 or b(X)=1), (a(X)=2 or b(X)=2), not c(X)=3.",
            "holdsFor(f(X)=true, I9) :- holdsFor(a(X)=1, I1), holdsFor(b(X)=1, I2), "
            "union_all([I1, I2], I3), holdsFor(a(X)=2, I4), holdsFor(b(X)=2, I5), "
            "union_all([I4, I5], I6), holdsFor(c(X)=3, I7), intersect_all([I3, I6], I8), "
            "relative_complement_all(I8, [I7], I9).",
        ),
        (
            "f(X)=true iff a(X)=1, not (b(X)=2 or c(X)=3).",
            "holdsFor(f(X)=true, I5) :- holdsFor(a(X)=1, I1), holdsFor(b(X)=2, I2), "
            "holdsFor(c(X)=3, I3), union_all([I2, I3], I4), relative_complement_all(I1, [I4], I5).",
        ),
        (
            "f(X)=true iff a(X)=1, not not b(X)=2.",
            "holdsFor(f(X)=true, I4) :- holdsFor(a(X)=1, I1), holdsFor(b(X)=2, I2), "
            "complement_all([I2], I3), relative_complement_all(I1, [I3], I4).",
        ),
        ("f(X)=true iff a(X)=1.", "holdsFor(f(X)=true, I1) :- holdsFor(a(X)=1, I1)."),
        (
            "f(X)=true iff a(X)=1, p(X), not q(X).",
            "holdsFor(f(X)=true, I1) :- holdsFor(a(X)=1, I1), p(X), \\+ q(X).",
        ),
        (
            "f(X)=true iff a(X)=1, not (p(X), q(X)).",
            "holdsFor(f(X)=true, I1) :- holdsFor(a(X)=1, I1), \\+ (p(X), q(X)).",
        ),
    ],
)
def test_iff_is_short_for_operations_on_intervals(short: str, long: str) -> None:
    assert understood(short + FACTS).statics == understood(long + FACTS).statics


@pytest.mark.parametrize(
    "body",
    [
        "p(X) or a(X)=1",
        "(a(X)=1, p(X)) or b(X)=1",
        "a(X)=1, not (b(X)=1, p(X))",
        "p(X)",
        "not p(X)",
    ],
)
def test_conditions_in_an_iff_concern_the_whole_of_it(body: str) -> None:
    assert errors(f"f(X)=true iff {body}. {FACTS}") == {"C061"}


def test_iff_has_no_further_body() -> None:
    assert errors("f=true iff a=1 :- p(b). p(b).") == {"C062"}


@pytest.mark.parametrize(
    "goal_", ["I1 \\= []", "[] \\= I1", "\\+ I1 = []", "not I1 = []", "I1 \\== []", "\\+ I1 == []"]
)
def test_spellings_of_not_empty(goal_: str) -> None:
    (rule,) = understood(
        f"holdsFor(f=1, I) :- holdsFor(a=1, I1), {goal_}, !, union_all([I1], I). holdsFor(f=1, [])."
    ).statics
    assert rule.body == (
        HoldsFor(pair("a=1"), "I1"),
        NotEmpty("I1"),
        IntervalOperation("union_all", ("I1",), "I"),
    )


def test_spellings_of_allen_relations() -> None:
    rules = "holdsFor(f=1, I) :- holdsFor(a=1, A), holdsFor(b=1, B), {}."
    one, other = (
        understood(rules.format(text)).statics
        for text in ("allen(before, A, B, source, I)", "before(A, B, source, I)")
    )
    assert one == other
    operation = IntervalOperation("allen", ("A", "B"), "I", (Atom("before"), Atom("source")))
    assert one[0].body[-1] == operation


def test_a_second_name_for_intervals() -> None:
    (rule,) = understood("holdsFor(f=1, I) :- holdsFor(a=1, J), I = J.").statics
    assert rule.body == (HoldsFor(pair("a=1"), "J"),)
    assert rule.output == "J"


def test_parameters_of_duration_filters() -> None:
    (rule,) = understood(
        "holdsFor(f=1, I) :- holdsFor(a=1, J), limit(D), intDurGreater(J, D, I). limit(3)."
    ).statics
    assert rule.body[-1] == IntervalOperation("intDurGreater", ("J",), "I", (Variable("D"),))


# -- delayed effects, what holds initially, declarations ----------------------------------------


def test_delayed_effects() -> None:
    rules = (
        "initiatedAt(f(X)=a, T) :- happensAt(e(X), T). fi(f(X)=a, f(X)=b, 10). ft(f(X)=b, R) :- "
        "limit(R). p(f(X)=a). limit(3)."
    )
    result = understood(rules)
    assert result.effects == [
        DelayedEffect(pair("f(X)=a"), pair("f(X)=b"), Number(10)),
        DelayedEffect(pair("f(X)=b"), None, Variable("R"), (parse_term("limit(R)"),)),
    ]
    assert [postponable.pair for postponable in result.postponables] == [pair("f(X)=a")]


def test_older_names_of_delayed_effects() -> None:
    initiation = "initiatedAt(f=a, T) :- happensAt(e, T). "
    newer = understood(f"{initiation} fi(f=a, f=b, 10). p(f=a).")
    older = understood(f"{initiation} maxDurationUE(f=a, f=b, 10).")
    assert newer.effects == older.effects
    assert newer.postponables == older.postponables
    assert understood(f"{initiation} maxDuration(f=a, f=b, 10).").effects == newer.effects


def test_names_of_declarations_may_be_anybodys() -> None:
    result = understood(
        "initiatedAt(f(X)=1, T) :- happensAt(e(X), T), p(X). p(a). ft(a, b). fi(a)."
    )
    assert not result.effects
    assert not result.postponables


def test_initially() -> None:
    (certain, uncertain) = understood(
        "initially(f=1). 0.3::initially(g(X)=1) :- p(X). p(a)."
    ).initials
    assert (certain.pair, certain.goals, certain.probability) == (pair("f=1"), (), None)
    assert uncertain.goals == (parse_term("p(X)"),)
    assert uncertain.probability == 0.3


def test_declarations() -> None:
    result = understood(
        "collectIntervals(a(_)=true). buildFromPoints(b(_)=true). points(c=_). "
        "buildFromPoints(_) :- fail. collectIntervals2(X, d(X)=true). dynamicDomain(id(_)). "
        "inputEntity(e(_)). grounding(e(X)) :- id(X). index(e(X), X). needsGrounding(_, _, _) :- "
        "fail. cachingOrder2(X, a(X)=true). simpleFluent(a(_)=true). outputEntity(a(_)=true)."
    )
    assert result.shapes == {
        Relation("a", 1): InputShape.INTERVALS,
        Relation("b", 1): InputShape.POINTS,
        Relation("c", 0): InputShape.POINTS,
        Relation("d", 1): InputShape.INTERVALS,
    }
    assert [relation for relation, _ in result.domains] == [Relation("id", 1)]
    assert set(result.declared_events) == {Relation("e", 1)}
    assert [grounding.entity for grounding in result.groundings] == [event("e(X)")]


def test_directives() -> None:
    result = understood(
        ":- tick(40). :- ties(initiation). :- consumption(recent). :- dynamic p/1, q/2. "
        ":- consumption(e/1, chronological). :- event([e(text), go(x:integer, _)]). "
        ":- fluent(k(text)=_). :- discontiguous initiatedAt/2. :- use_module(library(lists))."
    )
    assert result.settings.tick == 40
    assert result.settings.ties == "initiation"
    assert result.settings.consumption == Consumption("recent")
    assert result.settings.consumption_of == (("e/1", Consumption("chronological")),)
    assert result.dynamic == {Relation("p", 1), Relation("q", 2)}
    assert set(result.declared_events) == {Relation("e", 1), Relation("go", 2)}
    assert set(result.declared_fluents) == {Relation("k", 1)}


def test_settings_that_were_not_made() -> None:
    settings = understood("").settings
    assert (settings.tick, settings.ties) == (1, "break")
    assert str(settings.consumption) == "unrestricted"


@pytest.mark.parametrize("policy", ["recent", "chronological(longer)", "recent(greatest(Vol))"])
def test_a_policy_and_what_it_prefers(policy: str) -> None:
    result = understood(f":- consumption({policy}). e(X) <- a(X, Vol) seq b(X) within 5.")
    assert str(result.settings.consumption) == policy


@pytest.mark.parametrize(
    ("directive", "told"),
    [
        ("consumption(recent(largest))", "largest is nothing to prefer matches by"),
        ("consumption(unrestricted(longer))", "unrestricted(longer) is not one of"),
        ("consumption(recent(greatest(vol)))", "greatest(vol) names no variable of a pattern"),
        ("consumption(recent(greatest(Size)))", "no pattern has a variable Size"),
        ("consumption(e/1, recent(least(W)))", "no pattern of e/1 has a variable W"),
    ],
)
def test_preferences_that_mean_nothing(directive: str, told: str) -> None:
    text = f":- {directive}. e(X) <- a(X, Vol) seq b(X) within 5. f(W) <- c(W)."
    assert errors(text) == {"C064"}
    assert told in found(text, "C064")[0].message


def test_definitions_of_what_is_built_in_are_noted() -> None:
    text = "intDurGreater([], _, []). intDurGreater([_|R], D, L) :- intDurGreater(R, D, L)."
    (note,) = found(text, "C046")
    assert note.severity == "note"
    assert not errors(text)


# -- what cannot be understood -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("initiatedAt(f, T) :- happensAt(e, T).", "C062", "f"),
        ("initiatedAt(X=1, T) :- happensAt(e, T).", "C062", "X"),
        ("initiatedAt(f=1, 3) :- happensAt(e, 3).", "C062", "3"),
        ("initiatedAt(f=1, T) :- happensAt(X, T).", "C062", "X"),
        ("initiatedAt(f=1, T) :- happensAt(e, T), holdsAt(g, T).", "C062", "g"),
        ("happensAt(g=1, T) :- happensAt(e, T).", "C062", "g=1"),
        ("holdsAt(f=1, T) :- happensAt(e, T).", "C062", "holdsAt(f=1, T)"),
        ("initiatedAt(f=1).", "C062", "initiatedAt(f=1)"),
        ("holdsFor(f=1, [I]) :- holdsFor(g=1, I).", "C062", "[I]"),
        ("grounding(X) :- p(X). p(a).", "C062", "X"),
        ("initially(f).", "C062", "f"),
        ("initiatedAt(f=1, T) :- happensAt(e, T), holdsAt(g=1, T2).", "C033", "T2"),
        ("initiatedAt(f=1, T) :- happensAt(e, 5).", "C033", "5"),
        ("initiatedAt(f=1, T) :- happensAt(e, T), happensAt(d, T0), T0 < T.", "C033", "T0"),
        ("initiatedAt(f=1, T).", "C034", "initiatedAt(f=1, T)"),
        ("initiatedAt(f=1, T) :- \\+ happensAt(e, T).", "C034", "\\+ happensAt(e, T)"),
        ("initiatedAt(f=1, T) :- holdsAt(g=1, T).", "C034", "holdsAt(g=1, T)"),
        ("initiatedAt(f=1, T) :- (happensAt(e, T) ; holdsAt(g=1, T)).", "C034", "happensAt(e, T)"),
        ("fi(f=a, g=b, 3).", "C044", "g=b"),
        ("fi(f(X)=a, f(Y)=b, 3).", "C044", "f(Y)=b"),
        ("fi(f=a, f=a, 3).", "C044", "f=a"),
        ("initiatedAt(f=1, T) :- happensAt(e, T), holdsFor(g=1, I).", "C060", "holdsFor(g=1, I)"),
        ("initiatedAt(f=1, T) :- happensAt(e, T), p(holdsAt(g=1, T)).", "C060",
         "p(holdsAt(g=1, T))"),
        ("holdsFor(f=1, I) :- holdsFor(g=1, I), happensAt(e, T).", "C060", "happensAt(e, T)"),
        ("p(X) :- holdsAt(f(X)=1, T).", "C060", "p(X)"),
        ("p(X) :- holdsFor(f(X)=1, I), intDurGreater(I, 3, J).", "C060", "p(X)"),
        ("holdsFor(f=1, I) :- holdsFor(g=1, J).", "C061", "I"),
        ("holdsFor(f=1, I) :- union_all([J], I).", "C061", "J"),
        ("holdsFor(f=1, I) :- union_all(J, I).", "C061", "J"),
        ("holdsFor(f=1, I) :- holdsFor(g=1, I), holdsFor(h=1, I).", "C061", "I"),
        ("holdsFor(f=1, I) :- holdsFor(g=1, J), befor(J, J, source, I).", "C061", "J"),
        ("holdsFor(f=1, I) :- holdsFor(g=1, J), allen(befor, J, J, source, I).", "C061", "befor"),
        ("holdsFor(f=1, I) :- holdsFor(g=1, J), before(J, J, sauce, I).", "C061", "sauce"),
        (":- event(e(text, number, strange)).", "C063", "strange"),
        (":- tick(0).", "C064", "0"),
        (":- tick(1.5).", "C064", "1.5"),
        (":- ties(brake).", "C064", "brake"),
        (":- consumption(e/0, never).", "C064", "never"),
        (":- table(X, 'f.csv').", "C064", "table(X, 'f.csv')"),
        (":- table(p(_), 'no such file.csv').", "C007", "'no such file.csv'"),
        (f":- table(p(_), '{'x' * 300}').", "C007", f"'{'x' * 300}'"),
        (":- table(p(_), 'a\\0b').", "C007", "'a\\0b'"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood(text: str, code: str, at: str) -> None:
    assert code in errors(text)
    assert at in places(text, code)


@pytest.mark.parametrize("text", [":- dynamic p/1e999.", ":- dynamic p/q, [X].", ":- dynamic -3."])
def test_strange_arities_are_passed_over(text: str) -> None:
    assert understood(text).dynamic == set()


def test_an_unknown_directive_is_a_warning() -> None:
    (warning,) = found(":- consumtion(recent).", "C009")
    assert not warning.is_error
    assert "`consumption`" in warning.help


def test_one_bad_clause_leaves_the_others() -> None:
    text = "initiatedAt(f, T) :- happensAt(e, T). initiatedAt(g=1, T) :- happensAt(e, T)."
    (rule,) = checked(text).definitions.changes
    assert rule.pair == pair("g=1")


def test_terms_keep_their_kind() -> None:
    value: Term = understood("initially(f(\"a b\")='a b').").initials[0].pair.value
    assert value == Atom("a b")


@pytest.mark.parametrize(
    ("rule", "help_"),
    [
        ("initiatedAt(f(X)=1, T) :- happensAt(a(X), T0), happensAt(b(X), T), T0 < T.",
         "both(X) <- a(X) seq b(X)"),
        ("initiatedAt(f=1, T) :- happensAt(b, T), happensAt(a, T0), T > T0 + 3.",
         "both <- a seq b"),
        ("initiatedAt(f=1, T) :- happensAt(b, T), holdsAt(g=2, T0), T0 =< T.", "start(g=2)"),
        ("initiatedAt(f=1, T) :- happensAt(b, T), happensAt(a, T0), T < T0.",
         "write the rule for T0"),
    ],
)  # fmt: skip
def test_two_times_with_a_comparison_say_how_to_write_it(rule: str, help_: str) -> None:
    (told,) = [each for each in checked(rule).diagnostics if each.code == "C033"]
    assert told.help is not None
    assert help_ in told.help
