"""Errors of workers, raised in the driver as the errors they were there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cernis import errors
from cernis.errors import CernisError, DataError
from cernis.spark.spark_session import SparkError

_OURS: Final = re.compile(
    r"cernis\.errors\.(\w+): (.+?)"
    r"(?=\n\s*\n|\n\tat |\s+SQLSTATE: |\n=== |\Z)",
    re.S,
)
_NO_MODULE: Final = re.compile(r"No module named '?(cernis[\w.]*)")
_OTHER_PYTHON: Final = re.compile(
    r"PYTHON_VERSION_MISMATCH\]?.*?version:? (\d[\d.]*).*?driver:? (\d[\d.]*\d)", re.S
)
_SYSTEM: Final = re.compile(r"OSError: \[Errno \d+\] (.+)")


@contextmanager
def explained() -> Iterator[None]:
    """Raise the error that a worker raised, in place of Spark's error about the failed job."""
    try:
        yield
    except CernisError:
        raise
    except Exception as error:  # Spark's errors are of many classes
        explained_error = explanation(str(error))
        if explained_error is None:
            raise
        raise explained_error from error


def explanation(text: str) -> CernisError | None:
    """The error of cernis in a worker's traceback; None if it is another error."""
    ours = _OURS.search(text)
    if ours is not None:
        kind = getattr(errors, ours[1], DataError)
        return _made(kind, ours[2].strip())
    missing = _NO_MODULE.search(text)
    if missing is not None:
        return SparkError(
            f"the executors have no {missing[1].partition('.')[0]}: install it there as here, or "
            "send it along (docs/spark.md says how)"
        )
    versions = _OTHER_PYTHON.search(text)
    if versions is not None:
        there, here = versions.groups()
        return SparkError(
            f"the executors run Python {there}, and this process {here}: set PYSPARK_PYTHON to a "
            f"Python {here} that is there, before Spark starts"
        )
    system = _SYSTEM.search(text)
    return DataError(f"a worker says: {system[1].strip()}") if system is not None else None


def _made(kind: type[CernisError], message: str) -> CernisError:
    try:
        return kind(message)
    except TypeError:
        # Some errors are made of parts; their text has all that is left of these.
        return DataError(message)
