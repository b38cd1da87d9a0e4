"""Types of arguments and values: integer, float, text, boolean, or mixed; inferred, then checked.

Every argument position of an event, fluent or predicate is a slot. A variable that two slots
share makes them one. Constants, facts and declarations say what a slot holds; arithmetic and
order comparisons say what it must hold.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cernis.check.catalogue import pattern_atom, pattern_head
from cernis.check.declarations import declared_type
from cernis.check.model import (
    Boundary,
    Changes,
    Collect,
    Condition,
    Definitions,
    Either,
    Event,
    Happens,
    Holds,
    HoldsFor,
    IntervalFilter,
    IntervalOperation,
    Literal,
    Pair,
    Relation,
    Unless,
)
from cernis.check.reporter import Report
from cernis.check.rewrites.sliding_conditions import Sliding, is_sliding, sliding
from cernis.check.value_forms import INFINITE, Flow, ValueForm, form_of_term
from cernis.errors import Note
from cernis.knowledge.digraphs import DisjointSets
from cernis.knowledge.resolution.builtins import builtin
from cernis.knowledge.scope import without_carets
from cernis.knowledge.user_functions import is_function
from cernis.knowledge.zone_clock import CLOCK_RANGES
from cernis.source import NOWHERE, Span
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
    Duration,
    EventAtom,
    Number,
    Pattern,
    Term,
    Text,
    Variable,
    Where,
    Within,
    functor,
    variables,
)

Slot: TypeAlias = tuple[str, Relation, int | str]
"""Of an `event`, `fluent` or `predicate`: its relation and the position, or `value`."""

_ORDER = frozenset({"<", ">", "=<", ">=", "=:=", "=\\="})
_ARITHMETIC = frozenset({
    "+", "-", "*", "/", "//", "mod", "rem", "div", "**", "^", "abs", "min", "max", "sqrt", "sin",
    "cos", "tan", "asin", "acos", "atan", "atan2", "floor", "ceiling", "round", "truncate", "exp",
    "log", "sign", "float", "integer", "haversine", *CLOCK_RANGES,
})  # fmt: skip


def _computes(term: Compound) -> bool:
    return term.functor in _ARITHMETIC or is_function(term.functor)


_CONSTANTS = frozenset({"pi", "e", "nan", "max_tagged_integer", "random", "cputime"}) | INFINITE
_BINDS_NOTHING = frozenset({
    "\\=", "\\==", "@<", "@>", "@=<", "@>=", "var", "nonvar", "ground", "atom", "string", "number",
    "integer", "float", "atomic", "compound", "callable", "is_list",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class FactColumn:
    """What the values of one argument of a table of facts have in common."""

    type: str
    form: ValueForm


@dataclass(frozen=True, slots=True)
class Evidence:
    """What says that a slot holds a type: a constant, or the use of it."""

    type: str
    span: Span
    reason: str
    demanded: bool = False


@dataclass(slots=True)
class Types:
    """The types of all slots."""

    _classes: DisjointSets[Hashable] = field(default_factory=DisjointSets)
    _evidence: dict[Hashable, list[Evidence]] = field(default_factory=dict)
    _forms: dict[Hashable, ValueForm] = field(default_factory=dict)
    flows: list[Flow] = field(default_factory=list)
    """Expressions whose values become values of slots or variables."""

    def of(self, kind: str, relation: Relation, position: int | str) -> str:
        """`integer`, `float`, `text`, `boolean`, `mixed`, or `any` if nothing is known."""
        types = {e.type for e in self._evidence.get(self.find((kind, relation, position)), ())}
        return _join(types)

    def is_numeric(self, kind: str, relation: Relation, position: int | str) -> bool:
        """Does some rule compute with it, or compare it by order?"""
        evidence = self._evidence.get(self.find((kind, relation, position)), ())
        return any(e.demanded and e.type == "number" for e in evidence)

    def find(self, node: Hashable) -> Hashable:
        """The representative of a slot or variable."""
        return self._classes.find(node)

    def join(self, left: Hashable, right: Hashable) -> None:
        """Let two slots or variables have one type."""
        first, second = self.find(left), self.find(right)
        if first != second:
            self._classes.follow(second, first)
            self._evidence.setdefault(first, []).extend(self._evidence.pop(second, ()))
            self.hold(first, self._forms.pop(second, ValueForm.NOTHING))

    def hold(self, node: Hashable, form: ValueForm) -> None:
        """Let a slot or variable have values of these forms."""
        if form:
            leader = self.find(node)
            self._forms[leader] = self._forms.get(leader, ValueForm.NOTHING) | form

    def forms(self) -> dict[Hashable, ValueForm]:
        """The forms of the values that the program's text gives each class."""
        return dict(self._forms)

    def slots(self) -> Iterator[Slot]:
        """All arguments and values that rules mention."""
        return (node for node in self._classes if isinstance(node, tuple) and len(node) == 3
                and isinstance(node[1], Relation))  # fmt: skip

    def say(self, node: Hashable, evidence: Evidence) -> None:
        """Add evidence about a slot or variable; a dozen pieces are enough for any report."""
        known = self._evidence.setdefault(self.find(node), [])
        if len(known) < 12 or evidence.type not in {e.type for e in known} or evidence.demanded:
            known.append(evidence)

    def clashes(self) -> Iterable[tuple[Evidence, Evidence]]:
        """Pairs of evidence that cannot both be: a number is demanded, and text is there."""
        for evidence in self._evidence.values():
            demands = [e for e in evidence if e.demanded]
            for demand in demands:
                # What a declaration demands and a use demands otherwise is the use's fault.
                others = [e for e in evidence if demand.type == "number" or not e.demanded]
                other = next((e for e in others if not _fits(e.type, demand.type)), None)
                if other is not None:
                    yield demand, other


