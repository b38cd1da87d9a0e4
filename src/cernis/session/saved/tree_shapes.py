"""Shapes of plain trees: what a tree that was read from outside must look like before it is used.

A *shape* is checked against a tree and gives the first complaint, with the place it is about; None
if the tree fits. Shapes are made of shapes, so that a whole format is one declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import numpy as np

from cernis.errors import DataError
from cernis.kernels import array_types
from cernis.session.saved.plain_trees import Tree

Rule: TypeAlias = Callable[[Tree], str | None]
"""A condition on a tree whose parts fit: what is wrong, or None."""

LARGEST: Final = (1 << 63) - 1


class Shape(Protocol):
    """What a tree must look like; it can say what is wrong with one."""

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""


def check(tree: Tree, shape: Shape, place: str) -> None:
    """Refuse a tree that does not fit."""
    complaint = shape.complaint(tree, place)
    if complaint is not None:
        raise DataError(f"it is damaged, or not of this format: {complaint}")


def _kind(tree: Tree) -> str:
    if isinstance(tree, np.ndarray):
        return f"an array of {tree.dtype}"
    if tree is None:
        return "nothing"
    named = {bool: "a truth value", int: "a whole number", float: "a number", str: "a text",
             list: "a list", dict: "a table"}  # fmt: skip
    return named.get(type(tree), type(tree).__name__)


def _is_whole(tree: Tree) -> bool:
    return isinstance(tree, int) and not isinstance(tree, bool)


# -- single values -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds, both included."""

    low: int = -LARGEST
    high: int = LARGEST

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not _is_whole(tree):
            return f"{place} is {_kind(tree)}, not a whole number"
        if not self.low <= tree <= self.high:
            return f"{place} is {tree}, not a number from {self.low} to {self.high}"
        return None


@dataclass(frozen=True, slots=True)
class NumberShape:
    """A finite number within bounds, both included."""

    low: float = -math.inf
    high: float = math.inf

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, float) and not _is_whole(tree):
            return f"{place} is {_kind(tree)}, not a number"
        if not math.isfinite(tree) or not self.low <= tree <= self.high:
            return f"{place} is {tree}, not a number from {self.low} to {self.high}"
        return None


@dataclass(frozen=True, slots=True)
class TextShape:
    """A text, or one of a few."""

    options: tuple[str, ...] = ()

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, str):
            return f"{place} is {_kind(tree)}, not a text"
        if self.options and tree not in self.options:
            return f"{place} is {tree[:40]!r}, not one of {', '.join(self.options)}"
        return None


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        return None if isinstance(tree, bool) else f"{place} is {_kind(tree)}, not a truth value"


@dataclass(frozen=True, slots=True)
class Nothing:
    """None."""

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        return None if tree is None else f"{place} is {_kind(tree)}, and should be nothing"


# -- arrays ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Integers:
    """An array of whole numbers within bounds, both included; each larger than the one before."""

    low: int = -LARGEST - 1
    high: int = LARGEST
    ascending: bool = False

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, np.ndarray):
            return f"{place} is {_kind(tree)}, not an array"
        if not len(tree):
            return None
        if tree.dtype != np.int64:
            return f"{place} is {_kind(tree)}, not of whole numbers"
        if tree.min() < self.low or tree.max() > self.high:
            return f"{place} has numbers that are not from {self.low} to {self.high}"
        if self.ascending and not (tree[1:] > tree[:-1]).all():
            return f"{place} is not in order"
        return None


@dataclass(frozen=True, slots=True)
class Floats:
    """An array of numbers within bounds, both included."""

    low: float = -math.inf
    high: float = math.inf

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, np.ndarray):
            return f"{place} is {_kind(tree)}, not an array"
        if len(tree) and tree.dtype not in (np.float64, np.int64):
            return f"{place} is {_kind(tree)}, not of numbers"
        # A comparison with NaN is false, so an array that has one is refused.
        if len(tree) and not ((tree >= self.low) & (tree <= self.high)).all():
            return f"{place} has numbers that are not from {self.low} to {self.high}"
        return None


@dataclass(frozen=True, slots=True)
class Numbers:
    """An array of whole numbers or of floats, whatever they are."""

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, np.ndarray):
            return f"{place} is {_kind(tree)}, not an array"
        if len(tree) and tree.dtype not in (np.float64, np.int64):
            return f"{place} is {_kind(tree)}, not of numbers"
        return None


@dataclass(frozen=True, slots=True)
class Truths:
    """An array of truth values."""

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if isinstance(tree, np.ndarray) and tree.dtype == np.bool_:
            return None
        return f"{place} is {_kind(tree)}, not an array of truth values"


# -- shapes of shapes --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Maybe:
    """Something, or None."""

    shape: Shape

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        return None if tree is None else self.shape.complaint(tree, place)


@dataclass(frozen=True, slots=True)
class Listed:
    """A list, all of whose parts have one shape."""

    shape: Shape
    rules: tuple[Rule, ...] = ()

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, list):
            return f"{place} is {_kind(tree)}, not a list"
        for number, each in enumerate(tree):
            complaint = self.shape.complaint(each, f"{place}[{number}]")
            if complaint is not None:
                return complaint
        return _first_broken_rule(self.rules, tree, place)


@dataclass(frozen=True, slots=True)
class Parts:
    """A list of as many parts as there are shapes."""

    shapes: tuple[Shape, ...]

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, list) or len(tree) != len(self.shapes):
            return f"{place} is not a list of {len(self.shapes)}"
        both = enumerate(zip(self.shapes, tree, strict=True))
        complaints = (shape.complaint(each, f"{place}[{number}]") for number, (shape, each) in both)
        return next((each for each in complaints if each is not None), None)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with certain fields, of which some may be missing, and conditions on them."""

    fields: Mapping[str, Shape]
    rules: tuple[Rule, ...] = ()
    optional: frozenset[str] = field(default_factory=frozenset)

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, dict):
            return f"{place} is {_kind(tree)}, not a table"
        for name, shape in self.fields.items():
            if name not in tree:
                if name in self.optional:
                    continue
                return f"{place} has no {name}"
            complaint = shape.complaint(tree[name], f"{place}.{name}" if place else name)
            if complaint is not None:
                return complaint
        return _first_broken_rule(self.rules, tree, place)


@dataclass(frozen=True, slots=True)
class Named:
    """A table of any names, all of whose contents have one shape."""

    shape: Shape

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if not isinstance(tree, dict):
            return f"{place} is {_kind(tree)}, not a table"
        complaints = (self.shape.complaint(each, f"{place}.{name}") for name, each in tree.items())
        return next((each for each in complaints if each is not None), None)


@dataclass(frozen=True, slots=True)
class Cases:
    """One of several shapes, chosen by the type of a tree."""

    shapes: Mapping[type, Shape]

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        shape = self.shapes.get(type(tree))
        return f"{place} is {_kind(tree)}" if shape is None else shape.complaint(tree, place)


def _first_broken_rule(rules: Sequence[Rule], tree: Tree, place: str) -> str | None:
    """What the first rule says that a tree breaks; None if it keeps all."""
    for rule in rules:
        complaint = rule(tree)
        if complaint is not None:
            return f"{place}: {complaint}" if place else complaint
    return None


def offsets_fit(offsets: array_types.Integers, owners: int, length: int) -> bool:
    """Do offsets divide so many rows among so many owners?"""
    if len(offsets) != owners + 1:
        return False
    return offsets[0] == 0 and offsets[-1] == length and bool((np.diff(offsets) >= 0).all())
