"""Conditions of a body divided: what one record decides, what a fact about the key decides.

Variables that are neither the key nor unrolled join conditions into components. A component with
one literal on an event is a test of its records. One without is a fact about the key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from cernis.check.model import Event, Relation
from cernis.plan.logical import PointOperator, Scan
from cernis.plan.sweep.fact_values import KnownFacts, constants_in
from cernis.plan.sweep.lanes import FiredBit, FiredKind, StateBit, StateKind, Steps
from cernis.plan.sweep.rule_bodies import AskedLiteral, bound_names, names_asked, names_of
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import Values

GROWING = "asks about a domain that grows with the input"


@dataclass(frozen=True, slots=True)
class TestedConditions:
    """The bits that stand for the records and conditions of a body.

    `positive` has a bit for each literal on an event, in their order; `negative` for each negated
    one; `facts` must be true of the key.
    """

    positive: tuple[FiredBit, ...]
    negative: tuple[FiredBit, ...]
    facts: tuple[StateBit, ...]


@dataclass(frozen=True, slots=True)
class ConditionSplit:
    """Divides the conditions of bodies among the records of a point and the facts of a key."""

    key_names: tuple[str, ...]
    keys: Mapping[Relation, tuple[int, ...]]
    facts: KnownFacts

    def divide(
        self, literals: Iterable[AskedLiteral], conditions: Steps, time: str, values: Values
    ) -> TestedConditions:
        """The bits of some literals on input events and of the conditions around them."""
        literals = tuple(literals)
        records = [literal for literal in literals if not literal.negated]
        names_of_records = [
            self._variables(names_of(literal.args), values, time) for literal in records
        ]
        groups = self._components(names_of_records, conditions, time, values)
        tests: list[list[PointOperator]] = [[] for _ in records]
        loose: list[list[PointOperator]] = []
        for members, steps in groups:
            if len(members) > 1:
                raise NotSweptError(
                    "joins two records at a point by values that are not few", steps[0].span
                )
            if members:
                tests[members[0]] += steps
            elif records:
                tests[0] += steps
            else:
                loose.append(steps)
        positive = [
            self._test(literal, _in_order(steps, conditions), time, values)
            for literal, steps in zip(records, tests, strict=True)
        ]
        negative = [
            self._negated(literal, names_of_records, conditions, time, values)
            for literal in literals
            if literal.negated
        ]
        facts = [fact for steps in loose if (fact := self._fact(steps, time, values)) is not None]
        return TestedConditions(tuple(positive), tuple(negative), tuple(facts))

    def _variables(self, names: Collection[str], values: Values, time: str) -> set[str]:
        return set(names) - set(self.key_names) - values.keys() - {time}

    def _components(
        self, names_of_records: list[set[str]], conditions: Steps, time: str, values: Values
    ) -> list[tuple[list[int], list[PointOperator]]]:
        """Conditions that share variables, with the literals on events that share them too."""
        groups: list[tuple[set[str], list[int], list[PointOperator]]] = []
        for number, names in enumerate(names_of_records):
            _merge(groups, names, [number], [])
        for step in conditions:
            _merge(groups, self._variables(names_asked(step), values, time), [], [step])
        return [(members, steps) for _, members, steps in groups if steps]

    def _test(
        self, literal: AskedLiteral, steps: list[PointOperator], time: str, values: Values
    ) -> FiredBit:
        """The bit of a literal on an event, with the conditions on its records."""
        if self.facts.grows(steps):
            raise NotSweptError(GROWING, literal.span)
        bound = names_of(literal.args).union(*map(bound_names, steps))
        tested = {name: values[name] for name in sorted(bound & values.keys())}
        others = {name: term for name, term in values.items() if name not in tested}
        constant = constants_in(steps, others)
        named_time = time if time in {n for step in constant for n in names_asked(step)} else ""
        event = Event(literal.relation, literal.args, literal.span)
        scan = Scan(event, named_time, literal.span)
        return FiredBit(
            FiredKind.RECORD, literal.relation, steps=(scan, *constant),
            values=tuple(tested.items()),
        )  # fmt: skip

    def _negated(
        self, literal: AskedLiteral, names_of_records: list[set[str]], conditions: Steps, time: str,
        values: Values,
    ) -> FiredBit:  # fmt: skip
        names = self._variables(names_of(literal.args), values, time)
        if any(names & others for others in names_of_records):
            raise NotSweptError("compares two records of a point", literal.span)
        if any(names & names_asked(step) for step in conditions):
            raise NotSweptError("denies a record with values that are not few", literal.span)
        return self._test(literal, [], time, values)

    def _fact(self, steps: list[PointOperator], time: str, values: Values) -> StateBit | None:
        """A fact about the key; nothing if it is true of all keys."""
        names = {name for step in steps for name in names_asked(step)}
        if time and time in names:
            raise NotSweptError("asks for the time of a point without a record", steps[0].span)
        if self.facts.grows(steps):
            raise NotSweptError(GROWING, steps[0].span)
        constant = constants_in(steps, values)
        if not names & set(self.key_names):
            return None if self.facts.is_true(constant) else NEVER
        return StateBit(StateKind.FACT, variables=self.key_names, steps=constant)


NEVER = StateBit(StateKind.FACT)
"""A fact that is true of no key; it is no bit of a lane."""


def _in_order(steps: list[PointOperator], conditions: Steps) -> list[PointOperator]:
    """Steps in the order of the conditions they are among."""
    chosen = {id(step) for step in steps}
    return [step for step in conditions if id(step) in chosen]


def _merge(
    groups: list[tuple[set[str], list[int], list[PointOperator]]], names: set[str],
    members: list[int], steps: list[PointOperator],
) -> None:  # fmt: skip
    """Add what shares variables to the group that has one, or make a group of it."""
    touching = [group for group in groups if group[0] & names]
    others = [group for group in groups if not group[0] & names]
    merged = set(names).union(*(group[0] for group in touching))
    all_members = [member for group in touching for member in group[1]] + members
    all_steps = [step for group in touching for step in group[2]] + steps
    groups[:] = [*others, (merged, all_members, all_steps)]
