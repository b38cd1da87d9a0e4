"""From event patterns to steps.

A pattern is split into binary operators as it is written, grouped from the left.

What is written around a step (`where`, `within`) belongs to it: under the policies that select
among matches, only what fits in every way is selected from. A `within` bounds the parts of its
pattern too, since a part is never longer than the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from cernis.check.amounts import length
from cernis.check.catalogue import pattern_atom
from cernis.check.goal_checks import Binder, Modes, named
from cernis.check.model import Boundary, Consumption, Event, Pair, Preference
from cernis.check.rewrites.sliding_conditions import is_sliding, sliding
from cernis.check.rewrites.validity import END, START
from cernis.errors import UnsupportedError
from cernis.knowledge import Knowledge
from cernis.plan.logical import PointOperator
from cernis.plan.pattern_steps import (
    BOTH,
    ONE,
    OTHER,
    UNLIMITED,
    Absent,
    Around,
    Choice,
    Conditions,
    Instant,
    Join,
    Longest,
    Occurrences,
    Refine,
    Slide,
    Step,
    StepUse,
    steps_of,
)
from cernis.plan.rule_plans import Pipeline, is_expression, literals_of
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Absence,
    Binary,
    Compound,
    EventAtom,
    Pattern,
    Sequence,
    Term,
    TimePoint,
    Variable,
    Where,
    Within,
    variables,
)


class Patterns:
    """Plans patterns, and knows the steps there are."""

    def __init__(self, knowledge: Knowledge, modes: Modes) -> None:
        self._knowledge = knowledge
        self._modes = modes
        self._steps: dict[Step, Step] = {}
        self._count = 0
        self._counting = 0
        """In how many aggregates the pattern that is being planned stands."""

    def plan(self, pattern: Pattern, consumption: Consumption) -> StepUse:
        """The steps of a rule's pattern, by the names of its variables."""
        return self._part(pattern, consumption, math.inf)

    # -- from pattern to step ---------------------------------------------------------------

    def _part(self, pattern: Pattern, consumption: Consumption, limit: float) -> StepUse:
        around: list[Where | Within] = []
        while isinstance(pattern, (Where, Within)):
            around.insert(0, pattern)
            if isinstance(pattern, Within):
                limit = min(limit, length(pattern.duration))
            if _has_aggregate(pattern):
                # The window is over the matches as they are without what is around them.
                self._counting += 1
                part = self._part(pattern.pattern, consumption, math.inf)
                self._counting -= 1
                return self._refined(part, around, pattern)
            pattern = pattern.pattern
        if isinstance(pattern, EventAtom):
            return self._refined(self._occurrences(pattern, consumption), around, pattern)
        if isinstance(pattern, TimePoint):
            return self._refined(self._instant(pattern), around, pattern)
        if isinstance(pattern, Binary) and pattern.operator == "or":
            return self._choice(pattern, around, consumption, limit)
        return self._join(pattern, around, consumption, limit)

    def _known(self, step: Step, names: Iterable[str]) -> StepUse:
        return StepUse(self._steps.setdefault(step, step), tuple(names))

    def _occurrences(self, pattern: EventAtom, consumption: Consumption) -> StepUse:
        atom = pattern_atom(pattern.term, pattern.span)
        args = _arguments(atom)
        for arg in args:
            if isinstance(arg, (Compound, Sequence)):
                raise UnsupportedError(
                    f"{show(pattern.term)}: an argument of an event in a pattern is a variable or "
                    f"a value; compare it with {show(arg)} after where"
                )
        if consumption.policy != "unrestricted" or self._counting:
            # What differs in an argument that nobody names still counts as two.
            args = [self._distinct(arg) for arg in args]
        names = _met(args)
        inside = _numbered(names)
        step = Occurrences(
            _with_arguments(atom, [renamed(arg, inside) for arg in args]), tuple(inside.values()),
            pattern.span,
        )  # fmt: skip
        return self._known(step, names)

    def _distinct(self, arg: Term) -> Term:
        if not isinstance(arg, Variable) or arg.name != "_":
            return arg
        self._count += 1
        return Variable(f"_ {self._count}", arg.span)

    def _instant(self, pattern: TimePoint) -> StepUse:
        return self._known(Instant(int(pattern.value), (), pattern.span), ())

    def _choice(
        self, pattern: Binary, around: list[Where | Within], consumption: Consumption, limit: float
    ) -> StepUse:
        """What is written around a choice is put around each of its parts."""
        left, right = (
            self._part(_wrapped(side, around), consumption, limit)
            for side in (pattern.left, pattern.right)
        )
        names = _together(left.names, right.names)
        inside = _numbered(names)
        parts = (_inside(left, inside), _inside(right, inside))
        return self._known(Choice(parts, tuple(inside.values()), pattern.span), names)

    def _refined(self, part: StepUse, around: list[Where | Within], pattern: Pattern) -> StepUse:
        if not around:
            return part
        called = _numbered(part.names)
        planned, names = self._around(around, part.names, called)
        inner_names = tuple(called[name] for name in names)
        return self._known(Refine(_inside(part, called), planned, inner_names, pattern.span), names)

    def _join(
        self, pattern: Pattern, around: list[Where | Within], consumption: Consumption, limit: float
    ) -> StepUse:
        assert isinstance(pattern, (Binary, Absence))
        sides = (
            (pattern.left, pattern.right) if isinstance(pattern, Binary)
            else (pattern.first, pattern.last)
        )  # fmt: skip
        (left, right), around = self._sides(sides, around, consumption, limit)
        names = _together(left.names, right.names)
        called = _numbered(names)
        sides_called = dict(called)
        absent = None
        if isinstance(pattern, Absence):
            absent = self._absent(pattern, names)
        varying = [each for each in around if not _is_constant(each)]
        planned, names = self._around(varying, names, called)
        step = Join(
            pattern.operator if isinstance(pattern, Binary) else "seq",
            _inside(left, called), _inside(right, called), consumption.policy,
            UNLIMITED if limit == math.inf else math.floor(limit),
            absent, planned, tuple(called[name] for name in names),
            _preferred(consumption.preference, sides_called), pattern.span,
        )  # fmt: skip
        return self._known(step, names)

    def _sides(
        self, sides: tuple[Pattern, Pattern], around: list[Where | Within],
        consumption: Consumption, limit: float,
    ) -> tuple[list[StepUse], list[Where | Within]]:  # fmt: skip
        """Both sides, with the conditions that are about one of them alone; and what is left.

        Where a policy selects, only single events are filtered beforehand: to filter pairs would
        let the step that makes them select others.
        """
        parts = []
        for side in sides:
            part = self._part(side, consumption, limit)
            kinds = {type(step) for step in steps_of(part.step)}
            if Choice not in kinds and (consumption.policy == "unrestricted" or Join not in kinds):
                conditions, around = _parted(around, set(part.names))
                if conditions:
                    wrapped = Where(side, tuple(conditions), side.span)
                    part = self._part(wrapped, consumption, limit)
            parts.append(part)
        return parts, around

    def _absent(self, pattern: Absence, names: tuple[str, ...]) -> Absent:
        """What is absent, and conditions of it that speak of what is around it."""
        inner, around = pattern.absent, list[Where | Within]()
        while isinstance(inner, (Where, Within)) and not _has_aggregate(inner):
            around.insert(0, inner)
            inner = inner.pattern
        part = self._part(inner, Consumption(), math.inf)
        if isinstance(inner, Where) and named(inner.conditions) & set(names) - set(part.names):
            raise UnsupportedError(
                f"{show(pattern.absent)}: beside an aggregate, conditions on what must be absent "
                "are about its own variables; put a further where around it"
            )
        inside = {*part.names, START, END}
        inner_conditions = [each for each in around if named(_terms(each)) <= inside]
        if inner_conditions:
            part = self._part(_wrapped(inner, inner_conditions), Consumption(), math.inf)
        called = _numbered(names)
        own_names = [name for name in part.names if name not in called]
        called |= {name: f"A{number}" for number, name in enumerate(own_names)}
        crossing = [each for each in around if each not in inner_conditions]
        planned, _ = self._around(crossing, tuple(called), dict(called))
        return Absent(_inside(part, called), planned)

    # -- what is around ---------------------------------------------------------------------

    def _around(
        self, around: list[Where | Within], names: tuple[str, ...], called: dict[str, str]
    ) -> tuple[tuple[Around, ...], tuple[str, ...]]:
        """What is written around a step, planned; and the names with those it gives values.

        `called` are the names inside of the step; those that are new are entered.
        """
        planned: list[Around] = []
        for each in around:
            met = _met(_terms(each))
            for name in met:
                if name not in (START, END):
                    called.setdefault(name, f"V{len(called)}")
            if isinstance(each, Within):
                planned.append(Longest(renamed(each.duration, called)))
                continue
            bound = {called[name] for name in names} | ({START, END} & set(met))
            for aggregate in filter(is_sliding, each.conditions):
                planned.append(self._slide(renamed(aggregate, called)))
                bound.add(planned[-1].result)  # type: ignore[union-attr]
            rest = [goal for goal in each.conditions if not is_sliding(goal)]
            goals = self._computing([renamed(goal, called) for goal in rest], bound)
            pipeline = Pipeline(self._knowledge, self._modes, set(bound), set(called.values()))
            literals = [literal for goal in goals for literal in literals_of(goal, goal.span)]
            planned.append(Conditions(pipeline.run(literals), END in met))
            more = (name for name in called if called[name] in pipeline.bound)
            names = _together(names, more)
        return tuple(planned), names

    def _slide(self, goal: Term) -> Slide:
        aggregate = sliding(goal)
        assert aggregate is not None
        fold: tuple[PointOperator, ...] = ()
        if aggregate.fold:
            combining = Compound(
                aggregate.fold, tuple(map(Variable, (ONE, OTHER, BOTH))), goal.span
            )
            pipeline = Pipeline(self._knowledge, self._modes, {ONE, OTHER}, {ONE, OTHER, BOTH})
            fold = pipeline.run(literals_of(combining, goal.span))
        key = tuple(variable.name for variable in aggregate.key)
        return Slide(
            aggregate.kind,
            aggregate.result.name,
            aggregate.value,
            key,
            aggregate.last,
            aggregate.past,
            fold,
        )

    def _computing(self, goals: list[Term], bound: set[str]) -> list[Term]:
        """Conditions in which `=` computes: it gives a value or, where there is one, compares."""
        binder = Binder(self._modes, set(bound))
        computed = []
        for goal in goals:
            computed.append(computing(goal, binder.bound))
            binder.run([computed[-1]])
        return computed


