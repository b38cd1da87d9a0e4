"""A session as bytes: what comes back, what stays the same, what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import cernis
from cernis.errors import DataError
from cernis.runtime.session import Session
from cernis.spark.frozen import MAIN, frozen, frozen_whole, thawed, thawed_whole
from tests.runtime.support import TOY


def session() -> tuple[Session, cernis.Program]:
    program = cernis.load(TOY)
    own = Session(program.plan, 100, 5, incremental=False)
    lines = [f"go_to|{at}|{at}|p{at}|pub" for at in range(2000)]
    own.insert("\n".join(lines) + "\n")
    own.query(1990)
    return own, program


def test_what_was_frozen_goes_on() -> None:
    own, program = session()
    again = thawed(frozen(own, program.plan), program.plan)
    assert again.plan is program.plan
    for each in (own, again):
        each.insert("win_lottery|1995|1995|p1992\n-go_to|1995|1991|p1991|pub\n")
    assert own.query(2000).table() == again.query(2000).table()


def test_what_stays_the_same_has_the_same_names() -> None:
    own, program = session()
    before, after = frozen(own, program.plan), frozen(own, program.plan)
    assert before == after
    own.insert("win_lottery|1995|1995|p1992\n")
    own.query(2000)
    later = frozen(own, program.plan)
    assert len(set(before) & set(later) - {MAIN}) > 0


def test_only_our_own_classes_are_made() -> None:
    _, program = session()

    class Harm:
        def __reduce__(self) -> object:
            return print, ("harm",)

    parts = {MAIN: pickle.dumps(Harm())}
    with pytest.raises(DataError, match=r"builtins\.print is no part of a state"):
        thawed(parts, program.plan)
    whole = frozen_whole(Path("somewhere"), program.plan)
    with pytest.raises(DataError, match="is no part of a state"):
        thawed_whole(whole, program.plan)
