"""What entities do over time: each goes round the phases of its role.

A phase kind has a duration between two bounds; a role is a cycle of phase kinds. Every entity
enters the cycle of its role at a random place and stays in it to the end of the stream. All is
laid out in flat arrays, one row a phase, ordered by entity and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from examples.records import Booleans, Integers


@dataclass(frozen=True, slots=True)
class Schedule:
    """Phases as columns: row i says that `entity[i]` is in phase `kind[i]` in `[start, end)`.

    Phases of an entity follow one another without a gap. The last one may reach beyond the
    end of the stream, `until`; what lies there is cut by whoever makes records of it.
    """

    entity: Integers
    kind: Integers
    start: Integers
    end: Integers
    until: int

    def __len__(self) -> int:
        return len(self.entity)

    def begins(self, state: Integers, broken: Booleans) -> Booleans:
        """Phases at which an entity gets into a state it was not in before.

        `state` is 0 for none. A phase that is `broken` has no state, whatever `state` says, so
        that the same state begins anew after it. The first phase of an entity begins its state.
        """
        held = np.where(broken, 0, state)
        before = np.concatenate(([0], held[:-1]))
        before[self._first()] = 0
        begun: Booleans = (held != 0) & (held != before)
        return begun

    def ends(self, state: Integers, broken: Booleans) -> Booleans:
        """Phases at whose end an entity leaves its state.

        A state that a `broken` phase follows does not end by itself: what breaks it ends it.
        The state of the last phase of an entity does not end.
        """
        after = np.concatenate((state[1:], [0]))
        breaks = np.concatenate((broken[1:], [False]))
        last = np.concatenate((self._first()[1:], [True]))
        left: Booleans = ~last & ~broken & ~breaks & (state != 0) & (state != after)
        return left

    def _first(self) -> Booleans:
        return np.concatenate(([True], self.entity[1:] != self.entity[:-1]))


def horizon(events: int, entities: int, pace: int) -> int:
    """How long a stream lasts when each entity has a record every `pace` time-points; at least 1.

    Raises ValueError when there is no entity, or less than no event.
    """
    if entities < 1 or events < 0:
        raise ValueError(f"needs an entity and no negative events: {entities=}, {events=}")
    return max(1, pace * events // entities)


def schedule(
    rng: np.random.Generator,
    roles: Sequence[Sequence[int]],
    role: Integers,
    leader: Integers,
    durations: Integers,
    until: int,
) -> Schedule:
    """Lay out the phases of all entities from time 0 to `until`.

    `role[e]` is the role of entity e. Entities with the same `leader` and role go through the
    same phases at the same times. `durations` has a row (least, most) for each phase kind.
    """
    entities = len(role)
    count = int(np.ceil(until / durations[:, 0].min())) + 1
    steps = np.array([len(cycle) for cycle in roles])[role]
    first = rng.integers(0, 1 << 30, entities)[leader] % steps
    cycles = np.zeros((len(roles), max(map(len, roles))), dtype=np.int64)
    for number, cycle in enumerate(roles):
        cycles[number, : len(cycle)] = cycle
    place = (first[:, None] + np.arange(count)) % steps[:, None]
    kind = cycles[role[:, None], place]
    share = rng.random((entities, count), dtype=np.float32)[leader]
    least, most = durations[kind, 0], durations[kind, 1]
    end = np.cumsum(least + (share * (most - least)).astype(np.int64), axis=1)
    start = np.concatenate((np.zeros((entities, 1), dtype=np.int64), end[:, :-1]), axis=1)
    kept = start < until
    entity = np.broadcast_to(np.arange(entities)[:, None], kept.shape)
    return Schedule(entity[kept], kind[kept], start[kept], end[kept], until)


def spread(weights: Integers, total: int) -> Integers:
    """Split `total` into whole numbers in proportion to the weights; the sum is exact.

    All zero when every weight is zero.

    >>> spread(np.array([1, 0, 3]), 10).tolist()
    [2, 0, 8]
    """
    whole = int(weights.sum())
    if whole == 0:
        return np.zeros(len(weights), dtype=np.int64)
    reached = np.cumsum(weights) * total // whole
    return np.diff(reached, prepend=0)


def samples(
    rng: np.random.Generator, start: Integers, end: Integers, counts: Integers
) -> tuple[Integers, Integers]:
    """Times at which phases are sampled: row numbers, and a time in `[start, end)` for each.

    The samples of a row are in order, and apart from one another as long as the row has at least
    two time-points a sample.
    """
    row = np.repeat(np.arange(len(counts)), counts)
    begun = np.cumsum(counts) - counts
    turn = np.arange(len(row)) - begun[row]
    step = (end - start)[row] / counts[row]
    return row, start[row] + ((turn + 0.5 * rng.random(len(row))) * step).astype(np.int64)
