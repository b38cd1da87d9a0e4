"""One Spark session for all tests of this folder."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


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
