"""Pytest collects files of cases; without one, the plugin imports nothing."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from tests.cli.command import environment
from tests.testing.cases import RULES

PLUGIN = "cernis.testing.pytest_plugin"
CASES = """test: met
  given
    1 hr(b7, 130)
  expect
    alarm(b7) at 1
test: missed
  given
    1 hr(b7, 130)
  expect
    alarm(b7) at 2
"""


def python(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], cwd=cwd, env=environment(), capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip


def test_cases_are_items_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "ward.cer").write_text(RULES, "utf-8")
    (tmp_path / "ward.certest").write_text(CASES, "utf-8")
    # Installed, the package offers the plugin by itself; an older installation may not.
    offered = {point.value for point in entry_points(group="pytest11")}
    plugin = () if PLUGIN in offered else ("-p", PLUGIN)
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "there was alarm(b7) at 1" in done.stdout
    assert "FAILED ward.certest::missed" in done.stdout


def test_the_plugin_imports_next_to_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, cernis.testing.pytest_plugin\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'pyarrow', 'pytest')])"
    )
    assert python("-c", code, cwd=tmp_path).stdout == "[]\n"
