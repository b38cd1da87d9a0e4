"""Columns by name: which columns of a table are the times, the value and the arguments.

Columns of the times, and a few others, have fixed titles. The others are matched with the value and
the arguments by the names that a declaration gives them, or else by those that all rules agree on,
whatever their case and order. Only where no name matches does the order of the columns count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cernis.errors import DataError
from cernis.records.column_troubles import (
    INDEX,
    likely_argument,
    line_to_add,
    missing_column,
    title_list,
)
from cernis.records.record_columns import RecordForm, RecordKind
from cernis.records.record_shapes import Shapes

NAMES: Final = ("name", "event", "fluent")
"""Titles of the column that names the relation of a record."""
TIMES: Final = ("arrival", "occurrence", "start", "end")
CLOCK_TIMES: Final = TIMES[:3]
"""Titles of the column that has the time of a `$clock`."""
ROLES: Final = (*TIMES, "value", "retracts", "probability", "open")
_OPTIONAL: Final = ("arrival", "start", "end", "retracts", "probability")
"""Titles that an argument may have, if a declaration or the rules call it so."""


_MOST_KNOWN: Final = 1000
"""Of so many tables it is known at most what they are: each file has a name of its own."""
_IN_ORDER: Final = "cernis.arguments"
_UNSAID: Final = ("open", INDEX)
"""Columns of which nothing is said when they are not used."""


def is_in_order(metadata: Mapping[Any, Any] | None) -> bool:
    """Does a table, by the metadata of its schema, say that its columns are in their order?"""
    return any(key in (metadata or ()) for key in (_IN_ORDER, _IN_ORDER.encode()))


@dataclass(frozen=True, slots=True)
class Titles:
    """Which columns of a table are what."""

    arrival: str | None
    start: str
    end: str | None
    value: str | None
    arguments: tuple[str, ...]
    retracts: str | None = None
    probability: str | None = None
    ids: str | None = None

    @property
    def used(self) -> list[str]:
        """All columns that are looked at."""
        one = (
            self.arrival, self.start, self.end, self.value, self.retracts, self.probability,
            self.ids,
        )  # fmt: skip
        return [title for title in (*one, *self.arguments) if title is not None]


@dataclass(frozen=True, slots=True)
class TableForm:
    """What the rows of a table are of, and from which columns they are read."""

    form: RecordForm
    titles: Titles
    columns: tuple[str, ...]
    """The columns of the value, of a fluent, and of the arguments."""
    warning: str = ""
    """Why the columns may be others than meant: their order was all there was to go by."""
    note: str = ""
    """Which columns are not used, if any."""


def table_form(
    name: str, titles: Sequence[str], shapes: Shapes, source: str, ids: str | None = None,
    *, listed: bool = False,
) -> TableForm:  # fmt: skip
    """What a table of a relation is, by the titles of its columns; else a DataError.

    `arrival` may be missing; then comes `occurrence`, or `start` and `end`. In a table of a fluent,
    a column `value` is its value. If records have ids, they are in the column of that title. The
    arguments of rows that are `listed` are in their order, whatever columns are called.
    """
    key = (name, tuple(titles), source, ids, listed)
    known = shapes.table_forms.get(key)
    if known is None:
        known = _Matching(name, titles, shapes, source, ids, listed).result()
        if len(shapes.table_forms) >= _MOST_KNOWN:
            shapes.table_forms.clear()
        shapes.table_forms[key] = known
    return known


def mapped_form(name: str, titles: Titles, shapes: Shapes) -> TableForm:
    """What a table is whose columns a mapping names, in the order of the arguments."""
    kinds: tuple[RecordKind, ...] = (RecordKind.EVENT, RecordKind.POINT)
    if titles.end is not None:
        kinds = (RecordKind.INTERVAL,)
    elif titles.value is not None:
        kinds = (RecordKind.POINT,)
    columns = (*([] if titles.value is None else [titles.value]), *titles.arguments)
    form = shapes.of_columns(name, len(columns), kinds)
    if not isinstance(form, RecordForm):
        raise DataError(f"{form}: {', '.join(columns)}")
    return TableForm(form, titles, columns)


def refuse_duplicates(titles: Sequence[str], source: str) -> None:
    """Raise a DataError if two columns have one title."""
    twice = [title for title, count in Counter(titles).items() if count > 1]
    if twice:
        raise DataError(
            f"{source} has two columns {twice[0]}; there are {', '.join(titles)}; call one of them "
            "otherwise, or leave it out"
        )


def relation_title(titles: Sequence[str], shapes: Shapes, name: str = "") -> str | None:
    """The column that names the relation of each row; None if there is none.

    If the table is called as a relation that has an argument of that title, it is one of that.
    """
    said = shapes.names.column("name")
    if said is not None and said in titles:
        return said
    relation_column = next((title for title in NAMES if title in titles), None)
    if relation_column is None or not name:
        return relation_column
    return (
        None
        if folded(relation_column) in {folded(slot) for slot in shapes.slot_names(name)}
        else relation_column
    )


def likely_relation(titles: Sequence[str], shapes: Shapes) -> str:
    """The relation of the input that a table is probably of, by its columns; else the first."""
    widths = {}
    for name in shapes.input_names:
        try:
            form = table_form(name, titles, shapes, name)
        except DataError:
            continue
        widths[name] = (not form.warning, form.form.width)
    return max(widths, key=widths.__getitem__) if widths else (shapes.input_names or ["go_to"])[0]


def folded(title: str) -> str:
    """A title without regard to case, and to what stands between words: `VesselId`, `vessel_id`."""
    return "".join(each for each in title.casefold() if each not in "_- ")


def matched(titles: Sequence[str], names: Sequence[str]) -> dict[int, int]:
    """For names that stand among titles, where they do; two titles for one name are a DataError.

    >>> matched(["bed", "Nurse"], ["nurse", "bed", ""])
    {0: 1, 1: 0}
    """
    alike: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        alike.setdefault(folded(title), []).append(place)
    place_of_slot: dict[int, int] = {}
    for slot, name in enumerate(names):
        places = alike.get(folded(name), []) if name else []
        exact = [place for place in places if titles[place] == name]
        if len(places) > 1 and not exact:
            both = " and ".join(titles[place] for place in places)
            raise DataError(f"the columns {both} are both called as the argument {name}")
        if places:
            place_of_slot[slot] = (exact or places)[0]
    return place_of_slot


class _Matching:
    """One table's titles, on the way to their places."""

    def __init__(
        self, name: str, titles: Sequence[str], shapes: Shapes, source: str, ids: str | None,
        listed: bool,
    ) -> None:  # fmt: skip
        self._name = name
        self._shapes = shapes
        self._source = source or name
        self._ids = ids
        self._listed = listed
        self._given = list(titles)
        if ids is not None and ids not in titles:
            raise DataError(
                f"{self._source} has no column {ids} of ids; there are {title_list(titles)}"
            )
        refuse_duplicates(titles, self._source)
        called = shapes.names.called(name, titles)
        self._original = dict(zip(called, titles, strict=True))
        self._titles = [
            word for word, title in zip(called, titles, strict=True) if title not in (ids, INDEX)
        ]
        self._all = ", ".join(self._titles)
        self._roles = _roles(self._titles)

    def result(self) -> TableForm:
        """What the table is."""
        tables = [self._table(form) for form in self._forms()]
        fitting = [table for table in tables if len(table.columns) == table.form.width]
        with_value = [table for table in fitting if table.titles.value is not None]
        chosen = with_value or fitting
        if not chosen and not self._listed:
            by_name = [each for each in map(self._by_name, tables) if each is not None]
            widest = max((each.form.width for each in by_name), default=0)
            chosen = [each for each in by_name if each.form.width == widest]
        if len(chosen) != 1:
            raise DataError(self._misfit(tables, chosen))
        return self._as_given(self._ordered(chosen[0]))

    def _by_name(self, table: TableForm) -> TableForm | None:
        """The table without the columns that are no arguments, if all arguments have a name."""
        first = int(table.titles.value is not None)
        columns = table.columns[first:]
        for naming in self._shapes.namings(table.form):
            names = naming[first:]
            places = matched(columns, names)
            if all(names) and len(places) == len(names):
                kept = tuple(columns[place] for place in sorted(places.values()))
                titles = replace(table.titles, arguments=kept)
                return TableForm(table.form, titles, (*table.columns[:first], *kept))
        return None

    def _as_given(self, table: TableForm) -> TableForm:
        """The table with the titles that it has, and with a note of columns that are not used."""
        titles = table.titles
        back = self._back
        restored = Titles(
            back(titles.arrival), self._original[titles.start], back(titles.end),
            back(titles.value), tuple(self._original[each] for each in titles.arguments),
            back(titles.retracts), back(titles.probability), titles.ids,
        )  # fmt: skip
        columns = tuple(self._original[title] for title in table.columns)
        unused = [t for t in self._given if t not in (*restored.used, *_UNSAID)]
        note = ""
        if unused:
            words = "the column" if len(unused) == 1 else "the columns"
            verb = "is" if len(unused) == 1 else "are"
            note = f"{self._source}: {words} {', '.join(unused)} {verb} not used"
        return TableForm(table.form, restored, columns, table.warning, note)

    def _back(self, title: str | None) -> str | None:
        return None if title is None else self._original[title]

    def _forms(self) -> Iterator[RecordForm]:
        """The forms that rows with these times may have."""
        roles = self._roles
        on_interval = "occurrence" not in roles
        if on_interval and not {"start", "end"} <= set(roles):
            missing = "end" if "start" in roles else "occurrence"
            raise DataError(self._missing(missing))
        for kind in (RecordKind.INTERVAL,) if on_interval else (RecordKind.EVENT, RecordKind.POINT):
            for relation in self._shapes.relations(self._name, kind):
                if relation.name == self._name:
                    yield RecordForm(relation, kind)

    def _missing(self, role: str) -> str:
        """A column of times is missing: which one it probably is, and what to write."""
        every = [
            RecordForm(relation, kind)
            for kind in RecordKind
            for relation in self._shapes.relations(self._name, kind)
        ]
        names = self._shapes.slot_titles(every[0]) if len(every) == 1 else []
        taken = {folded(name) for name in names}
        free = [title for title in self._given if folded(title) not in taken]
        return missing_column(self._source, role, self._given, names, free)

    def _table(self, form: RecordForm) -> TableForm:
        """The table as one of a form: columns in the order of the table, the value first."""
        roles = dict(self._roles)
        on_interval = form.kind is RecordKind.INTERVAL
        if form.kind is RecordKind.EVENT:
            roles.pop("value", None)
        if not on_interval:
            roles.pop("open", None)
        plain = [title for title in self._titles if title not in roles.values()]
        for role in self._argument_roles(form, roles, plain):
            roles.pop(role)
        value = roles.get("value")
        plain = [title for title in self._titles if title not in roles.values()]
        titles = Titles(
            roles.get("arrival"), roles["start" if on_interval else "occurrence"],
            roles["end"] if on_interval else None, value, tuple(plain), roles.get("retracts"),
            roles.get("probability"), self._ids,
        )  # fmt: skip
        return TableForm(form, titles, (*([] if value is None else [value]), *plain))

    def _argument_roles(
        self, form: RecordForm, roles: dict[str, str], plain: Sequence[str]
    ) -> Iterator[str]:
        """Fixed titles that are arguments all the same, as a declaration or the rules say so."""
        names = {folded(name) for naming in self._shapes.namings(form) for name in naming if name}
        there = {folded(title) for title in plain}
        for role in _OPTIONAL:
            is_needed = form.kind is RecordKind.INTERVAL and role in ("start", "end")
            if role in roles and role in names - there and not is_needed:
                yield role

    def _ordered(self, table: TableForm) -> TableForm:
        """The table with its columns in the order of the form."""
        first = int(table.titles.value is not None)
        columns = table.columns[first:]
        for naming in [] if self._listed else self._shapes.namings(table.form):
            names = naming[first:]
            places = matched(columns, names)
            if not places:
                continue
            if any(name and slot not in places for slot, name in enumerate(names)):
                raise DataError(self._in_part(columns, names))
            rest = [at for at in range(len(columns)) if at not in places.values()]
            order = [places[slot] if slot in places else rest.pop(0) for slot in range(len(names))]
            chosen = (*table.columns[:first], *(columns[at] for at in order))
            return TableForm(table.form, table.titles, chosen)
        warning = "" if self._listed or len(columns) < 2 else self._by_position(table.form, columns)
        return TableForm(table.form, table.titles, table.columns, warning)

    def _in_part(self, columns: Sequence[str], names: Sequence[str]) -> str:
        shown = ", ".join(name or "(no name)" for name in names)
        return (
            f"{self._source}: some columns are called as arguments of {self._name}, and some are "
            f"not: the columns are {', '.join(columns)}, the arguments {shown}; "
            f"{self._rename(columns, names)}"
        )

    def _rename(self, columns: Sequence[str], names: Sequence[str]) -> str:
        """What to write for the first argument without a column."""
        present = {folded(title) for title in columns}
        absent = [name for name in names if name and folded(name) not in present]
        free = [title for title in columns if folded(title) not in {folded(n) for n in names}]
        if not absent:
            return "rename columns, or say in cernis.toml which are what"
        guess = likely_argument(absent[0], free) or (free[0] if len(free) == 1 else None)
        return line_to_add(absent[0], None if guess is None else self._original[guess])

    def _by_position(self, form: RecordForm, columns: Sequence[str]) -> str:
        names = self._shapes.slot_titles(form)[-len(columns) :]
        return (
            f"{self._source}: no column is called as an argument of {self._name}, so their order "
            f"counts: the columns {', '.join(columns)} are {', '.join(names)}; a declaration can "
            f"name the arguments, such as {columns[0]}:text"
        )

    def _misfit(self, tables: Sequence[TableForm], chosen: Sequence[TableForm]) -> str:
        if chosen:
            kinds = " or a ".join(str(table.form.kind) for table in chosen)
            return f"{self._name} could be an {kinds}: {self._all}"
        if not tables:
            on_interval = "occurrence" not in self._roles
            kinds_ = (RecordKind.INTERVAL,) if on_interval else (RecordKind.EVENT, RecordKind.POINT)
            return f"{self._shapes.of_columns(self._name, -1, kinds_)}: {self._all}"
        wanted = " or ".join(sorted({str(table.form.width) for table in tables}))
        columns = max((table.columns for table in tables), key=len)
        names = [name for name in self._shapes.slot_titles(tables[0].form) if name]
        shown = f" ({', '.join(names)})" if names and len(tables) == 1 else ""
        many = "" if wanted == "1" else "s"
        return (
            f"{self._name} has {wanted} column{many} beside the times{shown}, "
            f"not {len(columns)}: {title_list(columns)}; {self._rename(columns, names)}"
        )


def _roles(titles: Sequence[str]) -> dict[str, str]:
    """The columns with fixed titles. If they lack the times, those that differ in case count."""
    title_of_role = {role: role for role in ROLES if role in titles}
    if "occurrence" not in title_of_role and not {"start", "end"} <= set(title_of_role):
        for role in (role for role in TIMES if role not in title_of_role):
            alike = [title for title in titles if title.casefold() == role]
            if len(alike) == 1:
                title_of_role[role] = alike[0]
    return title_of_role
