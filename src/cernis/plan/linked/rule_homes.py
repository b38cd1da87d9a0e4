"""Rules over linked instances, each written as rules of single kinds.

A body has a *home*: the kind of instances whose tuple names all instances that the rule is about.
It is that of the head, that of something the body asks for, or, if none names them all, a kind of
its own that has no state. In a rule of its home, every record names the whole tuple, whatever else
happens does so to the instance itself, and what holds is asked of the instance or over a link. If
the head is of another kind, the rule becomes two: one that sends an event over a link, and one that
brings the head about where that event comes in. The home of a rule over intervals is that of its
head: lists of smaller instances are asked for over links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cernis.check.model import Event, Pair, Relation
from cernis.plan.linked.instance_kinds import KindTable
from cernis.plan.logical import Definition, Fetch, IntervalRule, PointRule, RulePlan
from cernis.plan.sweep.rule_bodies import (
    AskedKind,
    AskedLiteral,
    ConjunctiveBody,
    bodies_of,
    head_terms,
    names_of,
)
from cernis.plan.sweep.unfit import NotSweptError
from cernis.syntax.tree import Term, Variable


@dataclass(slots=True)
class KindDraft:
    """What is known of a kind of instances while its rules are written."""

    home: Relation
    positions: tuple[int, ...]
    keys: dict[Relation, tuple[int, ...]] = field(default_factory=dict)
    """For each relation that its rules mention: the positions of the tuple."""
    records: dict[Relation, Relation] = field(default_factory=dict)
    """Input events by the names they have in its rules."""
    rules: dict[Relation, list[RulePlan]] = field(default_factory=dict)
    """By what they define, events that are sent included."""
    links: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    """The number of each link, by the kind it leads to and the places of that kind's tuple."""
    reads: dict[Relation, tuple[int, Relation]] = field(default_factory=dict)
    """By the name it has in rules: over which link which fluent is asked for."""
    signals: dict[Relation, tuple[int, Relation]] = field(default_factory=dict)
    """By event that is sent: over which link, and its name in the rules of the other kind."""

    def link(self, target: int, positions: tuple[int, ...]) -> int:
        """The number of a link."""
        return self.links.setdefault((target, positions), len(self.links))

    def record(self, event: Relation, positions: tuple[int, ...]) -> Relation:
        """The name of an input event whose arguments at some positions are the tuple."""
        for name, each in self.records.items():
            if each == event and self.keys[name] == positions:
                return name
        count = sum(each == event for each in self.records.values())
        name = event if not count else Relation(f"{event.name} #{count + 1}", event.arity)
        self.records[name], self.keys[name] = event, positions
        return name

    def imported(self, fluent: Relation, link: int, others: int, size: int) -> Relation:
        """The name of a fluent that is asked for over a link, with so many other arguments."""
        for name, each in self.reads.items():
            if each == (link, fluent):
                return name
        name = Relation(f"{fluent.name} over link {link}", size + others)
        self.reads[name], self.keys[name] = (link, fluent), tuple(range(size))
        return name


Home = tuple[int, tuple[str, ...]]
"""The number of a kind, and the variables that stand for its tuple."""


