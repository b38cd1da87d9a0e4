"""One sort, the unit of time: what `numpy.sort` takes for as many random 64-bit integers.

numpy chooses its way of sorting by the processor, and on some the one for AVX-512 takes five times
as long as the others. So benchmarks that count in sorts run with it switched off, on any machine.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

_PINNED = "AVX512_ICL AVX512_SPR X86_V4"


def pin_sort() -> None:
    """Start the script again with numpy's sort pinned, unless it is; print the machine it runs on.

    numpy reads the setting when it is first imported, and so it must be there from the beginning.
    """
    if os.environ.get("NPY_DISABLE_CPU_FEATURES") != _PINNED:
        os.environ["NPY_DISABLE_CPU_FEATURES"] = _PINNED
        os.execv(sys.executable, [sys.executable, *sys.argv])
    print(f"{_processor()}, Python {platform.python_version()}, sort pinned", flush=True)


def _processor() -> str:
    """The name of the processor, as far as the system tells."""
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
