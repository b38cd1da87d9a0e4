"""Programs over lists of intervals: durations, what must not be empty, links to other keys."""

import cernis
from cernis.check.model import Relation
from cernis.plan.sweep.lanes import ListOp, SweepWay, is_hidden
from tests.plan.sweep.test_fits import reason, verdicts

LONG = """
initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
initiatedAt(g(X)=true, T) :- happensAt(b(X), T).
holdsFor(long(X)=true, I) :-
    holdsFor(f(X)=true, F), F \\= [], holdsFor(g(X)=true, G),
    relative_complement_all(F, [G], H), least(D), intDurGreater(H, D, I), kind(X, big).
least(5). least(9). kind(x1, big). kind(x2, small).
"""


def test_durations_are_programs_over_lists() -> None:
    (swept,) = cernis.load(LONG).plan.sweep
    (program,) = swept.lists
    assert swept.ways[Relation("long", 1)] is SweepWay.LIST
    # What lanes decide from point to point is one bit of theirs.
    assert [is_hidden(source.relation) for source in program.sources] == [True]
    limits = [row.parameter for row in program.rows if row.op is ListOp.LONGER]
    assert limits == [5, 9]
    assert len(program.conditions) == 1
    assert len(program.outputs) == 1


def test_lists_of_other_keys_are_found_by_links() -> None:
    text = (
        LONG
        + """
        collectIntervals(near(_, _)=true).
        holdsFor(both(X, Y)=true, I) :-
            holdsFor(near(X, Y)=true, N), holdsFor(long(X)=true, A), holdsFor(f(Y)=true, B),
            intersect_all([N, A, B], I).
    """
    )
    _, swept = cernis.load(text).plan.sweep
    (program,) = swept.lists
    assert swept.ways[Relation("both", 2)] is SweepWay.LINKED
    assert [(link.stage, link.positions) for link in program.links] == [(1, (0,)), (1, (1,))]
    assert [source.link for source in program.sources] == [None, 0, 1]
    assert [source.is_input for source in program.sources] == [True, False, False]


def test_what_may_hold_without_a_list_of_its_key_goes_by_its_grounding() -> None:
    text = (
        LONG
        + """
        holdsFor(short(X)=true, I) :-
            holdsFor(f(X)=true, F), intDurLess(F, 5, G), complement_all([G], I).
        grounding(short(X)=true) :- kind(X, _).
    """
    )
    assert verdicts(text)["short/1"] == ("list", "")
    assert ("short", "x2") in {
        (row["fluent"], *row["args"])
        for row in cernis.load(text).run("a|1|1|x1").intervals.to_pylist()
    }


def test_whether_a_list_of_the_window_is_empty_is_no_list() -> None:
    text = LONG.replace("holdsFor(g(X)=true, G),", "holdsFor(g(X)=true, G), G \\= [],")
    assert "whole list is empty" in reason(text, "long/1")


def test_a_variable_that_only_one_list_of_a_union_has_is_not_walked() -> None:
    point = LONG + "either(X)=Y iff f(X)=true or v(X)=Y."
    whole = LONG + (
        "holdsFor(either(X)=Y, I) :- holdsFor(f(X)=true, F), holdsFor(v(X)=Y, _), "
        "intDurGreater(F, 5, I)."
    )
    values = "\ninitiatedAt(v(X)=a, T) :- happensAt(b(X), T).\n"
    for text in (point, whole):
        assert (
            reason(text + values, "either/1")
            == "may hold where nothing that has its variable Y does"
        )
    # Groundings say which values there are, whatever else holds.
    grounded = "grounding(either(X)=Y) :- kind(X, Y)."
    assert verdicts(point + values + grounded)["either/1"] == ("lane", "")
    assert verdicts(whole + values + grounded)["either/1"] == ("list", "")
