"""The members of the domains that grow with the input, and who has joined or left them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cernis.check.model import Event, Pair, Relation
from cernis.evaluate.query_loop import Admitted, Encoding, Predicate, WindowRecords
from cernis.evaluate.stores import StoredRows
from cernis.kernels.array_types import Array, Integers
from cernis.operators.context.coded_columns import recoded
from cernis.operators.context.query_context import Context
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.operators.distinct import distinct
from cernis.plan.builder import Plan
from cernis.syntax.tree import Compound, Variable, functor
from cernis.tables.columns import Column
from cernis.tables.domains import Domain, numbers
from cernis.tables.registers import Register

_NONE = np.empty(0, np.int64)


class _Goal:
    """One goal that says which arguments of input records are members of a domain.

    It counts how many records name each member. A member leaves the domain when all records that
    named it have been retracted.
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
        """The domains that members are coded by; None for numbers, and before the first member."""
        return self._domains or [None] * self.predicate[1]

    @property
    def counts(self) -> Integers:
        """How many records name each member."""
        return self._counts[self._counts > 0]

    def members_with_domains(self) -> tuple[list[Array], list[Domain | None]]:
        """The members as codes, and the domains of these codes."""
        if self._register is None:
            return [], []
        members = np.flatnonzero(self._counts > 0)
        return self._register.columns(members), self._register.domains

    def start_numbering(self, encoding: ValueEncoding) -> list[Domain | None]:
        """Make the register that numbers members; gives the domains they are coded by."""
        self._domains = encoding.predicate(*self.predicate)
        # A register numbers codes. Numeric arguments have none, so they get some here.
        self._register = Register(
            [domain if domain is not None else Domain() for domain in self._domains]
        )
        return self._register.domains

    def restore(self, columns: list[Array], counts: Integers) -> None:
        """Take members from a saved state, with the number of records that name each."""
        assert self._register is not None
        numbers, _ = self._register.enter(columns, len(counts))
        self._counts = np.zeros(int(numbers.max()) + 1 if len(numbers) else 0, np.int64)
        self._counts[numbers] = counts

    def count_records(self, change: Admitted, encoding: Encoding, context: Context) -> list[Array]:
        """Count the records that were added and removed; gives the members that joined or left."""
        if self._register is None:
            self.start_numbering(context.encoding)
        added, counts = self._counted(change.added, encoding)
        removed, fewer = self._counted(change.removed, encoding)
        self._make_room(added, removed)
        named = added if not len(removed) else np.unique(np.concatenate([added, removed]))
        was_member = self._counts[named] > 0
        self._counts[added] += counts
        self._counts[removed] -= fewer
        return self._member_columns(np.sort(named[(self._counts[named] > 0) != was_member]))

    def _make_room(self, *numbers: Integers) -> None:
        """Let there be a count for each of some members."""
        needed = max((int(part.max(initial=-1)) + 1 for part in numbers), default=0)
        if needed > len(self._counts):
            more = np.zeros(max(needed, 2 * len(self._counts)) - len(self._counts), np.int64)
            self._counts = np.concatenate([self._counts, more])

    def members(self) -> list[Array]:
        """The members that this goal names."""
        if self._register is None:
            return [np.empty(0, np.int64)] * self.predicate[1]
        return self._member_columns(np.flatnonzero(self._counts > 0))

    def _member_columns(self, member_numbers: Integers) -> list[Array]:
        """The arguments of some members: codes, or the values of numeric arguments."""
        register = self._register
        assert register is not None
        columns = register.columns(member_numbers)
        return [
            column if domain is not None or coded is None else numbers(coded.decode(column))
            for column, coded, domain in zip(columns, register.domains, self._domains, strict=True)
        ]

    def _counted(self, rows: StoredRows, encoding: Encoding) -> tuple[Integers, Integers]:
        """The numbers of the members that records name, each once, and how many name each."""
        assert self._register is not None
        if not len(rows):
            return _NONE, _NONE
        # The arguments of a record, and the value if it is of a fluent.
        terms, term_domains = [*rows.arguments, *rows.columns[2:3]], [*encoding[0], encoding[1]]
        columns = [terms[position] for position in self._positions]
        domains = [term_domains[position] for position in self._positions]
        if len(columns) == 1 and domains[0] is not None and domains[0] is self._register.domains[0]:
            # A single code is its own number.
            numbers, counts = _counts_of(columns[0], len(domains[0]))
            self._register.enter([numbers], len(numbers))
            return numbers, counts
        # Many records name the same few members, so each member is looked up once.
        first, which = distinct(columns, domains)
        members = [
            recoded(Column(column[first], domain), target, len(first))
            for column, domain, target in zip(columns, domains, self._register.domains, strict=True)
        ]
        numbers = self._register.enter(members, len(first))[0]
        counts = np.bincount(which, minlength=len(first))
        if all(one is other for one, other in zip(domains, self._register.domains, strict=True)):
            return numbers, counts
        distinct_numbers, places = np.unique(numbers, return_inverse=True)
        sums = np.zeros(len(distinct_numbers), np.int64)
        np.add.at(sums, places, counts)
        return distinct_numbers, sums


