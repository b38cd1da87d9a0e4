"""Background knowledge: facts, rules and tables, as tables, expansions or answers to goals."""

from cernis.knowledge.builtins import BUILTINS, Builtin, Kind, Mode, builtin
from cernis.knowledge.classify import Predicate, Route
from cernis.knowledge.facts import Column, ColumnType, FactTable, fact_table, table_of_rows
from cernis.knowledge.knowledge import Knowledge
from cernis.knowledge.machine import Limits
from cernis.knowledge.resolve import outputs
from cernis.knowledge.tables import read_table
from cernis.knowledge.values import Key, Row, Value, label, term_of, value

__all__ = [
    "BUILTINS", "Builtin", "Column", "ColumnType", "FactTable", "Key", "Kind", "Knowledge",
    "Limits", "Mode", "Predicate", "Route", "Row", "Value", "builtin", "fact_table", "label",
    "outputs", "read_table", "table_of_rows", "term_of", "value",
]  # fmt: skip
