"""Sources by name, for commands: a folder of files, a broker, or any source that Spark reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlparse

from cernis.errors import DataError
from cernis.spark.streaming.file_source import FolderSource, files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES: Final = "files"
_BROKER: Final = "cernis_mqtt"
SHAPES: Final = "files:FOLDER, mqtt://HOST:PORT/TOPIC or spark:FORMAT?key=value&key=value"
"""How sources are named."""


@dataclass(frozen=True)
class StreamSource:
    """A source of a stream: the format that Spark reads, and its options."""

    format: str
    options: dict[str, str]

    def stream(self, spark: SparkSession) -> DataFrame | FolderSource:
        """The stream that the source gives in a session."""
        if self.format == _FILES:
            most = self.options.get("at_once")
            pattern = self.options.get("pattern", "*")
            folder = self.options["folder"]
            return files(spark, folder, pattern, None if most is None else int(most))
        if self.format == _BROKER:
            from cernis.spark.mqtt import register

            register(spark)
        return spark.readStream.format(self.format).options(**self.options).load()


def source_of(name: str, spool: Path) -> StreamSource:
    """The source with this name; a DataError if there is none.

    - `files:FOLDER`, or a folder: files of any format; `?pattern=*.txt&at_once=1` may follow;
    - `mqtt://HOST:PORT/TOPIC`: text records from a broker, whose messages are kept in `spool`;
      what follows after `?` are further options of the source;
    - `spark:FORMAT?key=value&...`: text records in a column `value`, or records, from whatever
      Spark can read as a stream.
    """
    kind, _, rest = name.partition(":")
    if kind == "mqtt":
        return _broker(name, spool)
    if kind == "spark" and rest:
        return StreamSource(*_parted(rest))
    named = rest if kind == "files" else name
    path, options = (named, {}) if Path(named).is_dir() else _parted(named)
    if not path or not Path(path).is_dir():
        raise DataError(f"there is no folder {path or name}; a source is {SHAPES}")
    unknown = sorted(set(options) - {"pattern", "at_once"})
    if unknown:
        raise DataError(f"files have no option {unknown[0]}; there are pattern and at_once")
    most = options.get("at_once")
    if most is not None and not (most.isdecimal() and len(most) < 10 and int(most)):
        raise DataError(f"at_once must be a positive whole number, not {most}")
    return StreamSource(_FILES, {"folder": path, **options})


def _broker(name: str, spool: Path) -> StreamSource:
    from cernis.spark.mqtt import options_of

    # In an address, # begins a fragment; in a topic it stands for all topics below.
    try:
        address = urlparse(name.replace("#", "%23"))
        options = {"host": address.hostname or "localhost", "port": str(address.port or 1883)}
    except ValueError as error:
        raise DataError(f"{name} is no address of a broker: {error}; write {SHAPES}") from None
    topic = unquote(address.path.removeprefix("/"))
    options |= {"topic": topic, "spool": str(spool), **dict(parse_qsl(address.query))}
    options_of(options)
    return StreamSource(_BROKER, options)


def _parted(text: str) -> tuple[str, dict[str, str]]:
    name, _, options = text.partition("?")
    return name, dict(parse_qsl(options, keep_blank_values=True))
