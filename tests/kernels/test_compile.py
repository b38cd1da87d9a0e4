"""Compiled kernels are kept on disk: beside the package, elsewhere, and by many at once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cernis

PACKAGE = Path(cernis.__file__).parent
CALL = """
import numpy as np
from cernis.kernels import order
assert order.ranks(np.array([1, 0, 1, 0]), 2)[0].tolist() == [2, 0, 3, 1]
assert order.in_order(np.array([0, 1]), np.array([5, 3]))
print(sum(order.in_order.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package of its own, with nothing compiled."""
    copy = tmp_path / "home" / "cernis"
    (copy / "kernels").mkdir(parents=True)
    shutil.copy(PACKAGE / "__init__.py", copy)
    for source in (PACKAGE / "kernels").glob("*.py"):
        shutil.copy(source, copy / "kernels")
    return copy


def start(package: Path, **more: str) -> subprocess.Popen[str]:
    environment = {name: own for name, own in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **more}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CALL], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def hits(process: subprocess.Popen[str]) -> int:
    """How often the process found a kernel compiled."""
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return int(out)


def compiled(folder: Path) -> list[Path]:
    return list(folder.rglob("*.nbc"))


def test_beside_the_package(package: Path) -> None:
    assert [hits(start(package)), hits(start(package))] == [0, 1]
    assert compiled(package)


def test_where_the_environment_says(package: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    found = [hits(start(package, NUMBA_CACHE_DIR=str(folder))) for _ in range(2)]
    assert found == [0, 1]
    assert compiled(folder)
    assert not compiled(package)


def test_in_the_users_cache_if_the_package_may_not_be_written_to(
    package: Path, tmp_path: Path
) -> None:
    # A file where the folder of compiled files would be: it stops the superuser, too.
    (package / "kernels" / "__pycache__").write_text("")
    user = tmp_path / "user"
    more = {"HOME": str(user), "XDG_CACHE_HOME": str(user / "cache")}
    assert [hits(start(package, **more)) for _ in range(2)] == [0, 1]
    assert compiled(user)
    assert not compiled(package)


def test_several_processes_at_once(package: Path) -> None:
    processes = [start(package) for _ in range(3)]
    for process in processes:
        hits(process)
    assert hits(start(package)) == 1
