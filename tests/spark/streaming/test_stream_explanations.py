"""Streams explain what they reported, from their checkpoint and from their input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cernis
from cernis.answers.answer_lines import argument_text
from cernis.errors import DataError
from cernis.knowledge.ground_values import field_value
from cernis.plan.properties.definition_diff import fact_digests
from cernis.session.feed import FEED
from cernis.spark import explain_stream, files, fold, stream
from cernis.spark.streaming.bucket_store import Checkpoint
from cernis.spark.streaming.saved_stream import SavedStream
from tests.cli.command import run
from tests.spark.keyed import PROGRAMS
from tests.spark.keyed import stream as random_stream
from tests.spark.streaming.local_stream import LocalStream, stream_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
initiatedAt(level(B)=critical, T)  :- happensAt(hr(B, R), T), R > 120.
terminatedAt(level(B)=critical, T) :- happensAt(hr(B, R), T), R < 100.
happensAt(alarm(B), T) :- happensAt(start(level(B)=critical), T).
initiatedAt(alike(A, B)=true, T) :-
    happensAt(meet(A, B), T), holdsAt(level(A)=critical, T), holdsAt(level(B)=critical, T).
terminatedAt(alike(A, B)=true, T) :- happensAt(leave(A, B), T).
"""
RECORDS = [
    "hr|2|2|b7|130", "hr|3|3|b9|125", "meet|6|6|b7|b9", "hr|14|14|b7|90", "hr|15|15|b9|118",
    "hr|22|22|b9|126", "hr|24|24|b8|140", "leave|25|25|b7|b9", "$clock|40",
]  # fmt: skip


