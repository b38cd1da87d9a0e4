import pytest

from cernis.knowledge import Value, term_of, value
from cernis.knowledge.ground_values import canonical, field_value, same
from cernis.syntax import parse_term
from cernis.syntax.tree import Atom, Number, Sequence


@pytest.mark.parametrize(
    ("text", "expected"),
    [("tug", "tug"), ("'North Sea'", "North Sea"), ('"tug"', "tug"), ("3", 3), ("-2.5", -2.5)],
)
def test_plain_terms_are_python_values(text: str, expected: Value) -> None:
    found = value(parse_term(text))
    assert found == expected
    assert type(found) is type(expected)


def test_an_atom_and_a_string_are_one_value_however_deep() -> None:
    assert value(parse_term('loc("N", [a, "b"])')) == value(parse_term("loc('N', ['a', b])"))


def test_numbers_keep_their_form_however_deep() -> None:
    assert same(parse_term("f(1, [2.0])"), parse_term("f(1, [2.0])"))
    assert not same(parse_term("f(1, [2.0])"), parse_term("f(1, [2])"))
    assert not same(parse_term("f(1)"), parse_term("f('1')"))


def test_a_list_has_one_form() -> None:
    nested = Sequence((Atom("a"),), Sequence((Atom("b"),), Atom("[]")))
    assert canonical(nested) == parse_term("[a, b]")


def test_a_value_has_no_variables() -> None:
    for text in ("X", "f(X)", "[a | T]"):
        with pytest.raises(ValueError, match="no variables"):
            value(parse_term(text))


def test_terms_and_values_go_back_and_forth() -> None:
    for each in ("a", 1, 2.5, value(parse_term("f(a, [1])")), value(parse_term("30min"))):
        assert value(term_of(each)) == each
    assert term_of(3) == Number(3)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("003", 3), ("-1", -1), ("+1", 1), ("2.50", 2.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0),
        ("", ""), (" 1", " 1"), ("1_000", "1_000"), ("nan", "nan"), ("inf", "inf"), ("0x1", "0x1"),
        ("1.2.3", "1.2.3"), ("٣", "٣"), ("-", "-"), ("9" * 500, "9" * 500),
    ],
)  # fmt: skip
def test_a_field_that_reads_as_a_number_is_a_number(field: str, expected: Value) -> None:
    found = field_value(field)
    assert found == expected
    assert type(found) is type(expected)
