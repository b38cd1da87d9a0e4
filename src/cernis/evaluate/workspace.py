"""What is worked out about a plan and can be used again by its next run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from cernis.operators.query_context import Memo
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.tables.domains import Domains

_MOST_VALUES: Final = 100_000


@dataclass(slots=True)
class Workspace:
    """The codes of values, and what was worked out with them.

    Codes are never given back. So a run that met many values of its own does not leave them.
    """

    domains: Domains
    memo: Memo = field(default_factory=Memo)
    size: int | None = None

    def is_worth_keeping(self) -> bool:
        """Are there not too many values that only the last run has met?"""
        if self.size is None:
            self.size = len(self.domains)
        return len(self.domains) <= self.size + _MOST_VALUES


_LEFT: Final[WeakKeyDictionary[Plan, list[Workspace]]] = WeakKeyDictionary()
"""What runs have left, for as long as their plans live."""


def workspace_for(plan: Plan, forms: Forms) -> Workspace:
    """What another run has left, if there is such, and if it held values as this one does."""
    arrays = forms.arrays()
    try:
        left = _LEFT[plan].pop()
    except (KeyError, IndexError):
        return Workspace(Domains(arrays))
    if left.domains.arrays != arrays:
        return Workspace(Domains(arrays))
    left.memo.forget_filled()
    return left


def leave(plan: Plan, workspace: Workspace) -> None:
    """Leave what was worked out to the next run of the plan."""
    if workspace.is_worth_keeping():
        _LEFT.setdefault(plan, []).append(workspace)
