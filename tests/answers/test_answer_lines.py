"""Answers as text: sorted lines that read back as what was recognised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cernis
from cernis.answers import answer_lines
from cernis.answers.answer_lines import argument_text, template, text_blocks, value_text
from cernis.check.model import Relation, flatten
from cernis.evaluate.answer import Answer
from cernis.knowledge.ground_values import Value, term_of, value
from cernis.syntax import parse_term, show
from cernis.syntax.tree import Compound, Term
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import INFINITY, FluentTable

ODD = [
    "a", "b", "ab", "a_b", "aB", "a1", "Far out", "it's", "not", "mod", "is", "where", "seq", "a,b",
    "a, b", "a)", "a=b", "[]", "!", "", "\u00e9", "A", "_", "x\ny", "-", "+", "z" * 40, "true",
]  # fmt: skip
TERMS = ["f(a)", "f(a, b)", "[1, 2]", "a-b", "a:b", "-(3)", "f(-1)"]
VALUES: st.SearchStrategy[Value] = st.one_of(
    st.sampled_from(ODD),
    st.integers(-20, 20),
    st.sampled_from([0.5, -0.5, 1e-7, 1e22, 3.0]),
    st.sampled_from(TERMS).map(lambda text: value(parse_term(text))),
)
RELATIONS = [
    Relation("f", 0), Relation("f", 1), Relation("f", 2), Relation("ff", 1), Relation("g", 3),
    Relation("f(g(_,_))", 2), Relation("f(send_x(_),_)", 2), Relation("Far out", 1),
]  # fmt: skip

Group = tuple[tuple[Value, ...], Value, list[tuple[int, int]]]


def term_for(relation: Relation, args: Sequence[Value]) -> Term:
    """A relation with its arguments, put together from the terms and not from texts."""
    terms = [term_of(arg) for arg in args]
    if not relation.arity:
        return parse_term(relation.name)
    if "(" not in relation.name:
        return Compound(relation.name, tuple(terms))
    shape = parse_term(relation.name)
    left = iter(terms)

    def fill(term: Term) -> Term:
        if isinstance(term, Compound):
            return Compound(term.functor, tuple(fill(arg) for arg in term.args))
        return next(left)

    return fill(shape)


def intervals(draw: st.DrawFn) -> list[tuple[int, int]]:
    edges = sorted(draw(st.sets(st.integers(-50, 50), max_size=8)))
    found = list(zip(edges[::2], edges[1::2], strict=False))
    if len(edges) % 2 and draw(st.booleans()):
        found.append((edges[-1], INFINITY))
    return found


def shown(given: Value) -> str:
    return show(term_of(given))


@st.composite
def groups(draw: st.DrawFn, relation: Relation) -> list[Group]:
    keys = st.tuples(*[VALUES] * (relation.arity + 1))
    chosen = draw(
        st.lists(keys, max_size=8, unique_by=lambda key: str([show(term_of(v)) for v in key]))
    )
    return [(key[:-1], key[-1], intervals(draw)) for key in chosen]


def fluent_table(relation: Relation, own: list[Group]) -> FluentTable:
    domains: list[Domain | None] = [Domain() for _ in range(relation.arity)]
    value_domain = Domain()
    arguments = [
        domain.encode([group[0][at] for group in own])  # type: ignore[union-attr,misc]
        for at, domain in enumerate(domains)
    ]
    lists = [group[2] for group in own]
    flat = [edges for each in lists for edges in each]
    return FluentTable(
        arguments,
        value_domain.encode([group[1] for group in own]),  # type: ignore[misc]
        domains,
        value_domain,
        np.cumsum([0, *map(len, lists)]),
        np.array([start for start, _ in flat], np.int64),
        np.array([end for _, end in flat], np.int64),
    )


def fluent_line(relation: Relation, group: Group) -> str:
    args, value, own = group
    pair = show(Compound("=", (term_for(relation, args), term_of(value))))
    shown = ",".join(f"({s},{'inf' if e == INFINITY else e})" for s, e in own)
    return f"holdsFor({pair}, [{shown}])."


def lines_of(answer: Answer) -> list[str]:
    text = b"".join(text_blocks(answer)).decode()
    return text.split("\n")[:-1]


@given(st.data())
def test_lines_are_sorted_and_say_what_the_tables_say(data: st.DataObject) -> None:
    answer, wanted = Answer(), []
    for relation in data.draw(st.lists(st.sampled_from(RELATIONS), unique=True)):
        own = data.draw(groups(relation))
        answer.fluents[relation] = fluent_table(relation, own)
        wanted += [fluent_line(relation, group) for group in own if group[2]]
    assert lines_of(answer) == sorted(wanted)


@given(st.data())
def test_events_are_one_line_an_entity(data: st.DataObject) -> None:
    answer = Answer()
    wanted: dict[str, list[int]] = {}
    for relation in data.draw(st.lists(st.sampled_from(RELATIONS), unique=True)):
        keys = st.tuples(st.tuples(*[VALUES] * relation.arity), st.integers(-9, 9))
        own = data.draw(st.lists(keys, max_size=9, unique_by=str))
        domains: list[Domain | None] = [Domain() for _ in range(relation.arity)]
        columns = [
            domain.encode([row[0][at] for row in own])  # type: ignore[union-attr]
            for at, domain in enumerate(domains)
        ]
        times = np.array([row[1] for row in own], np.int64)
        answer.events[relation] = EventTable(columns, domains, times)
        for args, time in own:
            wanted.setdefault(show(term_for(relation, args)), []).append(time)
    assert lines_of(answer) == sorted(
        f"happensAt({entity}, [{','.join(map(str, sorted(set(times))))}])."
        for entity, times in wanted.items()
    )


def test_many_lines_are_built_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cernis.load(
        "initiatedAt(f(X)=Y, T) :- happensAt(e(X, Y), T).\n"
        "happensAt(d(X), T) :- happensAt(e(X, _), T).\n"
    )
    rows = [("e", t, t, f"p{t % 37}", t % 5) for t in range(400)]
    whole = program.run(rows).text()
    monkeypatch.setattr(answer_lines, "_SLICE", 7)
    assert program.run(rows).text() == whole
    assert whole.splitlines() == sorted(whole.splitlines())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f", "f(a, b)"),
        ("f(g(_),_)", "f(g(a), b)"),
        ("obl(send_EPO(_,_))", "obl(send_EPO(a, b))"),
        ("Far out", "'Far out'(a, b)"),
        ("f(G h(_,_))", "f('G h'(a, b))"),
    ],
)
def test_entities_are_written_with_functors_in_their_places(name: str, text: str) -> None:
    before, between, behind = template(Relation(name, 2))
    assert f"{before}a{between}b{behind}" == text
    assert template(Relation("f", 0)) == ["f"]


@given(VALUES)
def test_values_read_back(given: Value) -> None:
    assert value(parse_term(argument_text(given))) == given
    pair = parse_term(f"f(x)={value_text(given)}")
    assert isinstance(pair, Compound)
    assert value(pair.args[1]) == given


def test_a_nested_relation_has_a_template_of_its_own() -> None:
    relation, _ = flatten(parse_term("obl(pay(C, m), 3)"))
    assert template(relation) == ["obl(pay(", ", ", "), ", ")"]
