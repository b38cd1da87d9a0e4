"""Patterns that build upon themselves: rounds until nothing changes.

What ends at a point depends on what ended before it, or on what ends there and is shorter: each
step of a recursion extends the interval. So each round makes right at least one more length of
every chain, keeps right what is, and a state that no round changes is the answer.

Where rounds can only add (unrestricted consumption, nothing absent that is being defined) and each
rule looks at one such occurrence at a time, only what the last round has added is combined with
the rest. The work is then that of the occurrences there are, and not of the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from cernis.check.model import Boundary, Event, Relation
from cernis.errors import KnowledgeError
from cernis.kernels.array_types import Array, Integers
from cernis.kernels.hashing import Numbering
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.patterns.derived_events import evaluate_event
from cernis.operators.patterns.pattern_operators import history_key, known_occurrences
from cernis.operators.query_context import Context
from cernis.plan.logical import Definition, Match, Stratum
from cernis.plan.pattern_steps import Join, Occurrences, Refine, Slide, Step, steps_of
from cernis.tables.event_tables import EventTable, stacked

CarriedOver: TypeAlias = dict[Relation, Carried]
Evaluate: TypeAlias = Callable[[Definition, Context, CarriedOver], int]

MOST_ROUNDS = 20_000
"""More rounds than this are taken for a recursion without end."""


def has_patterns(stratum: Stratum) -> bool:
    """Is some relation of a stratum defined by a pattern?"""
    return any(True for _ in _matches(stratum))


def settle(stratum: Stratum, evaluate: Evaluate, context: Context, carried: CarriedOver) -> int:
    """Leave what no round changes in the context; gives the conflicts between values."""
    recursion = Recursion(stratum, context)
    if recursion.only_adds:
        recursion.add_up()
        return 0
    before: list[Array] = []
    for _ in range(MOST_ROUNDS):
        recursion.forget()
        conflicts = sum(evaluate(own, context, carried) for own in stratum.definitions)
        now = [column for relation in stratum.relations for column in _state(relation, context)]
        if len(now) == len(before) and all(map(np.array_equal, now, before)):
            return conflicts
        before = now
    raise _endless(stratum)


def _endless(stratum: Stratum) -> KnowledgeError:
    name = stratum.relations[0].name
    return KnowledgeError(
        name, "the recursion has no end in sight; let each step add a later event"
    )


def _matches(stratum: Stratum) -> Iterator[Match]:
    return (rule for own in stratum.definitions for rule in own.rules if isinstance(rule, Match))


class Recursion:
    """A stratum whose patterns depend on one another."""

    def __init__(self, stratum: Stratum, context: Context) -> None:
        self._stratum = stratum
        self._own = frozenset(stratum.relations)
        self._context = context
        steps = [step for rule in _matches(stratum) for step in steps_of(rule.part.step)]
        self._resting = [id(step) for step in steps if self._rests(step)]

    def _rests(self, step: Step) -> bool:
        return any(self._is_own(below) for below in steps_of(step))

    def _is_own(self, step: Step) -> bool:
        return isinstance(step, Occurrences) and _relation(step) in self._own

    def forget(self) -> None:
        """Forget what was matched with what the last round had."""
        for step in self._resting:
            self._context.matched.pop(step, None)

    # -- where rounds only add --------------------------------------------------------------

    @property
    def only_adds(self) -> bool:
        """Is all defined by patterns that only add, each with one look at what is defined?"""
        rules = [rule for own in self._stratum.definitions for rule in own.rules]
        return all(isinstance(rule, Match) and self._is_linear(rule) for rule in rules)

    def _is_linear(self, rule: Match) -> bool:
        steps = list(steps_of(rule.part.step))
        absent = [step.absent.part.step for step in steps if isinstance(step, Join) and step.absent]
        return (
            rule.consumption == "unrestricted"
            and sum(map(self._is_own, steps)) <= 1
            and not any(map(self._rests, absent))
            and not any(_slides(step) and self._rests(step) for step in steps)
        )

    def add_up(self) -> None:
        """Combine, round by round, what is new with the rest."""
        context = self._context
        definitions = {own.relation: own for own in self._stratum.definitions}
        found: dict[Relation, list[EventTable]] = {relation: [] for relation in definitions}
        seen = {relation: Seen() for relation in definitions}
        for relation in definitions:
            context.events.pop(relation, None)
        history = dict(context.history)
        for at in range(self._most_rounds()):
            self.forget()
            new = {
                relation: seen[relation].new_of(evaluate_event(relation, own, context))
                for relation, own in definitions.items()
            }
            for relation, table in new.items():
                found[relation].append(table)
                context.events[relation] = table
                context.history.pop(("event", relation), None)
            if not any(map(len, new.values())):
                break
            if at == 0:
                definitions = self._recursive(definitions)
        else:
            raise _endless(self._stratum)
        context.history.update(history)
        context.events.update({relation: stacked(own) for relation, own in found.items()})
        self.forget()

    def _most_rounds(self) -> int:
        """Each round extends intervals by an edge of something that is not being defined."""
        atoms = {
            history_key(step.atom): step.atom
            for rule in _matches(self._stratum)
            for step in steps_of(rule.part.step)
            if isinstance(step, Occurrences) and not self._is_own(step)
        }
        edges = sum(2 * len(known_occurrences(atom, self._context)) for atom in atoms.values())
        # A rule that gives an event another name extends nothing.
        return min(len(self._stratum.definitions) * (edges + 10), MOST_ROUNDS)

    def _recursive(self, definitions: dict[Relation, Definition]) -> dict[Relation, Definition]:
        """The rules that can still give something new once the others have been evaluated."""
        return {
            relation: Definition(
                relation, own.kind, own.values,
                tuple(r for r in own.rules if isinstance(r, Match) and self._rests(r.part.step)),
            )
            for relation, own in definitions.items()
        }  # fmt: skip


class Seen:
    """The occurrences that there have been, by numbers for their arguments, start and end."""

    def __init__(self) -> None:
        self._numberings: list[Numbering] = []

    def new_of(self, table: EventTable) -> EventTable:
        """The rows that have not been there before, each once."""
        assert table.starts is not None
        columns = [table.starts, table.times, *table.arguments]
        if not self._numberings:
            self._numberings = [Numbering() for _ in range(2 * len(columns) - 1)]
        count = len(self._numberings[-1])
        which = self._number(columns)
        new = np.flatnonzero(which >= count)
        first = np.unique(which[new], return_index=True)[1]
        return table.take(np.sort(new[first]))

    def _number(self, columns: list[Array]) -> Integers:
        """A number for each row; equal rows have the same one."""
        codes = [
            numbering.of(_bits(column))
            for numbering, column in zip(self._numberings, columns, strict=False)
        ]
        which = codes[0]
        for numbering, own in zip(self._numberings[len(columns) :], codes[1:], strict=True):
            which = numbering.of((which << 31) | own)
        return which


def _slides(step: Step) -> bool:
    """Is there a window over matches, in which each depends on those before?"""
    return isinstance(step, Refine) and any(isinstance(own, Slide) for own in step.around)


def _bits(column: Array) -> Integers:
    """A column as integers that differ where its values do."""
    if column.dtype.kind == "f":
        # There are two zeros among floats; to add one makes them the same.
        return np.ascontiguousarray(column + 0.0).view(np.int64)
    return np.ascontiguousarray(column, dtype=np.int64)


def _relation(step: Occurrences) -> Relation:
    atom = step.atom
    if isinstance(atom, Event):
        return atom.relation
    return atom.pair.relation if isinstance(atom, Boundary) else atom.relation


def _state(relation: Relation, context: Context) -> list[Array]:
    """What a round has found, in one order."""
    event, fluent = context.events.get(relation), context.fluents.get(relation)
    columns: list[Array] = []
    if event is not None:
        starts = event.times if event.starts is None else event.starts
        columns = [*event.arguments, event.times, starts]
    elif fluent is not None:
        groups = np.repeat(np.arange(len(fluent)), np.diff(fluent.offsets))
        columns = [*(data[groups] for data, _ in fluent.columns()), fluent.starts, fluent.ends]
    order = np.lexsort(columns) if columns else np.empty(0, np.int64)
    return [column[order] for column in columns]
