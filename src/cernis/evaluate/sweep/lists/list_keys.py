"""The keys of a program over lists: numbers, conditions that they meet, pairs they may have.

A condition on several values of a key is mostly made of such on one value, by and, or and not: no
vessel of the pair is a tug. Those on one value are decided once for each value there is, so a key
that is new costs a look into a few tables. What is made otherwise is decided by the operators of
columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cernis.errors import OverflowFault
from cernis.evaluate.sweep.grounded_keys import GroundedKeys
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_keys import fulfilling
from cernis.evaluate.sweep.sign_conditions import CodeTable, names_of
from cernis.kernels.array_types import Booleans, Bytes, Integers
from cernis.operators.comparison_programs import UnfitProgramError
from cernis.operators.context.query_context import Context
from cernis.plan.logical import Branches, Except, PointOperator
from cernis.plan.sweep.grounding_questions import GroundedPair
from cernis.plan.sweep.lanes import ListCondition, ListProgram
from cernis.tables.domains import Domain

_MOST_CODES = 1 << 12
"""So many values are decided even if few of them are those of keys."""


class _Formula(ABC):
    """What is so of keys, by the codes of their values."""

    @abstractmethod
    def decide(self, codes: Sequence[Integers], context: Context) -> Booleans:
        """Is it so of each key?"""


@dataclass(frozen=True, slots=True)
class _OfOneValue(_Formula):
    """A table of one value says it."""

    table: CodeTable

    def decide(self, codes: Sequence[Integers], context: Context) -> Booleans:
        """Look it up."""
        self.table.update(context)
        return self.table.is_true[codes[self.table.position]]


@dataclass(frozen=True, slots=True)
class _AllOf(_Formula):
    """All parts are so; nothing is always so."""

    parts: tuple[_Formula, ...]

    def decide(self, codes: Sequence[Integers], context: Context) -> Booleans:
        """Decide all parts."""
        is_so = np.ones(len(codes[0]), np.bool_)
        for part in self.parts:
            is_so &= part.decide(codes, context)
        return is_so


@dataclass(frozen=True, slots=True)
class _AnyOf(_Formula):
    """One of several parts is so."""

    parts: tuple[_Formula, ...]

    def decide(self, codes: Sequence[Integers], context: Context) -> Booleans:
        """Decide all parts."""
        is_so = np.zeros(len(codes[0]), np.bool_)
        for part in self.parts:
            is_so |= part.decide(codes, context)
        return is_so


@dataclass(frozen=True, slots=True)
class _NotSo(_Formula):
    """A part is not so."""

    part: _Formula

    def decide(self, codes: Sequence[Integers], context: Context) -> Booleans:
        """Decide the part."""
        return ~self.part.decide(codes, context)


class KeyConditions:
    """Decides conditions for keys whose values have these domains; without any, by operators."""

    def __init__(self, conditions: Sequence[ListCondition], domains: Sequence[Domain]) -> None:
        self._conditions = conditions
        self._domains = domains
        self._tables: dict[tuple[str, tuple[PointOperator, ...]], _OfOneValue] = {}
        self._formulas = [self._formula(each) for each in conditions]

    def _formula(self, condition: ListCondition) -> _Formula | None:
        """A condition by tables; None if it is decided by operators."""
        places = {name: place for place, name in enumerate(condition.variables)}
        try:
            return self._all_of(condition.steps, places) if self._domains else None
        except UnfitProgramError:
            return None

    def decide(self, keys: KeyNumbers, numbers: Integers, context: Context) -> Bytes:
        """For each condition: 1 for each of some keys that meets it."""
        is_met = np.zeros((len(self._conditions), len(numbers)), np.uint8)
        columns = keys.coded_columns(numbers)
        codes = [np.asarray(column.data, np.int64) for column in columns]
        are_many = any(len(each) > _MOST_CODES + 16 * keys.count for each in self._domains)
        for row, condition in enumerate(self._conditions):
            formula = None if are_many else self._formulas[row]
            if formula is not None:
                try:
                    is_met[row] = formula.decide(codes, context)
                    continue
                except (OverflowFault, UnfitProgramError):
                    # Some value that no key may have cannot be decided.
                    self._formulas[row] = None
            variables, steps = condition.variables, condition.steps
            is_met[row, fulfilling(variables, steps, keys, numbers, context)] = 1
        return is_met

    # -- from steps to formulas ---------------------------------------------------------------

    def _all_of(self, steps: Sequence[PointOperator], places: Mapping[str, int]) -> _Formula:
        """Steps one after the other: those on one value together, as they may bind variables."""
        depends = {name: frozenset([place]) for name, place in places.items()}
        steps_of: dict[int, list[PointOperator]] = {}
        parts: list[_Formula] = []
        for step in steps:
            names = names_of(step)
            known = frozenset().union(*(depends[name] for name in names & depends.keys()))
            if len(known) == 1:
                steps_of.setdefault(next(iter(known)), []).append(step)
            elif (names & depends.keys()) - places.keys():
                raise UnfitProgramError
            else:
                parts.append(self._of_several(step, places))
            depends |= dict.fromkeys(names - depends.keys(), known)
        name_of = {place: name for name, place in places.items()}
        tables = [self._table(name_of[at], at, own) for at, own in steps_of.items()]
        return _AllOf((*tables, *parts))

    def _of_several(self, step: PointOperator, places: Mapping[str, int]) -> _Formula:
        if isinstance(step, Except):
            return _NotSo(self._all_of(step.body, places))
        if isinstance(step, Branches) and not step.rank:
            return _AnyOf(tuple(self._all_of(branch, places) for branch in step.branches))
        raise UnfitProgramError

    def _table(self, name: str, place: int, steps: list[PointOperator]) -> _OfOneValue:
        """The table of one value; equal ones are one."""
        key = (name, tuple(steps))
        if key not in self._tables:
            self._tables[key] = _OfOneValue(
                CodeTable(place, self._domains[place], name, None, steps)
            )
        return self._tables[key]


class ListKeys(GroundedKeys):
    """Numbers the keys of a program over lists, and knows what is so of each.

    The bits of pairs are the numbers of outputs.
    """

    def __init__(self, program: ListProgram, context: Context) -> None:
        first = program.outputs[-1]
        domains = context.encoding.arguments(first.relation)
        super().__init__(
            KeyNumbers([domains[place] for place in first.positions]),
            {each.relation: each.positions for each in program.outputs},
            {
                number: GroundedPair(
                    each.relation, each.positions, each.arguments, each.value, each.groundings
                )
                for number, each in enumerate(program.outputs)
                if each.groundings
            },
            program.members,
        )
        of_values = [each for each in self.of_keys.domains if each is not None]
        has_numbers = len(of_values) < len(self.of_keys.domains)
        self._conditions = KeyConditions(program.conditions, [] if has_numbers else of_values)

    def update(self, context: Context) -> None:
        """Find out what keys may have that are new."""
        self._joining.enter(context)
        self._enter_allowed(context)

    def conditions(self, numbers: Integers, context: Context) -> Bytes:
        """For each condition of the program: 1 for each of some keys that meets it."""
        return self._conditions.decide(self.of_keys, numbers, context)
