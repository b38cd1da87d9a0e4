"""What `recognise` gives, and what it says of wrong input at the call."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import cernis
from cernis.errors import CernisError, DataError
from cernis.spark import recognise, recognise_uncertain
from cernis.spark.batch.recogniser import recogniser
from tests.pages.test_payload import unpacked
from tests.records.support import TOY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RULES = """
:- dynamic(bed/2).
initiatedAt(on(Bed, FuelTank)=Ward, T) :-
    happensAt(begin(Bed, FuelTank, Dose), T), Dose > 3, bed(Bed, Ward).
happensAt(soon(Bed), T) :- happensAt(begin(Bed, _, _), T).
"""


def frame(spark: SparkSession, *columns: str) -> DataFrame:
    return spark.range(1).selectExpr(*columns)


def test_fluents_and_events_are_attributes_and_items(spark: SparkSession) -> None:
    facts = {"bed": spark.createDataFrame([("b1", "icu")], "bed string, ward string")}
    given = {"begin": frame(spark, "'b1' bed", "'t' fuel_tank", "5 dose", "3 occurrence")}
    found = recognise(cernis.load(RULES), given, facts=facts, partitions=1)
    assert repr(found) == "<Recognised: fluents on; events soon>"
    assert "<code>soon</code>" in found._repr_html_()
    assert {"on", "soon", "intervals"} <= set(dir(found))
    assert found.on.columns == ["bed", "fuel_tank", "value", "start", "end", "open"]
    (row,) = found["on/2"].collect()
    assert tuple(row) == ("b1", "t", "icu", 4, None, True)
    assert found.soon.columns == ["bed", "occurrence"]
    with pytest.raises(AttributeError, match="no fluent or event off; there are on, soon"):
        found.off  # noqa: B018 - what it raises is the test
    with pytest.raises(CernisError, match="no fluent or event off"):
        found["off"]


def test_nothing_internal_is_public(spark: SparkSession) -> None:
    found = recognise(TOY, {"win_lottery": frame(spark, "'kim' x", "3 occurrence")})
    public = {name for name in dir(found) if not name.startswith("_")}
    assert public == {
        "collect", "event", "events", "explain", "fluent", "intervals", "persist", "report",
        "set_aside", "summary", "unpersist", "write", "happy", "location", "party", "rich",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("'a' bed", "'t' fuel_tank", "5 dose", "true occurrence"),
         "occurrence of begin has the type boolean; a time is .*cast\\(`occurrence` as timestamp"),
        (("array(1) bed", "'t' fuel_tank", "5 dose", "1 occurrence"),
         "column bed of begin has the type array<int>.*The columns are bed array<int>, fuel_tank"),
        (("'a' bed", "'t' fuel_tank", "5 dose", "1 time"), "no column occurrence"),
        (("'a' bed", "'t' fuel_tank", "5 amount", "1 occurrence"), "amount"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_columns_is_an_error_at_the_call(
    spark: SparkSession, columns: tuple[str, ...], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        recognise(RULES, {"begin": frame(spark, *columns)})


def test_tables_of_other_libraries_are_told_apart(spark: SparkSession) -> None:
    table = pd.DataFrame({"x": ["kim"], "occurrence": [3]})
    for given in ({"win_lottery": table}, table):
        with pytest.raises(
            DataError, match=r"a Spark DataFrame, and is a table of pandas: give sp"
        ):
            recognise(TOY, given, spark=spark)


def test_columns_may_be_called_otherwise(spark: SparkSession) -> None:
    given = {"win_lottery": frame(spark, "'kim' who", "'x' note", "timestamp_seconds(3) at")}
    names = {"occurrence": "at", "win_lottery": {"x": "who"}}
    found = recognise(TOY, given, mapping=names)
    (row,) = found.rich.collect()
    assert (row.x, row.start.second) == ("kim", 4)
    where = {"relation": "win_lottery", "occurrence": "at", "arguments": ["who"]}
    same = recognise(TOY, given, mapping={"input": [where]})
    assert [tuple(row) for row in same.rich.collect()] == [tuple(row)]


def test_a_step_of_a_chain(spark: SparkSession) -> None:
    events = frame(spark, "'kim' x", "3 occurrence")
    rich = events.transform(recogniser(TOY, relation="win_lottery", select="rich"))
    assert [row.x for row in rich.collect()] == ["kim"]
    named = frame(spark, "'win_lottery' name", "array('kim') args", "3 occurrence")
    assert named.transform(recogniser(TOY)).columns[0] == "fluent"


def test_a_page_of_a_result(spark: SparkSession, tmp_path: Path) -> None:
    found = recognise(TOY, {"win_lottery": frame(spark, "'kim' x", "3 occurrence")})
    page = found.report(tmp_path / "found.html", title="From Spark")
    assert "<title>From Spark</title>" in page.read_text("utf-8")


REPORTED = """
collectIntervals(close(_, _)=true).
initiatedAt(fast(V)=true, T)  :- happensAt(velocity(V, S), T), S > 8.
terminatedAt(fast(V)=true, T) :- happensAt(velocity(V, S), T), S =< 8.
hunt(V, W)=true iff close(V, W)=true, fast(V)=true.
"""


def test_a_page_shows_events_and_causes_as_one_made_in_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "events.txt"
    file.write_text(
        "velocity|1|1|a|9\nvelocity|2|2|b|3\nclose|3|3|20|true|a|b\nvelocity|7|7|a|4\n"
        "velocity|9|9|b|12\nvelocity|12|11|a|15\n-velocity|13|9|b|12\n"
    )
    program = cernis.load(REPORTED)
    found = recognise(program, str(file), spark=spark)
    there = _data_of(found.report(tmp_path / "spark.html", title="x"))
    here = _data_of(program.run(file).report(tmp_path / "here.html", title="x"))
    assert there == here
    assert any(there[1]["cause.begin.event"])
    without = _data_of(found.report(tmp_path / "without.html", events=False))
    assert (without[0]["events"], "cause.begin.rule" in without[1]) == ([], False)


def test_a_page_of_uncertain_records_names_what_changed_a_probability(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "events.txt"
    file.write_text("0.4::velocity|1|1|a|9\n0.9::velocity|5|5|a|3\n0.8::velocity|9|9|a|12\n")
    rules = "\n".join(REPORTED.splitlines()[2:4])
    program = cernis.load(rules)
    found = recognise_uncertain(program, str(file), spark=spark)
    there = _data_of(found.report(tmp_path / "spark.html", title="x"))
    here = _data_of(program.run_uncertain(file).report(tmp_path / "here.html", title="x"))
    assert there == here
    assert any(there[1]["bandcause.event"])


def _data_of(page: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    data = page.read_text("utf-8").split('id="cernis-data">')[1].split("</script>")[0]
    meta, columns = unpacked(b64decode(data))
    del meta["summary"]
    return meta, columns
