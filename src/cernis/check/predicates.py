"""Predicates of background knowledge: calls of those that nothing defines, and unused ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cernis.check.goal_checks import calls
from cernis.check.model import Relation
from cernis.check.reporter import Report, misspelt, near
from cernis.errors import Note
from cernis.knowledge.resolution.builtins import builtin
from cernis.knowledge.unknown import refusal
from cernis.source import Span
from cernis.syntax.tree import Clause, Term, functor

_LISTED: Final = 20
"""How many predicates that facts are to define are listed."""


def check_predicates(
    roots: Iterable[Term], clauses: Mapping[Relation, list[Clause]], known: set[Relation],
    report: Report, quiet: set[Relation], facts_follow: bool = False,
) -> set[Relation]:  # fmt: skip
    """Report calls of predicates that are not there; gives those that rules reach.

    In clauses nothing reaches, an unknown predicate is a warning only. `quiet` are predicates
    that need no use: those of fact files, which many programs share. Where facts follow later, one
    note names the predicates that only they can define.
    """
    calling = _Calling(clauses, known, report, facts_follow)
    reached = calling.follow(list(roots))
    for relation, defining in clauses.items():
        if relation in reached:
            continue
        if relation not in quiet and not _is_builtin(relation):
            report.warn("C043", f"nothing uses {relation}", defining[0].head.span,
                        help="remove it, or use it")  # fmt: skip
        for clause in defining:
            for goal in clause.body:
                for call in calls(goal):
                    calling.check(call, is_reached=False)
    calling.say_awaited()
    return reached


def _is_builtin(relation: Relation) -> bool:
    return builtin(relation.name, relation.arity) is not None


@dataclass(slots=True)
class _Calling:
    """The calls of a program, each checked against what is defined."""

    clauses: Mapping[Relation, list[Clause]]
    known: set[Relation]
    report: Report
    facts_follow: bool
    awaited: dict[Relation, Span] = field(default_factory=dict)
    """Predicates that facts are to define, and where each is first called."""
    _arities: dict[str, int] = field(init=False)
    _near: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._arities = {r.name: r.arity for r in (*self.clauses, *self.known)}

    def follow(self, stack: list[Term]) -> set[Relation]:
        """The predicates that goals call, and those that their clauses call in turn."""
        reached: set[Relation] = set()
        while stack:
            for call in calls(stack.pop()):
                relation = Relation(*functor(call))
                self.check(call, is_reached=True)
                if relation in reached:
                    continue
                reached.add(relation)
                defining = self.clauses.get(relation, ())
                stack.extend(goal for clause in defining for goal in clause.body)
        return reached

    def check(self, call: Term, is_reached: bool) -> None:
        relation = Relation(*functor(call))
        name = relation.name
        if not name or relation in self.clauses or relation in self.known:
            return
        if _is_builtin(relation):
            return
        say = self.report.error if is_reached else self.report.warn
        if self._arities.get(name, relation.arity) != relation.arity:
            self._say_arity(call, relation, say)
        elif refused := refusal(name):
            say("C022", f"{relation} {refused[0]}", call.span, help=refused[1])
        elif self.facts_follow and self._is_left_to_facts(relation):
            self.awaited.setdefault(relation, call.span)
        else:
            say("C022", f"there is no predicate {relation}", call.span, help=self._help(relation))

    def say_awaited(self) -> None:
        """Name the predicates that facts are to define, in one note."""
        if not self.awaited:
            return
        names = sorted(map(str, self.awaited))
        listed = ", ".join(names[:_LISTED])
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        come = "1 predicate comes" if len(names) == 1 else f"{len(names)} predicates come"
        self.report.note(
            "C022", f"{come} from facts: {listed}{more}", min(self.awaited.values()),
            help="give the facts with --facts FILE, which checks these names too; a predicate "
            f"that may have none is declared: :- dynamic {names[0]}.",
        )  # fmt: skip

    def _say_arity(self, call: Term, relation: Relation, say: Callable[..., None]) -> None:
        other = Relation(relation.name, self._arities[relation.name])
        defining = self.clauses.get(other)
        notes = [Note("it is defined here", defining[0].head.span)] if defining else []
        say("C023", f"{other.name} has {other.arity} arguments, not {relation.arity}", call.span,
            *notes, help="write `_` for an argument that does not matter")  # fmt: skip

    def _is_left_to_facts(self, relation: Relation) -> bool:
        """Can facts define it: is it no slip of a name that is defined?"""
        if relation in self.awaited:
            return True
        slips = misspelt(relation.name, self._guesses(relation.name))
        return all(self._arities[slip] != relation.arity for slip in slips)

    def _help(self, relation: Relation) -> str:
        guesses = self._guesses(relation.name)
        if guesses:
            return f"did you mean {' or '.join(f'`{guess}`' for guess in guesses)}?"
        return f"give its facts with --facts FILE, or declare it: :- dynamic {relation}."

    def _guesses(self, name: str) -> list[str]:
        if name not in self._near:
            self._near[name] = near(name, self._arities)
        return self._near[name]
