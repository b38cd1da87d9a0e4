"""Numbers for words: the states and the fired words of a lane, interned as 16-bit ids.

Rows then have 8 bytes, and a transition is found by the ids of its state and its fired word. A
state is a word together with the pairs that groundings allow its key, since a transition depends on
both. There are `MOST_IDS` ids of each kind; when they are used up, `NO_ID` says so.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import HalfIntegers, Integers, SmallIntegers, Words
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.word_bits import ONE, ZERO, Word

MOST_IDS = 65535
NO_ID = np.uint64(MOST_IDS)
HASH_BITS = 17
_SHIFT = np.uint64(64 - HASH_BITS)
_MASK = np.uint64((1 << HASH_BITS) - 1)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_OTHER_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)

STATES, FIRED = 0, 1
"""The places of the numbers of ids that are used, in the array of counts."""


@part
def state_id(word: Word, allowed: Word, words: Words, ids: SmallIntegers, counts: Integers) -> Word:
    """The id of a state: its word and what is allowed."""
    place = ((word * _FACTOR) ^ (allowed * _OTHER_FACTOR)) >> _SHIFT
    while ids[place] != 0:
        number = np.uint64(ids[place] - 1)
        if words[number + number] == word and words[number + number + ONE] == allowed:
            return number
        place = (place + ONE) & _MASK
    number = np.uint64(counts[STATES])
    if number < NO_ID:
        words[number + number], words[number + number + ONE] = word, allowed
        ids[place] = np.int32(number + ONE)
        counts[STATES] += 1
    return number


@part
def fired_id(word: Word, words: Words, ids: SmallIntegers, counts: Integers) -> Word:
    """The id of a fired word."""
    place = (word * _FACTOR) >> _SHIFT
    while ids[place] != 0:
        number = np.uint64(ids[place] - 1)
        if words[number] == word:
            return number
        place = (place + ONE) & _MASK
    number = np.uint64(counts[FIRED])
    if number < NO_ID:
        words[number] = word
        ids[place] = np.int32(number + ONE)
        counts[FIRED] += 1
    return number


@kernel(
    "words writable-words writable-small writable-integers writable-half", "boolean", counted=(0,)
)
def intern_fired(
    fired: Words, words: Words, ids: SmallIntegers, counts: Integers, numbers: HalfIntegers
) -> bool:
    """Write the id of each fired word; false if there are too many."""
    last, number = ZERO, fired_id(ZERO, words, ids, counts)
    for row in range(np.uint64(len(fired))):
        if fired[row] != last:
            last = fired[row]
            number = fired_id(last, words, ids, counts)
            if number == NO_ID:
                return False
        numbers[row] = number
    return True


@kernel(
    "words words writable-words writable-small writable-integers writable-words",
    "boolean",
    counted=(0,),
)
def intern_states(
    words: Words, allowed: Words, known: Words, ids: SmallIntegers, counts: Integers,
    numbers: Words,
) -> bool:  # fmt: skip
    """Write the id of each state; false if there are too many."""
    for row in range(np.uint64(len(words))):
        numbers[row] = state_id(words[row], allowed[row], known, ids, counts)
        if numbers[row] == NO_ID:
            return False
    return True
