"""Between numpy and Arrow, sharing memory.

Arrow's own conversions import pandas wherever it is installed, to see whether they were given any
of it. For a small input that takes longer than all the rest of a run.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from cernis.kernels.array_types import Array, Booleans


def as_arrow(array: Array, mask: Booleans | None = None) -> pa.Array:
    """Numbers or flags as an Arrow array; those under the mask are null.

    >>> as_arrow(np.array([1, 2]), np.array([False, True])).to_pylist()
    [1, None]
    """
    valid = None if mask is None else _bits(~mask)
    if array.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(array), [valid, _bits(array)])
    kind = pa.from_numpy_dtype(array.dtype)
    buffer = pa.py_buffer(np.ascontiguousarray(array))
    return pa.Array.from_buffers(kind, len(array), [valid, buffer])


def _bits(flags: Booleans) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def as_numpy(array: pa.Array | pa.ChunkedArray) -> Array:
    """An Arrow array of numbers or flags without nulls, read-only where memory is shared."""
    if isinstance(array, pa.ChunkedArray):
        parts = [as_numpy(chunk) for chunk in array.chunks]
        kind = np.dtype(array.type.to_pandas_dtype())
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, kind), *parts])
    low, high = array.offset, array.offset + len(array)
    data = array.buffers()[1]
    kind = np.dtype(array.type.to_pandas_dtype())
    if data is None:
        return np.empty(0, kind)
    if kind == np.bool_:
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=high, bitorder="little")
        return bits[low:high].view(np.bool_)
    return np.frombuffer(data, kind)[low:high]


def is_text_type(kind: pa.DataType) -> bool:
    """Is it a type of text?"""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def as_texts(texts: Iterable[str]) -> pa.Array:
    """Texts as an Arrow array; what UTF-8 cannot hold is written as an escape."""
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def as_text(text: str) -> pa.Scalar:
    """A text as the argument of an Arrow function."""
    return as_texts([text])[0]


def contents(texts: pa.Array) -> pa.Buffer:
    """The texts of an array one after the other."""
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return pa.py_buffer(b"")
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return data.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
