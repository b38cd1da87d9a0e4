"""Names: unknown and misspelt ones, clashing arities and kinds, definitions nothing needs."""

import pytest

from cernis.check.model import FluentKind, Relation
from tests.check.checking import checked, codes, errors, found, places

RULE = "initiatedAt(f(X)=true, T) :- happensAt(enters(X), T). "


# -- events and fluents ------------------------------------------------------------------------


def test_without_declarations_what_nothing_defines_is_input() -> None:
    result = checked(RULE + "initiatedAt(g(X)=1, T) :- happensAt(e(X), T), holdsAt(in(X)=1, T).")
    assert not result.diagnostics
    assert result.catalogue.events[Relation("enters", 1)].is_input
    assert result.catalogue.fluents[Relation("in", 1)].kind is FluentKind.INPUT


def test_with_declarations_an_unknown_event_is_an_error() -> None:
    text = ":- event(leaves(_)). " + RULE
    assert places(text, "C020") == ["enters(X)"]
    assert errors(text) == {"C020"}
    assert "declare it" in found(text, "C020")[0].help


def test_with_declarations_an_unknown_fluent_is_an_error() -> None:
    text = f":- fluent(near(_, _)=_). {RULE} g(X)=true iff f(X)=true, far(X)=1."
    assert places(text, "C020") == ["far(X)=1"]


@pytest.mark.parametrize(
    "declaration",
    [
        ":- event(enters(_)).",
        "inputEntity(enters(_)).",
        "event(enters(_)).",
        "grounding(enters(X)) :- p(X). p(a).",
    ],
)
def test_a_misspelt_event_is_found_by_the_names_there_are(declaration: str) -> None:
    text = declaration + " initiatedAt(f(X)=true, T) :- happensAt(entres(X), T)."
    (error,) = found(text, "C020")
    assert error.is_error
    assert "`enters`" in error.help


def test_a_name_very_near_to_another_is_worth_a_word() -> None:
    text = RULE + RULE + "terminatedAt(f(X)=true, T) :- happensAt(entres(X), T)."
    (warning,) = found(text, "C021")
    assert not warning.is_error
    assert "`enters`" in warning.help


def test_names_of_rules_are_known() -> None:
    text = (
        ":- event(e(_)). happensAt(d(X), T) :- happensAt(e(X), T). c(X) <- d(X) seq e(X) within 5. "
        "initiatedAt(f(X)=1, T) :- happensAt(c(X), T), holdsAt(g(X)=1, T). g(X)=1 iff f(X)=1."
    )
    assert "C020" not in codes(text)


# -- arities -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (
            f":- event(enters(_)). {RULE} terminatedAt(f(_)=true, T) :- happensAt(enters, T).",
            "enters",
        ),
        (
            RULE + "initiatedAt(g=1, T) :- happensAt(e, T), holdsAt(f(_, _)=true, T).",
            "f(_, _)=true",
        ),
        (RULE + "initiatedAt(g=1, T) :- happensAt(start(f=true), T).", "f=true"),
        ("happensAt(d(X), T) :- happensAt(e(X), T). initiatedAt(f=1, T) :- happensAt(d, T).", "d"),
        (RULE + "initiatedAt(g(X)=1, T) :- happensAt(enters(X), T), p(X). p(a, b).", "p(X)"),
    ],
)
def test_a_known_name_with_another_number_of_arguments(text: str, at: str) -> None:
    assert errors(text) == {"C023"}
    assert places(text, "C023") == [at]


def test_both_arities_may_be_defined() -> None:
    text = (
        "initiatedAt(f(X)=1, T) :- happensAt(e(X), T). initiatedAt(f(X, Y)=1, T) :- "
        "happensAt(d(X, Y), T). initiatedAt(g=1, T) :- happensAt(b(X, Y), T), holdsAt(f(X)=1, T), "
        "holdsAt(f(X, Y)=1, T)."
    )
    assert not errors(text)


def test_nested_names_are_names_of_their_own() -> None:
    text = (
        "initiatedAt(obl(pay(C))=1, T) :- happensAt(e(C), T). "
        "initiatedAt(obl(send(C, D))=1, T) :- happensAt(d(C, D), T), holdsAt(obl(pay(C))=1, T)."
    )
    assert not codes(text)


# -- kinds ---------------------------------------------------------------------------------------


def test_a_fluent_is_defined_by_events_or_by_intervals() -> None:
    text = RULE + "holdsFor(f(X)=true, I) :- holdsFor(g(X)=1, I)."
    assert errors(text) == {"C040"}
    (error,) = found(text, "C040")
    assert [note.message for note in error.notes] == ["it is a simple fluent here"]


