"""Both engines write answers in one layout: what tasks write, and what a process writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

import cernis
from cernis.answers.relation_files import write_answer, write_answers

RULES = """
initiatedAt(owes(pay(X), Y)=true, T) :- happensAt(win(X, Y), T).
happensAt(party(X), T) :- happensAt(win(X, _), T).
"""


def test_tasks_and_processes_write_the_same_columns_and_rows(tmp_path: Path) -> None:
    answer = cernis.load(RULES).run("win|1|1|a|b\nwin|3|3|c|d\n").answer
    counts = write_answer(answer, tmp_path / "task", "00003-1")
    result = cernis.load(RULES).run("win|1|1|a|b\nwin|3|3|c|d\n")
    files = list(write_answers([(None, answer)], tmp_path / "process", result.times))
    assert (counts["pairs"], counts["happenings"], counts["files"], len(files)) == (2, 2, 2, 2)
    for folder in ("intervals", "happenings"):
        ours, theirs = (pq.read_table(tmp_path / who / folder) for who in ("process", "task"))
        assert ours.schema.equals(theirs.schema)
        assert sorted(map(str, ours.to_pylist())) == sorted(map(str, theirs.to_pylist()))
    names = {each.name for each in (tmp_path / "process" / "intervals").iterdir()}
    assert names == {each.name for each in (tmp_path / "task" / "intervals").iterdir()}


def test_a_relation_without_rows_has_no_file(tmp_path: Path) -> None:
    answer = cernis.load(RULES).run("win|1|1|a|b\n", end=0).answer
    assert write_answer(answer, tmp_path, "0")["files"] == 0
    assert list(tmp_path.iterdir()) == []
