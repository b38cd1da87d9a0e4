"""What is worked out about the parts of a plan when it is first asked for, and kept with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


class Derived:
    """Results of work on parts of a plan, which live as long as the plan does."""

    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, int], Any] = {}

    def once(self, question: Hashable, part: object, work: Callable[[], Any]) -> Any:
        """The answer to a question about a part of the plan, worked out the first time."""
        key = (question, id(part))
        if key not in self._known:
            self._known[key] = work()
        return self._known[key]
