"""Lists and compound terms in arguments and values, taken out of literals and heads.

`holdsAt(best=bid(Q), T)` becomes `holdsAt(best=B, T), B = bid(Q)`, and a head `s([C])` becomes
`s(S)` with `S = [C]` in its body: to take terms apart and to make them is the work of equations, so
that no other pass and no operator meets a variable inside of an argument. The new variable is
called after the term, so that rules still read as they were written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from cernis.check.model import (
    EDGES,
    OPERATORS,
    Boundary,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Definitions,
    DelayedEffect,
    Either,
    Event,
    Grounding,
    Happens,
    Holds,
    HoldsFor,
    InitialRule,
    Literal,
    Pair,
    Postponable,
    Relation,
    StaticLiteral,
    StaticRule,
    Temporal,
    Unless,
)
from cernis.check.rewrites.renaming import rename_in_body, rename_in_pair
from cernis.check.rewrites.rewriting import with_parts
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Compound,
    EventAtom,
    Pattern,
    PatternRule,
    Sequence,
    Term,
    Variable,
    Where,
    functor,
    variables,
)

Entity = TypeVar("Entity", Event, Pair, Event | Pair)


def lift_terms(definitions: Definitions) -> None:
    """Take terms with variables out of the literals and heads of all rules."""
    initiated = _initiated(definitions)
    for index, change in enumerate(definitions.changes):
        if not change.initiates and any(_is_lifted(t, True) for t in _terms(change.pair)):
            values = initiated.get(change.pair.relation, [])
            change = _opened(change, definitions, values)
        lifted = _rule(change.pair, change.body)
        if lifted is not None:
            change = replace(change, pair=lifted[0], body=lifted[1])
        definitions.changes[index] = change
    for index, event in enumerate(definitions.events):
        made = _rule(event.event, event.body)
        if made is not None:
            definitions.events[index] = replace(event, event=made[0], body=made[1])
    definitions.statics[:] = map(_static, definitions.statics)
    definitions.initials[:] = map(_initial, definitions.initials)
    definitions.postponables[:] = map(_postponable, definitions.postponables)
    definitions.groundings[:] = map(_grounding, definitions.groundings)
    definitions.effects[:] = map(_effect, definitions.effects)
    definitions.patterns[:] = map(_pattern_rule, definitions.patterns)


def _is_lifted(term: Term, in_head: bool) -> bool:
    """Is a term made or taken apart? In a head, what looks like arithmetic is a term as well."""
    if not isinstance(term, Compound | Sequence):
        return False
    computes = in_head and functor(term) in FUNCTIONS
    return computes or next(variables(term), None) is not None


@dataclass(slots=True)
class _Lifting:
    """Gives terms of one rule variables, and keeps the equations that say what these are."""

    equations: list[Compound] = field(default_factory=list)
    made: dict[Term, Variable] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def entity(self, entity: Entity, in_head: bool = False) -> Entity:
        """An event or pair whose arguments and value are variables and constants."""
        if isinstance(entity, Event):
            if not any(_is_lifted(arg, in_head) for arg in entity.args):
                return entity
            return replace(entity, args=tuple(self.term(arg, in_head) for arg in entity.args))
        terms = (*entity.args, entity.value)
        if not any(_is_lifted(term, in_head) for term in terms):
            return entity
        *args, value = (self.term(term, in_head) for term in terms)
        return replace(entity, args=tuple(args), value=value)

    def term(self, term: Term, in_head: bool = False) -> Term:
        """A variable in place of a term that has some; anything else as it is."""
        if not _is_lifted(term, in_head):
            return term
        is_open = any(variable.name == "_" for variable in variables(term))
        if term in self.made and not is_open:
            variable = self.made[term]
        else:
            variable = self.made[term] = Variable(self._name(show(term)), term.span)
        self.equations.append(Compound("=", (variable, term), term.span))
        return variable

    def _name(self, text: str) -> str:
        name, number = text, 1
        while name in self._names:
            number += 1
            name = f"{text} {number}"
        self._names.add(name)
        return name

    def taken(self) -> list[Compound]:
        """The equations since the last time."""
        equations, self.equations = list(dict.fromkeys(self.equations)), []
        return equations

    def conditions(self) -> tuple[Condition, ...]:
        """The same as literals."""
        return tuple(Condition(each, False, each.span) for each in self.taken())


# -- rules over time-points ----------------------------------------------------------------------


def _rule(head: Entity, body: tuple[Literal, ...]) -> tuple[Entity, tuple[Literal, ...]] | None:
    lifting = _Lifting()
    literals = _body(body, lifting)
    entity = lifting.entity(head, in_head=True)
    return (entity, literals + lifting.conditions()) if lifting.made else None


# -- terminations that leave a part of a term open -------------------------------------------------


def _terms(pair: Pair) -> tuple[Term, ...]:
    return (*pair.args, pair.value)


def _initiated(definitions: Definitions) -> dict[Relation, list[Term]]:
    """The values that each simple fluent can get, as rules write them."""
    values: dict[Relation, list[Term]] = {}
    pairs = [rule.pair for rule in definitions.changes if rule.initiates]
    pairs += [initial.pair for initial in definitions.initials]
    pairs += [effect.target for effect in definitions.effects if effect.target is not None]
    for pair in pairs:
        values.setdefault(pair.relation, []).append(pair.value)
    return values


def _opened(rule: ChangeRule, definitions: Definitions, initiated: list[Term]) -> ChangeRule:
    """A termination of whatever fits a term, some variables of which the body does not give.

    Where all values that there can be fit, the whole value is open. Else the rule is about what
    holds at its time or what another rule initiates then: to end anything else is nothing.
    """
    bound, pair = _bound(rule.body), rule.pair
    is_open = [_is_lifted(term, True) and any(v.name not in bound for v in variables(term))
               for term in _terms(pair)]  # fmt: skip
    if not any(is_open):
        return rule
    if not any(is_open[:-1]) and all(_covers(pair.value, each, bound) for each in initiated):
        return replace(rule, pair=replace(pair, value=Variable("_", pair.value.span)))
    terms = tuple(
        Variable(f"{show(term)} of {position}", term.span) if left else term
        for position, (term, left) in enumerate(zip(_terms(pair), is_open, strict=True))
    )
    fits = _equations(terms, _terms(pair))
    whole = replace(pair, args=terms[:-1], value=terms[-1])
    branches: list[tuple[Literal, ...]] = [(Holds(whole, False, pair.span), *fits)]
    for number, other in enumerate(definitions.changes):
        if other.initiates and other.pair.relation == pair.relation:
            theirs = _apart(other, f" of rule {number}", rule.time)
            branches.append((*theirs.body, *_equations(terms, _terms(theirs.pair)), *fits))
    return replace(rule, pair=whole, body=(*rule.body, Either(tuple(branches), pair.span)))


def _equations(left: Iterable[Term], right: Iterable[Term]) -> tuple[Condition, ...]:
    pairs = zip(left, right, strict=True)
    made = [Compound("=", each, each[1].span) for each in pairs if each[0] != each[1]]
    return tuple(Condition(each, False, each.span) for each in made)


def _apart(rule: ChangeRule, mark: str, time: str) -> ChangeRule:
    """A rule with variables of its own, but for its time."""

    def rename(variable: Variable) -> Term:
        if variable.name == rule.time:
            return Variable(time, variable.span)
        return variable if variable.name == "_" else Variable(variable.name + mark, variable.span)

    pair, body = rename_in_pair(rule.pair, rename), rename_in_body(rule.body, rename)
    return replace(rule, pair=pair, body=body, time=time)


def _bound(body: Iterable[Literal]) -> set[str]:
    """The variables that literals may give a value."""
    names: set[str] = set()
    for literal in body:
        if isinstance(literal, Happens):
            terms: tuple[Term, ...] = () if literal.negated else literal.event.args
        elif isinstance(literal, Boundary | Holds | Changes):
            terms = () if literal.negated else _terms(literal.pair)
        elif isinstance(literal, Condition):
            terms = () if literal.negated else (literal.goal,)
        elif isinstance(literal, Collect):
            terms = (literal.result, *map(Variable, literal.by))
        else:
            branches = literal.branches if isinstance(literal, Either) else ()
            terms = ()
            names = names.union(*map(_bound, branches))
        names |= {v.name for term in terms for v in variables(term) if v.name != "_"}
    return names


def _covers(pattern: Term, value: Term, bound: set[str]) -> bool:
    """Does every value that a term stands for fit a pattern, whose open variables take anything?"""
    if isinstance(pattern, Variable):
        return pattern.name not in bound
    if isinstance(pattern, Compound) and isinstance(value, Compound):
        if functor(pattern) != functor(value) or _repeats(pattern):
            return False
        pairs = zip(pattern.args, value.args, strict=True)
        return all(_covers(one, other, bound) for one, other in pairs)
    return pattern == value and next(variables(pattern), None) is None


def _repeats(term: Term) -> bool:
    names = [variable.name for variable in variables(term) if variable.name != "_"]
    return len(names) > len(set(names))


# -- literals --------------------------------------------------------------------------------------


def _body(body: Iterable[Literal], lifting: _Lifting) -> tuple[Literal, ...]:
    return tuple(part for literal in body for part in _literal(literal, lifting))


def _literal(literal: Literal, lifting: _Lifting) -> tuple[Literal, ...]:
    if isinstance(literal, Happens):
        event = lifting.entity(literal.event)
        if event is literal.event:
            return (literal,)
        return _temporal(replace(literal, event=event), lifting)
    if isinstance(literal, Boundary | Holds | Changes):
        pair = lifting.entity(literal.pair)
        if pair is literal.pair:
            return (literal,)
        return _temporal(replace(literal, pair=pair), lifting)
    if isinstance(literal, Either):
        branches = tuple(_body(branch, lifting) for branch in literal.branches)
        return (replace(literal, branches=branches),)
    if isinstance(literal, Unless | Collect):
        return (replace(literal, body=_body(literal.body, lifting)),)
    return (literal,)


def _temporal(literal: Temporal, lifting: _Lifting) -> tuple[Literal, ...]:
    if not literal.negated:
        return (literal, *lifting.conditions())
    return (Unless((replace(literal, negated=False), *lifting.conditions()), literal.span),)


# -- rules over intervals, and what goes with rules ----------------------------------------------


def _static(rule: StaticRule) -> StaticRule:
    lifting = _Lifting()
    body: list[StaticLiteral] = []
    for literal in rule.body:
        if isinstance(literal, HoldsFor):
            body.append(replace(literal, pair=lifting.entity(literal.pair)))
            body += lifting.conditions()
        else:
            body.append(literal)
    pair = lifting.entity(rule.pair, in_head=True)
    if not lifting.made:
        return rule
    return replace(rule, pair=pair, body=(*body, *lifting.conditions()))


def _initial(rule: InitialRule) -> InitialRule:
    lifting = _Lifting()
    pair = lifting.entity(rule.pair, in_head=True)
    if not lifting.made:
        return rule
    return replace(rule, pair=pair, goals=(*rule.goals, *lifting.taken()))


def _postponable(rule: Postponable) -> Postponable:
    lifting = _Lifting()
    pair = lifting.entity(rule.pair)
    goals = (*lifting.taken(), *rule.goals)
    return replace(rule, pair=pair, goals=goals) if lifting.made else rule


def _grounding(rule: Grounding) -> Grounding:
    lifting = _Lifting()
    entity = lifting.entity(rule.entity)
    return (
        replace(rule, entity=entity, goals=(*rule.goals, *lifting.taken()))
        if lifting.made
        else rule
    )


def _effect(effect: DelayedEffect) -> DelayedEffect:
    """The arguments only: the values of an effect are constants."""
    lifting = _Lifting()
    args = tuple(map(lifting.term, effect.source.args))
    if not lifting.made:
        return effect
    source = replace(effect.source, args=args)
    target = None if effect.target is None else replace(effect.target, args=args)
    goals = (*lifting.taken(), *effect.goals)
    return replace(effect, source=source, target=target, goals=goals)


# -- patterns ------------------------------------------------------------------------------------


def _pattern_rule(rule: PatternRule) -> PatternRule:
    lifting = _Lifting()
    pattern = _pattern(rule.pattern, lifting)
    head = _made(rule.head, lifting)
    if not lifting.made:
        return rule
    equations = tuple(lifting.taken())
    return PatternRule(head, _with(pattern, equations), rule.span)


def _pattern(pattern: Pattern, lifting: _Lifting) -> Pattern:
    if isinstance(pattern, EventAtom):
        atom = replace(pattern, term=_atom(pattern.term, lifting))
        equations = tuple(lifting.taken())
        return _with(atom, equations) if equations else pattern
    return with_parts(pattern, lambda part: _pattern(part, lifting))


def _with(pattern: Pattern, equations: tuple[Compound, ...]) -> Pattern:
    return Where(pattern, equations, pattern.span) if equations else pattern


def _atom(term: Term, lifting: _Lifting) -> Term:
    """An event, a fluent with its value, or the start or end of one."""
    if functor(term) == ("=", 2) and isinstance(term, Compound):
        fluent, value = term.args
        return replace(term, args=(_arguments(fluent, lifting), lifting.term(value)))
    is_edge = functor(term) in EDGES
    if is_edge and isinstance(term, Compound) and functor(term.args[0]) == ("=", 2):
        return replace(term, args=(_atom(term.args[0], lifting),))
    return _arguments(term, lifting)


def _arguments(term: Term, lifting: _Lifting) -> Term:
    """A term whose nested functors are part of its name: only what is an argument is lifted."""
    if not isinstance(term, Compound):
        return term
    args = tuple(
        _arguments(arg, lifting)
        if isinstance(arg, Compound) and arg.functor not in OPERATORS
        else lifting.term(arg)
        for arg in term.args
    )
    return replace(term, args=args)


def _made(term: Term, lifting: _Lifting) -> Term:
    """The head of a pattern, in which arithmetic is computed."""
    if not isinstance(term, Compound):
        return term
    args: list[Term] = []
    for arg in term.args:
        if isinstance(arg, Compound) and functor(arg) in FUNCTIONS:
            args.append(arg)
        elif isinstance(arg, Compound) and arg.functor not in OPERATORS:
            args.append(_made(arg, lifting))
        else:
            args.append(lifting.term(arg))
    return replace(term, args=tuple(args))
