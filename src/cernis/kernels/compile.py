"""How kernels run: as plain Python while there is little to do, and compiled from then on.

To compile a kernel takes as long as to run it as plain Python on some tens of thousands of rows,
and to import numba as long as to run a small program. So each kernel counts the rows it was called
with, and is compiled, or fetched from the cache on disk, when they are more than `PLAIN_ROWS`. Its
calls go to the function as it is written until then, which gives the same results. What no call
needs is never compiled, and numba is imported when the first kernel is. Where numba is there
already, to fetch a kernel takes as long as to run it on a few thousand rows: one that is kept on
disk is fetched after one in `KEPT_SHARE` of the rows.

Places in arrays are unsigned in loops that matter: a signed one is tested, each time, for counting
from the end. Loops that matter write into arrays their callers made: numpy asks the system for
large pages, and can cut an array to its length in place.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, SupportsIndex, TypeVar, cast

import numpy as np

from cernis.kernels.array_types import Array, Integers
from cernis.kernels.signatures import Signature, flattened, read_signature

F = TypeVar("F", bound=Callable[..., Any])

PLAIN_ROWS = 20_000
"""How many rows a kernel takes, over all its calls, before it is compiled."""
FEW_ROWS = 500
"""The same for kernels that may take many steps for each row."""
CALL_ROWS = 20
"""How many rows a call counts for, beside those it has: it takes time of its own."""
KEPT_SHARE = 10
"""Which part of these rows makes it worth fetching what is kept on disk, with numba imported."""

_NUMBERS: dict[str, Callable[[Any], Any]] = {"float": np.float64, "word": np.uint64}
_RESULTS: dict[str, Callable[[Any], Any]] = {"integer": int, "word": int, "boolean": bool}
_ELEMENTS: dict[str, Any] = {
    "float": ctypes.c_double, "integer": ctypes.c_int64, "byte": ctypes.c_uint8
}  # fmt: skip


def kernel(
    arguments: str,
    results: str,
    rows: int | None = None,
    plain: Callable[..., Any] | None = None,
    counted: tuple[int, ...] = (),
) -> Callable[[F], F]:
    """A loop over arrays, with its signature in words: `integers booleans integer`.

    Arguments may be structures, with the words of their fields in brackets. The kernel takes `rows`
    rows before it is compiled, `PLAIN_ROWS` if nothing is said. The rows of a call are the elements
    of its largest array; bytes, which may be a whole text, do not count. If `counted` names the
    places of some arguments, only they count: others are tables, or room for results. Fields of
    structures have places of their own. Before it is compiled, `plain` is called in its place, if
    there is a better way without compiling.
    """

    def decorate(function: F) -> F:
        signature = read_signature(function, arguments)
        words, has_structures = signature.words, signature.has_structures
        sized = counted or tuple(place for place, word in enumerate(words) if word != "bytes")
        uncompiled = _plain_call(plain or function, signature, results.split())
        compiled: Callable[..., Any] | None = None
        taken, is_looked_for = 0, False

        @wraps(function)
        def call(*values: Any) -> Any:
            nonlocal compiled, taken, is_looked_for
            if has_structures:
                values = tuple(flattened(values))
            if compiled is not None:
                return compiled(*values)
            taken += CALL_ROWS + max(getattr(values[place], "size", 0) for place in sized)
            limit = PLAIN_ROWS if rows is None else rows if PLAIN_ROWS else 0
            if taken > limit:
                from cernis.kernels.compiled_code import compile_kernel

                compiled = compile_kernel(function, signature, results) or uncompiled
            elif taken * KEPT_SHARE > limit and not is_looked_for and "numba" in sys.modules:
                from cernis.kernels.compiled_code import kept_kernel

                is_looked_for = True
                compiled = kept_kernel(function, signature, results)
            return (compiled or uncompiled)(*values)

        return cast(F, call)

    return decorate


def _plain_call(
    function: Callable[..., Any], signature: Signature, results: list[str]
) -> Callable[..., Any]:
    """The function as it is written, called as if it were compiled.

    Numbers that do not fit are cut off silently, and results are numbers of Python's.
    """
    inward = [_NUMBERS.get(word, _same) for word in signature.words]
    outward = [_RESULTS.get(word, _same) for word in results]

    def call(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            converted = [convert(v) for convert, v in zip(inward, values, strict=True)]
            result = function(*signature.regrouped(converted))
        if len(outward) == 1:
            return outward[0](result)
        return tuple(convert(each) for convert, each in zip(outward, result, strict=True))

    return call


def _same(value: Any) -> Any:
    return value


def part(function: F) -> F:
    """A piece of kernels: compiled into them, and called by them only. It makes no arrays."""
    function.__dict__["compiled_as"] = "part"
    return function


def body(function: F) -> F:
    """As `part`, but copied into each kernel, so that constant arguments make it another loop."""
    function.__dict__["compiled_as"] = "body"
    return function


def instruction(name: str) -> Callable[[F], F]:
    """A piece of kernels for which `compiled_code` has a single instruction of this name."""

    def decorate(function: F) -> F:
        function.__dict__["compiled_as"] = name
        return function

    return decorate


def element_reader(element: str) -> Callable[[Any, Any], Any]:
    """A piece of kernels that reads an element at a place of an array, given by its address."""
    kind = _ELEMENTS[element]
    size = ctypes.sizeof(kind)

    @instruction(f"read {element}")
    def read(address: Any, place: Any) -> Any:
        return kind.from_address(int(address) + size * int(place)).value

    return read


@instruction("read word")
def word_at(address: int | np.int64) -> np.uint64:
    """The eight bytes at an address, the first of them the lowest."""
    return np.uint64(ctypes.c_uint64.from_address(int(address)).value)


@instruction("write word")
def put_word(address: int | np.int64, word: np.uint64) -> None:
    """Write the eight bytes at an address."""
    ctypes.c_uint64.from_address(int(address)).value = int(word)


@instruction("fetch line")
def fetch_line(array: Array, row: np.uint64, offset: np.uint64) -> None:
    """Have memory on its way that will soon be read; this changes nothing, whatever the row is.

    It is the line that has the byte so far after the beginning of the row.
    """


def shortened(array: Integers, length: SupportsIndex) -> Integers:
    """An array that nobody else has seen, cut to its first elements in place."""
    array.resize(length, refcheck=False)
    return array
