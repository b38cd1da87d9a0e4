"""Arithmetic on numbers as Prolog does it, and the faults it can end in.

Two integers divide by `/` to an integer where that is exact and to a float otherwise; `//`
truncates toward zero; `mod` has the sign of the divisor, `rem` that of the dividend; `round`
goes away from zero at a half. Division by zero and results that are no number are faults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from cernis.knowledge.ground_values import Key
from cernis.knowledge.zone_clock import CLOCK_RANGES, clock_function

Numeric: TypeAlias = int | float

BY_ZERO: Final = "divides by zero; test the divisor in a goal before this one"

INFINITE: Final = frozenset({"inf", "infinite"})
"""Texts that are numbers wherever a number is meant."""

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1

LARGEST_POWER: Final = 100_000
"""Bits an integer power may have: a longer one is a fault, not a long wait."""


class Fault(Exception):
    """A goal that cannot be evaluated. Whoever knows the predicate turns it into an error."""


class NoNumber(Fault):
    """A number is meant and something else is there: a comparison is false, `is` fails."""


class Endless(Fault):
    """A term that has no end, or is too large to tell; it cannot be shown either."""


def _divide(x: Numeric, y: Numeric) -> Numeric:
    if y == 0:
        raise Fault(BY_ZERO)
    if isinstance(x, int) and isinstance(y, int) and x % y == 0:
        return x // y
    return x / y


def _integers(name: str, x: Numeric, y: Numeric) -> tuple[int, int]:
    if isinstance(x, int) and isinstance(y, int):
        return x, y
    raise Fault(f"`{name}` takes integers only, and gets {x} and {y}")


def _divisor(name: str, x: Numeric, y: Numeric) -> tuple[int, int]:
    dividend, divisor = _integers(name, x, y)
    if divisor == 0:
        raise Fault(BY_ZERO)
    return dividend, divisor


def _truncated_quotient(x: Numeric, y: Numeric) -> int:
    dividend, divisor = _divisor("//", x, y)
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _floored_quotient(x: Numeric, y: Numeric) -> int:
    dividend, divisor = _divisor("div", x, y)
    return dividend // divisor


def _modulo(x: Numeric, y: Numeric) -> int:
    dividend, divisor = _divisor("mod", x, y)
    return dividend % divisor


def _remainder(x: Numeric, y: Numeric) -> int:
    return _divisor("rem", x, y)[0] - _truncated_quotient(x, y) * int(y)


def _power(x: Numeric, y: Numeric) -> Numeric:
    if isinstance(x, int) and isinstance(y, int) and y >= 0:
        if x.bit_length() * y > LARGEST_POWER:
            raise Fault(f"has a power too large: {x.bit_length()} bits to the {y}")
        return int(x**y)
    if x == 0 and y < 0:
        raise Fault(BY_ZERO)
    result = x**y
    if isinstance(result, complex):
        raise Fault(f"has no real result for {x} ** {y}")
    return float(result)


def _shift(x: Numeric, y: Numeric) -> int:
    number, places = _integers("<<", x, y)
    if places > LARGEST_POWER:
        raise Fault(f"shifts by {places} places")
    return number << places if places >= 0 else number >> -places


def _round(x: Numeric) -> int:
    whole = math.trunc(x)
    return whole + (1 if x > 0 else -1) if abs(x - whole) >= 0.5 else whole


def _sign(x: Numeric) -> Numeric:
    return type(x)((x > 0) - (x < 0))


def _bits(name: str, operation: Callable[[int, int], int]) -> Callable[..., Numeric]:
    return lambda x, y: operation(*_integers(name, x, y))


EARTH: Final = 6371.0
"""The radius of the earth in kilometres, taken for a sphere."""


def _haversine(lat1: Numeric, lon1: Numeric, lat2: Numeric, lon2: Numeric) -> Numeric:
    """Kilometres along the great circle between two places, given in degrees."""
    north, east = math.radians(lat2 - lat1) / 2, math.radians(lon2 - lon1) / 2
    both = math.cos(math.radians(lat1)) * math.cos(math.radians(lat2))
    chord = math.sin(north) ** 2 + both * math.sin(east) ** 2
    return 2 * EARTH * math.asin(math.sqrt(min(chord, 1.0)))


_FUNCTIONS: Final[dict[Key, Callable[..., Numeric]]] = {
    ("+", 2): lambda x, y: x + y,
    ("-", 2): lambda x, y: x - y,
    ("*", 2): lambda x, y: x * y,
    ("/", 2): _divide,
    ("//", 2): _truncated_quotient,
    ("div", 2): _floored_quotient,
    ("mod", 2): _modulo,
    ("rem", 2): _remainder,
    ("**", 2): _power,
    ("^", 2): _power,
    ("min", 2): min,
    ("max", 2): max,
    ("atan2", 2): math.atan2,
    ("atan", 2): math.atan2,
    ("haversine", 4): _haversine,
    ("gcd", 2): _bits("gcd", math.gcd),
    (">>", 2): lambda x, y: _shift(x, -y),
    ("<<", 2): _shift,
    ("/\\", 2): _bits("/\\", lambda x, y: x & y),
    ("\\/", 2): _bits("\\/", lambda x, y: x | y),
    ("xor", 2): _bits("xor", lambda x, y: x ^ y),
    ("-", 1): lambda x: -x,
    ("+", 1): lambda x: x,
    ("abs", 1): abs,
    ("sign", 1): _sign,
    ("sqrt", 1): math.sqrt,
    ("sin", 1): math.sin,
    ("cos", 1): math.cos,
    ("tan", 1): math.tan,
    ("asin", 1): math.asin,
    ("acos", 1): math.acos,
    ("atan", 1): math.atan,
    ("exp", 1): math.exp,
    ("log", 1): math.log,
    ("log2", 1): math.log2,
    ("floor", 1): math.floor,
    ("ceiling", 1): math.ceil,
    ("round", 1): _round,
    ("integer", 1): _round,
    ("truncate", 1): math.trunc,
    ("float", 1): float,
    ("pi", 0): lambda: math.pi,
    ("e", 0): lambda: math.e,
    ("inf", 0): lambda: math.inf,
    ("infinite", 0): lambda: math.inf,
    ("epsilon", 0): lambda: 2.0**-52,
    **{(name, 3): partial(clock_function, name) for name in CLOCK_RANGES},
}  # fmt: skip

FUNCTIONS: Final[Mapping[Key, Callable[..., Numeric]]] = MappingProxyType(_FUNCTIONS)
"""The functions an expression may use, by name and number of arguments."""


def add_function(key: Key, function: Callable[..., Numeric]) -> None:
    """Let expressions use a function that a caller gave; its name says what it does."""
    _FUNCTIONS[key] = function


COMPARISONS: Final[Mapping[str, Callable[[Numeric, Numeric], bool]]] = MappingProxyType({
    "<": lambda x, y: x < y,
    ">": lambda x, y: x > y,
    "=<": lambda x, y: x <= y,
    ">=": lambda x, y: x >= y,
    "=:=": lambda x, y: x == y,
    "=\\=": lambda x, y: x != y,
})  # fmt: skip
"""The comparisons that evaluate both sides first."""


def apply(name: str, *operands: Numeric) -> Numeric:
    """The value of a function.

    >>> apply("/", 7, 2), apply("/", 6, 2), apply("mod", -1, 3), apply("//", -7, 2)
    (3.5, 3, 2, -3)
    """
    function = FUNCTIONS.get((name, len(operands)))
    if function is None:
        raise Fault(f"`{name}/{len(operands)}` is not a function of arithmetic")
    try:
        result = function(*operands)
    except (ValueError, OverflowError) as error:
        raise Fault(f"`{name}` has no value for {', '.join(map(str, operands))}") from error
    if result != result:
        raise Fault(f"`{name}` of {', '.join(map(str, operands))} is not a number")
    if isinstance(result, int) and not _LEAST <= result <= _GREATEST:
        raise Fault(f"needs more than 64 bits for a whole number, `{name}` of {operands[0]}")
    return result
