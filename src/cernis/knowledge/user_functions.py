"""Functions that a caller gives to a program, for conditions to compute with.

A function takes whole columns and gives a column: it is called for many rows at once. Annotations,
or `column_function`, say what there is in a row of each: `float`, `int`, and of the result also
`bool`. It must be pure: the same rows give the same values, in whatever order and number they come.

In a program, the name of a function is joined with a digest of what it does. So two programs may
call different functions by one name, and what is derived changes with the function.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, get_type_hints

from cernis.errors import DataError
from cernis.knowledge.ground_values import Key
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS, add_function

_KINDS: Final = {float: "float", int: "integer", bool: "boolean"}
_NAMES: Final = {"float": "float", "int": "integer", "integer": "integer", "bool": "boolean",
                 "boolean": "boolean"}  # fmt: skip
_NAME: Final = re.compile(r"[a-z]\w*")
_DIGITS: Final = 8
_DIGEST: Final = re.compile(r"'([a-z]\w*) [0-9a-f]{8}'(?=\()")


@dataclass(frozen=True)
class ColumnFunction:
    """A function with what there is in a row of its arguments and its result."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    result: str
    columns: str = "numpy"


def column_function(
    function: Callable[..., Any], arguments: Sequence[str], result: str, columns: str = "numpy"
) -> ColumnFunction:
    r"""Say of a function what is in the rows of its columns, in place of annotations.

    Arguments are `float` or `int`, the result may be `bool`, too. The columns are arrays of numpy,
    or of Arrow if `columns` is `arrow`.

    >>> import math, numpy
    >>> from cernis import column_function, load
    >>> distance = column_function(numpy.hypot, ["float", "float"], "float")
    >>> program = load(
    ...     "initiatedAt(far(X)=true, T) :- happensAt(at(X, A, B), T), distance(A, B) > 5.",
    ...     functions={"distance": distance},
    ... )
    >>> print(program.run("at|1|1|x|3|4\nat|1|1|y|6|8\n").text(), end="")
    holdsFor(far(y)=true, [(2,inf)]).
    """
    wrong = [each for each in (*arguments, result) if each not in _NAMES]
    if wrong or "boolean" in [_NAMES.get(each) for each in arguments]:
        raise DataError(
            f"a column function has arguments of float or int, and a result of float, int or bool, "
            f"and not {', '.join([*arguments, result])}"
        )
    if columns not in ("numpy", "arrow"):
        raise DataError(f"columns are of numpy or arrow, not of {columns}")
    kinds = tuple(_NAMES[each] for each in arguments)
    return ColumnFunction(function, kinds, _NAMES[result], columns)


@dataclass(frozen=True)
class UserFunction:
    """A function under its name in a program; it is known to this process while that runs."""

    name: str
    typed: ColumnFunction
    digest: str

    def __post_init__(self) -> None:
        _KNOWN[self.key] = self
        _FUNCTORS.add(self.functor)
        add_function(self.key, self.of_one_row)

    def __reduce__(self) -> tuple[Any, ...]:
        return UserFunction, (self.name, self.typed, self.digest)

    @property
    def functor(self) -> str:
        """What it is called in a program that is checked."""
        return f"{self.name} {self.digest}"

    @property
    def key(self) -> Key:
        """The same, with the number of arguments."""
        return self.functor, len(self.typed.arguments)

    def of_one_row(self, *operands: int | float) -> int | float:
        """The value for single numbers, as background rules compute it; a ValueError if none."""
        import numpy as np

        columns = []
        for kind, operand in zip(self.typed.arguments, operands, strict=True):
            if kind == "integer" and operand != int(operand):
                raise ValueError("it takes whole numbers")
            columns.append(np.array([operand], np.int64 if kind == "integer" else np.float64))
        result = self.of_columns(columns)
        value = result[0].item()
        return int(value) if isinstance(value, bool) else value

    def of_columns(self, columns: Sequence[Any]) -> Any:
        """The column that it makes of columns of one length, none of them with a gap."""
        import numpy as np
        import pyarrow as pa

        length = len(columns[0]) if columns else 1
        if self.typed.columns == "arrow":
            columns = [pa.array(column) for column in columns]
        result = self.typed.function(*columns)
        if isinstance(result, pa.Array | pa.ChunkedArray):
            result = (
                result.to_numpy(zero_copy_only=False)
                if isinstance(result, pa.Array)
                else (result.to_numpy())
            )
        array = np.asarray(result)
        if array.shape not in ((length,), ()):
            raise ValueError(
                f"it gave {array.shape[0] if array.ndim == 1 else array.shape} values for {length} "
                "rows: a function is given columns, and gives a column of the same length"
            )
        if array.dtype.kind not in _FITTING[self.typed.result]:
            raise ValueError(f"it gave {array.dtype}, and is declared {self.typed.result}")
        return np.broadcast_to(array, length)