def _fits(type_: str, wanted: str) -> bool:
    if wanted in ("number", "float"):
        return type_ in ("integer", "float", "number", "any")
    if wanted == "text":
        return type_ in ("text", "boolean", "any")
    return type_ in (wanted, "any", "number")


def _join(types: set[str]) -> str:
    types = types - {"any"}
    if not types:
        return "any"
    if types <= {"integer"}:
        return "integer"
    if types <= {"integer", "float", "number"}:
        return "float"
    if types <= {"boolean"}:
        return "boolean"
    return "text" if types <= {"text", "boolean"} else "mixed"


def infer_types(
    definitions: Definitions, clauses: Mapping[Relation, list[Clause]],
    columns: Mapping[Relation, tuple[FactColumn, ...]], report: Report,
) -> Types:  # fmt: skip
    """Infer the types of a program and report where a number is needed and text is there.

    `columns` gives the columns of the fact tables, which are not looked at one by one.
    """
    inference = _Inference(Types())
    for relation, own_columns in columns.items():
        inference.table(relation, own_columns, clauses)
    for event in definitions.declared_events.values():
        inference.declared("event", event.relation, event.args)
    for pair in definitions.declared_fluents.values():
        inference.declared("fluent", pair.relation, pair.args)
    inference.rules(definitions)
    for relation, defining in clauses.items():
        if relation not in columns:
            for clause in defining:
                inference.clause(clause)
    seen: set[Span] = set()
    for demand, other in inference.types.clashes():
        if demand.span not in seen:
            seen.add(demand.span)
            report.error(
                "C050", f"{demand.reason}, and gets {other.type}", demand.span,
                *([Note(other.reason, other.span)] if other.span != NOWHERE else []),
                help="compare text with == or @<, or correct the argument",
            )  # fmt: skip
    return inference.types


