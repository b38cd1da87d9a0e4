"""Rules over time-points as rows of a lane: triggers, what else must happen, what must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType

from cernis.check.model import Relation
from cernis.plan.logical import Except, PointRule
from cernis.plan.sweep.fact_values import KnownFacts, constants_in
from cernis.plan.sweep.held_values import GuardDraft, check_guard, without_guards
from cernis.plan.sweep.lanes import OPEN, FiredBit, FiredKind, HeldValue, StateBit, StateKind
from cernis.plan.sweep.members.head_members import HeadMembers, bodies_without_members
from cernis.plan.sweep.record_tests import NEVER, ConditionSplit
from cernis.plan.sweep.rule_bodies import (
    COUNTS,
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    bodies_of,
    names_of,
    with_constants,
)
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import (
    Instance,
    KnownInstances,
    RuleScope,
    Values,
    check_key,
    check_other_places,
    pattern_of,
)
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Term, Variable

_MOST_ROWS = 64
"""A body that gives more rows is left to columns."""

_EDGES = (AskedKind.START, AskedKind.END)


@dataclass(frozen=True, slots=True)
class RowBody:
    """When a row applies; as `LaneRow`, with bits instead of masks."""

    any: frozenset[FiredBit] = frozenset()
    all: frozenset[FiredBit] = frozenset()
    none: frozenset[FiredBit] = frozenset()
    starts: frozenset[StateBit] = frozenset()
    ends: frozenset[StateBit] = frozenset()
    pos: frozenset[StateBit] = frozenset()
    neg: frozenset[StateBit] = frozenset()
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def is_triggered(self) -> bool:
        """Is there something that has to happen?"""
        return bool(self.any or self.all or self.starts or self.ends)

    @property
    def fired(self) -> frozenset[FiredBit]:
        """All fired bits that it asks for."""
        return self.any | self.all | self.none


def pair_bit(instance: Instance) -> StateBit:
    """The bit of state of a fluent's instance."""
    kind = StateKind.OPEN if instance.value == OPEN else StateKind.PAIR
    return StateBit(kind, instance.relation, instance.arguments, instance.value)


def event_bit(instance: Instance) -> FiredBit:
    """The fired bit of a derived event."""
    return FiredBit(FiredKind.SIGNAL, instance.relation, instance.arguments, word="event")


def change_bit(kind: AskedKind, instance: Instance) -> FiredBit:
    """The fired bit of an initiation or termination; a termination may be of any value."""
    return FiredBit(
        FiredKind.SIGNAL, instance.relation, instance.arguments, instance.value, word=str(kind)
    )


def value_bit(
    instance: Instance, carrier: FiredBit | None = None, name: str = "", is_ended: bool = False
) -> FiredBit:
    """The signal of the initiation or termination of a value, for the register of its fluent."""
    return FiredBit(
        FiredKind.SIGNAL, instance.relation, instance.arguments, instance.value,
        word="ended value" if is_ended else "value", base=carrier, variable=name,
    )  # fmt: skip


def edge_bit(kind: AskedKind, bit: StateBit) -> FiredBit:
    """The fired bit of a start or end, for rows that ask for more than one."""
    return FiredBit(FiredKind.SIGNAL, bit.relation, bit.arguments, bit.value, word=str(kind))


@dataclass(frozen=True, slots=True)
class _Atom:
    """One way in which a positive literal is true at a point."""

    kind: AskedKind
    fired: FiredBit | None = None
    state: StateBit | None = None


_Choice = tuple[_Atom, ...]
"""The ways in which a literal is true: one of them must be."""


