"""An answer as lines of text, sorted: built column by column, never a line at a time.

The lines of a relation are put in order by numbers, not by comparing lines: each distinct argument
gets its rank among the texts of its column, taken with the delimiter that follows. No such text
is the beginning of another, so comparing ranks from left to right is comparing lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.check.model import Relation
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Array, Integers
from cernis.knowledge.ground_values import Value, term_of
from cernis.records.arrow_arrays import as_arrow, as_text, as_texts, contents
from cernis.syntax.operators import ARGUMENT, INFIX, PREFIX
from cernis.syntax.printer import show, show_atom
from cernis.syntax.tree import PATTERN_OPERATORS, Atom, Compound
from cernis.tables.columns import pack
from cernis.tables.domains import Domain
from cernis.tables.event_tables import EventTable
from cernis.tables.interval_tables import FluentTable

_PLAIN: Final = re.compile(r"[a-z][A-Za-z0-9_]*")
_WORDS: Final = frozenset({*INFIX, *PREFIX, *PATTERN_OPERATORS, "where", "within", "not"})
_SLOT: Final = re.compile(r"(?<=[(,])_(?=[,)])")
_FUNCTOR: Final = re.compile(r"[^(),]+(?=\()")
_SLICE: Final = 1 << 18
"""Lines that are built together, so that no column of text grows beyond what Arrow can hold."""


def argument_text(value: Value) -> str:
    """A value as an argument of a term.

    >>> argument_text("chris"), argument_text("Far out"), argument_text(3)
    ('chris', "'Far out'", '3')
    """
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value not in _WORDS:
            return value
    elif isinstance(value, int):
        return str(value)
    return show(term_of(value), ARGUMENT)


def value_text(value: Value) -> str:
    """A value as it stands after the `=` of a pair, `= -5` being no `=-`."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _WORDS:
        return value
    return show(Compound("=", (Atom("f"), term_of(value)))).removeprefix("f=")


def template(relation: Relation) -> list[str]:
    """What stands before, between and after the arguments of a relation.

    >>> template(Relation("obl(pay(_,_))", 2))
    ['obl(pay(', ', ', '))']
    """
    name, arity = relation.name, relation.arity
    if not arity:
        return [name]
    if len(_SLOT.findall(name)) != arity:
        return [f"{show_atom(name)}(", *[", "] * (arity - 1), ")"]
    quoted = _FUNCTOR.sub(lambda found: show_atom(found[0]), name)
    return [part.replace(",", ", ") for part in _SLOT.split(quoted)]


@dataclass(slots=True)
class Ranked:
    """A column by rank: row r has the text `texts[ranks[r]]`, and texts are sorted."""

    texts: list[str]
    ranks: Integers


def ranked(
    column: Array, domain: Domain | None, spell: Callable[[Value], str], following: str
) -> Ranked:
    """The texts of a column, sorted as they are with the text that follows them."""
    if domain is None:
        distinct, codes = np.unique(column, return_inverse=True)
        values = distinct.tolist()
    else:
        used = np.zeros(len(domain), np.bool_)
        used[column] = True
        chosen = np.flatnonzero(used)
        values = domain.decode(chosen)
        numbers = np.zeros(len(domain), np.int64)
        numbers[chosen] = np.arange(len(chosen))
        codes = numbers[column]
    texts = [spell(value) for value in values]
    order = sorted(range(len(texts)), key=lambda at: texts[at] + following)
    ranks = np.empty(len(texts), np.int64)
    ranks[order] = np.arange(len(texts))
    return Ranked([texts[place] for place in order], ranks[codes])


def in_order(columns: list[Ranked], length: int) -> tuple[Integers, Integers]:
    """The order of rows by rank, first column first, and a number that equal rows share.

    Equal rows keep their order.
    """
    if not columns:
        return np.arange(length), np.zeros(length, np.int64)
    packed = pack([column.ranks for column in columns], [len(c.texts) for c in columns])
    if packed is not None:
        return np.argsort(packed[0], kind="stable"), packed[0]
    order = np.lexsort([column.ranks for column in reversed(columns)])
    sorted_ = [column.ranks[order] for column in columns]
    new = np.any([own[1:] != own[:-1] for own in sorted_], axis=0)
    numbers = np.zeros(length, np.int64)
    numbers[order[1:]] = np.cumsum(new)
    return order, numbers


