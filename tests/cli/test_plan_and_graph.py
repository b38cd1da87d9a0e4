"""`cernis plan`, `cernis graph`, `cernis explain-code`, and what the program says of itself."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import cernis
from tests.cli.command import MARITIME, ROOT, run

pytestmark = pytest.mark.usefixtures("folder")

MARITIME_ARGS = (MARITIME / "rules.cer", "--facts", MARITIME / "facts.cer")
CODES = sorted(
    set(re.findall(r"^## (C\d{3})", (ROOT / "docs/diagnostics.md").read_text("utf-8"), re.M))
)


def test_plan_shows_stages_strata_and_operators() -> None:
    done = run("plan", "toy.cer")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:4] == [
        "stage 1, by X",
        "  read win_lottery/1 from input by X",
        "  read lose_wallet/1 from input by X",
        "  stratum 1",
    ]
    assert re.search(r"^ +Scan win_lottery\(X\) +toy.cer:2$", done.out, re.MULTILINE)


def test_plan_of_the_maritime_rules_has_two_stages() -> None:
    done = run("plan", *MARITIME_ARGS)
    assert done.code == 0
    stages = [line for line in done.out.splitlines() if line.startswith("stage ")]
    assert len(stages) == 2


def test_plan_analyzes_what_a_session_costs() -> None:
    lines = [f"win_lottery|{at}|{at}|p{at % 7}\n" for at in range(1, 100)]
    Path("events.txt").write_text("".join([*lines, "lose_wallet|90|60|p1\n"]), "utf-8")
    done = run("plan", "toy.cer", "--analyze", "--input", "events.txt", "--window", 40, "--step", 5)
    assert (done.code, done.err) == (0, "")
    assert re.search(r"ms +\d+%  stage 1, by X$", done.out, re.MULTILINE)
    # Seven are rich; one is not for a while, as is told late.
    assert re.search(r"^ +[\d.,]+ ms +\d+% +10 +8    rich/1$", done.out, re.MULTILINE)
    assert re.search(r"^ +90 +\d+ +5 +1  with news ", done.out, re.MULTILINE)
    assert "10 more" in done.out
    assert "20 queries, 20 of them evaluated for the keys that have news," in done.out


def test_plan_analyzes_nothing_without_records() -> None:
    done = run("plan", "toy.cer", "--analyze")
    assert (done.code, done.err) == (
        2,
        "cernis: --analyze needs records: name files with --input\n",
    )
    done = run("plan", "toy.cer", "--analyze", "--input", "nowhere.txt")
    assert done.code == 2
    assert "nowhere.txt" in done.err


def test_plan_warns_beside_the_plan_where_no_key_fits() -> None:
    Path("lone.cer").write_text("initiatedAt(alarm=true, T) :- happensAt(smoke(_), T).\n", "utf-8")
    done = run("plan", "lone.cer")
    assert done.code == 0
    assert done.out.startswith("stage 1, in one partition\n")
    assert "warning[C070]" not in done.out
    assert "warning[C070]" in done.err


@pytest.mark.parametrize("command", ["plan", "graph"])
def test_a_program_with_errors_has_none(command: str) -> None:
    Path("bad.cer").write_text("happensAt(a(X), T) :- happensAt(b, T).\n", "utf-8")
    done = run(command, "bad.cer", *(["-o", "bad.svg"] if command == "graph" else []))
    assert (done.code, done.out) == (1, "")
    assert "error[C030]" in done.err
    assert done.err.endswith("cernis: bad.cer: 1 error\n")
    assert not Path("bad.svg").exists()


def test_graph_prints_dot() -> None:
    done = run("graph", "toy.cer")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("digraph ")
    assert done.out.endswith("}\n")
    assert 'label="rich=true"' in done.out
    assert 'label="win_lottery"' in done.out


def test_graph_leaves_the_input_out_if_asked() -> None:
    done = run("graph", "toy.cer", "--no-inputs")
    assert 'label="rich=true"' in done.out
    assert "win_lottery" not in done.out


@pytest.mark.parametrize("name", ["toy.dot", "toy.gv"])
def test_graph_writes_dot(name: str) -> None:
    done = run("graph", "toy.cer", "-o", name)
    assert (done.code, done.out) == (0, f"{name}: 1 vertex\n")
    assert Path(name).read_text("utf-8") == run("graph", "toy.cer").out


def test_graph_writes_svg() -> None:
    done = run("graph", *MARITIME_ARGS, "--output", "maritime.svg")
    assert (done.code, done.out) == (0, "maritime.svg: 28 vertices\n")
    root = ElementTree.parse("maritime.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_graph_of_an_empty_program_is_empty() -> None:
    Path("empty.cer").write_text("", "utf-8")
    assert run("graph", "empty.cer", "-o", "empty.svg").code == 0
    ElementTree.parse("empty.svg")


@pytest.mark.parametrize("name", ["nowhere/toy.svg", "folder.svg"])
def test_graph_that_cannot_be_written_says_so(name: str) -> None:
    Path("folder.svg").mkdir()
    done = run("graph", "toy.cer", "-o", name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"cernis: {name} cannot be written: ")
    assert done.err.count("\n") == 1


def test_graph_of_another_kind_is_refused() -> None:
    done = run("graph", "toy.cer", "-o", "toy.png")
    assert (done.code, done.err) == (2, "cernis: toy.png must end in .html, .svg or .dot\n")
    assert not Path("toy.png").exists()


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    done = run("explain-code", code)
    assert done.code == 0
    assert done.out.startswith(f"## {code} ")
    assert done.out.count("## C") == 1


def test_codes_are_read_in_either_case() -> None:
    assert run("explain-code", "c030").out == run("explain-code", "C030").out


def test_a_code_that_is_not_there_is_named() -> None:
    done = run("explain-code", "C999")
    assert (done.code, done.out) == (2, "")
    assert done.err == "cernis: there is no diagnostic C999\n"


def test_it_says_which_version_it_is() -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"cernis {cernis.__version__}\n")


def test_help_lists_the_commands() -> None:
    done = run("--help")
    assert done.code == 0
    for command in ("check", "fmt", "plan", "graph", "explain-code"):
        assert re.search(rf"^ +{command} ", done.out, re.MULTILINE), command


@pytest.mark.parametrize("command", ["check", "fmt", "plan", "graph", "explain-code"])
def test_every_command_and_option_has_help(command: str) -> None:
    done = run(command, "--help")
    assert done.code == 0
    for line in done.out.splitlines():
        if re.match(r"  -", line):
            assert re.search(r"  \S.* {2,}\S|^  -\S+(, -\S+)*( \S+)?$", line), line


def test_plan_and_check_give_the_same_diagnostics() -> None:
    rules = (
        "unused(1).\nhappensAt(a(X), T) :- happensAt(b(X, V), T), V == 2.\n"
        "happensAt(c, T) :- happensAt(b(_, _), T).\n"
    )
    Path("slips.cer").write_text(rules, "utf-8")
    checked, planned = run("check", "--strict", "slips.cer"), run("plan", "slips.cer")
    assert (checked.code, planned.code) == (1, 0)
    assert "warning[C051]" in checked.out
    assert "warning[C070]" in checked.out
    assert planned.err.strip() == checked.out.rpartition("\n\n")[0]
