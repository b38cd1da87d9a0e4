"""The Python of workers: set right on this machine; on a cluster looked at before there is work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cernis import __version__
from cernis.spark.spark_session import SparkError
from cernis.spark.worker_errors import explained

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).parents[2]
"""The folder that this package is in."""


def prepare_workers(session: SparkSession) -> None:
    """Have workers on this machine run this Python with this package; look at those elsewhere.

    Executors without the package, or with another Python, are a SparkError, at the first run of a
    session.
    """
    context: Any = getattr(session, "_sc", None)
    if context is None:
        _looked_at(str(getattr(session, "session_id", "")), _Session(session))
    elif str(context.master).startswith("local"):
        context.pythonExec = sys.executable
        paths = context.environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        if str(_ROOT) not in paths.split(os.pathsep):
            paths = os.pathsep.join(filter(None, [str(_ROOT), paths]))
        context.environment["PYTHONPATH"] = paths
    else:
        _looked_at(str(context.applicationId), _Session(session))


class _Session:
    """A session that is equal to all others, as only its name says whether it was looked at."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Session)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=16)
def _looked_at(name: str, holder: _Session) -> None:
    with explained():
        rows = holder.session.range(0, 1, 1, 1).mapInArrow(_own_version, "version string").collect()
    see_version(rows[0].version)


def see_version(version: str) -> None:
    """Raise a SparkError if executors have another version of the package."""
    if version != __version__:
        raise SparkError(
            f"the executors have cernis {version}, and this process {__version__}: install the "
            "same there, or send it along (docs/spark.md says how)"
        )


def _own_version(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The version of the package in a worker, for each batch of rows."""
    for _ in rows:
        yield pa.record_batch({"version": [__version__]})
