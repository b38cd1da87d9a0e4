"""Versions of a program against each other: what differs, for which reasons, in which words."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cernis
from cernis.compare import merged_programs
from cernis.compare.merged_programs import Unmergeable, affected_relations, merged
from cernis.compare.program_differences import ProgramDifferences
from cernis.program import Program
from tests.cli.command import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
initiatedAt(level(B)=high, T)  :- happensAt(hr(B, R), T), limit(high, L), R > L.
terminatedAt(level(B)=high, T) :- happensAt(hr(B, R), T), limit(low, L), R < L.
initiatedAt(muted(B)=true, T)  :- happensAt(mute(B), T).
loud(B)=true iff level(B)=high and not muted(B)=true.
happensAt(alarm(B), T) :- happensAt(start(loud(B)=true), T).
initiatedAt(slow(B)=true, T) :- happensAt(hr(B, R), T), limit(low, L), R < L.
"""

FACTS = "limit(high, 120).\nlimit(low, 60).\n"

EVENTS = [
    ("hr", 1, 1, "b7", 130), ("hr", 5, 5, "b7", 50), ("mute", 3, 3, "b7"),
    ("hr", 2, 2, "b9", 118), ("hr", 9, 9, "b9", 55), ("hr", 12, 12, "b9", 140),
]  # fmt: skip


def program(rules: str = RULES, facts: str = FACTS) -> Program:
    return cernis.load(rules, [facts])


def names(relations: object) -> list[str]:
    return [str(each) for each in relations]  # type: ignore[attr-defined]


def counts(result: ProgramDifferences) -> dict[str, tuple[int, ...]]:
    return {
        str(each.relation): (each.before, each.after, each.gone, each.new, each.moved)
        for each in result.relations
        if not each.is_same
    }


def test_a_fact_changes_what_goals_can_match_and_what_depends_on_it() -> None:
    new = program(facts=FACTS.replace("120", "115"))
    result = program().diff(new, EVENTS)
    assert names(result.changed) == ["level/1"]
    assert names(result.affected) == ["alarm/1", "loud/1"]
    assert names(result.predicates) == ["limit/2"]
    assert (result.unchanged, result.note) == (2, "")
    assert counts(result) == {
        "level/1": (2, 3, 0, 1, 0),
        "loud/1": (2, 3, 0, 1, 0),
        "alarm/1": (2, 3, 0, 1, 0),
    }
    level = result.relations[0]
    assert (level.time_before, level.time_after, level.gained, level.lost) == (4, 11, 7, 0)
    (row,) = level.rows
    assert (row.kind, row.args, row.value, row.after, row.point) == (
        "new",
        ("b9",),
        "high",
        (3, 10),
        3,
    )
    words = dict(result.explanations[level.relation, row])
    assert "failed: 118 > 120 is not true" in words["before"]
    assert "118 > 115" in words["after"]


def test_rules_are_changed_added_and_removed() -> None:
    changed = RULES.replace("R < L.\ninitiatedAt(muted", "R < 100.\ninitiatedAt(muted")
    changed = changed.replace("slow(B)", "sluggish(B)")
    result = program().diff(program(changed), EVENTS)
    assert names(result.changed) == ["level/1"]
    assert (names(result.added), names(result.removed)) == (["sluggish/1"], ["slow/1"])
    assert counts(result)["slow/1"] == (2, 0, 2, 0, 0)
    assert counts(result)["sluggish/1"] == (0, 2, 0, 2, 0)


def test_the_same_program_gives_the_same_answer() -> None:
    result = program().diff(program(), EVENTS)
    assert result.is_same
    assert (result.changed, result.unchanged) == ((), 5)


OFF = "happensAt(mute(B), T) :- happensAt(off(B), T).\n"


@pytest.mark.parametrize("rules", [":- ties(initiation).\n" + RULES, RULES + OFF])
def test_versions_that_do_not_fit_together_are_run_apart(rules: str) -> None:
    old, new = program(), program(rules)
    with pytest.raises(Unmergeable):
        merged([old.checked, new.checked])
    result = old.diff(new, EVENTS)
    assert result.note
    assert result.is_same is (old.run(EVENTS).text() == new.run(EVENTS).text())


