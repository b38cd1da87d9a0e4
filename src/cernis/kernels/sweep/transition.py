"""One point of a lane: from the state word and what has fired to the next state word.

Simple fluents follow the law of inertia. With I the pairs of a fluent that are initiated at the
point, X those that are terminated and g all its pairs, a pair is *broken* if it is in X or if
another one is in I. What is broken ends. An initiation counts if its pair is not broken, or always
under the tie rule `INITIATION`. A pair that groundings do not allow breaks others and never holds.

A delay is *armed* by every initiation of its source that groundings allow, whether it counts or
not, and disarmed when its effect is due and where its source is broken. What arms it at the point
of a break comes after the break. One that is armed already is armed again only if it is
postponable.
"""

from __future__ import annotations

import numpy as np

from cernis.kernels.array_types import Words
from cernis.kernels.compile import kernel, part
from cernis.kernels.sweep.lane_tables import (
    ALL,
    ANY,
    ARMED,
    BLOCK_COUNT,
    BREAK,
    COMMIT,
    DELAY_COUNT,
    DELAY_SIZE,
    DELAYS_AT,
    DERIVE,
    DUE,
    ENDS,
    FIRST_ROWS_AT,
    INIT,
    NEG,
    NONE,
    OP,
    POS,
    POSTPONABLE,
    ROW_SIZE,
    RULE,
    SIGNAL,
    SOURCE,
    STARTS,
    TERM,
    TERMINATE,
    TIES,
    TOUCH_FIRED_AT,
    TOUCH_STATE_AT,
    UNTIL_DUE,
    LaneTables,
    packed,
)
from cernis.kernels.sweep.word_bits import ALL_BITS, ONE, ZERO, Word, lowest_bit

_OP, _ANY, _ALL, _NONE, _STARTS, _ENDS = (
    np.uint64(column) for column in (OP, ANY, ALL, NONE, STARTS, ENDS)
)
_POS, _NEG, _INIT, _TERM, _SIGNAL = (
    np.uint64(column) for column in (POS, NEG, INIT, TERMINATE, SIGNAL)
)
_RULE, _COMMIT, _TERM_ROW = np.uint64(RULE), np.uint64(COMMIT), np.uint64(TERM)
_DERIVE, _BLOCK_COUNT = np.uint64(DERIVE), np.uint64(BLOCK_COUNT)
_SOURCE, _DUE, _ARMED, _POSTPONABLE, _UNTIL_DUE = (
    np.uint64(column) for column in (SOURCE, DUE, ARMED, POSTPONABLE, UNTIL_DUE)
)
_TOUCH_FIRED, _TOUCH_STATE, _FIRST_ROWS, _DELAYS = (
    np.uint64(place) for place in (TOUCH_FIRED_AT, TOUCH_STATE_AT, FIRST_ROWS_AT, DELAYS_AT)
)
_DELAY_COUNT, _TIES, _ROW_SIZE = np.uint64(DELAY_COUNT), np.uint64(TIES), np.uint64(ROW_SIZE)
_DELAY_SIZE = np.uint64(DELAY_SIZE)

Transition = tuple[Word, Word, Word, Word]
"""The next word, the armed bits of delays that are armed at the point, signals, and conflicts."""


@part
def _touched(bits: Word, lane: Words, touch: Word) -> Word:
    """The blocks that some bits touch."""
    blocks = ZERO
    while bits != ZERO:
        blocks |= lane[touch + lowest_bit(bits)]
        bits &= bits - ONE
    return blocks


@part
def _fires(lane: Words, row: Word, fired: Word, old: Word, new: Word) -> bool:
    """Does a rule fire? What it asks of the state is asked of the word before the point."""
    some, starts, ends = lane[row + _ANY], lane[row + _STARTS], lane[row + _ENDS]
    triggers = (fired & some) | (new & ~old & starts) | (old & ~new & ends)
    if triggers == ZERO and (some | starts | ends) != ZERO:
        return False
    together, held = lane[row + _ALL], lane[row + _POS]
    return bool(
        (fired & together) == together
        and (fired & lane[row + _NONE]) == ZERO
        and (old & held) == held
        and (old & lane[row + _NEG]) == ZERO
    )


