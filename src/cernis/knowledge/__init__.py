"""Background knowledge: facts, rules and tables, as tables, expansions or answers to goals."""

from cernis.knowledge.classify import Predicate, Route
from cernis.knowledge.fact_tables import (
    ColumnType,
    FactTable,
    TableColumn,
    fact_table,
    table_of_rows,
)
from cernis.knowledge.ground_values import Key, Row, Value, label, term_of, value
from cernis.knowledge.knowledge import Knowledge
from cernis.knowledge.resolution.builtins import BUILTINS, Builtin, BuiltinKind, Mode, builtin
from cernis.knowledge.resolution.machine import Limits
from cernis.knowledge.resolution.resolution_engine import outputs
from cernis.knowledge.table_files import read_table

__all__ = [
    "BUILTINS", "Builtin", "BuiltinKind", "ColumnType", "FactTable", "Key", "Knowledge",
    "Limits", "Mode", "Predicate", "Route", "Row", "TableColumn", "Value", "builtin",
    "fact_table", "label", "outputs", "read_table", "table_of_rows", "term_of", "value",
]  # fmt: skip
