"""How kernels are compiled: once, ahead of use by their signatures, and cached beside the package.

Signatures are given, so a kernel is compiled (or fetched from the cache) when its module is
imported and never at a call in the middle of a run. Where the package's folder may not be written
to, numba keeps its cache in a folder of the user's, or in the one that `NUMBA_CACHE_DIR` names.

Places in arrays are unsigned in loops that matter: a signed one is tested, each time, for counting
from the end. Loops that matter write into arrays their callers made: numpy asks the system for
large pages, and can cut an array to its length in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex, TypeVar, cast

import numba
from numba import types

from cernis.kernels.array_types import Integers

F = TypeVar("F", bound=Callable[..., Any])

# Arguments are only read, so that arrays of other libraries, which may not be written to, fit too.
_ARGUMENTS = {
    "integers": types.Array(types.int64, 1, "C", readonly=True),
    "booleans": types.Array(types.boolean, 1, "C", readonly=True),
    "bytes": types.Array(types.uint8, 1, "C", readonly=True),
    "floats": types.Array(types.float64, 1, "C", readonly=True),
    "matrix": types.Array(types.int64, 2, "C", readonly=True),
    "records": types.Array(types.int32, 2, "C", readonly=True),
    "integer": types.int64,
    "float": types.float64,
    "boolean": types.boolean,
    "writable-integers": types.int64[::1],
    "writable-matrix": types.int64[:, ::1],
    "writable-booleans": types.boolean[::1],
    "writable-bytes": types.uint8[::1],
    "writable-floats": types.float64[::1],
    "writable-records": types.int32[:, ::1],
    "small": types.Array(types.int32, 1, "C", readonly=True),
    "writable-small": types.int32[::1],
}
_RESULTS = {
    "integers": types.int64[::1],
    "booleans": types.boolean[::1],
    "integer": types.int64,
    "boolean": types.boolean,
    "nothing": types.void,
}
_OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "boundscheck": False, "no_cfunc_wrapper": True
}  # fmt: skip
_PART: dict[str, Any] = {**_OPTIONS, "_nrt": False, "no_cpython_wrapper": True}


def kernel(arguments: str, results: str) -> Callable[[F], F]:
    """Compile a loop for one signature, given in words: `integers booleans integer`."""
    argument_types = [_ARGUMENTS[word] for word in arguments.split()]
    back = [_RESULTS[word] for word in results.split()]
    result: Any = back[0] if len(back) == 1 else types.Tuple(back)  # type: ignore[no-untyped-call]
    # A kernel that makes no arrays need not count who uses them, which would cost at every call
    # of a part.
    makes_arrays = any(isinstance(own, types.Array) for own in back)
    options: dict[str, Any] = {**_OPTIONS, "_nrt": makes_arrays}
    return cast(Callable[[F], F], numba.njit(result(*argument_types), cache=True, **options))


def part(function: F) -> F:
    """A piece of the kernels of its module: compiled into them, and called by them only.

    It makes no arrays.
    """
    return cast(F, numba.njit(function, **_PART))


def body(function: F) -> F:
    """As `part`, but copied into each kernel, so that constant arguments make it another loop."""
    return cast(F, numba.njit(function, inline="always", **_PART))


def shortened(array: Integers, length: SupportsIndex) -> Integers:
    """An array that nobody else has seen, cut to its first elements in place."""
    array.resize(length, refcheck=False)
    return array