def text_blocks(answer: Answer, times: TimeOutput = WHOLE_NUMBERS) -> Iterator[pa.Buffer]:
    """The lines of an answer, sorted, as UTF-8; each ends in a line feed.

    There is one line for each fluent-value pair with any interval, and one for each derived event
    that happened.
    """
    parts: list[tuple[str, Iterator[pa.Array]]] = []
    for relation, fluent in answer.fluents.items():
        head = f"holdsFor({template(relation)[0]}" + ("=" if not relation.arity else "")
        parts.append((head, _fluent_lines(relation, fluent, times)))
    for relation, event in answer.events.items():
        head = f"{_word(event)}({template(relation)[0]}" + (", [" if not relation.arity else "")
        parts.append((head, event_lines(relation, event, times)))
    parts.sort(key=lambda part: part[0])
    while parts:
        # Where one head begins another, the lines of both may alternate.
        count = 1
        while count < len(parts) and parts[count][0].startswith(parts[0][0]):
            count += 1
        together, parts = parts[:count], parts[count:]
        if count == 1:
            yield from map(contents, together[0][1])
        else:
            lines = [line for _, own in together for array in own for line in array.to_pylist()]
            yield pa.py_buffer("".join(sorted(lines)).encode())


def _fluent_lines(relation: Relation, table: FluentTable, times: TimeOutput) -> Iterator[pa.Array]:
    held = np.flatnonzero(table.offsets[1:] > table.offsets[:-1])
    table = table.take(held) if len(held) < len(table) else table
    pieces = template(relation)
    pieces = [f"holdsFor({pieces[0]}", *pieces[1:]]
    pieces[-1] += "="
    columns = [
        ranked(column, domain, argument_text, following)
        for (column, domain), following in zip(table.columns()[:-1], pieces[1:], strict=True)
    ]
    columns.append(ranked(table.values, table.value_domain, value_text, ", ["))
    order, _ = in_order(columns, len(table))
    for low in range(0, len(order), _SLICE):
        rows = order[low : low + _SLICE]
        own = table.take(rows)
        yield joined_lines([*pieces, ", [("], columns, rows, _intervals(own, times), ")]).\n")


def _intervals(table: FluentTable, times: TimeOutput) -> pa.Array:
    """`1,2),(3,inf` for each group."""
    starts, ends = times.texts(table.starts), times.texts(table.ends)
    return text_lists(pc.binary_join_element_wise(starts, ends, as_text(",")), table.offsets, "),(")


def event_lines(
    relation: Relation, table: EventTable, times: TimeOutput, chances: pa.Array | None = None
) -> Iterator[pa.Array]:
    """The lines of one event; of occurrences that are uncertain, with the text of their chances."""
    pieces = template(relation)
    pieces = [f"{_word(table)}({pieces[0]}", *pieces[1:]]
    pieces[-1] += ", [" if table.starts is None else ", [("
    columns = [
        ranked(column, domain, argument_text, following)
        for column, domain, following in zip(
            table.arguments, table.domains, pieces[1:], strict=True
        )
    ]
    _, keys = in_order(columns, len(table))
    order = np.lexsort((table.times, table.times if table.starts is None else table.starts, keys))
    firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    bounds = np.append(firsts, len(order))
    for low in range(0, len(firsts), _SLICE):
        cut = bounds[low : low + _SLICE + 1]
        rows = order[cut[0] : cut[-1]]
        texts, between, following = _times(table, rows, times)
        if chances is not None:
            own = chances.take(as_arrow(rows.astype(np.int64)))
            texts = pc.binary_join_element_wise(texts, own, as_text(","))
        lists = text_lists(texts, cut - cut[0], between)
        yield joined_lines(pieces, columns, order[cut[:-1]], lists, following)


def _word(table: EventTable) -> str:
    """Events happen; patterns, which have a start and an end, occur."""
    return "happensAt" if table.starts is None else "occurs"


def _times(table: EventTable, rows: Integers, times: TimeOutput) -> tuple[pa.Array, str, str]:
    """The times of some rows as text, and what stands between and after them."""
    texts = times.texts(table.times[rows])
    if table.starts is None:
        return texts, ",", "]).\n"
    starts = times.texts(table.starts[rows])
    return pc.binary_join_element_wise(starts, texts, as_text(",")), "),(", ")]).\n"


def text_lists(texts: pa.Array, offsets: Integers, between: str) -> pa.Array:
    """Texts that follow one another, joined: those from one offset to the next."""
    lists = pa.ListArray.from_arrays(as_arrow(offsets.astype(np.int32)), texts)
    return pc.binary_join(lists, as_text(between))


def joined_lines(
    pieces: list[str], columns: list[Ranked], rows: Integers, lists: pa.Array, last: str
) -> pa.Array:
    """Lines: the texts of columns for some rows, between pieces of text, then the lists."""
    parts: list[pa.Array | pa.Scalar] = [as_text(pieces[0])]
    for column, piece in zip(columns, pieces[1:], strict=True):
        parts += [as_texts(column.texts).take(as_arrow(column.ranks[rows])), as_text(piece)]
    return pc.binary_join_element_wise(*parts, lists, as_text(last), as_text(""))