@dataclass(slots=True)
class BodyTranslator:
    """Turns bodies into rows, and notes the signals that these rows need from others."""

    keys: Mapping[Relation, tuple[int, ...]]
    records: frozenset[Relation]
    known: KnownInstances
    facts: KnownFacts
    registers: frozenset[Relation] = frozenset()
    """The fluents that take any value."""
    bodies: dict[int, list[ConjunctiveBody]] = field(default_factory=dict)
    """By the identity of a rule: what it is written out to."""
    head_members: dict[Relation, HeadMembers] = field(default_factory=dict)
    """The fluents that hold of members of a key together."""
    signals: dict[FiredBit, dict[RowBody, None]] = field(default_factory=dict)
    """Signals that serve rows, with the rows that send them."""
    changes_asked: dict[FiredBit, None] = field(default_factory=dict)
    """Initiations and terminations that rows ask for."""

    def scope(
        self, body: ConjunctiveBody, head: tuple[Term, ...], head_key: tuple[int, ...],
        key_names: tuple[str, ...], open_names: frozenset[str] = frozenset(),
        joined_head: AskedLiteral | None = None,
        allowed: Mapping[str, frozenset[Term]] = MappingProxyType({}),
        carried: str | None = None,
    ) -> RuleScope:  # fmt: skip
        """A body with its head."""
        if body.counts and not body.is_sent:
            raise NotSweptError(COUNTS, body.counts[0].span)
        return RuleScope(
            body, head, head_key, key_names, self.records, self.keys, open_names, joined_head,
            allowed, self.registers, carried,
        )  # fmt: skip

    def bodies_of(self, rule: PointRule) -> Iterator[ConjunctiveBody]:
        """What a rule is written out to, with members asked about by their key."""
        if id(rule) not in self.bodies:
            self.bodies[id(rule)] = bodies_of(rule.steps, "", rule.span)
        for body in self.bodies[id(rule)]:
            yield from bodies_without_members(body, self.head_members, self.keys)

    def rows(
        self, body: ConjunctiveBody, values: Values, key_names: tuple[str, ...]
    ) -> list[RowBody]:
        """The rows of a body, its unrolled variables standing for some values."""
        rows = self._rows(body, values, key_names, None)
        if not all(row.is_triggered for row in rows):
            raise NotSweptError("has nothing that happens to begin with", body.span)
        return rows

    def _rows(
        self, body: ConjunctiveBody, values: Values, key_names: tuple[str, ...],
        trigger: _Choice | None,
    ) -> list[RowBody]:  # fmt: skip
        for literal in body.literals:
            check_key(literal, self.keys, key_names)
        records = [literal for literal in body.literals if self._is_record(literal)]
        happening = [literal for literal in records if not literal.negated]
        body, guards = without_guards(body, self.registers, happening, values.keys())
        split = ConditionSplit(key_names, self.keys, self.facts)
        tested = split.divide(records, body.conditions, body.time, values)
        if NEVER in tested.facts:
            return []
        gated = [replace(bit, gate=body.gate) for bit in tested.positive]
        positive = self._guarded(gated, guards, values)
        choices: list[_Choice] = [(_Atom(AskedKind.EVENT, fired=bit),) for bit in positive]
        none, neg = set(tested.negative), set[StateBit]()
        for literal in body.literals:
            if self._is_record(literal):
                continue
            check_other_places(literal.terms, self.keys[literal.relation], key_names, literal.span)
            ways = self._ways(literal, values)
            if not literal.negated:
                choices.append(ways)
            elif literal.kind is AskedKind.HOLDS:
                neg |= {atom.state for atom in ways if atom.state is not None}
            else:
                none |= {self._fired(atom) for atom in ways}
        if not all(choices):
            return []
        base = RowBody(
            none=frozenset(none), pos=frozenset(tested.facts), neg=frozenset(neg), span=body.span
        )
        triggers = [choice for choice in choices if choice[0].kind is not AskedKind.HOLDS]
        chosen = trigger if not triggers else max(triggers, key=_rank_of_trigger)
        others = [choice for choice in choices if choice is not chosen]
        rows = list(self._combined(base, chosen, others, body.span))
        for each in body.exceptions:
            rows = self._without(each, rows, body, values, key_names, chosen)
        return rows

    def _guarded(
        self, bits: Sequence[FiredBit], guards: list[GuardDraft], values: Values
    ) -> list[FiredBit]:
        """The bits of records, with guards in place of those that have some."""
        guarded = list(bits)
        for number, bit in enumerate(bits):
            drafts = [guard for guard in guards if guard.record == number]
            if drafts:
                held = tuple(
                    self._held(each, values) for draft in drafts for each in draft.literals
                )
                steps = dict.fromkeys(step for draft in drafts for step in draft.conditions)
                conditions = constants_in(steps, values)
                check_guard(conditions, drafts[0].literals[0].span)
                guarded[number] = replace(
                    bit, kind=FiredKind.GUARD, base=bit, held=held, conditions=conditions
                )
        return guarded

    def _held(self, literal: AskedLiteral, values: Values) -> HeldValue:
        assert isinstance(literal.value, Variable)
        key = self.keys[literal.relation]
        pattern = pattern_of(literal.args, key, values)
        if any(term is None for place, term in enumerate(pattern) if place not in key):
            raise NotSweptError("compares the values of several instances", literal.span)
        return HeldValue(literal.relation, pattern, literal.value.name, literal.negated)

    def _is_record(self, literal: AskedLiteral) -> bool:
        return literal.kind is AskedKind.EVENT and literal.relation in self.records

    # -- literals ---------------------------------------------------------------------------

    def _ways(self, literal: AskedLiteral, values: Values) -> _Choice:
        """The bits by which a literal is true."""
        key = self.keys[literal.relation]
        pattern = pattern_of(literal.terms, key, values)
        if literal.kind is AskedKind.TERMINATION:
            return tuple(self._terminations(literal, pattern))
        ways: dict[_Atom, None] = {}
        may_be_open = literal.kind in (AskedKind.HOLDS, AskedKind.INITIATION, AskedKind.EVENT)
        for instance in (
            self.known.matching(literal.relation, pattern)
            if may_be_open
            else self.known.named(literal.relation, pattern, literal.span)
        ):
            ways[self._way(literal.kind, instance)] = None
        return tuple(ways)

    def _way(self, kind: AskedKind, instance: Instance) -> _Atom:
        if kind is AskedKind.EVENT:
            return _Atom(kind, fired=event_bit(instance))
        if kind is AskedKind.INITIATION:
            return _Atom(kind, fired=self._change(kind, instance))
        return _Atom(kind, state=pair_bit(instance))

    def _terminations(
        self, literal: AskedLiteral, pattern: tuple[Term | None, ...]
    ) -> Iterator[_Atom]:
        """One for each instance that there is, of the value asked for or of any."""
        for arguments in self.known.arguments(literal.relation, pattern[:-1]):
            instance = Instance(literal.relation, arguments, pattern[-1])
            yield _Atom(literal.kind, fired=self._change(literal.kind, instance))

    def _change(self, kind: AskedKind, instance: Instance) -> FiredBit:
        bit = change_bit(kind, instance)
        self.changes_asked[bit] = None
        return bit

    def _fired(self, atom: _Atom) -> FiredBit:
        """The fired bit of a happening; a start or end sends a signal for it."""
        if atom.fired is not None:
            return atom.fired
        assert atom.state is not None
        bit = edge_bit(atom.kind, atom.state)
        self.signals.setdefault(bit, {})[_with_trigger(RowBody(), (atom,))] = None
        return bit

    # -- rows -------------------------------------------------------------------------------

    def _combined(
        self, base: RowBody, trigger: _Choice | None, others: list[_Choice], span: Span
    ) -> Iterator[RowBody]:
        """A row for each way in which all but the trigger are true."""
        if _product_size(others) > _MOST_ROWS:
            raise NotSweptError("has too many alternatives to write out", span)
        triggered = base if trigger is None else _with_trigger(base, trigger)
        for atoms in product(*others):
            held = {atom.state for atom in atoms if atom.kind is AskedKind.HOLDS}
            fired = {self._fired(atom) for atom in atoms if atom.kind is not AskedKind.HOLDS}
            pos = frozenset(bit for bit in held if bit is not None)
            yield replace(triggered, all=triggered.all | fired, pos=triggered.pos | pos)

    def _without(
        self, exception: Except, rows: list[RowBody], body: ConjunctiveBody, values: Values,
        key_names: tuple[str, ...], trigger: _Choice | None,
    ) -> list[RowBody]:  # fmt: skip
        """Rows that do not apply where a conjunction is true: it sends a signal against them."""
        if trigger is None:
            raise NotSweptError("has nothing that happens to begin with", body.span)
        signal = FiredBit(
            FiredKind.SIGNAL, steps=exception.body, values=tuple(sorted(values.items())),
            word=f"rule of {', '.join(key_names)}",
        )  # fmt: skip
        inside = bodies_of(exception.body, body.time, exception.span)
        for inner in (
            each for asked in inside
            for each in bodies_without_members(asked, self.head_members, self.keys)
        ):  # fmt: skip
            self._check_inner(inner, body, values, key_names)
            scope = self.scope(with_values(inner, values), (), (), key_names)
            for more in scope.assignments(self.known, self.facts):
                for row in self._rows(scope.body, {**values, **more}, key_names, trigger):
                    self.signals.setdefault(signal, {})[row] = None
        if signal not in self.signals:
            return rows
        return [replace(row, none=row.none | {signal}) for row in rows]

    def _check_inner(
        self, inner: ConjunctiveBody, body: ConjunctiveBody, values: Values,
        key_names: tuple[str, ...],
    ) -> None:  # fmt: skip
        """What is inside may share with the rest only the key and what is unrolled."""
        outside = names_of(term for literal in body.literals for term in literal.terms)
        outside |= names_of(body.conditions)
        shared = inner.names() & outside - set(key_names) - values.keys() - {body.time}
        if shared:
            raise NotSweptError("compares two records of a point", inner.span)


def with_values(body: ConjunctiveBody, values: Values) -> ConjunctiveBody:
    """A body in which unrolled variables are their values."""
    literals = tuple(
        replace(
            literal,
            args=with_constants(literal.args, values),
            value=None if literal.value is None else with_constants(literal.value, values),
        )
        for literal in body.literals
    )
    return replace(body, literals=literals, conditions=constants_in(body.conditions, values))


def _rank_of_trigger(choice: _Choice) -> tuple[int, bool]:
    """What has most ways triggers the rows; a start or an end among equals."""
    return len(choice), choice[0].kind in _EDGES


def _with_trigger(row: RowBody, trigger: _Choice) -> RowBody:
    fired = frozenset(atom.fired for atom in trigger if atom.fired is not None)
    starts = frozenset(a.state for a in trigger if a.state and a.kind is AskedKind.START)
    ends = frozenset(a.state for a in trigger if a.state and a.kind is AskedKind.END)
    return replace(row, any=fired, starts=starts, ends=ends)


def _product_size(choices: list[_Choice]) -> int:
    size = 1
    for choice in choices:
        size *= len(choice)
    return size
