"""Streams on Spark: from streaming DataFrames to changes, restarted, and given what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cernis
from cernis.errors import DataError
from cernis.spark import Stream, files, fold, stream
from cernis.spark.sinks import MemorySink, ParquetSink
from cernis.spark.streaming.bucket_store import Checkpoint
from cernis.spark.worker_errors import explained
from tests.records.support import TOY
from tests.session.feeds import occurrences
from tests.spark.broker import Broker
from tests.spark.keyed import PROGRAMS
from tests.spark.keyed import stream as records
from tests.spark.streaming.test_local_stream import arrival, numeral

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*C070"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Intervals = set[tuple[Any, ...]]


def answer(changes: pa.Table) -> Intervals:
    return {
        (row["fluent"], tuple(map(numeral, row["args"])), numeral(row["value"]), row["start"],
         row["end"])
        for row in fold(changes).to_pylist()
    }  # fmt: skip


def expected(rules: str, lines: list[str], **settings: Any) -> Intervals:
    """What a run in the process says at its last query, happenings included."""
    result = cernis.load(rules).run("\n".join(lines) + "\n", **settings)
    found = {
        (row["fluent"], tuple(map(numeral, row["args"])), numeral(row["value"]), row["start"],
         row["end"])
        for row in result.intervals.to_pylist()
    }  # fmt: skip
    for name, args, start, end in occurrences(result.answer):
        is_point = start is None
        found.add((name, tuple(map(numeral, args)), None, end if is_point else start,
                   None if is_point else end))  # fmt: skip
    return found


class Folder:
    """A folder that files appear in as wholes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.count = 0

    def put(self, lines: list[str], ending: str = ".txt") -> None:
        beside = self.folder.with_name(f"{self.folder.name}-{self.count}")
        beside.write_text("\n".join(lines) + "\n")
        # The oldest come first.
        os.utime(beside, (1e9 + self.count, 1e9 + self.count))
        beside.replace(self.folder / f"{self.count:04}{ending}")
        self.count += 1


def memory(own: Stream) -> pa.Table:
    assert isinstance(own.sink, MemorySink)
    return own.sink.changes