def _counts_of(codes: Array, size: int) -> tuple[Integers, Integers]:
    """The distinct codes of a domain of some size, in order, and how often each stands there."""
    if size > 16 * len(codes) + 1024:
        return np.unique(codes, return_counts=True)
    counts = np.bincount(codes)
    numbers = np.flatnonzero(counts)
    return numbers, counts[numbers]


class Population:
    """The members of all dynamic domains of a program."""

    def __init__(self, plan: Plan) -> None:
        keys = {(r.name, r.arity) for r, _ in plan.checked.definitions.domains}
        self.goals = [_Goal(entity, goal) for entity, goal in plan.member_goals]
        self._filled: dict[Predicate, tuple[list[Array], int]] = {
            key: ([np.empty(0, np.int64)] * key[1], 1) for key in keys
        }
        self._known: dict[Predicate, Register] = {}
        """The members of some domains, by codes."""

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations of the input that name members."""
        return frozenset(goal.relation for goal in self.goals)

    def update(
        self, admitted: Mapping[Relation, Admitted], memory: WindowRecords, context: Context
    ) -> dict[Predicate, list[list[Array]]]:
        """Count the members that records name, and tell the context; gives who joined or left."""
        member_changes: dict[Predicate, list[list[Array]]] = {}
        have_left: set[Predicate] = set()
        for goal in self.goals:
            change = admitted.get(goal.relation)
            if change is None:
                continue
            columns = goal.count_records(change, memory.encoding(goal.relation), context)
            if len(columns[0]):
                member_changes.setdefault(goal.predicate, []).append(columns)
                if len(change.removed):
                    have_left.add(goal.predicate)
        self.list_members(have_left)
        for key, joined in member_changes.items():
            if key not in have_left:
                self._join(key, joined)
        for key, (columns, filling) in self._filled.items():
            context.background.filled[key], context.background.fillings[key] = columns, filling
        return member_changes

    def _join(self, key: Predicate, joined: list[list[Array]]) -> None:
        """List members that goals name now, unless other goals named them before."""
        of_key = (goal.domains for goal in self.goals if goal.predicate == key)
        domains = next((each for each in of_key if all(map(_is_coded, each))), None)
        if domains is None:
            self.list_members([key])
            return
        before, filling = self._filled[key]
        if key not in self._known:
            self._known[key] = Register(domains)
            self._known[key].enter(before, len(before[0]))
        columns = [np.concatenate(parts) for parts in zip(*joined, strict=True)]
        _, new = self._known[key].enter(columns, len(columns[0]))
        if len(new):
            both = zip(before, self._known[key].columns(new), strict=True)
            self._filled[key] = [np.concatenate(parts) for parts in both], filling + 1

    def list_members(self, keys: Iterable[Predicate] | None = None) -> None:
        """List the members of some domains, or of all, again."""
        for key in self._filled if keys is None else keys:
            self._known.pop(key, None)
            goals = [goal for goal in self.goals if goal.predicate == key]
            if not goals:
                continue
            columns = _distinct_members(goals)
            before, filling = self._filled[key]
            # A member that a goal names now may have been one before, by another goal. Where the
            # members are the same, all that was computed from them stays valid.
            if not all(map(np.array_equal, before, columns)):
                self._filled[key] = columns, filling + 1


def _is_coded(domain: Domain | None) -> bool:
    return domain is not None


def _distinct_members(goals: list[_Goal]) -> list[Array]:
    """The members that goals of one domain name, each once."""
    parts = [goal.members() for goal in goals]
    columns = [np.concatenate(column_parts) for column_parts in zip(*parts, strict=True)]
    if len(goals) == 1:
        return columns
    first, _ = distinct(columns, goals[0].domains)
    return [column[first] for column in columns]
