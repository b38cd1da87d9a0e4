"""Background knowledge asked while planning: values of variables, goals that are true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cernis.errors import CernisError
from cernis.knowledge import Knowledge, Route
from cernis.knowledge.fact_tables import FactTable
from cernis.knowledge.ground_values import canonical, is_ground, term_of, value
from cernis.plan.logical import (
    Aggregate,
    Branches,
    Compute,
    Except,
    Exclude,
    Filter,
    Lookup,
    PointOperator,
    Resolve,
)
from cernis.plan.sweep.rule_bodies import names_asked, names_of, with_constants
from cernis.plan.sweep.unfit import NotSweptError
from cernis.syntax.tree import Atom, Compound, Term, Variable, functor

_MOST_ROWS = 200_000
"""Tables with more rows are not looked through while planning."""

_MOST_ANSWERS = 64
"""Goals with more answers are not asked for all of them while planning."""


class KnownFacts:
    """The facts of a program that no run changes, asked for while planning."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._columns: dict[tuple[Term, str], frozenset[Term] | None] = {}

    def grows(self, steps: Iterable[PointOperator]) -> bool:
        """Do some conditions ask for what a run adds?"""
        return self.grows_goals(
            goal_of(step) for step in steps if not isinstance(step, Aggregate)
        )  # fmt: skip

    def grows_goals(self, goals: Iterable[Term]) -> bool:
        """Do some goals ask for what a run adds?"""
        return any(self._grows(goal) for goal in goals)

    def _grows(self, goal: Term) -> bool:
        if self._knowledge.grows(goal):
            return True
        return any(self._is_filled(each) for each in _leaves(goal))

    def _is_filled(self, goal: Term) -> bool:
        from cernis.knowledge.resolution.builtins import builtin

        key = functor(goal)
        return builtin(*key) is None and key not in self._knowledge.predicates

    def is_true(self, steps: Iterable[PointOperator]) -> bool:
        """Is there an answer to conditions whose variables are all their own?"""
        goal = conjunction(goal_of(step) for step in steps)
        return bool(self._answers(goal, 1))

    def _answers(self, goal: Term, limit: int) -> list[dict[str, Term]]:
        try:
            return list(self._knowledge.solve(goal, limit))
        except CernisError as error:
            raise NotSweptError(f"asks what has no answer while planning: {error}") from error

    def solutions(self, goals: Iterable[Term]) -> list[dict[str, Term]]:
        """The answers to some goals; an error if they are many."""
        answers = self._answers(conjunction(goals), _MOST_ANSWERS + 1)
        if len(answers) > _MOST_ANSWERS:
            raise NotSweptError("has goals with too many answers")
        return answers

    def values(self, name: str, steps: Iterable[PointOperator]) -> frozenset[Term] | None:
        """The values that conditions let a variable take; None if they are not known."""
        known: frozenset[Term] | None = None
        for step in steps:
            candidates = self._candidates(name, step)
            if candidates is not None:
                known = candidates if known is None else known & candidates
        return known

    def _candidates(self, name: str, step: PointOperator) -> frozenset[Term] | None:
        if isinstance(step, Branches):
            each = [self.values(name, branch) for branch in step.branches]
            known = [values for values in each if values is not None]
            return frozenset[Term]().union(*known) if len(known) == len(each) else None
        if isinstance(step, Aggregate):
            return None
        goal = goal_of(step)
        if isinstance(step, Lookup) and name in names_of([goal]):
            key = (goal, name)
            if key not in self._columns:
                self._columns[key] = self._column(name, step)
            return self._columns[key]
        if isinstance(step, Compute | Resolve) and names_of([goal]) == {name}:
            if isinstance(step, Resolve) and step.negated:
                return None
            answers = self._answers(goal, _MOST_ANSWERS + 1)
            if len(answers) > _MOST_ANSWERS or not all(is_ground(a[name]) for a in answers):
                return None
            return frozenset(canonical(answer[name]) for answer in answers)
        return None

    def is_function(
        self, steps: Iterable[PointOperator], names: Iterable[str], others: Iterable[str]
    ) -> bool:
        """Is there, for some values of `names`, one value of each of the others at most?

        That is looked up where the conditions are one table of facts.
        """
        lookups = tuple(steps)
        if len(lookups) != 1 or not isinstance(lookups[0], Lookup):
            return False
        table, goal = self._table(lookups[0]), lookups[0].goal
        if table is None or not isinstance(goal, Compound):
            return False
        places, other_places = (
            [at for at, arg in enumerate(goal.args) if isinstance(arg, Variable)
             and arg.name in wanted]
            for wanted in (set(names), set(others))
        )  # fmt: skip
        first: dict[tuple[object, ...], tuple[object, ...]] = {}
        return all(
            first.setdefault(tuple(row[at] for at in places), value) == value
            for row in table.rows()
            for value in [tuple(row[at] for at in other_places)]
        )

    def _table(self, step: Lookup) -> FactTable | None:
        """The table of facts that a condition looks up, if no run adds to it and it is not long."""
        predicate = self._knowledge.predicates.get(functor(step.goal))
        if predicate is None or predicate.grows or predicate.chances is not None:
            return None
        if predicate.route not in (Route.TABLE, Route.MATERIALISE):
            return None
        table = self._knowledge.table(*functor(step.goal))
        return None if len(table) > _MOST_ROWS else table

    def _column(self, name: str, step: Lookup) -> frozenset[Term] | None:
        """The values at a variable's place in the rows of a table that agree with its constants."""
        table = self._table(step)
        if table is None or not isinstance(step.goal, Compound):
            return None
        args = step.goal.args
        fixed = [(place, value(arg)) for place, arg in enumerate(args) if is_ground(arg)]
        places = [at for at, arg in enumerate(args) if arg == Variable(name)]
        if not places:
            return None
        rows = (row for row in table.rows() if all(_same(row[at], each) for at, each in fixed))
        return frozenset(canonical(term_of(row[places[0]])) for row in rows)


