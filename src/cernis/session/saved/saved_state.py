"""The state of a session as a plain tree, from which another session can go on.

Values are listed once for each domain, and columns have their codes. The session that goes on
gives new codes to the values, and only to those that are still in use.
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
from cernis.evaluate.columns.pattern_history import PastOccurrences, occurrence_domains
from cernis.evaluate.columns.window_carry import UNKNOWN
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import Handover
from cernis.evaluate.record_ids import RecordsById
from cernis.evaluate.relation_layout import RelationLayout
from cernis.evaluate.stores import StoredRows
from cernis.evaluate.working_memory import Counts, WorkingMemory
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

ColumnDomains: TypeAlias = tuple[list[Domain | None], list[Domain | None]]
"""The domains of the arguments, and of the other columns."""

FORMAT: Final = 5
"""The format of states that are written; older ones are migrated to it."""

SEALED: Final = 3
"""The first format whose trees are sealed."""

_SPARSE: Final = 1 << 10
"""Values are found by a table of all codes unless that is this many times as long as the values."""

_NOWHERE = np.empty(0, np.int64), np.empty(0, np.int64)


# -- columns -----------------------------------------------------------------------------------


@dataclass(slots=True)
class ColumnWriter:
    """Makes trees of columns, and notes which values of which domains they use."""

    layout: RelationLayout
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

    def register_keys(self, register: Register) -> Tree:
        """The keys of a register, all of whose values are in use elsewhere."""
        columns = register.columns(register.known())
        used = self.are_used(columns, register.domains)
        both = zip(columns, register.domains, strict=True)
        return [self.column(column[used], domain) for column, domain in both]

    def are_used(self, columns: list[Array], domains: list[Domain | None]) -> Array:
        """Which rows have only values that are in use in the columns so far."""
        used = [self._are_used(*each) for each in zip(columns, domains, strict=True)]
        return np.logical_and.reduce(used) if used else np.ones(0, np.bool_)

    def _are_used(self, column: Array, domain: Domain | None) -> Booleans:
        if domain is None:
            return np.ones(len(column), np.bool_)
        number = self._numbers.get(id(domain))
        used = np.zeros(0, np.bool_) if number is None else self._used[number]
        # Codes that no column so far has reached are not in use.
        is_used = column < len(used)
        is_used[is_used] = used[column[is_used]]
        return np.asarray(is_used)

    def rows(self, relation: Relation, rows: StoredRows, domains: ColumnDomains) -> Tree:
        """Rows of a relation."""
        arguments = zip(rows.arguments, domains[0], strict=True)
        others = zip(rows.columns, [*domains[1], None, None], strict=False)
        return {
            "relation": plain_relation(relation),
            "arguments": [self.column(*each) for each in arguments],
            "columns": [self.column(*each) for each in others],
        }

    def all_rows(
        self, rows_by_relation: Mapping[Relation, StoredRows], are_attempts: bool = False
    ) -> Tree:
        """Rows of several relations."""
        return [
            self.rows(relation, rows, column_domains(relation, self.layout, are_attempts))
            for relation, rows in rows_by_relation.items()
        ]

    def occurrences(self, key: tuple[str, Relation], rows: StoredRows) -> Tree:
        """Occurrences of something that patterns are made of."""
        domains = occurrence_domains(key, self.layout.context.encoding)
        return {"kind": key[0], **self.rows(key[1], rows, (domains, []))}

    def values(self) -> Tree:
        """The values that are in use, by domain."""
        trees = []
        for domain, used in zip(self._domains, self._used, strict=True):
            codes = np.flatnonzero(used)
            trees.append({"codes": codes, "values": plain_values(domain.decode(codes))})
        return trees


class _SavedValues:
    """The saved values of one domain, by the codes that columns have for them."""

    def __init__(self, tree: Tree) -> None:
        self.values: list[Any] = values_of(tree["values"])
        self._codes: Integers = tree["codes"]
        self._places: Integers | None = None
        highest = int(self._codes[-1]) if len(self._codes) else 0
        # Most codes are in use, unless the window has passed many values.
        if highest < _SPARSE * len(self._codes):
            self._places = np.full(highest + 1, -1, np.int64)
            self._places[self._codes] = np.arange(len(self._codes))

    def places(self, codes: Integers) -> Integers:
        """The places of the values that some codes stand for; a DataError if one has none."""
        if len(self._codes) and int(codes.min()) >= 0 and int(codes.max()) <= int(self._codes[-1]):
            table = self._places
            places = np.searchsorted(self._codes, codes) if table is None else table[codes]
            # A table has -1, the place of the last code, where there is no value.
            if (self._codes[places] == codes).all():
                return places
        raise DataError("a column has unknown codes")


@dataclass(slots=True)
class ColumnReader:
    """Makes columns of trees, with the codes of the session that reads them."""

    _saved_values: list[_SavedValues]
    layout: RelationLayout
    _tables: dict[tuple[int, int], Integers] = field(default_factory=dict)

    @staticmethod
    def of(tree: Tree, layout: RelationLayout) -> ColumnReader:
        """A reader of the state of one session, for another one with codes of its own."""
        return ColumnReader([_SavedValues(each) for each in tree["domains"]], layout)

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
        if number >= len(self._saved_values):
            raise DataError("a column has codes of an unknown domain")
        saved = self._saved_values[number]
        places = saved.places(codes)
        if domain is None:
            used, places = np.unique(places, return_inverse=True)
            return numbers([saved.values[place] for place in used.tolist()])[places]
        # Only values of columns that are read get codes.
        table = self._tables.setdefault(
            (number, id(domain)), np.full(len(saved.values), -1, np.int64)
        )
        used = np.zeros(len(saved.values), np.bool_)
        used[places] = True
        new = np.flatnonzero(used & (table < 0))
        if len(new):
            table[new] = domain.encode([saved.values[place] for place in new.tolist()])
        return table[places]

    def rows(self, tree: Tree, domains: ColumnDomains) -> StoredRows:
        """Rows of a relation."""
        arguments = zip(tree["arguments"], domains[0], strict=True)
        others = zip(tree["columns"], [*domains[1], None, None], strict=False)
        return StoredRows(
            [self.column(*each) for each in arguments], [self.column(*each) for each in others]
        )

    def occurrences(self, tree: Tree) -> tuple[tuple[str, Relation], StoredRows]:
        """Occurrences of something that patterns are made of."""
        key = str(tree["kind"]), relation_of(tree["relation"])
        return key, self.rows(tree, (occurrence_domains(key, self.layout.context.encoding), []))

    def all_rows(
        self, trees: Iterable[Tree], relations: Iterable[Relation], are_attempts: bool = False
    ) -> dict[Relation, StoredRows]:
        """The rows of several relations, as far as these are among some relations."""
        rows_by_relation = {}
        wanted = set(relations)
        for tree in trees:
            relation = relation_of(tree["relation"])
            if relation in wanted:
                rows_by_relation[relation] = self.rows(
                    tree, column_domains(relation, self.layout, are_attempts)
                )
        return rows_by_relation


def column_domains(
    relation: Relation, layout: RelationLayout, are_attempts: bool = False
) -> ColumnDomains:
    """The domains of the columns of stored rows: of intervals and happenings, or of attempts."""
    if relation in layout.plan.hidden_lists:
        pair = layout.plan.hidden_lists[relation]
        domains = layout.context.encoding.arguments(pair.relation)
        return [domains[place] for place in pair.positions], [None, None, None]
    arguments, value = layout.context.encoding.relations[relation]
    if are_attempts:
        value_domain = value or layout.context.encoding.domains.value_domain(relation)
        return arguments, [None, value_domain, None]
    return arguments, [None, None, value]


# -- parts of a session ------------------------------------------------------------------------


def saved_tree(session: Session) -> Tree:
    """The state of a session, with all that it knows."""
    writer = ColumnWriter(session.layout)
    tree = {
        "start": session.start,
        "last": session.last,
        "incremental": session.is_incremental,
        "counts": _plain_counts(session.counts),
        "memory": _plain_memory(session.memory, writer),
        "standing": None if session.last is None else _plain_handover(session.hand_over(), writer),
        "policy": {
            "known": writer.all_rows(session.policy.known),
            "reported": writer.all_rows(session.policy.reported),
        },
    }  # fmt: skip
    if session.last is not None:
        tree["more"] = session.extra_state(writer)
    population = _plain_population(session.population, writer, session.is_anchored)
    # Only an evaluation of keys with news needs their numbers.
    registers = session.layout.registers if session.may_be_incremental else []
    return {
        **tree,
        "forms": plain_forms(session.forms),
        "population": population,
        "registers": [*map(writer.register_keys, registers)],
        "domains": writer.values(),
    }


def _with_ids(tree: Tree) -> Tree:
    """The second format of a state in the first, which had no ids and no patterns."""
    counts = {**tree["counts"], "duplicated": []}
    standing = tree["standing"] and {**tree["standing"], "history": None}
    memory = {**tree["memory"], "ledgers": []}
    return {**tree, "counts": counts, "memory": memory, "standing": standing}


def _unchanged(tree: Tree) -> Tree:
    """The next format of a state in the second or third, where nothing has to be changed.

    The second format had no seals, and no columns of numbers and other values together. The third
    did not say when initiations were no longer under way, which is optional.
    """
    return tree


def _of_any_form(tree: Tree) -> Tree:
    """The fifth format of a state in the fourth, which said nothing of the forms of values."""
    return {**tree, "forms": None}


MIGRATIONS: Final[Mapping[int, Callable[[Tree], Tree]]] = {
    1: _with_ids, 2: _unchanged, 3: _unchanged, 4: _of_any_form,
}  # fmt: skip
"""For each format, how to make a state in the next format of one in it."""


def content_of(format_read: int, tree: Tree) -> Tree:
    """A tree that was read in some format, without its seal; a DataError if that is broken."""
    return unsealed(tree) if format_read >= SEALED else tree


def migrated(format_read: int, tree: Tree) -> Tree:
    """A state that was read in some format, in the format of today."""
    for older in range(format_read, FORMAT):
        tree = MIGRATIONS[older](tree)
    return tree


def plain_forms(forms: Forms) -> Tree:
    """The forms of the values of the input, slot by slot."""
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


def _plain_memory(memory: WorkingMemory, writer: ColumnWriter) -> Tree:
    rows = {relation: store.rows(store.shelf.everything())
            for relation, store in memory.stores.items()}  # fmt: skip
    return {
        "rows": writer.all_rows(rows),
        "waiting": [plain_records(part) for parts in memory.pending.values() for part in parts],
        "has_points": memory.has_points,
        "ledgers": [_plain_ledger(*each, writer) for each in memory.by_id.items()],
    }


def _plain_ledger(relation: Relation, by_id: RecordsById, writer: ColumnWriter) -> Tree:
    ids, rows = by_id.present()
    if not ids:
        return {"relation": plain_relation(relation), "ids": []}
    return {
        "ids": plain_values(ids),
        **writer.rows(relation, rows, column_domains(relation, writer.layout)),
    }


def fill_memory(memory: WorkingMemory, tree: Tree, reader: ColumnReader) -> None:
    """Put the records of a tree into a memory that is empty."""
    for relation, rows in reader.all_rows(tree["rows"], memory.stores).items():
        store = memory.stores[relation]
        store.exchange(_NOWHERE, store.enter(rows)[0], rows)
    for part in map(records_of, tree["waiting"]):
        if part.form.relation in memory.stores:
            memory.pending.setdefault(part.form, []).append(part)
    memory.has_points = bool(tree["has_points"])
    for records in tree["ledgers"]:
        relation = relation_of(records["relation"])
        if relation in memory.stores:
            by_id = memory.by_id[relation] = RecordsById()
            if len(records["ids"]):
                rows = reader.rows(records, column_domains(relation, reader.layout))
                by_id.restore(values_of(records["ids"]), rows)


def _plain_population(population: Population, writer: ColumnWriter, is_anchored: bool) -> Tree:
    """The members of growing domains; where rules allow it, only those that are in use."""
    trees = []
    for goal in population.goals:
        columns, domains = goal.members_with_domains()
        counts = goal.counts
        if is_anchored and columns:
            used = writer.are_used(columns, domains)
            columns, counts = [column[used] for column in columns], counts[used]
        trees.append({
            "relation": plain_relation(goal.relation), "predicate": list(goal.predicate),
            "members": [writer.column(*each) for each in zip(columns, domains, strict=True)],
            "counts": counts,
        })  # fmt: skip
    return trees


def fill_population(population: Population, tree: Tree, reader: ColumnReader) -> None:
    """Put the members of a tree into a population that has the same goals."""
    for goal, members_tree in zip(population.goals, tree, strict=True):
        if members_tree["members"]:
            domains = goal.start_numbering(reader.layout.context.encoding)
            members = zip(members_tree["members"], domains, strict=True)
            goal.restore([reader.column(*each) for each in members], members_tree["counts"])
    population.list_members()


def _plain_handover(handover: Handover, writer: ColumnWriter) -> Tree:
    return {
        "query": handover.query,
        "fluents": writer.all_rows(handover.fluents),
        "events": writer.all_rows(handover.events),
        "begun": writer.all_rows(handover.effect_origins, are_attempts=True),
        "remembered": writer.all_rows(handover.remembered),
        "seen": writer.all_rows(handover.seen),
        "history": handover.history and _plain_past(handover.history, writer),
    }


def _plain_past(past: PastOccurrences, writer: ColumnWriter) -> Tree:
    return {
        "kept": [writer.occurrences(*each) for each in past.kept.items()],
        "last": [writer.occurrences(*each) for each in past.last.items()],
        "leftover": [[n, writer.occurrences(*each)] for n, each in past.leftover.items()],
        "dropped": past.dropped,
    }


def _past_of(tree: Tree, reader: ColumnReader) -> PastOccurrences:
    return PastOccurrences(
        dict(map(reader.occurrences, tree["kept"])), dict(map(reader.occurrences, tree["last"])),
        {number: reader.occurrences(kept) for number, kept in tree["leftover"]}, tree["dropped"],
    )  # fmt: skip


def handover_of(tree: Tree, reader: ColumnReader, relations: Iterable[Relation]) -> Handover:
    """The handover of a tree, for some relations only."""
    wanted = set(relations)
    return Handover(
        tree["query"],
        reader.all_rows(tree["fluents"], wanted),
        reader.all_rows(tree["events"], wanted),
        {r: _with_ends(rows) for r, rows in reader.all_rows(tree["begun"], wanted, True).items()},
        reader.all_rows(tree["remembered"], wanted),
        reader.all_rows(tree["seen"], wanted),
        tree["history"] and _past_of(tree["history"], reader),
    )


def _with_ends(rows: StoredRows) -> StoredRows:
    """Attempts with their ends, which are unknown where the tree does not have them."""
    times, values, *ends = rows.columns
    return StoredRows(rows.arguments, [times, values, *(ends or [np.full(len(times), UNKNOWN)])])


def fill_policy(
    policy: Policy, tree: Tree, reader: ColumnReader, relations: Iterable[Relation]
) -> None:
    """Let a policy have the known and reported intervals of a tree, for some relations."""
    wanted = set(relations)
    policy.known = reader.all_rows(tree["known"], wanted)
    policy.reported = reader.all_rows(tree["reported"], wanted)


def resume(session: Session, tree: Tree) -> None:
    """Let a session that is empty go on from the state of another of the same program."""
    try:
        _resume(session, tree)
    except (
        ValueError, KeyError, IndexError, TypeError, AttributeError, InternalError
    ) as error:  # fmt: skip
        raise DataError(f"it cannot be read: {type(error).__name__} {error}") from error


def take_forms(session: Session, tree: Tree) -> None:
    """Let a session that is empty hold values in the forms of the session that was saved.

    If the state does not say which these were, each value is held in its own form.
    """
    if tree["forms"] is None:
        slots = session.plan.checked.types.slots()
        session.take_forms(dict.fromkeys(slots, ValueForm.ANY))
    else:
        session.take_forms(forms_of(tree["forms"]))


def _resume(session: Session, tree: Tree) -> None:
    take_forms(session, tree)
    if tree["incremental"]:
        # A walk could only begin at the next query, and would take its late records for evaluated.
        session.stop_walking()
    reader = ColumnReader.of(tree, session.layout)
    relations = all_relations(session.layout)
    session.start, session.last = tree["start"], tree["last"]
    fill_memory(session.memory, tree["memory"], reader)
    session.memory.counts = counts_of(tree["counts"])
    for register, keys in zip(session.layout.registers, tree["registers"], strict=False):
        if keys:
            columns = [reader.column(*each) for each in zip(keys, register.domains, strict=True)]
            register.enter(columns, len(columns[0]))
    fill_population(session.population, tree["population"], reader)
    fill_policy(session.policy, tree["policy"], reader, relations)
    handover = None
    if tree["standing"] is not None:
        handover = handover_of(tree["standing"], reader, relations)
        session.check_grid(handover)
    session.go_on(handover, bool(tree["incremental"]))
    if tree.get("more") is not None:
        session.resume_extra_state(tree["more"], reader)


def all_relations(layout: RelationLayout) -> set[Relation]:
    """All fluents and events of a program, and the lists inside of its rules."""
    catalogue = layout.context.encoding.catalogue
    return {*catalogue.fluents, *catalogue.events, *layout.plan.hidden_lists}
