"""Values and columns of any kind as plain trees, and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cernis.check.model import Relation
from cernis.errors import CernisError
from cernis.knowledge.ground_values import Value, value
from cernis.records.record_columns import Coded, Column, RecordColumns, RecordForm, RecordKind
from cernis.session.saved.plain_trees import Tree
from cernis.syntax.parser import parse_term
from cernis.syntax.printer import show

_LARGEST = (1 << 63) - 1


def plain_values(values: Sequence[Value]) -> Tree:
    """Values of any kind: an array of whole numbers, one long text, or cell by cell."""
    kinds = set(map(type, values))
    if kinds == {int} and all(-_LARGEST <= v <= _LARGEST for v in values):  # type: ignore[operator]
        return np.array(values, np.int64)
    if kinds == {str}:
        ends = np.cumsum([len(value) for value in values])  # type: ignore[arg-type]
        text = "".join(values).encode("utf-8", "surrogatepass")  # type: ignore[arg-type]
        return {"text": np.frombuffer(text, np.uint8), "ends": ends}
    return [v if isinstance(v, int | float | str) else {"term": show(v)} for v in values]


def values_of(tree: Tree) -> list[Value]:
    """The values of a tree; whatever else it holds is a ValueError."""
    if isinstance(tree, np.ndarray):
        return tree.tolist()  # type: ignore[no-any-return]
    if isinstance(tree, dict):
        text = tree["text"].astype(np.uint8).tobytes().decode("utf-8", "surrogatepass")
        return [text[low:high] for low, high in pairwise([0, *tree["ends"].tolist()])]
    return [_value(cell) for cell in tree]


def _value(cell: Tree) -> Value:
    if isinstance(cell, dict):
        try:
            return value(parse_term(cell["term"]))
        except CernisError as error:
            raise ValueError(f"{cell['term']} is no value") from error
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        raise ValueError(f"{cell} is no value")
    return cell


def plain_column(column: Column) -> Tree:
    """A column, with only those of its values that some row has."""
    if not isinstance(column, Coded):
        return column
    used, codes = np.unique(column.codes, return_inverse=True)
    values = column.values[:]
    return {"values": plain_values([values[code] for code in used.tolist()]),
            "codes": codes.astype(np.int64).ravel()}  # fmt: skip


def column_of_tree(tree: Tree) -> Column:
    """The column of a tree."""
    if isinstance(tree, np.ndarray):
        return tree
    return Coded(values_of(tree["values"]), tree["codes"])


# -- relations and records ---------------------------------------------------------------------


def plain_relation(relation: Relation) -> Tree:
    """A relation by its name and number of arguments."""
    return [relation.name, relation.arity]


def relation_of(tree: Tree) -> Relation:
    """The relation of a tree."""
    name, arity = tree
    return Relation(str(name), int(arity))


def plain_form(form: RecordForm) -> Tree:
    """A form by its relation and kind."""
    return [*plain_relation(form.relation), form.kind.value]


def form_of(tree: Tree) -> RecordForm:
    """The form of a tree."""
    return RecordForm(relation_of(tree[:2]), RecordKind(tree[2]))


def plain_records(part: RecordColumns) -> Tree:
    """Records that are not resolved yet. An arrival at the occurrence or start is left out."""
    arrival, start = part.times[:2]
    at_once = arrival is start or bool(np.array_equal(arrival, start))
    return {
        "form": plain_form(part.form),
        "arrival": None if at_once else arrival,
        "times": part.times[1:],
        "columns": [plain_column(column) for column in part.columns],
        "places": part.places,
        "retracts": None if part.retracts is None or not part.retracts.any() else part.retracts,
        "chances": part.chances,
        "ids": None if part.ids is None else plain_column(part.ids),
    }


def records_of(tree: Tree) -> RecordColumns:
    """The records of a tree. The first format had no ids."""
    times = list(tree["times"])
    arrival = times[0] if tree["arrival"] is None else tree["arrival"]
    return RecordColumns(
        form_of(tree["form"]), [arrival, *times],
        [column_of_tree(column) for column in tree["columns"]],
        tree["places"], tree["retracts"], None, tree["chances"],
        None if tree.get("ids") is None else column_of_tree(tree["ids"]),
    )  # fmt: skip
