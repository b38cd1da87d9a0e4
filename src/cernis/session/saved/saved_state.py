"""What a session leaves to one that goes on from it: all it knows, as a plain tree.

Values are listed once for each domain, and columns have their codes. Whoever goes on gives the
values codes of its own, and only those that are still in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from cernis.check.model import Relation
from cernis.check.types import Slot
from cernis.check.value_forms import ValueForm
from cernis.errors import DataError, InternalError
from cernis.evaluate.changes.stores import Rows
from cernis.evaluate.columns.pattern_history import Past, occurrence_domains
from cernis.evaluate.columns.window_carry import UNKNOWN
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import Handover
from cernis.evaluate.record_ids import Ledger
from cernis.evaluate.relation_layout import Spaces
from cernis.evaluate.working_memory import Counts, Memory
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.plan.held_forms import Forms
from cernis.records.record_columns import SetAside
from cernis.session.feed import Policy
from cernis.session.saved.plain_trees import Tree, unsealed
from cernis.session.saved.saved_values import (
    plain_records,
    plain_relation,
    plain_values,
    records_of,
    relation_of,
    values_of,
)
from cernis.tables.domains import Domain, numbers
from cernis.tables.registers import Register

if TYPE_CHECKING:
    from cernis.session.session import Session

Encoded: TypeAlias = tuple[list[Domain | None], list[Domain | None]]
"""The domains of the arguments, and of the other columns."""

FORMAT: Final = 5
"""The format of what is left; older ones are brought to it."""

SEALED: Final = 3
"""The first format whose trees are sealed."""

_SPARSE: Final = 1 << 10
"""Values are found by a table of all codes unless that has so many times as many places."""

_NOWHERE = np.empty(0, np.int64), np.empty(0, np.int64)


# -- columns -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Outgoing:
    """Makes trees of columns, and notes the domains of their codes."""

    spaces: Spaces
    _domains: list[Domain] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _used: list[Booleans] = field(default_factory=list)

    def column(self, column: Array, domain: Domain | None) -> Tree:
        """A column of numbers or of codes."""
        if domain is None:
            return {"of": None, "rows": column}
        number = self._numbers.setdefault(id(domain), len(self._domains))
        if number == len(self._domains):
            self._domains.append(domain)
            self._used.append(np.zeros(len(domain), np.bool_))
        self._used[number][column] = True
        return {"of": number, "rows": column}

    def combinations(self, register: Register) -> Tree:
        """Those a register knows, all of whose values are in use elsewhere."""
        columns = register.columns(register.known())
        used = self.are_used(columns, register.domains)
        both = zip(columns, register.domains, strict=True)
        return [self.column(column[used], domain) for column, domain in both]

    def are_used(self, columns: list[Array], domains: list[Domain | None]) -> Array:
        """Which rows have only values that are in use so far."""
        used = [self._are_used(*each) for each in zip(columns, domains, strict=True)]
        return np.logical_and.reduce(used) if used else np.ones(0, np.bool_)

    def _are_used(self, column: Array, domain: Domain | None) -> Booleans:
        if domain is None:
            return np.ones(len(column), np.bool_)
        number = self._numbers.get(id(domain))
        used = np.zeros(0, np.bool_) if number is None else self._used[number]
        # Codes that no column so far has reached are not in use.
        found = column < len(used)
        found[found] = used[column[found]]
        return np.asarray(found)

    def rows(self, relation: Relation, rows: Rows, encoded: Encoded) -> Tree:
        """Rows of a relation."""
        arguments = zip(rows.arguments, encoded[0], strict=True)
        others = zip(rows.columns, [*encoded[1], None, None], strict=False)
        return {
            "relation": plain_relation(relation),
            "arguments": [self.column(*each) for each in arguments],
            "columns": [self.column(*each) for each in others],
        }

    def all_rows(self, given: Mapping[Relation, Rows], begun: bool = False) -> Tree:
        """Rows of several relations."""
        return [
            self.rows(relation, rows, encoding(relation, self.spaces, begun))
            for relation, rows in given.items()
        ]

    def occurrences(self, key: tuple[str, Relation], rows: Rows) -> Tree:
        """Occurrences of something that patterns are made of."""
        domains = occurrence_domains(key, self.spaces.context)
        return {"kind": key[0], **self.rows(key[1], rows, (domains, []))}

    def values(self) -> Tree:
        """The values that are in use, by domain."""
        found = []
        for domain, used in zip(self._domains, self._used, strict=True):
            codes = np.flatnonzero(used)
            found.append({"codes": codes, "values": plain_values(domain.decode(codes))})
        return found


class _Values:
    """Values by their codes of old."""

    def __init__(self, tree: Tree) -> None:
        self.values: list[Any] = values_of(tree["values"])
        self._codes: Integers = tree["codes"]
        self._places: Integers | None = None
        highest = int(self._codes[-1]) if len(self._codes) else 0
        # Most codes are in use, unless a window has passed by many values.
        if highest < _SPARSE * len(self._codes):
            self._places = np.full(highest + 1, -1, np.int64)
            self._places[self._codes] = np.arange(len(self._codes))

    def places(self, codes: Integers) -> Integers:
        """The places of the values that some codes stand for."""
        if self._places is not None:
            return self._places[codes]
        return np.searchsorted(self._codes, codes)


@dataclass(slots=True)
class Incoming:
    """Makes columns of trees, in codes of a session of its own."""

    given: list[_Values]
    spaces: Spaces
    _tables: dict[tuple[int, int], Integers] = field(default_factory=dict)

    @staticmethod
    def of(tree: Tree, spaces: Spaces) -> Incoming:
        """What was left by a session, for one with other spaces."""
        return Incoming([_Values(each) for each in tree["domains"]], spaces)

    def column(self, tree: Tree, domain: Domain | None) -> Array:
        """A column in the codes of a domain, or of numbers."""
        number, rows = tree["of"], tree["rows"]
        if not len(rows):
            return np.empty(0, np.int64)
        if number is not None:
            return self._recoded(number, rows, domain)
        if domain is None:
            return np.asarray(rows)
        if rows.dtype == np.int64:
            return domain.encode_integers(rows)
        return domain.encode(rows.tolist())

    def _recoded(self, number: int, codes: Integers, domain: Domain | None) -> Array:
        own = self.given[number]
        places = own.places(codes)
        if domain is None:
            used, places = np.unique(places, return_inverse=True)
            return numbers([own.values[at] for at in used.tolist()])[places]
        # What no column has that is read gets no code.
        table = self._tables.setdefault(
            (number, id(domain)), np.full(len(own.values), -1, np.int64)
        )
        used = np.zeros(len(own.values), np.bool_)
        used[places] = True
        new = np.flatnonzero(used & (table < 0))
        if len(new):
            table[new] = domain.encode([own.values[at] for at in new.tolist()])
        return table[places]

    def rows(self, tree: Tree, encoded: Encoded) -> Rows:
        """Rows of a relation."""
        arguments = zip(tree["arguments"], encoded[0], strict=True)
        others = zip(tree["columns"], [*encoded[1], None, None], strict=False)
        return Rows(
            [self.column(*each) for each in arguments], [self.column(*each) for each in others]
        )

    def occurrences(self, tree: Tree) -> tuple[tuple[str, Relation], Rows]:
        """Occurrences of something that patterns are made of."""
        key = str(tree["kind"]), relation_of(tree["relation"])
        return key, self.rows(tree, (occurrence_domains(key, self.spaces.context), []))

    def all_rows(
        self, given: Iterable[Tree], known: Iterable[Relation], begun: bool = False
    ) -> dict[Relation, Rows]:
        """Rows of several relations, of those that are known."""
        found = {}
        wanted = set(known)
        for tree in given:
            relation = relation_of(tree["relation"])
            if relation in wanted:
                found[relation] = self.rows(tree, encoding(relation, self.spaces, begun))
        return found


def encoding(relation: Relation, spaces: Spaces, begun: bool = False) -> Encoded:
    """The domains of rows as a session keeps them: of intervals, happenings, or initiations."""
    arguments, value = spaces.encoding(relation)
    if begun:
        own = value or spaces.context.domains.value_domain(relation)
        return arguments, [None, own, None]
    return arguments, [None, None, value]


# -- parts of a session ------------------------------------------------------------------------


def left(session: Session) -> Tree:
    """All that a session knows."""
    out = Outgoing(session.spaces)
    tree = {
        "start": session.start,
        "last": session.last,
        "incremental": session.is_incremental,
        "counts": _plain_counts(session.counts),
        "memory": _plain_memory(session.memory, out),
        "standing": None if session.last is None else _plain_standing(session.handed_over(), out),
        "policy": {
            "known": out.all_rows(session.policy.known),
            "reported": out.all_rows(session.policy.reported),
        },
    }  # fmt: skip
    if session.last is not None:
        tree["more"] = session.more_left(out)
    population = _plain_population(session.population, out, session.is_anchored)
    # From scratch, nobody asks which keys there are.
    registers = session.spaces.registers if session.may_be_incremental else []
    return {
        **tree,
        "forms": plain_forms(session.forms),
        "population": population,
        "registers": [*map(out.combinations, registers)],
        "domains": out.values(),
    }


def _with_ids(tree: Tree) -> Tree:
    """Records had no ids in the first format, and sessions no patterns."""
    counts = {**tree["counts"], "duplicated": []}
    standing = tree["standing"] and {**tree["standing"], "history": None}
    memory = {**tree["memory"], "ledgers": []}
    return {**tree, "counts": counts, "memory": memory, "standing": standing}


def _as_it_is(tree: Tree) -> Tree:
    """The second format had no seals, and no columns of numbers and other values together.

    The third did not say when initiations were no longer under way.
    """
    return tree


def _of_any_form(tree: Tree) -> Tree:
    """The fourth format said nothing of the forms of values."""
    return {**tree, "forms": None}


MIGRATIONS: Final[Mapping[int, Callable[[Tree], Tree]]] = {
    1: _with_ids, 2: _as_it_is, 3: _as_it_is, 4: _of_any_form,
}  # fmt: skip
"""By format: how to make of what was left in it what the next one would have."""


def content_of(found: int, tree: Tree) -> Tree:
    """A tree that was read in some format, without its seal; a DataError if that is broken."""
    return unsealed(tree) if found >= SEALED else tree


def migrated(found: int, tree: Tree) -> Tree:
    """What was left in some format, as this one has it."""
    for older in range(found, FORMAT):
        tree = MIGRATIONS[older](tree)
    return tree


def plain_forms(forms: Forms) -> Tree:
    """The forms of what came as input, slot by slot."""
    return [
        [kind, *plain_relation(relation), position, int(form)]
        for (kind, relation, position), form in forms.input().items()
    ]


def forms_of(tree: Tree) -> dict[Slot, ValueForm]:
    """The forms of a tree."""
    return {
        (kind, Relation(name, arity), position): ValueForm(form)
        for kind, name, arity, position, form in tree
    }


def _plain_counts(counts: Counts) -> Tree:
    tree = asdict(counts)
    tree["ignored"] = list(counts.ignored.items())
    tree["duplicated"] = list(counts.duplicated.items())
    return tree


def counts_of(tree: Tree) -> Counts:
    """The counts of a tree."""
    lists = {
        key: [SetAside(**each) for each in tree[key]] for key in ("set_aside", "too_late")
    }  # fmt: skip
    named = {key: dict(tree[key]) for key in ("ignored", "duplicated")}
    return Counts(**{**tree, **lists, **named})


def _plain_memory(memory: Memory, out: Outgoing) -> Tree:
    rows = {relation: store.rows(store.shelf.everything())
            for relation, store in memory.stores.items()}  # fmt: skip
    return {
        "rows": out.all_rows(rows),
        "waiting": [plain_records(part) for parts in memory.pending.values() for part in parts],
        "has_points": memory.has_points,
        "ledgers": [_plain_ledger(*each, out) for each in memory.ledgers.items()],
    }


def _plain_ledger(relation: Relation, ledger: Ledger, out: Outgoing) -> Tree:
    ids, rows = ledger.known()
    if not ids:
        return {"relation": plain_relation(relation), "ids": []}
    return {"ids": plain_values(ids), **out.rows(relation, rows, encoding(relation, out.spaces))}


def fill_memory(memory: Memory, tree: Tree, given: Incoming) -> None:
    """Put records into a memory that is empty."""
    for relation, rows in given.all_rows(tree["rows"], memory.stores).items():
        store = memory.stores[relation]
        store.exchange(_NOWHERE, store.enter(rows)[0], rows)
    for part in map(records_of, tree["waiting"]):
        if part.form.relation in memory.stores:
            memory.pending.setdefault(part.form, []).append(part)
    memory.has_points = bool(tree["has_points"])
    for own in tree["ledgers"]:
        relation = relation_of(own["relation"])
        if relation in memory.stores:
            ledger = memory.ledgers[relation] = Ledger()
            if len(own["ids"]):
                rows = given.rows(own, encoding(relation, given.spaces))
                ledger.enter(values_of(own["ids"]), rows)


def _plain_population(population: Population, out: Outgoing, is_anchored: bool) -> Tree:
    """The members of growing domains; where rules allow it, only those that are in use."""
    found = []
    for goal in population.goals:
        columns, domains = goal.known()
        counts = goal.counts
        if is_anchored and columns:
            used = out.are_used(columns, domains)
            columns, counts = [column[used] for column in columns], counts[used]
        found.append({
            "relation": plain_relation(goal.relation), "predicate": list(goal.predicate),
            "members": [out.column(*each) for each in zip(columns, domains, strict=True)],
            "counts": counts,
        })  # fmt: skip
    return found


def fill_population(population: Population, tree: Tree, given: Incoming) -> None:
    """Let a population be that of a tree of the same goals."""
    for goal, own in zip(population.goals, tree, strict=True):
        if own["members"]:
            domains = goal.begin(given.spaces.context)
            members = zip(own["members"], domains, strict=True)
            goal.enter([given.column(*each) for each in members], own["counts"])
    population.fill()


def _plain_standing(standing: Handover, out: Outgoing) -> Tree:
    return {
        "query": standing.query,
        "fluents": out.all_rows(standing.fluents),
        "events": out.all_rows(standing.events),
        "begun": out.all_rows(standing.begun, begun=True),
        "remembered": out.all_rows(standing.remembered),
        "seen": out.all_rows(standing.seen),
        "history": standing.history and _plain_past(standing.history, out),
    }


def _plain_past(past: Past, out: Outgoing) -> Tree:
    return {
        "kept": [out.occurrences(*each) for each in past.kept.items()],
        "last": [out.occurrences(*each) for each in past.last.items()],
        "leftover": [[n, out.occurrences(*each)] for n, each in past.leftover.items()],
        "dropped": past.dropped,
    }


def _past_of(tree: Tree, given: Incoming) -> Past:
    return Past(
        dict(map(given.occurrences, tree["kept"])), dict(map(given.occurrences, tree["last"])),
        {number: given.occurrences(own) for number, own in tree["leftover"]}, tree["dropped"],
    )  # fmt: skip


def standing_of(tree: Tree, given: Incoming, known: Iterable[Relation]) -> Handover:
    """What a query has left, of the relations that are known."""
    wanted = set(known)
    return Handover(
        tree["query"],
        given.all_rows(tree["fluents"], wanted),
        given.all_rows(tree["events"], wanted),
        {r: _with_ends(own) for r, own in given.all_rows(tree["begun"], wanted, True).items()},
        given.all_rows(tree["remembered"], wanted),
        given.all_rows(tree["seen"], wanted),
        tree["history"] and _past_of(tree["history"], given),
    )


def _with_ends(rows: Rows) -> Rows:
    """Initiations that effects are counted from, with when they are no longer under way."""
    times, values, *ends = rows.columns
    return Rows(rows.arguments, [times, values, *(ends or [np.full(len(times), UNKNOWN)])])


def fill_policy(policy: Policy, tree: Tree, given: Incoming, known: Iterable[Relation]) -> None:
    """What a policy knows, and has reported."""
    wanted = set(known)
    policy.known = given.all_rows(tree["known"], wanted)
    policy.reported = given.all_rows(tree["reported"], wanted)


def resume(session: Session, tree: Tree) -> None:
    """Let a session that is empty go on where another of the same program has ended."""
    try:
        _resume(session, tree)
    except (
        ValueError, KeyError, IndexError, TypeError, AttributeError, InternalError
    ) as error:  # fmt: skip
        raise DataError(f"it cannot be read: {type(error).__name__} {error}") from error


def take_forms(session: Session, tree: Tree) -> None:
    """Let a session that is empty hold values as the one did that has left them.

    Where it was not said how that was, each value is held as it is.
    """
    if tree["forms"] is None:
        slots = session.plan.checked.types.slots()
        session.take_forms(dict.fromkeys(slots, ValueForm.ANY))
    else:
        session.take_forms(forms_of(tree["forms"]))


def _resume(session: Session, tree: Tree) -> None:
    take_forms(session, tree)
    given = Incoming.of(tree, session.spaces)
    known = relations(session.spaces)
    session.start, session.last = tree["start"], tree["last"]
    fill_memory(session.memory, tree["memory"], given)
    session.memory.counts = counts_of(tree["counts"])
    for register, own in zip(session.spaces.registers, tree["registers"], strict=False):
        if own:
            columns = [given.column(*each) for each in zip(own, register.domains, strict=True)]
            register.enter(columns, len(columns[0]))
    fill_population(session.population, tree["population"], given)
    fill_policy(session.policy, tree["policy"], given, known)
    standing = None
    if tree["standing"] is not None:
        standing = standing_of(tree["standing"], given, known)
    session.go_on(standing, bool(tree["incremental"]))
    if tree.get("more") is not None:
        session.more_resumed(tree["more"], given)


def relations(spaces: Spaces) -> set[Relation]:
    """All fluents and events of a program."""
    catalogue = spaces.context.catalogue
    return {*catalogue.fluents, *catalogue.events}
