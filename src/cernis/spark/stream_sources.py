"""Sources by name, as commands have them: a folder of files, a broker, whatever Spark reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlparse

from cernis.errors import DataError
from cernis.spark.stream_input import files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHAPES: Final = "files:FOLDER, mqtt://HOST:PORT/TOPIC or spark:FORMAT?key=value&key=value"
"""How sources are named."""


def source_of(spark: SparkSession, given: str, spool: Path) -> DataFrame:
    """The stream that is meant; a DataError if none is.

    - `files:FOLDER`, or a folder: files of any format; `?pattern=*.txt&at_once=1` may follow;
    - `mqtt://HOST:PORT/TOPIC`: text records from a broker, whose messages are kept in `spool`;
      what follows behind `?` are further options of the source;
    - `spark:FORMAT?key=value&...`: text records in a column `value`, or records, from whatever
      Spark can read as a stream.
    """
    kind, _, rest = given.partition(":")
    if kind == "mqtt":
        return _from_broker(spark, given, spool)
    if kind == "spark" and rest:
        name, options = _parted(rest)
        return spark.readStream.format(name).options(**options).load()
    path, options = _parted(rest if kind == "files" else given)
    if not path or not Path(path).is_dir():
        raise DataError(f"there is no folder {path or given}; a source is {SHAPES}")
    unknown = sorted(set(options) - {"pattern", "at_once"})
    if unknown:
        raise DataError(f"files have no option {unknown[0]}; there are pattern and at_once")
    most = options.get("at_once")
    if most is not None and (not most.isdecimal() or not int(most)):
        raise DataError(f"at_once must be a positive whole number, not {most}")
    return files(spark, path, options.get("pattern", "*"), None if most is None else int(most))


def _from_broker(spark: SparkSession, given: str, spool: Path) -> DataFrame:
    from cernis.spark.mqtt import NAME, options_of, register

    address = urlparse(given)
    topic = address.path.removeprefix("/")
    if address.fragment or "#" in given:
        # In an address, # begins something else; in a topic it stands for all below.
        topic += "#" + address.fragment
    own = {"host": address.hostname or "localhost", "port": str(address.port or 1883)}
    own |= {"topic": topic, "spool": str(spool), **dict(parse_qsl(address.query))}
    options_of(own)
    register(spark)
    return spark.readStream.format(NAME).options(**own).load()


def _parted(text: str) -> tuple[str, dict[str, str]]:
    name, _, options = text.partition("?")
    return name, dict(parse_qsl(options, keep_blank_values=True))
