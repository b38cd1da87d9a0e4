"""The state of buckets: what comes back, what stays where it is, what is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cernis.errors import DataError
from cernis.spark.streaming import stream_state
from cernis.spark.streaming.live_buckets import LiveBuckets
from tests.spark.streaming.local_stream import LocalStream, stream_of
from tests.spark.streaming.test_local_stream import as_changes

FIRST = Path(__file__).parent / "saved" / "first"
"""The checkpoint of a stream as the first format has it."""

RULES = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
initiatedAt(at(X)=Y, T) :- happensAt(go(X, Y), T), \\+ happensAt(lose(X), T).
happy(X)=true iff rich(X)=true or at(X)=pub.
happensAt(party(X), T) :- happensAt(start(happy(X)=true), T).
initiatedAt(envies(X, Y)=true, T) :-
    happensAt(sees(X, Y), T), holdsAt(rich(Y)=true, T), \\+ holdsAt(happy(X)=true, T).
terminatedAt(envies(X, Y)=true, T) :- happensAt(sees(X, Y), T), happensAt(lose(Y), T).
"""
BATCHES = (
    ["win|3|3|ann", "win|4|4|bob", "sees|5|5|ann|bob", "sees|6|6|bob|zoë", "win|7|7|zoë"],
    ["lose|12|11|bob", "go|13|13|ann|pub", "sees|14|14|zoë|ann"],
    ["lose|16|9|zoë", "-win|17|4|bob", "win|18|18|7"],
)
LATER = (["lose|24|22|ann", "win|25|25|bob"], ["sees|33|33|bob|7", "lose|34|34|7"], ["$clock|90"])


def first_stream(folder: Path) -> LocalStream:
    """The stream whose checkpoint is kept beside this test."""
    return stream_of(RULES, folder, 20, 5, buckets=2, policy="partial")


def run(own: LocalStream, batches: tuple[list[str], ...]) -> list[object]:
    return [as_changes(own.take(lines)) for lines in batches]


def test_checkpoints_of_the_first_format_can_be_read(tmp_path: Path) -> None:
    shutil.copytree(FIRST, tmp_path / "there")
    there, anew = first_stream(tmp_path / "there"), first_stream(tmp_path / "anew")
    run(anew, BATCHES)
    there.batch, there.state, there.clock = anew.batch, anew.state, anew.clock
    expected = run(anew, LATER)
    assert run(there, LATER) == expected
    assert any(expected)


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = first_stream(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(stream_state, "LAYOUT", replace(stream_state.LAYOUT, format=99))
        run(own, BATCHES)
    own.live = LiveBuckets()
    with pytest.raises(DataError, match="bucket 0 of stage 1 cannot be used: it has format 99"):
        own.take(LATER[0])


def test_a_part_that_is_none_names_the_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = first_stream(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(stream_state, "packed", lambda *_: (b"print('harm')\n", {}))
        own.take(BATCHES[0])
    own.live = LiveBuckets()
    with pytest.raises(DataError, match="bucket 0 of stage 1 cannot be used: it is no state"):
        own.take(BATCHES[1])


def test_entities_of_long_ago_leave_no_trace(tmp_path: Path) -> None:
    own = first_stream(tmp_path)
    sizes = []
    for batch in range(60):
        at = 10 * batch
        own.take([f"win|{at + k}|{at + k}|visitor {batch} {k}" for k in range(10)])
        own.take([f"lose|{at + 9}|{at + 9}|visitor {batch} {k}" for k in range(10)])
        sizes.append(own.told["state_bytes"])
    assert max(sizes[40:]) < 1.2 * max(sizes[5:25])
