"""Variables of collections: which of them are those of the rule around, and which are their own.

As in Prolog, what stands before `findall(P, price(X, P), L)` gives X its value; a variable that
nothing before it names is the collection's own, even if the rule uses the name again later. Own
variables of such names are renamed here, so that no later pass has to look at the order of goals.
A collection over time also gets a plain variable as its result here: what it must be equal to
becomes a goal after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cernis.check.pointrules import is_temporal
from cernis.check.rewrites.rewriting import Scope, pattern_terms, renamed, with_parts
from cernis.knowledge.call_graph import NEGATIONS
from cernis.knowledge.scope import COLLECTIONS, exposed_names, hidden_names
from cernis.syntax.tree import (
    Clause,
    Compound,
    Item,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    conjuncts,
    functor,
    variables,
    walk,
)

_FIRING = frozenset({
    ("initiatedAt", 2), ("initiatedAt", 4), ("terminatedAt", 2), ("terminatedAt", 4),
    ("initiates", 3), ("terminates", 3), ("happensAt", 2), ("initially", 1),
})  # fmt: skip
"""Heads that get their values from the body."""

_RULES = _FIRING | {
    ("holdsFor", 2), ("fi", 3), ("ft", 2), ("maxDuration", 3), ("maxDurationUE", 3), ("p", 1),
    ("grounding", 1),
}  # fmt: skip
"""Heads of rules over time and of what goes with them; other clauses are proved goal by goal."""

_ALL = COLLECTIONS | {("forall", 2)}


def name_apart(item: Item) -> Item:
    """The item with the own variables of its collections renamed where their names stand twice."""
    if isinstance(item, Clause):
        if functor(item.head) not in _RULES or not any(map(_collects, item.body)):
            return item
        renaming = _Renaming((item.head, *item.body), item.body)
        body = renaming.goals(item.body, _known(item.head))
        return Clause(item.head, tuple(body), item.probability, item.span)
    if isinstance(item, PatternRule):
        terms = tuple(pattern_terms(item.pattern))
        if any(map(_collects, terms)):
            pattern = _Renaming((item.head, *terms), terms).pattern(item.pattern)
            return PatternRule(item.head, pattern, item.span)
    return item


def _known(head: Term) -> set[str]:
    """The variables that have a value when a body is asked.

    These are the time of a rule that fires, the event of the older forms, and otherwise all that
    the head names: the arguments of instances that there are.
    """
    assert isinstance(head, Compound)
    args = head.args
    if functor(head) in _FIRING:
        args = (args[0], args[2]) if head.functor in ("initiates", "terminates") else args[1:]
    return {variable.name for arg in args for variable in variables(arg)}


def _collects(term: Term) -> bool:
    return any(functor(node) in _ALL for node in walk(term))


class _Renaming:
    """Renames in one clause. A name that only the head has besides is left as it is."""

    def __init__(self, terms: Iterable[Term], body: Iterable[Term]) -> None:
        self._scope = Scope(terms)
        self._counts = Counter(v.name for term in body for v in variables(term))

    def pattern(self, pattern: Pattern) -> Pattern:
        """A pattern whose conditions come after all that it speaks of."""
        if isinstance(pattern, Where):
            inner = self.pattern(pattern.pattern)
            seen = {v.name for term in pattern_terms(inner) for v in variables(term)}
            return Where(inner, tuple(self.goals(pattern.conditions, seen)), pattern.span)
        return with_parts(pattern, self.pattern)

    def goals(self, goals: Iterable[Term], seen: set[str]) -> list[Term]:
        """Goals that stand in a row, after others that have named some variables."""
        result: list[Term] = []
        for goal in goals:
            result += self._goal(goal, seen)
            seen |= exposed_names(goal)
        return result

    def _goal(self, goal: Term, seen: set[str]) -> list[Term]:
        key = functor(goal)
        if not isinstance(goal, Compound) or not _collects(goal):
            return [goal]
        if key in COLLECTIONS:
            return self._collection(goal, seen)
        if key == ("forall", 2):
            inner = set(seen)
            parts = [self._condition(part, inner) for part in self._own(goal, goal.args, seen)]
            return [Compound("forall", tuple(parts), goal.span)]
        if goal.functor in (",", ";", "->") or key in NEGATIONS:
            return [self._inside(goal, seen)]
        return [goal]

    def _inside(self, goal: Compound, seen: set[str]) -> Term:
        if goal.functor == ",":
            return Compound(",", tuple(self.goals(goal.args, set(seen))), goal.span)
        if goal.functor == "->":
            inner = set(seen)
            args = [_conjunction(self.goals(conjuncts(arg), inner), arg) for arg in goal.args]
        else:
            args = [_conjunction(self.goals(conjuncts(arg), set(seen)), arg) for arg in goal.args]
        return Compound(goal.functor, tuple(args), goal.span)

    def _collection(self, goal: Compound, seen: set[str]) -> list[Term]:
        template, inner, result, *rest = goal.args
        renamed_parts = self._own(goal, (template, inner), seen)
        template, inner = renamed_parts[0], self._condition(renamed_parts[1], set(seen))
        after: list[Term] = []
        over_time = is_temporal(inner)
        if over_time and (not isinstance(result, Variable) or result.name in {*seen, "_"}):
            variable = self._scope.fresh("List" if goal.functor != "aggregate_all" else "Result",
                                         result.span)  # fmt: skip
            if result != Variable("_"):
                after.append(Compound("=", (variable, result), goal.span))
            result = variable
        if over_time and rest:
            # What stands after the last item is joined to the list.
            variable = self._scope.fresh("List", result.span)
            after.insert(0, Compound("append", (variable, *rest, result), goal.span))
            result, rest = variable, []
        return [Compound(goal.functor, (template, inner, result, *rest), goal.span), *after]

    def _condition(self, goal: Term, seen: set[str]) -> Term:
        if isinstance(goal, Compound) and functor(goal) == ("^", 2):
            inner = self._condition(goal.args[1], seen)
            return Compound("^", (goal.args[0], inner), goal.span)
        return _conjunction(self.goals(conjuncts(goal), seen), goal)

    def _own(self, goal: Compound, parts: tuple[Term, ...], seen: set[str]) -> list[Term]:
        """Parts of a collection with the names of its own that stand elsewhere too replaced."""
        hidden = hidden_names(goal) - seen
        inside = Counter(v.name for part in parts for v in variables(part))
        twice = {name for name in hidden if self._counts[name] > inside[name]}
        fresh = {name: self._scope.fresh(name, goal.span) for name in sorted(twice)}
        # The new names stand where the old ones did; all others are counted as before.
        self._counts.update({fresh[name].name: inside[name] for name in twice})
        return [renamed(part, lambda v: _renamed(v, fresh)) for part in parts]


def _renamed(variable: Variable, fresh: dict[str, Variable]) -> Term:
    new = fresh.get(variable.name)
    return variable if new is None else Variable(new.name, variable.span)


def _conjunction(goals: list[Term], where: Term) -> Term:
    return goals[0] if len(goals) == 1 else Compound(",", tuple(goals), where.span)
