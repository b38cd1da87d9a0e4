"""Programs over lists in windows: the sum of what is reported is what a plain run gives.

The plain run knows all intervals since the beginning; up to the edge, what was reported stands.
"""

import random
from collections import Counter

import pytest

from cernis.evaluate.sweep.lists.list_state import SourceChanges
from cernis.kernels.sweep.key_calendar import NEVER
from cernis.kernels.sweep.list_walk import plain_lists
from tests.fuzz.lanes import rows_of
from tests.kernels.sweep.random_lists import (
    Pairs,
    Row,
    intervals,
    list_tables,
    new_state,
    random_list_program,
    random_lists,
)


def known_at(lists: list[list[Pairs]], query: int) -> set[Row]:
    """The intervals of all keys and sources as they are known at a query."""
    return {
        (source, key, start, end if end <= query + 1 else int(NEVER))
        for key, sources in enumerate(lists)
        for source, own in enumerate(sources)
        for start, end in own
        if start <= query + 1
    }


def _change_late(r: random.Random, lists: list[Pairs], edge: int, query: int) -> None:
    """Move an end that lies in the window, as a late record would."""
    for own in lists:
        for number, (start, end) in enumerate(own):
            after = own[number + 1][0] if number + 1 < len(own) else 10**6
            if edge + 1 < end <= query and r.random() < 0.2 and end + 2 < after:
                own[number] = (start, end + 1)


@pytest.mark.parametrize("seed", range(400))
def test_the_sum_of_changes_is_what_a_plain_run_gives(seed: int) -> None:
    """Some sources are those of a key that several keys are linked to, and reach into own ones."""
    r = random.Random(seed)
    own_sources, linked = r.randint(1, 2), r.choice([0, 0, 1, 2])
    keys, targets = r.randint(1, 3), [r.randint(0, 1) for _ in range(3)]
    program, slots = random_list_program(r, own_sources + linked, linked)
    tables = list_tables(program, own_sources + linked, linked)
    lists = [random_lists(r, own_sources, 60) for _ in range(keys)]
    linked_lists = [random_lists(r, own_sources + linked, 60) for _ in range(2)]
    for sources in linked_lists:
        sources[:own_sources] = [[] for _ in range(own_sources)]
    state = new_state(tables, keys, targets[:keys])
    step = r.randint(3, 12)
    feed: Counter[Row] = Counter()
    reported: dict[int, list[Pairs]] = {key: [[] for _ in tables.outputs] for key in range(keys)}
    last: tuple[set[Row], set[Row]] = set(), set()
    for query in range(step, 90, step):
        edge = max(0, query - 2 * step)
        for sources in (*lists, *linked_lists):
            _change_late(r, sources, edge, query)
        now = known_at(lists, query), known_at(linked_lists, query)
        changes = [
            SourceChanges(intervals(new - old), intervals(old - new))
            for new, old in zip(now, last, strict=True)
        ]
        come, gone = state.update(edge, query, changes[0], changes[1] if linked else None)
        last = now
        feed.update(rows_of(come))
        feed.subtract(rows_of(gone))
        assert min(feed.values(), default=0) >= 0
        for key in range(keys):
            whole = [[(s, e) for n, k, s, e in sorted(now[0]) if (n, k) == (number, key)]
                     for number in range(own_sources + linked)]  # fmt: skip
            for number in range(own_sources, own_sources + linked):
                whole[number] = [(s, e) for n, k, s, e in sorted(now[1])
                                 if (n, k) == (number, targets[key])]  # fmt: skip
            if any(whole[:own_sources]):
                plain = plain_lists(
                    program, slots, whole, [True], 0, query, 1, reported[key], edge + 1,
                    tables.reaches,
                )  # fmt: skip
                standing = [
                    [(s, e) for s, e in own if e < edge + 1 - reach]
                    for own, reach in zip(reported[key], tables.reaches, strict=True)
                ]
                reported[key] = [
                    [*old, *plain[slot]] for old, slot in zip(standing, tables.outputs, strict=True)
                ]
        expected = {
            (number, key, s, e) for key, outputs in reported.items()
            for number, own in enumerate(outputs) for s, e in own
        }  # fmt: skip
        assert +feed == Counter(expected), f"seed {seed}, query {query}"
