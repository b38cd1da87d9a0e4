"""The walk through the records of a cycle is the same as its plain twin; so are components."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from cernis.kernels.array_types import Integers
from cernis.kernels.inertia import cycle_points as walk
from cernis.kernels.inertia.points import ALL, NEVER, NO_ACTION, NO_EFFECT, NO_POINT, UNTIL_DUE
from cernis.kernels.inertia.unfold import Causes, Unfolded, unfold

VALUES = 3
CLASSES = (
    (1, 3, walk.ANY_TERMINATION, walk.EDGE | 1, walk.ANY_END),
    (0, walk.ANY_INITIATION, walk.ANY_START, walk.EDGE | 2),
    (1,),
)
"""Of two fluents and an event."""


def unfold_plain(
    causes: Causes, held: Integers, starts: Integers, dues: Integers, waiting: Any
) -> Unfolded:
    """The twin of `unfold`: every point of time that something may happen at, one by one."""
    found: list[list[tuple[int, ...]]] = [[], [], []]
    conflicts, decided, low, own_low = 0, 0, 0, 0
    for high, own_high in zip(causes.ends.tolist(), causes.member_ends.tolist(), strict=True):
        plain = _Plain(causes, held, starts, dues, waiting, found)
        own = causes.members[own_low:own_high].tolist()
        plain.group(range(low, high), own)
        conflicts += plain.conflicts
        decided += plain.decided
        low, own_low = high, own_high
    columns = [
        np.array(own, np.int64).reshape(-1, width).T
        for own, width in zip(found, (4, 3, 3), strict=True)
    ]
    return Unfolded(*(list(own) for own in columns), conflicts, decided)


class _Plain:
    """One group."""

    def __init__(
        self, causes: Causes, held: Any, starts: Any, dues: Any, waiting: Any, found: Any
    ) -> None:
        self.causes = causes
        self.pending: dict[int, dict[int, int]] = {at: {} for at in range(len(held))}
        for instance, value, due in zip(*(own.tolist() for own in waiting), strict=True):
            self.pending[instance][value] = due
        self.held, self.starts, self.dues = held.tolist(), starts.tolist(), dues.tolist()
        self.intervals, self.begun, self.happened = found
        self.conflicts = self.decided = 0

    def group(self, rows: range, own: list[int]) -> None:
        """All points of a group."""
        while True:
            times = [int(self.causes.times[row]) for row in rows if not self.is_past(row)]
            times += [self.dues[instance] for instance in own]
            times += [due for instance in own for due in self.pending[instance].values()]
            now = min([NEVER, *times])
            if now > self.causes.query or now == NEVER:
                break
            self.point(now, [row for row in rows if self.causes.times[row] == now], own)
            self.now = now
        for instance in own:
            if self.held[instance] >= 0:
                self.intervals.append((instance, self.held[instance], self.starts[instance], NEVER))

    now: int | None = None

    def is_past(self, row: int) -> bool:
        return self.now is not None and self.causes.times[row] <= self.now

    def point(self, now: int, rows: list[int], own: list[int]) -> None:
        kept, decided = len(self.happened), self.decided
        self.rules(now, rows, own, frozenset())
        initiated = {
            (instance, action >> 1) for instance, actions in self.actions.items()
            for action in actions if action & 1
        }  # fmt: skip
        del self.happened[kept:]
        self.decided = decided
        self.rules(now, rows, own, frozenset(own), initiated)
        for instance, actions in self.actions.items():
            self.change(instance, actions, now)

    def is_put_off(self, instance: int, value: int, initiated: set[tuple[int, int]]) -> bool:
        _, slot, own, _ = self.delays(instance, value)
        moved = self.causes.effects[4][own[10] + slot]
        return bool(moved == UNTIL_DUE) and (instance, value) in initiated

    def rules(
        self, now: int, rows: list[int], all_own: list[int], own: frozenset[int],
        initiated: Any = frozenset(),
    ) -> None:  # fmt: skip
        """What effects of some instances and rules say of a point."""
        self.slots: set[int] = set()
        self.fired: set[tuple[int, int]] = set()
        self.actions: dict[int, list[int]] = {}
        waiting: list[tuple[int, Any]] = []
        for instance in (each for each in all_own if each in own):
            due = [self.held[instance]] if self.dues[instance] == now else []
            due += [value for value, time in self.pending[instance].items() if time == now]
            for value in [own for own in due if self.is_put_off(instance, own, initiated)]:
                due.remove(value)
                later = self.pending[instance] if value in self.pending[instance] else self.dues
                later[value if later is not self.dues else instance] = self.until(
                    instance, value, now
                )
            self.dues[instance] = NEVER if due else self.dues[instance]
            for value in due:
                self.pending[instance].pop(value, None)
                self.fired.add((instance, value))
                for told, done in self.effects(instance, value):
                    waiting += self.tell(instance, told, now)
                    self.actions.setdefault(instance, []).append(done)
        waiting += [(self.rank(self.causes.records[row]), self.causes.records[row]) for row in rows]
        for rank in range(int(self.causes.rules[:, 3].max()) + 1):
            if now > self.causes.edge:
                waiting += self.edges(rank, now)
            for _, record in [each for each in waiting if each[0] == rank]:
                waiting += self.decide(record, now)

    def edges(self, rank: int, now: int) -> list[tuple[int, Any]]:
        """What starts or ends, told at the rank of its relation."""
        woken = []
        for instance, actions in list(self.actions.items()):
            relation = self.causes.relations[self.causes.relation_of[instance]]
            before, after = self.held[instance], self.then(instance, actions)
            if rank and relation[11] == rank and before != after:
                told = [walk.EDGE | before << 1] * (before >= 0)
                told += [walk.EDGE | after << 1 | 1] * (after >= 0)
                woken += [own for action in told for own in self.tell(instance, action, now)]
        return woken

    def rank(self, record: Any) -> int:
        return int(self.causes.rules[record[0], 3])

    def tell(self, instance: int, told: int, now: int) -> list[tuple[int, Any]]:
        relation = self.causes.relations[self.causes.relation_of[instance]]
        woken, is_new = [], False
        for action, base in self.causes.classes[relation[0] : relation[1]].tolist():
            kinds = (walk.ANY_TERMINATION, walk.ANY_INITIATION, walk.ANY_END, walk.ANY_START)
            of_kind = kinds[(told & 1) + 2 * (told >= walk.EDGE)]
            slot = base + instance - int(relation[2])
            if action in (told, of_kind) and slot not in self.slots:
                self.slots.add(slot)
                is_new = True
                low, high = self.causes.triggers[slot : slot + 2]
                woken += [(self.rank(own), own) for own in self.causes.inner[low:high]]
        is_kept = relation[3] == walk.ALWAYS or (relation[3] == walk.ONCE and is_new)
        if is_kept and told < walk.EDGE:
            self.happened.append((instance, told, now))
        return woken

    def decide(self, record: Any, now: int) -> list[tuple[int, Any]]:
        rule, woken = self.causes.rules[record[0]].tolist(), []
        self.decided += 1
        told, done, value_at, _, count, *conditions = rule
        for at in range(count):
            wanted, column = conditions[2 * at : 2 * at + 2]
            value = int(record[column]) + 1 if column else wanted >> 2
            target = int(record[2 + at])
            if wanted & 2:
                is_so = target in self.slots
            else:
                own = self.held[target] if target >= 0 else -1
                is_so = own >= 0 and value in (0, own + 1)
            if is_so == bool(wanted & 1):
                return []
        if value_at:
            told, done = (
                own | int(record[value_at]) << 1 if own >= 0 else own for own in (told, done)
            )
        if told != NO_ACTION:
            woken = self.tell(int(record[1]), told, now)
        if done != NO_ACTION:
            self.actions.setdefault(int(record[1]), []).append(done)
        return woken

    def delays(self, instance: int, value: int) -> tuple[int, int, Any, int]:
        """The delay of a value, its slot, its relation and the line of the instance."""
        relation = self.causes.relations[self.causes.relation_of[instance]].tolist()
        line = relation[9] * (instance - relation[2])
        slot = int(self.causes.effects[0][relation[4] + value])
        delay = int(self.causes.effects[1][relation[5] + line * relation[6] + slot])
        return delay, slot, relation, line

    def until(self, instance: int, value: int, now: int) -> int:
        """When the effects of what is initiated now are due."""
        delay, *_ = self.delays(instance, value)
        return NEVER if delay == NO_EFFECT or now == self.causes.quiet else now + delay

    def effects(self, instance: int, value: int) -> list[tuple[int, int]]:
        _, slot, relation, line = self.delays(instance, value)
        width, layers = relation[6], relation[7]
        places = [relation[8] + line * width * layers + slot + k * width for k in range(layers)]
        pairs = [
            (int(self.causes.effects[2][at]), int(self.causes.effects[3][at])) for at in places
        ]
        return [(told, done) for told, done in pairs if told != NO_ACTION]

    def then(self, instance: int, actions: list[int]) -> int:
        """What an instance holds after some actions."""
        begun = {action >> 1 for action in actions if action & 1}
        ended = {action >> 1 for action in actions if not action & 1}
        after = begun.pop() if len(begun) == 1 else (-1 if begun else self.held[instance])
        return -1 if after in ended or -1 in ended else after

    def change(self, instance: int, actions: list[int], now: int) -> None:
        self.conflicts += len({action for action in actions if action & 1}) > 1
        before, after = self.held[instance], self.then(instance, actions)
        begun = {action >> 1 for action in actions if action & 1}
        ended = {action >> 1 for action in actions if not action & 1}
        tick = self.causes.tick
        earlier = now if (instance, before) in self.fired else self.dues[instance]
        if after != before:
            if before >= 0:
                self.intervals.append((instance, before, self.starts[instance], now + tick))
                self.over(instance, before, earlier, now)
            self.held[instance], self.starts[instance] = after, now + tick
            self.dues[instance] = NEVER
        relation = self.causes.relations[self.causes.relation_of[instance]]
        if not relation[6]:
            return
        lost = {v: d for v, d in self.pending[instance].items()
                if not begun - {v} and not ended & {v, -1}}  # fmt: skip
        fired = {value for at, value in self.fired if at == instance and value != before}
        for value in (self.pending[instance].keys() | fired) - lost.keys():
            self.begun.append((instance, ~value, now))
        self.pending[instance] = {v: d for v, d in lost.items() if v not in begun}
        if after < 0:
            for value in begun:
                if self.until(instance, value, now) != NEVER:
                    self.pending[instance][value] = self.until(instance, value, now)
                    self.begun.append((instance, value, now))
            return
        _, slot, own, _ = self.delays(instance, after)
        due = self.until(instance, after, now)
        is_first = after == before and self.dues[instance] == NEVER and due != NEVER
        is_moved = bool(begun) and (is_first or bool(self.causes.effects[4][own[10] + slot]))
        if after != before or is_moved:
            self.dues[instance] = due
        if after in lost and not is_moved:
            self.dues[instance] = lost[after]
        if is_moved:
            self.begun.append((instance, after, now))

    def over(self, instance: int, value: int, due: int, now: int) -> None:
        """Note that the initiation of what was held is over, if starts do not tell that."""
        if not self.causes.relations[self.causes.relation_of[instance]][6]:
            return
        delay, slot, own, _ = self.delays(instance, value)
        since = self.starts[instance] - self.causes.tick
        is_apart = delay != NO_EFFECT and due != NEVER and due - delay != since
        if is_apart or self.causes.effects[4][own[10] + slot]:
            self.begun.append((instance, ~value, now))


# -- random causes ---------------------------------------------------------------------------


def drawn(random: Random) -> tuple[Causes, Integers, Integers, Integers, Any]:
    """Two fluents and an event, each of a few instances, in one group or in two."""
    counts = [random.randint(1, 4) for _ in range(3)]
    bases = np.cumsum([0, *counts]).tolist()
    at, table, ends, limits = 0, [], [], [0]
    for relation, own in enumerate(CLASSES):
        for action in own:
            table.append([action, at])
            at += counts[relation]
        ends.append(len(table))
        limits.append(at)
    slots, total = at, bases[-1]
    is_tall = [random.randint(0, 1) for _ in range(2)]
    effects: list[list[int]] = [[0], [0], [0], [0], [0]]
    rows = []
    for relation in range(3):
        row = [ends[relation - 1] if relation else 0, ends[relation], bases[relation]]
        row.append(walk.ONCE if relation == 2 else random.randint(0, 1))
        row += [0] * 7
        if relation < 2:
            row[4:] = _effects(random, effects, counts[relation], is_tall[relation])
        # All that changes the fluents has the rank of their number.
        rows.append([*row, random.choice((0, relation + 1)) if relation < 2 else 0])
    rules, records = _rules(random, bases, limits)
    wide = max(len(own) for own in records)
    matrix = np.array([[*own, *[-1] * (wide - len(own))] for own in records], np.int32)
    given = np.array([random.randrange(len(matrix)) for _ in range(random.randint(0, 30))], int)
    times = np.sort(np.array([random.randint(1, 20) for _ in given], np.int64))
    order = np.lexsort((rules[matrix[given, 0], 3], times))
    inner = np.array([random.randrange(len(matrix)) for _ in range(10)], int)
    # What a slot drives has a higher rank than what may happen there.
    inner = inner[rules[matrix[inner, 0], 3] > 0]
    ranks = rules[matrix[inner, 0], 3].tolist()
    waiting = np.array([random.randrange(limits[rank]) for rank in ranks], np.int64)
    inner, waiting = inner[np.argsort(waiting)], np.sort(waiting)
    triggers = np.searchsorted(waiting, np.arange(slots + 1)).astype(np.int64)
    held = np.array([random.randint(-1, VALUES - 1) for _ in range(total)], np.int64)
    held[bases[2] :] = -1
    quiet = random.choice((NO_POINT, NO_POINT, 1))
    if quiet != NO_POINT:
        held[:] = -1
    causes = Causes(
        rules, np.array(rows, np.int64), np.array(table, np.int64),
        np.repeat(np.arange(3), counts), tuple(np.array(own, np.int64) for own in effects),
        np.ascontiguousarray(matrix[given[order]]), times, np.array([len(times)]),
        np.arange(total), np.array([total]), np.ascontiguousarray(matrix[inner]), triggers,
        0, random.randint(10, 30), 1, quiet,
    )  # fmt: skip
    dues = np.array([random.choice((NEVER, random.randint(1, 20))) for _ in held], np.int64)
    dues[(held < 0) | (np.arange(total) >= bases[2])] = NEVER
    waiting = [
        (instance, value, random.randint(1, 20))
        for instance in np.flatnonzero(held[: bases[2]] < 0).tolist()
        for value in range(VALUES)
        if random.random() < 0.3
        and quiet == NO_POINT
        and effects[0][rows[int(instance >= bases[1])][4] + value]
    ]
    columns = np.array(waiting, np.int64).reshape(-1, 3).T
    return causes, held, np.zeros(total, np.int64), dues, (columns[0], columns[1], columns[2])


def _effects(random: Random, effects: list[list[int]], count: int, is_tall: int) -> list[int]:
    """Effects of one fluent, behind those of others; gives where they are."""
    width, layers = 3, random.randint(1, 2)
    height = count if is_tall else 1
    row = [len(effects[0]), len(effects[1]), width, layers, len(effects[2]), is_tall]
    row.append(len(effects[4]))
    slots = random.sample(range(VALUES), VALUES)
    effects[0] += slots
    for _ in range(height):
        effects[1] += [NO_EFFECT, random.randint(1, 5), random.randint(1, 9)]
        told = [NO_ACTION, *(_breaking(random, slots.index(at)) for at in range(1, width))]
        for _ in range(layers - 1):
            told += [NO_ACTION, *(random.choice((NO_ACTION, _breaking(random, slots.index(at))))
                                  for at in range(1, width))]  # fmt: skip
        effects[2] += told
        effects[3] += [random.choice((own, own, ALL)) if own != NO_ACTION else own for own in told]
    effects[4] += [0, random.randint(0, UNTIL_DUE), random.randint(0, UNTIL_DUE)]
    return row


def _breaking(random: Random, value: int) -> int:
    """An effect of a value: it ends, or another begins."""
    others = [own << 1 | 1 for own in range(VALUES) if own != value]
    return random.choice((value << 1, *others))


def _rules(random: Random, bases: list[int], limits: list[int]) -> tuple[Integers, list[list[int]]]:
    """Rules of ranks 0 to 2, about the relation of that number, each with a few records."""
    rules, records = [], []
    for rule in range(random.randint(2, 8)):
        count, has_value = random.randint(0, 2), random.random() < 0.3
        rank = relation = random.randrange(3)
        action = random.randrange(2 * VALUES)
        told, done = (1, NO_ACTION) if relation == 2 else (action, random.choice((action, ALL)))
        if has_value and relation < 2:
            told, done = action & 1, action & 1
        row = [told, done, 2 + count if has_value and relation < 2 else 0, rank, count]
        for _ in range(2):
            of_point = 2 * (random.random() < 0.3 and rank > 0)
            value = 0 if of_point else random.randint(0, VALUES)
            row += [random.randint(0, 1) | of_point | value << 2, 0]
        rules.append(row)
        for _ in range(4):
            record = [rule, random.randrange(bases[relation], bases[relation + 1])]
            for at in range(count):
                most = limits[rank] if row[5 + 2 * at] & 2 else bases[2]
                record.append(random.randrange(-1, most))
            records.append([*record, random.randrange(VALUES)])
    return np.array(rules, np.int64), records


def _told(columns: list[Integers]) -> list[tuple[int, ...]]:
    return sorted(zip(*(own.tolist() for own in columns), strict=True))


@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_a_walk_is_its_plain_twin(first: int) -> None:
    some = 0
    for seed in range(first, first + 250):
        given = drawn(Random(seed))
        one, other = unfold(*given), unfold_plain(*given)
        assert _told(one.intervals) == _told(other.intervals), f"seed {seed}"
        assert _told(one.initiations) == _told(other.initiations), f"seed {seed}"
        assert _told(one.happened) == _told(other.happened), f"seed {seed}"
        assert one.conflicts == other.conflicts, f"seed {seed}"
        assert one.decided == other.decided, f"seed {seed}"
        some += len(one.happened[0]) > 0
    assert some > 100


def test_a_walk_with_little_room_makes_halts() -> None:
    for seed in range(100):
        given = drawn(Random(seed))
        one, other = unfold(*given, room=1), unfold(*given)
        assert _told(one.intervals) == _told(other.intervals), f"seed {seed}"
        assert _told(one.happened) == _told(other.happened), f"seed {seed}"
