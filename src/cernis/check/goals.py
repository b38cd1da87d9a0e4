"""Goals of background knowledge: what they call, and what they bind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cernis.check.model import Relation
from cernis.knowledge.builtins import builtin
from cernis.syntax.tree import (
    Clause,
    Compound,
    Term,
    Variable,
    conjuncts,
    functor,
    variables,
)

Modes = Mapping[Relation, frozenset[int]]
"""For each predicate, the positions that must be bound when it is called; it binds the others."""

_NEGATIONS = (("\\+", 1), ("not", 1))
_COLLECTIONS = frozenset({("findall", 3), ("findall", 4), ("aggregate_all", 3), ("bagof", 3),
                          ("setof", 3), ("forall", 2)})  # fmt: skip


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
            stack.extend(term.args[at] for at in reversed(known.goals))
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
        inner.run(conjuncts(goal.args[1]) if goal.functor != "forall" else goal.args)
        if inner.stuck:
            return False
        if goal.functor != "forall":
            self.bound |= named(goal.args[2:])
        return True

    def _unify(self, goal: Compound) -> bool:
        left, right = (named([arg]) for arg in goal.args)
        if left <= self.bound or right <= self.bound:
            self.bound |= left | right
            return True
        return False

    def _call(self, goal: Compound) -> bool:
        known = builtin(goal.functor, len(goal.args))
        if known is not None and not (known.library and self._defined(goal)):
            for mode in known.modes:
                if all(named([goal.args[at]]) <= self.bound for at in mode.needs):
                    self.bound |= named(goal.args[at] for at in mode.binds)
                    return True
            return False
        needs = self.modes.get(Relation(goal.functor, len(goal.args)), frozenset())
        if all(named([goal.args[at]]) <= self.bound for at in needs):
            self.bound |= named(goal.args)
            return True
        return False

    def _defined(self, goal: Compound) -> bool:
        return Relation(goal.functor, len(goal.args)) in self.modes

    def _lacking(self, goal: Term) -> set[str]:
        """Variables without a value that keep a goal from running.

        In a negation, a variable that begins with `_` stands for anything and may lack one.
        """
        if functor(goal) in _NEGATIONS:
            return {name for name in self._unbound([goal]) if not name.startswith("_")}
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
            yield self._unbound(goal.args[1:2])
        elif known is not None and not (known.library and self._defined(goal)):
            for mode in known.modes:
                yield self._unbound(goal.args[at] for at in mode.needs)
        else:
            needs = self.modes.get(Relation(goal.functor, len(goal.args)), frozenset())
            yield self._unbound(goal.args[at] for at in needs)

    def culprits(self) -> list[tuple[Term, set[str]]]:
        """The stuck goals that are not merely waiting for another stuck goal."""
        # What a goal lacks it does not promise, so its own promise may be among the others'.
        promised = {name for goal, lacks in self.stuck for name in named([goal]) - lacks}
        found = [(goal, missing - promised) for goal, missing in self.stuck]
        return [(goal, rest) for goal, rest in found if rest] or self.stuck


def infer_modes(clauses: Mapping[Relation, list[Clause]]) -> dict[Relation, frozenset[int]]:
    """The positions each predicate needs bound, from the clauses that define it.

    Starts from needing nothing and adds what some clause cannot do without, until that is all:
    the smallest sets, so recursion asks for no more than its other clauses do.
    """
    modes: dict[Relation, frozenset[int]] = dict.fromkeys(clauses, frozenset())
    with_bodies = {
        relation: [clause for clause in own if clause.body or _open(clause)]
        for relation, own in clauses.items()
    }
    changed = True
    while changed:
        changed = False
        for relation, own in with_bodies.items():
            needs = modes[relation].union(*(_needs(clause, modes) for clause in own))
            if needs != modes[relation]:
                modes[relation] = needs
                changed = True
    return modes


def _open(clause: Clause) -> bool:
    return next(variables(clause.head), None) is not None


def _needs(clause: Clause, modes: Modes) -> frozenset[int]:
    """The positions of the head that one clause needs bound."""
    args = clause.head.args if isinstance(clause.head, Compound) else ()
    demanded: set[str] = set()
    while True:
        binder = Binder(modes, set(demanded))
        binder.run(clause.body)
        unbound = named(args) - binder.bound
        lacking = {name for _, missing in binder.stuck for name in missing} & named(args)
        more = (lacking or unbound) - demanded
        if not more:
            break
        demanded |= more
    return frozenset(_position(name, args) for name in demanded)


def _position(name: str, args: tuple[Term, ...]) -> int:
    """The argument that is to bring a variable's value: one that is just it, else the first."""
    places = [at for at, arg in enumerate(args) if name in named([arg])]
    return next((at for at in places if isinstance(args[at], Variable)), places[0])
