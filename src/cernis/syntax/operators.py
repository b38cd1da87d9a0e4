"""The operators of the language, with Prolog's priorities: a lower number binds tighter."""

from __future__ import annotations

from typing import Final

CLAUSE: Final = 1200
ARGUMENT: Final = 999
"""The highest priority of an argument or list element: everything but `,` and what is above it."""

INFIX: Final[dict[str, tuple[int, int, int]]] = {
    # operator: its priority, the most its left side may have, the most its right side may have
    "-->": (1200, 1199, 1199),
    "iff": (1190, 1189, 1189),
    ";": (1100, 1099, 1100),
    "|": (1100, 1099, 1100),
    "->": (1050, 1049, 1050),
    ",": (1000, 999, 1000),
    "or": (940, 940, 939),
    "and": (930, 930, 929),
    "=": (700, 699, 699), "\\=": (700, 699, 699), "==": (700, 699, 699), "\\==": (700, 699, 699),
    "=:=": (700, 699, 699), "=\\=": (700, 699, 699), "<": (700, 699, 699), ">": (700, 699, 699),
    "=<": (700, 699, 699), ">=": (700, 699, 699), "@<": (700, 699, 699), "@>": (700, 699, 699),
    "@=<": (700, 699, 699), "@>=": (700, 699, 699), "is": (700, 699, 699), "=..": (700, 699, 699),
    ":": (200, 199, 200),
    "+": (500, 500, 499), "-": (500, 500, 499), "/\\": (500, 500, 499), "\\/": (500, 500, 499),
    "*": (400, 400, 399), "/": (400, 400, 399), "//": (400, 400, 399), "mod": (400, 400, 399),
    "rem": (400, 400, 399), "div": (400, 400, 399), "<<": (400, 400, 399), ">>": (400, 400, 399),
    "xor": (400, 400, 399),
    "**": (200, 199, 199), "^": (200, 199, 200),
}  # fmt: skip

PREFIX: Final[dict[str, tuple[int, int]]] = {
    # operator: its priority, the most its argument may have
    "dynamic": (1150, 1149), "table": (1150, 1149), "initialization": (1150, 1149),
    "discontiguous": (1150, 1149), "multifile": (1150, 1149),
    "\\+": (900, 900), "not": (900, 900),
    "-": (200, 200), "+": (200, 200), "\\": (200, 200),
}  # fmt: skip

FLAT: Final = frozenset({",", ";", "or", "and"})
"""Operators whose chains are one node of many arguments."""

LONGHAND: Final = {"|": ";"}
"""Other spellings of an operator."""
