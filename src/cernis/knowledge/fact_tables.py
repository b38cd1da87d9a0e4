"""Ground facts as typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from cernis.errors import KnowledgeError
from cernis.knowledge.ground_values import Key, Row, Value, label, plain, term_of, told_apart, value
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Clause, Compound, Number, Term, Text

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE: Final = 2**53
_LONG: Final = 2**63
_TRUTH: Final = frozenset({"true", "false"})


class ColumnType(StrEnum):
    """What the values of a column have in common."""

    INTEGER = "integer"
    """Integers of 64 bits."""
    FLOAT = "float"
    """Numbers, at least one of them a float; the integers among them fit a float exactly."""
    TEXT = "text"
    BOOLEAN = "boolean"
    """Only the texts `true` and `false`, and at least one of them."""
    MIXED = "mixed"
    """Anything else: numbers and text, terms, integers beyond 64 bits. An empty column too."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """The values of one argument, in the order of the facts."""

    name: str
    type: ColumnType
    values: Sequence[Value]


@dataclass(frozen=True, slots=True)
class FactTable:
    """The facts of a predicate, one column for each argument, in the order they were given.

    A fact given twice is there twice, so that counting answers counts it twice, as the facts
    themselves would. A predicate without arguments has no columns and as many rows as facts.
    """

    name: str
    arity: int
    columns: tuple[TableColumn, ...]
    length: int

    def __len__(self) -> int:
        return self.length

    @property
    def key(self) -> Key:
        """Name and number of arguments."""
        return self.name, self.arity

    def rows(self) -> Iterator[Row]:
        """The facts as tuples of values."""
        if not self.columns:
            return iter([()] * self.length)
        return zip(*(_told_apart(column) for column in self.columns), strict=True)

    def arrow(self) -> pa.Table:
        """The same as an Arrow table.

        Integers are `int64`, floats `float64`, text `string`, booleans `bool`. A mixed column is
        a `string` column of the values' canonical text, in which `1` and `'1'` differ; its
        field says so in its metadata, as each field names its type under `cernis.type`.
        """
        import pyarrow as pa

        fields = [
            pa.field(column.name, _arrow_type(column.type), False, {"cernis.type": column.type})
            for column in self.columns
        ]
        arrays = [_arrow_array(column) for column in self.columns]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def fact_table(
    key: Key,
    columns: Sequence[Sequence[Value]],
    names: Sequence[str] = (),
    length: int | None = None,
) -> FactTable:
    """A table of columns of values, all of one length; their types are found here.

    Without names the columns are `arg1`, `arg2` and so on. The length is needed only for a
    predicate without arguments.
    """
    titles = names or [f"arg{number}" for number in range(1, len(columns) + 1)]
    typed = tuple(
        TableColumn(name, column_type(values), values)
        for name, values in zip(titles, columns, strict=True)
    )
    return FactTable(*key, typed, len(columns[0]) if columns else length or 0)


def _told_apart(column: TableColumn) -> Sequence[Value]:
    """The values of a column; floats are equal to floats alone."""
    if column.type in (ColumnType.FLOAT, ColumnType.MIXED):
        return [told_apart(value) for value in column.values]
    return column.values


def table_of_rows(key: Key, rows: Iterable[Row]) -> FactTable:
    """A table of tuples of values."""
    listed = rows if isinstance(rows, list) else list(rows)
    columns = [[plain(row[position]) for row in listed] for position in range(key[1])]
    return fact_table(key, columns, length=len(listed))


def table_of_facts(key: Key, clauses: Sequence[Clause]) -> FactTable:
    """A table of ground facts, all of the predicate named.

    >>> from cernis.syntax import parse
    >>> table = table_of_facts(("port", 2), parse("port(brest, 48.4). port(rhu, 56).").items)
    >>> list(table.rows()), [column.type.value for column in table.columns]
    ([('brest', 48.4), ('rhu', 56)], ['text', 'float'])
    """
    heads = [_arguments(clause.head) for clause in clauses]
    try:
        columns = [_values([args[position] for args in heads]) for position in range(key[1])]
    except ValueError as error:
        raise KnowledgeError(label(key), "a fact of a table has no variables") from error
    return fact_table(key, columns, length=len(heads))


def _arguments(head: Term) -> tuple[Term, ...]:
    return head.args if isinstance(head, Compound) else ()


def _values(terms: Sequence[Term]) -> list[Value]:
    kinds = set(map(type, terms))
    if kinds == {Atom}:
        return [term.name for term in terms]  # type: ignore[union-attr]
    if kinds <= {Number, Text}:
        return [term.value for term in terms]  # type: ignore[union-attr]
    return [value(term) for term in terms]


def column_type(values: Sequence[Value]) -> ColumnType:
    """The narrowest type that all values have."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return ColumnType.INTEGER if _within(values, _LONG) else ColumnType.MIXED
    if kinds == {str}:
        truth = all(each in _TRUTH for each in values)
        return ColumnType.BOOLEAN if truth else ColumnType.TEXT
    if kinds == {float}:
        return ColumnType.FLOAT
    if kinds == {int, float}:
        whole = [each for each in values if type(each) is int]
        return ColumnType.FLOAT if _within(whole, _WHOLE) else ColumnType.MIXED
    return ColumnType.MIXED


def _within(values: Sequence[Value], bound: int) -> bool:
    return -bound <= min(values) and max(values) < bound  # type: ignore[type-var, operator]


def _arrow_type(type_: ColumnType) -> pa.DataType:
    import pyarrow as pa

    types = {
        ColumnType.INTEGER: pa.int64(),
        ColumnType.FLOAT: pa.float64(),
        ColumnType.BOOLEAN: pa.bool_(),
    }
    return types.get(type_, pa.string())


def _arrow_array(column: TableColumn) -> pa.Array:
    import pyarrow as pa

    values: Iterable[object] = column.values
    if column.type is ColumnType.BOOLEAN:
        values = [each == "true" for each in column.values]
    elif column.type is ColumnType.FLOAT:
        values = [float(each) for each in column.values]  # type: ignore[arg-type]
    elif column.type is ColumnType.MIXED:
        values = [show(term_of(each)) for each in column.values]
    return pa.array(values, _arrow_type(column.type))
