"""The shorthand `G=V iff ...`: a Boolean combination of pairs, as operations on intervals."""

from __future__ import annotations

from dataclasses import dataclass, field

from cernis.check.clause_parts import pair_of
from cernis.check.model import (
    Condition,
    HoldsFor,
    IntervalOperation,
    Pair,
    StaticLiteral,
    StaticRule,
)
from cernis.check.reporter import Report
from cernis.source import Span
from cernis.syntax.tree import Clause, Compound, Term, functor

_AND = (",", "and")
_OR = (";", "or")
_NOT = (("\\+", 1), ("not", 1))


def expand_iff(clause: Clause, pair: Pair, body: Term, report: Report) -> StaticRule | None:
    """`or` is a union, `,` and `and` an intersection, `not` a relative complement.

    A goal that is no fluent-value pair is a condition on the arguments.
    """
    expansion = _Expansion(report)
    output = expansion.expand(body)
    if expansion.failed:
        return None
    if output is None:
        report.error("C061", "there is no fluent after this iff", body.span,
                     help="name at least one fluent with its value")  # fmt: skip
        return None
    return StaticRule(pair, tuple(expansion.literals), output, clause.span)


@dataclass(slots=True)
class _Expansion:
    report: Report
    literals: list[StaticLiteral] = field(default_factory=list)
    failed: bool = False
    count: int = 0

    def expand(self, term: Term) -> str | None:
        """The name of the intervals of a term; None if it is a condition and has none."""
        name = functor(term)
        if isinstance(term, Compound) and term.functor in _OR and len(term.args) > 1:
            return self._union(term)
        if isinstance(term, Compound) and term.functor in _AND and len(term.args) > 1:
            return self._intersection(term.args, term.span)
        if name in _NOT or name == ("=", 2):
            return self._intersection((term,), term.span)
        self.literals.append(Condition(term, False, term.span))
        return None

    def _union(self, term: Compound) -> str | None:
        before = len(self.literals)
        names = [self.expand(arg) for arg in term.args]
        # A condition inside of one branch would hold for the others too.
        if any(isinstance(literal, Condition) for literal in self.literals[before:]):
            self.failed = True
            self.report.error(
                "C061", "`or` joins fluents with their values only", term.span,
                help="put a condition on the arguments beside the `or`, or write two rules",
            )  # fmt: skip
        return self._operation("union_all", [name for name in names if name], term.span)

    def _intersection(self, terms: tuple[Term, ...], span: Span) -> str | None:
        positive: list[str] = []
        negative: list[str] = []
        for term in terms:
            if functor(term) in _NOT:
                self._negated(term, negative)
            elif functor(term) == ("=", 2):
                positive.extend(self._pair(term))
            else:
                name = self.expand(term)
                positive.extend([name] if name else [])
        return self._combine(positive, negative, span)

    def _negated(self, term: Term, negative: list[str]) -> None:
        assert isinstance(term, Compound)
        inner = term.args[0]
        if functor(inner) == ("=", 2):
            negative.extend(self._pair(inner))
        elif functor(inner)[0] in (*_OR, *_AND) or functor(inner) in _NOT:
            self._negated_combination(inner, term.span, negative)
        else:
            self.literals.append(Condition(inner, True, term.span))

    def _negated_combination(self, inner: Term, span: Span, negative: list[str]) -> None:
        """The negation of several fluents takes their intervals away, that of conditions is one."""
        before = len(self.literals)
        name = self.expand(inner)
        if name is None:
            self.literals[before:] = [Condition(inner, True, span)]
        elif any(isinstance(literal, Condition) for literal in self.literals[before:]):
            self.failed = True
            self.report.error(
                "C061", "a negation is of fluents or of conditions on arguments, not of both", span,
                help="write two rules, or one fluent more",
            )  # fmt: skip
        else:
            negative.append(name)

    def _combine(self, positive: list[str], negative: list[str], span: Span) -> str | None:
        if not positive:
            if not negative:
                return None
            return self._operation("complement_all", negative, span)
        both = positive[0]
        if len(positive) > 1:
            both = self._operation("intersect_all", positive, span)
        if negative:
            return self._operation("relative_complement_all", [both, *negative], span)
        return both

    def _pair(self, term: Term) -> list[str]:
        pair = pair_of(term, self.report, "iff")
        if pair is None:
            self.failed = True
            return []
        name = self._fresh()
        self.literals.append(HoldsFor(pair, name, term.span))
        return [name]

    def _operation(self, operator: str, inputs: list[str], span: Span) -> str:
        name = self._fresh()
        self.literals.append(IntervalOperation(operator, tuple(inputs), name, (), span))
        return name

    def _fresh(self) -> str:
        self.count += 1
        return f"I{self.count}"
