"""Saved states that were altered, checksums and all, are refused or change nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cernis.errors import DataError
from cernis.session.saved import session_file
from cernis.session.saved.plain_trees import packed, sealed, unpacked
from tests.fuzz.saved_states import KINDS, saved, session_outcome, stream_outcome

SEEDS = range(100, 150)


@pytest.mark.parametrize("is_sealed", [False, True], ids=["as altered", "sealed anew"])
def test_altered_session_files_are_refused_or_can_be_used(is_sealed: bool) -> None:
    for seed in SEEDS:
        alteration, found = session_outcome(seed, is_sealed)
        where = f"seed {seed}: {alteration}\n{found.message}"
        assert not found.is_failure, where
        assert is_sealed or found.word != "other", where


@pytest.mark.parametrize("is_sealed", [False, True], ids=["as altered", "sealed anew"])
def test_altered_states_of_streams_are_refused_or_can_be_used(is_sealed: bool) -> None:
    for seed in SEEDS[::2]:
        alteration, found = stream_outcome(seed, is_sealed)
        where = f"seed {seed}: {alteration}\n{found.message}"
        assert not found.is_failure, where
        assert is_sealed or found.word != "other", where


def rows(tree: Any) -> Any:
    return tree["session"]["memory"]["rows"][0]


def put(tree: Any, name: str, content: Any) -> None:
    tree["session"][name] = content


ALTERATIONS: dict[str, tuple[Callable[[Any], object], str]] = {
    "codes without a value": (
        lambda tree: rows(tree)["arguments"][0].update(rows=np.array([9])), "unknown codes",
    ),
    "columns of different lengths": (
        lambda tree: rows(tree)["arguments"][0].update(rows=np.array([0, 0])), "lengths",
    ),
    "times that are none": (
        lambda tree: rows(tree)["columns"][0].update(rows=np.array([(1 << 63) - 2])),
        "a time of win has numbers that are not from",
    ),
    "a column of truth values": (
        lambda tree: rows(tree)["arguments"][0].update(rows=np.array([True])), "array of bool",
    ),
    "a relation of another program": (
        lambda tree: rows(tree).update(relation=["no such event", 1]), "there is no no such event",
    ),
    "a start after the last query": (lambda tree: put(tree, "start", 99), "before its start"),
    "an answer of another query": (lambda tree: put(tree, "last", 24), "not of its last query"),
    "values that nobody has counted": (
        lambda tree: tree["session"]["domains"][0].update(codes=np.array([0, 1 << 30])),
        "one value for each code",
    ),
    "a setting that makes no sense": (
        lambda tree: tree["settings"].update(tick=0), r"settings.tick is 0, not a number from 1",
    ),
}  # fmt: skip
"""What is altered in the file of a session, and what is said of it."""


@pytest.mark.parametrize("name", ALTERATIONS)
def test_the_error_says_what_does_not_fit(name: str, tmp_path: Path) -> None:
    alter, complaint = ALTERATIONS[name]
    _, tree = unpacked(saved("fluents"), session_file.LAYOUT)
    content = tree["content"]
    alter(content)
    (tmp_path / "s").write_bytes(packed(sealed(content), session_file.LAYOUT)[0])
    with pytest.raises(DataError, match=f"s cannot be restored: .*{complaint}"):
        KINDS["fluents"].program.restore(tmp_path / "s")


def test_a_length_alone_takes_no_memory() -> None:
    content, _ = packed({"numbers": np.full(70_000, 5)}, session_file.LAYOUT)
    assert len(unpacked(content, session_file.LAYOUT)[1]["numbers"]) == 70_000
    huge, _ = packed({"@": ["same", [5, 10**13], 0, "|u1"]}, session_file.LAYOUT)
    with pytest.raises(DataError, match="there is no array of 10000000000000 numbers 5"):
        unpacked(huge, session_file.LAYOUT)


def test_what_was_altered_after_it_was_sealed_is_refused(tmp_path: Path) -> None:
    _, tree = unpacked(saved("fluents"), session_file.LAYOUT)
    tree["content"]["settings"]["window"] = 21
    (tmp_path / "s").write_bytes(packed(tree, session_file.LAYOUT)[0])
    with pytest.raises(DataError, match="altered after it was written"):
        KINDS["fluents"].program.restore(tmp_path / "s")
