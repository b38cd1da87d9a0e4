"""From points to intervals where values have delayed effects, for all instances of a fluent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cernis.check.model import Grounding
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.inertia.delays import Delayed, hold_delayed
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.effects import effects_of, moved_alike
from cernis.plan.logical import Delay
from cernis.tables.domains import Domain

Actions: TypeAlias = tuple[Integers, Integers, Integers]
"""Instances, times and actions."""
Carried: TypeAlias = tuple[Integers, Integers, Integers, Integers]
"""Instances, values, starts, and since when effects count.

The start is `NEVER` of what does not hold, and has effects still to come.
"""


@dataclass(frozen=True, slots=True)
class DelayedFluent:
    """A fluent with delayed effects: what they are, and how its instances are numbered."""

    delays: Sequence[Delay]
    groundings: tuple[Grounding, ...]
    arguments: Callable[[Integers], list[Array]]
    """The arguments of instances, by their numbers."""
    domains: list[Domain | None]
    value_domain: Domain
    is_watched: bool

    def hold(
        self, known: Integers, actions: Actions, carried: Carried, context: Context
    ) -> Delayed:
        """As `hold_delayed`; instances whose effects are moved by initiations one by one, too."""
        alike = moved_alike(self.delays, self.arguments(known), self.domains, context)
        if alike is None:
            return self._walked(known, actions, carried, context)
        parts = []
        for group in (known[part] for part in alike):
            some, held = np.isin(actions[0], group), np.isin(carried[0], group)
            instances, values, starts, since = (column[held] for column in carried)
            rows = actions[0][some], actions[1][some], actions[2][some]
            parts.append(self._walked(group, rows, (instances, values, starts, since), context))
        return _in_order(parts)

    def _walked(
        self, known: Integers, actions: Actions, carried: Carried, context: Context
    ) -> Delayed:
        window = context.window
        effects = effects_of(
            self.delays, self.arguments(known), self.domains, self.value_domain, self.groundings,
            context,
        )  # fmt: skip
        return hold_delayed(
            known, *actions, *carried, effects, window.query, window.tick, window.ties,
            self.is_watched,
        )  # fmt: skip


def _in_order(parts: Sequence[Delayed]) -> Delayed:
    """What was found of several sets of instances, sorted by instance again."""
    columns = [np.concatenate(own) for own in zip(*(part[:11] for part in parts), strict=True)]
    sorted_columns: list[Integers] = []
    for low, high in ((0, 4), (4, 8), (8, 11)):
        order = np.argsort(columns[low], kind="stable")
        sorted_columns += [column[order] for column in columns[low:high]]
    return (*sorted_columns, sum(part[11] for part in parts))  # type: ignore[return-value]
