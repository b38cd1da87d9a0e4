"""A heap of instances by the time they are next due, as part of kernels.

Each instance is in the heap at most once, under the time with which it was entered. If it is
postponed later, the heap is left alone: that it is not yet due shows when it comes to the top, and
it is entered again. So postponing costs nothing, and bringing forward costs little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cernis.kernels.array_types import Integers, Place
from cernis.kernels.compile import part

HEAP = "(writable-integers writable-integers writable-integers)"


class Heap(NamedTuple):
    """Keys and instances by place, and the place of each instance or -1."""

    keys: Integers
    instances: Integers
    places: Integers


ZERO, ONE = np.uint64(0), np.uint64(1)


@part
def _settle(place: Place, key: int, instance: int, heap: Heap) -> None:
    heap.keys[place] = key
    heap.instances[place] = instance
    heap.places[Place(instance)] = np.int64(place)


@part
def _rise(place: Place, key: int, instance: int, heap: Heap) -> None:
    """Let an entry rise from a place to where none above it is later."""
    while place > ZERO:
        above = (place - ONE) >> ONE
        if heap.keys[above] <= key:
            break
        _settle(place, heap.keys[above], heap.instances[above], heap)
        place = above
    _settle(place, key, instance, heap)


@part
def _sink(place: Place, size: Place, key: int, instance: int, heap: Heap) -> None:
    """Let an entry sink from a place to where none below it is sooner."""
    below = (place << ONE) + ONE
    while below < size:
        below += Place(below + ONE < size and heap.keys[below + ONE] < heap.keys[below])
        if heap.keys[below] >= key:
            break
        _settle(place, heap.keys[below], heap.instances[below], heap)
        place = below
        below = (place << ONE) + ONE
    _settle(place, key, instance, heap)


@part
def enter(instance: int, due: int, size: Place, heap: Heap) -> Place:
    """Let an instance be due at a time, or sooner if it is already; gives the new size."""
    place = heap.places[Place(instance)]
    if place < 0:
        _rise(size, due, instance, heap)
        return size + ONE
    if due < heap.keys[Place(place)]:
        _rise(Place(place), due, instance, heap)
    return size


@part
def drop_first(size: Place, heap: Heap) -> Place:
    """Take out the first; gives the new size."""
    heap.places[Place(heap.instances[0])] = -1
    last = size - ONE
    if last > ZERO:
        _sink(ZERO, last, heap.keys[last], heap.instances[last], heap)
    return last


@part
def put_off_first(due: int, size: Place, heap: Heap) -> None:
    """The first is due later than its key says."""
    _sink(ZERO, size, due, heap.instances[0], heap)
