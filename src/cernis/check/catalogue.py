"""The events and fluents of a program: what each is, where it is defined and used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cernis.check.model import (
    ANY_VALUE,
    EDGES,
    Boundary,
    ChangeRule,
    Changes,
    Definitions,
    Event,
    FluentKind,
    Happens,
    Holds,
    HoldsFor,
    InputShape,
    Pair,
    Relation,
    flatten,
    temporal,
)
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS
from cernis.source import Span
from cernis.syntax.tree import (
    Absence,
    Atom,
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
)


@dataclass(slots=True)
class EventEntry:
    """An event of the program."""

    relation: Relation
    definitions: list[Event] = field(default_factory=list)
    uses: list[Event] = field(default_factory=list)
    declaration: Event | None = None
    grounded: bool = False

    @property
    def is_input(self) -> bool:
        """Does no rule define it?"""
        return not self.definitions

    @property
    def argument_names(self) -> tuple[str, ...]:
        """A name for each argument, from the rules' variables."""
        return _argument_names(self.relation, [*self.definitions, *self.uses])

    @property
    def declared_names(self) -> tuple[str, ...]:
        """The names that a declaration gives to the arguments; empty where it gives none."""
        if self.declaration is None:
            return ("",) * self.relation.arity
        return _names_in(self.declaration.args)

    @property
    def agreed_names(self) -> tuple[str, ...]:
        """The names that all rules agree on; empty for an argument of which they do not."""
        places = [place.args for place in (*self.definitions, *self.uses)]
        return agreed_names(self.relation.arity, places)


@dataclass(slots=True)
class FluentEntry:
    """A fluent of the program."""

    relation: Relation
    initiated: list[Pair] = field(default_factory=list)
    terminated: list[Pair] = field(default_factory=list)
    determined: list[Pair] = field(default_factory=list)
    initially: list[Pair] = field(default_factory=list)
    delayed: list[Pair] = field(default_factory=list)
    uses: list[Pair] = field(default_factory=list)
    declaration: Pair | None = None
    grounded: bool = False
    shape: InputShape = InputShape.UNSAID

    @property
    def kind(self) -> FluentKind:
        """Simple if anything changes it by events, else by what defines it."""
        if self.initiated or self.terminated or self.initially or self.delayed:
            return FluentKind.SIMPLE
        return FluentKind.STATIC if self.determined else FluentKind.INPUT

    @property
    def defined(self) -> list[Pair]:
        """All pairs that some rule makes hold."""
        return [*self.initiated, *self.determined, *self.initially, *self.delayed]

    @property
    def values(self) -> tuple[str, ...]:
        """The values the rules give it, in order; `*` where a variable does."""
        pairs = self.defined or self.uses
        return tuple(dict.fromkeys(pair.value_name for pair in pairs))

    @property
    def argument_names(self) -> tuple[str, ...]:
        """A name for each argument, from the rules' variables."""
        return _argument_names(self.relation, [*self.defined, *self.uses])

    @property
    def declared_names(self) -> tuple[str, ...]:
        """The names that a declaration gives to the value and the arguments; empty where none."""
        if self.declaration is None:
            return ("",) * (1 + self.relation.arity)
        return _names_in((self.declaration.value, *self.declaration.args))

    @property
    def agreed_names(self) -> tuple[str, ...]:
        """The names of the value and the arguments that all rules agree on; empty where not."""
        places = [(place.value, *place.args) for place in (*self.defined, *self.uses)]
        return agreed_names(1 + self.relation.arity, places)


def _argument_names(relation: Relation, places: Iterable[Event | Pair]) -> tuple[str, ...]:
    names: list[str] = [""] * relation.arity
    for place in places:
        for position, arg in enumerate(place.args):
            if not names[position] and isinstance(arg, Variable) and arg.name.strip("_"):
                names[position] = arg.name.lstrip("_")
    taken: set[str] = set()
    for position, name in enumerate(names):
        names[position] = name if name and name not in taken else f"{name or 'Arg'}{position + 1}"
        taken.add(names[position])
    return tuple(names)


def _names_in(args: Iterable[Term]) -> tuple[str, ...]:
    """The names in arguments of a declaration such as `speed:float`; a variable is one, too."""
    return tuple(_name_in(arg) for arg in args)


def _name_in(arg: Term) -> str:
    if isinstance(arg, Compound) and arg.functor == ":" and len(arg.args) == 2:
        arg = arg.args[0]
        if isinstance(arg, Atom):
            return arg.name
    return arg.name.lstrip("_") if isinstance(arg, Variable) else ""


def agreed_names(width: int, places: Iterable[tuple[Term, ...]]) -> tuple[str, ...]:
    """The one name of the variables in each place, unless it is also used in another place."""
    names: list[dict[str, str]] = [{} for _ in range(width)]
    for place in places:
        for position, arg in enumerate(place):
            if isinstance(arg, Variable) and arg.name.strip("_"):
                name = arg.name.lstrip("_")
                names[position].setdefault(name.casefold(), name)
    uses = Counter(folded for spellings in names for folded in spellings)
    return tuple(
        next(iter(spellings.values()))
        if len(spellings) == 1 and uses[next(iter(spellings))] == 1
        else ""
        for spellings in names
    )


