"""Settings and the one Spark session that all tests share."""

from __future__ import annotations

import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
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


def pytest_configure() -> None:
    """Let the second process compile kernels from the other end.

    Where none is compiled yet, all are when they are imported. Both processes would compile the
    same ones at the same time; so each compiles one half and finds the other on disk.
    """
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        import cernis.kernels

        found = pkgutil.walk_packages(cernis.kernels.__path__, "cernis.kernels.")
        for name in reversed([module.name for module in found]):
            import_module(name)


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
