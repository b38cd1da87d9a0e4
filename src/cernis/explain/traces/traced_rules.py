"""A program that also tells what each of its rules was true of: an event for each rule.

Beside a rule stands one for an event with the same body, whose arguments are those of the head and
of each literal over time. The evaluator finds these events for all entities at once, as it does
the program's own, and with its meaning: negation, collections and background rules included. A
rule with a disjunction has an event for each of its branches. In a pattern each part gives its
times, too, so that there is one event for each choice of rows that matched.

A rule that initiates or terminates is traced where its pair begins or ends, which is seldom. All
that it does is traced only where something asks for that: delayed effects, and rules about
initiations and terminations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeAlias

from cernis.check.catalogue import pattern_atom, pattern_head
from cernis.check.checker import Checked, with_events
from cernis.check.model import (
    ANY_VALUE,
    Boundary,
    ChangeRule,
    Changes,
    Condition,
    Consumption,
    Definitions,
    Either,
    Event,
    EventRule,
    Happens,
    Holds,
    HoldsFor,
    IntervalOperation,
    Literal,
    Pair,
    Relation,
    StaticRule,
    temporal,
)
from cernis.check.pattern_checks import consumption_of
from cernis.check.rewrites.sliding_conditions import is_sliding
from cernis.check.rewrites.validity import END, START
from cernis.knowledge.ground_values import is_ground
from cernis.source import Span
from cernis.syntax.tree import (
    Absence,
    Binary,
    Compound,
    EventAtom,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    Within,
    functor,
    variables,
)

_MOST_BRANCHES = 64
"""So many combinations of branches are followed in a rule with disjunctions."""

_COMPUTED = frozenset(
    {"<", ">", "=<", ">=", "=:=", "=\\=", "\\=", "==", "\\==", "@<", "@>", "@=<", "@>=", "is", "="}
)


Places: TypeAlias = tuple[int | Term | None, ...]
"""For each argument, and for a value last, its column in a trace, a constant, or nothing."""


@dataclass(frozen=True, slots=True)
class TracedPart:
    """What a rule was true of: a happening, or an edge of a pair, at some columns of the trace.

    `kind` is `happens`, `start`, `end` or `lasts`, the whole of an interval; or `initiation` or
    `termination`, at the very point. In place of a column may stand a constant, or None for what
    may be anything. Times stand in columns for parts of patterns; without, they are those of the
    trace.
    """

    kind: str
    relation: Relation
    columns: Places
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class TracedRule:
    """A rule, and the event beside it; or no event, where a join with the part says the same.

    `effect` is what the rule makes: `happens`; `initiates` and `terminates`, always or only where
    this `begins` or `ends` an interval, which another value does that `replaces` it; or, for rules
    over intervals, `start` or `end`. `head` has the places of the arguments.
    """

    effect: str
    relation: Relation
    head: Places
    parts: tuple[TracedPart, ...]
    event: Relation | None
    span: Span
    is_pattern: bool = False
    shared: tuple[tuple[int, int], ...] = ()
    """Of a rule over intervals: which of the head's places have the term of which of the part's."""
    terms: tuple[Term, ...] = ()
    """Of a pattern: what the columns of the trace are, by their terms."""


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """A program with its traces."""

    checked: Checked
    rules: tuple[TracedRule, ...]
    hidden: frozenset[Relation]
    """The relations that the program itself does not report: traces, and what phrases stand for."""


def traced(
    checked: Checked, relations: Collection[Relation] | None = None, is_uncertain: bool = False
) -> TracedProgram:
    """The program with a trace for each rule; or for rules of some relations only.

    Over uncertain records, a rule that initiates or terminates is traced wherever it may: what
    changes a probability need not begin or end an interval.
    """
    tracer = _Tracer(checked, relations, is_uncertain)
    tracer.trace()
    settings = checked.definitions.settings
    if is_uncertain:
        # Where a rule may fire does not depend on how exactly its probability is computed.
        settings = replace(settings, exact=None)
    policies = tuple((str(event), consumption) for event, consumption in tracer.consumption)
    if policies:
        settings = replace(settings, consumption_of=(*settings.consumption_of, *policies))
    traces = {rule.event for rule in tracer.rules if rule.event is not None}
    hidden = frozenset(traces | checked.definitions.auxiliary)
    # What phrases stand for is asked for, too.
    definitions = replace(checked.definitions, settings=settings, auxiliary=set())
    checked = replace(checked, definitions=definitions)
    whole = with_events(checked, tracer.events, tracer.patterns)
    return TracedProgram(whole, tuple(tracer.rules), hidden)


@dataclass(slots=True)
class TraceColumns:
    """The variables that a trace has as its arguments, each once."""

    word: str = "Any"
    terms: list[Term] = field(default_factory=list)
    count: int = 0

    def places(self, terms: Iterable[Term]) -> Places:
        """The column of each term, which is added if it is new; constants stay."""
        return tuple(self.place(term) for term in terms)

    def place(self, term: Term) -> int | Term | None:
        """The column of a term, or the constant that it is."""
        if isinstance(term, Variable):
            known = [at for at, each in enumerate(self.terms) if _is_named(each, term)]
            return known[0] if known else self.add(term)
        return term if is_ground(term) else self.add(term)

    def add(self, term: Term) -> int:
        """A column for a term."""
        self.terms.append(term)
        return len(self.terms) - 1

    def named(self, terms: Iterable[Term]) -> tuple[Term, ...]:
        """Terms in which what has no name has one."""
        return tuple(self._named(term) for term in terms)

    def _named(self, term: Term) -> Term:
        if not isinstance(term, Variable) or term.name != "_":
            return term
        self.count += 1
        return Variable(f"{self.word} {self.count}", term.span)


def _is_named(term: Term, variable: Variable) -> bool:
    return isinstance(term, Variable) and term.name == variable.name


class _Tracer:
    def __init__(
        self, checked: Checked, relations: Collection[Relation] | None, is_uncertain: bool
    ) -> None:
        self._definitions = checked.definitions
        self._is_uncertain = is_uncertain
        self._relations = relations
        self.events: list[EventRule] = []
        self.patterns: list[PatternRule] = []
        self.rules: list[TracedRule] = []
        self.consumption: list[tuple[Relation, Consumption]] = []
        self._whole = _changes_asked_for(checked.definitions)
        self._several = _with_several_values(checked.definitions)

    def trace(self) -> None:
        definitions = self._definitions
        for change in definitions.changes:
            if self._is_asked(change.pair.relation):
                self._change(change)
        for rule in definitions.events:
            if self._is_asked(rule.event.relation):
                event = rule.event
                self._points("happens", event.relation, event.args, rule)
        for static in definitions.statics:
            if self._is_asked(static.pair.relation):
                self._intervals(static)
        for pattern in definitions.patterns:
            if self._is_asked(pattern_head(pattern).relation):
                for chosen in list(pattern_alternatives(pattern.pattern))[:_MOST_BRANCHES]:
                    self._pattern(pattern, chosen)

    def _is_asked(self, relation: Relation) -> bool:
        return self._relations is None or relation in self._relations

    # -- rules over time-points ------------------------------------------------------------------

    def _change(self, rule: ChangeRule) -> None:
        pair = _named_pair(rule.pair, TraceColumns("Open"))
        args, held = pair.args, pair.value
        head, effect = (*args, held), "initiates" if rule.initiates else "terminates"
        if self._is_uncertain or (effect, pair.relation) in self._whole:
            self._points(effect, pair.relation, (*rule.pair.args, rule.pair.value), rule)
        if self._is_uncertain:
            return
        edge, limited = ("start", "begins") if rule.initiates else ("end", "ends")
        first: tuple[Literal, ...] = (Boundary(edge, pair, False, rule.span),)
        self._points(limited, pair.relation, head, rule, first)
        if rule.initiates and pair.relation in self._several:
            other = Variable("Other value", rule.span)
            ended = replace(pair, value=other)
            differs = Compound("\\==", (other, held), rule.span)
            self._points(
                "replaces", pair.relation, (*args, other), rule,
                (Boundary("end", ended, False, rule.span),),
                (Condition(differs, False, rule.span),),
            )  # fmt: skip

    def _points(
        self, effect: str, relation: Relation, head: tuple[Term, ...],
        rule: ChangeRule | EventRule, first: tuple[Literal, ...] = (),
        last: tuple[Literal, ...] = (),
    ) -> None:  # fmt: skip
        for literals in list(_branches(rule.body))[:_MOST_BRANCHES]:
            columns = TraceColumns()
            named = tuple(_named(each, columns) for each in literals)
            bound = {name for each in (*first, *named) for name in _binders(each)}
            places = tuple(columns.place(term) if _is_bound(term, bound) else None for term in head)
            parts = tuple(filter(None, (_part(each, columns) for each in named)))
            if parts:
                event = self._add_event(columns, (*first, *named, *last), rule.time, rule.span)
                self.rules.append(TracedRule(effect, relation, places, parts, event, rule.span))

    def _add_event(
        self, columns: TraceColumns, body: tuple[Literal, ...], time: str, span: Span
    ) -> Relation:
        relation = Relation(f"trace {len(self.rules)}", len(columns.terms))
        self.events.append(EventRule(trace_event(relation, columns.terms, span), time, body, span))
        return relation

    # -- rules over intervals ------------------------------------------------------------------

    def _intervals(self, rule: StaticRule) -> None:
        """An edge of what the rule makes is an edge of one of the pairs that it is made of."""
        kept, removed = _sides(rule)
        for literal in rule.body:
            if isinstance(literal, HoldsFor):
                for edge in ("start", "end"):
                    other = {"start": "end", "end": "start"}[edge]
                    effects = [edge] * (literal.intervals in kept)
                    effects += [other] * (literal.intervals in removed)
                    for effect in effects:
                        self._edge(rule, literal, edge, effect)

    def _edge(self, rule: StaticRule, literal: HoldsFor, edge: str, effect: str) -> None:
        columns = TraceColumns()
        made, pair = (
            _named_pair(rule.pair, TraceColumns("Open")),
            _named_pair(literal.pair, columns),
        )
        head, inside = (*made.args, made.value), (*pair.args, pair.value)
        first = (
            Boundary(effect, made, False, rule.span), Boundary(edge, pair, False, literal.span)
        )  # fmt: skip
        conditions = list(_solvable(rule, {name for each in first for name in _binders(each)}))
        if conditions and self._is_uncertain:
            # Static fluents that are uncertain have no starts and ends that a trace could ask for.
            return
        shared = tuple((at, inside.index(term)) for at, term in enumerate(head) if term in inside)
        if conditions:
            places, below = columns.places(head), columns.places(inside)
            event = self._add_event(columns, (*first, *conditions), "T", rule.span)
        else:
            # Of the arguments that the head has not, any will do: a join with the pair tells them.
            event = None
            places, below = (
                tuple(None if isinstance(term, Variable) else term for term in terms)
                for terms in (head, inside)
            )
        part = TracedPart(edge, pair.relation, below)
        self.rules.append(
            TracedRule(effect, made.relation, places, (part,), event, rule.span, shared=shared)
        )

    # -- patterns ------------------------------------------------------------------------------

    def _pattern(self, rule: PatternRule, pattern: Pattern) -> None:
        head = pattern_head(rule)
        columns = TraceColumns()
        places: Places = tuple(columns.add(arg) for arg in head.args)
        timed = TimedParts(columns)
        matched = timed.pattern(pattern)
        if timed.parts:
            relation = Relation(f"trace {len(self.rules)}", len(columns.terms))
            term = trace_event(relation, columns.terms, rule.span).term
            made = PatternRule(term, matched, rule.span)
            self.patterns.append(made)
            self.consumption.append((relation, consumption_of(rule, self._definitions)))
            self.rules.append(
                TracedRule(
                    "happens",
                    head.relation,
                    places,
                    tuple(timed.parts),
                    relation,
                    rule.span,
                    True,
                    terms=tuple(columns.terms),
                )
            )


class TimedParts:
    """Lets the parts of a pattern tell their times; what only is absent has none."""

    def __init__(self, columns: TraceColumns) -> None:
        self._columns = columns
        self.parts: list[TracedPart] = []

    def pattern(self, pattern: Pattern) -> Pattern:
        """The pattern in which each part gives its times to variables."""
        if isinstance(pattern, EventAtom):
            return self._atom(pattern)
        if isinstance(pattern, Where) and any(map(is_sliding, pattern.conditions)):
            # To tell more of what is counted would change what counts as one.
            return pattern
        if isinstance(pattern, (Where, Within)):
            return replace(pattern, pattern=self.pattern(pattern.pattern))
        if isinstance(pattern, Binary):
            left = self.pattern(pattern.left)
            return replace(pattern, left=left, right=self.pattern(pattern.right))
        if isinstance(pattern, Absence):
            first = self.pattern(pattern.first)
            return replace(pattern, first=first, last=self.pattern(pattern.last))
        return pattern

    def _atom(self, pattern: EventAtom) -> Pattern:
        atom = pattern_atom(pattern.term, pattern.span)
        entity: Event | Pair = atom.pair if isinstance(atom, Boundary) else atom
        terms = entity.args if isinstance(entity, Event) else (*entity.args, entity.value)
        named = self._columns.named(terms)
        number = len(self.parts)
        times = (Variable(f"From {number}"), Variable(f"To {number}"))
        places = self._columns.places(named)
        start, end = map(self._columns.add, times)
        kind = "happens" if isinstance(atom, Event) else "lasts"
        kind = atom.edge if isinstance(atom, Boundary) else kind
        self.parts.append(TracedPart(kind, entity.relation, places, start, end))
        conditions = (
            Compound("=", (times[0], Variable(START)), pattern.span),
            Compound("=", (times[1], Variable(END)), pattern.span),
        )
        names = (name for name, term in zip(named, terms, strict=True) if _is_variable(term))
        renamed = replace(pattern, term=_with_names(pattern.term, names))
        return Where(renamed, conditions, pattern.span)


def _with_names(term: Term, names: Iterator[Term]) -> Term:
    """A term with these names for its variables, in reading order."""
    if isinstance(term, Variable):
        return next(names)
    if isinstance(term, Compound):
        return replace(term, args=tuple(_with_names(arg, names) for arg in term.args))
    return term


def _is_variable(term: Term) -> bool:
    return isinstance(term, Variable)


def pattern_alternatives(pattern: Pattern) -> Iterator[Pattern]:
    """The patterns without `or` that a pattern stands for."""
    if isinstance(pattern, Where) and any(map(is_sliding, pattern.conditions)):
        yield pattern
    elif isinstance(pattern, (Where, Within)):
        yield from (
            replace(pattern, pattern=each) for each in pattern_alternatives(pattern.pattern)
        )
    elif isinstance(pattern, Binary) and pattern.operator == "or":
        yield from pattern_alternatives(pattern.left)
        yield from pattern_alternatives(pattern.right)
    elif isinstance(pattern, Binary):
        for left, right in product(
            pattern_alternatives(pattern.left), pattern_alternatives(pattern.right)
        ):
            yield replace(pattern, left=left, right=right)
    elif isinstance(pattern, Absence):
        for first, last in product(
            pattern_alternatives(pattern.first), pattern_alternatives(pattern.last)
        ):
            yield replace(pattern, first=first, last=last)
    else:
        yield pattern


# -- literals ------------------------------------------------------------------------------------


def _branches(body: tuple[Literal, ...]) -> Iterator[tuple[Literal, ...]]:
    """The bodies without disjunctions that a body stands for."""
    options = [
        [branch for each in literal.branches for branch in _branches(each)]
        if isinstance(literal, Either) else [(literal,)]
        for literal in body
    ]  # fmt: skip
    for chosen in product(*options):
        yield tuple(literal for part in chosen for literal in part)


def _named(literal: Literal, columns: TraceColumns) -> Literal:
    if isinstance(literal, Happens) and not literal.negated:
        return replace(
            literal, event=replace(literal.event, args=columns.named(literal.event.args))
        )
    if isinstance(literal, Boundary) and not literal.negated:
        # What a change leaves open is another thing than what it binds: it keeps what it has.
        return replace(literal, pair=_named_pair(literal.pair, columns))
    return literal


def _named_pair(pair: Pair, columns: TraceColumns) -> Pair:
    *args, held = columns.named((*pair.args, pair.value))
    return replace(pair, args=tuple(args), value=held)


def _part(literal: Literal, columns: TraceColumns) -> TracedPart | None:
    if isinstance(literal, Happens) and not literal.negated:
        event = literal.event
        return TracedPart("happens", event.relation, columns.places(event.args))
    if isinstance(literal, (Boundary, Changes)) and not literal.negated:
        pair = literal.pair
        kind = "initiation" if getattr(literal, "initiates", False) else "termination"
        kind = literal.edge if isinstance(literal, Boundary) else kind
        terms = (*pair.args, pair.value)
        places = tuple(None if _is_open(term) else columns.place(term) for term in terms)
        return TracedPart(kind, pair.relation, places)
    return None


def _binders(literal: Literal) -> Iterator[str]:
    """The variables that a literal gives values."""
    if isinstance(literal, Happens):
        terms: tuple[Term, ...] = () if literal.negated else literal.event.args
    elif isinstance(literal, (Boundary, Holds, Changes)):
        terms = () if literal.negated else (*literal.pair.args, literal.pair.value)
    elif isinstance(literal, Condition):
        terms = () if literal.negated else (literal.goal,)
    else:
        terms = (literal.result,) if hasattr(literal, "result") else ()
    for term in terms:
        yield from (variable.name for variable in variables(term) if variable.name != "_")


def _is_open(term: Term) -> bool:
    return isinstance(term, Variable) and term.name.startswith("_")


def _is_bound(term: Term, bound: set[str]) -> bool:
    if isinstance(term, Variable):
        return term.name in bound
    return is_ground(term)


def _solvable(rule: StaticRule, bound: set[str]) -> Iterator[Condition]:
    """The conditions that a pair of the body gives what they need, with what they bind in turn.

    What another pair of the body binds may be what a condition computes with: without that pair,
    it cannot be decided.
    """
    pairs = (each for each in rule.body if isinstance(each, HoldsFor))
    by_pairs = {name for each in pairs for name in _pair_names(each.pair)} - bound
    waiting = [
        each for each in rule.body
        if isinstance(each, Condition) and not each.negated
        and not by_pairs & {variable.name for variable in variables(each.goal)}
    ]  # fmt: skip
    while True:
        ready = [each for each in waiting if _is_solvable(each.goal, bound)]
        if not ready:
            return
        for each in ready:
            waiting.remove(each)
            bound |= {variable.name for variable in variables(each.goal)}
            yield each


def _pair_names(pair: Pair) -> Iterator[str]:
    for term in (*pair.args, pair.value):
        yield from (variable.name for variable in variables(term))


def _is_solvable(goal: Term, bound: set[str]) -> bool:
    names = {variable.name for variable in variables(goal)}
    if functor(goal)[0] in _COMPUTED:
        return names <= bound
    return bool(names & bound)


def _changes_asked_for(definitions: Definitions) -> set[tuple[str, Relation]]:
    """The fluents all of whose initiations, or terminations, something asks for."""
    wanted_changes = {("initiates", effect.source.relation) for effect in definitions.effects}
    bodies = [rule.body for rule in definitions.changes]
    bodies += [rule.body for rule in definitions.events]
    for literal in (literal for body in bodies for literal in temporal(body)):
        if isinstance(literal, Changes):
            effect = "initiates" if literal.initiates else "terminates"
            wanted_changes.add((effect, literal.pair.relation))
    return wanted_changes


def _with_several_values(definitions: Definitions) -> set[Relation]:
    """The fluents that may have more than one value."""
    pairs = [rule.pair for rule in definitions.changes if rule.initiates]
    pairs += [effect.target for effect in definitions.effects if effect.target is not None]
    pairs += [initial.pair for initial in definitions.initials]
    values: dict[Relation, set[str]] = {}
    for pair in pairs:
        values.setdefault(pair.relation, set()).add(pair.value_name)
    return {relation for relation, names in values.items() if len(names) > 1 or ANY_VALUE in names}


def _sides(rule: StaticRule) -> tuple[set[str], set[str]]:
    """The lists whose points a rule keeps, and those whose points it takes away."""
    kept, removed = {rule.output}, set[str]()
    for literal in reversed(rule.body):
        if isinstance(literal, IntervalOperation):
            first = {"relative_complement_all": 1, "complement_all": 0}.get(literal.operator)
            first = len(literal.inputs) if first is None else first
            both = literal.operator not in ("union_all", "intersect_all") and (
                literal.operator == "allen"
            )
            if literal.output in kept:
                kept.update(literal.inputs[:first])
                removed.update(literal.inputs[first:])
            if literal.output in removed:
                removed.update(literal.inputs[:first])
                kept.update(literal.inputs[first:])
            if both and (literal.output in kept or literal.output in removed):
                kept.update(literal.inputs)
                removed.update(literal.inputs)
    return kept, removed


def trace_event(relation: Relation, args: list[Term], span: Span) -> Event:
    """The head of a trace."""
    term = Compound(relation.name, tuple(args), span)
    return Event(relation, tuple(args), span, term)
