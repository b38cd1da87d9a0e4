"""Predicates as the machine calls them: rules tried in order, rows looked up by what is bound."""

# ruff: noqa: D102 - `call` and `resume` mean what `Procedure` and `ChoicePoint` say.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from cernis.errors import KnowledgeError
from cernis.knowledge.ground_values import Key, Row, label
from cernis.knowledge.resolution.cells import (
    Cell,
    Environment,
    Ref,
    Slot,
    cell_of,
    deref,
    encode,
    index_key,
    match,
    unify,
)
from cernis.knowledge.resolution.compiler import ClauseVariables, compile_body
from cernis.knowledge.resolution.library import ANSWERS, TESTS, Answers, Test
from cernis.knowledge.resolution.machine import AnswerChoice, ChoicePoint, Frame, Machine, Node
from cernis.knowledge.resolution.prelude import PRELUDE, prelude
from cernis.knowledge.unknown import unknown
from cernis.syntax.tree import Clause, Compound

_INDEXED: Final = 2
"""Clauses from which on an index over the first argument pays."""


class Procedure:
    """What answers a predicate."""

    __slots__ = ()

    def call(self, machine: Machine, args: Sequence[Cell], after: Frame) -> Frame | None:
        """Prove the predicate for the arguments: the frame to go on with, or None."""
        raise NotImplementedError


class CompiledClause:
    """A clause ready to use: the terms of its head, its body, and its number of variables."""

    __slots__ = ("body", "head", "size")

    def __init__(self, head: tuple[Cell, ...], body: Node | None, size: int) -> None:
        self.head = head
        self.body = body
        self.size = size

    def enter(self, machine: Machine, args: Sequence[Cell], after: Frame) -> Frame | None:
        """The frame of the body if the head fits; what an unfit head has bound is undone."""
        env: Environment = [None] * self.size
        trail = machine.trail
        mark = len(trail)
        for cell, actual in zip(self.head, args, strict=True):
            if not match(cell, actual, env, trail):
                machine.undo(mark)
                return None
        if self.body is None:
            return after
        return (self.body, env, len(machine.choices), after, after[4] + 1)


class Rules(Procedure):
    """Clauses, tried in order, those that the first argument rules out skipped."""

    __slots__ = ("_by_first", "_definitions", "_other")

    def __init__(self, definitions: Sequence[CompiledClause]) -> None:
        self._definitions = definitions
        self._by_first: dict[Cell, list[CompiledClause]] | None = None
        self._other: list[CompiledClause] = []
        if len(definitions) >= _INDEXED and definitions[0].head:
            self._index()

    def _index(self) -> None:
        buckets: dict[Cell, list[CompiledClause]] = {}
        for definition in self._definitions:
            first = definition.head[0]
            if type(first) is Slot:
                self._other.append(definition)
                for bucket in buckets.values():
                    bucket.append(definition)
            else:
                key = index_key(first)
                if key not in buckets:
                    buckets[key] = list(self._other)
                buckets[key].append(definition)
        self._by_first = buckets

    def _candidates(self, args: Sequence[Cell]) -> Sequence[CompiledClause]:
        if self._by_first is None:
            return self._definitions
        first = deref(args[0])
        if type(first) is Ref:
            return self._definitions
        return self._by_first.get(index_key(first), self._other)

    def call(self, machine: Machine, args: Sequence[Cell], after: Frame) -> Frame | None:
        return _try(machine, self._candidates(args), 0, args, after)


def _try(
    machine: Machine,
    definitions: Sequence[CompiledClause],
    position: int,
    args: Sequence[Cell],
    after: Frame,
) -> Frame | None:
    mark = len(machine.trail)
    count = len(definitions)
    while position < count:
        frame = definitions[position].enter(machine, args, after)
        position += 1
        if frame is not None:
            if position < count:
                machine.choices.append(ClauseChoice(mark, definitions, position, args, after))
            return frame
    return None


class ClauseChoice(ChoicePoint):
    """Try the clauses that are left."""

    __slots__ = ("after", "args", "definitions", "position")

    def __init__(
        self,
        mark: int,
        definitions: Sequence[CompiledClause],
        position: int,
        args: Sequence[Cell],
        after: Frame,
    ) -> None:
        self.mark = mark
        self.definitions = definitions
        self.position = position
        self.args = args
        self.after = after

    def resume(self, machine: Machine) -> Frame | None:
        return _try(machine, self.definitions, self.position, self.args, self.after)


class RowProcedure(Procedure):
    """Ground rows, found by the bound argument that leaves the fewest.

    A position is indexed when it is first bound in a call.
    """

    __slots__ = ("_indexes", "_load", "_rows")

    def __init__(self, load: Callable[[], Iterable[Row]]) -> None:
        self._load = load
        self._rows: list[tuple[Cell, ...]] | None = None
        self._indexes: dict[int, dict[Cell, list[tuple[Cell, ...]]]] = {}

    def _all(self) -> list[tuple[Cell, ...]]:
        if self._rows is None:
            self._rows = [tuple(map(cell_of, row)) for row in self._load()]
        return self._rows

    def _index(self, position: int) -> dict[Cell, list[tuple[Cell, ...]]]:
        if position not in self._indexes:
            index: dict[Cell, list[tuple[Cell, ...]]] = {}
            for row in self._all():
                index.setdefault(index_key(row[position]), []).append(row)
            self._indexes[position] = index
        return self._indexes[position]

    def _candidates(self, args: Sequence[Cell]) -> Sequence[tuple[Cell, ...]]:
        fewest: Sequence[tuple[Cell, ...]] = self._all()
        for position, arg in enumerate(args):
            if len(fewest) < 2:
                break
            bound = deref(arg)
            if type(bound) is not Ref:
                rows = self._index(position).get(index_key(bound), ())
                fewest = rows if len(rows) < len(fewest) else fewest
        return fewest

    def call(self, machine: Machine, args: Sequence[Cell], after: Frame) -> Frame | None:
        return _try_rows(machine, self._candidates(args), 0, args, after)


