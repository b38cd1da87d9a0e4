"""How memory is kept between one array and the next."""

from __future__ import annotations

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_LARGEST: Final = (1 << 30, 1 << 25)
"""Older libraries take no more than the second."""


def keep_freed_memory() -> bool:
    """Let this process keep memory that arrays have left, for those that come next.

    By default the C library gives large arrays back to the system, which hands out each new page
    when it is first touched: for rules over millions of events that is up to a quarter of the time.
    A process keeps what it had at its peak then. So `cernis` does it for its own processes, and
    never for one that imports it. Gives whether it could be done; only glibc can.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    if not any(mallopt(_MMAP_THRESHOLD, size) for size in _LARGEST):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _LARGEST[0]))
