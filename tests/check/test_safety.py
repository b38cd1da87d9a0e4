"""Safety: every variable of a head, a negation or a comparison gets a value; and modes."""

import pytest

from cernis.check.goal_checks import Binder, infer_modes
from cernis.check.model import Relation
from cernis.syntax import parse, parse_term
from cernis.syntax.tree import Clause, Compound, conjuncts
from tests.check.checking import checked, codes, errors, found, places

FACTS = " p(a). q(a, b)."


def initiation(body: str, head: str = "f(X)=true") -> str:
    """A rule and the facts it may use."""
    return f"initiatedAt({head}, T) :- {body}.{FACTS}"


# -- heads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "happensAt(e(X), T)",
        "happensAt(e, T), holdsAt(g=X, T)",
        "happensAt(start(g(X)=1), T)",
        "initiatedAt(g(X)=1, T)",
        "happensAt(e, T), p(X)",
        "happensAt(e, T), X = 3",
        "happensAt(e(Y), T), X is Y + 1",
        "X is Y + 1, happensAt(e(Y), T)",
        "happensAt(e, T), X is T + 1",
        "(happensAt(e(X), T) ; happensAt(d(X), T))",
        "(happensAt(e, T) ; happensAt(d, T)), p(X)",
        "happensAt(e, T), (p(X) ; q(X, _))",
        "happensAt(e, T), member(X, [a, b])",
        "happensAt(e, T), findall(Y, p(Y), X)",
        "happensAt(e, T), findall(Y, holdsAt(g(Y)=1, T), L), length(L, X)",
        "happensAt(e, T), aggregate_all(count, holdsAt(g(_)=1, T), X)",
        "happensAt(e, T), (p(a) -> p(X) ; q(X, _))",
    ],
)
def test_bodies_that_bind(body: str) -> None:
    assert "C030" not in errors(initiation(body))


@pytest.mark.parametrize(
    "body",
    [
        "happensAt(e, T), \\+ holdsAt(g(X)=1, T)",
        "(happensAt(e(X), T) ; happensAt(d, T))",
        "happensAt(e, T), (p(X) ; p(_))",
        "happensAt(e, T), \\+ p(X)",
        "happensAt(e, T), findall(X, p(X), _)",
        "happensAt(e, T), \\+ (p(X), q(X, _))",
    ],
)
def test_bodies_that_do_not_bind(body: str) -> None:
    text = initiation(body)
    assert "C030" in errors(text)
    assert places(text, "C030") == ["X"]


def test_arguments_that_the_body_does_not_speak_of_range_over_instances() -> None:
    assert not errors(initiation("happensAt(e, T)"))
    assert places("initiatedAt(f(X)=V, T) :- happensAt(e(X), T).", "C030") == ["V"]


def test_grounding_binds_the_head() -> None:
    assert not errors(initiation("happensAt(e, T)") + " grounding(f(X)=true) :- p(X).")


def test_a_termination_may_leave_arguments_open() -> None:
    assert not errors(
        "initiatedAt(f(X)=1, T) :- happensAt(e(X), T). terminatedAt(f(_X)=1, T) :- happensAt(d, T)."
    )


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("happensAt(d(X), T) :- happensAt(e, T).", ["X"]),
        ("initially(f(X)=Y) :- p(X). p(a).", ["Y"]),
        ("holdsFor(f(X)=Y, I) :- holdsFor(g(X)=1, I).", ["Y"]),
        ("f(X)=true iff g=true.", ["X"]),
        ("d(X, Y) <- a(X) or b(Y).", ["X", "Y"]),
        ("d(X) <- not(a(X))[b, c] within 5.", ["X"]),
        ("d(X + Y) <- a(X).", ["Y"]),
    ],
)
def test_heads_of_other_rules(text: str, at: list[str]) -> None:
    assert places(text, "C030") == at


@pytest.mark.parametrize(
    "text",
    [
        "d(X, Y) <- a(X) seq b(Y) within 5.",
        "d(X) <- (a(X) or b(X)).",
        "d(S) <- a(X) seq b(Y) where S = X + Y within 5.",
        "d(X) <- not(c)[a(X), b] within 5.",
        "f(X)=true iff g(X)=true or h(X)=true.",
        "f(X)=true iff g=true, p(X). p(a).",
    ],
)
def test_heads_that_are_bound(text: str) -> None:
    assert not errors(text)


