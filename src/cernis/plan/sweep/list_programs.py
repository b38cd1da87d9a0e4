"""Statically determined fluents that need whole lists: programs over lists of intervals.

Each rule, with constants for its variables beside the key, becomes rows from lists to lists. Lists
are those of the key itself, or of other keys that the arguments of the head name: links.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import ceil, floor

from cernis.check.model import Grounding, Pair, Relation
from cernis.plan.logical import Combine, Fetch, IntervalRule, Require
from cernis.plan.sweep.definition_rows import key_names_of
from cernis.plan.sweep.delay_plans import in_units
from cernis.plan.sweep.fact_values import constants_in
from cernis.plan.sweep.key_members import KeyMembers, members_of
from cernis.plan.sweep.lane_rules import pair_bit
from cernis.plan.sweep.lanes import (
    MOST_BITS,
    Arguments,
    ListCondition,
    ListLink,
    ListOp,
    ListOutput,
    ListProgram,
    ListRow,
    ListSource,
    StateKind,
    Steps,
    hidden_list,
)
from cernis.plan.sweep.record_tests import NEVER, ConditionSplit
from cernis.plan.sweep.rule_bodies import with_constants
from cernis.plan.sweep.static_formulas import (
    SET_OPERATORS,
    Formula,
    FormulaTerm,
    StaticDefinition,
    StaticPair,
    combined,
    conditions_of,
)
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import MOST_VALUES, Instance, Values, check_other_places, pattern_of
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Atom, Compound, Number, Term, Variable


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


@dataclass(slots=True)
class _List:
    """A list while a rule is planned: a formula over the bits of a lane, or in a slot."""

    inside: frozenset[str]
    """The names of lists in which it is contained."""
    is_of_key: bool
    """Is it empty unless a list of the program's own key is not?"""
    formula: Formula | None = None
    """What it is at each point, if lanes of its key decide that."""
    slot: int | None = None
    """Where it is, once it has a place."""


