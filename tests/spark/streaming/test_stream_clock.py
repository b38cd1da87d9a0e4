"""The clock of a stream: told anywhere in the input, and never moved by what is too far ahead."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cernis
from cernis.evaluate.windows import MOST_QUERIES
from cernis.records.record_shapes import Shapes
from cernis.spark.streaming.folder import Entry, address
from cernis.spark.streaming.stream_input import Input, RowKind, read
from tests.records.support import TOY
from tests.spark.keyed import PROGRAMS, stream
from tests.spark.streaming.local_stream import LocalStream, stream_of
from tests.spark.streaming.test_local_stream import arrival, as_changes, pieces

FAR = 1_700_000_000_000
"""Milliseconds where others have seconds."""


def toy(folder: Path, **more: Any) -> LocalStream:
    return stream_of(TOY, folder, 20, 10, **{"buckets": 2, **more})


def reasons(own: LocalStream) -> list[tuple[str, str]]:
    """What was set aside, and the first words of why."""
    return [(aside.text, aside.reason[:11]) for aside in own.told["aside"]]


# -- told by lines ---------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(3))
def test_a_message_tells_the_time_in_any_of_its_lines(at: int, tmp_path: Path) -> None:
    lines = ["win_lottery|12|12|kim", "win_lottery|13|13|pat"]
    lines.insert(at, "$clock|25")
    own = toy(tmp_path)
    changes = own.take(["\n".join(lines)])
    assert {row["args"][0] for row in changes if row["fluent"] == "rich"} == {"kim", "pat"}
    assert (own.told["clock"], own.told["query_time"], own.told["events"]) == (26, 20, 2)


@pytest.mark.parametrize("seed", range(4))
def test_how_lines_are_put_into_messages_makes_no_difference(seed: int, tmp_path: Path) -> None:
    print(f"seed {seed}")
    random = Random(seed)
    keyed = PROGRAMS["pairs"]
    lines = sorted(stream(keyed, random, 50), key=arrival)
    one = stream_of(keyed.rules, tmp_path / "one", 15, 3, buckets=2, start=0)
    two = stream_of(keyed.rules, tmp_path / "two", 15, 3, buckets=2, start=0)
    for batch in pieces(lines, random):
        batch = batch + [f"$clock|{arrival(line)}" for line in batch if random.random() < 0.3]
        random.shuffle(batch)
        messages = ["\r\n".join(piece) for piece in pieces(batch, random)]
        assert as_changes(one.take(batch)) == as_changes(two.take(messages))
        assert one.told["clock"] == two.told["clock"]
        assert one.told["events"] == two.told["events"]


@pytest.mark.parametrize(
    "line",
    ["$clock|soon", "$clock", "$clock|", "-$clock|30", "$clock|9999999999999999999", "$clock|3.5"],
)
def test_a_clock_without_a_time_is_set_aside(line: str, tmp_path: Path) -> None:
    own = toy(tmp_path)
    own.take(["win_lottery|12|12|kim", f"{line}\nwin_lottery|13|13|pat"])
    reason = "a time must" if line.endswith("9999") else "$clock tell"
    assert reasons(own) == [(line, reason)]
    assert (own.told["clock"], own.told["held"]) == (13, 0)


def test_dates_tell_the_time_too(tmp_path: Path) -> None:
    own = toy(tmp_path)
    own.take(["win_lottery|12|12|kim", "$clock|1970-01-01T00:00:44"])
    assert own.told["clock"] == 45


def test_rows_of_files_and_tables_tell_the_time(tmp_path: Path) -> None:
    shapes = Shapes(cernis.load(TOY).checked)
    lines = tmp_path / "some.jsonl"
    lines.write_text(
        '{"name": "$clock", "occurrence": 7}\n{"name": "$clock"}\n["$clock", 9, 9]\n'
        '{"name": "win_lottery", "occurrence": 3, "X": "kim"}\n'
    )
    text = tmp_path / "some.txt"
    text.write_text("win_lottery|4|4|pat\n$clock|8\n$clock|x\n")
    (tmp_path / "some.clock").write_text("11\n")
    (tmp_path / "bad.clock").write_text("eleven\n")
    paths = [str(tmp_path / name) for name in ("some.jsonl", "some.txt", "some.clock", "bad.clock")]
    entries = [Entry(address(path)).line() for path in paths]
    found = read([pa.record_batch({"value": entries})], Input(RowKind.FILES), 5, shapes)
    assert found.clock is not None
    assert sorted(found.clock.times.tolist()) == [7, 8, 9, 11]
    assert found.used == 2
    assert [(Path(each.source).name, each.line) for each in found.set_aside] == [
        ("some.jsonl", 2), ("some.txt", 3), ("bad.clock", 1),
    ]  # fmt: skip
    table = pa.record_batch({
        "name": ["$clock", "win_lottery", "$clock"], "occurrence": [5, 6, None],
        "args": [[], ["kim"], []],
    })  # fmt: skip
    found = read([table], Input(RowKind.RECORDS), 0, shapes)
    assert found.clock is not None
    assert found.clock.times.tolist() == [5]
    assert (found.used, len(found.set_aside)) == (1, 1)


def test_runs_know_no_clock() -> None:
    result = cernis.load(TOY).run("$clock|30\nwin_lottery|12|12|kim\nwin_lottery|13|13|pat\n")
    assert dict(result.summary.ignored) == {"$clock": 1}


# -- too far ahead -----------------------------------------------------------------------------


@pytest.mark.parametrize("future", [None, 50])
@pytest.mark.parametrize(
    "line", [f"win_lottery|{FAR}|{FAR}|eve", f"$clock|{FAR}", f"win_lottery|30|{FAR}|eve"]
)
def test_one_time_far_ahead(line: str, future: int | None, tmp_path: Path) -> None:
    """Alone in its micro-batch, it is set aside, and the stream goes on."""
    own = toy(tmp_path, future=future)
    own.take(["win_lottery|12|12|kim", "$clock|25"])
    assert own.take([line]) == []
    why = "it is of th" if future is not None and "|30|" in line else "its time is"
    assert reasons(own) == [(line, why)]
    assert own.told["clock"] == 26
    changes = own.take(["win_lottery|33|33|pat", "win_lottery|55|55|ann"])
    assert {row["args"][0] for row in changes if row["fluent"] == "rich"} == {"pat"}
    assert own.told["query_time"] == 50


@pytest.mark.parametrize("start", [None, 0])
@pytest.mark.parametrize("readers", [1, 2, 5])
def test_far_times_in_the_first_micro_batch(
    readers: int, start: int | None, tmp_path: Path
) -> None:
    """Where there is no clock yet, most records tell what it is, whoever has read them."""
    own = toy(tmp_path, start=start)
    lines = ["win_lottery|12|12|kim", f"win_lottery|{FAR}|{FAR}|eve", "win_lottery|13|13|pat",
             f"$clock|{FAR}", "win_lottery|31|31|ann"]  # fmt: skip
    changes = own.take(lines, readers)
    assert {row["args"][0] for row in changes if row["fluent"] == "rich"} == {"kim", "pat"}
    assert sorted(text for text, _ in reasons(own)) == sorted([lines[1], lines[3]])
    assert (own.told["clock"], own.told["query_time"], own.told["set_aside"]) == (31, 30, 2)


def test_a_time_long_ago_in_the_first_micro_batch(tmp_path: Path) -> None:
    own = toy(tmp_path)
    at = 1_700_000_000
    lines = [f"win_lottery|{at + n}|{at + n}|p{n}" for n in (2, 3, 15)]
    own.take([*lines, "win_lottery|3|3|old"], 3)
    assert reasons(own) == [("win_lottery|3|3|old", "its time is")]
    assert own.told["queries"] == 1


def test_a_clock_before_the_first_record_moves_nothing(tmp_path: Path) -> None:
    own = toy(tmp_path)
    own.take([f"$clock|{FAR}"])
    own.take(["win_lottery|12|12|kim", "win_lottery|25|25|pat"])
    assert (own.told["clock"], own.told["query_time"]) == (25, 20)


def test_as_many_queries_as_a_run_may_have(tmp_path: Path) -> None:
    own = toy(tmp_path, buckets=1)
    own.take(["win_lottery|12|12|kim"])
    near, far = 12 + 10 * MOST_QUERIES, 13 + 10 * MOST_QUERIES
    job = own.job
    found = read([pa.record_batch({"value": [f"win_lottery|{near}|{near}|a"]})], job.input, 0,
                 job.job.loaded.shapes)  # fmt: skip
    from cernis.spark.streaming.stream_clock import Clock, trusted

    told, aside = trusted(found, job)
    assert aside == []
    due = Clock(0, 12, 10).heard(told, job).due(job)
    assert len(due) == MOST_QUERIES
    own.take([f"win_lottery|{far}|{far}|a"])
    assert own.told["set_aside"] == 1


def test_equal_records_of_two_readers_are_two(tmp_path: Path) -> None:
    own = toy(tmp_path)
    own.take(["win_lottery|soon|12|kim", "win_lottery|soon|12|kim"], 2)
    assert own.told["set_aside"] == 2
    own.take(["-win_lottery|12|12|kim", "-win_lottery|12|12|kim", "$clock|20"], 2)
    assert own.told["set_aside"] == 0
    own.take(["win_lottery|13|13|kim", "$clock|40"])
    assert own.told["set_aside"] == 2


def test_times_and_steps_as_long_as_can_be(tmp_path: Path) -> None:
    own = stream_of(TOY, tmp_path, 1 << 61, 1 << 61, buckets=2)
    own.take([f"win_lottery|{time}|{time}|kim" for time in (-(1 << 62), 0, 1 << 62)], 1)
    assert own.told["set_aside"] == 0
    short = toy(tmp_path / "short")
    short.take([f"win_lottery|{time}|{time}|kim" for time in (-(1 << 62), 1, 2, 3, 1 << 62)], 1)
    assert short.told["set_aside"] == 2
