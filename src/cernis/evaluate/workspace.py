"""Codes of values, and results computed with them, for the next run or session of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from cernis.operators.context.lasting_results import Memo
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.tables.domains import Domains

_MOST_VALUES: Final = 100_000


@dataclass(slots=True)
class Workspace:
    """The codes of values, and the results that operators have computed with these codes.

    A code is never taken from its value again. So a workspace that has met many values of its own
    is not left to others, which would carry the codes of all these values along.
    """

    domains: Domains
    memo: Memo = field(default_factory=Memo)
    size: int | None = None

    def is_worth_keeping(self) -> bool:
        """Have few enough values been added to those that its first user has met?"""
        if self.size is None:
            self.size = len(self.domains)
        return len(self.domains) <= self.size + _MOST_VALUES


_LEFT: Final[WeakKeyDictionary[Plan, list[Workspace]]] = WeakKeyDictionary()
"""The workspaces that runs and sessions have left, for as long as their plans live."""


def workspace_for(plan: Plan, forms: Forms) -> Workspace:
    """A workspace that was left and holds values in the same forms; if there is none, a new one."""
    arrays = forms.arrays()
    left = _LEFT.get(plan, [])
    for place, workspace in enumerate(left):
        if workspace.domains.arrays == arrays:
            workspace.memo.forget_filled()
            return left.pop(place)
    return Workspace(Domains(arrays))


def leave_workspace(plan: Plan, workspace: Workspace) -> None:
    """Leave a workspace to the next run or session of the plan."""
    if workspace.is_worth_keeping():
        _LEFT.setdefault(plan, []).append(workspace)
