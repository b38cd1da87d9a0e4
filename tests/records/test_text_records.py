"""Reading text records: what is a record, what is set aside, and that columns change nothing."""

from __future__ import annotations

import io
from random import Random

import pytest

import cernis
from cernis.errors import DataError
from cernis.program import Program
from cernis.records import text_records as text_reader
from cernis.records.gathering import Gathering
from cernis.records.record_columns import INFINITE, RecordKind, Records
from cernis.records.record_shapes import Shapes
from cernis.records.text_lines import field_of, read_line
from cernis.records.text_records import read_stream
from cernis.records.times import NO_TIME
from tests.records.support import asides, kinds, read, read_text, rows, toy


@pytest.fixture(scope="module")
def program() -> Program:
    return kinds()


def of_bytes(program: Program, data: bytes) -> Records:
    gathering = Gathering(Shapes(program.checked))
    read_stream(io.BytesIO(data), "data", gathering)
    return gathering.records()


def one_by_one(program: Program, text: str) -> Records:
    gathering = Gathering(Shapes(program.checked))
    gathering.sources.begin("")
    for place, line in enumerate(text.split("\n"), 1):
        read_line(line.rstrip("\r"), place, gathering)
    return gathering.records()


def test_the_three_kinds_of_records(program: Program) -> None:
    found = read(program, "ping|3|2|v1\nspeed|3|2|12.5|v1\nnear|9|4|8|true|v1|v2\nzero|1|1")
    assert rows(found) == {
        1: ("ping/1", (3, 2), ("v1",), None),
        2: ("speed/1", (3, 2), (12.5, "v1"), None),
        3: ("near/2", (9, 4, 8), ("true", "v1", "v2"), None),
        4: ("zero/0", (1, 1), (), None),
    }
    assert {form.kind for form in found.relations} == set(RecordKind)
    assert (found.count, found.used, found.set_aside, found.ignored) == (4, 4, [], {})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("3", 3), ("003", 3), ("-3", -3), ("+3", 3), (" 3 ", 3), ("3.0", 3.0), (".5", 0.5),
        ("5.", 5.0), ("1e3", 1000.0), ("-1.5E-3", -0.0015), ("a", "a"), ("a b", "a b"),
        (" a ", "a"),
        ("nan", "nan"), ("inf", "inf"), ("0x10", "0x10"), ("1_0", "1_0"), ("", ""), ("-", "-"),
        ("\N{ARABIC-INDIC DIGIT THREE}", "\N{ARABIC-INDIC DIGIT THREE}"),
        ("-9223372036854775808", -(1 << 63)), ("it's", "it's"), ('"q"', '"q"'),
        ("f(X)", "f(X)"), ("f(", "f("), ("F(a)", "F(a)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("others", [(), ("1",), ("1.5",), ("a",)])
def test_a_field_is_a_number_if_it_reads_as_one(
    program: Program, field: str, value: object, others: tuple[str, ...]
) -> None:
    # Whatever else is in the column, the value and its type are the same.
    lines = [f"plain|1|1|{other}|x" for other in (field, *others)]
    got = rows(read_text(lines, program.checked))[1][2][0]
    assert (type(got), got) == (type(value), value)


@pytest.mark.parametrize(
    "field", ["9223372036854775808", "-12345678901234567890", "1e999", "f(12345678901234567890)"]
)
@pytest.mark.parametrize("others", [(), ("1",), ("1.5",), ("a",)])
def test_numbers_that_are_too_large_are_set_aside(
    program: Program, field: str, others: tuple[str, ...]
) -> None:
    found = read_text([f"plain|1|1|{other}|x" for other in (field, *others)], program.checked)
    ((line, reason, text),) = [(own.line, own.reason, own.text) for own in found.set_aside]
    assert (line, text) == (1, f"plain|1|1|{field}|x")
    assert "more than 64 bits" in reason
    assert found.used == len(others)


def test_a_compound_field_is_a_term(program: Program) -> None:
    found = rows(read(program, "plain|1|1|f(a, 2)|b\norder|2|2|item(book)\norder|3|3|book"))
    assert found[1][2][0] == field_of("f(a,2)") != "f(a,2)"
    assert found[2] == ("order(item(_))/1", (2, 2), ("book",), None)
    assert 3 not in found


def test_a_time_with_a_point_is_a_whole_number_or_an_error(program: Program) -> None:
    assert rows(read(program, "ping|3|1.0|a")) == rows(read(program, "ping|3|1|a"))
    with pytest.raises(DataError, match=r"1\.5 is no whole number"):
        read(program, "ping|3|1|a\nping|3|1.5|a")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ping|x|3|a", NO_TIME),
        ("ping|3|soon|a", NO_TIME),
        ("ping|3|0x1f|a", NO_TIME),
        ("ping|3||a", NO_TIME),
        ("ping|3|1_0|a", NO_TIME),
        ("ping|3|inf|a", NO_TIME),
        ("ping|3|4611686018427387905|a", "a time must lie between -2^62 and 2^62"),
        ("ping|3|-4611686018427387905|a", "a time must lie between -2^62 and 2^62"),
        ("ping|3|" + "9" * 50 + "|a", "a time must lie between -2^62 and 2^62"),
        ("ping|3|3|a|b", "ping has 4 fields (name, arrival, occurrence, V), not 5"),
        ("ping|3|3", "ping has 4 fields (name, arrival, occurrence, V), not 3"),
        ("ping|3", "ping has 4 fields (name, arrival, occurrence, V), not 2"),
        ("hello", "a record has a name, an arrival and an occurrence"),
        ("near|9|9|9|true|a|b", "the interval ends before it starts"),
        ("near|9|9|3|true|a|b", "the interval ends before it starts"),
        ("near|9|9|soon|true|a|b", NO_TIME),
        ("fast|3|3|true|a", "fast is defined by rules"),
        ("order|3|3|book", "order has other arguments: rules speak of order(item(_))"),
        (
            "0.7::ping|3|3|a",
            "the record is uncertain: it has a probability, and the run is one of certain records",
        ),
        ("1.2::ping|3|3|a", "a probability must be a number from 0 to 1"),
        ("-ping|3|3|a", "there is no record to retract"),
    ],
)
def test_what_cannot_be_read_is_set_aside_alone(program: Program, line: str, reason: str) -> None:
    found = read(program, f"ping|1|1|a\n{line}\nnear|9|1|9|true|a|b\nping|5|5|b\norder|5|5|item(c)")
    assert asides(found) == [(2, reason)]
    assert found.set_aside[0].text == line
    assert sorted(rows(found)) == [1, 3, 4, 5]
    assert (found.count, found.used) == (5, 4)