@dataclass(slots=True)
class ListPlanner:
    """Writes the program of the definitions of a stage that need whole lists.

    What lanes can decide from point to point is a bit of them, a *hidden list*; the program begins
    where that ends, so that it has few and short lists.
    """

    key: tuple[str, ...]
    stage: int
    readable: Readable
    in_lanes: Collection[Relation]
    """The relations that lanes of the stage define."""
    hidden: dict[Formula, StaticPair] = field(default_factory=dict)
    """Lists inside of rules that lanes are to decide."""
    _sources: dict[tuple[object, ...], ListSource] = field(default_factory=dict)
    _rows: list[ListRow] = field(default_factory=list)
    _links: dict[ListLink, int] = field(default_factory=dict)
    _conditions: dict[ListCondition, int] = field(default_factory=dict)
    _slots: int = 0
    _outputs: dict[Instance, ListOutput] = field(default_factory=dict)
    _definitions: list[Relation] = field(default_factory=list)
    _linked: set[Relation] = field(default_factory=set)
    _members: dict[Relation, KeyMembers] = field(default_factory=dict)

    def program(self) -> ListProgram | None:
        """The program of all definitions that were added; None if there are none."""
        if not self._definitions:
            return None
        return ListProgram(
            tuple(self._definitions), frozenset(self._linked), self.key, self._slots,
            tuple(self._sources.values()), tuple(self._rows), tuple(self._outputs.values()),
            tuple(self._links), tuple(self._conditions), tuple(self._members.values()),
        )  # fmt: skip

    def add(self, static: StaticDefinition) -> None:
        """Write the rows of a definition; those it reads must have been added before."""
        if static.definition.relation not in self._definitions:
            self._definitions.append(static.definition.relation)
        slots: dict[Instance, int] = {}
        for rule in static.rules():
            for values in self.assignments(static, rule):
                result = _RulePlanner(self, static, rule, values).slot()
                instance = static.instance(rule, values)
                if result is None:
                    continue
                before = slots.get(instance)
                slots[instance] = (
                    result if before is None
                    else self.row(ListOp.UNION, self.new_slot(), before, result, 0, rule.span)
                )  # fmt: skip
        if not slots:
            raise NotSweptError("can never hold", static.definition.rules[0].span)
        for instance, slot in slots.items():
            if instance in self._outputs:
                raise NotSweptError("decides one pair in two ways", static.definition.rules[0].span)
            self._add_output(static, instance, slot)

    def _add_output(self, static: StaticDefinition, instance: Instance, slot: int) -> None:
        definition = static.definition
        self._output(
            instance, slot, static.positions, definition.groundings, definition.rules[0].span
        )

    def _output(
        self, instance: Instance, slot: int, positions: tuple[int, ...],
        groundings: tuple[Grounding, ...], span: Span, is_input: bool = False,
    ) -> int:  # fmt: skip
        assert instance.value is not None
        number = len(self._outputs)
        if number == MOST_BITS:
            raise NotSweptError("has more pairs than a word has bits", span)
        result = self.row(ListOp.OUTPUT, self.new_slot(), slot, 0, number, span)
        self._outputs[instance] = ListOutput(
            result, instance.relation, instance.arguments, instance.value, positions, groundings,
            is_input,
        )  # fmt: skip
        return result

    def assignments(self, static: StaticDefinition, rule: IntervalRule) -> list[Values]:
        """Constants for the variables of fluents, and for those that limit durations."""
        assignments = static.assignments(rule)
        conditions = conditions_of(rule)
        for name in _limits(rule):
            assignments = [
                {**values, name: term}
                for values in assignments
                for term in _limit_values(static, name, conditions, values, rule.span)
            ]
        return assignments

    def add_members(self, static: StaticDefinition, span: Span) -> None:
        """Let the program know keys that have no lists of their own."""
        if self._linked:
            raise NotSweptError("may hold where no list of its own key does", span)
        definition = static.definition
        self._members[definition.relation] = members_of(
            definition.relation, static.positions, definition.groundings, span
        )

    def decided(self, instance: Instance, span: Span) -> int:
        """The slot of a pair of the program, which must have been decided before."""
        if instance not in self._outputs:
            raise NotSweptError(f"reads {instance.relation} before it is decided", span)
        return self._outputs[instance].slot

    # -- sources ----------------------------------------------------------------------------

    def link(self, relation: Relation, stage: int | None, places: tuple[int, ...]) -> int | None:
        """The number of the link by which a key is found; None if it is the program's."""
        if places == tuple(range(len(self.key))) and stage in (None, self.stage):
            return None
        if stage == self.stage and relation not in self.in_lanes:
            raise NotSweptError(f"reads {relation}, a list of its stage, by another key")
        self._linked.add(self._definitions[-1])
        link = ListLink(stage, places)
        return self._links.setdefault(link, len(self._links))

    def input_list(self, instance: Instance, positions: tuple[int, ...], span: Span) -> int:
        """The slot of what is seen of a pair of the input."""
        known = self._outputs.get(instance)
        if known is not None:
            return known.slot
        slot = self.source(instance, positions, None, True)
        return self._output(instance, slot, positions, (), span, is_input=True)

    def source(
        self, instance: Instance, positions: tuple[int, ...], link: int | None,
        is_input: bool = False,
    ) -> int:  # fmt: skip
        """The slot of a list that the program begins with."""
        known = self._outputs.get(instance) if link is None else None
        if known is not None:
            return known.slot
        key = (instance, positions, link)
        if key not in self._sources:
            assert instance.value is not None
            self._sources[key] = ListSource(
                self.new_slot(), instance.relation, instance.arguments, instance.value, positions,
                link, is_input,
            )  # fmt: skip
        return self._sources[key].slot

    def hidden_source(self, formula: Formula, span: Span) -> int:
        """The slot of a list that lanes decide."""
        arity = len(self.key)
        if formula not in self.hidden:
            relation = hidden_list(self.stage, len(self.hidden) + 1, arity)
            instance = Instance(relation, (None,) * arity, Atom("true"))
            self.hidden[formula] = StaticPair(instance, formula, (), span)
        instance = self.hidden[formula].instance
        return self.source(instance, tuple(range(arity)), None)

    def new_slot(self) -> int:
        """A list that is empty so far."""
        self._slots += 1
        return self._slots - 1

    # -- rows -------------------------------------------------------------------------------

    def row(
        self, op: ListOp, to: int, source: int = 0, other: int = 0, parameter: int = 0,
        span: Span = NOWHERE,
    ) -> int:  # fmt: skip
        """Add a row; gives the list that it makes."""
        self._rows.append(ListRow(op, to, source, other, parameter, span))
        return to

    def folded(self, op: ListOp, slots: list[int], span: Span) -> int:
        """One operation over several lists."""
        result, *others = slots
        for other in others:
            result = self.row(op, self.new_slot(), result, other, 0, span)
        return result

    def united(self, slots: list[int], span: Span) -> int:
        """The union of lists; an empty one if there are none."""
        return self.folded(ListOp.UNION, slots, span) if slots else self.new_slot()

    def condition(self, condition: ListCondition) -> int:
        """The number of a condition on keys."""
        return self._conditions.setdefault(condition, len(self._conditions))