class _Inference:
    """Walks rules. A variable is a node that is named by its clause's number and its own name."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self._scope = 0

    def table(
        self, relation: Relation, columns: tuple[FactColumn, ...],
        clauses: Mapping[Relation, list[Clause]],
    ) -> None:  # fmt: skip
        defining = clauses.get(relation)
        span = defining[0].head.span if defining else NOWHERE
        for position, column in enumerate(columns):
            self.types.hold(("predicate", relation, position), column.form)
            # A column of both kinds is nobody's mistake: it demands nothing and says nothing.
            if column.type not in ("mixed", "term"):
                reason = f"argument {position + 1} of the facts of {relation} is {column.type}"
                self.types.say(
                    ("predicate", relation, position), Evidence(column.type, span, reason)
                )

    def declared(self, kind: str, relation: Relation, args: tuple[Term, ...]) -> None:
        for position, arg in enumerate(args):
            type_ = declared_type(arg)
            if type_ is not None:
                reason = f"argument {position + 1} of {relation} is declared {type_}"
                self.types.say((kind, relation, position), Evidence(type_, arg.span, reason, True))

    def rules(self, definitions: Definitions) -> None:
        for rule in definitions.changes:
            self._enter()
            self._pair(rule.pair)
            self._literals(rule.body)
        for event_rule in definitions.events:
            self._enter()
            self._event(event_rule.event)
            self._literals(event_rule.body)
        for static in definitions.statics:
            self._enter()
            self._pair(static.pair)
            for literal in static.body:
                if isinstance(literal, HoldsFor):
                    self._pair(literal.pair)
                elif isinstance(literal, Condition):
                    self._goal(literal.goal)
                elif isinstance(literal, IntervalOperation) and literal.operator != "allen":
                    for parameter in literal.parameters:
                        self._number(parameter, f"{literal.operator} needs a number")
                    if literal.filter is not None:
                        self._filter(literal.filter, literal.span)
        for initial in definitions.initials:
            self._enter()
            self._pair(initial.pair)
            self._goals(initial.goals)
        for grounding in definitions.groundings:
            self._enter()
            if isinstance(grounding.entity, Pair):
                self._pair(grounding.entity)
            else:
                self._event(grounding.entity)
            self._goals(grounding.goals)
        for effect in definitions.effects:
            self._enter()
            self._pair(effect.source)
            self._goals(effect.goals)
        for postponable in definitions.postponables:
            self._enter()
            self._pair(postponable.pair)
            self._goals(postponable.goals)
        for pattern in definitions.patterns:
            self._enter()
            head = pattern_head(pattern)
            self._args("event", head.relation, head.args, computes=True)
            self._pattern(pattern.pattern)

    def _filter(self, picks: IntervalFilter, span: Span) -> None:
        for name in picks.bounds:
            self._number(Variable(name, span), "the end of an interval is a number")
        for goal in picks.goals:
            self._goal(goal)

    def _pattern(self, pattern: Pattern) -> None:
        if isinstance(pattern, EventAtom):
            self._atom(pattern_atom(pattern.term, pattern.span))
        elif isinstance(pattern, Where):
            self._pattern(pattern.pattern)
            for goal in pattern.conditions:
                if not is_sliding(goal):
                    self._goal(goal, computes=True)
            for aggregate in filter(None, map(sliding, filter(is_sliding, pattern.conditions))):
                self._aggregate(aggregate)
        elif isinstance(pattern, Within):
            self._pattern(pattern.pattern)
            for variable in variables(pattern.duration):
                self._number(variable, "a duration is a number")
        elif isinstance(pattern, Binary):
            self._pattern(pattern.left)
            self._pattern(pattern.right)
        elif isinstance(pattern, Absence):
            for part in (pattern.absent, pattern.first, pattern.last):
                self._pattern(part)

    def _aggregate(self, aggregate: Sliding) -> None:
        if aggregate.kind == "fold":
            both = Compound(aggregate.fold, (aggregate.result,) * 3, aggregate.span)
            self._goal(both)
        else:
            self._number(aggregate.result, "an aggregate is a number")
        self._total((self._scope, aggregate.result.name), aggregate.kind, aggregate.value)
        if aggregate.value is not None:
            self._number(aggregate.value, f"{aggregate.kind} is of numbers")

    def _atom(self, atom: Event | Boundary | Pair) -> None:
        if isinstance(atom, Event):
            self._event(atom)
        else:
            self._pair(atom.pair if isinstance(atom, Boundary) else atom)

    def _goals(self, goals: Iterable[Term]) -> None:
        for goal in goals:
            self._goal(goal)

    def clause(self, clause: Clause) -> None:
        self._enter()
        self._goal(clause.head)
        self._goals(clause.body)

    def _enter(self) -> None:
        self._scope += 1

    def _literals(self, body: Iterable[Literal]) -> None:
        for literal in body:
            if isinstance(literal, Happens):
                self._event(literal.event)
            elif isinstance(literal, (Boundary, Holds, Changes)):
                self._pair(literal.pair)
            elif isinstance(literal, Condition):
                self._goal(literal.goal)
            elif isinstance(literal, Either):
                for branch in literal.branches:
                    self._literals(branch)
            elif isinstance(literal, Unless):
                self._literals(literal.body)
            elif isinstance(literal, Collect):
                self._literals(literal.body)
                self._collected(literal)

    def _collected(self, collect: Collect) -> None:
        """The forms of what is collected: a list is no number, a count is a whole one."""
        for variable in variables(collect.result):
            node = (self._scope, variable.name)
            self._total(node, collect.kind, collect.template)
            if collect.kind == "sum":
                # What is added up may be nothing, and nothing adds up to 0.
                self.types.hold(node, ValueForm.INTEGER)

    def _total(self, node: Hashable, kind: str, value: Term | None) -> None:
        """The forms of an aggregate; a fold may give any number, and a list is none."""
        if kind in ("sum", "min", "max") and value is not None:
            self.types.flows.append(Flow(node, value, self._scope))
        else:
            known = {"count": ValueForm.INTEGER, "avg": ValueForm.FLOAT, "fold": ValueForm.NUMBER}
            self.types.hold(node, known.get(kind, ValueForm.ANY))

    def _pair(self, pair: Pair) -> None:
        self._args("fluent", pair.relation, pair.args)
        self._arg(("fluent", pair.relation, "value"), pair.value, f"a value of {pair.relation}")

    def _event(self, event: Event) -> None:
        self._args("event", event.relation, event.args)

    def _args(
        self, kind: str, relation: Relation, args: tuple[Term, ...], computes: bool = False
    ) -> None:
        for position, arg in enumerate(args):
            self._arg(
                (kind, relation, position), arg, f"argument {position + 1} of {relation}", computes
            )

    def _arg(self, slot: Hashable, term: Term, subject: str, computes: bool = False) -> None:
        """What a term says of a slot. Only the heads and conditions of patterns compute."""
        if isinstance(term, Variable):
            if term.name != "_":
                self.types.join(slot, (self._scope, term.name))
            return
        type_ = constant_type(term)
        if type_ is not None:
            self.types.say(slot, Evidence(type_, term.span, f"{show(term)} is {type_} here"))
            self.types.hold(slot, form_of_term(term))
        elif computes and isinstance(term, Compound) and _computes(term):
            self.types.say(slot, Evidence("number", term.span, f"{subject} is computed here"))
            self.types.flows.append(Flow(slot, term, self._scope))
            self._number(term, "arithmetic needs a number")
        else:
            self.types.hold(slot, ValueForm.OTHER)
            self._unknown(term)

    def _unknown(self, term: Term) -> None:
        """The variables of a term get their values in ways that are not followed here."""
        for variable in variables(term):
            self.types.hold((self._scope, variable.name), ValueForm.ANY)

    def _goal(self, goal: Term, computes: bool = False) -> None:
        name, arity = functor(goal)
        if not isinstance(goal, Compound):
            return
        if name in _ORDER and arity == 2:
            for arg in goal.args:
                self._number(arg, f"`{name}` compares numbers")
        elif name == "is" and arity == 2:
            self._gives_number(goal.args[0], goal.args[1])
            self._number(goal.args[1], "arithmetic needs a number")
        elif name in ("=", "==") and arity == 2:
            self._equal(goal.args[0], goal.args[1], computes)
        elif (known := builtin(name, arity)) is not None:
            inner = range(len(goal.args)) if name in (",", ";", "->") else known.goals
            for position in inner:
                self._goal(without_carets(goal.args[position])[0], computes)
            for position, arg in enumerate(goal.args):
                if position not in inner and name not in _BINDS_NOTHING:
                    self._unknown(arg)
        else:
            self._args("predicate", Relation(name, arity), goal.args)

    def _gives_number(self, term: Term, expression: Term) -> None:
        if isinstance(term, Variable) and term.name != "_":
            node = (self._scope, term.name)
            self.types.say(node, Evidence("number", term.span, "`is` gives a number"))
            self.types.flows.append(Flow(node, expression, self._scope))

    def _equal(self, left: Term, right: Term, computes: bool) -> None:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Variable) and one.name != "_":
                self._arg((self._scope, one.name), other, show(other), computes)

    def _number(self, term: Term, reason: str) -> None:
        """The term is evaluated: its variables must be numbers."""
        if isinstance(term, Variable):
            if term.name != "_":
                evidence = Evidence("number", term.span, reason, True)
                self.types.say((self._scope, term.name), evidence)
        elif isinstance(term, Compound) and _computes(term):
            for arg in term.args:
                self._number(arg, "arithmetic needs a number")
        elif constant_type(term) in ("text", "boolean") and show(term) not in _CONSTANTS:
            node = (self._scope, "constant", term.span)
            self.types.say(node, Evidence("number", term.span, reason, True))
            self.types.say(node, Evidence("text", NOWHERE, f"{show(term)} is text"))


def constant_type(term: Term) -> str | None:
    """The type of a constant; None for anything else."""
    if isinstance(term, Number):
        return "integer" if isinstance(term.value, int) else "float"
    if isinstance(term, Atom) and term.name in INFINITE:
        return "number"
    if isinstance(term, Atom) and term.name != "[]":
        return "boolean" if term.name in ("true", "false") else "text"
    if isinstance(term, Text):
        return "text"
    return "number" if isinstance(term, Duration) else None