@dataclass(slots=True)
class RuleWriter:
    """Writes the rules of definitions as rules of their homes."""

    table: KindTable
    inputs: frozenset[Relation]
    """The events whose records are given."""
    bodies: dict[int, list[ConjunctiveBody]]
    """By the identity of a rule, old or new: the bodies that it is written out to."""
    drafts: dict[int, KindDraft] = field(default_factory=dict)
    _rule_kinds: dict[tuple[Relation, tuple[int, ...]], int] = field(default_factory=dict)

    def know(self, relation: Relation) -> None:
        """Give a relation that is defined its place in the draft of its kind."""
        positions = self.table.positions[relation]
        draft = self._draft(self.table.kind[relation], relation, positions)
        draft.keys[relation] = positions
        draft.rules[relation] = []

    def write(self, definition: Definition) -> None:
        """Write the rules of a definition; all relations must be known."""
        rules = self.drafts[self.table.kind[definition.relation]].rules[definition.relation]
        for rule in definition.rules:
            if isinstance(rule, PointRule):
                for body in self.bodies_of(rule):
                    self._write_body(rule, body)
            else:
                rules.append(self._over_links(rule) if isinstance(rule, IntervalRule) else rule)

    def bodies_of(self, rule: PointRule) -> list[ConjunctiveBody]:
        """The bodies that a rule is written out to."""
        if id(rule) not in self.bodies:
            self.bodies[id(rule)] = bodies_of(rule.steps, "", rule.span)
        return self.bodies[id(rule)]

    def instance_literals(self, body: ConjunctiveBody) -> Iterator[AskedLiteral]:
        """The literals of a body that are not about records."""
        return (literal for literal in body.literals_inside() if not self._is_record(literal))

    def _draft(self, number: int, home: Relation, positions: tuple[int, ...]) -> KindDraft:
        return self.drafts.setdefault(number, KindDraft(home, positions))

    def _is_record(self, literal: AskedLiteral) -> bool:
        return literal.kind is AskedKind.EVENT and literal.relation in self.inputs

    # -- homes ------------------------------------------------------------------------------

    def _home(self, rule: PointRule, body: ConjunctiveBody) -> Home:
        """The kind of instances that a body is about."""
        instances: list[Pair | Event | AskedLiteral] = [rule.head, *self.instance_literals(body)]
        names = dict.fromkeys(name for each in instances for name in self.table.names(each))
        names.update(dict.fromkeys(self._joining(body)))
        if names.keys() & set(rule.open_variables):
            raise NotSweptError("leaves part of its tuple open", rule.span)
        for each in instances:
            if set(self.table.names(each)) == names.keys():
                return self.table.kind[each.relation], self.table.names(each)
        return self._home_of_records(body, set(names))

    def _joining(self, body: ConjunctiveBody) -> Iterator[str]:
        """The variables that two records at a point share."""
        seen: set[str] = set()
        for literal in body.literals:
            if self._is_record(literal):
                names = names_of(literal.args) - {body.time}
                yield from sorted(names & seen)
                seen |= names

    def _home_of_records(self, body: ConjunctiveBody, names: set[str]) -> Home:
        """A kind without state, for the arguments of a record that name all instances."""
        for literal in body.literals:
            if self._is_record(literal) and not literal.negated and names <= names_of(literal.args):
                args = list(literal.args)
                positions = tuple(sorted(args.index(Variable(name)) for name in names))
                kind = (literal.relation, positions)
                number = self._rule_kinds.setdefault(kind, -1 - len(self._rule_kinds))
                self._draft(number, literal.relation, positions)
                return number, tuple(args[place].name for place in positions)  # type: ignore[union-attr]
        raise NotSweptError("reads instances that no record names together", body.span)

    # -- rules ------------------------------------------------------------------------------

    def _write_body(self, rule: PointRule, body: ConjunctiveBody) -> None:
        home = self._home(rule, body)
        number, names = home
        written = self._rewritten(body, home)
        head = rule.head
        if self.table.kind[head.relation] == number and self.table.names(head) == names:
            self._add(number, head.relation, self._rule(rule.kind, head, rule, written))
        else:
            self._send(rule, written, home)

    def _add(self, number: int, relation: Relation, rule: RulePlan) -> None:
        self.drafts[number].rules.setdefault(relation, []).append(rule)

    def _rule(
        self, kind: str, head: Pair | Event, rule: PointRule, body: ConjunctiveBody
    ) -> PointRule:
        written = PointRule(kind, head, (), rule.open_variables, rule.span)
        self.bodies[id(written)] = [body]
        return written

    def _send(self, rule: PointRule, body: ConjunctiveBody, home: Home) -> None:
        """Two rules for one: what is sent over a link, and what comes of it."""
        number, names = home
        head, head_names = rule.head, self.table.names(rule.head)
        target = self.table.kind[head.relation]
        link = self._link(home, target, head_names, rule)
        draft, other = self.drafts[number], self.drafts[target]
        free = names_of(_other_terms(head, self.table.positions[head.relation]))
        more = tuple(sorted(free - set(rule.open_variables) - set(head_names)))
        serial = sum(len(each.signals) for each in self.drafts.values())
        sent = Relation(f"to {head.relation} #{serial}", len(names) + len(more))
        received = Relation(f"for {head.relation} #{serial}", len(head_names) + len(more))
        draft.keys[sent], other.keys[received] = _first(len(names)), _first(len(head_names))
        draft.signals[sent] = (link, received)
        event = Event(sent, _variables((*names, *more)), rule.span)
        sender = replace(rule, open_variables=())
        self._add(number, sent, self._rule("event", event, sender, body))
        literal = AskedLiteral(
            AskedKind.EVENT, received, _variables((*head_names, *more)), None, False, rule.span
        )
        incoming = ConjunctiveBody((literal,), (), (), body.time, rule.span)
        self._add(target, head.relation, self._rule(rule.kind, head, rule, incoming))

    def _link(
        self, home: Home, target: int, names: tuple[str, ...],
        rule: PointRule | IntervalRule | AskedLiteral,
    ) -> int:  # fmt: skip
        number, own_names = home
        if target == number:
            raise NotSweptError("relates two instances of one kind", rule.span)
        positions = tuple(own_names.index(name) for name in names)
        return self.drafts[number].link(target, positions)

    def _over_links(self, rule: IntervalRule) -> IntervalRule:
        """A rule over intervals that asks for lists of smaller instances over links."""
        home = self.table.kind[rule.head.relation], self.table.names(rule.head)
        steps = []
        for step in rule.steps:
            if isinstance(step, Fetch):
                step = replace(step, pair=self._fetched(step.pair, home, rule))
            steps.append(step)
        return replace(rule, steps=tuple(steps))

    def _fetched(self, pair: Pair, home: Home, rule: IntervalRule) -> Pair:
        number, names = home
        its_names, kind = self.table.names(pair), self.table.kind[pair.relation]
        if kind == number and its_names == names:
            return pair
        if not set(its_names) <= set(names):
            raise NotSweptError("reads instances that its head does not name", pair.span)
        link = self._link(home, kind, its_names, rule)
        others = _other_arguments(pair, self.table.positions[pair.relation])
        name = self.drafts[number].imported(pair.relation, link, len(others), len(names))
        return replace(pair, relation=name, args=(*_variables(names), *others))

    # -- bodies -----------------------------------------------------------------------------

    def _rewritten(self, body: ConjunctiveBody, home: Home) -> ConjunctiveBody:
        """A body in which relations have the names of its home."""
        for each in body.exceptions:
            for inner in bodies_of(each.body, body.time, each.span):
                for literal in inner.literals_inside():
                    if self._literal(literal, home) != literal:
                        raise NotSweptError("excludes what other instances do", each.span)
        return replace(body, literals=tuple(self._literal(each, home) for each in body.literals))

    def _literal(self, literal: AskedLiteral, home: Home) -> AskedLiteral:
        number, names = home
        draft = self.drafts[number]
        if self._is_record(literal):
            args = list(literal.args)
            if not set(names) <= names_of(args):
                reason = f"reads instances that {literal.relation} does not name"
                raise NotSweptError(reason, literal.span)
            positions = tuple(args.index(Variable(name)) for name in names)
            return replace(literal, relation=draft.record(literal.relation, positions))
        its_names, kind = self.table.names(literal), self.table.kind[literal.relation]
        if kind == number and its_names == names:
            return literal
        if literal.kind is not AskedKind.HOLDS:
            raise NotSweptError("asks what happens at a point to another instance", literal.span)
        link = self._link(home, kind, its_names, literal)
        others = _other_arguments(literal, self.table.positions[literal.relation])
        name = draft.imported(literal.relation, link, len(others), len(names))
        return replace(literal, relation=name, args=(*_variables(names), *others))


def _other_arguments(
    literal: AskedLiteral | Pair | Event, positions: tuple[int, ...]
) -> tuple[Term, ...]:
    """The arguments that are no part of the tuple."""
    return tuple(arg for place, arg in enumerate(literal.args) if place not in positions)


def _other_terms(head: Pair | Event, positions: tuple[int, ...]) -> tuple[Term, ...]:
    """The same, and the value if there is one."""
    return tuple(term for place, term in enumerate(head_terms(head)) if place not in positions)


def _variables(names: tuple[str, ...]) -> tuple[Variable, ...]:
    return tuple(map(Variable, names))


def _first(count: int) -> tuple[int, ...]:
    return tuple(range(count))
