"""Running commands: inside this process, quickly, and in one of their own, as a user does."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cernis.cli.main import app

ROOT = Path(__file__).parents[2]
MARITIME = ROOT / "examples" / "maritime"

TOY = """\
initiatedAt(rich(X)=true, T) :-
    happensAt(win_lottery(X), T).
terminatedAt(rich(X)=true, T) :-
    happensAt(lose_wallet(X), T).
"""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """All it wrote."""
        return self.out + self.err


def run(*args: str | Path) -> Outcome:
    """Run a command in this process; an exception is a fault of the command."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def start(*args: str | Path, **settings: Any) -> Outcome:
    """Run a command in a process of its own; a traceback is a fault of the command."""
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    done = subprocess.run(line(*args), env=environment(), check=False, timeout=60, **settings)
    outcome = Outcome(done.returncode, text(done.stdout), text(done.stderr))
    assert "Traceback" not in outcome.said, outcome.said
    return outcome


def line(*args: str | Path) -> list[str]:
    """The command as the system takes it."""
    return [sys.executable, "-m", "cernis.cli.main", *map(str, args)]


def environment(**more: str) -> dict[str, str]:
    """The variables of this process, such that the package is found and nothing paints."""
    own = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return {**own, "PYTHONPATH": str(ROOT / "src"), **more}


def text(data: bytes | None) -> str:
    """What came through a pipe, if there was one."""
    return (data or b"").decode("utf-8")
