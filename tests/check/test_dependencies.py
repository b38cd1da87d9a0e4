"""What depends on what: components, levels, processing order, cycles, delayed effects."""

from pathlib import Path

import pytest

import cernis
from cernis.check.dependencies import Dependencies, EdgeKind
from cernis.knowledge.digraphs import strong_components, topological, weak_components
from tests.check.checking import checked, codes, errors, found, places

# The fragment of NetBill of the literature on delayed effects: quotes expire, contracts run out,
# merchants are suspended for a while, and permissions come back.
NETBILL = """
initiatedAt(quote(M, C, G)=true, T) :- happensAt(present_quote(M, C, G, _P), T).
initiatedAt(quote(M, C, G)=false, T) :- happensAt(accept_quote(C, M, G), T).
fi(quote(M, C, G)=true, quote(M, C, G)=expiring, 5).
fi(quote(M, C, G)=expiring, quote(M, C, G)=false, 3).

initiatedAt(contract(M, C, G)=true, T) :-
    happensAt(accept_quote(C, M, G), T),
    holdsAt(quote(M, C, G)=true, T),
    \\+ holdsAt(suspended(M)=true, T).
initiatedAt(contract(M, C, G)=true, T) :-
    happensAt(accept_quote(C, M, G), T),
    holdsAt(quote(M, C, G)=expiring, T),
    \\+ holdsAt(suspended(M)=true, T).
fi(contract(M, C, G)=true, contract(M, C, G)=false, 10).

initiatedAt(suspended(M)=true, T) :-
    happensAt(present_quote(M, _C, _G, _P), T),
    holdsAt(permission(M)=false, T).
initiatedAt(suspended(M)=true, T) :-
    happensAt(complain(C, M, G), T),
    holdsAt(contract(M, C, G)=true, T).
fi(suspended(M)=true, suspended(M)=false, 20).

initiatedAt(permission(M)=false, T) :- happensAt(forbid(M), T).
fi(permission(M)=false, permission(M)=true, 7).
"""


def graph(text: str) -> Dependencies:
    """The dependencies of a program without errors."""
    result = checked(text)
    assert not result.has_errors, [d.message for d in result.diagnostics if d.is_error]
    return result.dependencies


def components(text: str) -> list[list[str]]:
    """The components in the order of evaluation, each in its processing order."""
    return [[str(vertex) for vertex in part.vertices] for part in graph(text).components]


def edges(text: str) -> set[tuple[str, str, str]]:
    """Source, target and kind of all edges."""
    return {(str(e.source), str(e.target), str(e.kind)) for e in graph(text).edges}


def fluents(names: list[str]) -> set[str]:
    """The names of fluents, of pairs."""
    return {name.partition("=")[0] for name in names}


# -- NetBill -------------------------------------------------------------------------------------


def test_netbill_edges() -> None:
    delayed = {edge[:2] for edge in edges(NETBILL) if edge[2] == EdgeKind.DELAYED}
    assert delayed == {
        ("quote=true", "quote=expiring"),
        ("quote=expiring", "quote=false"),
        ("contract=true", "contract=false"),
        ("suspended=true", "suspended=false"),
        ("permission=false", "permission=true"),
    }
    immediate = {edge[:2] for edge in edges(NETBILL) if edge[2] != EdgeKind.DELAYED}
    assert immediate == {
        ("quote=true", "contract=true"),
        ("quote=expiring", "contract=true"),
        ("suspended=true", "contract=true"),
        ("contract=true", "suspended=true"),
        ("permission=false", "suspended=true"),
    }


def test_netbill_components() -> None:
    parts = [fluents(names) for names in components(NETBILL)]
    assert parts == [{"quote"}, {"permission"}, {"contract", "suspended"}]
    assert [part.cyclic for part in graph(NETBILL).components] == [False, False, True]
    assert all(part.delayed for part in graph(NETBILL).components)


def test_netbill_levels() -> None:
    found_levels = {str(v): graph(NETBILL).level(v) for v in graph(NETBILL).vertices}
    by_fluent = {(name.partition("=")[0], level) for name, level in found_levels.items()}
    assert by_fluent == {("quote", 1), ("permission", 1), ("contract", 2), ("suspended", 2)}


