"""The shorthand `G=V iff ...` written out with union, intersection and relative complement."""

from __future__ import annotations

from itertools import count

from cernis.errors import UnsupportedError
from cernis.syntax.tree import Clause, Compound, Term, Variable

from .terms import listing


def expand(pair: Term, body: Term) -> Clause:
    """The rule `holdsFor(pair, I) :- ...` that the shorthand stands for.

    `,` and `and` intersect, `or` and `;` unite, `not` and `\\+` take away from the rest of
    their conjunction, or from all time if there is no rest. What is neither a fluent-value
    pair nor one of these is a background literal, which may not stand in an `or`.
    """
    writer = _Writer()
    result = writer.intervals(body)
    return Clause(Compound("holdsFor", (pair, result)), tuple(writer.goals))


class _Writer:
    def __init__(self) -> None:
        self.goals: list[Term] = []
        self._numbers = count(1)
        self._nested = 0

    def intervals(self, term: Term) -> Term:
        """Write the goals that compute the term's intervals; gives the variable they are in."""
        if isinstance(term, Compound) and term.functor in ("or", ";"):
            return self._disjunction(term.args)
        if isinstance(term, Compound) and term.functor == "=":
            return self._goal("holdsFor", term)
        if isinstance(term, Compound) and term.functor in (",", "and"):
            return self._conjunction(term.args)
        return self._conjunction((term,))

    def _disjunction(self, branches: tuple[Term, ...]) -> Term:
        self._nested += 1
        united = listing([self.intervals(branch) for branch in branches])
        self._nested -= 1
        return self._goal("union_all", united)

    def _conjunction(self, literals: tuple[Term, ...]) -> Term:
        positive: list[Term] = []
        negative: list[Term] = []
        for literal in literals:
            if isinstance(literal, Compound) and literal.functor in ("not", "\\+"):
                negative.append(literal.args[0])
            elif isinstance(literal, Compound) and literal.functor in ("=", "or", ";", ",", "and"):
                positive.append(literal)
            elif self._nested:
                raise UnsupportedError("a background literal in a disjunction of iff")
            else:
                self.goals.append(literal)
        held = [self.intervals(literal) for literal in positive]
        absent = listing([self.intervals(literal) for literal in negative])
        if not held:
            return self._goal("complement_all", absent)
        first = held[0] if len(held) == 1 else self._goal("intersect_all", listing(held))
        return self._goal("relative_complement_all", first, absent) if negative else first

    def _goal(self, name: str, *args: Term) -> Term:
        result = Variable(f"I{next(self._numbers)}")
        self.goals.append(Compound(name, (*args, result)))
        return result
