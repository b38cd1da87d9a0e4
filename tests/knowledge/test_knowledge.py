import pickle
import subprocess
import sys
from collections.abc import Mapping

import pytest

import cernis
from cernis.knowledge import Knowledge, Route, classify, inline, modes
from cernis.knowledge.fact_tables import table_of_rows
from cernis.knowledge.ground_values import Key
from cernis.knowledge.resolution.builtins import Mode
from cernis.syntax import parse_term
from cernis.syntax.tree import Term, walk
from tests.knowledge.programs import answers, clauses, knowledge

TEXT = """
linked(1, 2). linked(2, 3).
jet(X, Y) :- linked(X, Y).
jet(X, Z) :- linked(X, Y), jet(Y, Z).
reach(X, N) :- findall(Y, jet(X, Y), L), length(L, N).
"""


def test_resolution_looks_up_what_is_materialised() -> None:
    found = knowledge(TEXT.replace("linked(2, 3).", "linked(2, 1)."))
    assert answers(found, "jet(1, X)") == ["X=2", "X=1"]
    assert answers(found, "reach(1, N)") == ["N=2"]


def test_pickling_keeps_the_knowledge() -> None:
    given = {("port", 1): table_of_rows(("port", 1), [("brest",)])}
    found = Knowledge(clauses(TEXT), given, declared=[("closed", 1)])
    assert answers(found, "reach(1, N)") == ["N=2"]
    again = pickle.loads(pickle.dumps(found))
    assert answers(again, "reach(1, N), port(P), \\+ closed(P)") == ["N=2 P=brest"]


def test_a_declared_predicate_may_have_no_facts() -> None:
    found = Knowledge(
        clauses("p(X) :- q(X). open(X) :- r(X), \\+ q(X). r(1)."), declared=[("q", 1)]
    )
    assert answers(found, "p(X)") == []
    assert answers(found, "open(X)") == ["X=1"]
    assert found.predicates["q", 1].route is Route.TABLE
    assert found.predicates["q", 1].reason == "no facts yet"


def test_rows_of_a_table_come_before_facts() -> None:
    known = Knowledge(clauses(TEXT), {("linked", 2): table_of_rows(("linked", 2), [(3, 4)])})
    assert len(known.table("jet", 2)) == 6
    assert list(known.table("linked", 2).rows()) == [(3, 4), (1, 2), (2, 3)]


def test_rows_come_before_rules() -> None:
    given = {("p", 1): table_of_rows(("p", 1), [("row",)])}
    found = Knowledge(clauses("p(X) :- atom_length(a, X)."), given)
    assert found.predicates["p", 1].route is Route.RESOLVE
    assert answers(found, "p(X)") == ["X=row", "X=1"]


def test_nothing_at_all() -> None:
    found = Knowledge([])
    assert dict(found.predicates) == {}
    assert list(found.solve(parse_term("true"))) == [{}]


def test_importing_pulls_in_nothing_heavy() -> None:
    code = "import sys, cernis.knowledge; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": "src"})  # fmt: skip
    loaded = set(done.stdout.split())
    assert "cernis.knowledge" in loaded
    assert not loaded & {"numpy", "pyarrow", "difflib", "csv"}


CHAINS = {
    "calls": ("p{0}(X) :- p{1}(X).", "p{0}(a)."),
    "computes": ("p{0}(X) :- p{1}(Y), X is Y + 1.", "p{0}(1)."),
    "denies": ("p{0}(X) :- q(X), \\+ p{1}(X).", "p{0}(a). q(a)."),
    "cuts": ("p{0}(X) :- X = b, !. p{0}(X) :- p{1}(X).", "p{0}(a)."),
    "collects": ("p{0}(X) :- findall(Y, p{1}(Y), L), member(X, L).", "p{0}(a)."),
}


@pytest.mark.parametrize("name", CHAINS)
def test_long_chains_of_predicates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Few are expanded in one another, so that a chain has as many tables as a very long one.
    if name != "cuts":
        monkeypatch.setattr(classify, "DEEPEST", 1)
        monkeypatch.setattr(inline, "DEEPEST", 1)
    link, last = CHAINS[name]
    count = 500
    clauses = [link.format(at, at + 1) for at in range(count)]
    rule = "initiatedAt(f(X)=true, T) :- happensAt(e(X), T), p0(X)."
    program = cernis.load("\n".join([*clauses, last.format(count), rule, ""]))
    value = "501" if name == "computes" else "a"
    assert len(program.run(f"e|1|1|{value}\n").intervals) == 1


@pytest.mark.parametrize("name", ["computes", "denies"])
def test_goals_of_nested_definitions_are_followed_once_an_expansion(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To follow them at each level again made long chains take four times as long to plan."""
    followed = []

    def counting(goal: Term, flow: modes.BindingFlow, known: Mapping[Key, Mode]) -> None:
        followed.extend(walk(goal))
        modes.follow(goal, flow, known)

    monkeypatch.setattr(inline, "follow", counting)
    link, last = CHAINS[name]
    count = 25
    knowledge("\n".join([*(link.format(at, at + 1) for at in range(count)), last.format(count)]))
    expanded = count * (count + 1) // 2
    assert len(followed) < 12 * expanded
