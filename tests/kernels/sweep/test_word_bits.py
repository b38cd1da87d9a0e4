"""Bits of words, in compiled loops and outside of them."""

import numpy as np

from cernis.kernels.array_types import Words
from cernis.kernels.compile import kernel
from cernis.kernels.sweep.word_bits import lowest_bit


@kernel("words writable-words", "nothing")
def _lowest(words: Words, bits: Words) -> None:
    for row in range(len(words)):
        bits[row] = lowest_bit(words[row])


def test_the_lowest_bit_of_a_word() -> None:
    words = np.array([1, 12, 2**63, 2**64 - 2], np.uint64)
    bits = np.empty(4, np.uint64)
    _lowest(words, bits)
    assert bits.tolist() == [lowest_bit(word) for word in words] == [0, 2, 63, 1]
