"""The forms of the values of records, which decide how classes of arguments are held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cernis.check.model import Relation
from cernis.check.types import Slot
from cernis.check.value_forms import ValueForm
from cernis.plan.held_forms import Forms
from cernis.records.record_columns import Coded, Column, RecordColumns, RecordForm, RecordKind
from cernis.tables.domains import Texts


def see_records(forms: Forms, parts: Iterable[RecordColumns]) -> None:
    """Take note of the forms of records."""
    for part in parts:
        slots = forms.numeric_slots(part.form, lambda own=part.form: slots_of(own))  # type: ignore[misc]
        forms.see({slot: form_of_column(part.columns[at]) for at, slot in slots})


def forms_in(
    forms: Forms, slots: Iterable[Slot], columns: Iterable[Column]
) -> dict[Slot, ValueForm]:
    """The forms in columns, of those slots whose classes may be held as numbers."""
    return {
        slot: form_of_column(column)
        for slot, column in zip(slots, columns, strict=True)
        if forms.is_numeric(slot)
    }


def see_found(forms: Forms, relation: Relation, columns: Sequence[Column]) -> None:
    """Take note of the forms of what was form of a relation; of a fluent, the value is last."""
    slots: list[Slot] = [("event", relation, at) for at in range(relation.arity)]
    if len(columns) > relation.arity:
        slots = [("fluent", relation, at) for at in range(relation.arity)]
        slots.append(("fluent", relation, "value"))
    forms.see(forms_in(forms, slots, columns))


def slots_of(form: RecordForm) -> Iterator[Slot]:
    """The slots of the columns of records: of a fluent, its value first."""
    relation = form.relation
    if form.kind is not RecordKind.EVENT:
        yield "fluent", relation, "value"
    for at in range(relation.arity):
        yield ("event" if form.kind is RecordKind.EVENT else "fluent"), relation, at


def form_of_column(column: Column) -> ValueForm:
    """The forms that values of a column may have."""
    if not len(column):
        return ValueForm.NOTHING
    if not isinstance(column, Coded):
        return ValueForm.FLOAT if column.dtype.kind == "f" else ValueForm.INTEGER
    if isinstance(column.values, Texts):
        return ValueForm.OTHER
    form = ValueForm.NOTHING
    for kind in set(map(type, column.values)):
        form |= {int: ValueForm.INTEGER, float: ValueForm.FLOAT}.get(kind, ValueForm.OTHER)
    return form
