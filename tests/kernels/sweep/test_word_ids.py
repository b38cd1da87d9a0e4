"""Numbers for words, up to as many as there are."""

import numpy as np

from cernis.kernels.sweep.word_ids import HASH_BITS, MOST_IDS, intern_fired, intern_states


def test_equal_words_have_equal_numbers() -> None:
    words, ids = np.zeros(MOST_IDS + 1, np.uint64), np.zeros(1 << HASH_BITS, np.int32)
    counts = np.zeros(2, np.int64)
    numbers = np.zeros(5, np.uint16)
    fired = np.array([7, 7, 2**63, 0, 7], np.uint64)
    assert intern_fired(fired, words, ids, counts, numbers)
    assert numbers.tolist() == [1, 1, 2, 0, 1]
    assert words[:3].tolist() == [0, 7, 2**63]


def test_a_state_is_a_word_with_what_is_allowed() -> None:
    words, ids = np.zeros(2 * (MOST_IDS + 1), np.uint64), np.zeros(1 << HASH_BITS, np.int32)
    counts, numbers = np.zeros(2, np.int64), np.zeros(3, np.uint64)
    state, allowed = np.array([5, 5, 5], np.uint64), np.array([1, 2, 1], np.uint64)
    assert intern_states(state, allowed, words, ids, counts, numbers)
    assert numbers.tolist() == [0, 1, 0]


def test_too_many_words_are_told_of() -> None:
    words, ids = np.zeros(MOST_IDS + 1, np.uint64), np.zeros(1 << HASH_BITS, np.int32)
    counts, numbers = np.zeros(2, np.int64), np.zeros(MOST_IDS + 1, np.uint16)
    fired = np.arange(MOST_IDS + 1, dtype=np.uint64)
    assert intern_fired(fired[:MOST_IDS], words, ids, counts, numbers)
    assert numbers[:MOST_IDS].tolist() == fired[:MOST_IDS].tolist()
    assert not intern_fired(fired, words, ids, counts, numbers)
