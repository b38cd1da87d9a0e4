"""A slow run of a program over lists, from what the planner says and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from math import inf

from cernis.check.model import Pair
from cernis.plan.sweep.fact_values import goal_of
from cernis.plan.sweep.lanes import ListOp, ListOutput, ListProgram, ListRow, ListSource
from tests.plan.sweep.lane_interpreter import Key, PairOfKey, allows, named_keys
from tests.reference import intervals as lists
from tests.reference.intervals import Intervals
from tests.reference.solve import Solver

Held = Mapping[PairOfKey, Intervals]
"""The intervals of pairs; an end is infinite while it is open."""


class ListInterpreter:
    """Runs a program for all keys that have a list of their own, and those that are named."""

    def __init__(self, program: ListProgram, solver: Solver, start: int, end: int, tick: int):
        self.program, self.solver, self.end = program, solver, end
        self._always: Intervals = [(start + tick, inf)]

    def run(self, held: Held) -> dict[PairOfKey, Intervals]:
        """The pairs that the program gives."""
        results: dict[PairOfKey, Intervals] = {}
        for key in self._keys(held):
            slots = self._slots(key, held)
            for row in self.program.rows:
                slots[row.to] = self._result(row, slots, key)
            for output in self.program.outputs:
                if slots[output.slot] and not output.is_input:
                    results[self._pair_of(output, key)] = slots[output.slot]
        return results

    def _keys(self, held: Held) -> set[Key]:
        members = self.program.members
        named = {key for each in members for key in named_keys(self.solver, each)}
        return named | {
            tuple(args[place] for place in source.positions)
            for source in self.program.sources
            if source.link is None
            for relation, args, value in held
            if (relation, value) == (source.relation, source.value)
        }

    def _slots(self, key: Key, held: Held) -> list[Intervals]:
        slots: list[Intervals] = [[] for _ in range(self.program.slots)]
        for source in self.program.sources:
            slots[source.slot] = list(held.get(self._pair(source, key), []))
        return slots

    def _pair(self, source: ListSource, key: Key) -> PairOfKey:
        if source.link is not None:
            key = tuple(key[place] for place in self.program.links[source.link].positions)
        places = dict(zip(source.positions, key, strict=True))
        args = tuple(places.get(at, term) for at, term in enumerate(source.arguments))
        return source.relation, args, source.value  # type: ignore[return-value]

    def _pair_of(self, output: ListOutput, key: Key) -> PairOfKey:
        places = dict(zip(output.positions, key, strict=True))
        args = tuple(places.get(at, term) for at, term in enumerate(output.arguments))
        return output.relation, args, output.value  # type: ignore[return-value]

    def _is_allowed(self, output: ListOutput, key: Key) -> bool:
        _, args, value = self._pair_of(output, key)
        return not output.groundings or any(
            isinstance(each.entity, Pair) and allows(self.solver, each, (*args, value))
            for each in output.groundings
        )

    def _result(self, row: ListRow, slots: list[Intervals], key: Key) -> Intervals:
        one, other = slots[row.source], slots[row.other]
        match row.op:
            case ListOp.UNION:
                return lists.union_all([one, other])
            case ListOp.INTERSECT:
                return lists.intersect_all([one, other])
            case ListOp.SUBTRACT:
                return lists.relative_complement_all(one, [other])
            case ListOp.COMPLEMENT:
                return lists.relative_complement_all(self._always, [one])
            case ListOp.LONGER:
                return lists.longer_than(one, row.parameter, self.end)
            case ListOp.SHORTER:
                return lists.shorter_than(one, row.parameter)
            case ListOp.OUTPUT:
                return one if self._is_allowed(self.program.outputs[row.parameter], key) else []
        return one if self._meets(row.parameter, key) else []

    def _meets(self, number: int, key: Key) -> bool:
        condition = self.program.conditions[number]
        values = dict(zip(condition.variables, key, strict=True))
        goals = list(map(goal_of, condition.steps))
        return any(True for _ in self.solver.solve(goals, values))


def as_spans(intervals: Intervals) -> list[tuple[int, int | None]]:
    """Intervals with None for an end that is open."""
    return list(starmap(lambda start, end: (start, None if end == inf else int(end)), intervals))
