"""What a lane says about its own rows."""

from cernis.plan.sweep.lanes import Lane, LaneOp, LaneRow, bits_of


def lane(*blocks: tuple[LaneRow, ...]) -> Lane:
    """A lane with these blocks and nothing else."""
    first_row = [0]
    for block in blocks:
        first_row.append(first_row[-1] + len(block))
    rows = tuple(row for block in blocks for row in block)
    return Lane((), (), (), (), (), rows, tuple(first_row))


def test_bits_come_from_the_lowest_on() -> None:
    assert list(bits_of(0)) == []
    assert list(bits_of(0b1010001)) == [0, 4, 6]
    assert list(bits_of(1 << 63)) == [63]


def test_a_block_is_touched_by_what_triggers_one_of_its_rows() -> None:
    first = (
        LaneRow(LaneOp.RULE, any=0b1, all=0b100, pos=0b10, init=0b1),
        LaneRow(LaneOp.RULE, all=0b11000, none=0b1, term=0b1),
        LaneRow(LaneOp.COMMIT, init=0b1),
    )
    second = (
        LaneRow(LaneOp.RULE, starts=0b1, all=0b10, neg=0b100, term=0b10),
        LaneRow(LaneOp.COMMIT, init=0b10),
    )
    third = (
        LaneRow(LaneOp.TERM, pos=0b1, neg=0b10),
        LaneRow(LaneOp.DERIVE, init=0b100),
    )
    swept = lane(first, second, third)
    assert [mask for mask in swept.touch_fired if mask] == [0b1, 0b1, 0b1]
    assert swept.touch_fired[1] == swept.touch_fired[2] == 0
    assert swept.touch_state[:3] == (0b110, 0b100, 0)


def test_a_row_has_eleven_numbers() -> None:
    row = LaneRow(LaneOp.TERM, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert row.masks == (2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
