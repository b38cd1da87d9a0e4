"""The walk over linked instances and its plain twin write the same, on tables of real rules."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cernis
from cernis.evaluate.linked.linked_cells import LinkedCells, LinkedMachine
from cernis.evaluate.linked.linked_rows import FiredRows
from cernis.evaluate.linked.linked_walks import kind_tables
from cernis.evaluate.relation_layout import context_of
from cernis.evaluate.windows import Window
from cernis.evaluate.workspace import workspace_for
from cernis.kernels import compile as compiling
from cernis.kernels.linked import linked_walk
from cernis.kernels.linked.linked_output import (
    alone,
    in_told_order,
    plain_alone,
    plain_in_told_order,
)
from cernis.kernels.linked.linked_tables import (
    HEADER,
    KIND_BITS,
    KindTables,
    chained,
    packed_kinds,
)
from cernis.kernels.linked.plain_linked_walk import PlainInstance, PlainLinkedWalk
from cernis.plan.builder import Plan
from cernis.plan.sweep.lanes import FiredKind, Lane
from tests.plan.linked.linked_programs import LinkedAuthor, walk_all_over_links

ALL = (1 << 64) - 1


def linked_plan(seed: int) -> Plan:
    """A plan that walks over links; the test is skipped if there is none."""
    plan = cernis.load(LinkedAuthor(Random(seed)).program()).plan
    if not walk_all_over_links(plan):
        pytest.skip("a program that fits lanes or columns only")
    return plan


def tables_of(plan: Plan) -> list[KindTables]:
    """The kinds of its linked program as arrays."""
    workspace = workspace_for(plan, plan.forms.copy())
    context = context_of(
        plan, workspace.domains, workspace.memo, 1, "break", Window(0, 0, 0), 0
    )  # fmt: skip
    return chained([kind_tables(kind, context) for kind in plan.linked[0].kinds])


def record_bits(lane: Lane) -> list[int]:
    """The fired bits that records set."""
    return [at for at, bit in enumerate(lane.fired) if bit.kind is FiredKind.RECORD]


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("seed", range(5000, 5030))
def test_the_walk_is_its_plain_twin(
    seed: int, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, random = linked_plan(seed), Random(seed)
    if is_compiled:
        monkeypatch.setattr(compiling, "PLAIN_ROWS", 0)
    kinds = tables_of(plan)
    cells, instances = LinkedCells(LinkedMachine(kinds)), []
    by_kind: list[list[PlainInstance]] = [[] for _ in kinds]
    for kind in reversed(range(len(kinds))):
        count = random.randint(1, 3)
        links = [[random.randrange(len(by_kind[to])) for to in kinds[kind].links]
                 for _ in range(count)]  # fmt: skip
        by_kind[kind] = [
            PlainInstance(kind, number, 0, ALL,
                          [by_kind[to][at] for to, at in zip(kinds[kind].links, row, strict=True)])
            for number, row in enumerate(links)
        ]  # fmt: skip
        handles = [[cells.handles[to][at] for to, at in zip(kinds[kind].links, row, strict=True)]
                   for row in links]  # fmt: skip
        cells.add(
            kind, np.zeros(count, np.uint64), np.full(count, ALL, np.uint64),
            np.array(handles, np.int64).reshape(count, -1), 0,
        )  # fmt: skip
        instances += by_kind[kind]
    records = []
    for _ in range(40):
        each = random.choice(instances)
        bits = record_bits(plan.linked[0].kinds[each.kind].lane)
        if bits:
            records.append((random.randint(1, 30), each, 1 << random.choice(bits)))
    records.sort(key=lambda record: record[0])
    rows = FiredRows(
        np.array([time for time, _, _ in records], np.int64),
        np.array([(cells.handles[each.kind][each.number] << KIND_BITS) | each.kind
                  for _, each, _ in records], np.int64),
        np.array([fired for _, _, fired in records], np.uint64),
    )  # fmt: skip
    plain = PlainLinkedWalk(kinds, instances)
    plain.walk(records, 40)
    walked = cells.walk(rows, 40)
    assert sorted(zip(*(column.tolist() for column in walked), strict=True)) == sorted(plain.rows)
    for kind, known in enumerate(by_kind):
        words = [int(cells.cells.view(np.uint64)[handle]) for handle in cells.handles[kind]]
        assert words == [each.word for each in known], f"seed {seed}"


def test_output_is_told_by_code_and_number() -> None:
    random = np.random.default_rng(3)
    for count in (0, 1, 7, 400):
        output = random.integers(0, 5, (count + 3, 4))
        sizes = np.full(6, 5)
        columns = in_told_order(output, count, sizes)
        expected = plain_in_told_order(output, count, sizes)
        assert [c.tolist() for c in columns[:2]] == [c.tolist() for c in expected[:2]]
        rows = sorted(zip(*(column.tolist() for column in columns), strict=True))
        assert rows == sorted(map(tuple, output[:count].tolist()))


def test_rows_that_are_in_one_of_two_only() -> None:
    random = np.random.default_rng(4)
    for count in (0, 1, 30, 30_000):
        rows = [
            np.unique(random.integers(0, 2 + count // 100, (count, 4)), axis=0) for _ in range(2)
        ]
        for marks, expected in zip(alone(*rows), plain_alone(*rows), strict=True):
            assert marks.tolist() == expected.tolist()


def test_headers_come_first() -> None:
    kinds = tables_of(linked_plan(5001))
    tables = packed_kinds(kinds)
    assert tables[0] == len(kinds) * HEADER
    assert linked_walk.DONE == 0
