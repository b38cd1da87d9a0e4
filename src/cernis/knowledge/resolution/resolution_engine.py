"""The resolution engine: goals proved by unification and backtracking, left to right.

It answers what no table and no column expression can: predicates that compute on lists, gather
answers, or recurse over numbers and terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from cernis.errors import KnowledgeError
from cernis.knowledge.ground_values import Row, Value, label, value
from cernis.knowledge.resolution.cells import Cell, Ref, cell_of, decode, deref, encode, parts
from cernis.knowledge.resolution.compiler import compile_body
from cernis.knowledge.resolution.database import Database
from cernis.knowledge.resolution.machine import Frame, Limits, Machine
from cernis.knowledge.resolution.prolog_arithmetic import Fault
from cernis.knowledge.scope import exposed
from cernis.syntax.printer import show
from cernis.syntax.tree import Term, functor

MEMO_LIMIT = 1_000_000
"""Argument tuples remembered, over all goals; beyond it, what is remembered is forgotten."""


class Resolver:
    """Proves goals over a database; remembers the answers of `solve_many`."""

    def __init__(self, database: Database, limits: Limits | None = None) -> None:
        self.database = database
        self.limits = limits or Limits()
        self._memo: dict[tuple[Term, tuple[str, ...]], dict[Row, tuple[Row, ...]]] = {}

    def solve(self, goal: Term, limit: int | None = None) -> Iterator[dict[str, Term]]:
        """The answers to a goal, one by one, at most `limit` of them.

        An answer gives each named variable of the goal its term; one that stays unbound is a
        `Variable`. The same answer may come more than once, as often as it can be proved.
        Raises `KnowledgeError` for what cannot be evaluated or has no end in sight.
        """
        names: dict[str, Ref] = {}
        proof = self._prove(goal, names)
        for _ in islice(proof, limit):
            yield _answer(goal, names)

    def solve_many(
        self, goal: Term, inputs: Sequence[str], tuples: Iterable[Row]
    ) -> dict[Row, tuple[Row, ...]]:
        """The answers to a goal for each distinct tuple of values of its input variables.

        An answer is the values of the other named variables, in reading order (`outputs`); for a
        goal without any it is the empty tuple, so a tuple for which the goal fails has no answer
        and one for which it holds has one. Answers are distinct, in the order they were found.
        Each tuple is proved once in the life of the resolver. Tuples hold plain Python values, and
        floats that are told apart from whole numbers by `told_apart`.
        """
        wanted = outputs(goal, inputs)
        memo = self._memo.setdefault((goal, tuple(inputs)), {})
        if sum(map(len, self._memo.values())) > MEMO_LIMIT:
            self._memo = {(goal, tuple(inputs)): (memo := {})}
        answers = {}
        for row in dict.fromkeys(tuples):
            if row not in memo:
                memo[row] = self._answers(goal, dict(zip(inputs, row, strict=True)), wanted)
            answers[row] = memo[row]
        return answers

    def _answers(
        self, goal: Term, inputs: dict[str, Value], wanted: Sequence[str]
    ) -> tuple[Row, ...]:
        names: dict[str, Cell] = {name: _bound(cell_of(each)) for name, each in inputs.items()}
        rows: dict[Row, None] = {}
        for _ in self._prove(goal, names):
            rows.setdefault(tuple(self._value(goal, name, names[name]) for name in wanted))
        return tuple(rows)

    def _value(self, goal: Term, name: str, cell: Cell) -> Value:
        try:
            unbound = any(type(part) is Ref for part in parts(cell))
        except Fault as fault:
            raise KnowledgeError(label(functor(goal)), f"`{show(goal)}` {fault}") from fault
        if unbound:
            message = f"an answer to `{show(goal)}` leaves {name} without a value"
            raise KnowledgeError(label(functor(goal)), f"{message}; bind it in every clause")
        return value(decode(cell))

    def _prove(self, goal: Term, names: dict[str, Cell]) -> Iterator[None]:
        def cell_of(name: str) -> Cell:
            return Ref() if name == "_" else names.setdefault(name, Ref())

        machine = Machine(self.database, self.limits)
        body = compile_body([encode(goal, cell_of)], label(functor(goal)))
        end: Frame = (None, [], 0, None, 0)
        return machine.prove(end if body is None else (body, [], 0, end, 1))


def _bound(cell: Cell) -> Ref:
    """A variable with a value: it is no part of the goal's text."""
    variable = Ref()
    variable.value = cell
    return variable


def _answer(goal: Term, names: dict[str, Cell]) -> dict[str, Term]:
    free = {deref(ref): name for name, ref in reversed(names.items())}
    given = {ref: name for ref, name in free.items() if type(ref) is Ref}
    try:
        return {name: decode(ref, given) for name, ref in names.items()}
    except Fault as fault:
        raise KnowledgeError(label(functor(goal)), f"`{show(goal)}` {fault}") from fault


def outputs(goal: Term, inputs: Sequence[str]) -> tuple[str, ...]:
    """The variables that answers to a goal give a value, but the inputs, in reading order."""
    names = dict.fromkeys(variable.name for variable in exposed(goal))
    return tuple(name for name in names if name not in inputs)
