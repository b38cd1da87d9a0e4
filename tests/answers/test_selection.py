"""Names of fluents and events select parts of answers."""

from __future__ import annotations

import pytest

import cernis
from cernis.answers.selection import selected_answer, selected_relations
from cernis.errors import DataError

PROGRAM = cernis.load("""
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
initiatedAt(rich(X, Y)=true, T) :- happensAt(share(X, Y), T).
happensAt(party(X), T) :- happensAt(win(X), T).
""")


def test_a_name_stands_for_all_of_that_name_and_an_arity_for_one() -> None:
    catalogue = PROGRAM.checked.catalogue
    assert sorted(map(str, selected_relations(["rich"], catalogue))) == ["rich/1", "rich/2"]
    chosen = selected_relations(["rich/2", "party"], catalogue)
    assert sorted(map(str, chosen)) == ["party/1", "rich/2"]


@pytest.mark.parametrize("name", ["win", "ritch", "nothing"])
def test_what_rules_do_not_define_cannot_be_selected(name: str) -> None:
    with pytest.raises(DataError, match=f"no fluent and no event {name}.*there are party, rich"):
        selected_relations([name], PROGRAM.checked.catalogue)


def test_timers_of_phrases_are_no_names_to_select() -> None:
    program = cernis.load("""
    initiatedAt(on(X)=true, T) :- happensAt(switch(X), T).
    happensAt(long(X), T) :- happensAt(on(X)=true for at least 5, T).
    """)
    hidden = program.checked.definitions.auxiliary
    assert hidden
    with pytest.raises(DataError, match="there are long, on$"):
        program.run("switch|1|1|a\n").select("nothing")
    for timer in hidden:
        with pytest.raises(DataError, match="rules define no fluent and no event"):
            selected_relations([timer.name], program.checked.catalogue, hidden)


def test_an_answer_keeps_what_is_selected() -> None:
    answer = PROGRAM.run("win|1|1|a\nshare|1|1|a|b\n").answer
    selected = selected_answer(answer, selected_relations(["rich/1"], PROGRAM.checked.catalogue))
    assert ([str(each) for each in selected.fluents], selected.events) == (["rich/1"], {})
