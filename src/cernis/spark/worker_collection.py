"""The garbage collector in Python's workers on Spark."""

from __future__ import annotations

import gc
from typing import Final

_MANY: Final = 5_000
"""To look through so many objects takes some 3 ms."""


def exclude_what_lasts() -> None:
    """Exclude from garbage collection what is left at the end of a task, if it is much.

    Spark makes a worker run the collector after every task. To look through modules, kernels and a
    plan with its facts takes 0.06 s and more each time, though none of that is ever garbage. What
    the task itself leaves is collected here first.
    """
    if len(gc.get_objects()) > _MANY:
        gc.collect()
        gc.freeze()