_FITTING: Final = {"float": "fiu", "integer": "iu", "boolean": "b"}
_KNOWN: Final[dict[Key, UserFunction]] = {}
"""The functions of all programs of this process. The key has a digest of what a function does, so
none is ever replaced by another."""

_FUNCTORS: Final[set[str]] = set()


def known_function(key: Key) -> UserFunction | None:
    """The function of this name and number of arguments, if a program has one."""
    return _KNOWN.get(key)


def is_function(functor: str) -> bool:
    """Has a function this name in programs that are checked?"""
    return functor in _FUNCTORS


def without_digests(text: str) -> str:
    """A text about a program with the names of functions as their caller gives them.

    >>> without_digests("'risk 40d18a81'(H, S) > 1")
    'risk(H, S) > 1'
    """
    return _DIGEST.sub(r"\1", text) if "'" in text else text


def user_functions(functions: Mapping[str, Any] | None) -> tuple[UserFunction, ...]:
    """The functions that a caller gives by name; what cannot be one is a DataError."""
    if functions is None:
        return ()
    if not isinstance(functions, Mapping):
        raise DataError(
            "functions are given by name, {'risk': risk}, and not as a "
            f"{type(functions).__name__}"
        )
    return tuple(_user_function(str(name), each) for name, each in functions.items())


def _user_function(name: str, function: Any) -> UserFunction:
    if not _NAME.fullmatch(name):
        raise DataError(f"{name!r} cannot be called in rules: begin the name in lower case")
    typed = function if isinstance(function, ColumnFunction) else _by_annotations(name, function)
    if (name, len(typed.arguments)) in FUNCTIONS:
        raise DataError(f"{name} is a function of the language; give yours another name")
    parts = [name, *typed.arguments, typed.result, typed.columns, *_text(typed.function, set())]
    digest = sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return UserFunction(name, typed, digest)


def _by_annotations(name: str, function: Any) -> ColumnFunction:
    advice = (
        f"annotate it, as in `def {name}(x: float) -> float`, or say it by "
        f'cernis.column_function({name}, ["float"], "float")'
    )
    if not callable(function):
        raise DataError(f"the function {name} is a {type(function).__name__}, and no function")
    try:
        hints, parameters = get_type_hints(function), inspect.signature(function).parameters
    except (TypeError, ValueError, NameError) as error:
        raise DataError(
            f"the types of the function {name} are not known ({error}): {advice}"
        ) from None
    kinds = [_KINDS.get(hints.get(each, None)) for each in parameters]  # type: ignore[arg-type]
    result = _KINDS.get(hints.get("return", None))  # type: ignore[arg-type]
    wrong = [
        each for each, kind in zip(parameters, kinds, strict=True) if kind in (None, "boolean")
    ]
    if wrong or result is None:
        subject = f"argument {wrong[0]}" if wrong else "result"
        raise DataError(
            f"the {subject} of the function {name} must be float or int, for each row: {advice}"
        )
    return ColumnFunction(function, tuple(str(kind) for kind in kinds), result)


def _text(function: Any, seen: set[int]) -> Iterable[str]:
    """What a function does, as text: its code, and what it refers to."""
    if id(function) in seen:
        return
    seen.add(id(function))
    if not isinstance(function, FunctionType):
        yield str(getattr(function, "__module__", ""))
        yield str(getattr(function, "__qualname__", type(function).__qualname__))
        parts = (getattr(function, part, None) for part in ("func", "args", "keywords"))
        for part in parts:
            yield from _text(part, seen) if callable(part) else [repr(part)]
        return
    yield from _code_text(function.__code__)
    yield repr(function.__defaults__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    names = [name for name in function.__code__.co_names if name in function.__globals__]
    for value in [*cells, *(function.__globals__[name] for name in names)]:
        if isinstance(value, ModuleType):
            yield value.__name__
        elif callable(value):
            yield from _text(value, seen)
        else:
            yield repr(value)


def _code_text(code: CodeType) -> Iterable[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        yield from _code_text(constant) if isinstance(constant, CodeType) else [repr(constant)]