# -- negation --------------------------------------------------------------------------------------


@pytest.mark.parametrize("literal", ["holdsAt(g(Y)=1, T)", "happensAt(d(Y), T)", "p(Y)"])
def test_a_variable_of_two_negations_needs_a_value(literal: str) -> None:
    text = initiation(f"happensAt(e(X), T), \\+ {literal}, \\+ happensAt(c(Y), T)")
    assert places(text, "C031") == ["Y", "Y"]
    assert "_Y" in found(text, "C031")[0].help
    assert not errors(text.replace("Y", "_Y"))
    assert not errors(initiation(f"\\+ {literal}, happensAt(e(X), T), happensAt(b(Y), T)"))


@pytest.mark.parametrize("literal", ["holdsAt(g(Y)=1, T)", "happensAt(d(Y), T)", "p(Y)"])
def test_a_variable_of_one_negation_is_read_as_for_no_value(literal: str) -> None:
    assert not errors(initiation(f"happensAt(e(X), T), \\+ {literal}"))


@pytest.mark.parametrize("name", ["Y", "_Y"])
def test_a_variable_of_head_and_negation_is_bound_by_grounding(name: str) -> None:
    text = f"initiatedAt(h({name})=1, T) :- happensAt(e(_), T), \\+ holdsAt(g({name})=1, T)."
    text += " initiatedAt(g(X)=1, T) :- happensAt(e(X), T). p(a). q(b)."
    assert "C031" in errors(text)
    assert not errors(f"{text} grounding(h(X)=1) :- p(X).")
    assert "C031" in errors(f"{text} grounding(h(_)=1).")


def test_variables_inside_a_negated_conjunction_may_be_its_own() -> None:
    assert not errors(initiation("happensAt(e(X), T), \\+ (p(Y), q(X, Y))"))
    assert not errors(initiation("happensAt(e(X), T), \\+ (holdsAt(g(Y)=1, T), q(X, Y))"))


# -- conditions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("Y > 3", ["Y"]),
        ("Z is Y + 1", ["Y"]),
        ("X =:= Y * Z", ["Y", "Z"]),
        ("length(L, _)", ["L"]),
        ("Y == X", ["Y"]),
        ("atom_length(Y, 3)", ["Y"]),
        ("needy(Y)", ["Y"]),
    ],
)
def test_a_condition_lacks_values(condition: str, names: list[str]) -> None:
    text = initiation(f"happensAt(e(X), T), {condition}") + " needy(Y) :- Y > 3."
    assert places(text, "C032") == names


def test_the_order_of_conditions_does_not_matter() -> None:
    conditions = ["Z > 4", "Z is Y * 2", "Y is X + 1", "happensAt(e(X), T)"]
    assert not errors(initiation(", ".join(conditions)))


def test_only_the_first_cause_is_blamed() -> None:
    text = initiation("happensAt(e(X), T), Y is Nothing + X, Z is Y + 1, Z > 3")
    assert places(text, "C032") == ["Nothing"]


def test_many_conditions_that_lack_values() -> None:
    text = initiation("happensAt(e(X), T), " + ", ".join(f"Y{n} > 1" for n in range(3000)))
    assert len(found(text, "C032")) == 3000


def test_a_delay_needs_a_value() -> None:
    rule = "initiatedAt(f(X)=a, T) :- happensAt(e(X), T). "
    assert places(rule + "fi(f(X)=a, f(X)=b, R).", "C032") == ["R"]
    assert not errors(rule + "fi(f(X)=a, f(X)=b, R) :- limit(X, R). limit(a, 3).")
    assert places(
        rule + "holdsFor(g=1, I) :- holdsFor(f(_)=a, J), intDurGreater(J, D, I).", "C032"
    ) == ["D"]


def test_background_rules_nothing_reaches_are_only_warned_of() -> None:
    text = "orphan(X) :- X > Y."
    assert not errors(text)
    assert "C032" in codes(text)
    used = f"{initiation('happensAt(e(X), T), orphan(X)')} {text}"
    assert "C032" in errors(used)


# -- variables that stand alone -------------------------------------------------------------------


