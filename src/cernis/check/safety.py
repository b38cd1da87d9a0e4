"""Safety: every variable of a head, a negation or a comparison gets a value from somewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from cernis.check.clause_parts import show_fluent
from cernis.check.goal_checks import Binder, Modes, Needs, named
from cernis.check.model import (
    Boundary,
    ChangeRule,
    Changes,
    Collect,
    Condition,
    Definitions,
    Either,
    Event,
    EventRule,
    Happens,
    Holds,
    HoldsFor,
    IntervalFilter,
    IntervalOperation,
    Literal,
    NotEmpty,
    Pair,
    Relation,
    StaticRule,
    Unless,
)
from cernis.check.pointrules import speaks_of_time
from cernis.check.reporter import Report
from cernis.check.rewrites.renaming import terms_in
from cernis.check.rewrites.sliding_conditions import is_sliding
from cernis.check.rewrites.validity import END, START
from cernis.knowledge.scope import asked_names
from cernis.source import Span
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Absence,
    Binary,
    Clause,
    Compound,
    EventAtom,
    Item,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    Within,
    functor,
    variables,
)


def check_safety(definitions: Definitions, modes: Modes, report: Report) -> None:
    """Report the unsafe variables of all rules over time."""
    grounded = {grounding.entity.relation for grounding in definitions.groundings}
    for change in definitions.changes:
        _change(change, modes, grounded, report)
    for event in definitions.events:
        _event(event, modes, report)
    for static in definitions.statics:
        _static(static, modes, grounded, report)
    for initial in definitions.initials:
        bound = _background(initial.goals, set(), modes, report)
        _head(initial.pair, bound, report, "bind it in the body, or by each grounding rule")
    for effect in definitions.effects:
        pairs = [effect.source, *([effect.target] if effect.target else [])]
        bound = _background(effect.goals, _names(*pairs), modes, report)
        _demand(effect.delay, bound, "the delay", report)
    for pattern in definitions.patterns:
        _pattern(pattern, modes, report)


def _names(*pairs: Pair | Event) -> set[str]:
    names: set[str] = set()
    for pair in pairs:
        names |= named(pair.args)
        if isinstance(pair, Pair):
            names |= named([pair.value])
    return names


def _change(rule: ChangeRule, modes: Modes, grounded: set[Relation], report: Report) -> None:
    bound = _body(rule.body, {rule.time}, modes, report)
    # Arguments that the body does not speak of range over the instances there are. A value has
    # no such range.
    if rule.initiates and rule.pair.relation not in grounded:
        advice = (
            f"bind it in the body, or say what it ranges over by grounding("
            f"{show_fluent(rule.pair)}={show(rule.pair.value)}) :- ..."
        )
        free = named(rule.pair.args) - named(terms_in(rule.body))
        _head(rule.pair, (bound | free | {"_"}) - named([rule.pair.value]) | bound, report, advice)


def _event(rule: EventRule, modes: Modes, report: Report) -> None:
    bound = _body(rule.body, {rule.time}, modes, report)
    _head(rule.event, bound, report, "bind it in the body")


def _head(head: Pair | Event, bound: set[str], report: Report, advice: str) -> None:
    terms = [*head.args, *([head.value] if isinstance(head, Pair) else [])]
    for term in terms:
        for variable in variables(term):
            if variable.name not in bound:
                _unsafe_head(variable, report, advice)


def _unsafe_head(variable: Term, report: Report, advice: str) -> None:
    report.error(
        "C030", f"nothing in the body gives {show(variable)} a value", variable.span, help=advice
    )


# -- bodies over time-points -----------------------------------------------------------------

_DEEPEST: Final = 8
"""How deep inside of disjunctions, negations and collections a body is looked at twice."""


def _body(
    body: Sequence[Literal], bound: set[str], modes: Modes, report: Report, depth: int = 0
) -> set[str]:
    """The variables a body binds; unsafe ones are reported.

    What stands inside of a literal may need what stands beside it, and the other way round: so
    the inside is looked at twice, where there is more than one of them. Very deep inside, where
    that would never end, it is once.
    """
    bound = bound | _positive(body)
    goals = [
        literal.goal for literal in body if isinstance(literal, Condition) and not literal.negated
    ]
    insides = [literal for literal in body if isinstance(literal, (Either, Collect))]
    if insides and len(insides) + len(goals) > 1 and depth < _DEEPEST:
        bound = _inside(body, bound, modes, Report(), depth)
    bound = _background(goals, bound, modes, report)
    bound = _inside(body, bound, modes, report, depth)
    for literal in body:
        _negative(literal, bound, modes, report, depth)
    return bound


def _positive(body: Iterable[Literal]) -> set[str]:
    bound: set[str] = set()
    for literal in body:
        if isinstance(literal, Happens) and not literal.negated:
            bound |= _names(literal.event)
        elif isinstance(literal, (Boundary, Holds, Changes)) and not literal.negated:
            bound |= _names(literal.pair)
    return bound


def _inside(
    body: Iterable[Literal], bound: set[str], modes: Modes, report: Report, depth: int
) -> set[str]:
    """What disjunctions and collections bind, after what stands beside them."""
    for literal in body:
        if isinstance(literal, Either):
            branches = [
                _body(branch, bound, modes, report, depth + 1) for branch in literal.branches
            ]
            bound = bound | set.intersection(*branches)
        elif isinstance(literal, Collect):
            inside = _body(literal.body, bound, modes, report, depth + 1)
            _collected(literal, inside, report)
            bound = bound | named([literal.result]) | set(literal.by)
    return bound


def _collected(literal: Collect, bound: set[str], report: Report) -> None:
    """What a collection lists must have a value in each of its answers."""
    for variable in variables(literal.template):
        if variable.name not in bound and variable.name != "_":
            report.error(
                "C032", f"{show(literal.template)} needs a value for {variable.name}, and nothing "
                "in the collection gives one", variable.span,
                help="bind it by a literal inside of the collection",
            )  # fmt: skip


def _negative(literal: Literal, bound: set[str], modes: Modes, report: Report, depth: int) -> None:
    if isinstance(literal, (Happens, Holds, Boundary, Changes)) and literal.negated:
        entity = literal.event if isinstance(literal, Happens) else literal.pair
        _all_bound(entity.term, bound, report)
    elif isinstance(literal, Condition) and literal.negated:
        _all_bound(literal.goal, bound | _local(literal.goal), report)
    elif isinstance(literal, Unless):
        _body(literal.body, bound, modes, report, depth + 1)


def _local(goal: Term) -> set[str]:
    """Variables that a conjunction or disjunction under a negation keeps to itself."""
    if isinstance(goal, Compound) and goal.functor in (",", ";"):
        counts = Counter(v.name for v in variables(goal))
        return {name for name, count in counts.items() if count > 1}
    return named([goal]) - asked_names(goal)


def _all_bound(term: Term, bound: set[str], report: Report) -> None:
    for variable in variables(term):
        if variable.name not in bound and not variable.name.startswith("_"):
            report.error(
                "C031",
                f"{variable.name} stands in a negation, and nothing gives it a value",
                variable.span,
                help="bind it by a positive literal, or write "
                f"_{variable.name} if any value will do",
            )


def _background(goals: Iterable[Term], bound: set[str], modes: Modes, report: Report) -> set[str]:
    binder = Binder(modes, set(bound))
    binder.run(goals)
    for goal, missing in binder.culprits():
        _stuck(goal, missing, report)
    return binder.bound


def _stuck(goal: Term, missing: set[str], report: Report) -> None:
    spans: dict[str, Span] = {}
    for variable in variables(goal):
        spans.setdefault(variable.name, variable.span)
    for name in sorted(missing):
        report.error(
            "C032", f"{show(goal)} needs a value for {name}, and nothing gives one",
            spans.get(name, goal.span), help="bind it by an event, a fluent or a fact",
        )  # fmt: skip


def _demand(term: Term, bound: set[str], demander: str, report: Report) -> None:
    for variable in variables(term):
        if variable.name not in bound:
            report.error("C032", f"{demander} needs a value for {variable.name}", variable.span,
                         help="compute it in the body")  # fmt: skip


# -- bodies over intervals -------------------------------------------------------------------


def _static(rule: StaticRule, modes: Modes, grounded: set[Relation], report: Report) -> None:
    bound: set[str] = set()
    goals: list[Term] = []
    for literal in rule.body:
        if isinstance(literal, HoldsFor):
            bound |= _names(literal.pair)
        elif isinstance(literal, Condition) and not literal.negated:
            goals.append(literal.goal)
    is_grounded = rule.pair.relation in grounded
    bound = _background(goals, bound | (_names(rule.pair) if is_grounded else set()), modes, report)
    for literal in rule.body:
        if isinstance(literal, Condition) and literal.negated:
            _all_bound(literal.goal, bound | _local(literal.goal), report)
        elif isinstance(literal, IntervalOperation):
            for parameter in literal.parameters:
                _demand(parameter, bound, literal.operator, report)
            if literal.filter is not None:
                _filter(literal.filter, bound, modes, report)
        else:
            assert isinstance(literal, (HoldsFor, NotEmpty, Condition))
    if not is_grounded:
        _head(rule.pair, bound, report, "bind it in the body, or add a grounding rule")


def _filter(picks: IntervalFilter, bound: set[str], modes: Modes, report: Report) -> None:
    positive = [each.goal for each in picks.conditions if not each.negated]
    inside = _background(positive, bound | picks.bounds, modes, report)
    for each in picks.conditions:
        if each.negated:
            _all_bound(each.goal, inside | _local(each.goal), report)


# -- patterns --------------------------------------------------------------------------------


def _pattern(rule: PatternRule, modes: Modes, report: Report) -> None:
    bound = _pattern_binds(rule.pattern, modes, report)
    for variable in variables(rule.head):
        if variable.name not in bound:
            _unsafe_head(variable, report, "bind it in the pattern, or compute it after where")


def _pattern_binds(
    pattern: Pattern, modes: Modes, report: Report, outer: frozenset[str] = frozenset()
) -> set[str]:
    """The variables a pattern gives values, each `where` checked against its own pattern.

    Of what must be absent, conditions may also speak of what is around it, `outer`.
    """
    if isinstance(pattern, EventAtom):
        return named([pattern.term])
    if isinstance(pattern, Within):
        return _pattern_binds(pattern.pattern, modes, report, outer)
    if isinstance(pattern, Where):
        bound = _pattern_binds(pattern.pattern, modes, report, outer)
        goals = [goal for goal in pattern.conditions if not speaks_of_time(goal)]
        known = bound | outer | {START, END}
        for goal in filter(is_sliding, goals):
            known |= _aggregate(goal, known, report)
        rest = [goal for goal in goals if not is_sliding(goal)]
        return _background(rest, known, modes, report)
    if isinstance(pattern, Absence):
        first = _pattern_binds(pattern.first, modes, report)
        around = first | _pattern_binds(pattern.last, modes, report)
        _pattern_binds(pattern.absent, modes, report, frozenset(around))
        return around
    if isinstance(pattern, Binary):
        left = _pattern_binds(pattern.left, modes, report)
        right = _pattern_binds(pattern.right, modes, report)
        return left & right if pattern.operator == "or" else left | right
    return set()


def _aggregate(goal: Term, bound: set[str], report: Report) -> set[str]:
    """What an aggregate over a window gives a value; the rest of it must have one."""
    assert isinstance(goal, Compound)
    result, source = goal.args
    missing = named([source]) - bound
    if missing:
        _stuck(goal, missing, report)
    return named([result])


# -- background clauses ----------------------------------------------------------------------


def check_clauses(
    clauses: Iterable[Clause], modes: Modes, reached: set[Relation], report: Report
) -> None:
    """Report goals of background clauses that can never run; a warning if nothing reaches them."""
    for clause in clauses:
        if not clause.body:
            continue
        relation = Relation(*functor(clause.head))
        args = clause.head.args if isinstance(clause.head, Compound) else ()
        needs: Needs = modes.get(relation, frozenset())
        positions = {position for group in needs for position in group}
        binder = Binder(
            modes, named(args[position] for position in positions if position < len(args))
        )
        binder.run(clause.body)
        for goal, missing in binder.culprits():
            _stuck_clause(goal, missing, relation, relation in reached, report)


def _stuck_clause(
    goal: Term, missing: set[str], relation: Relation, reached: bool, report: Report
) -> None:
    say = report.error if reached else report.warn
    say(
        "C032", f"in {relation}, {show(goal)} needs a value for {', '.join(sorted(missing))}",
        goal.span, help="bind it by a positive goal",
    )  # fmt: skip


# -- variables that stand alone --------------------------------------------------------------


def check_singletons(items: Iterable[Item], report: Report) -> None:
    """Warn of variables that occur once: often a slip, else better written with `_` in front."""
    for item in items:
        counts: Counter[str] = Counter()
        spans: dict[str, Span] = {}
        for variable in _item_variables(item):
            counts[variable.name] += 1
            spans.setdefault(variable.name, variable.span)
        for name, count in counts.items():
            if count == 1 and not name.startswith("_"):
                report.warn("C035", f"{name} occurs only once in this clause", spans[name],
                            help=f"write _{name} if that is meant")  # fmt: skip


def _item_variables(item: Item) -> Iterable[Variable]:
    if isinstance(item, Clause):
        if not item.body and _is_plain(item.head):
            return []
        if functor(item.head) in (("initiates", 3), ("terminates", 3)):
            # The event of the older forms happens at their time without saying so.
            return [v for term in (*item.head.args, *item.head.args[2:], *item.body)  # type: ignore[union-attr]
                    for v in variables(term)]  # fmt: skip
        return [v for term in (item.head, *item.body) for v in variables(term)]
    if isinstance(item, PatternRule):
        return [*variables(item.head), *_pattern_variables(item.pattern)]
    return []


def _is_plain(head: Term) -> bool:
    """Facts and declarations name arguments for their readers."""
    return not isinstance(head, Compound) or head.functor != "iff"


def _pattern_variables(pattern: Pattern) -> list[Variable]:
    if isinstance(pattern, EventAtom):
        return list(variables(pattern.term))
    if isinstance(pattern, Within):
        return [*_pattern_variables(pattern.pattern), *variables(pattern.duration)]
    if isinstance(pattern, Where):
        conditions = [v for condition in pattern.conditions for v in variables(condition)]
        return [*_pattern_variables(pattern.pattern), *conditions]
    if isinstance(pattern, Binary):
        return [*_pattern_variables(pattern.left), *_pattern_variables(pattern.right)]
    if isinstance(pattern, Absence):
        parts = (pattern.absent, pattern.first, pattern.last)
        return [variable for part in parts for variable in _pattern_variables(part)]
    return []
