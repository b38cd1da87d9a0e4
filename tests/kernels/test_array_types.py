"""Types of arrays have their names in one module, which imports nothing heavy."""

import re
import subprocess
import sys
from pathlib import Path

import cernis

PACKAGE = Path(cernis.__file__).parent
NAMED = re.compile(r"NDArray\[(np\.int64|np\.int32|np\.float64|np\.bool_|np\.uint8|Any)\]")


def test_no_other_module_spells_out_a_type_that_has_a_name() -> None:
    others = [path for path in PACKAGE.rglob("*.py") if path.name != "array_types.py"]
    assert others
    assert [path.name for path in others if NAMED.search(path.read_text("utf-8"))] == []


def test_it_does_not_import_the_compiler() -> None:
    code = "import sys, cernis.kernels.array_types; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