@dataclass(slots=True)
class _RulePlanner:
    """Plans one rule, with constants for its variables beside the key."""

    planner: ListPlanner
    static: StaticDefinition
    rule: IntervalRule
    values: Values
    _lists: dict[str, _List] = field(default_factory=dict)

    def slot(self) -> int | None:
        """The list of the rule's intervals; None if no key can meet its conditions."""
        required = []
        for step in self.rule.steps:
            if isinstance(step, Fetch):
                self._lists[step.output] = self._fetched(step)
            elif isinstance(step, Combine):
                self._lists[step.output] = self._combined(step)
            elif isinstance(step, Require):
                required.append(step)
        result = self._lists[self.rule.output]
        if not result.is_of_key:
            self.planner.add_members(self.static, self.rule.span)
        self._check_required(required, result)
        return self._meeting_conditions(self._slot_of(result, self.rule.span))

    @property
    def _key_names(self) -> tuple[str, ...]:
        return key_names_of(self.rule.head, self.static.positions)

    def _slot_of(self, each: _List, span: Span) -> int:
        """Give a list a place, unless it has one."""
        if each.slot is None:
            assert each.formula is not None
            each.slot = self._source_of(each.formula, span)
        return each.slot

    def _source_of(self, formula: Formula, span: Span) -> int:
        if not formula:
            return self.planner.new_slot()
        if len(formula) == 1 and len(formula[0].pos) == 1 and not formula[0].neg:
            (bit,) = formula[0].pos
            if bit.kind is StateKind.PAIR and bit.relation is not None:
                instance = Instance(bit.relation, bit.arguments, bit.value)
                positions = self.static.translator.keys[bit.relation]
                return self.planner.source(instance, positions, None)
        return self.planner.hidden_source(formula, span)

    # -- lists ------------------------------------------------------------------------------

    def _fetched(self, step: Fetch) -> _List:
        pair, relation = step.pair, self.planner.readable(step.pair.relation)
        if relation is None:
            raise NotSweptError(f"reads {pair.relation}, which stays with columns", pair.span)
        positions = relation.positions
        if positions is None:
            key = {Variable(name) for name in self._key_names}
            positions = tuple(place for place, arg in enumerate(pair.args) if arg in key)
        link = self._link(pair, relation.stage, positions)
        terms = (*pair.args, pair.value)
        check_other_places(terms, positions, self._key_names, pair.span)
        pattern = pattern_of(terms, positions, self.values)
        inside, is_of_key = frozenset([step.output]), link is None
        if relation.stage is None:
            slot = self._input(pair, pattern, positions, link)
            return _List(inside, is_of_key, slot=slot)
        matches = list(self.static.translator.known.named(pair.relation, pattern, pair.span))
        if link is None and pair.relation in self.planner.in_lanes:
            formula = tuple(FormulaTerm(pos=frozenset([pair_bit(each)])) for each in matches)
            return _List(inside, is_of_key, formula)
        if link is None and relation.stage == self.planner.stage:
            slots = [self.planner.decided(each, pair.span) for each in matches]
        else:
            slots = [self.planner.source(each, positions, link) for each in matches]
        return _List(inside, is_of_key, slot=self.planner.united(slots, step.span))

    def _link(self, pair: Pair, stage: int | None, positions: tuple[int, ...]) -> int | None:
        """The number of the link by which a pair's key is found; None if it is the program's."""
        key_names = self._key_names
        args = [pair.args[place] for place in positions]
        if not all(isinstance(arg, Variable) and arg.name in key_names for arg in args):
            raise NotSweptError(f"reads {pair.relation} by another key", pair.span)
        places = tuple(key_names.index(arg.name) for arg in args if isinstance(arg, Variable))
        return self.planner.link(pair.relation, stage, places)

    def _input(
        self, pair: Pair, pattern: Arguments, positions: tuple[int, ...], link: int | None
    ) -> int:
        if any(term is None for place, term in enumerate(pattern) if place not in positions):
            raise NotSweptError(f"reads intervals of {pair.relation} with any value", pair.span)
        if link is not None:
            raise NotSweptError(f"reads intervals of {pair.relation} by another key", pair.span)
        instance = Instance(pair.relation, pattern[:-1], pattern[-1])
        return self.planner.input_list(instance, positions, pair.span)

    def _combined(self, step: Combine) -> _List:
        operands = [self._lists.get(name) or _NOTHING for name in step.inputs]
        inside, is_of_key = _containment(step.operator, operands)
        formula = _formula_of(step, operands)
        if formula is not None:
            return _List(inside | {step.output}, is_of_key, formula)
        slots = [self._slot_of(each, step.span) for each in operands]
        return _List(inside | {step.output}, is_of_key, slot=self._made(step, operands, slots))

    def _made(self, step: Combine, operands: list[_List], slots: list[int]) -> int:
        planner, span = self.planner, step.span
        if step.operator == "union_all":
            return planner.united(slots, span)
        if step.operator == "intersect_all" and slots:
            return planner.folded(ListOp.INTERSECT, slots, span)
        if step.operator == "relative_complement_all":
            return planner.folded(ListOp.SUBTRACT, slots, span)
        if step.operator == "complement_all":
            united = planner.united(slots, span)
            return planner.row(ListOp.COMPLEMENT, planner.new_slot(), united, 0, 0, span)
        if not operands[0].is_of_key:
            raise NotSweptError("measures lists of other keys", span)
        return self._measured(step, slots)

    def _measured(self, step: Combine, slots: list[int]) -> int:
        if step.operator not in ("intDurGreater", "intDurLess"):
            raise NotSweptError(f"relates intervals by {step.operator}", step.span)
        is_greater = step.operator == "intDurGreater"
        limit = self._limit(step)
        whole = floor(limit) if is_greater else ceil(limit)
        op = ListOp.LONGER if is_greater else ListOp.SHORTER
        return self.planner.row(op, self.planner.new_slot(), slots[0], 0, whole, step.span)

    def _limit(self, step: Combine) -> int | float:
        term = in_units(with_constants(step.parameters[0], self.values))
        wanted = Variable("<limit>")
        answers = self.static.translator.facts.solutions([Compound("is", (wanted, term))])
        limits = [in_units(answer[wanted.name]) for answer in answers]
        if len(limits) != 1 or not isinstance(limits[0], Number):
            raise NotSweptError("has a duration that is no number", step.span)
        return limits[0].value

    # -- conditions -------------------------------------------------------------------------

    def _check_required(self, required: list[Require], result: _List) -> None:
        """A list inside of another is empty where that one is; nothing else can be required.

        Whether a list is empty is asked of the window, and a program sees what is in it by key.
        """
        for step in required:
            if step.negated or step.intervals not in result.inside:
                raise NotSweptError("asks whether a whole list is empty", step.span)

    def _meeting_conditions(self, slot: int) -> int | None:
        """The list for keys that meet the conditions of the rule."""
        translator = self.static.translator
        split = ConditionSplit(self._key_names, translator.keys, translator.facts)
        facts = split.divide((), conditions_of(self.rule), "", self.values).facts
        if NEVER in facts:
            return None
        for fact in facts:
            number = self.planner.condition(ListCondition(fact.variables, fact.steps))
            to = self.planner.new_slot()
            slot = self.planner.row(ListOp.CONDITION, to, slot, 0, number, self.rule.span)
        return slot


