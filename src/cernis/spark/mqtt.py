"""`spark.readStream.format("cernis_mqtt")`: the messages of an MQTT broker, without loss.

One process beside the driver listens and writes the messages to a *spool* on disk; a message is
acknowledged to the broker once it is there. Spark reads from the spool, and again after a failure.
While nobody listens, the broker keeps the messages for the client of that name. If the broker
cannot be reached, the listener tries again until it can.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from cernis.errors import DataError
from cernis.spark.streaming import spool as spools
from cernis.spark.streaming.spool import Message, Spool

if TYPE_CHECKING:
    from paho.mqtt.client import Client
    from pyspark.sql import SparkSession

NAME: Final = "cernis_mqtt"

_KNOWN: Final = frozenset({
    "host", "port", "topic", "qos", "client_id", "spool", "username", "password", "tls", "ca_file",
    "maxmessagespertrigger", "partitions",
})  # fmt: skip
_LONGEST_WAIT: Final = 15
"""Seconds between two tries to reach a broker, at most."""


def register(spark: SparkSession) -> None:
    """Make the source known to a session."""
    spark.dataSource.register(MqttSource)


@dataclass(frozen=True)
class Options:
    """Which topics of which broker to listen to, and where to keep the messages."""

    host: str
    port: int
    topics: tuple[str, ...]
    qos: int
    client: str
    spool: Path
    username: str | None
    password: str | None
    tls: bool
    ca_file: str | None
    at_most: int | None
    partitions: int


def options_of(options: dict[str, str]) -> Options:
    """The options of a source.

    An option that is missing, unknown or not the number that it has to be is a DataError.
    """
    options = {key.lower(): value for key, value in options.items()}
    unknown = sorted(set(options) - _KNOWN - {"path"})
    if unknown:
        raise DataError(f"{NAME} has no option {unknown[0]}; there are {', '.join(sorted(_KNOWN))}")
    for key in ("topic", "spool"):
        if not options.get(key):
            raise DataError(f'{NAME} needs the option {key}: .option("{key}", ...)')
    topics = tuple(each.strip() for each in options["topic"].split(",") if each.strip())
    spool = Path(options["spool"]).absolute()
    default_client = f"cernis-{crc32(str(spool).encode()):08x}"
    most = _number(options, "maxmessagespertrigger", 0, 1 << 40)
    return Options(
        host=options.get("host") or "localhost",
        port=_number(options, "port", 1883, 65535),
        topics=topics,
        qos=_number(options, "qos", 1, 2),
        client=options.get("client_id") or default_client,
        spool=spool,
        username=options.get("username"),
        password=options.get("password"),
        tls=options.get("tls", "false").lower() == "true",
        ca_file=options.get("ca_file"),
        at_most=most or None,
        partitions=max(_number(options, "partitions", 2, 1 << 16), 1),
    )


def _number(options: dict[str, str], key: str, otherwise: int, most: int) -> int:
    text = options.get(key, str(otherwise))
    if not text.isdecimal() or len(text) > 15 or int(text) > most:
        raise DataError(f"{NAME}: {key} must be a whole number up to {most}, not {text}")
    return int(text)


class MqttSource(DataSource):
    """Columns `value` (the message as text), `topic`, `received`."""

    @classmethod
    def name(cls) -> str:
        """The name by which `format` knows the source."""
        return NAME

    def schema(self) -> str:
        """The columns."""
        return spools.DDL

    def streamReader(self, schema: Any) -> MqttReader:  # noqa: N802 - Spark's name
        """The reader of the spool."""
        return MqttReader(options_of(dict(self.options)))


@dataclass(frozen=True)
class Stretch(InputPartition):
    """Messages from `low` up to, not including, `high`."""

    low: int
    high: int


class MqttReader(DataSourceStreamReader):
    """Reads the spool; on the driver, it also starts the listener that fills it."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._listener: Listener | None = None

    def __getstate__(self) -> dict[str, object]:
        return {"_options": self._options, "_listener": None}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The first message that is there."""
        self._listen()
        return {"message": spools.bounds(self._options.spool)[0]}

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """As many messages as the option allows."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        most = self._options.at_most
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """After the last message that is on disk, as far as the limit goes."""
        end = self._listen().end()
        most = getattr(limit, "max_rows", None)
        return {"message": end if most is None else min(end, start["message"] + most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The messages in parts of about the same number."""
        low, high = start["message"], end["message"]
        count = min(self._options.partitions, high - low)
        cuts = (
            [low + (high - low) * number // count for number in range(count + 1)]
            if count > 0
            else []
        )
        return [Stretch(*each) for each in pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a part, as Arrow."""
        assert isinstance(partition, Stretch)
        yield from spools.read(self._options.spool, partition.low, partition.high)

    def commit(self, end: dict[str, int]) -> None:
        """Remove the segments whose messages Spark will not ask for again."""
        spools.forget(self._options.spool, end["message"])

    def stop(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            self._listener.stop()
            self._listener = None

    def _listen(self) -> Listener:
        if self._listener is None:
            self._listener = Listener(self._options)
        return self._listener


class Listener:
    """Listens to a broker and fills the spool, in threads of its own."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.spool = Spool(options.spool)
        self.is_listening = False
        self._waiting: list[tuple[Message, int, int]] = []
        self._guard = threading.Lock()
        self._news = threading.Event()
        self._stopped = threading.Event()
        self._trouble: BaseException | None = None
        self._client = self._connected()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def _connected(self) -> Client:
        try:
            from paho.mqtt.client import Client
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError:
            raise DataError(
                f"{NAME} needs paho-mqtt: pip install 'cernis[mqtt]' (on the driver)"
            ) from None
        options = self._options
        client = Client(
            CallbackAPIVersion.VERSION2, options.client, clean_session=False, manual_ack=True
        )
        if options.username is not None:
            client.username_pw_set(options.username, options.password)
        if options.tls:
            client.tls_set(options.ca_file)
        client.reconnect_delay_set(1, _LONGEST_WAIT)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_subscribe = self._on_subscribe
        client.connect_async(options.host, options.port)
        client.loop_start()
        return client

    def _on_connect(self, client: Client, data: Any, flags: Any, reason: Any, more: Any) -> None:
        if reason.is_failure:
            _log().warning("%s:%s refuses: %s", self._options.host, self._options.port, reason)
            return
        client.subscribe([(topic, self._options.qos) for topic in self._options.topics])

    def _on_subscribe(self, client: Client, data: Any, mid: int, reasons: Any, more: Any) -> None:
        refused = [str(reason) for reason in reasons if reason.is_failure]
        if refused:
            _log().warning("the broker refuses a topic of %s: %s", self._options.topics, refused[0])
        self.is_listening = not refused

    def _on_disconnect(self, client: Client, data: Any, flags: Any, reason: Any, more: Any) -> None:
        self.is_listening = False
        if not self._stopped.is_set():
            where = f"{self._options.host}:{self._options.port}"
            _log().warning("the broker %s is away (%s): trying again", where, reason)

    def _on_message(self, client: Client, data: Any, message: Any) -> None:
        came = Message(message.topic, message.payload, time.time_ns() // 1000)
        with self._guard:
            self._waiting.append((came, message.mid, message.qos))
        self._news.set()

    def end(self) -> int:
        """After the last message that is on disk; a DataError if no more can be put there."""
        if self._trouble is not None:
            raise DataError(f"the spool {self._options.spool} cannot be written: {self._trouble}")
        return self.spool.next

    def _write(self) -> None:
        """Write the messages that have come, all at once, while more are coming."""
        while not self._stopped.is_set():
            self._news.wait()
            self._news.clear()
            try:
                self._write_waiting()
            except OSError as error:
                # Nothing was acknowledged: the broker sends again to whoever listens next.
                self._trouble = error
                return

    def _write_waiting(self) -> None:
        with self._guard:
            taken, self._waiting = self._waiting, []
        self.spool.add([message for message, _, _ in taken])
        for _, number, qos in taken:
            if qos:
                self._client.ack(number, qos)

    def stop(self) -> None:
        """Write the messages that have come, and leave the broker."""
        self._stopped.set()
        self._news.set()
        self._writer.join()
        if self._trouble is None:
            self._write_waiting()
        self._client.disconnect()
        self._client.loop_stop()
        self.spool.close()


def _log() -> logging.Logger:
    return logging.getLogger("cernis.mqtt")
