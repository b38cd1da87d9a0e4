"""Goals of background knowledge: what they call, and what they bind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cernis.check.model import Relation
from cernis.knowledge.resolution.builtins import builtin
from cernis.knowledge.scope import COLLECTIONS, asked_names, exposed_names, without_carets
from cernis.syntax.tree import (
    Clause,
    Compound,
    Term,
    Variable,
    conjuncts,
    functor,
    variables,
    walk,
)

Needs = frozenset[frozenset[int]]
"""Of each set of argument positions, one must be bound when a predicate is called."""

Modes = Mapping[Relation, Needs]
"""For each predicate, what must be bound when it is called; it binds the rest."""

_NEGATIONS = (("\\+", 1), ("not", 1))
_COLLECTIONS = COLLECTIONS | {("forall", 2)}


def calls(goal: Term) -> Iterator[Term]:
    """The goals that are called when a goal is, those inside control constructs included."""
    stack = [goal]
    while stack:
        term = stack.pop()
        name, arity = functor(term)
        known = builtin(name, arity)
        if name in (",", ";", "->") and isinstance(term, Compound):
            stack.extend(reversed(term.args))
        elif known is not None and known.goals and isinstance(term, Compound):
            stack.extend(
                without_carets(term.args[position])[0] for position in reversed(known.goals)
            )
            yield term
        else:
            yield term


def named(terms: Iterable[Term]) -> set[str]:
    """The names of the variables of terms, without `_`."""
    return {v.name for term in terms for v in variables(term) if v.name != "_"}


@dataclass(slots=True)
class Binder:
    """Finds out which variables get a value, in whatever order the goals can run.

    `stuck` keeps the goals that could never run, with the variables they lack.
    """

    modes: Modes
    bound: set[str] = field(default_factory=set)
    stuck: list[tuple[Term, set[str]]] = field(default_factory=list)

    def run(self, goals: Iterable[Term]) -> None:
        """Run as many goals as can be; the rest is stuck."""
        waiting = list(goals)
        while waiting:
            blocked = [goal for goal in waiting if not self._try(goal)]
            if len(blocked) == len(waiting):
                for goal in blocked:
                    self.stuck.append((goal, self._lacking(goal)))
                return
            waiting = blocked

    def _try(self, goal: Term) -> bool:
        name = functor(goal)
        if name in _NEGATIONS:
            return not self._lacking(goal)
        if isinstance(goal, Variable) or not isinstance(goal, Compound):
            return True
        if goal.functor in (",", "->"):
            return self._all(goal.args)
        if goal.functor == ";":
            return self._any(goal.args)
        if name in _COLLECTIONS:
            return self._collect(goal)
        if name == ("=", 2):
            return self._unify(goal)
        return self._call(goal)

    def _all(self, goals: tuple[Term, ...]) -> bool:
        inner = Binder(self.modes, set(self.bound))
        inner.run(goals)
        if inner.stuck:
            return False
        self.bound = inner.bound
        return True

    def _any(self, branches: tuple[Term, ...]) -> bool:
        after: list[set[str]] = []
        for branch in branches:
            inner = Binder(self.modes, set(self.bound))
            inner.run(conjuncts(branch))
            if inner.stuck:
                return False
            after.append(inner.bound)
        self.bound = set.intersection(*after)
        return True

    def _collect(self, goal: Compound) -> bool:
        inner = Binder(self.modes, set(self.bound))
        inner.run(_collected(goal))
        if inner.stuck or named(goal.args[3:]) - self.bound:
            return False
        if goal.functor != "forall":
            self.bound |= exposed_names(goal)
        return True

    def _unify(self, goal: Compound) -> bool:
        if any(map(self._is_known, goal.args)):
            self.bound |= named(goal.args)
            return True
        return False

    def _is_known(self, term: Term) -> bool:
        """Has a term a value, all of its parts included?"""
        return all(variable.name in self.bound for variable in variables(term))

    def _call(self, goal: Compound) -> bool:
        known = builtin(goal.functor, len(goal.args))
        if known is not None and not (known.library and self.is_defined(goal)):
            for mode in known.modes:
                if all(named([goal.args[position]]) <= self.bound for position in mode.needs):
                    self.bound |= named(goal.args[position] for position in mode.binds)
                    return True
            return False
        if any(self.unmet(goal)):
            return False
        self.bound |= named(goal.args)
        return True

    def unmet(self, goal: Compound) -> Iterator[set[str]]:
        """For each need of a predicate that is not met, the variables that would meet it."""
        needs: Needs = self.modes.get(Relation(goal.functor, len(goal.args)), frozenset())
        for positions in needs:
            if not any(named([goal.args[position]]) <= self.bound for position in positions):
                yield self._unbound(goal.args[position] for position in positions)

    def is_defined(self, goal: Compound) -> bool:
        """Does the program define the predicate itself?"""
        return Relation(goal.functor, len(goal.args)) in self.modes

    def _lacking(self, goal: Term) -> set[str]:
        """Variables without a value that keep a goal from running.

        In a negation, a variable that begins with `_` stands for anything and may lack one.
        """
        if functor(goal) in _NEGATIONS:
            needed = asked_names(goal) - self.bound
            return {name for name in needed if not name.startswith("_")}
        if isinstance(goal, Compound) and goal.functor in (",", "->", ";"):
            return self._lacking_inside(goal)
        return min(self._missing(goal), key=len, default=set())

    def _lacking_inside(self, goal: Compound) -> set[str]:
        parts = [goal.args] if goal.functor != ";" else [conjuncts(arg) for arg in goal.args]
        missing: set[str] = set()
        for part in parts:
            inner = Binder(self.modes, set(self.bound))
            inner.run(part)
            missing |= {name for _, names in inner.stuck for name in names}
        return missing

    def _unbound(self, terms: Iterable[Term]) -> set[str]:
        return named(terms) - self.bound

    def _missing(self, goal: Term) -> Iterator[set[str]]:
        """For each way to call the goal, the variables it lacks."""
        if not isinstance(goal, Compound):
            return
        known = builtin(goal.functor, len(goal.args))
        if functor(goal) in _COLLECTIONS:
            inner = Binder(self.modes, set(self.bound))
            inner.run(_collected(goal))
            yield {name for _, names in inner.stuck for name in names}
        elif known is not None and not (known.library and self.is_defined(goal)):
            for mode in known.modes:
                yield self._unbound(goal.args[position] for position in mode.needs)
        else:
            yield set[str]().union(*self.unmet(goal))

    def culprits(self) -> list[tuple[Term, set[str]]]:
        """The stuck goals that are not merely waiting for another stuck goal."""
        # What a goal lacks it does not promise, so its own promise may be among the others'.
        promised = {name for goal, lacks in self.stuck for name in named([goal]) - lacks}
        lacking = [(goal, missing - promised) for goal, missing in self.stuck]
        return [(goal, rest) for goal, rest in lacking if rest] or self.stuck


def _collected(goal: Compound) -> tuple[Term, ...]:
    """The goals that a collection asks for."""
    if goal.functor == "forall":
        return tuple(part for arg in goal.args for part in conjuncts(arg))
    return conjuncts(without_carets(goal.args[1])[0])


def infer_modes(clauses: Mapping[Relation, list[Clause]]) -> dict[Relation, Needs]:
    """What each predicate needs bound, from the clauses that define it.

    Starts from needing nothing and adds what some clause cannot do without, until that is all:
    the smallest needs, so recursion asks for no more than its other clauses do. A predicate is
    looked at again only when the needs of one that it calls have grown.
    """
    modes: dict[Relation, Needs] = dict.fromkeys(clauses, frozenset())
    with_bodies = {
        relation: [clause for clause in defining if clause.body or _open(clause)]
        for relation, defining in clauses.items()
    }
    callers = _callers(with_bodies)
    waiting = dict.fromkeys(reversed(with_bodies))
    while waiting:
        relation, _ = waiting.popitem()
        needs = modes[relation].union(*(_needs(clause, modes) for clause in with_bodies[relation]))
        if needs != modes[relation]:
            modes[relation] = needs
            waiting.update(dict.fromkeys(callers.get(relation.name, ())))
    return modes


def _callers(clauses: Mapping[Relation, list[Clause]]) -> dict[str, list[Relation]]:
    """For each name, the predicates whose bodies mention it in any place."""
    callers: dict[str, dict[Relation, None]] = {}
    for relation, defining in clauses.items():
        goals = (goal for clause in defining for goal in clause.body)
        for name in {functor(node)[0] for goal in goals for node in walk(goal)}:
            callers.setdefault(name, {})[relation] = None
    return {name: list(relations) for name, relations in callers.items()}


def _open(clause: Clause) -> bool:
    return next(variables(clause.head), None) is not None


def _needs(clause: Clause, modes: Modes) -> Needs:
    """What one clause needs bound: for each variable it cannot bind, an argument it stands in."""
    args = clause.head.args if isinstance(clause.head, Compound) else ()
    demanded: set[str] = set()
    needs: set[frozenset[int]] = set()
    while True:
        binder = Binder(modes, set(demanded))
        binder.run(clause.body)
        groups = [missing & named(args) for _, missing in binder.stuck]
        if not any(groups):
            groups = [{name} for name in named(args) - binder.bound]
        groups = [group - demanded for group in groups if group - demanded]
        if not groups:
            return frozenset(needs)
        # A goal that any one of several would set going is met by any argument with one of them.
        for group in groups:
            demanded |= group
            for each in [group] if _is_choice(group, binder) else [{name} for name in group]:
                needs.add(
                    frozenset(position for position, arg in enumerate(args) if named([arg]) & each)
                )


def _is_choice(group: set[str], binder: Binder) -> bool:
    """Is the group stuck at one need of a predicate, which any of its variables would meet?"""
    for goal, missing in binder.stuck:
        if group <= missing and isinstance(goal, Compound):
            known = builtin(goal.functor, len(goal.args))
            is_users = known is None or (known.library and binder.is_defined(goal))
            return is_users and len(list(binder.unmet(goal))) == 1
    return False
