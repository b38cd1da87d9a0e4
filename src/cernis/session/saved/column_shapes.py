"""Shapes of columns in saved states: values, records that wait, and rows of relations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.check.amounts import FARTHEST
from cernis.check.value_forms import ValueForm
from cernis.evaluate.probabilities.tracked_probabilities import NO_PROBABILITY
from cernis.records.record_columns import INFINITE, RecordKind
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.tree_shapes import (
    Cases,
    Floats,
    Integers,
    Listed,
    Maybe,
    Numbers,
    NumberShape,
    Parts,
    Table,
    TextShape,
    Truths,
    Whole,
)

MOST_CODES: Final = 1 << 31
"""No domain has so many codes: registers have 31 bits for each."""

COUNT: Final = Whole(0)
TIME: Final = Whole(-FARTHEST, FARTHEST)
TIMES: Final = Integers(-FARTHEST, FARTHEST)
ENDS: Final = Integers(-FARTHEST, INFINITE)
LENGTH: Final = Whole(1, FARTHEST)
CHANCE: Final = NumberShape(0, 1)
CHANCES: Final = Floats(0, 1)
RELATION: Final = Parts((TextShape(), COUNT))


# -- values, and records that wait -------------------------------------------------------------


def _texts_fit(tree: Tree) -> str | None:
    ends, text = tree["ends"], tree["text"].astype(np.uint8)
    if len(ends) and (ends[0] < 0 or (np.diff(ends) < 0).any()):
        return "the ends of its texts are not in order"
    # A character has one byte that does not continue another; these bytes are counted.
    count = np.count_nonzero(text & 0xC0 != 0x80)
    return None if (ends[-1] if len(ends) else 0) == count else "its texts have another length"


_VALUE: Final = Cases({
    int: Whole(-(1 << 4096), 1 << 4096), float: NumberShape(), str: TextShape(),
    dict: Table({"term": TextShape()}),
})  # fmt: skip

VALUES: Final = Cases({
    np.ndarray: Integers(),
    dict: Table({"text": Integers(0, 255), "ends": Integers(0)}, (_texts_fit,)),
    list: Listed(_VALUE),
})  # fmt: skip
"""Values of any kind: whole numbers, texts, or cell by cell."""


def count_of_values(tree: Tree) -> int:
    """How many values a tree has that fits."""
    return len(tree["ends"]) if isinstance(tree, dict) else len(tree)


def _codes_have_values(tree: Tree) -> str | None:
    codes, count = tree["codes"], count_of_values(tree["values"])
    return "it has codes without a value" if len(codes) and codes.max() >= count else None


COLUMN: Final = Cases({
    np.ndarray: Numbers(),
    dict: Table({"values": VALUES, "codes": Integers(0)}, (_codes_have_values,)),
})  # fmt: skip
"""A column of records that are not resolved yet."""


def column_length(tree: Tree) -> int:
    """The length of a column of records."""
    return len(tree["codes"]) if isinstance(tree, dict) else len(tree)


def _records_fit(tree: Tree) -> str | None:
    name, arity, kind = tree["form"]
    times, columns = tree["times"], tree["columns"]
    if len(times) != (2 if kind == RecordKind.INTERVAL else 1):
        return f"{name} has another number of times"
    if len(columns) != arity + (kind != RecordKind.EVENT):
        return f"{name} has another number of columns"
    more = [tree["arrival"], tree["places"], tree["retracts"], tree["chances"]]
    lengths = {len(each) for each in (*times, *more) if each is not None}
    lengths |= {column_length(each) for each in (*columns, tree.get("ids")) if each is not None}
    if len(lengths) > 1:
        return f"columns of {name} have different lengths"
    if len(times) == 2 and not (times[0] < times[1]).all():
        return f"an interval of {name} ends before it begins"
    return None


FORM: Final = Parts((TextShape(), COUNT, TextShape(tuple(RecordKind))))

FORM_OF_SLOT: Final = Parts((
    TextShape(("event", "fluent")), TextShape(), COUNT,
    Cases({int: COUNT, str: TextShape(("value",))}), Whole(0, int(ValueForm.ANY)),
))  # fmt: skip

RECORDS: Final = Table(
    {
        "form": FORM, "arrival": Maybe(TIMES), "times": Listed(ENDS),
        "columns": Listed(COLUMN), "places": Integers(), "retracts": Maybe(Truths()),
        "chances": Maybe(CHANCES), "ids": Maybe(COLUMN),
    },
    (_records_fit,), frozenset({"ids"}),
)  # fmt: skip
"""Records of one form that are not resolved yet."""


# -- columns of codes --------------------------------------------------------------------------


def _domain_fits(tree: Tree) -> str | None:
    same = len(tree["codes"]) == count_of_values(tree["values"])
    return None if same else "it has not one value for each code"


DOMAINS: Final = Listed(
    Table({"codes": Integers(0, MOST_CODES - 1, ascending=True), "values": VALUES}, (_domain_fits,))
)


def _codes_are_whole(tree: Tree) -> str | None:
    if tree["of"] is None or not len(tree["rows"]) or tree["rows"].dtype == np.int64:
        return None
    return f"it is an array of {tree['rows'].dtype}, not of codes"


CODED_COLUMN: Final = Table({"of": Maybe(COUNT), "rows": Numbers()}, (_codes_are_whole,))
"""A column of numbers, or of codes of some domain. The reader checks that all codes have values."""

_ROWS: Final = Table(
    {"relation": RELATION, "arguments": Listed(CODED_COLUMN), "columns": Listed(CODED_COLUMN)}
)


@dataclass(frozen=True, slots=True)
class RelationRows:
    """Rows of a relation: its arguments, and as many other columns as one of the `widths`.

    The first `times` columns are times; an interval has two, and its start is before its end. Then
    come values. With `has_chances`, the last column is a probability; if several widths are
    allowed, only rows of the widest have it.
    """

    widths: tuple[int, ...]
    times: int
    has_chances: bool = False
    extra: int = 0
    """How many arguments there are more than the relation has: occurrences of a fluent have its
    value as one more."""
    may_lack_chance: bool = False
    """May a probability be missing, as it is for certain fluents among uncertain ones?"""

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        complaint = _ROWS.complaint(tree, place) or self._misfit(tree)
        return (
            complaint
            if complaint is None or complaint.startswith(place)
            else f"{place}: {complaint}"
        )

    def _misfit(self, tree: Tree) -> str | None:
        name, arity = tree["relation"]
        arguments, columns = tree["arguments"], tree["columns"]
        if len(arguments) != arity + self.extra or len(columns) not in self.widths:
            return f"{name} has another number of columns"
        if len({len(each["rows"]) for each in (*arguments, *columns)}) > 1:
            return f"columns of {name} have different lengths"
        if any(each["of"] is not None for each in columns[: self.times]):
            return f"the times of {name} are codes"
        starts, *ends = (each["rows"] for each in columns[: self.times])
        complaint = TIMES.complaint(starts, f"a time of {name}")
        for each in ends:
            complaint = complaint or ENDS.complaint(each, f"an end of {name}")
            if complaint is None and not (starts < each).all():
                complaint = f"an interval of {name} ends before it begins"
        if complaint is None and self.has_chances and len(columns) == max(self.widths):
            return CHANCES.complaint(self._chances(columns[-1]["rows"]), f"a probability of {name}")
        return complaint

    def _chances(self, column: Tree) -> Tree:
        """The probabilities that are not missing."""
        if not self.may_lack_chance or not isinstance(column, np.ndarray):
            return column
        return column[column != NO_PROBABILITY]


def each_once(trees: Tree) -> str | None:
    """A complaint if a relation is there twice."""
    names = [tuple(tree["relation"]) for tree in trees]
    return "a relation is there twice" if len(set(names)) < len(names) else None


def same_lengths(trees: Tree) -> str | None:
    """A complaint if columns have different lengths."""
    lengths = {len(tree["rows"]) for tree in trees}
    return "its columns have different lengths" if len(lengths) > 1 else None