_NOTHING = _List(frozenset(), True, ())


def _containment(operator: str, operands: list[_List]) -> tuple[frozenset[str], bool]:
    """The lists that a result is inside of, and whether it is empty without a list of its key."""
    if operator == "union_all":
        inside = [each.inside for each in operands]
        common = frozenset.intersection(*inside) if inside else frozenset[str]()
        return common, all(each.is_of_key for each in operands)
    if operator == "intersect_all" and operands:
        every = frozenset[str]().union(*(each.inside for each in operands))
        return every, any(each.is_of_key for each in operands)
    if operator == "complement_all":
        return frozenset(), False
    return operands[0].inside, operands[0].is_of_key


def _formula_of(step: Combine, operands: list[_List]) -> Formula | None:
    """The formula of a list, if it is one that lanes can decide for keys that they know."""
    formulas = [each.formula for each in operands]
    if step.operator not in SET_OPERATORS or None in formulas:
        return None
    try:
        formula = combined(step.operator, [each for each in formulas if each is not None])
    except NotSweptError:
        return None
    return formula if all(term.pos for term in formula) else None


def _limit_values(
    static: StaticDefinition, name: str, conditions: Steps, values: Values, span: Span
) -> list[Term]:
    if name in values:
        return [values[name]]
    known = static.translator.facts.values(name, constants_in(conditions, values))
    if known is None or len(known) > MOST_VALUES:
        raise NotSweptError("has durations that differ from key to key", span)
    return sorted(known, key=repr)


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
