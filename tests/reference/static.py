"""Statically determined fluents: interval lists combined (section 5 of the semantics).

A rule is evaluated for each instance of its variables. The instances are found first: those
for which grounding, a background literal, or an existing instance of some fluent of the body
gives each variable a value. Then the body is evaluated, and a fluent that never holds for the
instance has the empty list. A variable that occurs in one fluent of the body and nowhere else
is no part of an instance: it stands for any value, and the list is the union over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cernis.errors import KnowledgeError
from cernis.syntax.tree import Compound, Term, functor, variables

from . import intervals as lists
from .arithmetic import NoValue, TooLarge, evaluate
from .context import Context
from .intervals import INF, Intervals
from .program import Rule
from .reach import reach_of
from .solve import Key, Predicate
from .terms import Env, is_ground, members, substitute, unify

OPERATORS: dict[Key, tuple[int, ...]] = {
    ("union_all", 2): (0, 1),
    ("intersect_all", 2): (0, 1),
    ("relative_complement_all", 3): (0, 1, 2),
    ("complement_all", 2): (0, 1),
    ("intDurGreater", 3): (0, 2),
    ("intDurLess", 3): (0, 2),
    ("allen", 5): (1, 2, 4),
    **{(relation, 4): (0, 1, 3) for relation in lists.RELATIONS},
}
"""The operators on interval lists, and which of their arguments are lists."""


def evaluate_static(context: Context, rule: Rule) -> None:
    """Add what the rule gives at points after the edge.

    How long an interval is does not depend on windows: a rule with durations sees as far back as
    these reach, and an interval that goes on after the edge may begin as far before it. Several
    rules of one pair add up. A rule whose check on emptiness fails gives nothing. In the dialect
    rtec the first rule counts that succeeds for a pair, or that comes to a cut.
    """
    reach = reach_of(context.program, context.solver, rule.head)
    memory = context.program.memory if _relates(rule) else 0
    seen = reach + context.tick if reach else 0
    context.memory_of_rule, context.reach_of_rule = max(memory, seen), reach
    _add_up(context, rule, context.state.static)
    if context.clipped.forgotten is not None:
        with context.clipped.moved():
            _add_up(context, rule, context.clipped.static)


def _add_up(context: Context, rule: Rule, static: dict[Term, Intervals]) -> None:
    bound = context.edge + context.tick
    for instance in _instances(context, rule):
        for answer in _answers(context, rule, instance):
            known = {**instance, **answer}
            pair = substitute(rule.head, known)
            found = lists.from_term(substitute(rule.at, known)) if rule.at else None
            if found is None or not is_ground(pair):
                raise KnowledgeError("holdsFor/2", "the rule leaves its head open")
            if _rests_on_points(context, rule, known):
                context.unsure.add(pair)
            if context.domain.allows(pair):
                reach = context.reach_of_rule
                earliest = context.edge - reach if reach else bound
                new = [(max(start, earliest), end) for start, end in found if end > bound]
                static[pair] = lists.union_all([static.get(pair, []), new])


def _answers(context: Context, rule: Rule, instance: Env) -> Iterator[Env]:
    """The answers to the body; in the dialect rtec only where no earlier rule succeeds."""
    if not context.program.is_rtec:
        yield from context.solver.solve(rule.body, instance)
        return
    pair = substitute(rule.head, instance)
    rules = [each for each in context.program.rules if each.kind == "holdsFor"]
    if any(_succeeds(context, earlier, pair) for earlier in rules[: rules.index(rule)]):
        return
    cut = rule.committed or 0
    for committed in context.solver.solve(rule.body[:cut], instance):
        for answer in context.solver.solve(rule.body[cut:], {**instance, **committed}):
            yield {**committed, **answer}
        if rule.committed is not None:
            return


def _succeeds(context: Context, rule: Rule, pair: Term) -> bool:
    """Does a rule give a list for a pair, an empty one or not, or come to its cut?"""
    env = unify(rule.head, pair, {})
    if env is None:
        return False
    asked = rule.body if rule.committed is None else rule.body[: rule.committed]
    return any(True for _ in context.solver.solve(asked, env))


def _relates(rule: Rule) -> bool:
    """Is there a relation between intervals in the body?"""
    names = {functor(goal) for goal in rule.body}
    return bool(names & {("allen", 5), *((relation, 4) for relation in lists.RELATIONS)})


def _rests_on_points(context: Context, rule: Rule, known: Env) -> bool:
    return any(
        instance in context.unsure
        for pair in _fluents(rule)
        for instance in _all_of(context, substitute(pair, known))
    )


def _fluents(rule: Rule) -> list[Term]:
    """The pairs that a body asks the intervals of."""
    return [
        goal.args[0]
        for goal in rule.body
        if isinstance(goal, Compound) and functor(goal) == ("holdsFor", 2)
    ]


# Instances


def _instances(context: Context, rule: Rule) -> list[Env]:
    """The bindings of all variables of the rule that are not about intervals."""
    asked = _fluents(rule)
    needed = _needed(rule)
    partial = _distinct([{}, *_grounded(context, rule)])
    for pair in asked:
        partial = _distinct([*partial, *_matches(context, pair, partial)])
    background = _background(rule)
    given = needed - _only_in_background(rule, background)
    complete = []
    for env in partial:
        for known in _solutions(context, background, env, given <= env.keys()):
            if all(name in known for name in needed):
                complete.append(known)
    names = needed | {variable.name for goal in background for variable in variables(goal)}
    return _distinct([{name: env[name] for name in names if name in env} for env in complete])


def _needed(rule: Rule) -> set[str]:
    """The variables of the head and of the fluents, but for those that stand for any value."""
    of_head = {variable.name for variable in variables(rule.head)}
    of_body = {variable.name for pair in _fluents(rule) for variable in variables(pair)}
    return of_head | {name for name in of_body if len(_mentions(rule, name)) > 1}


def _mentions(rule: Rule, name: str) -> list[Term]:
    """The literals of the body with the variable."""
    return [goal for goal in rule.body if any(v.name == name for v in variables(goal))]


def _grounded(context: Context, rule: Rule) -> Iterator[Env]:
    for instance in context.domain.instances(rule.head):
        env = unify(rule.head, instance, {})
        if env is not None:
            yield env


def _matches(context: Context, pair: Term, partial: list[Env]) -> Iterator[Env]:
    for env in partial:
        for existing in context.state.instances(substitute(pair, env)):
            extended = unify(pair, existing, env)
            if extended is not None and _visible(context, existing):
                yield extended


def _background(rule: Rule) -> list[Term]:
    """The literals that are neither about fluents nor about interval lists."""
    about: set[str] = set()
    rest = []
    for goal in rule.body:
        if functor(goal) == ("holdsFor", 2) or functor(goal) in OPERATORS:
            assert isinstance(goal, Compound)
            where = OPERATORS.get(functor(goal), (1,))
            about.update(name.name for at in where for name in variables(goal.args[at]))
        elif functor(goal) == ("findall", 3) and about & {name.name for name in variables(goal)}:
            assert isinstance(goal, Compound)
            about.update(name.name for name in variables(goal.args[2]))
        else:
            rest.append(goal)
    return [goal for goal in rest if not about & {name.name for name in variables(goal)}]


def _only_in_background(rule: Rule, background: list[Term]) -> set[str]:
    """The variables that background literals alone give values."""
    names = {variable.name for goal in background for variable in variables(goal)}
    return names - {variable.name for pair in _fluents(rule) for variable in variables(pair)}


def _solutions(
    context: Context, background: list[Term], env: Env, is_instance: bool
) -> Iterator[Env]:
    """The ways to make the background literals true; none if they cannot be evaluated so far.

    A number that is too large counts only where fluents and grounding say that there is such an
    instance.
    """
    try:
        for answer in context.solver.solve(background, env):
            yield {**env, **answer}
    except TooLarge:
        if is_instance:
            raise
    except KnowledgeError:
        return


def _distinct(envs: list[Env]) -> list[Env]:
    return list({frozenset(env.items()): env for env in envs}.values())


# Interval lists


def interval_predicates(context: Context) -> dict[Key, Predicate]:
    """holdsFor, and the operators on interval lists."""
    run: Callable[[Compound], Intervals | None] = lambda goal: _operate(context, goal)  # noqa: E731
    return {
        ("holdsFor", 2): lambda goal: _holds_for(context, goal),
        **{key: lambda goal: _result(goal, run) for key in OPERATORS},
    }


def _visible(context: Context, pair: Term) -> Intervals:
    """The pair's intervals that reach behind the edge; older ones are forgotten.

    With a memory, intervals are seen that ended up to so long before the point up to which the
    window forgets.
    """
    oldest = context.window.forgotten - context.memory_of_rule
    bound = min(context.edge, oldest) + context.tick
    intervals = context.clipped.intervals(pair, context.state)
    return [(start, end) for start, end in intervals if end > bound]


def _holds_for(context: Context, goal: Term) -> Iterator[Term]:
    assert isinstance(goal, Compound)
    pair = goal.args[0]
    held = [_visible(context, instance) for instance in _all_of(context, pair)]
    yield Compound("holdsFor", (pair, lists.to_term(lists.union_all(held))))


def _all_of(context: Context, pair: Term) -> list[Term]:
    """The pair itself if it is ground, else the instances there are of it."""
    return [pair] if is_ground(pair) else context.state.instances(pair)


def _result(goal: Term, run: Callable[[Compound], Intervals | None]) -> Iterator[Term]:
    """The goal with the last argument computed."""
    assert isinstance(goal, Compound)
    result = run(goal)
    if result is not None:
        yield Compound(goal.functor, (*goal.args[:-1], lists.to_term(result)))


def _operate(context: Context, goal: Compound) -> Intervals | None:
    name, args = goal.functor, goal.args
    match name:
        case "union_all":
            return lists.union_all(_many(args[0]))
        case "intersect_all":
            return lists.intersect_all(_many(args[0]))
        case "relative_complement_all":
            return lists.relative_complement_all(_one(args[0]), _many(args[1]))
        case "complement_all":
            always = [(context.start + context.tick, INF)]
            return lists.relative_complement_all(always, _many(args[0]))
        case "intDurGreater":
            return lists.longer_than(_one(args[0]), _duration(args[1]), context.window.query)
        case "intDurLess":
            return lists.shorter_than(_one(args[0]), _duration(args[1]))
        case "allen":
            return _allen(context, functor(args[0])[0], args[1:4])
    return _allen(context, name, args[:3])


def _allen(context: Context, relation: str, args: tuple[Term, ...]) -> Intervals | None:
    """What a relation gives; in the dialect rtec it fails, None, if no pair is in it."""
    mode = functor(args[2])[0]
    if relation not in lists.RELATIONS or mode not in {*lists.MODES, *lists.OTHER_NAMES}:
        raise KnowledgeError("allen/5", f"no relation {relation} or no mode {mode}")
    closed_by = context.tick if context.program.is_rtec else None
    one, other = _one(args[0]), _one(args[1])
    if context.program.is_rtec and not lists.allen(relation, one, other, "source", closed_by):
        return None
    return lists.allen(relation, one, other, mode, closed_by)


def _one(term: Term) -> Intervals:
    result = lists.from_term(term)
    if result is None:
        raise KnowledgeError("holdsFor/2", "not a list of intervals")
    return result


def _many(term: Term) -> list[Intervals]:
    items = members(term)
    if items is None:
        raise KnowledgeError("holdsFor/2", "not a list of lists of intervals")
    return [_one(item) for item in items]


def _duration(term: Term) -> float:
    try:
        return evaluate(term, {})
    except NoValue as error:
        raise KnowledgeError("intDurGreater/3", f"no duration: {error}") from error
