"""Memory that arrays have left is kept, if one asks for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
import cernis

if sys.argv[1] == "keep" and not cernis.keep_freed_memory():
    sys.exit(3)
for _ in range(3):
    np.ones(5_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    np.ones(5_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _faults(what: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, what], capture_output=True, text=True, check=False
    )
    if done.returncode == 3:
        pytest.skip("this C library cannot")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_pages_are_handed_out_once() -> None:
    assert _faults("keep") < 50
    assert _faults("leave") > 10 * _faults("keep")