def _same(one: object, other: object) -> bool:
    return (type(one) is type(other) and one == other) or (one == other and isinstance(one, float))


def conjunction(goals: Iterable[Term]) -> Term:
    """One goal of several."""
    parts = tuple(goals)
    if not parts:
        return Atom("true")
    return parts[0] if len(parts) == 1 else Compound(",", parts)


def goal_of(step: PointOperator) -> Term:
    """A condition as a goal."""
    if isinstance(step, Filter):
        return _maybe_negated(step.condition, step.negated)
    if isinstance(step, Compute):
        word = "is" if step.is_number else "="
        return Compound(word, (Variable(step.variable), step.expression))
    if isinstance(step, Lookup):
        return step.goal
    if isinstance(step, Exclude):
        return _maybe_negated(step.goal, True)
    if isinstance(step, Resolve):
        return _maybe_negated(step.goal, step.negated)
    if isinstance(step, Except):
        return _maybe_negated(conjunction(map(goal_of, step.body)), True)
    assert isinstance(step, Branches)
    return Compound(";", tuple(conjunction(map(goal_of, branch)) for branch in step.branches))


def _maybe_negated(goal: Term, is_negated: bool) -> Term:
    return Compound("\\+", (goal,)) if is_negated else goal


def _leaves(goal: Term) -> Iterator[Term]:
    if isinstance(goal, Compound) and goal.functor in (",", ";", "\\+", "not", "->"):
        for arg in goal.args:
            yield from _leaves(arg)
    else:
        yield goal


def constants_in(
    steps: Iterable[PointOperator], values: dict[str, Term]
) -> tuple[PointOperator, ...]:
    """Conditions with constants in the place of some variables, a computed one too.

    What computes such a variable becomes a comparison with its value.
    """
    return tuple(_constant(step, values) for step in steps)


_NUMBERS = frozenset(map(Atom, ("pi", "e", "nan", "inf", "infinite", "epsilon", "random")))
"""Names that stand for numbers where something is computed."""


def _constant(step: PointOperator, values: dict[str, Term]) -> PointOperator:
    if not isinstance(step, Lookup | Exclude):
        read_as_numbers = {name for name, term in values.items() if term in _NUMBERS}
        if read_as_numbers & names_asked(step):
            raise NotSweptError("takes a value that arithmetic reads as a number", step.span)
    if isinstance(step, Compute) and step.variable in values:
        word = "is" if step.is_number else "="
        goal = Compound(word, (values[step.variable], step.expression))
        step = Resolve(goal, False, (), step.span)
    return with_constants(step, values)