@pytest.mark.parametrize(
    "simple",
    [
        "initially(f(a)=true).",
        "terminatedAt(f(X)=true, T) :- happensAt(e(X), T).",
        "fi(f(X)=false, f(X)=true, 3).",
    ],
)
def test_all_that_makes_a_fluent_simple(simple: str) -> None:
    assert "C040" in errors(f"{simple} f(X)=true iff g(X)=1.")


def test_an_open_value_is_not_determined_by_intervals_in_the_dialect_rtec() -> None:
    text = "initiatedAt(k(X)=_, T) :- happensAt(p(X), T). k(X)=_ iff s(X)=f."
    assert "C040" in errors(f":- dialect(rtec). {text}")


def test_an_event_and_a_fluent_of_one_name() -> None:
    text = "initiatedAt(f(X)=1, T) :- happensAt(f(X), T)."
    assert codes(text) == ["C024"]
    assert not errors(text)


def test_kinds_of_fluents() -> None:
    fluents = checked(RULE + "g(X)=1 iff f(X)=true, h(X)=1.").catalogue.fluents
    assert {str(relation): entry.kind for relation, entry in fluents.items()} == {
        "f/1": FluentKind.SIMPLE,
        "g/1": FluentKind.STATIC,
        "h/1": FluentKind.INPUT,
    }


# -- values --------------------------------------------------------------------------------------


def test_a_value_that_is_terminated_but_never_initiated() -> None:
    text = RULE + "terminatedAt(f(X)=ture, T) :- happensAt(leaves(X), T)."
    assert places(text, "C047") == ["f(X)=ture"]
    assert "`true`" in found(text, "C047")[0].help


def test_a_value_that_can_never_hold() -> None:
    text = RULE + "initiatedAt(g=1, T) :- happensAt(e(X), T), holdsAt(f(X)=false, T)."
    assert places(text, "C048") == ["f(X)=false"]


@pytest.mark.parametrize(
    "more",
    [
        "initiatedAt(g=1, T) :- happensAt(e(X), T), holdsAt(f(X)=true, T).",
        "initiatedAt(g=V, T) :- happensAt(e(X), T), holdsAt(f(X)=V, T).",
        "initiatedAt(f(X)=V, T) :- happensAt(e(X, V), T). g=1 iff f(a)=anything.",
        "fi(f(X)=true, f(X)=late, 5). g=1 iff f(a)=late.",
        "initially(f(a)=early). g=1 iff f(a)=early.",
    ],
)
def test_values_that_something_gives(more: str) -> None:
    assert not {"C047", "C048"} & set(codes(RULE + more))


# -- predicates ----------------------------------------------------------------------------------


def test_an_unknown_predicate() -> None:
    text = "initiatedAt(f(X)=1, T) :- happensAt(e(X), T), porrt(X). port(brest)."
    (error,) = found(text, "C022")
    assert error.is_error
    assert "`port`" in error.help


@pytest.mark.parametrize(
    "known",
    [
        "p(a).",
        ":- dynamic p/1.",
        "dynamicDomain(p(_)).",
        "p(X) :- q(X). q(a).",
        "p(X) :- p(X). p(b).",
    ],
)
def test_known_predicates(known: str) -> None:
    assert "C022" not in codes(f"initiatedAt(f(X)=1, T) :- happensAt(e(X), T), p(X). {known}")


def test_where_predicates_are_looked_for() -> None:
    text = (
        "initiatedAt(f(X)=1, T) :- happensAt(e(X), T), (p1(X) ; \\+ p2(X)), findall(Y, p3(Y), _L), "
        "\\+ (holdsAt(f(X)=1, T), p4(X)). g(X)=1 iff f(X)=1, p5(X). initially(f(X)=1) :- p6(X). "
        "fi(f(X)=1, f(X)=2, R) :- p7(R). grounding(f(X)=1) :- p8(X). d(X) <- e(X) where p9(X)."
    )
    unknown = {place.removeprefix("\\+ ")[:2] for place in places(text, "C022")}
    assert unknown == {f"p{n}" for n in range(1, 10)}


def test_in_rules_nothing_reaches_an_unknown_predicate_is_a_warning() -> None:
    text = "orphan(X) :- nowhere(X)."
    assert not errors(text)
    assert set(codes(text)) == {"C022", "C043"}


def test_what_is_reached_through_others_is_used() -> None:
    rule = "initiatedAt(f(X)=1, T) :- happensAt(e(X), T), p(X). "
    text = rule + "p(X) :- q(X). q(X) :- r(X). r(a). s(a)."
    assert places(text, "C043") == ["s(a)"]
