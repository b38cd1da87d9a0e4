"""Spark sessions: the active or a new one, and clear errors if Spark does not start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cernis.errors import CernisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17
_DEFAULT_CORES: Final = 8
"""The number of cores that is assumed where a session does not say."""

_CHECKPOINT_FILES: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Writes the files of Spark's checkpoints without a process for each look at a file.

The usual one starts `readlink` some 25 times in a micro-batch. Both rename whole files.
"""

DEFAULTS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
}
"""The settings of a session that cernis starts, unless others are passed."""


_NO_ANSWER: Final = ("stopped SparkContext", "masters are unresponsive", "UnknownHostException")
"""Parts of the messages of Spark, after a minute, if no master answers."""


class SparkError(CernisError):
    """Spark does not start, or does not answer."""


def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session that is active, or a new one.

    If there is no Java of version 17 or newer, or if the master does not answer, it raises a
    SparkError.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and master is None and not conf:
        return active
    need_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("cernis").master(master or "local[*]")
    for key, value in {**DEFAULTS, **(conf or {})}.items():
        builder = builder.config(key, value)
    try:
        made = builder.getOrCreate()
    except Exception as error:  # py4j's errors are of many classes; each becomes a sentence
        raise SparkError(_why_not(error, master or "local[*]")) from error
    return made


def _why_not(error: Exception, master: str) -> str:
    if any(sign in str(error) for sign in _NO_ANSWER):
        return (
            f"Spark does not start on {master}: nobody answers there. Is the address right, and up?"
        )
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    reason = next((line for line in lines if "Exception" in line or "Error" in line), "")
    reason = reason or (lines[0] if lines else type(error).__name__)
    return f"Spark does not start on {master}: {reason}"


def need_java() -> None:
    """Check that there is a Java that Spark can use; if not, a SparkError says what to do."""
    command = _java()
    if command is None:
        raise SparkError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and there is no java on the path. Install "
            "one (Debian, Ubuntu: apt-get install default-jre-headless; macOS: brew install "
            "openjdk), or set JAVA_HOME, or run with --engine local"
        )
    version = java_version(command)
    if version is not None and version < OLDEST_JAVA:
        raise SparkError(
            f"Spark needs Java {OLDEST_JAVA} or newer; {command} is Java {version}. Install a "
            "newer one, or set JAVA_HOME to it, or run with --engine local"
        )


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home, "bin", "java")
        return str(command) if command.is_file() else None
    return shutil.which("java")


def java_version(command: str) -> int | None:
    """The major version of a java command: 8 for `1.8.0_412`; None if it does not say."""
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(match[1]) if match else None


def zone_of_session(session: SparkSession) -> str:
    """The zone that a session has for times without one."""
    return session.conf.get("spark.sql.session.timeZone") or "UTC"


def cores_of(session: SparkSession) -> int:
    """How many tasks may run at once; a default where the session does not say, as with Connect."""
    context = getattr(session, "_sc", None)
    if context is not None:
        return max(int(context.defaultParallelism), 1)
    parallelism = session.conf.get("spark.default.parallelism", None)
    return int(parallelism) if parallelism else _DEFAULT_CORES
