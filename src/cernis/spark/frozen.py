"""A session over uncertain records as bytes, and back: its large arrays one by one.

What a session knows of its plan is not written: it is taken from the plan when it is read. Each
large array is a part named after its content. So an array that has not changed since the
micro-batch before has a part of the same name, and need not be written again. Only classes of this
package and of numpy are made while reading; whatever else a file asks for is refused. A stream of
other rules, or of another version of this package, cannot go on from it.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cernis.errors import DataError
from cernis.operators.context import Context, Memo
from cernis.plan.builder import Plan
from cernis.runtime.columns import RecordColumns
from cernis.spark.blobs import packed_records, unpacked_records
from cernis.tables.domains import Domain, Texts, Value
from cernis.tables.fluents import FluentTable
from cernis.tables.narrow import narrow, widen
from cernis.tables.shelves import Shelf

MAIN: Final = "main"
"""The part that tells what the others are."""

_LARGE: Final = 4096
"""Arrays of fewer bytes stand in the main part."""

_BUILTINS: Final = frozenset(
    {"list", "set", "frozenset", "complex", "slice", "range", "bytearray", "dict"}
)
_CODEC: Final = "lz4"


def frozen(content: object, plan: Plan) -> dict[str, bytes]:
    """Something as parts, by name."""
    parts: dict[str, bytes] = {}
    names: list[tuple[str, int]] = []

    def take(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < _LARGE:
            return True
        name = blake2b(view, digest_size=12).hexdigest()
        names.append((name, view.nbytes))
        if name not in parts:
            parts[name] = pa.compress(view, _CODEC, asbytes=True)
        return False

    stream = io.BytesIO()
    _Writer(stream, plan, take).dump(content)
    parts[MAIN] = pickle.dumps((names, stream.getvalue()), protocol=5)
    return parts


def thawed(parts: Mapping[str, bytes | memoryview], plan: Plan) -> Any:
    """What was frozen; a DataError if it cannot be, or is no such thing."""
    try:
        names, main = _Reader(io.BytesIO(parts[MAIN]), plan, ()).load()
        # Arrays must be writable, and a part may be used by several.
        buffers = [
            bytearray(pa.decompress(parts[name], size, _CODEC, asbytes=True))
            for name, size in names
        ]
        return _Reader(io.BytesIO(main), plan, buffers).load()
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, pa.ArrowException) as error:
        raise DataError(f"the state cannot be read: {error}") from error


def _known(plan: Plan) -> dict[str, object]:
    """What a session shares with its plan, by name."""
    checked = plan.checked
    return {
        "plan": plan, "checked": checked, "knowledge": plan.knowledge, "modes": checked.modes,
        "types": checked.types, "catalogue": checked.catalogue,
        "definitions": checked.definitions, "dependencies": checked.dependencies,
    }  # fmt: skip


def _context(*given: Any) -> Context:
    """A context without the tables of its query, which are made anew by the next."""
    *first, memo = given
    found = Context(*first)
    found.memo = memo
    return found


def _packed(values: list[Value]) -> Any:
    if values and all(type(value) is int and abs(value) < 1 << 63 for value in values):
        return np.array(values, np.int64)
    if values and all(type(value) is str for value in values):
        # One text, and where each value ends in it: arrays, which are parts of their own.
        ends = np.cumsum([len(value) for value in values])  # type: ignore[arg-type]
        text = "".join(values).encode("utf-8", "surrogatepass")  # type: ignore[arg-type]
        return np.frombuffer(text, np.uint8), ends
    return values


def _domain(values: Any) -> Domain:
    """A domain in which each value has the code it had."""
    if isinstance(values, tuple):
        text = values[0].tobytes().decode("utf-8", "surrogatepass")
        values = [text[low:high] for low, high in pairwise([0, *values[1].tolist()])]
    if not isinstance(values, np.ndarray):
        keys = ((value,) if isinstance(value, float) else value for value in values)
        return Domain(values, {key: code for code, key in enumerate(keys)})
    known = values.tolist()
    found = Domain(known, dict(zip(known, range(len(known)), strict=True)))
    if found._covers(int(values.min()), int(values.max()), len(values)):
        found._table[values - found._low] = np.arange(len(values))
    return found


def _shelved(shelf: Shelf) -> tuple[Any, ...]:
    places, owners = shelf.everything()
    columns = [narrow(column) for column in shelf.rows(places)]
    counts = narrow(np.bincount(owners, minlength=shelf.groups))
    return shelf.width, shelf._reach >= 0, list(shelf._is_float), counts, columns


def _shelf(
    width: int, has_intervals: bool, is_float: list[bool], counts: Any, columns: list[Any]
) -> Shelf:
    """A shelf with these rows, and no more room than they need."""
    found = Shelf(width, has_intervals)
    found._is_float = is_float
    none = np.empty(0, np.int64)
    own = widen(counts)
    groups = np.repeat(np.arange(len(own)), own)
    found.exchange((none, none), groups, [widen(column) for column in columns])
    return found


class _Writer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, plan: Plan, take: Any) -> None:
        super().__init__(stream, protocol=5, buffer_callback=take)
        self._names = {id(each): name for name, each in _known(plan).items()}

    def persistent_id(self, given: object) -> str | None:
        return self._names.get(id(given))

    def reducer_override(self, given: object) -> Any:
        if isinstance(given, Memo):
            # What a memo knows it knows of objects of this process.
            return Memo, ()
        if isinstance(given, Context):
            return _context, (
                given.knowledge, given.modes, given.types, given.catalogue, given.domains,
                given.tick, given.ties, given.start, given.edge, given.query, given.memo,
            )  # fmt: skip
        if isinstance(given, Domain):
            return _domain, (_packed(given.values),)
        if isinstance(given, FluentTable):
            return FluentTable, (
                given.arguments, given.values, given.domains, given.value_domain, given.offsets,
                given.starts, given.ends,
            )  # fmt: skip
        if isinstance(given, RecordColumns):
            return unpacked_records, (packed_records(given),)
        if isinstance(given, Shelf):
            return _shelf, _shelved(given)
        if isinstance(given, Texts):
            return list, (list(given),)
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, plan: Plan, buffers: Any) -> None:
        super().__init__(stream, buffers=buffers)
        self._known = _known(plan)

    def persistent_load(self, name: Any) -> object:
        return self._known[name]

    def find_class(self, module: str, name: str) -> Any:
        root = module.partition(".")[0]
        ours = root in ("cernis", "numpy")
        if not ours and not (module == "builtins" and name in _BUILTINS):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")
        return super().find_class(module, name)
