"""The signatures of kernels in words: one for each argument, `integers booleans integer`.

An argument may be a structure, a named tuple of arrays and numbers: the words of its fields stand
in brackets, `(integers integers) integer`, and the kernel's annotation names its class. As they
are, structures would cost several times as much at each call and take no arrays that may not be
written to. So a call is made with their fields, one after the other, and the structures are put
together again inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

SINGLE = None


@dataclass(frozen=True)
class Signature:
    """The words of all arguments, those in structures too, and how they go together.

    Each of `pieces` is how many words an argument has and the class of its structure, or `SINGLE`.
    """

    words: tuple[str, ...]
    pieces: tuple[tuple[int, Any], ...]

    @property
    def has_structures(self) -> bool:
        """Is any argument a structure?"""
        return any(structure is not SINGLE for _, structure in self.pieces)

    def regrouped(self, values: Iterable[Any]) -> Iterator[Any]:
        """The arguments, from those that stand one after the other."""
        each = iter(values)
        for count, structure in self.pieces:
            if structure is SINGLE:
                yield next(each)
            else:
                yield structure._make(next(each) for _ in range(count))


def flattened(values: Iterable[Any]) -> list[Any]:
    """Arguments one after the other, with the fields of structures in their places."""
    flat: list[Any] = []
    for value in values:
        if isinstance(value, tuple):
            flat.extend(value)
        else:
            flat.append(value)
    return flat


def read_signature(function: Callable[..., Any], arguments: str) -> Signature:
    """The signature of a kernel, from its words and from the classes that it names.

    >>> read_signature(len, "integers integer").words
    ('integers', 'integer')
    """
    words: list[str] = []
    sizes: list[int | None] = []
    for number, part in enumerate(arguments.replace(")", "(").split("(")):
        if number % 2:
            sizes.append(len(part.split()))
        else:
            sizes += [None] * len(part.split())
        words += part.split()
    if all(size is None for size in sizes):
        return Signature(tuple(words), ((1, SINGLE),) * len(sizes))
    return Signature(tuple(words), tuple(_pieces(function, sizes)))


def _pieces(function: Callable[..., Any], sizes: list[int | None]) -> Iterator[tuple[int, Any]]:
    names = function.__code__.co_varnames
    for name, size in zip(names, sizes, strict=False):
        if size is None:
            yield 1, SINGLE
            continue
        annotation = function.__annotations__[name]
        structure = function.__globals__[annotation] if isinstance(annotation, str) else annotation
        if len(structure._fields) != size:
            raise TypeError(
                f"{function.__qualname__}: {name} has {len(structure._fields)} fields, not {size}"
            )
        yield size, structure
