"""Sessions of other kinds, and what keeps Spark from starting or working."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import DataError, KnowledgeError
from cernis.spark.spark_session import SparkError, java_version, need_java
from cernis.spark.worker_errors import explained, explanation
from tests.conftest import ROOT
from tests.spark.keyed import PROGRAMS, stream


def in_a_process(kind: str, tmp_path: Path) -> tuple[str, str]:
    """The answer on a session of a kind, and the one of the process itself."""
    random = Random(3)
    lines = [line for line in stream(PROGRAMS["pairs"], random, 80) if "7" not in line]
    events = tmp_path / "events.txt"
    events.write_text("\n".join(lines) + "\n")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    # A local server of Connect listens at a fixed port otherwise, which another may have.
    free_port = {"SPARK_TESTING": "1"} if kind == "connect" else {}
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.jobs", kind, str(events)], cwd=ROOT, check=False,
        env={**os.environ, **free_port, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, cernis.load(PROGRAMS["pairs"].rules).run(events).text()


def test_executors_of_their_own(tmp_path: Path) -> None:
    found, expected = in_a_process("cluster", tmp_path)
    assert found == expected


def test_connect(tmp_path: Path) -> None:
    for module in ("grpc", "grpc_status", "pandas", "zstandard"):
        pytest.importorskip(module)
    found, expected = in_a_process("connect", tmp_path)
    assert found == expected


# -- Java --------------------------------------------------------------------------------------


def java(folder: Path, version: str) -> Path:
    """A folder with a java command that says it is of some version."""
    command = folder / "bin" / "java"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("told", "major"), [("1.8.0_412", 8), ("11.0.2", 11), ("17.0.15", 17), ("24-ea", 24)]
)
def test_the_version_of_java(told: str, major: int, tmp_path: Path) -> None:
    assert java_version(str(java(tmp_path, told) / "bin" / "java")) == major


def test_java_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, "1.8.0_412")))
    with pytest.raises(SparkError, match="needs Java 17 or newer; .*/bin/java is Java 8"):
        need_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkError, match="there is no java on the path"):
        need_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkError, match="needs Java 17"):
        need_java()


# -- workers -----------------------------------------------------------------------------------


def test_an_error_of_a_worker_is_told_as_what_it_was() -> None:
    text = (
        "Traceback (most recent call last):\n  File ...\n"
        "cernis.errors.DataError: a.csv has no column t; there are u, v\n\n\tat org.apache...\n"
    )
    found = explanation(text)
    assert isinstance(found, DataError)
    assert str(found) == "a.csv has no column t; there are u, v"


def test_what_a_stream_adds_to_an_error_is_left_out() -> None:
    text = "cernis.errors.DataError: bucket 3 is damaged\n SQLSTATE: 39000 SQLSTATE: XXKST\n=== Str"
    assert str(explanation(text)) == "bucket 3 is damaged"
    assert str(explanation("cernis.errors.DataError: no end\n=== Streaming Query ===")) == "no end"


def test_an_error_made_of_parts_keeps_its_text() -> None:
    assert issubclass(KnowledgeError, Exception)
    found = explanation("cernis.errors.KnowledgeError: p/2: no end in sight\n\n")
    assert str(found) == "p/2: no end in sight"


def test_executors_without_the_package() -> None:
    found = explanation("ModuleNotFoundError: No module named 'cernis.spark'\n")
    assert isinstance(found, SparkError)
    assert "the executors have no cernis" in str(found)


def test_a_full_disk() -> None:
    found = explanation("OSError: [Errno 28] Error writing: No space left on device\n")
    assert "No space left on device" in str(found)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(ZeroDivisionError), explained():
        1 / 0  # noqa: B018
