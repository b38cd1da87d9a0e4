"""Lists that a rule combines and then measures or relates, as fluents with names of their own.

Over uncertain records, a union has a probability at each point, as every statically determined
fluent that is decided point by point. How long it lasts is measured on its credible intervals, so
the union has to be a fluent. So `union_all([A, B], C), intDurGreater(C, 10, I)` is read as if the
union were defined as a fluent of its own, which is no part of the results. Over certain records
both mean the same, and plans for these stay as they are written.

A list stays where it is if the rule needs more than the list's own parts to know its instances: if
a complement is among its operations, or a fact that binds a variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from cernis.check.checker import Checked, checked_again
from cernis.check.model import (
    Condition,
    HoldsFor,
    IntervalOperation,
    NotEmpty,
    Pair,
    Relation,
    StaticLiteral,
    StaticRule,
)
from cernis.syntax.tree import Atom, Term, Variable, variables

POINTWISE: Final = frozenset(
    {"union_all", "intersect_all", "relative_complement_all", "complement_all"}
)
"""The operations on lists that can be decided point by point."""

_WORD: Final = "combined"


def with_named_combinations(checked: Checked) -> Checked:
    """The program in which all lists that are combined before they are measured are fluents."""
    definitions, rules, parts = checked.definitions, list[StaticRule](), list[StaticRule]()
    counts = Counter[Relation]()
    for rule in definitions.statics:
        names = _Names(rule, counts[rule.pair.relation] + 1)
        rules.append(names.applied())
        parts += names.parts
        counts[rule.pair.relation] += len(names.parts)
    if not parts:
        return checked
    hidden = {part.pair.relation for part in parts}
    named = replace(definitions, statics=[*rules, *parts], auxiliary=definitions.auxiliary | hidden)
    return checked_again(named, checked, checked.clauses, checked.tables)


def setting_names(relation: Relation) -> tuple[str, ...]:
    """The names by which users give settings of a fluent; a part has those of the fluent it is in.

    They are the name with the number of arguments, and the name alone.
    """
    word, _, owner = relation.name.partition(" in ")
    if word.startswith(f"{_WORD} ") and owner:
        return owner, owner.rpartition("/")[0]
    return str(relation), relation.name


@dataclass
class _Names:
    """Gives names to the lists of one rule; `parts` are the rules of what has a name now."""

    rule: StaticRule
    first_number: int
    parts: list[StaticRule] = field(default_factory=list)

    def applied(self) -> StaticRule:
        """The rule that asks for what has a name."""
        rule = self.rule
        if rule.cut is not None or any(isinstance(each, NotEmpty) for each in rule.body):
            return rule
        named = {name: self._part(name) for name in self._measured()}
        named_pairs = {name: pair for name, pair in named.items() if pair is not None}
        if not named_pairs:
            return rule
        body = [
            HoldsFor(named_pairs[literal.output], literal.output, literal.span)
            if isinstance(literal, IntervalOperation) and literal.output in named_pairs
            else literal
            for literal in rule.body
        ]
        gone = {each for name in named_pairs for each in self._closure(name)} - named_pairs.keys()
        return replace(rule, body=tuple(_without(body, gone, rule.output)))

    def _measured(self) -> list[str]:
        """The lists that operations need as a whole and that others combine, each once."""
        names = [
            name
            for literal in self.rule.body
            if isinstance(literal, IntervalOperation) and literal.operator not in POINTWISE
            for name in literal.inputs
            if isinstance(self._source(name), IntervalOperation)
        ]
        return list(dict.fromkeys(names))

    def _source(self, name: str) -> HoldsFor | IntervalOperation | None:
        """The literal that a list comes from."""
        for literal in self.rule.body:
            if isinstance(literal, HoldsFor) and literal.intervals == name:
                return literal
            if isinstance(literal, IntervalOperation) and literal.output == name:
                return literal
        return None

    def _closure(self, name: str) -> list[str]:
        """A list, and all that it is combined from; each once."""
        source, names = self._source(name), [name]
        for part in source.inputs if isinstance(source, IntervalOperation) else ():
            names += self._closure(part)
        return list(dict.fromkeys(names))

    def _part(self, name: str) -> Pair | None:
        """The pair that a list is from now on; None if it cannot be one."""
        sources = [self._source(each) for each in self._closure(name)]
        operations = [each for each in sources if isinstance(each, IntervalOperation)]
        parts = [each for each in sources if isinstance(each, HoldsFor)]
        are_pointwise = all(own.operator in POINTWISE and own.filter is None for own in operations)
        args = list(dict.fromkeys(v for part in parts for v in _named(_terms(part.pair))))
        bound = self._bound(name)
        if not are_pointwise or len(parts) + len(operations) < len(sources) or bound < {*args}:
            return None
        number = self.first_number + len(self.parts)
        span = operations[0].span
        pair = Pair(
            Relation(f"{_WORD} {number} in {self.rule.pair.relation}", len(args)),
            tuple(Variable(arg, span) for arg in args), Atom("true", span), span,
        )  # fmt: skip
        pair = replace(pair, term=Atom(str(pair.relation), span))
        filters = [
            each for each in self.rule.body
            if isinstance(each, Condition) and {*_named([each.goal])} <= bound
        ]  # fmt: skip
        body = [each for each in self.rule.body if each in sources or each in filters]
        self.parts.append(StaticRule(pair, tuple(body), name, span))
        return pair

    def _bound(self, name: str) -> frozenset[str]:
        """The variables that are bound wherever a list may have intervals."""
        source = self._source(name)
        if isinstance(source, HoldsFor):
            return frozenset(_named(_terms(source.pair)))
        if source is None or not source.inputs or source.operator == "complement_all":
            return frozenset()
        of_inputs = [self._bound(each) for each in source.inputs]
        if source.operator == "union_all":
            return frozenset.intersection(*of_inputs)
        if source.operator == "intersect_all":
            return frozenset.union(*of_inputs)
        return of_inputs[0]


def _without(body: list[StaticLiteral], gone: set[str], output: str) -> list[StaticLiteral]:
    """A body without those of some lists that nothing asks for any more."""
    while True:
        inputs = {
            name for each in body if isinstance(each, IntervalOperation) for name in each.inputs
        }
        unused = gone - inputs - {output}
        kept = [each for each in body if _output(each) not in unused]
        if len(kept) == len(body):
            return kept
        body = kept


def _output(literal: StaticLiteral) -> str | None:
    if isinstance(literal, HoldsFor):
        return literal.intervals
    return literal.output if isinstance(literal, IntervalOperation) else None


def _terms(pair: Pair) -> tuple[Term, ...]:
    return (*pair.args, pair.value)


def _named(terms: Iterable[Term]) -> list[str]:
    """The names of variables in terms; what has no name may be anything."""
    return [v.name for term in terms for v in variables(term) if v.name != "_"]
