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


def test_a_first_answer_from_a_file_with_dates_is_quick(tmp_path: Path) -> None:
    """It needs neither pandas, which Arrow imports for many a conversion, nor compiled loops."""
    (tmp_path / "go.csv").write_text("X, occurrence\na, 2026-03-29T03:00\nb, 2026-03-29 04:00Z\n")
    code = f"""
import sys, time, warnings, cernis
warnings.simplefilter("ignore")
rules = "initiatedAt(on(X)=true, T) :- happensAt(go(X), T)."
result = cernis.load(rules).run({str(tmp_path / "go.csv")!r})
assert result.intervals.num_rows == 2 and "2026-03-29T03:00:01Z" in result.text()
print(time.process_time(), *sys.modules)
"""
    seconds, *loaded = fresh(code).split()
    assert not {"numba", "pandas", "pyspark"} & set(loaded)
    assert float(seconds) < 3
