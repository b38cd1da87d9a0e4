"""Which variables of a rule are free: a name that begins with `_`, from here on.

Texts say it in two ways. A variable that stands in one negated literal and nowhere else is read as
"for no value", whatever its name: it gets a `_` in front. And a variable that a negation shares
with the head or with a positive literal is one variable, whatever its name: `_C` in the head and in
a negation loses its `_`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cernis.check.model import (
    Collect,
    Condition,
    Definitions,
    Either,
    Event,
    Literal,
    Pair,
    Unless,
)
from cernis.check.rewrites.renaming import (
    rename_in_body,
    rename_in_event,
    rename_in_pair,
    terms_in,
    terms_of,
)
from cernis.check.rewrites.rewriting import Scope
from cernis.knowledge.call_graph import NEGATIONS
from cernis.syntax.tree import Compound, Term, Variable, functor, variables, walk


def mark_free_variables(definitions: Definitions) -> None:
    """Let names say of each variable of rules over time-points whether it is free."""
    for index, rule in enumerate(definitions.changes):
        rename = _renaming(rule.pair, rule.time, rule.body)
        if rename is not None:
            definitions.changes[index] = replace(
                rule, pair=rename_in_pair(rule.pair, rename), body=rename_in_body(rule.body, rename)
            )
    for index, event in enumerate(definitions.events):
        rename = _renaming(event.event, event.time, event.body)
        if rename is not None:
            definitions.events[index] = replace(
                event, event=rename_in_event(event.event, rename),
                body=rename_in_body(event.body, rename),
            )  # fmt: skip


class _Renaming:
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def __call__(self, variable: Variable) -> Term:
        name = self._names.get(variable.name)
        return variable if name is None else Variable(name, variable.span)


def _renaming(head: Pair | Event, time: str, body: tuple[Literal, ...]) -> _Renaming | None:
    negated = [_counted(terms) for terms in _negated(body)]
    if not negated:
        return None
    terms = [head.term, Variable(time), *terms_in(body)]
    counts, scope = _counted(terms), Scope(terms)
    only_negated = sum(negated, Counter())
    names: dict[str, str] = {}
    for inside in negated:
        for name, count in inside.items():
            plain = name.lstrip("_") or "V"
            if not name.startswith("_") and counts[name] == count:
                names[name] = scope.fresh(f"_{plain}", head.span).name
            elif name.startswith("_") and counts[name] > only_negated[name]:
                names.setdefault(name, scope.fresh(plain, head.span).name)
    return _Renaming(names) if names else None


def _counted(terms: Iterable[Term]) -> Counter[str]:
    return Counter(v.name for term in terms for v in variables(term) if v.name != "_")


def _negated(body: Iterable[Literal]) -> Iterator[Iterable[Term]]:
    """The terms of each negated literal of a body, at any depth."""
    for literal in body:
        if isinstance(literal, Either):
            for branch in literal.branches:
                yield from _negated(branch)
        elif isinstance(literal, (Unless, Collect)):
            yield from _negated(literal.body)
        elif literal.negated and isinstance(literal, Condition):
            yield from _refuted(literal.goal)
        elif literal.negated:
            yield terms_of(literal)


def _refuted(goal: Term) -> Iterator[Iterable[Term]]:
    """The goals, each by itself, that must have no answer for this one to have none.

    Of a conjunction these are the goals of its own negations: a variable of its other goals gets
    its values from them, and is not free.
    """
    if isinstance(goal, Compound) and goal.functor == ";":
        for branch in goal.args:
            yield from _refuted(branch)
    elif isinstance(goal, Compound) and goal.functor in (",", "->"):
        for part in walk(goal):
            if isinstance(part, Compound) and functor(part) in NEGATIONS:
                yield from _refuted(part.args[0])
    else:
        yield [goal]