def test_netbill_processing_order() -> None:
    quote, permission, _ = components(NETBILL)
    assert quote == ["quote=true", "quote=expiring", "quote=false"]
    assert permission == ["permission=false", "permission=true"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_partial_order(turned: bool) -> None:
    facts = ["fi(f=v1, f=v3, 1).", "fi(f=v2, f=v3, 2)."]
    text = " ".join(reversed(facts) if turned else facts)
    text += " initiatedAt(f=v1, T) :- happensAt(a, T). initiatedAt(f=v2, T) :- happensAt(b, T)."
    (part,) = graph(text).components
    assert not part.cyclic
    order = [str(vertex) for vertex in part.vertices]
    assert sorted(order[:2]) == ["f=v1", "f=v2"]
    assert order[2] == "f=v3"


def test_a_circle_of_delayed_effects_is_cyclic() -> None:
    text = (
        "initiatedAt(f=red, T) :- happensAt(e, T). fi(f=red, f=green, 3). "
        "fi(f=green, f=yellow, 4). fi(f=yellow, f=red, 1)."
    )
    (part,) = graph(text).components
    assert part.cyclic
    assert part.delayed


# -- components ----------------------------------------------------------------------------------


def test_values_of_one_simple_fluent_stay_together() -> None:
    text = (
        "initiatedAt(f=a, T) :- happensAt(e, T). initiatedAt(f=b, T) :- happensAt(d, T), "
        "holdsAt(g=1, T). initiatedAt(g=1, T) :- happensAt(e, T)."
    )
    assert components(text) == [["g=1"], ["f=a", "f=b"]]


def test_levels_grow_with_what_is_needed() -> None:
    text = (
        "d3(X) <- d2(X) seq b within 5. happensAt(d2(X), T) :- happensAt(start(s(X)=1), T). "
        "s(X)=1 iff f(X)=1, not g(X)=1. initiatedAt(f(X)=1, T) :- happensAt(e(X), T). "
        "initiatedAt(g(X)=1, T) :- happensAt(e(X), T), holdsAt(f(X)=1, T)."
    )
    assert components(text) == [["f=1"], ["g=1"], ["s=1"], ["d2"], ["d3"]]
    assert [part.level for part in graph(text).components] == [1, 2, 3, 4, 5]


def test_input_is_no_vertex() -> None:
    result = graph("initiatedAt(f=1, T) :- happensAt(e, T), holdsAt(in=1, T).")
    assert [str(vertex) for vertex in result.vertices] == ["f=1"]
    assert not result.edges


def test_a_variable_value_depends_on_all_values() -> None:
    text = (
        "initiatedAt(f=a, T) :- happensAt(e, T). initiatedAt(f=b, T) :- happensAt(d, T). "
        "initiatedAt(g=V, T) :- happensAt(e, T), holdsAt(f=V, T)."
    )
    assert edges(text) == {("f=a", "g=*", "earlier"), ("f=b", "g=*", "earlier")}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("happensAt(e, T), holdsAt(g=1, T)", "earlier"),
        ("happensAt(e, T), \\+ holdsAt(g=1, T)", "earlier"),
        ("happensAt(start(g=1), T)", "same"),
        ("initiatedAt(g=1, T)", "same"),
        ("happensAt(e, T), (holdsAt(g=1, T) ; happensAt(d, T))", "earlier"),
        ("happensAt(e, T), \\+ (holdsAt(g=1, T), p(a))", "earlier"),
        ("happensAt(e, T), findall(X, holdsAt(g=X, T), _L)", "earlier"),
    ],
)
def test_kinds_of_edges(body: str, kind: str) -> None:
    text = f"initiatedAt(f=1, T) :- {body}. initiatedAt(g=1, T) :- happensAt(b, T). p(a)."
    assert edges(text) == {("g=1", "f=1", kind)}


# -- cycles --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "initiatedAt(f=1, T) :- happensAt(e, T), \\+ holdsAt(f=1, T).",
        "initiatedAt(f=1, T) :- happensAt(e, T), holdsAt(g=1, T). "
        "initiatedAt(g=1, T) :- happensAt(e, T), \\+ holdsAt(f=1, T).",
        "initiatedAt(f=1, T) :- happensAt(d, T). "
        "happensAt(d, T) :- happensAt(e, T), \\+ holdsAt(f=1, T).",
        "rise(1) <- a. rise(N + 1) <- rise(N) seq a within 5.",
    ],
)
def test_cycles_by_time_are_allowed(text: str) -> None:
    assert any(part.cyclic for part in graph(text).components)


@pytest.mark.parametrize(
    "text",
    [
        "f=1 iff g=1. g=1 iff f=1.",
        "f=1 iff f=1 or g=1.",
        "f=1 iff g=1. initiatedAt(g=1, T) :- happensAt(e, T), holdsAt(f=1, T).",
        "f=1 iff g=1. initiatedAt(g=1, T) :- happensAt(d, T). happensAt(d, T) :- "
        "happensAt(start(f=1), T).",
    ],
)
def test_a_cycle_through_a_statically_determined_fluent(text: str) -> None:
    assert errors(text) == {"C041"}
    assert "f=1" in found(text, "C041")[0].message


@pytest.mark.parametrize(
    "text",
    [
        "happensAt(d, T) :- happensAt(d, T).",
        "happensAt(a, T) :- happensAt(b, T). happensAt(b, T) :- happensAt(a, T).",
        "initiatedAt(f=1, T) :- initiatedAt(g=1, T). initiatedAt(g=1, T) :- initiatedAt(f=1, T).",
        "initiatedAt(f=1, T) :- happensAt(d, T). happensAt(d, T) :- happensAt(start(f=1), T).",
    ],
)
def test_what_depends_on_itself_at_one_time_point(text: str) -> None:
    assert errors(text) == {"C045"}


