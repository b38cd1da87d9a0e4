"""Statically determined fluents that need whole lists: programs over lists of intervals.

Each rule, with constants for its variables beside the key, becomes rows from lists to lists. Lists
are those of the key itself, or of other keys that the arguments of the head name: links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor

from cernis.check.model import Pair, Relation
from cernis.plan.logical import Combine, Fetch, IntervalRule, Require
from cernis.plan.sweep.definition_rows import key_names_of
from cernis.plan.sweep.delay_plans import in_units
from cernis.plan.sweep.fact_values import constants_in
from cernis.plan.sweep.lanes import (
    Arguments,
    ListCondition,
    ListLink,
    ListOp,
    ListOutput,
    ListProgram,
    ListRow,
    ListSource,
    Steps,
)
from cernis.plan.sweep.record_tests import NEVER, ConditionSplit
from cernis.plan.sweep.rule_bodies import with_constants
from cernis.plan.sweep.static_formulas import StaticDefinition, conditions_of
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import MOST_VALUES, Instance, Values, check_other_places, pattern_of
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Compound, Number, Term, Variable


@dataclass(frozen=True, slots=True)
class ReadableRelation:
    """A relation whose lists can be read: the positions of its key, and where it is evaluated.

    `stage` is None for input. A relation without positions is read by the arguments that are the
    program's key.
    """

    stage: int | None
    positions: tuple[int, ...] | None


Readable = Callable[[Relation], ReadableRelation | None]
"""Says how a relation can be read; None if it cannot."""


@dataclass(frozen=True, slots=True)
class _List:
    """A list while a rule is planned."""

    slot: int
    inside: frozenset[str]
    """The names of lists in which it is contained."""
    is_of_key: bool
    """Is it empty unless a list of the program's own key is not?"""