@part
def _postponed(
    lane: Words, first: Word, stop: Word, fired: Word, old: Word,
    new: Word,
) -> Word:  # fmt: skip
    """The due bits that an initiation at the very point drops, in the dialect rtec.

    Such an initiation is one that the rules of the block bring about without what is due in it.
    """
    group = lane[stop - _ROW_SIZE + _INIT]
    dues, initiated, dropped = ZERO, ZERO, ZERO
    delays_end = _DELAYS + lane[_DELAY_COUNT] * _DELAY_SIZE
    for delay in range(_DELAYS, delays_end, _DELAY_SIZE):
        if (group >> lane[delay + _SOURCE]) & ONE:
            dues |= ONE << lane[delay + _DUE]
    for row in range(first, stop, _ROW_SIZE):
        if lane[row + _OP] == _RULE and _fires(lane, row, fired & ~dues, old, new):
            initiated |= lane[row + _INIT]
    for delay in range(_DELAYS, delays_end, _DELAY_SIZE):
        if lane[delay + _UNTIL_DUE] != ZERO and (initiated >> lane[delay + _SOURCE]) & ONE:
            dropped |= ONE << lane[delay + _DUE]
    return dropped


@part
def _arm(lane: Words, group: Word, initiated: Word, broken: Word, word: Word) -> tuple[Word, Word]:
    """The word with the armed bits of a fluent's delays, and those of them that are armed now."""
    armed_now = ZERO
    for number in range(lane[_DELAY_COUNT]):
        delay = _DELAYS + number * _DELAY_SIZE
        source, armed = ONE << lane[delay + _SOURCE], ONE << lane[delay + _ARMED]
        if (group & source) != ZERO:
            if (broken & source) != ZERO:
                word &= ~armed
            is_free = (word & armed) == ZERO or lane[delay + _POSTPONABLE] != ZERO
            if (initiated & source) != ZERO and is_free:
                word |= armed
                armed_now |= armed
    return word, armed_now


@part
def _disarm(lane: Words, fired: Word, word: Word) -> tuple[Word, bool]:
    """The word without the armed bits of what is due; may an initiation drop some of it?"""
    may_drop = False
    for number in range(lane[_DELAY_COUNT]):
        delay = _DELAYS + number * _DELAY_SIZE
        if (fired >> lane[delay + _DUE]) & ONE:
            word &= ~(ONE << lane[delay + _ARMED])
            may_drop |= lane[delay + _UNTIL_DUE] != ZERO
    return word, may_drop


@part
def commit(lane: Words, fired: Word, old: Word, allowed: Word) -> tuple[Word, Word, Word, Word]:
    """What a point makes of a state word; see `Transition`.

    Only blocks that something touches are looked at. Those that a block touches come after it.
    """
    new, may_drop = _disarm(lane, fired, old)
    armed_now, signals, conflicts = ZERO, ZERO, ZERO
    todo = _touched(fired, lane, _TOUCH_FIRED)
    while todo != ZERO:
        block = lowest_bit(todo)
        todo &= todo - ONE
        before, sent, now = new, ZERO, fired | signals
        initiated, terminated, is_met = ZERO, ZERO, False
        row, stop = lane[_FIRST_ROWS + block], lane[_FIRST_ROWS + block + ONE]
        if may_drop:
            now &= ~_postponed(lane, row, stop, now, old, new)
        while row < stop:
            op = lane[row + _OP]
            if op == _RULE:
                if _fires(lane, row, now, old, new):
                    initiated |= lane[row + _INIT]
                    terminated |= lane[row + _TERM]
                    sent |= lane[row + _SIGNAL]
            elif op == _COMMIT:
                if (initiated | terminated) != ZERO:
                    group = lane[row + _INIT]
                    broken = terminated & group
                    if initiated != ZERO:
                        is_one = (initiated & (initiated - ONE)) == ZERO
                        broken |= (group & ~initiated) if is_one else group
                        conflicts += ZERO if is_one else ONE
                    counted = initiated if lane[_TIES] != ZERO else initiated & ~broken
                    new = (new & ~broken) | (counted & allowed)
                    new, armed = _arm(lane, group, initiated & allowed, broken, new)
                    armed_now |= armed
            elif op == _TERM_ROW:
                held = lane[row + _POS]
                is_met |= (new & held) == held and (new & lane[row + _NEG]) == ZERO
            else:
                derived = lane[row + _INIT]
                new = (new | (derived & allowed)) if is_met else (new & ~derived)
            row += _ROW_SIZE
        signals |= sent
        if new != before or sent != ZERO:
            later = ZERO if block == np.uint64(63) else ALL_BITS << (block + ONE)
            touched = _touched(new ^ before, lane, _TOUCH_STATE)
            todo |= (touched | _touched(sent, lane, _TOUCH_FIRED)) & later
    return new, armed_now, signals, conflicts


@part
def derived_again(lane: Words, word: Word, allowed: Word) -> Word:
    """A state word with the bits of its causal statically determined pairs; the others stand."""
    for block in range(lane[_BLOCK_COUNT]):
        row, stop = lane[_FIRST_ROWS + block], lane[_FIRST_ROWS + block + ONE]
        is_met = False
        while row < stop:
            op = lane[row + _OP]
            if op == _TERM_ROW:
                held = lane[row + _POS]
                is_met |= (word & held) == held and (word & lane[row + _NEG]) == ZERO
            elif op == _DERIVE:
                word &= ~lane[row + _INIT]
                if is_met:
                    word |= lane[row + _INIT] & allowed
            row += _ROW_SIZE
    return word


