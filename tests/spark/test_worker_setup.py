"""Workers on this machine run this Python; others are told apart in a sentence."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cernis import __version__
from cernis.spark.spark_session import SparkError
from cernis.spark.worker_errors import explanation
from cernis.spark.worker_setup import prepare_workers, see_version


def test_workers_on_this_machine_run_this_python() -> None:
    context = SimpleNamespace(master="local[2]", pythonExec="python3", environment={})
    prepare_workers(cast(Any, SimpleNamespace(_sc=context)))
    assert context.pythonExec == sys.executable
    first = context.environment["PYTHONPATH"]
    assert "src" in first
    prepare_workers(cast(Any, SimpleNamespace(_sc=context)))
    assert context.environment["PYTHONPATH"] == first


def test_another_python_is_one_sentence() -> None:
    text = (
        "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in "
        "worker has different version: 3.10 than that in driver: 3.11, PySpark cannot run with "
        "different minor versions."
    )
    error = explanation(text)
    assert isinstance(error, SparkError)
    assert str(error).startswith("the executors run Python 3.10, and this process 3.11: set PYSP")


def test_another_version_of_the_package_is_one_sentence() -> None:
    see_version(__version__)
    with pytest.raises(SparkError, match=r"the executors have cernis 0\.0\.0, and this process"):
        see_version("0.0.0")
