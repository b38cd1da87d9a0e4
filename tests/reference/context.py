"""What every part of a query's evaluation can see."""

from __future__ import annotations

from dataclasses import dataclass, field

from cernis.syntax.tree import Term

from .clipped import Clipped
from .domain import Domain
from .memory import Memory, Window
from .order import same_fluent
from .program import FLUENT_KINDS, Program, Rule
from .solve import Solver
from .state import State


@dataclass(slots=True)
class Context:
    """One query under way.

    All points behind `edge` are evaluated anew; those up to it stand. `start` is the start of
    the run, and `from_start` says that the window begins there. `unsure` are the pairs that rest on
    point input, so that an edge of theirs at the query time may be one of the window only.
    `waiting` are pairs that were initiated up to the edge and have delayed effects still to come.
    `component` are the rules being evaluated point by point. `memory_of_rule` says how far back
    from the window the rule over intervals sees that is being evaluated. `clipped` tells the edges
    of fluents from those of the window, where steps are longer than windows.
    """

    program: Program
    memory: Memory
    state: State
    window: Window
    edge: int
    start: int
    from_start: bool
    domain: Domain
    unsure: set[Term]
    solver: Solver = field(default_factory=lambda: Solver(()))
    waiting: list[Term] = field(default_factory=list)
    component: list[Rule] = field(default_factory=list)
    memory_of_rule: float = 0
    reach_of_rule: float = 0
    clipped: Clipped = field(default_factory=Clipped)
    _owned: dict[Term, bool] = field(default_factory=dict)

    @property
    def tick(self) -> int:
        """The clock tick τ."""
        return self.program.tick

    def enter(self, component: list[Rule]) -> None:
        """Turn to a component."""
        self.component = component
        self._owned = {}

    def owns(self, pair: Term) -> bool:
        """Is it a pair of a simple fluent of the component under evaluation?"""
        if pair not in self._owned:
            self._owned[pair] = any(
                rule.kind in FLUENT_KINDS and same_fluent(pair, rule.changes)
                for rule in self.component
            )
        return self._owned[pair]
