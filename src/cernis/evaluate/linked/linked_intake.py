"""Takes records of a linked program in: numbers instances and those they are linked to, signs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.sweep.lane_keys import LaneKeys
from cernis.evaluate.sweep.record_signs import RecordSigns, RecordTest
from cernis.kernels.array_types import Array, Integers, Matrix, Words
from cernis.operators.context.query_context import Context
from cernis.plan.linked.linked_plans import InstanceKind, LinkedProgram
from cernis.plan.sweep.lanes import FiredKind


class TupleNumbers(LaneKeys):
    """Numbers the instances of a kind, and knows what is so of each."""

    def __init__(self, kind: InstanceKind, context: Context) -> None:
        domains = context.encoding.arguments(kind.home)
        super().__init__(kind.lane, [domains[place] for place in kind.positions])

    def entered(self, columns: list[Array], length: int) -> Integers:
        """The numbers of tuples."""
        return self.of_keys.enter(columns, length)

    def tuples(self, numbers: Integers) -> list[Array]:
        """The tuples of instances, as columns of values."""
        return self.of_keys.columns(numbers)


class SignedInstances(NamedTuple):
    """Records as a kind sees them: the number of the instance, the time, and what is fired."""

    numbers: Integers
    times: Integers
    words: Words


class LinkedIntake:
    """What is known of the instances of a linked program. It outlives runs of the same plan."""

    def __init__(self, program: LinkedProgram, context: Context) -> None:
        self._program = program
        self.keys = [TupleNumbers(kind, context) for kind in program.kinds]
        self.links: list[Matrix] = [
            np.empty((0, len(kind.links)), np.int64) for kind in program.kinds
        ]
        """For each instance of each kind: the numbers of those it is linked to."""
        self._signs = [
            {
                name: RecordSigns(list(_tests(kind, name)), context.encoding.event(event))
                for name, event in kind.records
            }
            for kind in program.kinds
        ]

    def begin(self) -> None:
        """Let another run begin."""
        for keys in self.keys:
            keys.begin()

    def signed(
        self, kind: int, name: Relation, rows: StoredRows, context: Context
    ) -> SignedInstances:
        """Those records of an event that fire something."""
        times = rows.columns[0]
        words = self._signs[kind][name].words(rows.arguments, times, context).view(np.uint64)
        arguments = rows.arguments
        if not words.all():
            chosen = np.flatnonzero(words)
            arguments = [column[chosen] for column in arguments]
            times, words = times[chosen], words[chosen]
        numbers = self.keys[kind].numbers(name, arguments, len(times))
        return SignedInstances(numbers, times, words)

    def number_links(self, context: Context) -> None:
        """Find out what is so of instances that are new, and number those they are linked to."""
        for number, kind in enumerate(self._program.kinds):
            keys, links = self.keys[number], self.links[number]
            keys.update(context)
            new = np.arange(len(links), len(keys.first_words))
            if not len(new):
                continue
            columns = keys.tuples(new) if kind.links else []
            more = np.empty((len(new), len(kind.links)), np.int64)
            for place, link in enumerate(kind.links):
                parts = [columns[position] for position in link.positions]
                more[:, place] = self.keys[link.target].entered(parts, len(new))
            self.links[number] = np.concatenate([links, more])


def _tests(kind: InstanceKind, name: Relation) -> Iterator[RecordTest]:
    """What records of an event may fire."""
    for number, bit in enumerate(kind.lane.fired):
        if bit.kind is FiredKind.RECORD and bit.relation == name:
            yield RecordTest(number, bit.steps, bit.values)
