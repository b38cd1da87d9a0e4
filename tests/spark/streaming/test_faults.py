"""A stream that is killed and started again tells every change once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.parametrize(("kills", "files", "more"), [(2, 6, []), (1, 4, ["--uncertain"])])
def test_a_driver_that_is_killed(kills: int, files: int, more: list[str]) -> None:
    command = [sys.executable, "benchmarks/faults.py", "--kills", str(kills), "--executors", "0"]
    done = subprocess.run(
        [*command, "--files", str(files), "--seed", "3", *more], cwd=ROOT, capture_output=True,
        text=True, check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"killed {kills} times" in done.stdout
