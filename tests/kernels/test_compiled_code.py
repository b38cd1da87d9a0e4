"""What is compiled is kept on disk: beside the package, elsewhere, and by many at once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cernis

PACKAGE = Path(cernis.__file__).parent
CALL = """
import logging
import numpy as np
from cernis.kernels import compile as compiling, order

compiling.PLAIN_ROWS = 0
compiled = []
logger = logging.getLogger("cernis.kernels")
logger.setLevel("INFO")
logger.addFilter(compiled.append)
assert order.ranks(np.array([1, 0, 1, 0]), 2)[0].tolist() == [2, 0, 3, 1]
assert order.in_order(np.array([0, 1]), np.array([5, 3]))
print(len(compiled))
"""
KEPT = """
import numba
import numpy as np
from cernis.kernels import order
from cernis.kernels.compiled_code import kept_kernel
from cernis.kernels.signatures import read_signature

signature = read_signature(order.in_order.__wrapped__, "integers integers")
print(kept_kernel(order.in_order.__wrapped__, signature, "boolean") is not None)
"""
DIGESTS = """
from cernis.kernels import order, queues
from cernis.kernels.compiled_code import digest
print(digest(queues._first.__wrapped__), digest(order.in_order.__wrapped__))
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


def start(package: Path, code: str = CALL, **more: str) -> subprocess.Popen[str]:
    environment = {name: own for name, own in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **more}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def said(process: subprocess.Popen[str]) -> str:
    """What a process printed."""
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return out


def compilations(package: Path, **more: str) -> list[bool]:
    """Whether each of two processes, one after the other, had to compile."""
    return [int(said(start(package, **more))) > 0 for _ in range(2)]


def compiled(folder: Path) -> list[Path]:
    return list(folder.rglob("*.nbc"))


def test_beside_the_package(package: Path) -> None:
    assert compilations(package) == [True, False]
    assert compiled(package)


def test_where_the_environment_says(package: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    assert compilations(package, NUMBA_CACHE_DIR=str(folder)) == [True, False]
    assert compiled(folder)
    assert not compiled(package)


def test_in_the_users_cache_if_the_package_may_not_be_written_to(
    package: Path, tmp_path: Path
) -> None:
    # A file where the folder of compiled files would be: it stops the superuser, too.
    (package / "kernels" / "__pycache__").write_text("")
    user = tmp_path / "user"
    more = {"HOME": str(user), "XDG_CACHE_HOME": str(user / "cache")}
    assert compilations(package, **more) == [True, False]
    assert compiled(user)
    assert not compiled(package)


def test_several_processes_at_once(package: Path) -> None:
    processes = [start(package) for _ in range(3)]
    for process in processes:
        said(process)
    assert int(said(start(package))) == 0


def test_machine_code_is_known_by_the_sources_it_comes_from(package: Path) -> None:
    before = said(start(package, DIGESTS)).split()
    assert said(start(package, DIGESTS)).split() == before
    # Kernels of queues call a part that stands in this module.
    with (package / "kernels" / "match.py").open("a") as source:
        source.write("# A further line.\n")
    after = said(start(package, DIGESTS)).split()
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True]


def test_a_changed_part_is_compiled_again(package: Path) -> None:
    assert compilations(package) == [True, False]
    source = package / "kernels" / "order.py"
    source.write_text(source.read_text() + "\n# A further line.\n")
    assert compilations(package) == [True, False]


def test_what_is_not_on_disk_is_not_fetched(package: Path) -> None:
    assert said(start(package, KEPT)).strip() == "False"
    assert not compiled(package)
    compilations(package)
    assert said(start(package, KEPT)).strip() == "True"
