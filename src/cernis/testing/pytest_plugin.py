"""A plugin for pytest: files of cases are collected beside the tests in Python.

It is loaded with every run of pytest in an environment that has cernis. So it imports nothing until
there is a file of cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The cases of a file that ends in `.certest`."""
    if file_path.suffix != ".certest":
        return None
    from cernis.testing.pytest_items import CaseCollector

    return CaseCollector.from_parent(parent, path=file_path)
