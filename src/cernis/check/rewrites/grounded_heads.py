"""What grounding says inside rules: open variables of heads, and `grounding(F=V)` as a goal.

A variable of a head that nothing in the body binds ranges over the instances of its fluent. Where
the body speaks of it too, in a negation or a comparison, where it is the value that is initiated,
and in `initially`, the goals of the grounding rules that bind it become conditions of the rule. A
rule for a statically determined fluent, or for what holds initially, that no grounding rule is
about, and whose head has an open variable, says nothing of anybody: it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias, TypeVar

from cernis.check.clause_parts import pair_of, show_fluent
from cernis.check.goal_checks import Binder, Modes, named
from cernis.check.model import (
    Boundary,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Definitions,
    DelayedEffect,
    Either,
    Grounding,
    Happens,
    Holds,
    HoldsFor,
    InitialRule,
    Literal,
    Pair,
    Postponable,
    StaticRule,
)
from cernis.check.reporter import Report
from cernis.check.rewrites.renaming import terms_in
from cernis.check.rewrites.rewriting import renamed
from cernis.syntax.tree import Atom, Compound, Term, Variable, functor, variables

Goals: TypeAlias = tuple[Term, ...]


def bind_by_grounding(definitions: Definitions, modes: Modes, report: Report) -> None:
    """Write the conditions that grounding adds to rules into the rules."""
    groundings = _by_fluent(definitions.groundings)
    definitions.changes = [
        each for rule in definitions.changes
        for each in _change(rule, groundings, modes)
    ]  # fmt: skip
    definitions.statics = [
        each for rule in definitions.statics for each in _static(rule, groundings, modes, report)
    ]
    initials = _asking(definitions.initials, groundings, report)
    definitions.initials = [
        each for rule in initials for each in _initial(rule, groundings, modes, report)
    ]
    definitions.effects = _asking(definitions.effects, groundings, report)
    definitions.postponables = _asking(definitions.postponables, groundings, report)


_ByFluent: TypeAlias = dict[object, list[Grounding]]


def _by_fluent(groundings: Iterable[Grounding]) -> _ByFluent:
    by_fluent: _ByFluent = {}
    for grounding in groundings:
        if isinstance(grounding.entity, Pair):
            by_fluent.setdefault(grounding.entity.relation, []).append(grounding)
    return by_fluent


# -- open variables of heads -----------------------------------------------------------------


def _change(rule: ChangeRule, groundings: _ByFluent, modes: Modes) -> Iterator[ChangeRule]:
    grounding_rules = groundings.get(rule.pair.relation, [])
    if not grounding_rules:
        yield rule
        return
    pair, bound = rule.pair, bound_by(rule.body, modes, {rule.time})
    needed = named(_terms(pair)) & named(terms_in(rule.body))
    if rule.initiates and named([pair.value]) - bound:
        # What is initiated has a value: one that grounding allows for its arguments.
        rule = replace(rule, pair=_with_names(pair))
        pair, needed = rule.pair, needed | named(_terms(rule.pair))
    missing = needed - bound
    if not missing:
        yield rule
        return
    for goals in _instances(pair, grounding_rules, with_value=bool(missing & named([pair.value]))):
        added = tuple(Condition(goal, False, rule.span) for goal in goals)
        yield replace(rule, body=(*rule.body, *added))


def bound_by(body: tuple[Literal, ...], modes: Modes, known: set[str]) -> set[str]:
    """The variables that the positive literals and goals of a body bind, and those known before.

    The time of a rule is known: a goal may compute with it.
    """
    positive = [each for each in body if not getattr(each, "negated", False)]
    over_time = [each for each in positive if isinstance(each, (Happens, Boundary, Holds, Changes))]
    bound = known | named(terms_in(over_time))
    bound |= named(each.result for each in positive if isinstance(each, Collect))
    for each in positive:
        if isinstance(each, Either):
            bound |= set.intersection(*(bound_by(branch, modes, known) for branch in each.branches))
    binder = Binder(modes, bound)
    binder.run([each.goal for each in positive if isinstance(each, Condition)])
    return binder.bound


def _static(
    rule: StaticRule, groundings: _ByFluent, modes: Modes, report: Report
) -> Iterator[StaticRule]:
    about = [
        each for each in groundings.get(rule.pair.relation, [])
        if _matches(rule.pair, each, with_value=True) is not None
    ]  # fmt: skip
    bound: set[str] = set()
    for literal in rule.body:
        if isinstance(literal, HoldsFor):
            bound |= named([*literal.pair.args, literal.pair.value])
    goals = [each.goal for each in rule.body if isinstance(each, Condition) and not each.negated]
    open_ones = _open(rule.pair, goals, bound, modes)
    if not open_ones or about:
        yield rule
        return
    _leave_out(rule.pair, open_ones[0], report)


def _leave_out(pair: Pair, variable: Variable, report: Report) -> None:
    report.warn(
        "C030", f"nothing says which {variable.name} this rule is about, so it is left out",
        variable.span,
        help=f"say what it ranges over: grounding({show_fluent(pair)}=...) :- ...",
    )  # fmt: skip


def _open(pair: Pair, goals: Iterable[Term], bound: set[str], modes: Modes) -> list[Variable]:
    """The variables of a head that the goals of a body, and what else it has, do not bind."""
    binder = Binder(modes, set(bound))
    binder.run(goals)
    return [v for term in _terms(pair) for v in variables(term) if v.name not in binder.bound]


def _initial(
    rule: InitialRule, groundings: _ByFluent, modes: Modes, report: Report
) -> Iterator[InitialRule]:
    """What holds initially of the instances that the grounding rules of any value allow."""
    open_ones = _open(rule.pair, rule.goals, set(), modes)
    if not open_ones:
        yield rule
        return
    grounding_rules = groundings.get(rule.pair.relation, [])
    if not grounding_rules:
        _leave_out(rule.pair, open_ones[0], report)
        return
    pair, names = _with_names(rule.pair), {variable.name for variable in open_ones}
    has_open_value = any(variable.name in names for variable in variables(rule.pair.value))
    options = list(_instances(pair, grounding_rules, has_open_value))
    # One rule, and not one for each option: a probability is that of an instance.
    if options:
        yield replace(rule, pair=pair, goals=(*rule.goals, *_either(options)))


def _with_names(pair: Pair) -> Pair:
    """The pair with a name for each variable that has none."""
    terms = [
        Variable(f"_any {position}", term.span) if term == _UNNAMED else term
        for position, term in enumerate(_terms(pair))
    ]
    return replace(pair, args=tuple(terms[:-1]), value=terms[-1])


_UNNAMED = Variable("_")


def _either(options: list[Goals]) -> Goals:
    """Goals that hold where those of any option do."""
    if len(options) == 1:
        return options[0]
    each = tuple(map(_conjunction, options))
    return (Compound(";", each, each[0].span),)


def _conjunction(goals: Goals) -> Term:
    if not goals:
        return Atom("true")
    return goals[0] if len(goals) == 1 else Compound(",", goals, goals[0].span)


def _terms(pair: Pair) -> tuple[Term, ...]:
    return (*pair.args, pair.value)


# -- grounding as a goal ---------------------------------------------------------------------

_Asking = TypeVar("_Asking", InitialRule, DelayedEffect, Postponable)


def _asking(rules: Iterable[_Asking], groundings: _ByFluent, report: Report) -> list[_Asking]:
    """Rules with the goals of grounding rules in place of `grounding(F=V)`."""
    return [
        replace(rule, goals=goals)
        for rule in rules
        for goals in _alternatives(rule.goals, groundings, report)
    ]


def _alternatives(goals: Goals, groundings: _ByFluent, report: Report) -> list[Goals]:
    alternatives: list[Goals] = [()]
    for goal in goals:
        options = _options(goal, groundings, report)
        alternatives = [(*before, *option) for before in alternatives for option in options]
    return alternatives


def _options(goal: Term, groundings: _ByFluent, report: Report) -> list[Goals]:
    if functor(goal) != ("grounding", 1):
        return [(goal,)]
    assert isinstance(goal, Compound)
    pair = pair_of(goal.args[0], report, "grounding")
    grounding_rules = groundings.get(pair.relation, []) if pair is not None else []
    # A fluent without grounding rules is not restricted.
    return (
        list(_instances(pair, grounding_rules, with_value=True))
        if pair is not None and grounding_rules
        else [()]
    )


def _instances(pair: Pair, groundings: Iterable[Grounding], with_value: bool) -> Iterator[Goals]:
    """The goals by which each grounding rule allows instances of a pair, those that differ."""
    options = (_matches(pair, grounding, with_value) for grounding in groundings)
    return iter(dict.fromkeys(goals for goals in options if goals is not None))


def _matches(pair: Pair, grounding: Grounding, with_value: bool) -> Goals | None:
    """The goals of a grounding rule about the variables of a pair; None if it is about others."""
    entity = grounding.entity
    assert isinstance(entity, Pair)
    theirs = (*entity.args, entity.value) if with_value else entity.args
    ours = (*pair.args, pair.value) if with_value else pair.args
    meant: dict[str, Term] = {}
    goals: list[Term] = []
    for term, mine in zip(theirs, ours, strict=True):
        if isinstance(term, Variable) and term.name not in meant:
            if term.name != "_":
                meant[term.name] = mine
            continue
        same = meant[term.name] if isinstance(term, Variable) else term
        if isinstance(mine, Variable) or isinstance(same, Variable):
            goals.append(Compound("=", (mine, same), grounding.span))
        elif mine != same:
            return None

    def rename(variable: Variable) -> Term:
        # What only the grounding rule speaks of must not meet a variable of the rule.
        local = Variable(f"{variable.name} of grounding", variable.span)
        return variable if variable.name == "_" else meant.get(variable.name, local)

    return (*goals, *(renamed(goal, rename) for goal in grounding.goals))