class InOrder(Procedure):
    """One procedure after the other."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Procedure, second: Procedure) -> None:
        self._first = first
        self._second = second

    def call(self, machine: Machine, args: Sequence[Cell], after: Frame) -> Frame | None:
        machine.choices.append(CallChoice(len(machine.trail), self._second, args, after))
        return self._first.call(machine, args, after)


class Native(Procedure):
    """A library predicate that Python computes."""

    __slots__ = ("_answers", "_test")

    def __init__(self, test: Test | None, answers: Answers | None) -> None:
        self._test = test
        self._answers = answers

    def call(self, machine: Machine, args: Sequence[Cell], after: Frame) -> Frame | None:
        if self._test is not None:
            return after if self._test(args, machine.trail) else None
        assert self._answers is not None
        answers = self._answers(args, machine.trail)
        return AnswerChoice(len(machine.trail), answers, after).resume(machine)


class CallChoice(ChoicePoint):
    """Call another procedure with the same arguments."""

    __slots__ = ("after", "args", "procedure")

    def __init__(self, mark: int, procedure: Procedure, args: Sequence[Cell], after: Frame) -> None:
        self.mark = mark
        self.procedure = procedure
        self.args = args
        self.after = after

    def resume(self, machine: Machine) -> Frame | None:
        return self.procedure.call(machine, self.args, self.after)


def _try_rows(
    machine: Machine,
    rows: Sequence[tuple[Cell, ...]],
    position: int,
    args: Sequence[Cell],
    after: Frame,
) -> Frame | None:
    trail = machine.trail
    mark = len(trail)
    count = len(rows)
    while position < count:
        row = rows[position]
        position += 1
        if all(unify(cell, actual, trail) for cell, actual in zip(row, args, strict=True)):
            if position < count:
                machine.choices.append(RowChoice(mark, rows, position, args, after))
            return after
        machine.undo(mark)
    return None


class RowChoice(ChoicePoint):
    """Try the rows that are left."""

    __slots__ = ("after", "args", "position", "rows")

    def __init__(
        self,
        mark: int,
        rows: Sequence[tuple[Cell, ...]],
        position: int,
        args: Sequence[Cell],
        after: Frame,
    ) -> None:
        self.mark = mark
        self.rows = rows
        self.position = position
        self.args = args
        self.after = after

    def resume(self, machine: Machine) -> Frame | None:
        return _try_rows(machine, self.rows, self.position, self.args, self.after)


class Database:
    """All predicates a proof may call; each is made ready when it is first called.

    `rows` answers a predicate by look-up, `clauses` by resolution; a predicate in both is
    answered by its rows first. `refused` gives, for a predicate that cannot be called, the reason.
    """

    def __init__(
        self,
        clauses: Mapping[Key, Sequence[Clause]],
        rows: Mapping[Key, Callable[[], Iterable[Row]]],
        recursive: Collection[Key] = (),
        refused: Mapping[Key, str] | None = None,
    ) -> None:
        self._clauses = clauses
        self._rows = rows
        self._refused = refused or {}
        self._recursive = frozenset(map(label, recursive))
        self._procedures: dict[Key, Procedure] = {}
        self._prelude: Mapping[Key, Sequence[Clause]] | None = None

    def is_recursive(self, owner: str) -> bool:
        """Can the predicate, named as in `p/1`, come to call itself?"""
        return owner in self._recursive

    def procedure(self, key: Key) -> Procedure:
        """What answers the predicate; an unknown one is an error that lists near names."""
        procedure = self._procedures.get(key)
        if procedure is None:
            procedure = self._procedures[key] = self._make(key)
        return procedure

    def _make(self, key: Key) -> Procedure:
        if key in self._refused:
            raise KnowledgeError(label(key), self._refused[key])
        clauses = self._clauses.get(key, ())
        if key in self._rows:
            rows = RowProcedure(self._rows[key])
            return InOrder(rows, _rules(clauses)) if clauses else rows
        return _rules(clauses) if key in self._clauses else self._library(key)

    def _library(self, key: Key) -> Procedure:
        if key in TESTS or key in ANSWERS:
            return Native(TESTS.get(key), ANSWERS.get(key))
        if key not in PRELUDE:
            raise KnowledgeError(label(key), unknown(key, self._clauses.keys() | self._rows.keys()))
        if self._prelude is None:
            self._prelude = prelude()
        return _rules(self._prelude[key])


def _rules(clauses: Sequence[Clause]) -> Rules:
    return Rules([definition(clause) for clause in clauses])


def definition(clause: Clause) -> CompiledClause:
    """A clause made ready to use."""
    head = clause.head
    scope = ClauseVariables()
    args = head.args if isinstance(head, Compound) else ()
    cells = tuple(encode(arg, scope.slot) for arg in args)
    name = head.functor if isinstance(head, Compound) else getattr(head, "name", "?")
    owner = label((name, len(args)))
    body = compile_body([encode(goal, scope.slot) for goal in clause.body], owner)
    return CompiledClause(cells, body, scope.size)