# -- names -----------------------------------------------------------------------------------


def _met(terms: Iterable[Term]) -> list[str]:
    """The names of variables in the order in which they are first met."""
    return [
        name
        for name in dict.fromkeys(v.name for term in terms for v in variables(term))
        if name != "_"
    ]


def _numbered(names: Iterable[str]) -> dict[str, str]:
    return {name: f"V{number}" for number, name in enumerate(dict.fromkeys(names))}


def _together(left: Iterable[str], right: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*left, *right)))


def _inside(part: StepUse, called: dict[str, str]) -> StepUse:
    return replace(part, names=tuple(called[name] for name in part.names))


def _preferred(preference: Preference | None, called: dict[str, str]) -> Preference | None:
    """A preference by the names inside of a step; None where it has no such variable."""
    if preference is None or not preference.variable:
        return preference
    inside = called.get(preference.variable)
    return None if inside is None else replace(preference, variable=inside)


def renamed(term: Term, called: dict[str, str]) -> Term:
    """A term with its variables called otherwise."""
    if isinstance(term, Variable):
        return Variable(called[term.name], term.span) if term.name in called else term
    if isinstance(term, Compound):
        return replace(term, args=tuple(renamed(arg, called) for arg in term.args))
    if isinstance(term, Sequence):
        tail = None if term.tail is None else renamed(term.tail, called)
        return replace(term, items=tuple(renamed(i, called) for i in term.items), tail=tail)
    return term


