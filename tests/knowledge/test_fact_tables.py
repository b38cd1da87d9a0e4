import time

import pyarrow as pa
import pytest

import cernis
from cernis.errors import KnowledgeError
from cernis.knowledge import ColumnType, Value
from cernis.knowledge.fact_tables import FactTable, column_type, table_of_facts, table_of_rows
from cernis.syntax import parse
from cernis.syntax.tree import Clause, Compound, functor
from tests.knowledge.programs import clauses, knowledge


def table(text: str) -> FactTable:
    facts = clauses(text)
    return table_of_facts(functor(facts[0].head), facts)


def types(text: str) -> list[str]:
    return [column.type.value for column in table(text).columns]


def test_columns_have_the_narrowest_type() -> None:
    assert types("p(1, 1, a, true, a). p(2, 2.5, 'B c', false, 1).") == [
        "integer", "float", "text", "boolean", "mixed",
    ]  # fmt: skip


def test_terms_and_large_numbers_are_mixed() -> None:
    assert types("p(f(a), [1], 9223372036854775808).") == ["mixed"] * 3
    assert types("p(9007199254740993). p(0.5).") == ["mixed"]
    assert types("p(9223372036854775807).") == ["integer"]


def test_an_empty_column_is_mixed() -> None:
    assert column_type([]) is ColumnType.MIXED


def test_rows_keep_order_and_repetitions() -> None:
    assert list(table("p(2, a). p(1, b). p(2, a).").rows()) == [(2, "a"), (1, "b"), (2, "a")]


def test_a_predicate_without_arguments_has_rows_and_no_columns() -> None:
    found = table("raining. raining.")
    assert (found.columns, len(found), list(found.rows())) == ((), 2, [(), ()])


def test_a_variable_in_a_fact_is_an_error() -> None:
    with pytest.raises(KnowledgeError, match="p/1"):
        table("p(X).")


def test_arrow_has_a_column_for_each_argument() -> None:
    found = table("p(1, 1, a, true, a). p(2, 2.5, 'B c', false, 1).").arrow()
    assert found.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.string()]
    assert found.column_names == ["arg1", "arg2", "arg3", "arg4", "arg5"]
    assert found.to_pylist()[1] == {
        "arg1": 2, "arg2": 2.5, "arg3": "B c", "arg4": False, "arg5": "1",
    }  # fmt: skip
    assert found.schema.field("arg5").metadata == {b"cernis.type": b"mixed"}


def test_arrow_tells_numbers_from_text_in_a_mixed_column() -> None:
    rows: list[tuple[Value, ...]] = [(1,), ("1",), ("one",), (1.5,)]
    found = table_of_rows(("p", 1), rows).arrow()
    assert found.column(0).to_pylist() == ["1", "'1'", "one", "1.5"]


def test_many_facts_take_little_time() -> None:
    facts = clauses("p(0, a0, 0.5, true).")
    facts = [
        Clause(Compound("p", fact.head.args))
        for fact in facts * 200_000
        if isinstance(fact.head, Compound)
    ]
    start = time.process_time()
    found = table_of_facts(("p", 4), facts)
    assert time.process_time() - start < 1
    assert len(found) == 200_000


def test_facts_of_a_text_become_a_table() -> None:
    lines = "\n".join(f"p({at}, a{at % 7})." for at in range(5_000))
    found = knowledge(lines).table("p", 2)
    assert len(found) == 5_000
    assert parse(lines).items[3] == Clause(parse("p(3, a3).").items[0].head)  # type: ignore[union-attr]


@pytest.mark.parametrize("use", ["D > 5", "d(D)", "X \\= D"])
def test_facts_beyond_64_bits_are_errors(use: str) -> None:
    program = cernis.load(
        f"d(9223372036854775808).\ninitiatedAt(f(X)=D, T) :- happensAt(e(X), T), d(D), {use}.\n"
    )
    with pytest.raises(KnowledgeError, match="d/1: 9223372036854775808 is a whole number of more"):
        program.run("e|1|1|a\n")