@dataclass(slots=True)
class Catalogue:
    """All events and fluents, in the order they are met."""

    events: dict[Relation, EventEntry] = field(default_factory=dict)
    fluents: dict[Relation, FluentEntry] = field(default_factory=dict)

    def event(self, relation: Relation) -> EventEntry:
        """The entry of an event, made if there is none."""
        return self.events.setdefault(relation, EventEntry(relation))

    def fluent(self, relation: Relation) -> FluentEntry:
        """The entry of a fluent, made if there is none."""
        return self.fluents.setdefault(relation, FluentEntry(relation))


def catalogue(definitions: Definitions) -> Catalogue:
    """Enter every definition, use and declaration."""
    entries = Catalogue()
    _enter_rules(definitions, entries)
    for rule in definitions.patterns:
        head = pattern_head(rule)
        entries.event(head.relation).definitions.append(head)
        for use in pattern_uses(rule.pattern):
            _use(use, entries)
    for relation, event in definitions.declared_events.items():
        entries.event(relation).declaration = event
    for relation, pair in definitions.declared_fluents.items():
        entries.fluent(relation).declaration = pair
    for relation, shape in definitions.shapes.items():
        entries.fluent(relation).shape = shape
    for grounding in definitions.groundings:
        _ground(grounding.entity, entries)
    return entries


def _enter_rules(definitions: Definitions, entries: Catalogue) -> None:
    for rule in definitions.changes:
        _enter_change(rule, entries)
    for event_rule in definitions.events:
        entries.event(event_rule.event.relation).definitions.append(event_rule.event)
    for static in definitions.statics:
        entries.fluent(static.pair.relation).determined.append(static.pair)
    for initial in definitions.initials:
        entries.fluent(initial.pair.relation).initially.append(initial.pair)
    for effect in definitions.effects:
        target = effect.target
        if target is not None:
            entries.fluent(target.relation).delayed.append(target)
    bodies = [rule.body for rule in definitions.changes]
    for body in (*bodies, *(rule.body for rule in definitions.events)):
        for literal in temporal(body):
            _use(literal, entries)
    for static in definitions.statics:
        for goal in static.body:
            if isinstance(goal, HoldsFor):
                entries.fluent(goal.pair.relation).uses.append(goal.pair)


def _enter_change(rule: ChangeRule, entries: Catalogue) -> None:
    entry = entries.fluent(rule.pair.relation)
    (entry.initiated if rule.initiates else entry.terminated).append(rule.pair)


def _use(use: Happens | Boundary | Holds | Changes | Event | Pair, entries: Catalogue) -> None:
    if isinstance(use, (Happens, Event)):
        event = use.event if isinstance(use, Happens) else use
        entries.event(event.relation).uses.append(event)
    else:
        pair = use if isinstance(use, Pair) else use.pair
        entries.fluent(pair.relation).uses.append(pair)


def _ground(entity: Event | Pair, entries: Catalogue) -> None:
    # A grounding makes a name known; whether it is one of an event or a fluent it says itself.
    if isinstance(entity, Event):
        entries.event(entity.relation).grounded = True
    else:
        entries.fluent(entity.relation).grounded = True


# -- patterns --------------------------------------------------------------------------------


def pattern_head(rule: PatternRule) -> Event:
    """The event a pattern rule defines; its arguments may be computed."""
    relation, args = flatten(rule.head, FUNCTIONS)
    return Event(relation, args, rule.head.span, rule.head)


def pattern_uses(pattern: Pattern) -> Iterator[Event | Pair | Boundary]:
    """The events and fluents a pattern speaks of."""
    if isinstance(pattern, EventAtom):
        yield pattern_atom(pattern.term, pattern.span)
    for part in pattern_parts(pattern):
        yield from pattern_uses(part)


def joined_uses(
    pattern: Pattern, is_joined: bool = False
) -> Iterator[tuple[Event | Pair | Boundary, bool]]:
    """As `pattern_uses`, each with whether it is joined with something else."""
    if isinstance(pattern, EventAtom):
        yield pattern_atom(pattern.term, pattern.span), is_joined
    joins = isinstance(pattern, Absence) or (
        isinstance(pattern, Binary) and pattern.operator != "or"
    )
    for part in pattern_parts(pattern):
        yield from joined_uses(part, is_joined or joins)


def pattern_parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns that a pattern is made of directly."""
    if isinstance(pattern, (Where, Within)):
        return (pattern.pattern,)
    if isinstance(pattern, Binary):
        return pattern.left, pattern.right
    return (pattern.absent, pattern.first, pattern.last) if isinstance(pattern, Absence) else ()


def pattern_atom(term: Term, span: Span) -> Event | Pair | Boundary:
    """What one atom of a pattern is: an event, a fluent's intervals, or their start or end."""
    name = functor(term)
    if name == ("=", 2):
        return _pair(term, span)
    if name in EDGES and isinstance(term, Compound):
        inner = term.args[0]
        if functor(inner) == ("=", 2):
            return Boundary(EDGES[name], _pair(inner, span), False, span)
    relation, args = flatten(term)
    return Event(relation, args, span, term)


def _pair(term: Term, span: Span) -> Pair:
    assert isinstance(term, Compound)
    relation, args = flatten(term.args[0])
    return Pair(relation, args, term.args[1], span, term)


def covers(values: Iterable[str], value: str) -> bool:
    """May a fluent that takes these values take that one?"""
    known = set(values)
    return value == ANY_VALUE or ANY_VALUE in known or value in known
