"""A folder of its own for each test of a command, to stand in."""

import logging
from pathlib import Path

import pytest

from tests.cli.command import TOY


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with one sound file of rules in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.cer").write_text(TOY, "utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def quiet_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command say that it compiles, which depends on what ran before it."""
    monkeypatch.setattr(logging.getLogger("cernis.kernels"), "disabled", True)