# -- terms -----------------------------------------------------------------------------------


def _arguments(atom: Event | Boundary | Pair) -> list[Term]:
    if isinstance(atom, Event):
        return list(atom.args)
    pair = atom.pair if isinstance(atom, Boundary) else atom
    return [*pair.args, pair.value]


def _with_arguments(atom: Event | Boundary | Pair, args: list[Term]) -> Event | Boundary | Pair:
    if isinstance(atom, Event):
        return replace(atom, args=tuple(args))
    if isinstance(atom, Boundary):
        pair = replace(atom.pair, args=tuple(args[:-1]), value=args[-1])
        return replace(atom, pair=pair)
    return replace(atom, args=tuple(args[:-1]), value=args[-1])


def _wrapped(pattern: Pattern, around: Iterable[Where | Within]) -> Pattern:
    for each in around:
        pattern = replace(each, pattern=pattern)
    return pattern


def _parted(
    around: list[Where | Within], names: set[str]
) -> tuple[list[Term], list[Where | Within]]:
    """The conditions about some variables alone, and what is around without them."""
    about_names: list[Term] = []
    rest: list[Where | Within] = []
    for each in around:
        if isinstance(each, Where):
            mine = [goal for goal in each.conditions if named([goal]) and named([goal]) <= names]
            about_names += mine
            left = tuple(goal for goal in each.conditions if goal not in mine)
            rest += [replace(each, conditions=left)] if left else []
        else:
            rest.append(each)
    return about_names, rest


def _terms(around: Where | Within) -> tuple[Term, ...]:
    return around.conditions if isinstance(around, Where) else (around.duration,)


def _has_aggregate(around: Where | Within) -> bool:
    return isinstance(around, Where) and any(map(is_sliding, around.conditions))


def _is_constant(around: Where | Within) -> bool:
    return isinstance(around, Within) and length(around.duration) < math.inf


_COMPARED = {"=": "=:=", "\\=": "=\\="}
_HOLDING = frozenset({",", ";", "->", "\\+", "not"})


def computing(goal: Term, bound: set[str]) -> Term:
    r"""A condition of a pattern, in which `=` and `\=` compute both of their sides."""
    if not isinstance(goal, Compound):
        return goal
    if goal.functor in _HOLDING:
        return replace(goal, args=tuple(computing(arg, bound) for arg in goal.args))
    if goal.functor not in _COMPARED or not any(map(_is_expression, goal.args)):
        return goal
    for result, source in (goal.args, goal.args[::-1]):
        if isinstance(result, Variable) and result.name not in bound and goal.functor == "=":
            return Compound("is", (result, source), goal.span)
    return replace(goal, functor=_COMPARED[goal.functor])


def _is_expression(term: Term) -> bool:
    if isinstance(term, Variable):
        return term.name in (START, END)
    return isinstance(term, Compound) and is_expression(term.functor)
