"""A slow and obvious evaluator of Datalog with negation, over a small domain of integers.

It tries every value of the domain for every variable of a rule, again and again until no rule
gives anything new, one stratum after the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from cernis.syntax.tree import Clause, Compound, Number, Term, Variable, functor, variables

Facts = set[tuple[str, tuple[int, ...]]]


def evaluate(strata: Sequence[Sequence[Clause]], domain: Iterable[int]) -> Facts:
    """All facts that follow; a negated literal is of a lower stratum."""
    facts: Facts = set()
    values = list(domain)
    for stratum in strata:
        before = -1
        while len(facts) > before:
            before = len(facts)
            for clause in stratum:
                facts |= _derived(clause, facts, values)
    return facts


def _derived(clause: Clause, facts: Facts, domain: Sequence[int]) -> Facts:
    terms = (clause.head, *clause.body)
    names = sorted({each.name for term in terms for each in variables(term)})
    found = set()
    for values in product(domain, repeat=len(names)):
        given = dict(zip(names, values, strict=True))
        if all(_holds(goal, given, facts) for goal in clause.body):
            found.add(_fact(clause.head, given))
    return found


def _fact(term: Term, given: Mapping[str, int]) -> tuple[str, tuple[int, ...]]:
    assert isinstance(term, Compound)
    return term.functor, tuple(_number(arg, given) for arg in term.args)


def _number(term: Term, given: Mapping[str, int]) -> int:
    if isinstance(term, Variable):
        return given[term.name]
    assert isinstance(term, Number)
    return int(term.value)


def _holds(goal: Term, given: Mapping[str, int], facts: Facts) -> bool:
    assert isinstance(goal, Compound)
    if functor(goal) == ("\\+", 1):
        return not _holds(goal.args[0], given, facts)
    if goal.functor not in ("<", "=<", "=", "\\="):
        return _fact(goal, given) in facts
    left, right = (_number(arg, given) for arg in goal.args)
    return {
        "<": left < right, "=<": left <= right, "=": left == right, "\\=": left != right,
    }[goal.functor]  # fmt: skip
