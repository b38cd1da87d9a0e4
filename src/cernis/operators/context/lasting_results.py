"""Results that stay valid from one query to the next, and from one run of a plan to the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cernis.check.model import Relation
from cernis.kernels.array_types import Array, Booleans
from cernis.kernels.hashing import Numbering
from cernis.knowledge import Knowledge
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.tables.domains import Domain


@dataclass(slots=True)
class Background:
    """The table of a background predicate: one array of codes or numbers for each argument."""

    columns: list[Array]
    domains: list[Domain | None]
    length: int
    finders: dict[tuple[int, ...], object] = field(default_factory=dict)


@dataclass(slots=True)
class Answers:
    """For each instance met so far, by its number: does the grounding allow it?"""

    numberings: list[Numbering]
    may: Booleans = field(default_factory=lambda: np.empty(0, np.bool_))


@dataclass(slots=True)
class Memo:
    """Results that stay valid from one query to the next, and from run to run.

    Domains only grow, so a result about their values stays true. Tables that the run fills are
    replaced now and then; a result about one is kept with the number of the filling it belongs to.
    """

    tables: dict[tuple[str, int], tuple[int, Background]] = field(default_factory=dict)
    encoding: ValueEncoding | None = None
    allowed: dict[tuple[Relation, int, int], Booleans] = field(default_factory=dict)
    answers: dict[tuple[int, int], Answers] = field(default_factory=dict)
    worked_out: dict[tuple[Hashable, int], Any] = field(default_factory=dict)

    filled: tuple[int, Knowledge] | None = None
    """Background knowledge with the members of dynamic domains, and the number of its filling."""

    def forget_filled(self) -> None:
        """Forget results about tables that a run has filled: the next run fills them again."""
        self.filled = None
        self.tables = {key: known for key, known in self.tables.items() if not known[0]}
        self.allowed = {key: known for key, known in self.allowed.items() if not key[2]}
        self.answers = {key: known for key, known in self.answers.items() if not key[1]}

    def once(self, name: Hashable, of: object, work: Callable[[], Any]) -> Any:
        """Do some work about a part of the plan the first time; afterwards return its result."""
        key = (name, id(of))
        if key not in self.worked_out:
            self.worked_out[key] = work()
        return self.worked_out[key]
