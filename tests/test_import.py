"""Importing cernis is quick, pulls in nothing heavy, and works whichever layer comes first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
HEAVY = ("numba", "numpy", "pyarrow", "pyspark", "pandas")
LIMIT = 0.3
LAYERS = sorted(
    path.stem
    for path in (SOURCE / "cernis").iterdir()
    if (path / "__init__.py").exists() or path.suffix == ".py"
)


def fresh(code: str) -> str:
    """What a new interpreter prints that runs the code and finds cernis in this tree."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_pulls_in_nothing_heavy() -> None:
    loaded = fresh("import sys, cernis; print(*sys.modules)").split()
    assert "cernis" in loaded
    assert not [name for name in HEAVY if name in loaded]


def test_import_is_quick() -> None:
    code = "from time import perf_counter as now; t = now(); import cernis; print(now() - t)"
    # The least of five: what else the machine does can only add.
    seconds = min(float(fresh(code)) for _ in range(5))
    assert seconds < LIMIT


@pytest.mark.parametrize("layer", [name for name in LAYERS if not name.startswith("__")])
def test_any_layer_can_be_imported_first(layer: str) -> None:
    fresh(f"import cernis.{layer}")
