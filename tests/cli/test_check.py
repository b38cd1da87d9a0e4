"""`cernis check`: exit codes, formats, facts of all kinds."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import MARITIME, run

pytestmark = pytest.mark.usefixtures("folder")

WARNS = "unused(1).\n"
FAILS = "happensAt(richer(X), T) :- happensAt(win(Y), T).\n"
SPEEDS = """\
initiatedAt(fast(V)=true, T) :-
    happensAt(velocity(V, S), T),
    limit(V, Max),
    S > Max.
"""

WORKFLOW_COMMAND = re.compile(
    r"::(?:error|warning|notice) (?:\w+=[^,:\r\n]*,)*title=C\d{3}::[^\r\n]+"
)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, "utf-8")
    return name


def test_a_sound_program_is_fine() -> None:
    done = run("check", "toy.cer")
    assert (done.code, done.err) == (0, "")
    assert done.out == "toy.cer: no problems; 2 inputs, 1 simple fluent; dialect cernis\n"


def test_the_maritime_rules_are_fine() -> None:
    done = run("check", MARITIME / "rules.cer", "--facts", MARITIME / "facts.cer")
    assert done.code == 0
    assert "no problems; 13 inputs, 13 simple fluents, 9 statically determined" in done.out


def test_an_empty_program_is_fine_and_has_nothing_in_it() -> None:
    assert run("check", write("empty.cer", "")).out == "empty.cer: no problems; dialect cernis\n"


def test_errors_are_shown_and_exit_with_1() -> None:
    done = run("check", write("bad.cer", FAILS))
    assert done.code == 1
    assert "error[C030]: nothing in the body gives X a value" in done.out
    assert " --> bad.cer:1:18\n" in done.out
    assert done.out.endswith(
        "bad.cer: 1 error, 1 warning; 1 input, 1 derived event; dialect cernis\n"
    )


def test_warnings_are_errors_only_if_asked() -> None:
    name = write("warns.cer", WARNS)
    assert run("check", name).code == 0
    assert run("check", "--strict", name).code == 1
    assert run("check", "--strict", "toy.cer").code == 0


def test_json_of_a_sound_program_is_an_empty_list() -> None:
    done = run("check", "toy.cer", "--format", "json")
    assert (done.code, json.loads(done.out)) == (0, [])


def test_json_tells_where() -> None:
    done = run("check", write("bad.cer", FAILS), "--format", "json")
    error = next(each for each in json.loads(done.out) if each["severity"] == "error")
    assert done.code == 1
    assert error["code"] == "C030"
    assert error["file"] == "bad.cer"
    assert (error["line"], error["column"]) == (1, 18)
    assert (error["end_line"], error["end_column"]) == (1, 19)
    assert error["help"]


def test_json_has_the_places_of_notes() -> None:
    both = "initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).\n"
    both += "holdsFor(rich(X)=true, I) :- holdsFor(poor(X)=false, I).\n"
    done = run("check", write("both.cer", both), "--format", "json")
    (error,) = json.loads(done.out)
    assert error["code"] == "C040"
    assert [(note["file"], note["line"], note["column"]) for note in error["notes"]] == [
        ("both.cer", 1, 13)
    ]


def test_json_of_what_has_no_place_says_so() -> None:
    (error,) = json.loads(run("check", "gone.cer", "--format", "json").out)
    assert error["code"] == "C007"
    assert error["file"] is error["line"] is error["column"] is error["end_line"] is None


def test_github_writes_workflow_commands_and_nothing_else() -> None:
    done = run("check", write("bad.cer", FAILS + WARNS), "--format", "github")
    lines = done.out.splitlines()
    assert done.code == 1
    assert len(lines) == 3
    assert all(WORKFLOW_COMMAND.fullmatch(line) for line in lines), lines
    assert lines[0].startswith("::error file=bad.cer,line=1,endLine=1,col=18,title=C030::nothing")


def test_github_has_nothing_to_say_of_a_sound_program() -> None:
    done = run("check", "toy.cer", "--format", "github")
    assert (done.code, done.out) == (0, "")


def test_without_facts_one_note_names_the_predicates_that_come_from_them() -> None:
    more = "initiatedAt(f(X)=1, T) :- happensAt(e(X), T), p(X), \\+ q(X, 1), p(X)."
    done = run("check", write("speeds.cer", SPEEDS + more))
    assert done.code == 0
    assert "note[C022]: 3 predicates come from facts: limit/2, p/1, q/2\n" in done.out
    assert "--facts" in done.out
    assert "speeds.cer: 1 note" in done.out


def test_with_facts_that_lack_some_each_is_an_error() -> None:
    write("others.cer", "other(tug, 12).\n")
    done = run("check", write("speeds.cer", SPEEDS), "--facts", "others.cer")
    assert done.code == 1
    assert "error[C022]: there is no predicate limit/2" in done.out


def test_without_facts_slips_and_what_rules_cannot_do_are_errors() -> None:
    slips = "port(brest). initiatedAt(f(X)=1, T) :- happensAt(e(X), T), porrt(X), assertz(X)."
    done = run("check", write("slips.cer", slips))
    assert done.code == 1
    assert "did you mean `port`?" in done.out
    assert "assertz/1 changes the program, which a rule may not" in done.out


def test_a_run_without_its_facts_is_an_error() -> None:
    done = run("plan", write("speeds.cer", SPEEDS))
    assert done.code == 1
    assert "error[C022]: there is no predicate limit/2" in done.err


def test_facts_as_rule_text() -> None:
    write("limits.cer", "limit(tug, 12). limit(ferry, 30).\n")
    assert run("check", write("speeds.cer", SPEEDS), "--facts", "limits.cer").code == 0


def test_facts_as_csv_are_named_after_the_file() -> None:
    write("limit.csv", "vessel,knots\ntug,12\nferry,30\n")
    assert run("check", write("speeds.cer", SPEEDS), "--facts", "limit.csv").code == 0


def test_facts_as_parquet_are_named_after_the_file() -> None:
    pq.write_table(pa.table({"vessel": ["tug"], "knots": [12.5]}), "limit.parquet")
    assert run("check", write("speeds.cer", SPEEDS), "--facts", "limit.parquet").code == 0


def test_facts_of_several_files_add_up() -> None:
    write("limit.csv", "vessel,knots\ntug,12\n")
    write("more.cer", "other(1).\n")
    args = ("--facts", "limit.csv", "--facts", "more.cer")
    done = run("check", write("speeds.cer", SPEEDS), *args)
    assert (done.code, "2 predicates" in done.out) == (0, True)


def test_a_table_of_other_width_is_an_error() -> None:
    write("limit.csv", "vessel\ntug\n")
    done = run("check", write("speeds.cer", SPEEDS), "--facts", "limit.csv")
    assert done.code == 1
    assert "error[C023]: the facts of limit have 1 column (vessel)" in done.out


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("limit.csv", b"a,b\n1\n", "limit.csv:2: 1 field, where the first row has 2"),
        ("limit.csv", b"", "limit.csv: is empty"),
        ("limit.csv", b"a,b\n\xff,1\n", "limit.csv: is not UTF-8 text"),
        ("limit.parquet", b"no parquet at all", "limit.parquet: cannot be read"),
        ("limit.cer", b"limit(tug, 12", "this bracket is never closed"),
    ],
)
def test_facts_that_cannot_be_read_are_named(name: str, data: bytes, said: str) -> None:
    Path(name).write_bytes(data)
    done = run("check", write("speeds.cer", SPEEDS), "--facts", name)
    assert done.code == 1
    assert said in done.out