def committed(own: LocalStream, batches: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Let a stream take micro-batches, and write what Spark's part of it writes beside them."""
    folder, program = Checkpoint(own.folder), own.program
    folder.claim({
        "program": program.plan.fingerprint, "facts": fact_digests(program.checked),
        "window": own.window, "step": own.step, "policy": own.policy, "start": own.start,
        "tick": own.tick, "ties": own.ties, "ids": own.ids or "", "epoch": False,
        "partitions": own.buckets, "causes": own.causes,
        "uncertain": own.likely is not None and asdict(own.likely),
    })  # fmt: skip
    changes = []
    for number, lines in enumerate(batches):
        changes += own.take(lines)
        folder.commit(number, {
            "state": own.state, "clock": own.clock, "query": own.told["query_time"],
            "dated": False,
        })  # fmt: skip
    return changes


@pytest.mark.parametrize("buckets", [1, 3])
def test_the_records_of_the_window_explain(buckets: int, tmp_path: Path) -> None:
    own = stream_of(RULES, tmp_path, 30, 10, buckets=buckets, start=0)
    committed(own, [RECORDS[:4], RECORDS[4:8], ["$clock|31"]])
    explanation = explain_stream(own.program, tmp_path, "alike(b7, b9)", 20)
    assert explanation.holds
    assert {record.text for record in explanation.records} == {
        "hr|2|2|b7|130", "hr|3|3|b9|125", "meet|6|6|b7|b9", "leave|25|25|b7|b9",
    }  # fmt: skip
    assert "(window)" in explanation.text()
    why_not = explain_stream(own.program, tmp_path, "level(b7)=critical", 20)
    assert not why_not.holds
    assert explain_stream(own.program, tmp_path, "alarm(b8)", 24).holds


def test_what_the_window_has_forgotten_is_explained_from_the_input(tmp_path: Path) -> None:
    own = stream_of(RULES, tmp_path, 10, 10, buckets=2, start=0)
    committed(own, [RECORDS, ["$clock|51"]])
    held = explain_stream(own.program, tmp_path, "level(b9)=critical", 45)
    assert held.text().splitlines() == [
        "level(b9)=critical holds on [4,inf)",
        "└─ it rests on records up to 40, which the window has forgotten",
    ]
    whole = explain_stream(own.program, tmp_path, "level(b9)=critical", 45, events=RECORDS[:-1])
    assert "record hr|3|3|b9|125  (record:2)" in whole.text()
    assert "the stream has" not in whole.text()


def test_input_that_the_stream_has_not_read_is_told(tmp_path: Path) -> None:
    own = stream_of(RULES, tmp_path, 10, 10, start=0)
    committed(own, [RECORDS, ["$clock|51"]])
    other = [*RECORDS[:-1], "hr|30|30|b9|80"]
    text = explain_stream(own.program, tmp_path, "level(b9)=critical", 45, events=other).text()
    assert "the stream has the interval [4,inf): it has read other records" in text


def test_a_checkpoint_of_other_rules_or_none_is_refused(tmp_path: Path) -> None:
    own = stream_of(RULES, tmp_path, 10, 10, start=0)
    with pytest.raises(DataError, match="there is no checkpoint of a stream in"):
        explain_stream(own.program, tmp_path, "level(b9)=critical")
    committed(own, [["hr|2|2|b7|130"]])
    with pytest.raises(DataError, match="has answered no query yet"):
        explain_stream(own.program, tmp_path, "level(b9)=critical")
    with pytest.raises(DataError, match="of a stream with other rules"):
        explain_stream(cernis.load(RULES + "f(1)."), tmp_path, "level(b9)=critical")


def test_the_command_explains_a_stream(tmp_path: Path) -> None:
    rules, state = tmp_path / "rules.cer", tmp_path / "state"
    rules.write_text(RULES)
    own = stream_of(RULES, state, 30, 10, start=0)
    committed(own, [RECORDS])
    done = run("explain", rules, "level(b8)=critical", "--at", "29", "--checkpoint", state)
    assert (done.code, done.err) == (0, "")
    assert "record hr|24|24|b8|140  (window)" in done.out
    wrong = run("explain", rules, "level(b8)", "--checkpoint", state, "--window", "10")
    assert wrong.code == 2
    assert "with --checkpoint" in wrong.err
    nothing = run("explain", rules, "level(b8)")
    assert nothing.code == 2
    assert "--input" in nothing.err


def test_a_stream_on_spark_explains_itself(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number, lines in enumerate((RECORDS[:4], RECORDS[4:])):
        (folder / f"{number}.txt").write_text("\n".join(lines) + "\n")
    running = stream(
        cernis.load(RULES), files(spark, folder), window=10, step=10, until_done=True,
        checkpoint=tmp_path / "state", sink="memory", partitions=2,
    )  # fmt: skip
    assert running.wait(120)
    assert "which the window has forgotten" in running.explain("level(b9)=critical").text()
    records = sorted(folder.iterdir())
    text = running.explain("level(b9)=critical", events=records).text()
    assert "record hr|3|3|b9|125  (" in text
    assert "the stream has" not in text
    program = cernis.load(RULES)
    assert explain_stream(program, tmp_path / "state", "level(b8)=critical", 30).holds


def test_records_with_ids_are_explained_from_the_state(tmp_path: Path) -> None:
    own = stream_of(RULES, tmp_path, 30, 10, start=0, ids="id")
    committed(own, [["hr|2|2|b7|130|a", "hr|2|2|b7|130|a", "$clock|21"]])
    explanation = explain_stream(own.program, tmp_path, "level(b7)=critical", 9)
    assert [record.text for record in explanation.records] == ["hr|2|2|b7|130"]
    with pytest.raises(DataError, match="records of this stream have ids"):
        explain_stream(own.program, tmp_path, "level(b7)=critical", 9, events=RECORDS[:1])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_interval_of_a_random_stream_is_explained(
    name: str, seed: int, tmp_path: Path
) -> None:
    """What the state has is what the tree says, and the records that it names give it again."""
    random = Random(f"why {name} {seed}")
    keyed = PROGRAMS[name]
    lines = random_stream(keyed, random, 50, retractions=seed % 2 == 0)
    own = stream_of(
        keyed.rules, tmp_path, random.choice((15, 60)), random.choice((8, 15)),
        buckets=1 if name == "foreign domain" else random.choice((1, 2, 3)), start=0,
    )  # fmt: skip
    changes = committed(own, [lines, ["$clock|61"]])
    saved = SavedStream.of(tmp_path, [own.program.plan])
    rows = [row for row in _sum(changes) if row[2] is not None and "(" not in row[0]]
    rows = [row for row in rows if (row[4] or 1 << 60) > saved.edge + 1 and row[3] <= saved.query]
    for fluent, args, held, start, _ in random.sample(rows, min(len(rows), 4)):
        inside = ", ".join(argument_text(field_value(each)) for each in args)
        pair = f"{fluent}({inside})={argument_text(field_value(held))}"
        time = max(start, saved.edge + 1)
        explanation = explain_stream(own.program, tmp_path, pair, time, events=lines)
        assert explanation.holds, f"{name} {seed}: {pair} at {time}\n{explanation}"
        assert "the stream has" not in explanation.text(), f"{name} {seed}: {pair} at {time}"
        assert explain_stream(own.program, tmp_path, pair, time).holds, f"{name} {seed}: {pair}"


def _sum(changes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    table = pa.Table.from_pylist(changes, FEED)
    return [
        (row["fluent"], tuple(row["args"]), row["value"], row["start"], row["end"])
        for row in fold(table).to_pylist()
    ]


def _damaged(content: bytes, damage: str, random: Random) -> bytes:
    """The content of a file after some damage."""
    if damage == "cut":
        return content[: len(content) // 2]
    if damage == "changed" and content:
        place = random.randrange(len(content))
        return content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :]
    return {"empty": b"", "list": b"[]"}.get(damage, b"{}")


@pytest.mark.parametrize("damage", ["empty", "cut", "list", "braces", "changed", "gone"])
def test_a_damaged_checkpoint_is_one_sentence(damage: str, tmp_path: Path) -> None:
    """Whatever file is damaged, the error says so, or the answer does not need that file."""
    own = stream_of(RULES, tmp_path, 30, 10, buckets=2, start=0)
    committed(own, [RECORDS[:4], RECORDS[4:8], ["$clock|31"]])
    ask = partial(explain_stream, own.program, tmp_path, "alike(b7, b9)", 20)
    whole, refused = ask().text(), list[str]()
    random = Random(damage)
    for file in sorted(each for each in tmp_path.rglob("*") if each.is_file()):
        content = file.read_bytes()
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(_damaged(content, damage, random))
        try:
            ask()
        except DataError as error:
            refused.append(f"{file.name}: {error}")
        file.write_bytes(content)
    assert refused
    assert [each for each in refused if "\n" in each] == []
    assert ask().text() == whole