def test_bytes_that_are_no_text_are_set_aside(program: Program) -> None:
    found = of_bytes(program, b"ping|1|1|a\nping|2|2|\xff\nping|3|3|b\n\xfe|1|1|a\n\xfe\n")
    assert asides(found) == [
        (2, "the line is not UTF-8 text"),
        (5, "the line is not UTF-8 text"),
    ]
    assert sorted(rows(found)) == [1, 3]
    assert found.set_aside[0].source == "data"


def test_names_no_rule_mentions_are_ignored_and_counted(program: Program) -> None:
    found = read(program, "foo|1|1|a\nfoo|x\nbar|1|1\nping|1|1|a")
    assert (found.ignored, found.count, found.used) == ({"bar": 1, "foo": 2}, 4, 1)
    assert not found.set_aside


def test_blank_lines_are_no_records_but_count_as_lines(program: Program) -> None:
    found = read_text(["", "ping|1|1|a", "   ", "ping|x|1|a", ""], program.checked)
    assert (found.count, sorted(rows(found)), asides(found)[0][0]) == (2, [2], 4)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks(
    program: Program, ending: str, last: bool, mark: bytes
) -> None:
    text = ending.join(["ping|1|1|a", "plain|2|2|b|c", "near|3|1|inf|true|x|y"])
    data = mark + (text + ending * last).encode()
    assert rows(of_bytes(program, data)) == {
        1: ("ping/1", (1, 1), ("a",), None),
        2: ("plain/2", (2, 2), ("b", "c"), None),
        3: ("near/2", (3, 1, "inf"), ("true", "x", "y"), None),
    }


