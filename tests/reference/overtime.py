"""Simple fluents and derived events, point by point in the order of time.

What happens at T depends on what else happens at T, and on what holds at T, which follows from
earlier points. Points at which nothing can happen are left out.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from cernis.errors import KnowledgeError
from cernis.syntax.tree import Compound, Number, Term

from . import inertia
from .context import Context
from .delays import Pending
from .instances import grounded_as, is_grounded_as, known_instances
from .intervals import INF
from .negations import bound_first
from .order import at_one_point, only_negated
from .program import Rule
from .terminations import settled
from .terms import Env, canonical, is_ground, substitute, unify


def evaluate_component(context: Context, component: list[Rule]) -> None:
    """Evaluate the rules at all points behind the edge, up to the query time."""
    context.enter(component)
    groups = at_one_point(component, context.program)
    pending = Pending(context)
    todo = _points(context)
    for point in list(context.state.initiated):
        todo |= pending.schedule(point)
    context.waiting += pending.under_way()
    queue = list(todo)
    heapify(queue)
    while queue and queue[0] <= context.window.query:
        point = heappop(queue)
        pending.take_effect(point, _initiated_anyway(context, pending, groups, point))
        for group in groups:
            _apply_group(context, group, point)
        inertia.step(context, point)
        for due in (pending.schedule(point) | _first_points(context, point)) - todo:
            todo.add(due)
            heappush(queue, due)
    context.enter([])


def _initiated_anyway(
    context: Context, pending: Pending, groups: list[list[Rule]], point: int
) -> set[Term]:
    """What rules initiate at the point without what is due there, where that matters."""
    if not pending.may_be_postponed(point):
        return set()
    state = context.state
    happenings = (state.initiated, state.terminated, state.happened)
    before = [set(points.get(point, ())) for points in happenings]
    for group in groups:
        _apply_group(context, group, point)
    initiated = set(state.initiated.get(point, ()))
    for points, old in zip(happenings, before, strict=True):
        points[point] = old
    return initiated


def _apply_group(context: Context, group: list[Rule], point: int) -> None:
    """Apply rules at a point until none adds anything."""
    changed = True
    while changed:
        changed = False
        for rule in group:
            changed |= _apply(context, rule, point)


def _points(context: Context) -> set[int]:
    """The points behind the edge where something may happen, delayed effects left out.

    The start of the run is one of them while the window begins there: what holds initially is
    initiated then.
    """
    state = context.state
    points = set(context.memory.events) | set(state.happened)
    points |= set(state.initiated) | set(state.terminated)
    for pair in state.pairs():
        for interval in state.intervals(pair):
            points.update(int(bound) - context.tick for bound in interval if bound != INF)
            points.add(interval[0])
    for rule in context.component:
        if isinstance(rule.at, Number):
            points.add(int(rule.at.value))
    behind = {point for point in points if point > context.edge}
    return behind | {context.start} if context.from_start else behind


def _first_points(context: Context, point: int) -> set[int]:
    """The next point, if an interval begins there."""
    first = point + context.tick
    held = (context.state.simple[pair] for pair in context.state.simple if context.owns(pair))
    return {first} if any(own and own[-1][0] == first for own in held) else set()


def _apply(context: Context, rule: Rule, point: int) -> bool:
    """Let a rule fire at a point in all ways it can; has anything been added?"""
    if rule.delay is not None or (rule.kind == "initially") != (point == context.start):
        return False
    bindings = _bindings(context, rule, point)
    if bindings is None:
        return False
    heads = [
        substitute(rule.head, {**known, **answer})
        for known in _with_grounding(context, rule, bindings)
        for answer in _answers(context, rule, known)
    ]
    heads = [head for head in heads if _stays_grounded(context, rule, head)]
    added = False
    for head in heads:
        added |= _add(context, rule, head, point)
    return added


def _answers(context: Context, rule: Rule, known: Env) -> list[Env]:
    """The answers to a body.

    Negations and terminations that it asks for wait for what later goals give. Where such a goal
    needs the value of the termination itself, there is no other order than the one that is written.
    """
    waiting = settled(bound_first(rule.body))
    try:
        return list(context.solver.solve(waiting, known))
    except KnowledgeError:
        if waiting == rule.body:
            raise
        return list(context.solver.solve(rule.body, known))


def _with_grounding(context: Context, rule: Rule, bindings: Env) -> list[Env]:
    """The bindings, with values from grounding for head variables that else only negations have."""
    names = only_negated(rule)
    if not names or rule.kind == "happensAt" or not context.domain.restricts(rule.head):
        return [bindings]
    found: dict[frozenset[tuple[str, Term]], Env] = {}
    for env in grounded_as(context, rule.head, names):
        values = {name: substitute(env[name], env) for name in names if name in env}
        found[frozenset(values.items())] = {**bindings, **values}
    return list(found.values())


def _stays_grounded(context: Context, rule: Rule, head: Term) -> bool:
    """Is a head whose variables have values from grounding allowed with those of the body, too?"""
    names = only_negated(rule)
    if not names or rule.kind == "happensAt" or not context.domain.restricts(rule.head):
        return True
    return is_grounded_as(context, rule.head, names, head)


def _bindings(context: Context, rule: Rule, point: int) -> Env | None:
    """The time, and the bounds of the four-argument forms: of all points that are evaluated.

    Those between two windows are among them, so that a rule says the same in all its forms.
    """
    bindings: Env | None = {} if rule.at is None else unify(rule.at, Number(point), {})
    if bindings is None or rule.window is None:
        return bindings
    first = Number(context.edge + context.tick)
    last = Number(context.window.query + context.tick)
    return unify(Compound("", rule.window), Compound("", (first, last)), bindings)


def _add(context: Context, rule: Rule, head: Term, point: int) -> bool:
    state = context.state
    if rule.kind == "terminatedAt":
        return _put(state.terminated, point, canonical(head))
    if rule.kind == "happensAt":
        if not is_ground(head):
            raise KnowledgeError("happensAt/2", "an event has a variable that nothing binds")
        return _put(state.happened, point, head)
    added = False
    for instance in [head] if is_ground(head) else known_instances(context, head, point):
        added |= _put(state.initiated, point, instance)
    return added


def _put(points: dict[int, set[Term]], point: int, term: Term) -> bool:
    there = points.setdefault(point, set())
    added = term not in there
    there.add(term)
    return added
