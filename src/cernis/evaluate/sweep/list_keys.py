"""The keys of a program over lists: numbers, conditions that they meet, pairs they may have."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.sweep.grounded_keys import GroundedKeys
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.lane_keys import fulfilling
from cernis.kernels.array_types import Bytes, Integers
from cernis.operators.context.query_context import Context
from cernis.plan.sweep.grounding_questions import GroundedPair
from cernis.plan.sweep.lanes import ListProgram


class ListKeys(GroundedKeys):
    """Numbers the keys of a program over lists, and knows what is so of each.

    The bits of pairs are the numbers of outputs.
    """

    def __init__(self, program: ListProgram, context: Context) -> None:
        self._program = program
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

    def new_keys(self, context: Context) -> Integers:
        """The keys that have been entered since the last time; finds out what they may have."""
        self._joining.enter(context)
        return self._enter_allowed(context)

    def conditions(self, numbers: Integers, context: Context) -> Bytes:
        """For each condition of the program: 1 for each of some keys that meets it."""
        is_met = np.zeros((len(self._program.conditions), len(numbers)), np.uint8)
        for row, condition in enumerate(self._program.conditions):
            variables, steps = condition.variables, condition.steps
            is_met[row, fulfilling(variables, steps, self.of_keys, numbers, context)] = 1
        return is_met
