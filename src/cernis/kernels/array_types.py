"""The types of arrays, named once for the whole package.

A name says what the elements are; how many there are, and what they mean, is documented where an
array is used. The module imports numpy alone, so that a layer that compiles nothing can use it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""An array whose elements may be of any type."""

Integers: TypeAlias = npt.NDArray[np.int64]
SmallIntegers: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]

HalfIntegers: TypeAlias = npt.NDArray[np.uint16]
Tags: TypeAlias = npt.NDArray[np.uint32]
Words: TypeAlias = npt.NDArray[np.uint64]
"""Sets of up to 64 things: one bit of each element for each thing."""

WordMatrix: TypeAlias = npt.NDArray[np.uint64]
"""As `Words`, in rows and columns."""

Matrix: TypeAlias = npt.NDArray[np.int64]
"""Whole numbers in rows and columns."""

SmallMatrix: TypeAlias = npt.NDArray[np.int32]
"""As `Matrix`, with elements of 32 bits."""

Place = np.uint64
"""A place in an array. In compiled loops it is unsigned: a signed one is tested each time for
counting from the end."""
