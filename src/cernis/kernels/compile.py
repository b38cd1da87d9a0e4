"""How kernels are compiled: once, ahead of use by their signatures, and cached beside the package.

Signatures are given, so a kernel is compiled (or fetched from the cache) when its module is
imported and never at a call in the middle of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])

# Arguments are only read, so that arrays of other libraries, which may not be written to, fit too.
_ARGUMENTS = {
    "integers": types.Array(types.int64, 1, "C", readonly=True),
    "booleans": types.Array(types.boolean, 1, "C", readonly=True),
    "bytes": types.Array(types.uint8, 1, "C", readonly=True),
    "writable-bytes": types.uint8[::1],
    "matrix": types.Array(types.int64, 2, "C", readonly=True),
    "integer": types.int64,
}
_RESULTS = {
    "integers": types.int64[::1],
    "booleans": types.boolean[::1],
    "integer": types.int64,
    "boolean": types.boolean,
    "nothing": types.void,
}


def kernel(arguments: str, results: str) -> Callable[[F], F]:
    """Compile a loop for one signature, given in words: `integers booleans integer`."""
    given = [_ARGUMENTS[word] for word in arguments.split()]
    back = [_RESULTS[word] for word in results.split()]
    result: Any = back[0] if len(back) == 1 else types.Tuple(back)  # type: ignore[no-untyped-call]
    signature = result(*given)
    decorator: Any = numba.njit(
        signature, cache=True, nogil=True, error_model="numpy", boundscheck=False
    )
    return cast(Callable[[F], F], decorator)