def test_an_empty_text_has_no_records(program: Program) -> None:
    for data in (b"", b"\n", b"\r\n", b"\xef\xbb\xbf"):
        found = of_bytes(program, data)
        assert (found.count, found.used, found.first, found.last(1)) == (0, 0, None, None)


def test_open_intervals_end_at_infinity(program: Program) -> None:
    (own,) = read(program, "near|3|1|inf|true|x|y\nnear|3|1| inf|true|x|z").relations.values()
    assert own.times[2].tolist() == [INFINITE, INFINITE]


def test_a_very_long_line_is_read(program: Program) -> None:
    name = "n" * 100_000
    found = read(program, f"ping|1|1|{name}\nping|2|2|a")
    assert rows(found)[1][2] == (name,)
    assert not found.set_aside


# -- retractions -----------------------------------------------------------------------------


def gone(program: Program, text: str) -> dict[int, int | None]:
    return {line: row[3] for line, row in rows(read(program, text)).items()}


def test_a_retraction_takes_back_an_equal_record(program: Program) -> None:
    text = "plain|1|1|a|3\nplain|2|1|b|3\n-plain|5|1|a|003"
    assert gone(program, text) == {1: 5, 2: None}


def test_one_retraction_takes_back_one_record(program: Program) -> None:
    found = gone(program, "ping|1|1|a\nping|2|1|a\n-ping|5|1|a")
    assert sorted(found.values(), key=str) == [5, None]


def test_only_what_came_before_is_taken_back(program: Program) -> None:
    found = read(program, "-ping|5|1|a\nping|6|1|a\nping|5|1|a")
    assert rows(found)[2][3] is rows(found)[3][3] is None
    assert asides(found) == [(1, "there is no record to retract")]
    assert gone(program, "-ping|5|1|a\nping|4|1|a") == {2: 5}


def test_what_was_taken_back_may_come_again(program: Program) -> None:
    text = "ping|1|1|a\n-ping|2|1|a\nping|3|1|a\n-ping|4|1|a\n-ping|5|1|a"
    found = read(program, text)
    assert {line: row[3] for line, row in rows(found).items()} == {1: 2, 3: 4}
    assert asides(found) == [(5, "there is no record to retract")]


def test_records_of_all_kinds_can_be_taken_back(program: Program) -> None:
    text = (
        "zero|1|1\n-zero|2|1\nspeed|1|1|2.50|a\n-speed|3|1|2.5|a\n"
        "near|4|1|inf|true|a|b\n-near|5|1|inf|true|a|b\norder|1|1|item(a)\n- order|9|1|item(a)"
    )
    assert gone(program, text) == {1: 2, 3: 3, 5: 5, 7: 9}


def test_many_retractions_take_no_time(program: Program) -> None:
    lines = [f"plain|{n}|{n % 50}|a|{n % 100}" for n in range(20_000)]
    lines += [f"-plain|{20_000 + n}|{n % 50}|a|{n % 100}" for n in range(20_000)]
    found = read_text(lines, program.checked)
    assert not found.set_aside
    assert all(row[3] is not None for row in rows(found).values())


# -- column by column is line by line ----------------------------------------------------------

NAMES = [
    "ping", "speed", "near", "a_rather_long_name", "order", "exactly8", "exactly8x", "plain",
    "zero", "unknown", "fast", "x", "-ping", "-plain", "0.5::ping", "1.5::plain", "", " ping",
    "ping ", "- plain", "\u00e9", "z" * 70, "exactly8\0", "ping\0",
]  # fmt: skip
TIMES = [
    "1", "2", "3", "-4", "003", "+5", "0x1f", "0X2", "1.0", "inf", "4611686018427387904",
    "4611686018427387905", "99999999999999999999", "1_0", "1e3", "x", "nan", "", " 6", "7 ",
]  # fmt: skip
VALUES = [
    "a", "b", "3", "003", "3.0", "-3", "+3", ".5", "5.", "1e5", "1.5e-3", "nan", "inf", "0x10",
    "item(b)", "item(X)", "item(b", "f(a,b)", "true", "\u00e9", "Q", "12345678901234567890",
    "1.7e400", "--", "it's", "a::b", "-", "1,5", "\\", "", " a", "a b", "a\tb", "x\ry", "- 3",
    "item('a|b')",
]  # fmt: skip
WIDTHS = {"ping": 1, "speed": 2, "near": 4, "plain": 2, "zero": 0, "a_rather_long_name": 2}


