"""Which instances of a fluent exist: grounding and domains (section 4 of the semantics)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cernis.syntax.tree import Clause, Compound, Term, functor

from .program import Program, fluent_of, is_pair
from .solve import Solver
from .terms import is_ground, one_relation, substitute, unify


class Domain:
    """The domains as filled from the records seen so far, and the grounding they give.

    `facts` are the members of dynamic domains: `id(P)` for each P seen in an input entity whose
    grounding says that P is an id.
    """

    def __init__(self, program: Program, told: Iterable[Term]) -> None:
        self._grounding = program.grounding
        facts = {fact for term in told for fact in _members(program, term)}
        self.facts = [Clause(fact) for fact in sorted(facts, key=repr)]
        known = [*program.background, *self.facts]
        self._solver = Solver(known, {("grounding", 1): self.allowed})
        self._allowed: dict[Term, bool] = {}

    def restricts(self, pair: Term) -> bool:
        """Has the pair's fluent grounding rules, for whatever value?"""
        return any(
            is_pair(clause.head) and one_relation(fluent_of(clause.head), fluent_of(pair))
            for clause in self._grounding
        )

    def allows(self, pair: Term) -> bool:
        """Does the ground pair exist?"""
        if pair not in self._allowed:
            exists = not self.restricts(pair) or any(True for _ in self.instances(pair))
            self._allowed[pair] = exists
        return self._allowed[pair]

    def allowed(self, goal: Term) -> Iterator[Term]:
        """The answers to the goal `grounding(F=V)`: pairs that grounding allows."""
        assert isinstance(goal, Compound)
        pair = goal.args[0]
        pairs = self.instances(pair)
        if is_ground(pair):
            pairs = iter([pair] if self.allows(pair) else [])
        for instance in dict.fromkeys(pairs):
            yield Compound("grounding", (instance,))

    def instances(self, pair: Term) -> Iterator[Term]:
        """The ground instances of a pair that grounding rules allow."""
        for clause in self._grounding:
            env = unify(clause.head, pair, {})
            if env is None:
                continue
            for answer in self._solver.solve(clause.body, env):
                instance = substitute(pair, {**env, **answer})
                if is_ground(instance):
                    yield instance


def _members(program: Program, term: Term) -> Iterator[Term]:
    """What an input entity adds to the dynamic domains."""
    for clause in program.grounding:
        env = unify(clause.head, term, {})
        if env is not None:
            for goal in clause.body:
                fact = substitute(goal, env)
                if functor(goal) in program.domains and is_ground(fact):
                    yield fact