@dataclass(slots=True)
class ListPlanner:
    """Writes the program of one definition."""

    static: StaticDefinition
    key: tuple[str, ...]
    stage: int
    readable: Readable
    _sources: dict[tuple[object, ...], ListSource] = field(default_factory=dict)
    _rows: list[ListRow] = field(default_factory=list)
    _links: dict[ListLink, int] = field(default_factory=dict)
    _conditions: dict[ListCondition, int] = field(default_factory=dict)
    _slots: int = 0
    _outputs: dict[Instance, int] = field(default_factory=dict)

    def program(self) -> ListProgram:
        """The rows of all rules."""
        planned = [
            (rule, values) for rule in self.static.rules() for values in self.assignments(rule)
        ]
        for rule, values in planned:
            self._collect(rule, values)
        for rule, values in planned:
            self._rule(rule, values)
        definition = self.static.definition
        outputs = [
            ListOutput(slot, each.relation, each.arguments, each.value, definition.groundings)
            for each, slot in self._outputs.items()
            if each.value is not None
        ]
        return ListProgram(
            definition.relation, self.key, self.static.positions, self._slots,
            tuple(self._sources.values()), tuple(self._rows), tuple(outputs), tuple(self._links),
            tuple(self._conditions),
        )  # fmt: skip

    def assignments(self, rule: IntervalRule) -> list[Values]:
        """Constants for the variables of fluents, and for those that limit durations."""
        assignments = self.static.assignments(rule)
        conditions = conditions_of(rule)
        for name in _limits(rule):
            assignments = [
                {**values, name: term}
                for values in assignments
                for term in self._limit_values(name, conditions, values, rule.span)
            ]
        return assignments

    def _limit_values(self, name: str, conditions: Steps, values: Values, span: Span) -> list[Term]:
        if name in values:
            return [values[name]]
        known = self.static.translator.facts.values(name, constants_in(conditions, values))
        if known is None or len(known) > MOST_VALUES:
            raise NotSweptError("has durations that differ from key to key", span)
        return sorted(known, key=repr)

    # -- sources ----------------------------------------------------------------------------

    def _collect(self, rule: IntervalRule, values: Values) -> None:
        """Number the lists that a rule begins with, before all others."""
        for step in rule.steps:
            if isinstance(step, Fetch):
                self._fetched(step.pair, rule, values)

    def _fetched(self, pair: Pair, rule: IntervalRule, values: Values) -> list[ListSource]:
        key_names = key_names_of(rule.head, self.static.positions)
        relation = self.readable(pair.relation)
        if relation is None:
            raise NotSweptError(f"reads {pair.relation}, which stays with columns", pair.span)
        positions = relation.positions
        if positions is None:
            key = {Variable(name) for name in key_names}
            positions = tuple(place for place, arg in enumerate(pair.args) if arg in key)
        link = self._link(pair, relation.stage, positions, key_names)
        terms = (*pair.args, pair.value)
        check_other_places(terms, positions, key_names, pair.span)
        pattern = pattern_of(terms, positions, values)
        if relation.stage is None:
            return [self._input(pair, pattern, positions, link)]
        matches = self.static.translator.known.named(pair.relation, pattern, pair.span)
        return [self._source(each, positions, link, False) for each in matches]

    def _link(
        self, pair: Pair, stage: int | None, positions: tuple[int, ...],
        key_names: tuple[str, ...],
    ) -> int | None:  # fmt: skip
        """The number of the link by which a pair's key is found; None if it is the program's."""
        args = [pair.args[place] for place in positions]
        if not all(isinstance(arg, Variable) and arg.name in key_names for arg in args):
            raise NotSweptError(f"reads {pair.relation} by another key", pair.span)
        places = tuple(key_names.index(arg.name) for arg in args if isinstance(arg, Variable))
        if places == tuple(range(len(key_names))) and stage in (None, self.stage):
            return None
        link = ListLink(stage, places)
        return self._links.setdefault(link, len(self._links))

    def _input(
        self, pair: Pair, pattern: Arguments, positions: tuple[int, ...], link: int | None
    ) -> ListSource:
        if any(term is None for place, term in enumerate(pattern) if place not in positions):
            raise NotSweptError(f"reads intervals of {pair.relation} with any value", pair.span)
        return self._source(
            Instance(pair.relation, pattern[:-1], pattern[-1]), positions, link, True
        )

    def _source(
        self, instance: Instance, positions: tuple[int, ...], link: int | None, is_input: bool
    ) -> ListSource:
        key = (instance, positions, link)
        if key not in self._sources:
            assert instance.value is not None
            self._sources[key] = ListSource(
                self._slot(), instance.relation, instance.arguments, instance.value, positions,
                link, is_input,
            )  # fmt: skip
        return self._sources[key]

    def _slot(self) -> int:
        self._slots += 1
        return self._slots - 1

    # -- rows -------------------------------------------------------------------------------

    def _rule(self, rule: IntervalRule, values: Values) -> None:
        lists: dict[str, _List] = {}
        required: list[Require] = []
        for step in rule.steps:
            if isinstance(step, Fetch):
                sources = self._fetched(step.pair, rule, values)
                slots = [each.slot for each in sources]
                of_key = all(each.link is None for each in sources)
                lists[step.output] = _List(
                    self._united(slots, step.span), frozenset([step.output]), of_key
                )
            elif isinstance(step, Combine):
                lists[step.output] = self._combined(step, lists, values)
            elif isinstance(step, Require):
                required.append(step)
        result = lists[rule.output]
        if not result.is_of_key:
            raise NotSweptError("may hold where no list of its own key does", rule.span)
        slot = self._copied(result.slot, rule.span)
        self._require(required, lists, result, slot)
        if self._meet_conditions(rule, values, slot):
            instance = self.static.instance(rule, values)
            known = self._outputs.setdefault(instance, slot)
            if known != slot:
                self._row(ListOp.UNION, known, known, slot, 0, rule.span)

    def _row(
        self, op: ListOp, to: int, source: int = 0, other: int = 0, parameter: int = 0,
        span: Span = NOWHERE,
    ) -> int:  # fmt: skip
        self._rows.append(ListRow(op, to, source, other, parameter, span))
        return to

    def _copied(self, slot: int, span: Span) -> int:
        """The same list in a slot of its own: united with itself."""
        return self._row(ListOp.UNION, self._slot(), slot, slot, 0, span)

    def _united(self, slots: list[int], span: Span) -> int:
        return self._folded(ListOp.UNION, slots, span) if slots else self._slot()

    def _folded(self, op: ListOp, slots: list[int], span: Span) -> int:
        result, *others = slots
        for other in others:
            result = self._row(op, self._slot(), result, other, 0, span)
        return result

    def _combined(self, step: Combine, lists: Mapping[str, _List], values: Values) -> _List:
        nothing = _List(-1, frozenset(), True)
        operands = [lists.get(name, nothing) for name in step.inputs]
        slots = [each.slot if each.slot >= 0 else self._slot() for each in operands]
        span = step.span
        if step.operator == "union_all":
            inside = frozenset.intersection(*(each.inside for each in operands))
            slot, of_key = self._united(slots, span), all(each.is_of_key for each in operands)
        elif step.operator == "intersect_all" and operands:
            inside = frozenset[str]().union(*(each.inside for each in operands))
            slot = self._folded(ListOp.INTERSECT, slots, span)
            of_key = any(each.is_of_key for each in operands)
        elif step.operator == "relative_complement_all":
            inside, of_key = operands[0].inside, operands[0].is_of_key
            slot = self._folded(ListOp.SUBTRACT, slots, span)
        elif step.operator == "complement_all":
            united = self._united(slots, span)
            inside, of_key = frozenset(), False
            slot = self._row(ListOp.COMPLEMENT, self._slot(), united, 0, 0, span)
        else:
            slot = self._measured(step, slots, values)
            inside, of_key = operands[0].inside, operands[0].is_of_key
        return _List(slot, inside | {step.output}, of_key)

    def _measured(self, step: Combine, slots: list[int], values: Values) -> int:
        if step.operator not in ("intDurGreater", "intDurLess"):
            raise NotSweptError(f"relates intervals by {step.operator}", step.span)
        is_greater = step.operator == "intDurGreater"
        limit = self._limit(step, values)
        whole = floor(limit) if is_greater else ceil(limit)
        op = ListOp.LONGER if is_greater else ListOp.SHORTER
        return self._row(op, self._slot(), slots[0], 0, whole, step.span)

    def _limit(self, step: Combine, values: Values) -> int | float:
        term = in_units(with_constants(step.parameters[0], values))
        wanted = Variable("<limit>")
        answers = self.static.translator.facts.solutions([Compound("is", (wanted, term))])
        limits = [in_units(answer[wanted.name]) for answer in answers]
        if len(limits) != 1 or not isinstance(limits[0], Number):
            raise NotSweptError("has a duration that is no number", step.span)
        return limits[0].value

    def _require(
        self, required: list[Require], lists: Mapping[str, _List], result: _List, slot: int
    ) -> None:
        for step in required:
            if not step.negated and step.intervals in result.inside:
                # A list inside of another is empty where that one is.
                continue
            op = ListOp.REQUIRE_EMPTY if step.negated else ListOp.REQUIRE
            self._row(op, slot, slot, lists[step.intervals].slot, 0, step.span)

    def _meet_conditions(self, rule: IntervalRule, values: Values, slot: int) -> bool:
        """Rows for conditions on the key; is there a key that can meet them?"""
        key_names = key_names_of(rule.head, self.static.positions)
        translator = self.static.translator
        split = ConditionSplit(key_names, translator.keys, translator.facts)
        facts = split.divide((), conditions_of(rule), "", values).facts
        if NEVER in facts:
            return False
        for fact in facts:
            condition = ListCondition(fact.variables, fact.steps)
            number = self._conditions.setdefault(condition, len(self._conditions))
            self._row(ListOp.CONDITION, slot, slot, 0, number, rule.span)
        return True


def _limits(rule: IntervalRule) -> list[str]:
    """The variables that limit durations."""
    names: dict[str, None] = {}
    for step in rule.steps:
        if isinstance(step, Combine) and step.operator.startswith("intDur"):
            for term in step.parameters:
                if isinstance(term, Variable):
                    names[term.name] = None
                elif isinstance(term, Compound):
                    raise NotSweptError("computes how long intervals must be", step.span)
    return list(names)