def test_the_notes_of_a_cycle_walk_around_it() -> None:
    text = "f=1 iff g=1. g=1 iff h=1. h=1 iff f=1."
    (error,) = found(text, "C041")
    said = {note.message for note in error.notes}
    assert len(said) == 2
    assert said < {"f=1 needs g=1", "g=1 needs h=1", "h=1 needs f=1"}


# -- delayed effects -----------------------------------------------------------------------------

VALUES = "initiatedAt(f(X)=a, T) :- happensAt(e(X), T). "


@pytest.mark.parametrize(
    ("effects", "late"),
    [
        ("fi(f(X)=a, f(X)=b, 5). fi(f(X)=a, f(X)=c, 7).", ["fi(f(X)=a, f(X)=c, 7)."]),
        ("fi(f(X)=a, f(X)=b, 9). fi(f(X)=a, f(X)=c, 7).", ["fi(f(X)=a, f(X)=b, 9)."]),
        ("fi(f(X)=a, f(X)=b, 5). ft(f(X)=a, 7).", ["ft(f(X)=a, 7)."]),
        ("fi(f(X)=a, f(X)=b, 5). fi(f(z)=a, f(z)=c, 7).", ["fi(f(z)=a, f(z)=c, 7)."]),
        ("fi(f(X)=a, f(X)=b, 7). fi(f(z)=a, f(z)=c, 5).", []),
        ("fi(f(y)=a, f(y)=b, 5). fi(f(z)=a, f(z)=c, 7).", []),
        ("fi(f(X)=a, f(X)=b, 5). fi(f(X)=b, f(X)=c, 7).", []),
        ("fi(f(X)=a, f(X)=b, R) :- limit(X, R). fi(f(X)=a, f(X)=c, 7). limit(a, 3).", []),
    ],
)
def test_only_the_shorter_of_two_effects_comes(effects: str, late: list[str]) -> None:
    text = VALUES + effects
    assert not errors(text)
    assert places(text, "C042") == late


def test_an_effect_that_never_comes_is_no_edge() -> None:
    text = VALUES + "fi(f(X)=a, f(X)=b, 5). fi(f(X)=a, f(X)=c, 7)."
    assert edges(text) == {("f=a", "f=b", "delayed")}
    text = VALUES + "fi(f(y)=a, f(y)=b, 5). fi(f(z)=a, f(z)=c, 7)."
    assert edges(text) == {("f=a", "f=b", "delayed"), ("f=a", "f=c", "delayed")}


def test_effects_that_lead_nowhere() -> None:
    assert codes("ft(f=a, 3).") == ["C044"]
    assert "C044" in codes(VALUES + "fi(f(X)=V, f(X)=b, 3).")
    assert "C044" in codes(VALUES + "fi(f(X)=a, f(X)=V, 3) :- follows(V). follows(b).")
    assert "C044" in codes(VALUES + "ft(f(X)=_, 3).")
    assert codes(VALUES + "p(f(X)=a).") == ["C044"]
    assert codes(VALUES + "fi(f(X)=a, f(X)=b, 3). p(f(X)=a).") == []


# -- graphs --------------------------------------------------------------------------------------


def test_strong_components_come_after_what_they_point_at() -> None:
    follow = {1: [2], 2: [3], 3: [1, 4], 4: [5], 5: [4], 6: [6]}
    assert strong_components(range(1, 7), follow) == [[4, 5], [1, 2, 3], [6]]
    assert strong_components([], {}) == []


def test_a_long_path_needs_no_deep_stack() -> None:
    follow = {n: [n + 1] for n in range(50_000)}
    assert strong_components(range(50_001), follow)[0] == [50_000]


def test_weak_components_are_named_by_their_first_vertex() -> None:
    assert weak_components("abcd", [("d", "c"), ("c", "b")]) == {
        "a": "a", "b": "b", "c": "b", "d": "b",
    }  # fmt: skip


def test_topological_order_keeps_what_it_can() -> None:
    assert topological("abcd", {"a": "c"}) == ["c", "a", "b", "d"]


def test_components_and_levels_of_netbill() -> None:
    """Quotes and permissions first, each by themselves; contracts and sanctions form a cycle."""
    folder = Path(__file__).parents[2] / "examples" / "netbill"
    program = cernis.load(folder / "rules.cer", [folder / "facts.cer"])
    sorted_out = [
        (component.level, component.cyclic, component.delayed,
         {vertex.relation.name.partition("(")[0] for vertex in component.vertices})
        for component in program.checked.dependencies.components
    ]  # fmt: skip
    assert sorted_out == [
        (1, False, True, {"quote"}),
        (1, True, True, {"per"}),
        (2, True, True, {"contract", "obl", "suspended"}),
        (3, False, False, {"per"}),
    ]
