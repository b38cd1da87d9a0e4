"""Who is in the domains that grow with the input, and who has joined or left since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from cernis.check.model import Definitions, Event, Grounding, Pair, Relation
from cernis.evaluate.changes.stores import Rows
from cernis.evaluate.query_loop import Admitted, Encoding, Predicate, WindowRecords
from cernis.kernels.array_types import Array, Integers
from cernis.operators.distinct import distinct
from cernis.operators.query_context import Context, recoded
from cernis.syntax.tree import Compound, Variable, functor
from cernis.tables.columns import Column
from cernis.tables.domains import Domain, numbers
from cernis.tables.registers import Register


class _Goal:
    """One goal that says which arguments of input records are members of a domain.

    A member stays one for as long as some record that named it was not taken back.
    """

    def __init__(self, entity: Event | Pair, goal: Compound) -> None:
        terms = entity.args if isinstance(entity, Event) else (*entity.args, entity.value)
        names = [term.name if isinstance(term, Variable) else "" for term in terms]
        self.relation = entity.relation
        self.predicate: Predicate = functor(goal)
        self._positions = [names.index(a.name) for a in goal.args if isinstance(a, Variable)]
        self._register: Register | None = None
        self._domains: list[Domain | None] = []
        self._counts = np.zeros(0, np.int64)

    @property
    def domains(self) -> list[Domain | None]:
        """The domains that members are coded by; None for numbers, and nothing before the first."""
        return self._domains or [None] * self.predicate[1]

    @property
    def counts(self) -> Integers:
        """How many records name each member."""
        return self._counts[self._counts > 0]

    def known(self) -> tuple[list[Array], list[Domain | None]]:
        """The members as codes, and the domains of these."""
        if self._register is None:
            return [], []
        members = np.flatnonzero(self._counts > 0)
        return self._register.columns(members), self._register.domains

    def begin(self, context: Context) -> list[Domain | None]:
        """Begin to number members; gives the domains they are coded by."""
        self._domains = context.slots_of(self.predicate)
        # Numeric arguments have no codes; here they get some.
        self._register = Register([own if own is not None else Domain() for own in self._domains])
        return self._register.domains

    def enter(self, columns: list[Array], counts: Integers) -> None:
        """Let those be known, each named by so many records."""
        assert self._register is not None
        numbers, _ = self._register.enter(columns, len(counts))
        self._counts = np.zeros(int(numbers.max()) + 1 if len(numbers) else 0, np.int64)
        self._counts[numbers] = counts

    def change(self, change: Admitted, encoding: Encoding, context: Context) -> list[Array]:
        """Count what came and went; gives those who joined or left."""
        came = self._numbers(change.come, encoding, context)
        gone = self._numbers(change.gone, encoding, context)
        top = max((int(own.max()) + 1 for own in (came, gone) if len(own)), default=0)
        if top > len(self._counts):
            more = np.zeros(max(top, 2 * len(self._counts)) - len(self._counts), np.int64)
            self._counts = np.concatenate([self._counts, more])
        more, less = (np.bincount(own, minlength=len(self._counts)) for own in (came, gone))
        before = self._counts > 0
        self._counts += more - less
        return self._columns(np.flatnonzero((self._counts > 0) != before))

    def members(self) -> list[Array]:
        """Who is a member by this goal."""
        if self._register is None:
            return [np.empty(0, np.int64)] * self.predicate[1]
        return self._columns(np.flatnonzero(self._counts > 0))

    def _columns(self, chosen: Integers) -> list[Array]:
        assert self._register is not None
        found = zip(self._register.columns(chosen), self._register.domains, self._domains,
                    strict=True)  # fmt: skip
        return [
            column if domain is not None or coded is None else numbers(coded.decode(column))
            for column, coded, domain in found
        ]

    def _numbers(self, rows: Rows, encoding: Encoding, context: Context) -> Integers:
        if self._register is None:
            self.begin(context)
            assert self._register is not None
        if not len(rows):
            return np.empty(0, np.int64)
        every, coding = [*rows.arguments, *rows.columns[2:3]], [*encoding[0], encoding[1]]
        columns = [every[at] for at in self._positions]
        domains = [coding[at] for at in self._positions]
        # Records name few members many times.
        first, which = distinct(columns, domains)
        members = [
            recoded(Column(column[first], domain), target, len(first))
            for column, domain, target in zip(columns, domains, self._register.domains, strict=True)
        ]
        return self._register.enter(members, len(first))[0][which]


class Population:
    """The members of all dynamic domains of a program."""

    def __init__(self, definitions: Definitions) -> None:
        keys = {(relation.name, relation.arity) for relation, _ in definitions.domains}
        self.goals = [
            _Goal(grounding.entity, goal)
            for grounding in definitions.groundings
            for goal in domain_goals(grounding, keys)
        ]
        self._filled: dict[Predicate, tuple[list[Array], int]] = {
            key: ([np.empty(0, np.int64)] * key[1], 1) for key in keys
        }

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations of the input that name members."""
        return frozenset(goal.relation for goal in self.goals)

    def update(
        self, admitted: Mapping[Relation, Admitted], memory: WindowRecords, context: Context
    ) -> dict[Predicate, list[list[Array]]]:
        """Take note of records; gives for each domain who joined or left, and fills the context."""
        changed: dict[Predicate, list[list[Array]]] = {}
        for goal in self.goals:
            change = admitted.get(goal.relation)
            if change is None:
                continue
            columns = goal.change(change, memory.encoding(goal.relation), context)
            if len(columns[0]):
                changed.setdefault(goal.predicate, []).append(columns)
        self.fill(changed)
        for key, (columns, filling) in self._filled.items():
            context.filled[key], context.fillings[key] = columns, filling
        return changed

    def fill(self, keys: Iterable[Predicate] | None = None) -> None:
        """List the members of some domains, or of all, again."""
        for key in self._filled if keys is None else keys:
            own = [goal.members() for goal in self.goals if goal.predicate == key]
            if not own:
                continue
            columns = [np.concatenate(each) for each in zip(*own, strict=True)]
            if len(own) > 1:
                first, _ = distinct(
                    columns, next(g.domains for g in self.goals if g.predicate == key)
                )
                columns = [column[first] for column in columns]
            before, filling = self._filled[key]
            # What a second goal names may be known by the first: then all that rests on it stands.
            if not all(map(np.array_equal, before, columns)):
                self._filled[key] = columns, filling + 1


def domain_goals(grounding: Grounding, keys: set[tuple[str, int]]) -> Iterator[Compound]:
    """The goals that say which domain the arguments of an input entity belong to."""
    entity = grounding.entity
    terms = entity.args if isinstance(entity, Event) else (*entity.args, entity.value)
    names = {term.name for term in terms if isinstance(term, Variable)}
    for goal in grounding.goals:
        if isinstance(goal, Compound) and functor(goal) in keys:
            args = [arg for arg in goal.args if isinstance(arg, Variable) and arg.name in names]
            if len(args) == len(goal.args):
                yield goal
