"""The first clause that succeeds: how the dialect `rtec` reads several clauses of one pair.

A clause does not succeed for an instance if one of its goals fails, or if a list that must not be
empty is; goals after a `!` do not count, since there is no way back across it. A later clause then
counts only where each earlier one of the same pair does not succeed: it is written once for each
way in which they may fail, with the conditions of that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final, TypeAlias

from cernis.check.goal_checks import named
from cernis.check.model import (
    Condition,
    Definitions,
    HoldsFor,
    IntervalFilter,
    IntervalOperation,
    NotEmpty,
    Pair,
    StaticLiteral,
    StaticRule,
)
from cernis.check.reporter import Report
from cernis.check.rewrites.renaming import VariableRenaming, rename_in_pair
from cernis.check.rewrites.rewriting import renamed
from cernis.syntax.tree import Compound, Term, Variable

Literals: TypeAlias = tuple[StaticLiteral, ...]

_MOST_WAYS: Final = 1000
"""In so many ways the earlier clauses of a pair may fail: each is a clause of its own."""


def obey_clause_order(definitions: Definitions, report: Report) -> None:
    """Let of several clauses of one pair the first count that succeeds."""
    done: list[StaticRule] = []
    for position, rule in enumerate(definitions.statics):
        ways = [
            _failures(earlier, rule.pair, number, report)
            for number, earlier in enumerate(definitions.statics[:position])
        ]
        if prod(map(len, ways)) > _MOST_WAYS:
            report.error(
                "C010", f"the clauses of {rule.pair} before this one can fail in too many ways "
                "to say which is the first that succeeds", rule.span,
                help="write fewer clauses, or read the file in the dialect cernis, which unites "
                "them",
            )  # fmt: skip
            continue
        done += [
            replace(rule, body=(*rule.body, *(each for way in chosen for each in way)))
            for chosen in product(*ways)
        ]
    definitions.statics = done


def note_cuts(definitions: Definitions, report: Report) -> None:
    """Say of cuts that all clauses count, where another could be meant not to."""
    for rule in definitions.statics:
        others = [each for each in definitions.statics if each is not rule and each.output]
        if rule.cut is not None and any(_same(rule.pair, each.pair) for each in others):
            report.note(
                "C049", f"the cut has no meaning here: all clauses of {rule.pair} count", rule.span,
                help="let conditions exclude one another, or read the file in the dialect rtec",
            )  # fmt: skip


def without_empty_clauses(definitions: Definitions) -> None:
    """Leave out clauses that only say that there are no intervals."""
    definitions.statics = [rule for rule in definitions.statics if rule.output]


def _failures(earlier: StaticRule, head: Pair, number: int, report: Report) -> list[Literals]:
    """The ways in which an earlier clause does not succeed for what a head is about.

    A clause about other pairs never succeeds: there is one way, without conditions.
    """
    same = _same(earlier.pair, head)
    if same is None:
        return [()]
    meant, apart = same
    rename = _Renaming(meant, number)
    tests = earlier.body if earlier.cut is None else earlier.body[: earlier.cut]
    lists = tuple(_without_tests(earlier.body, rename))
    ways: list[Literals] = [(Condition(goal, False, head.span),) for goal in apart]
    goals = [literal for literal in tests if isinstance(literal, Condition)]
    if goals:
        ways.append((_negated(goals, earlier, rename, report),))
    ways += [
        (*lists, NotEmpty(rename.list(literal.intervals), literal.span, not literal.negated))
        for literal in tests
        if isinstance(literal, NotEmpty)
    ]
    return ways


def _same(earlier: Pair, head: Pair) -> tuple[dict[str, Term], list[Term]] | None:
    """What the variables of an earlier head stand for, and the goals under which heads differ."""
    if earlier.relation != head.relation:
        return None
    meant: dict[str, Term] = {}
    apart: list[Term] = []
    theirs, ours = (*earlier.args, earlier.value), (*head.args, head.value)
    for term, mine in zip(theirs, ours, strict=True):
        if isinstance(term, Variable) and term.name not in meant:
            meant[term.name] = mine
            continue
        other = meant[term.name] if isinstance(term, Variable) else term
        if isinstance(mine, Variable) or isinstance(other, Variable):
            apart.append(Compound("\\==", (mine, other), head.span))
        elif mine != other:
            return None
    return meant, apart


class _Renaming:
    """The variables and lists of an earlier clause under names that no other clause uses."""

    def __init__(self, meant: dict[str, Term], number: int) -> None:
        self._meant = meant
        self._number = number

    def __call__(self, variable: Variable) -> Term:
        if variable.name == "_":
            return variable
        local = Variable(f"_{variable.name} of clause {self._number}", variable.span)
        return self._meant.get(variable.name, local)

    def list(self, name: str) -> str:
        """The name of a list of intervals."""
        return f"{name} of clause {self._number}"


def _without_tests(body: Literals, rename: _Renaming) -> Iterator[StaticLiteral]:
    """The literals that compute lists."""
    for literal in body:
        if isinstance(literal, HoldsFor):
            pair = rename_in_pair(literal.pair, rename)
            yield replace(literal, pair=pair, intervals=rename.list(literal.intervals))
        elif isinstance(literal, IntervalOperation):
            yield replace(
                literal, inputs=tuple(map(rename.list, literal.inputs)),
                output=rename.list(literal.output),
                parameters=tuple(renamed(each, rename) for each in literal.parameters),
                filter=literal.filter and _renamed_filter(literal.filter, rename),
            )  # fmt: skip


def _renamed_filter(picks: IntervalFilter, rename: VariableRenaming) -> IntervalFilter:
    start, end = (rename(Variable(name)) for name in (picks.start, picks.end))
    assert isinstance(start, Variable)
    assert isinstance(end, Variable)
    conditions = (replace(each, goal=renamed(each.goal, rename)) for each in picks.conditions)
    return IntervalFilter(start.name, end.name, tuple(conditions))


def _negated(
    goals: Iterable[Condition], earlier: StaticRule, rename: VariableRenaming, report: Report
) -> Condition:
    """That not all of the goals hold."""
    known = named((*earlier.pair.args, earlier.pair.value))
    fetched = [each.pair for each in earlier.body if isinstance(each, HoldsFor)]
    local = named(term for pair in fetched for term in (*pair.args, pair.value)) - known
    whole: Term | None = None
    for literal in goals:
        if local & named([literal.goal]):
            report.error(
                "C062", "whether a clause succeeds must not depend on what only its fluents bind",
                literal.span,
                help="in the dialect rtec the first clause that succeeds counts; let goals be "
                "about variables of the head",
            )  # fmt: skip
        goal = renamed(literal.goal, rename)
        goal = Compound("\\+", (goal,), literal.span) if literal.negated else goal
        whole = goal if whole is None else Compound(",", (whole, goal), literal.span)
    assert whole is not None
    return Condition(whole, True, earlier.span)