def test_merged_versions_are_as_they_are_alone() -> None:
    versions = [
        program(),
        program(facts=FACTS.replace("60", "52")),
        program(RULES.replace("140", "9")),
    ]
    together = merged([each.checked for each in versions])
    answer = Program(together.checked).run(EVENTS)
    for number, version in enumerate(versions):
        alone = version.run(EVENTS)
        for relation in merged_programs.defined_relations(version.checked):
            name = together.name_of(number, relation)
            tables = (answer.answer.fluents, alone.answer.fluents)
            if relation in alone.answer.fluents:
                assert tables[0][name].ends.tolist() == tables[1][relation].ends.tolist()
    assert affected_relations(versions[0].checked, versions[2].checked) == frozenset()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("old.cer").write_text(RULES, "utf-8")
    Path("new.cer").write_text(RULES.replace("R > L", "R > L - 5"), "utf-8")
    Path("facts.cer").write_text(FACTS, "utf-8")
    Path("less.cer").write_text(FACTS.replace("120", "115"), "utf-8")
    lines = ["|".join(map(str, event)) for event in EVENTS]
    Path("events.txt").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


INPUT = ("--input", "events.txt")


def test_the_command_says_by_its_exit_code_whether_anything_differs(folder: Path) -> None:
    facts = ("--facts", "facts.cer")
    outcome = run("diff", "old.cer", "new.cer", *facts, *INPUT)
    assert outcome.code == 1
    assert "changed definitions: level/1" in outcome.out
    assert "3 of 5 fluents and events differ: 0 gone, 3 new, 0 moved" in outcome.out
    assert run("diff", "old.cer", "old.cer", *facts, *INPUT).code == 0
    alone = run("diff", "old.cer", *facts, *INPUT)
    assert (alone.code, "there is nothing to compare" in alone.err) == (2, True)
    facts = ("--facts-old", "facts.cer", "--facts-new", "less.cer")
    assert "changed facts: limit/2" in run("diff", "old.cer", *facts, *INPUT).out


def test_differences_are_written_as_markdown_and_json(folder: Path) -> None:
    args = ("diff", "old.cer", "new.cer", "--facts", "facts.cer", *INPUT)
    text = run(*args, "--format", "markdown", "--no-explain").out
    assert "| level/1 | 2 | 3 | 0 | 1 | 0 | 0.00 | 0.00 | 0.00 | 0.00 |" in text
    parts = json.loads(run(*args, "--format", "json").out)
    level = next(each for each in parts["relations"] if each["relation"] == "level/1")
    assert (level["gained"], level["examples"][0]["after"]) == (7, [3, 10])
    assert "hr|2|2|b9|118" in level["examples"][0]["why"]["after"]


def test_engines_must_be_two(folder: Path) -> None:
    outcome = run("diff", "old.cer", "--facts", "facts.cer", *INPUT, "--engines", "local")
    assert (outcome.code, "--engines takes two" in outcome.err) == (2, True)


# -- on Spark ----------------------------------------------------------------------------------

on_spark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two versions of the rules, and records, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.cer").write_text(RULES + FACTS)
    (tmp_path / "new.cer").write_text(RULES + FACTS.replace("120", "115"))
    lines = ("|".join(map(str, (name, *rest))) for name, *rest in EVENTS)
    (tmp_path / "events.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


@on_spark
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_versions_on_spark_differ_as_they_do_here(
    versions: Path, spark: "SparkSession", form: str
) -> None:
    options = ["diff", "old.cer", "new.cer", "--input", "events.txt", "--format", form]
    there = run(*options, "--engine", "spark")
    here = run(*options, "--no-explain")
    assert (there.code, there.out) == (1, here.out)
    assert there.err == ""


@on_spark
def test_both_engines_give_the_same(versions: Path, spark: "SparkSession") -> None:
    done = run("diff", "old.cer", "--input", "events.txt", "--engines", "local,spark")
    assert done.code == 0, done.said
    assert done.out.splitlines() == [
        "old.cer against local,spark, over 6 records", "all definitions are the same", "",
        "the answers are the same",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["new.cer", "--input", "none.txt", "--engine", "spark"],
            "none.txt: there is no such file",
        ),
        (["new.cer", "--input", "none.txt"], "none.txt: there is no such file"),
        (["--input", "events.txt", "--engines", "local,flink"], "--engines takes two of"),
        (["new.cer", "--input", "events.txt", "--engine", "spark", "--conf", "x"], "must be like"),
    ],
)
def test_what_is_wrong_is_one_sentence(versions: Path, options: list[str], message: str) -> None:
    done = run("diff", "old.cer", *options)
    assert done.code == 2
    assert message in done.err
