"""At the prompt: what objects look like, and what the package offers."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis

RULES = "initiatedAt(rich(X)=true, T) :- happensAt(win(X), T)."


def test_programs_results_and_sessions_look_short() -> None:
    program = cernis.load(RULES + "\nterminatedAt(rcih(X)=true, T) :- happensAt(lose(X), T).")
    shown = repr(program)
    assert shown.startswith("<Program <text>: 2 input events, 0 derived events, 2 fluents")
    assert shown.endswith(" in .diagnostics>")
    session = program.session()
    assert repr(session).startswith("<Session before its first query: 0 records")
    session.insert([("win", "2026-03-29T03:00", "2026-03-29T03:00", "kim")])
    session.query("2026-03-29T04:00")
    assert "after the query at 2026-03-29T04:00:00Z: 1 records" in repr(session)
    assert repr(program.uncertain_session()).startswith("<UncertainSession before")
    assert len(repr(program.run([("win", 1, 1, "kim")]))) < 100


def test_a_program_of_a_file_tells_its_name(tmp_path: Path) -> None:
    (tmp_path / "rich.cer").write_text(RULES)
    assert "rich.cer: 1 input event," in repr(cernis.load(tmp_path / "rich.cer"))


def test_all_that_is_offered_can_be_completed_and_is_there() -> None:
    assert {"load", "Program", "column_function", "CernisError"} <= set(dir(cernis))
    assert all(getattr(cernis, name) is not None for name in dir(cernis))
    assert (Path(cernis.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("name", [name for name in cernis.__all__ if name[0].islower()])
def test_what_is_offered_says_what_it_does_and_of_which_types(name: str) -> None:
    function = getattr(cernis, name)
    assert function.__doc__
    assert "return" in function.__annotations__
