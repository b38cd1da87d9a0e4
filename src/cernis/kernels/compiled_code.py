"""Machine code of kernels: made by numba, and kept on disk under a digest of all it comes from.

The code lies beside the package. Where that folder may not be written to, it is kept in a folder of
the user's, or in the one that `NUMBA_CACHE_DIR` names. What was kept is used again only if the
sources of the kernel, of the pieces it calls and of the types it uses are the same to the letter,
and so are the versions of numba and numpy and the processor.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from cernis.kernels.signatures import SINGLE, Signature

Function = Callable[..., Any]

_LOGGER = logging.getLogger("cernis.kernels")

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
    "byte-matrix": types.Array(types.uint8, 2, "C", readonly=True),
    "writable-cube": types.int64[:, :, ::1],
    "half": types.Array(types.uint16, 1, "C", readonly=True),
    "writable-half": types.uint16[::1],
    "writable-tags": types.uint32[::1],
    "words": types.Array(types.uint64, 1, "C", readonly=True),
    "word-matrix": types.Array(types.uint64, 2, "C", readonly=True),
    "word": types.uint64,
    "writable-words": types.uint64[::1],
    "writable-word-matrix": types.uint64[:, ::1],
}
_RESULTS = {
    "integers": types.int64[::1],
    "booleans": types.boolean[::1],
    "integer": types.int64,
    "boolean": types.boolean,
    "word": types.uint64,
    "nothing": types.void,
}
_OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "boundscheck": False, "no_cfunc_wrapper": True
}  # fmt: skip
_PART: dict[str, Any] = {**_OPTIONS, "_nrt": False, "no_cpython_wrapper": True}


def compile_kernel(function: Function, signature: Signature, results: str) -> Function | None:
    """The kernel as machine code; None if `NUMBA_DISABLE_JIT` forbids any."""
    return _machine_code(function, signature, results, only_kept=False)


def kept_kernel(function: Function, signature: Signature, results: str) -> Function | None:
    """The kernel as machine code if that is kept on disk; None if it would have to be compiled."""
    try:
        return _machine_code(function, signature, results, only_kept=True)
    except _NotKeptError:
        return None


def _machine_code(
    function: Function, signature: Signature, results: str, only_kept: bool
) -> Function | None:
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return None
    back = [_RESULTS[word] for word in results.split()]
    result: Any = back[0] if len(back) == 1 else types.Tuple(back)  # type: ignore[no-untyped-call]
    # A kernel that makes no arrays need not count who uses them, which would cost at every call
    # of a part.
    options = {**_OPTIONS, "_nrt": any(isinstance(word, types.Array) for word in back)}
    entry = _entry(function, signature) if signature.has_structures else _linked(function)
    compiled: Any = numba.njit(**options)(entry)
    try:
        compiled._cache = _ContentCache(compiled.py_func, digest(function), only_kept)
    except (RuntimeError, OSError) as error:
        if only_kept:
            raise _NotKeptError from error
        # There is no place for what is compiled, or no source to know it by: it is not kept.
        _LOGGER.info("compiling %s, which cannot be kept", function.__qualname__)
    compiled.compile(result(*[_ARGUMENTS[word] for word in signature.words]))
    compiled.disable_compile()
    return compiled  # type: ignore[no-any-return]


def _linked(function: Function) -> Function:
    """A copy of a function that calls the compiled versions of its parts."""
    parts = {name: _dispatcher(part) for name, part in _parts(function)}
    scope = {**function.__globals__, **parts}
    copy = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__ = function.__qualname__
    return copy


def _entry(function: Function, signature: Signature) -> Function:
    """What calls a kernel with its structures, from the fields of all of them in a row."""
    original = function.__code__
    scope: dict[str, Any] = {"kernel": numba.njit(**_PART)(_linked(function))}
    fields = [f"field{place}" for place in range(len(signature.words))]
    arguments, first = [], 0
    for place, (count, structure) in enumerate(signature.pieces):
        piece = ", ".join(fields[first : first + count])
        first += count
        if structure is not SINGLE:
            scope[f"structure{place}"] = structure
            piece = f"structure{place}({piece})"
        arguments.append(piece)
    text = f"lambda {', '.join(fields)}: kernel({', '.join(arguments)})"
    code: Any = compile(text, original.co_filename, "eval").co_consts[0]
    code = code.replace(co_name=original.co_name, co_firstlineno=original.co_firstlineno)
    entry = FunctionType(code, scope, function.__name__)
    entry.__module__, entry.__qualname__ = function.__module__, function.__qualname__
    return entry


def _parts(function: Function) -> Iterator[tuple[str, Function]]:
    """The parts that a function calls, by their names in it."""
    for name, value in _mentioned(function):
        if isinstance(value, FunctionType) and "compiled_as" in value.__dict__:
            yield name, value


def _mentioned(function: Function) -> Iterator[tuple[str, Any]]:
    """What a function mentions of its module, the classes of its arguments too."""
    names = (*function.__code__.co_names, *map(str, function.__annotations__.values()))
    return ((name, function.__globals__[name]) for name in names if name in function.__globals__)


@cache
def _dispatcher(part: Function) -> Any:
    """A part as numba takes it into a kernel."""
    kind: str = part.__dict__["compiled_as"]
    if kind in _INSTRUCTIONS:
        return _INSTRUCTIONS[kind]
    more = {"inline": "always"} if kind == "body" else {}
    return numba.njit(**_PART, **more)(_linked(part))  # type: ignore[call-overload]


def _element_reader(kind: Any) -> Any:
    """Code that reads a number of a kind at a place of a column, given by its address."""

    def read(typing: Any, address: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = context.get_value_type(kind).as_pointer()
            column = builder.inttoptr(arguments[0], pointer)
            return builder.load(builder.gep(column, [arguments[1]]))

        return kind(types.int64, types.uint64), generate

    return intrinsic(read)


def _word_at(typing: Any, address: Any) -> Any:
    """Code that reads a word at any address, also one that is no multiple of eight."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(types.uint64).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer), align=1)

    return types.uint64(types.int64), generate