@kernel("words words words words " + "writable-words " * 4, "nothing")
def _commit_all(
    lane: Words, fired: Words, words: Words, allowed: Words, new: Words, armed: Words,
    signals: Words, conflicts: Words,
) -> None:  # fmt: skip
    for row in range(np.uint64(len(fired))):
        new[row], armed[row], signals[row], conflicts[row] = commit(
            lane, fired[row], words[row], allowed[row]
        )


def transitions(
    tables: LaneTables, fired: Words, words: Words, allowed: Words
) -> tuple[Words, Words, Words, Words]:
    """What each of many points makes of a state word: one `Transition` for each, as columns."""
    new, armed, signals, conflicts = (np.empty(len(fired), np.uint64) for _ in range(4))
    _commit_all(packed(tables), fired, words, allowed, new, armed, signals, conflicts)
    return new, armed, signals, conflicts


def with_derived(tables: LaneTables, word: int, allowed: int) -> int:
    """The twin of `derived_again`."""
    for block in range(len(tables.first_row) - 1):
        rows = tables.blocks[tables.first_row[block] : tables.first_row[block + 1]].tolist()
        if rows[-1][OP] == DERIVE:
            word = _plain_derived(rows, word, allowed)
    return word


# -- the plain twin --------------------------------------------------------------------------


def plain_transition(
    tables: LaneTables, fired: int, old: int, allowed: int
) -> tuple[int, int, int, int]:
    """The twin of `commit`: every block is tried, whatever touches it."""
    delays = tables.delays.tolist()
    new, armed_now, signals, conflicts = old, 0, 0, 0
    for delay in delays:
        if fired >> delay[DUE] & 1:
            new &= ~(1 << delay[ARMED])
    for block in range(len(tables.first_row) - 1):
        rows = tables.blocks[tables.first_row[block] : tables.first_row[block + 1]].tolist()
        now = (fired | signals) & ~_plain_dropped(rows, delays, fired | signals, old, new)
        fires = [row for row in rows if row[OP] == RULE and _plain_fires(row, now, old, new)]
        initiated, terminated = _united(fires, INIT), _united(fires, TERMINATE)
        signals |= _united(fires, SIGNAL)
        last = rows[-1]
        if last[OP] == COMMIT:
            group = last[INIT]
            conflicts += initiated.bit_count() > 1
            broken = terminated & group | sum(
                1 << bit for bit in range(64) if group >> bit & 1 and initiated & ~(1 << bit)
            )
            counted = initiated & ~broken if tables.ties == BREAK else initiated
            new = new & ~broken | counted & allowed
            for delay in delays:
                source, armed = 1 << delay[SOURCE], 1 << delay[ARMED]
                if broken & source:
                    new &= ~armed
                if initiated & source & allowed and (not new & armed or delay[POSTPONABLE]):
                    new |= armed
                    armed_now |= armed
        elif last[OP] == DERIVE:
            new = _plain_derived(rows, new, allowed)
    return new, armed_now, signals, conflicts


def _united(rows: list[list[int]], column: int) -> int:
    mask = 0
    for row in rows:
        mask |= row[column]
    return mask


def _plain_derived(rows: list[list[int]], word: int, allowed: int) -> int:
    terms = [row for row in rows if row[OP] == TERM]
    is_met = any(word & row[POS] == row[POS] and not word & row[NEG] for row in terms)
    return word & ~rows[-1][INIT] | (rows[-1][INIT] & allowed if is_met else 0)


def _plain_fires(row: list[int], fired: int, old: int, new: int) -> bool:
    triggers = row[ANY] & fired | row[STARTS] & new & ~old | row[ENDS] & old & ~new
    is_triggered = bool(triggers) or not row[ANY] | row[STARTS] | row[ENDS]
    return (
        is_triggered
        and fired & row[ALL] == row[ALL]
        and not fired & row[NONE]
        and old & row[POS] == row[POS]
        and not old & row[NEG]
    )


def _plain_dropped(
    rows: list[list[int]], delays: list[list[int]], fired: int, old: int, new: int
) -> int:
    here = [delay for delay in delays if rows[-1][INIT] >> delay[SOURCE] & 1]
    without = fired & ~sum(1 << delay[DUE] for delay in here)
    fires = [row for row in rows if row[OP] == RULE and _plain_fires(row, without, old, new)]
    initiated = _united(fires, INIT)
    return sum(
        1 << delay[DUE] for delay in here if delay[UNTIL_DUE] and initiated >> delay[SOURCE] & 1
    )