def random_line(random: Random) -> str:
    if random.random() < 0.03:
        return random.choice(["", "  ", "garbage", "|", "||", "|||", "a|", "\r"])
    name = random.choice(NAMES if random.random() < 0.4 else list(WIDTHS))
    width = WIDTHS.get(name.strip("- "), 1) + (random.random() < 0.05)
    times = [
        random.choice(TIMES) if random.random() < 0.15 else str(random.randrange(9))
        for _ in range(2)
    ]
    values = [
        random.choice(VALUES) if random.random() < 0.6 else random.choice("abc")
        for _ in range(width)
    ]
    if name == "near" and random.random() < 0.9:
        values[0] = random.choice(["9", "12", "inf", " inf", "5"])
    fields = [name, *times, *values]
    if random.random() < 0.03:
        del fields[random.randrange(1, len(fields)) :]
    return "|".join(fields) + "\r" * (random.random() < 0.05)


def same_values(found: Records, wanted: Records) -> None:
    left, right = rows(found), rows(wanted)
    assert left.keys() == right.keys()
    for line, row in left.items():
        other = right[line]
        assert (row[0], row[1], row[3]) == (other[0], other[1], other[3])
        for one, two in zip(row[2], other[2], strict=True):
            # Where rules compute with a column, whole numbers among floats may become floats.
            numbers = isinstance(one, int | float) and isinstance(two, int | float)
            assert one == two or (numbers and float(one) == float(two))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
def test_columns_give_what_lines_give(program: Program, seed: int) -> None:
    random = Random(seed)
    for _ in range(60):
        lines = [random_line(random) for _ in range(random.randrange(1, 60))]
        text = "\n".join(lines)
        found, wanted = read_text(text, program.checked), one_by_one(program, text)
        same_values(found, wanted)
        assert asides(found) == asides(wanted)
        assert (found.ignored, found.count) == (wanted.ignored, wanted.count)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_do_not_matter(program: Program, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(size)
    text = "\n".join(random_line(random) for _ in range(120))
    wanted = read_text(text, program.checked)
    monkeypatch.setattr(text_reader, "BLOCK", size)
    found = read_text(text, program.checked)
    same_values(found, wanted)
    assert found.set_aside == wanted.set_aside


def test_many_names_are_told_apart() -> None:
    names = [f"{'e' * (n % 20)}vent{n}" for n in range(300)]
    rules = "".join(f"initiatedAt(f(X)={n}, T) :- happensAt({n}(X), T).\n" for n in names)
    program = cernis.load(rules)
    lines = [f"{name}|{at}|{at}|a{at}" for at, name in enumerate(names * 3, 1)]
    found = rows(read_text(lines, program.checked))
    assert {line: row[0] for line, row in found.items()} == {
        at: f"{name}/1" for at, name in enumerate(names * 3, 1)
    }


def test_lines_with_their_ends_are_lines() -> None:
    found = read_text(["win_lottery|1|1|a\n", "win_lottery|2|2|b\r\n"], toy().checked)
    assert [row[2] for row in rows(found).values()] == [("a",), ("b",)]


def test_whole_numbers_and_floats_in_one_column_stay_what_they_are(program: Program) -> None:
    fields = ["1", "1.0", "2.5", "a", "0.1234567890123456789", "-7", "1e3", " 8", "1", "1.0"]
    values = [field_of(field) for field in fields]
    found = rows(read_text([f"plain|1|1|{field}|x" for field in fields], program.checked))
    read_values = [found[line][2][0] for line in sorted(found)]
    assert list(map(type, read_values)) == list(map(type, values))
    assert read_values == values


def test_times_in_nanoseconds_are_times(program: Program) -> None:
    found = read(program, "ping|1700000000000000001|1700000000000000000|a\nping|2|2|a")
    assert rows(found)[1][1] == (1_700_000_000_000_000_001, 1_700_000_000_000_000_000)
