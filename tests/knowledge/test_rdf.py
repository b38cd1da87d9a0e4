"""RDF files as predicates, and what RDFS adds to them."""

from __future__ import annotations

from pathlib import Path

import pytest

import cernis
from cernis.errors import CernisError, DataError
from cernis.knowledge.rdf import entailed, rdf_tables, read_rdf

STATIONS = """
@prefix wt: <http://weather.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wt:WindObservation rdfs:subClassOf wt:Observation .
wt:Observation rdfs:subClassOf wt:Event .
wt:measures rdfs:subPropertyOf wt:knows ; rdfs:domain wt:Station ; rdfs:range wt:Observation .
wt:s1 wt:measures wt:o1 ; wt:lat 37.5 ; wt:floors 3 ; wt:label "S 1" .
wt:o2 a wt:WindObservation .
"""


def rows(name: str, arity: int, text: str, folder: Path) -> set[tuple[object, ...]]:
    file = folder / "stations.ttl"
    file.write_text(text)
    return set(rdf_tables(read_rdf(file))[name, arity].rows())


def test_names_and_literals(tmp_path: Path) -> None:
    found = rows("triple", 3, STATIONS, tmp_path)
    assert ("wt:s1", "wt:lat", 37.5) in found
    assert ("wt:s1", "wt:floors", 3) in found
    assert ("wt:s1", "wt:label", "S 1") in found


def test_classes_and_types(tmp_path: Path) -> None:
    types = rows("rdf_type", 2, STATIONS, tmp_path)
    assert types == {
        ("wt:s1", "wt:Station"), ("wt:o1", "wt:Observation"), ("wt:o1", "wt:Event"),
        ("wt:o2", "wt:WindObservation"), ("wt:o2", "wt:Observation"), ("wt:o2", "wt:Event"),
    }  # fmt: skip
    above = rows("rdfs_subClassOf", 2, STATIONS, tmp_path)
    assert ("wt:WindObservation", "wt:Event") in above


def test_properties(tmp_path: Path) -> None:
    assert ("wt:s1", "wt:knows", "wt:o1") in rows("triple", 3, STATIONS, tmp_path)


def test_a_circle_of_classes_ends() -> None:
    circle = [("a", "rdfs:subClassOf", "b"), ("b", "rdfs:subClassOf", "a"), ("x", "rdf:type", "a")]
    assert ("x", "rdf:type", "b") in entailed(circle)  # type: ignore[arg-type]


def test_other_formats(tmp_path: Path) -> None:
    lines = tmp_path / "more.nt"
    lines.write_text("<http://a/b> <http://a/c> <http://a/d> .\n")
    assert read_rdf(lines) == {("http://a/b", "http://a/c", "http://a/d")}
    xml = tmp_path / "more.rdf"
    xml.write_text(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://a/">'
        '<rdf:Description rdf:about="http://a/b"><a:c>7</a:c></rdf:Description></rdf:RDF>'
    )
    assert read_rdf(xml) == {("a:b", "a:c", "7")}


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    bad = tmp_path / "bad.ttl"
    bad.write_text("wt:s1 wt:lat .")
    with pytest.raises(DataError, match="cannot be read as RDF"):
        read_rdf(bad)
    with pytest.raises(DataError, match="no such file"):
        read_rdf(tmp_path / "none.ttl")
    with pytest.raises(CernisError, match="C007"):
        cernis.load(":- rdf('none.ttl').")


RULES = """
:- rdf('stations.ttl').
seen(S, Lat) <- report(S, O) where rdf_type(O, 'wt:Observation'), triple(S, 'wt:lat', Lat).
"""


@pytest.mark.parametrize("by", ["directive", "facts"])
def test_rules_ask_it(by: str, tmp_path: Path) -> None:
    (tmp_path / "stations.ttl").write_text(STATIONS)
    rules = tmp_path / "rules.cer"
    rules.write_text(RULES if by == "directive" else RULES.replace(":- rdf('stations.ttl').", ""))
    facts = [] if by == "directive" else [tmp_path / "stations.ttl"]
    program = cernis.load(rules, facts)
    events = ["report|1|1|wt:s1|wt:o2", "report|2|2|wt:s1|wt:s1", "report|3|3|wt:s2|wt:o1"]
    assert program.run(events).text() == "occurs(seen('wt:s1', 37.5), [(1,1)]).\n"