def _put_word(typing: Any, address: Any, word: Any) -> Any:
    """Code that writes a word at any address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(types.uint64).as_pointer()
        builder.store(arguments[1], builder.inttoptr(arguments[0], pointer), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), generate


def _fetch_line(typing: Any, array: Any, row: Any, offset: Any) -> Any:
    """Code that begins to read a line of memory into the cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, byte = (
            context.make_array(signature.args[0])(context, builder, arguments[0]),
            ir.IntType(8),
        )
        size = builder.extract_value(values.strides, 0)
        place = builder.add(builder.mul(size, arguments[1]), arguments[2])
        address = builder.gep(builder.bitcast(values.data, byte.as_pointer()), [place])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte.as_pointer()], kind)
        builder.call(fetch, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), generate


_INSTRUCTIONS: dict[str, Any] = {
    "read float": _element_reader(types.float64),
    "read integer": _element_reader(types.int64),
    "read byte": _element_reader(types.uint8),
    "read word": intrinsic(_word_at),
    "write word": intrinsic(_put_word),
    "fetch line": intrinsic(_fetch_line),
    "count trailing zeros": trailing_zeros,
}


# -- the cache -------------------------------------------------------------------------------


class _NotKeptError(Exception):
    """The machine code of a kernel is not on disk, and is not to be made."""


class _ContentCache(FunctionCache):
    """numba's cache on disk, with a digest in place of the time at which a file was written."""

    def __init__(self, function: Function, content: str, only_kept: bool) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._only_kept = only_kept
        files: Any = IndexDataCacheFile
        self._cache_file = files(self._cache_path, self._impl.filename_base, content)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """What was compiled for a signature; None if it has to be compiled."""
        code = super().load_overload(signature, context)  # type: ignore[no-untyped-call]
        if code is None and self._only_kept:
            raise _NotKeptError
        if code is None:
            _LOGGER.info("compiling %s", self._py_func.__qualname__)
        return code


def digest(function: Function) -> str:
    """What the machine code of a kernel depends on, but the processor and the version of numba."""
    modules, constants = {__name__}, {f"numpy {np.__version__}"}
    _look_through(function, modules, constants)
    content = hashlib.sha256("\n".join(sorted(constants)).encode())
    for name in sorted(modules):
        content.update(_source(name))
    return content.hexdigest()


def _look_through(function: Function, modules: set[str], constants: set[str]) -> None:
    """Enter the modules of a function, of its parts and its types, and the constants they use."""
    modules.add(function.__module__)
    for name, value in _mentioned(function):
        if isinstance(value, int | float | str | tuple | np.generic):
            constants.add(f"{function.__module__}.{name} = {value!r}")
        elif getattr(value, "__module__", "").startswith("cernis."):
            modules.add(value.__module__)
    for _, part in _parts(function):
        _look_through(part, modules, constants)


@cache
def _source(module: str) -> bytes:
    return inspect.getsource(sys.modules[module]).encode()