def test_singletons() -> None:
    text = "initiatedAt(f(X)=1, T) :- happensAt(e(X, Y, _Z, _), T)."
    assert codes(text) == ["C035"]
    assert places(text, "C035") == ["Y"]
    assert "_Y" in found(text, "C035")[0].help


@pytest.mark.parametrize(
    "text", ["fact(X, Y).", "collectIntervals(f(X)=true).", ":- event(e(X, Y))."]
)
def test_facts_and_declarations_may_name_their_arguments(text: str) -> None:
    assert "C035" not in codes(text)


def test_a_singleton_that_is_worse_is_said_once() -> None:
    assert codes("happensAt(f(X), T) :- happensAt(e, T).") == ["C030"]


# -- modes -----------------------------------------------------------------------------------------


def modes(text: str) -> dict[str, list[list[int]]]:
    """What each predicate needs bound: one position of each list."""
    clauses: dict[Relation, list[Clause]] = {}
    for item in parse(text).items:
        assert isinstance(item, Clause)
        arity = len(item.head.args) if isinstance(item.head, Compound) else 0
        name = item.head.functor if isinstance(item.head, Compound) else ""
        clauses.setdefault(Relation(name, arity), []).append(item)
    return {
        str(relation): sorted(map(sorted, needs))
        for relation, needs in infer_modes(clauses).items()
    }


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("p(a).", []),
        ("p(X).", [[0]]),
        ("p(X) :- X > 3.", [[0]]),
        ("p(X, Y) :- Y is X + 1.", [[0]]),
        ("p(X) :- \\+ q(X).", [[0]]),
        ("p(X, Y) :- q(X), Y is X * 2. q(1).", []),
        ("p(X) :- q(X). q(X) :- X > 1.", [[0]]),
        ("p(X, Z) :- l(X, Y), p(Y, Z). p(X, Y) :- l(X, Y). l(a, b).", []),
        ("p(X) :- q(X). p(X) :- X > 1. q(a).", [[0]]),
        ("p(X) :- (q(X) ; X > 1). q(a).", [[0]]),
        ("p(f(X)) :- X > 1.", [[0]]),
        ("p(_).", []),
        ("p(X, [X|_]). p(X, [_|L]) :- p(X, L).", [[0, 1]]),
        ("p(X, X, [X]).", [[0, 1, 2]]),
        ("p(X, Y, Z) :- Z is X + Y.", [[0], [1]]),
    ],
)
def test_modes_of_predicates(text: str, needs: list[list[int]]) -> None:
    found_needs = next(iter(modes(text).values()))
    assert found_needs == needs


def test_modes_of_a_long_chain_of_predicates() -> None:
    text = "\n".join(f"p{n}(X) :- p{n + 1}(X)." for n in range(200)) + "\np200(X) :- X > 1."
    assert modes(text)["p0/1"] == [[0]]


@pytest.mark.parametrize(
    ("goals", "given", "bound"),
    [
        ("X = Y", {"X"}, {"X", "Y"}),
        ("f(X, Y) = f(1, 2)", set(), {"X", "Y"}),
        ("X = Y", set(), set()),
        ("Y is X + 1, Z is Y * 2", {"X"}, {"X", "Y", "Z"}),
        ("findall(X, member(X, [1]), L)", set(), {"L"}),
        ("(X = 1, Y = 2 ; X = 3)", set(), {"X"}),
    ],
)
def test_what_goals_bind(goals: str, given: set[str], bound: set[str]) -> None:
    binder = Binder({}, set(given))
    binder.run(conjuncts(parse_term(goals)))
    assert binder.bound == bound


def test_checked_keeps_the_modes() -> None:
    result = checked(
        "r(X, Y) :- Y is X + 1. initiatedAt(f(Y)=1, T) :- happensAt(e(X), T), r(X, Y)."
    )
    assert result.modes[Relation("r", 2)] == frozenset({frozenset({0})})


def test_a_choice_may_need_what_a_later_one_gives() -> None:
    rule = r"""happensAt(d, T) :- (\+ holdsAt(f(N)=true, T) ; holdsAt(k=1, T)),
        (happensAt(a(N), T) ; happensAt(b(N), T))."""
    assert errors(rule) == set()
