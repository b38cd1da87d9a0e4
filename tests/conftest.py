"""Settings and the one Spark session that all tests share."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

# A busy machine must not fail a property for being slow.
settings.register_profile("cernis", deadline=None, derandomize=True)
settings.load_profile("cernis")

# Commands run in this process unless a test is about Spark, which takes seconds to start.
os.environ.setdefault("CERNIS_ENGINE", "local")

# Modules are compiled once, and not in every process that a test starts.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests are short: Java's second compiler would take more time than its code saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_configure() -> None:
    """Let kernels be compiled at their first call: tests are small, and about what is compiled.

    `tests/kernels/test_compile.py` runs tests of kernels that are not compiled.
    """
    from cernis.kernels import compile as compiling

    compiling.PLAIN_ROWS = 0


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of two cores. The workers find the package and the tests in this tree."""
    from cernis.spark.spark_session import session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with warnings.catch_warnings():
        # Spark leaves sockets and processes to the collector.
        warnings.simplefilter("ignore", ResourceWarning)
        made = session("local[2]", {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"})
        yield made
        made.stop()
