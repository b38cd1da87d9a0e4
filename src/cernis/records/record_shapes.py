"""What a record is, from its name and the number of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from cernis.check.catalogue import EventEntry, FluentEntry
from cernis.check.checker import Checked
from cernis.check.declarations import declared_type
from cernis.check.model import FluentKind, InputShape, Pair, Relation, flatten
from cernis.knowledge.ground_values import Value, term_of, value
from cernis.records.column_names import NO_NAMES, ColumnNames
from cernis.records.declared_values import NUMBERS
from cernis.records.record_columns import RecordForm, RecordKind
from cernis.syntax.tree import Compound, Term

if TYPE_CHECKING:
    from cernis.records.column_titles import TableForm
    from cernis.records.tabular import PlainTable


class Shapes:
    """Tells forms of records by the events and fluents of a program."""

    def __init__(self, checked: Checked, names: ColumnNames = NO_NAMES) -> None:
        catalogue = checked.catalogue
        self.names = names
        self._types = checked.types
        self.time_scale = checked.definitions.settings.time
        self._catalogue = catalogue
        self._events: dict[str, list[Relation]] = {}
        self._fluents: dict[str, list[tuple[Relation, InputShape]]] = {}
        self._defined: set[str] = set()
        self._nested: set[str] = set()
        for relation, event in catalogue.events.items():
            if event.is_input:
                self._events.setdefault(self._enter(relation), []).append(relation)
            else:
                self._defined.add(relation.name)
        for relation, fluent in catalogue.fluents.items():
            if fluent.kind is FluentKind.INPUT:
                own = self._fluents.setdefault(self._enter(relation), [])
                own.append((relation, fluent.shape))
            else:
                self._defined.add(relation.name)
        self.table_forms: dict[tuple[object, ...], TableForm] = {}
        """What tables are, by their names and the titles of their columns."""
        self.plain_tables: dict[str, PlainTable] = {}
        """What the last table of each name was, if it can be read column by column."""
        self._known: dict[tuple[str, int], RecordForm | str | None] = {}
        self._texts: dict[RecordForm, list[bool]] = {}
        self._numbers: dict[RecordForm, list[str]] = {}
        self._namings: dict[RecordForm, list[tuple[str, ...]]] = {}

    def _enter(self, relation: Relation) -> str:
        """The functor of an input relation, the outermost one of a compound."""
        functor = relation.name.partition("(")[0]
        if functor != relation.name:
            self._nested.add(functor)
        return functor

    def knows(self, name: str) -> bool:
        """Does some rule mention an event or fluent of this name?"""
        return name in self._events or name in self._fluents or name in self._defined

    def numeric_columns(self, form: RecordForm) -> list[bool]:
        """Which columns of a form hold numbers that rules compute with or compare by order."""
        kind = "event" if form.kind is RecordKind.EVENT else "fluent"
        positions: list[int | str] = [] if form.kind is RecordKind.EVENT else ["value"]
        positions += range(form.relation.arity)
        return [self._types.is_numeric(kind, form.relation, at) for at in positions]

    def declared_text(self, form: RecordForm) -> list[bool]:
        """Which columns of a form a declaration says to be text, whatever they look like."""
        if form not in self._texts:
            self._texts[form] = [each == "text" for each in self._declared_types(form)]
        return self._texts[form]

    def declared_numbers(self, form: RecordForm) -> list[str]:
        """Which columns of a form a declaration says to be numbers, and of which type; else ""."""
        if form not in self._numbers:
            types = self._declared_types(form)
            self._numbers[form] = [each if each in NUMBERS else "" for each in types]
        return self._numbers[form]

    def _declared_types(self, form: RecordForm) -> list[str]:
        declared = self._entry(form).declaration
        slots: tuple[Term, ...] = () if declared is None else declared.args
        if isinstance(declared, Pair):
            slots = (declared.value, *slots)
        return [declared_type(slot) or "" for slot in slots] or [""] * form.width

    def named(self, names: ColumnNames) -> Shapes:
        """The same shapes, for tables whose columns are called otherwise."""
        if names == self.names:
            return self
        other = copy(self)
        other.names, other.table_forms, other.plain_tables = names, {}, {}
        return other

    @property
    def input_arguments(self) -> dict[str, set[str]]:
        """The names of the arguments of each relation of the input."""
        return {name: self.slot_names(name) for name in self.input_names}

    @property
    def input_names(self) -> list[str]:
        """The names that records of tables may have."""
        return sorted({*self._events, *self._fluents})

    def is_nested(self, name: str) -> bool:
        """Has some relation of this name arguments that are compound terms?"""
        return name in self._nested

    def of_fields(self, name: str, fields: int) -> RecordForm | str | None:
        """The form of a record with that many fields, its name among them.

        A text is the reason why there is none; None says that no rule mentions the name.
        """
        key = (name, fields)
        if key not in self._known:
            forms = list(dict.fromkeys(self._forms(name, fields)))
            self._known[key] = forms[0] if len(forms) == 1 else self._reason(name, fields, forms)
        return self._known[key]

    def _forms(self, name: str, fields: int) -> Iterator[RecordForm]:
        for relation in self._events.get(name, ()):
            if relation == Relation(name, fields - 3):
                yield RecordForm(relation, RecordKind.EVENT)
        for relation, shape in self._fluents.get(name, ()):
            if relation == Relation(name, fields - 4) and shape is not InputShape.INTERVALS:
                yield RecordForm(relation, RecordKind.POINT)
            if relation == Relation(name, fields - 5) and shape is not InputShape.POINTS:
                yield RecordForm(relation, RecordKind.INTERVAL)

    def of_values(
        self, name: str, values: Sequence[Value], kinds: Sequence[RecordKind] = tuple(RecordKind)
    ) -> tuple[RecordForm, list[Value]] | None:
        """The form of a record with compound arguments, and its columns; None if there is none.

        `values` are all fields after the arrival and the occurrence or start.
        """
        for kind in kinds:
            skipped = {RecordKind.EVENT: 0, RecordKind.POINT: 1, RecordKind.INTERVAL: 2}[kind]
            if len(values) <= skipped:
                continue
            args = tuple(term_of(each) for each in values[skipped:])
            relation, flat = flatten(Compound(name, args))
            if relation in self.relations(name, kind):
                head = [] if kind is RecordKind.EVENT else [values[skipped - 1]]
                return RecordForm(relation, kind), [*head, *map(value, flat)]
        return None

    def relations(self, name: str, kind: RecordKind) -> list[Relation]:
        """The relations of a name that records of a kind may be of."""
        if kind is RecordKind.EVENT:
            return self._events.get(name, [])
        other = InputShape.INTERVALS if kind is RecordKind.POINT else InputShape.POINTS
        return [own for own, shape in self._fluents.get(name, ()) if shape is not other]

    def of_columns(
        self, name: str, width: int, kinds: Sequence[RecordKind]
    ) -> RecordForm | str | None:
        """The form of a table with that many columns beside the times."""
        forms = [
            form
            for fields in (width + 3, width + 4)
            for form in self._forms(name, fields)
            if form.kind in kinds and form.width == width
        ]
        if len(forms) == 1:
            return forms[0]
        wanted = {
            RecordForm(own, kind).width for kind in kinds for own in self.relations(name, kind)
        }
        if not forms and wanted:
            return f"{name} has {_either(wanted)} columns beside the times, not {width}"
        return self._reason(name, width, forms)

    def _reason(self, name: str, fields: int, forms: list[RecordForm]) -> str | None:
        if forms:
            return f"{name} could be an " + " or a ".join(form.kind for form in forms)
        if name in self._nested:
            known = [*self._events.get(name, ()), *(own for own, _ in self._fluents.get(name, ()))]
            return f"{name} has other arguments: rules speak of {', '.join(r.name for r in known)}"
        if name in self._events or name in self._fluents:
            layout = self._layout(name)
            return f"{name} has {_either(self._wanted(name))} fields{layout}, not {fields}"
        return f"{name} is defined by rules" if name in self._defined else None

    def _layout(self, name: str) -> str:
        """The fields of the records of a name, if there is one form of them."""
        forms = [
            RecordForm(relation, kind)
            for kind in RecordKind
            for relation in self.relations(name, kind)
        ]
        if len(forms) != 1:
            return ""
        return f" ({', '.join(['name', *forms[0].titles, *self.slot_titles(forms[0])])})"

    def _wanted(self, name: str) -> set[int]:
        """The numbers of fields that records of a name may have."""
        field_counts = {RecordKind.EVENT: 3, RecordKind.POINT: 4, RecordKind.INTERVAL: 5}
        return {
            relation.arity + more
            for kind, more in field_counts.items()
            for relation in self.relations(name, kind)
        }

    def namings(self, form: RecordForm) -> list[tuple[str, ...]]:
        """Names of the columns of a form, the best first; empty where a column has none.

        The first are those of a declaration, and where it says none, those that all rules agree on;
        the second are the latter alone.
        """
        if form not in self._namings:
            entry = self._entry(form)
            declared, agreed = entry.declared_names, entry.agreed_names
            taken = {name.casefold() for name in declared if name}
            free = ["" if name.casefold() in taken else name for name in agreed]
            both = tuple(one or other for one, other in zip(declared, free, strict=True))
            self._namings[form] = [both, agreed]
        return self._namings[form]

    def slot_names(self, name: str) -> set[str]:
        """All names that columns of an input relation of some name may have."""
        return {
            each
            for kind in RecordKind
            for relation in self.relations(name, kind)
            for naming in self.namings(RecordForm(relation, kind))
            for each in naming
            if each
        }

    def slot_titles(self, form: RecordForm) -> list[str]:
        """What to call the columns of a form: by their names, or by what rules call them first."""
        arguments = self._entry(form).argument_names
        plain = arguments if form.kind is RecordKind.EVENT else ("value", *arguments)
        return [one or other for one, other in zip(self.namings(form)[0], plain, strict=True)]

    def _entry(self, form: RecordForm) -> EventEntry | FluentEntry:
        if form.kind is RecordKind.EVENT:
            return self._catalogue.events[form.relation]
        return self._catalogue.fluents[form.relation]


def _either(numbers: set[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))
