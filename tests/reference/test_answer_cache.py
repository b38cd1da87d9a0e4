"""Kept answers: found again by what they follow from, and never half written."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.reference import answer_cache
from tests.reference.answer_cache import kept


def test_an_answer_is_computed_once_for_the_same_parts(tmp_path: Path) -> None:
    asked: list[str] = []
    for text in ("a", "b", "a"):
        found = kept(lambda text=text: asked.append(text) or text * 2, text, 3, folder=tmp_path)  # type: ignore[misc]
        assert found == text * 2
    assert asked == ["a", "b"]


def test_another_source_of_the_reference_has_answers_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(lambda: "old", "rules", folder=tmp_path) == "old"
    monkeypatch.setattr(answer_cache, "sources", lambda: "altered")
    assert kept(lambda: "new", "rules", folder=tmp_path) == "new"


def test_a_file_that_cannot_be_read_is_written_anew(tmp_path: Path) -> None:
    kept(lambda: "right", "rules", folder=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-3], b"no pickle"):
        file.write_bytes(damaged)
        assert kept(lambda: "right", "rules", folder=tmp_path) == "right"
        assert file.read_bytes() == whole


def test_errors_are_raised_each_time_and_not_kept(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept(lambda: 1 // 0, "rules", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_many_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: kept(lambda: long, "rules", folder=tmp_path), range(32)))
    assert set(answers) == {long}
    assert len(list(tmp_path.iterdir())) == 1


def test_without_a_folder_to_write_to_answers_are_computed(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert kept(lambda: "right", "rules", folder=blocked) == "right"