def test_stages_restarts_and_late_records(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(5)
    keyed = PROGRAMS["pairs"]
    lines = sorted(records(keyed, random, 120, retractions=True), key=arrival)
    given = Folder(tmp_path / "in")
    sink = MemorySink()
    settings: dict[str, Any] = {"window": 60, "step": 8, "start": -8}
    for low in range(0, len(lines), 40):
        running = stream(
            keyed.rules, files(spark, given.folder), checkpoint=tmp_path / "checkpoint",
            partitions=3, sink=sink, **settings,
        )  # fmt: skip
        given.put(lines[low : low + 25])
        running.catch_up()
        given.put(lines[low + 25 : low + 40])
        running.catch_up()
        running.stop()
    running = stream(
        keyed.rules, files(spark, given.folder), checkpoint=tmp_path / "checkpoint",
        sink=sink, until_done=True, **settings,
    )  # fmt: skip
    given.put(["80"], ".clock")
    running.wait()
    running = stream(
        keyed.rules, files(spark, given.folder), checkpoint=tmp_path / "checkpoint",
        sink=sink, until_done=True, **settings,
    )  # fmt: skip
    running.wait()
    assert answer(sink.changes) == expected(keyed.rules, lines, end=80, **settings)
    assert json.loads((tmp_path / "checkpoint" / "stream.json").read_text())["partitions"] == 3


@pytest.mark.parametrize("moment", ["before the sink", "behind the sink", "behind the commit"])
def test_a_micro_batch_that_is_interrupted(
    moment: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it was, it is done again, and each of its changes is there once."""
    given = Folder(tmp_path / "in")
    given.put(["win_lottery|12|12|kim", "win_lottery|22|22|pat"])
    given.put(["lose_wallet|31|31|kim", "win_lottery|45|45|ann"])
    feed = ParquetSink(tmp_path / "feed")
    broken = [True]

    def interrupt(at: str) -> None:
        if moment == at and broken:
            broken.clear()
            raise DataError("interrupted")

    def write(batch: int, changes: pa.Table) -> None:
        interrupt("before the sink")
        feed.write(batch, changes)
        interrupt("behind the sink")

    committed = Checkpoint.commit

    def commit(self: Checkpoint, version: int, told: Any) -> None:
        committed(self, version, told)
        interrupt("behind the commit")

    monkeypatch.setattr(Checkpoint, "commit", commit)
    for attempt in range(2):
        running = stream(
            TOY, files(spark, given.folder, at_once=1), checkpoint=tmp_path / "c", window=100,
            step=10, partitions=2, sink=write, until_done=True, start=0,
        )  # fmt: skip
        if attempt == 0:
            with pytest.raises(DataError, match="interrupted"):
                running.wait()
    running.wait()
    changes = ds.dataset(tmp_path / "feed", partitioning="hive").to_table()
    lines = ["win_lottery|12|12|kim", "win_lottery|22|22|pat", "lose_wallet|31|31|kim"]
    settings = {"window": 100, "step": 10, "start": 0, "end": 40}
    assert answer(changes) == expected(TOY, lines, **settings)
    keys = [(*row.values(),) for row in changes.drop_columns(["batch", "args"]).to_pylist()]
    people = changes["args"].to_pylist()
    assert len({(*key, *args) for key, args in zip(keys, people, strict=True)}) == len(keys)


def test_a_deadline_without_an_event(spark: SparkSession, tmp_path: Path) -> None:
    """An effect is due in a bucket that hears nothing more: others move the clock."""
    rules = """
    initiatedAt(on(X)=true, T) :- happensAt(push(X), T).
    fi(on(X)=true, on(X)=false, 10).
    """
    given = Folder(tmp_path / "in")
    running = stream(
        rules, files(spark, given.folder), checkpoint=tmp_path / "c", window=100, step=5,
        partitions=4, lateness=3,
    )  # fmt: skip
    given.put(["push|1|1|lonely"])
    running.catch_up()
    given.put([f"push|{time}|{time}|busy" for time in (8, 18, 23)])
    running.catch_up()
    lonely = [
        (row["change"], row["value"], row["start"], row["end"], row["query_time"])
        for row in memory(running).to_pylist() if row["args"] == ["lonely"]
    ]  # fmt: skip
    running.stop()
    assert lonely == [
        ("insert", "true", 2, 12, 5), ("insert", "false", 12, None, 15),
    ] or lonely == [
        ("insert", "true", 2, None, 5), ("delete", "true", 2, None, 15),
        ("insert", "true", 2, 12, 15), ("insert", "false", 12, None, 15),
    ]  # fmt: skip


def test_dataframes_of_relations_and_of_records(spark: SparkSession, tmp_path: Path) -> None:
    go, win = tmp_path / "go", tmp_path / "win"
    for folder, table in (
        (
            go,
            {
                "occurrence": [9, 9, 17],
                "X": ["chris"] * 3,
                "Y": ["work", "work", "pub"],
                "id": [1, 1, 2],
            },
        ),
        (win, {"occurrence": [13], "X": ["chris"], "id": [2]}),
    ):
        folder.mkdir()
        pq.write_table(pa.table(table), folder / "part.parquet")
    frames = {
        name: spark.readStream.schema(f"occurrence bigint, {more}, id bigint").parquet(str(folder))
        for name, more, folder in (
            ("go_to", "X string, Y string", go), ("win_lottery", "X string", win)
        )
    }  # fmt: skip
    running = stream(
        TOY, frames, checkpoint=tmp_path / "c", window=100, step=4, partitions=2, until_done=True,
        ids="id",
    )  # fmt: skip
    running.wait()
    assert ("rich", ("chris",), "true", 14, None) in answer(memory(running))
    assert running.metrics.events == 4
    assert running.metrics.duplicates == 1
    others = {name: frame.drop("id") for name, frame in frames.items()}
    with pytest.raises(DataError, match="of another stream: its ids is id, not "):
        stream(TOY, others, checkpoint=tmp_path / "c", window=100, step=4, partitions=2)
    named = frames["win_lottery"].selectExpr("'win_lottery' as name", "occurrence", "array(X) args")
    clock = named.selectExpr("'$clock' as name", "20L as occurrence", "args")
    running = stream(
        TOY, named.unionAll(clock), checkpoint=tmp_path / "d", window=100, step=4, partitions=1,
        until_done=True,
    )  # fmt: skip
    running.wait()
    assert answer(memory(running)) == {
        ("rich", ("chris",), "true", 14, None), ("happy", ("chris",), "true", 14, None),
        ("party", ("chris",), None, 13, None),
    }  # fmt: skip
    assert running.metrics.query_time == 20


def test_records_that_are_not_used(spark: SparkSession, tmp_path: Path) -> None:
    given = Folder(tmp_path / "in")
    running = stream(
        TOY, files(spark, given.folder), checkpoint=tmp_path / "c", window=20, step=10,
        partitions=2, future=50,
    )  # fmt: skip
    given.put([
        "win_lottery|12|12|kim", "rain|12|12", "win_lottery|soon|12|kim", "-lose_wallet|13|12|kim",
        "win_lottery|9000|9000|pat", "win_lottery|13|13|ann", "win_lottery|14|14|ann",
    ])  # fmt: skip
    running.catch_up()
    given.put(["win_lottery|61|61|eve", "win_lottery|61|62|eve"])
    running.catch_up()
    # The clock is at 61, so 60 was asked: all up to 40 is forgotten.
    given.put(["win_lottery|35|35|late", "win_lottery|75|75|eve"])
    running.catch_up()
    running.stop()
    reasons = sorted(aside.reason for aside in running.set_aside)
    own = running.metrics
    assert reasons == [
        "a time must be a whole number or like 2026-03-29T03:00",
        "it is of the future: farther ahead than is allowed",
        "there is no record to retract",
        "too late: it arrived when this time was forgotten",
    ]
    assert (own.ignored, own.set_aside, own.too_late, own.clock) == (1, 3, 1, 75)


def test_a_file_of_nothing(spark: SparkSession, tmp_path: Path) -> None:
    given = Folder(tmp_path / "in")
    running = stream(
        TOY, files(spark, given.folder), checkpoint=tmp_path / "c", window=20, partitions=2
    )
    given.put([])
    running.catch_up()
    given.put(["win_lottery|12|12|kim", "win_lottery|42|42|kim"])
    running.catch_up()
    given.put([])
    running.catch_up()
    running.stop()
    assert running.metrics.batches == 3
    assert [row["fluent"] for row in memory(running).to_pylist()] == ["happy", "rich", "party"]


@pytest.mark.parametrize("kind", ["files", "records", "frames"])
def test_time_goes_on_without_records(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    from tests.spark.test_mqtt import until

    now = int(time.time())
    given = Folder(tmp_path / "in")
    given.put([f"{now - 60}|kim"])
    rows = spark.readStream.text(str(given.folder)).selectExpr("split(value, '[|]') f")
    rows = rows.selectExpr("cast(f[0] as bigint) occurrence", "f[1] X")
    frame: Any = {"win_lottery": rows}
    if kind == "records":
        frame = rows.selectExpr("'win_lottery' name", "timestamp_seconds(occurrence) occurrence",
                                "array(X) args")  # fmt: skip
    elif kind == "files":
        given.put([f"win_lottery|{now - 60}|{now - 60}|kim"])
        frame = files(spark, given.folder)
    running = stream(
        TOY, frame, checkpoint=tmp_path / "c", window=1000, step=10, partitions=2, heartbeat=5,
        epoch=True,
    )  # fmt: skip
    until(lambda: (running.metrics.query_time or 0) >= now - 20, 60)
    running.stop()
    assert ("rich", ("kim",), "true", now - 59, None) in answer(memory(running))


ODD = ("a#b.txt", "a?b.txt", "a b.txt", "a%20b.txt", "_a.txt", "ä.txt", "a:b.txt", "a\nb.txt")


def test_files_of_any_name_and_age_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    """After the first micro-batch, too, and after a restart; what is skipped is named."""
    folder = tmp_path / "in # 50%?"
    (folder / "_below").mkdir(parents=True)

    def put(name: str, person: str, at: int, age: float = 0) -> None:
        beside = tmp_path / "beside"
        beside.write_text(f"win_lottery|{at}|{at}|{person}\n")
        os.utime(beside, (time.time() - age,) * 2)
        beside.replace(folder / name)

    def start(**more: Any) -> Stream:
        return stream(
            TOY, files(spark, folder), checkpoint=tmp_path / "c", window=1000, step=10, start=0,
            partitions=2, sink=sink, **more,
        )  # fmt: skip

    sink = MemorySink()
    put("first.txt", "first", 5)
    running = start()
    running.catch_up()
    for number, name in enumerate(ODD):
        put(name, f"p{number}", 10 + number, age=number * 1e7)
    put("_below/_old.txt", "below", 30, age=1e9)
    (folder / ".hidden.txt").write_text("win_lottery|31|31|nobody\n")
    (folder / "broken.parquet").write_text("this is none")
    running.catch_up()
    running.stop()
    assert running.metrics.events == 2 + len(ODD)
    assert running.metrics.skipped_files == 2
    assert sorted(Path(each.source).name for each in running.skipped) == [
        ".hidden.txt", "broken.parquet",
    ]  # fmt: skip
    put("ancient.txt", "ancient", 40, age=1.5e9)
    running = start(until_done=True)
    running.wait()
    assert (running.metrics.events, running.metrics.skipped_files) == (1, 0)
    put("last.clock", "", 0)
    (folder / "last.clock").write_text("60")
    running = start(until_done=True)
    running.wait()
    people = [f"p{number}" for number in range(len(ODD))]
    told = {args[0] for name, args, *_ in answer(sink.changes) if name == "rich"}
    assert told == {"first", "below", "ancient", *people}


def test_a_checkpoint_that_has_lost_its_list_of_files(spark: SparkSession, tmp_path: Path) -> None:
    given = Folder(tmp_path / "in")
    given.put(["win_lottery|12|12|kim"])
    source = files(spark, given.folder)
    stream(TOY, source, checkpoint=tmp_path / "c", window=20, partitions=1, until_done=True).wait()
    (tmp_path / "c" / "files" / "log").unlink()
    with pytest.raises(DataError, match="which says what files were read"):
        stream(TOY, source, checkpoint=tmp_path / "c", window=20, partitions=1)
    with pytest.raises(DataError, match="there is no folder"):
        files(spark, tmp_path / "nowhere")


# -- what is refused -------------------------------------------------------------------------------


def test_a_checkpoint_of_another_stream(spark: SparkSession, tmp_path: Path) -> None:
    given = Folder(tmp_path / "in")
    given.put(["win_lottery|12|12|kim", "win_lottery|42|42|kim"])

    luck = tmp_path / "luck.csv"
    luck.write_text("who,much\nkim,3\n")
    lucky = "lucky(X) :- luck(X, M), M > 2.\ngrounding(rich(X)=true) :- lucky(X).\n"

    def start(rules: str = TOY + lucky, **more: Any) -> Stream:
        settings = {"window": 20, "partitions": 2, "until_done": True, "facts": [luck], **more}
        return stream(rules, files(spark, given.folder), checkpoint=tmp_path / "c", **settings)

    start().wait()
    with pytest.raises(DataError, match="is of another stream: its program is"):
        start(TOY.replace("pub", "bar") + lucky)
    start().wait()
    luck.write_text("who,much\nkim,1\n")
    with pytest.raises(DataError, match="is of another stream: the facts of luck/2 were others"):
        start()
    luck.write_text("who,much\nkim,3\n")
    with pytest.raises(DataError, match="its window is 20, not 30"):
        start(window=30)
    with pytest.raises(DataError, match="its partitions is 2, not 3"):
        start(partitions=3)
    shutil.rmtree(tmp_path / "c" / "spark")
    with pytest.raises(DataError, match="has a state but no .*spark"):
        start()


def test_a_damaged_state_names_the_bucket(spark: SparkSession, tmp_path: Path) -> None:
    given = Folder(tmp_path / "in")
    given.put(["win_lottery|12|12|kim"])

    def start() -> Stream:
        return stream(
            TOY, files(spark, given.folder), checkpoint=tmp_path / "c", window=20, partitions=2,
            until_done=True,
        )  # fmt: skip

    start().wait()
    (file,) = (tmp_path / "c" / "state" / "01-00001").glob("*.state")
    whole = bytearray(file.read_bytes())
    whole[-20] ^= 255
    file.write_bytes(whole)
    given.put(["win_lottery|42|42|kim"])
    with pytest.raises(DataError, match="state of bucket 1 of stage 1 cannot be used"):
        start().wait()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"policy": "soon"}, "the policy is one of early, partial, final, not soon"),
        ({"lateness": "x"}, "lateness must be"),
        ({"window": "0"}, "window must be"),
        ({"sink": "paquet:x"}, "there is no sink"),
    ],
)
def test_settings(given: dict[str, Any], told: str, spark: SparkSession, tmp_path: Path) -> None:
    Folder(tmp_path / "in")
    settings = {"window": 10, **given}
    with pytest.raises(DataError, match=told):
        stream(TOY, files(spark, tmp_path / "in"), checkpoint=tmp_path / "c", **settings)


@pytest.mark.parametrize("name", ["patterns", "patterns of pairs"])
def test_event_patterns(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """Late, taken back, started again: in the end, what a run says."""
    keyed = PROGRAMS[name]
    lines = sorted(records(keyed, Random(8), 90, retractions=True), key=arrival)
    given, sink = Folder(tmp_path / "in"), MemorySink()
    settings: dict[str, Any] = {"window": 20, "step": 8, "start": -8}
    for piece in (lines[:30], lines[30:70], lines[70:], ["80"]):
        given.put(piece, ".clock" if piece == ["80"] else ".txt")
        running = stream(
            keyed.rules, files(spark, given.folder), checkpoint=tmp_path / "checkpoint",
            partitions=3, sink=sink, until_done=True, **settings,
        )  # fmt: skip
        running.wait()
    assert answer(sink.changes) == expected(keyed.rules, lines, end=80, **settings)


def test_rows_that_are_nothing_we_know(spark: SparkSession, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").load().select("timestamp")
    with pytest.raises(DataError, match="must have a column name"):
        stream(TOY, rate, checkpoint=tmp_path / "c", window=10)
    still = spark.createDataFrame([("win_lottery|1|1|kim",)], "value string")
    with pytest.raises(DataError, match="must come from readStream"):
        stream(TOY, still, checkpoint=tmp_path / "c", window=10)
    with pytest.raises(DataError, match="must be a streaming DataFrame"):
        stream(TOY, "events.txt", checkpoint=tmp_path / "c", window=10)


def test_errors_of_sinks_are_told(spark: SparkSession, tmp_path: Path) -> None:
    given = Folder(tmp_path / "in")
    given.put(["win_lottery|12|12|kim"])

    def fail(batch: int, changes: pa.Table) -> None:
        raise DataError("the sink is full")

    running = stream(
        TOY, files(spark, given.folder), checkpoint=tmp_path / "c", window=20, sink=fail,
        partitions=1, until_done=True,
    )  # fmt: skip
    with pytest.raises(DataError, match="the sink is full"), explained():
        running.wait()


# -- from a broker ---------------------------------------------------------------------------------


def test_from_a_broker_that_goes_away(spark: SparkSession, tmp_path: Path) -> None:
    from cernis.spark.streaming.stream_sources import source_of
    from tests.spark.test_mqtt import until

    broker = Broker(tmp_path / "broker")
    broker.start()
    try:
        source = f"mqtt://127.0.0.1:{broker.port}/ships/#"
        running = stream(
            TOY, source_of(source, tmp_path / "spool").stream(spark), checkpoint=tmp_path / "c",
            window=100, step=10, partitions=2,
        )  # fmt: skip
        # Who subscribes gets what is retained.
        broker.send("ships/r", ["lose_wallet|11|11|ann"], retain=True)
        until(lambda: running.metrics.events == 1, 60)
        broker.send("ships/a", ["win_lottery|12|12|kim\nwin_lottery|13|13|pat"])
        until(lambda: running.metrics.events == 3, 60)
        broker.stop()
        broker.start()
        broker.send("ships/b", ["$clock|30"])
        until(lambda: running.metrics.query_time == 30, 60)
        # A message has as many lines as it likes, and tells the time in any of them.
        broker.send("ships/c", [
            "$clock|40\nwin_lottery|38|38|eve\nwin_lottery|39|39|joe",
            "win_lottery|51|51|zoe\n$clock|60\nwin_lottery|52|52|max",
            "$clock|9999999999999999999\n$clock|1700000000000\nwin_lottery|53|53|ida",
        ])  # fmt: skip
        until(lambda: running.metrics.query_time == 60, 60)
        until(lambda: running.metrics.set_aside == 2, 60)
        running.stop()
    finally:
        broker.stop()
    people = {"ann", "kim", "pat", "eve", "joe", "zoe", "max"}
    told = {args[0] for name, args, *_ in answer(memory(running)) if name == "rich"}
    assert people - {"ann"} <= told <= people | {"ida"}
    assert running.metrics.ignored == 0
    assert sorted(each.text for each in running.set_aside) == [
        "$clock|1700000000000", "$clock|9999999999999999999",
    ]  # fmt: skip
    assert ("rich", ("pat",), "true", 14, None) in answer(memory(running))


@pytest.mark.parametrize("uncertain", [False, True], ids=["certain", "uncertain"])
def test_fluents_that_a_stream_never_brings_are_named(
    uncertain: bool, spark: SparkSession, tmp_path: Path
) -> None:
    """Also after it was started again: what came before is not missed."""
    rules = "near(P)=true iff distance(P)=close, orientation(P)=same.\n"
    folder = Folder(tmp_path / "in")

    def missing() -> list[str]:
        source = files(spark, folder.folder)
        running = stream(
            rules, source, checkpoint=tmp_path / "c", window=20, step=10, partitions=2,
            until_done=True, uncertain=uncertain,
        )  # fmt: skip
        running.wait()
        return running.notices.missing()

    folder.put(["distance|1|1|close|ann"])
    told = ["rules read orientation/1, which nothing defines and no record is of"]
    assert missing() == told
    folder.put(["$clock|40"])
    assert missing() == told
    folder.put(["orientation|41|41|same|ann"])
    assert missing() == []
