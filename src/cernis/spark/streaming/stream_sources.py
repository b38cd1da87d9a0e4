"""Sources by name, as commands have them: a folder of files, a broker, whatever Spark reads."""

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
class Source:
    """A source that can be: what Spark is to read, and how."""

    format: str
    options: dict[str, str]

    def stream(self, spark: SparkSession) -> DataFrame | FolderSource:
        """The stream."""
        if self.format == _FILES:
            most = self.options.get("at_once")
            pattern = self.options.get("pattern", "*")
            folder = self.options["folder"]
            return files(spark, folder, pattern, None if most is None else int(most))
        if self.format == _BROKER:
            from cernis.spark.mqtt import register

            register(spark)
        return spark.readStream.format(self.format).options(**self.options).load()


def source_of(given: str, spool: Path) -> Source:
    """The source that is meant; a DataError if none is.

    - `files:FOLDER`, or a folder: files of any format; `?pattern=*.txt&at_once=1` may follow;
    - `mqtt://HOST:PORT/TOPIC`: text records from a broker, whose messages are kept in `spool`;
      what follows after `?` are further options of the source;
    - `spark:FORMAT?key=value&...`: text records in a column `value`, or records, from whatever
      Spark can read as a stream.
    """
    kind, _, rest = given.partition(":")
    if kind == "mqtt":
        return _broker(given, spool)
    if kind == "spark" and rest:
        return Source(*_parted(rest))
    named = rest if kind == "files" else given
    path, options = (named, {}) if Path(named).is_dir() else _parted(named)
    if not path or not Path(path).is_dir():
        raise DataError(f"there is no folder {path or given}; a source is {SHAPES}")
    unknown = sorted(set(options) - {"pattern", "at_once"})
    if unknown:
        raise DataError(f"files have no option {unknown[0]}; there are pattern and at_once")
    most = options.get("at_once")
    if most is not None and not (most.isdecimal() and len(most) < 10 and int(most)):
        raise DataError(f"at_once must be a positive whole number, not {most}")
    return Source(_FILES, {"folder": path, **options})


def _broker(given: str, spool: Path) -> Source:
    from cernis.spark.mqtt import options_of

    # In an address, # begins something else; in a topic it stands for all below.
    try:
        address = urlparse(given.replace("#", "%23"))
        own = {"host": address.hostname or "localhost", "port": str(address.port or 1883)}
    except ValueError as error:
        raise DataError(f"{given} is no address of a broker: {error}; write {SHAPES}") from None
    topic = unquote(address.path.removeprefix("/"))
    own |= {"topic": topic, "spool": str(spool), **dict(parse_qsl(address.query))}
    options_of(own)
    return Source(_BROKER, own)


def _parted(text: str) -> tuple[str, dict[str, str]]:
    name, _, options = text.partition("?")
    return name, dict(parse_qsl(options, keep_blank_values=True))
