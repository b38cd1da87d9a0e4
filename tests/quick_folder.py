"""Folders for what tests write and read at once."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

MEMORY = Path("/dev/shm")


def quick_folder() -> TemporaryDirectory[str]:
    """A folder in memory where there is such: files that are synced to a disk take long."""
    return TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
