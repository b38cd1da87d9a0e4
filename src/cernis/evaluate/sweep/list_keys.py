"""The keys of a program over lists: numbers, conditions that they meet, pairs they may have."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.sweep.domain_fillings import DomainFillings
from cernis.evaluate.sweep.joining_keys import JoiningKeys
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_keys import fulfilling
from cernis.kernels.array_types import Array, Booleans, Bytes, Integers, Words
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.grounding import allowed
from cernis.plan.sweep.grounding_questions import NEVER_ALLOWED, first_alike
from cernis.plan.sweep.lanes import ListOutput, ListProgram

_ALL_BITS = np.uint64((1 << 64) - 1)


class ListKeys:
    """Numbers the keys of a program over lists, and knows what is so of each."""

    def __init__(self, program: ListProgram, context: Context) -> None:
        self._program = program
        self._positions = {each.relation: each.positions for each in program.outputs}
        first = program.outputs[-1]
        domains = context.encoding.arguments(first.relation)
        self.of_keys = KeyNumbers([domains[place] for place in first.positions])
        self.allowed = np.empty(0, np.uint64)
        """For each key, the outputs that groundings allow."""
        self._filling: int | None = None
        self._first_alike = first_alike(
            (each.positions, each.arguments, each.value, each.groundings)
            for each in program.outputs
        )
        self._fillings = DomainFillings(
            each.groundings for each in program.outputs if each.groundings
        )
        self._joining = JoiningKeys(program.members, self.of_keys)

    def numbers(self, relation: Relation, arguments: list[Array], length: int) -> Integers:
        """The numbers of the keys of rows of a relation."""
        columns = [arguments[place] for place in self._positions[relation]]
        return self.of_keys.enter(columns, length)

    def columns(self, numbers: Integers, relation: Relation) -> list[Array]:
        """The values of keys, in the order in which a relation has them among its arguments."""
        values, places = self.of_keys.columns(numbers), self._positions[relation]
        return [values[place] for place in sorted(range(len(places)), key=places.__getitem__)]

    def new_keys(self, context: Context) -> Integers:
        """The keys that have been entered since the last time; finds out what they may have."""
        self._joining.enter(context)
        new = np.arange(len(self.allowed), self.of_keys.count)
        if len(new):
            self.allowed = np.concatenate([self.allowed, self._allowed_words(new, context)])
        return new

    def conditions(self, numbers: Integers, context: Context) -> Bytes:
        """For each condition of the program: 1 for each of some keys that meets it."""
        is_met = np.zeros((len(self._program.conditions), len(numbers)), np.uint8)
        for row, condition in enumerate(self._program.conditions):
            variables, steps = condition.variables, condition.steps
            is_met[row, fulfilling(variables, steps, self.of_keys, numbers, context)] = 1
        return is_met

    def update_groundings(self, context: Context, may_have_left: bool) -> Integers:
        """Take note of growing domains; gives the keys that may have other pairs than before.

        Where no member may have left a domain, keys that had all pairs have them still.
        """
        current = self._fillings.current(context)
        if current == self._filling:
            return np.empty(0, np.int64)
        is_first, self._filling = self._filling is None, current
        if is_first:
            return np.empty(0, np.int64)
        numbers = np.arange(len(self.allowed))
        if self._fillings.only_grow(context) and not may_have_left:
            numbers = numbers[self.allowed != _ALL_BITS]
        words = self._allowed_words(numbers, context)
        changed = np.flatnonzero(words != self.allowed[numbers])
        self.allowed[numbers] = words
        return np.asarray(numbers[changed], np.int64)

    def _allowed_words(self, numbers: Integers, context: Context) -> Words:
        """The outputs that each of some keys may have."""
        words = np.full(len(numbers), _ALL_BITS)
        answers = {NEVER_ALLOWED: np.zeros(len(numbers), np.bool_)}
        for number, (output, first) in enumerate(
            zip(self._program.outputs, self._first_alike, strict=True)
        ):
            if output.groundings and len(numbers):
                if first not in answers:
                    answers[first] = self._is_allowed(output, numbers, context)
                words[~answers[first]] &= ~np.uint64(1 << number)
        return words

    def _is_allowed(self, output: ListOutput, numbers: Integers, context: Context) -> Booleans:
        domains, value_domain = context.encoding.fluent(output.relation)
        if value_domain is None:
            value_domain = context.encoding.domains.value_domain(output.relation)
        of_key = iter(self.columns(numbers, output.relation))
        arguments = [
            next(of_key) if term is None
            else np.full(len(numbers), constant_column(term, domain).data[0])
            for term, domain in zip(output.arguments, domains, strict=True)
        ]  # fmt: skip
        values = np.full(len(numbers), constant_column(output.value, value_domain).data[0])
        return allowed(output.groundings, arguments, domains, values, value_domain, context)
