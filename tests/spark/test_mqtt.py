"""The MQTT source, against a real broker; and the spool it reads from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cernis.errors import DataError
from cernis.spark.mqtt import Listener, MqttReader, options_of, register
from cernis.spark.streaming import spool
from cernis.spark.streaming.spool import Message, Spool
from tests.spark.broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "broker")
    made.start()
    yield made
    made.stop()


def until(told: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not told():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


# -- the spool ---------------------------------------------------------------------------------


def texts(folder: Path, low: int, high: int) -> list[str]:
    return [
        value for batch in spool.read(folder, low, high) for value in batch["value"].to_pylist()
    ]


def messages(*payloads: str) -> list[Message]:
    return [Message("t", payload.encode(), 1) for payload in payloads]


def test_a_spool_goes_on_where_it_ended(tmp_path: Path) -> None:
    one = Spool(tmp_path)
    one.add(messages("a", "bc"))
    one.close()
    other = Spool(tmp_path)
    assert other.next == 2
    other.add([Message("other", b"d", 7)])
    other.close()
    (batch,) = spool.read(tmp_path, 1, 3)
    assert batch["value"].to_pylist() == ["bc", "d"]
    assert batch["topic"].to_pylist() == ["t", "other"]


def test_segments_are_removed_when_all_their_messages_are_done_with(tmp_path: Path) -> None:
    own = Spool(tmp_path, limit=4)
    for number in range(6):
        own.add(messages(f"m{number}", "x"))
    own.close()
    assert [segment.first for segment in spool.segments(tmp_path)] == [0, 4, 8]
    spool.forget(tmp_path, 7)
    assert spool.bounds(tmp_path) == (4, 12)
    assert texts(tmp_path, 7, 10) == ["x", "m4", "x"]
    with pytest.raises(DataError, match="has no message 3"):
        texts(tmp_path, 3, 10)


def test_what_a_crash_left_unfinished_is_cut_off(tmp_path: Path) -> None:
    own = Spool(tmp_path)
    own.add(messages("whole", "lost"))
    own.close()
    (segment,) = spool.segments(tmp_path)
    segment.data.write_bytes(segment.data.read_bytes()[:-2])
    own = Spool(tmp_path)
    assert own.next == 1
    own.add(messages("more"))
    own.close()
    assert texts(tmp_path, 0, 2) == ["whole", "more"]


def test_damage_is_told(tmp_path: Path) -> None:
    own = Spool(tmp_path)
    own.add(messages("first", "second"))
    own.close()
    (segment,) = spool.segments(tmp_path)
    segment.data.write_bytes(segment.data.read_bytes().replace(b"con", b"c0n"))
    with pytest.raises(DataError, match="is damaged"):
        texts(tmp_path, 0, 2)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    own = Spool(tmp_path)
    own.add([Message("t", b"\xff|1", 1), Message("t", b"fine", 1)])
    own.close()
    assert texts(tmp_path, 0, 2) == ["�|1", "fine"]


# -- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"spool": "s"}, "needs the option topic"),
        ({"topic": "t"}, "needs the option spool"),
        ({"topic": "t", "spool": "s", "port": "soon"}, "port must be a whole number"),
        ({"topic": "t", "spool": "s", "hots": "x"}, "has no option hots; there are ca_file"),
    ],
)
def test_options_that_do_not_do(given: dict[str, str], told: str) -> None:
    with pytest.raises(DataError, match=told):
        options_of(given)


# -- the broker --------------------------------------------------------------------------------


def reader(broker: Broker, folder: Path, **more: str) -> MqttReader:
    given = {
        "port": str(broker.port),
        "host": "127.0.0.1",
        "topic": "ships/#",
        "spool": str(folder),
    }
    return MqttReader(options_of({**given, **more}))


def read_all(own: MqttReader, start: dict[str, int], end: dict[str, int]) -> list[str]:
    return [
        value
        for part in own.partitions(start, end)
        for batch in own.read(part)
        for value in batch["value"].to_pylist()
    ]


def test_a_broker_that_goes_away_and_comes_back(broker: Broker, tmp_path: Path) -> None:
    own = reader(broker, tmp_path / "spool", partitions="3")
    start = own.initialOffset()
    no_limit = own.getDefaultReadLimit()
    until(lambda: is_subscribed(own))
    broker.send("ships/1", ["a", "b"])
    until(lambda: own.latestOffset(start, no_limit)["message"] == 2)
    broker.stop()
    time.sleep(0.3)
    broker.start()
    broker.send("ships/2", ["c"])
    until(lambda: own.latestOffset(start, no_limit)["message"] == 3)
    assert read_all(own, start, {"message": 3}) == ["a", "b", "c"]
    own.stop()


def is_subscribed(own: MqttReader) -> bool:
    listener = own._listener
    assert listener is not None
    return bool(listener.is_listening)


def test_the_broker_keeps_what_comes_while_nobody_listens(broker: Broker, tmp_path: Path) -> None:
    own = reader(broker, tmp_path / "spool")
    start = own.initialOffset()
    until(lambda: is_subscribed(own))
    own.stop()
    broker.send("ships/1", [f"m{number}" for number in range(100)])
    again = reader(broker, tmp_path / "spool", maxMessagesPerTrigger="30")
    again.initialOffset()
    until(lambda: again._listener is not None and again._listener.spool.next == 100)
    limit = again.getDefaultReadLimit()
    assert again.latestOffset(start, limit) == {"message": 30}
    assert read_all(again, {"message": 30}, {"message": 33}) == ["m30", "m31", "m32"]
    again.stop()


def test_one_writer_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_PATIENCE", 0.2)
    own = Spool(tmp_path)
    with pytest.raises(DataError, match="another process writes the spool"):
        Spool(tmp_path)
    own.close()


def test_a_spool_that_cannot_be_written(broker: Broker, tmp_path: Path) -> None:
    listener = Listener(reader(broker, tmp_path / "spool")._options)
    until(lambda: listener.is_listening)

    def fail(given: object) -> None:
        raise OSError(28, "No space left on device")

    listener.spool.add = fail  # type: ignore[method-assign, assignment]
    broker.send("ships/1", ["a"])
    until(lambda: listener._trouble is not None)
    with pytest.raises(DataError, match="No space left"):
        listener.end()
    listener.stop()


def test_a_stream_from_a_broker(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    frame = (
        spark.readStream.format("cernis_mqtt")
        .options(host="127.0.0.1", port=broker.port, topic="ships/#", spool=tmp_path / "spool")
        .load()
    )
    seen: list[Any] = []

    def take(batch: Any, number: int) -> None:
        seen.extend((row.topic, row.value) for row in batch.collect())

    query = frame.writeStream.foreachBatch(take).option(
        "checkpointLocation", str(tmp_path / "checkpoint")
    ).start()  # fmt: skip
    try:
        # Who subscribes gets what is retained.
        broker.send("ships/0", ["first"], retain=True)
        until(lambda: len(seen) == 1, 60)
        broker.send("ships/1", ["a", "b"])
        until(lambda: len(seen) == 3, 60)
    finally:
        query.stop()
    assert seen == [("ships/0", "first"), ("ships/1", "a"), ("ships/1", "b")]
