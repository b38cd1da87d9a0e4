"""A stream that is killed and started again tells every change once."""

from __future__ import annotations

import subprocess
import sys

from tests.spark.conftest import ROOT


def test_a_driver_that_is_killed() -> None:
    command = [sys.executable, "benchmarks/faults.py", "--kills", "2", "--executors", "0"]
    done = subprocess.run(
        [*command, "--files", "6", "--seed", "3"], cwd=ROOT, capture_output=True, text=True,
        check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed 2 times" in done.stdout
