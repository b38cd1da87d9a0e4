"""What users hand to the commands by mistake: every time a code, a place, a hint, and exit 1."""

import os
from pathlib import Path

import pytest

import cernis
from cernis.errors import KnowledgeError
from cernis.knowledge import Knowledge, Limits
from cernis.syntax import parse_term
from tests.cli.command import Outcome, run

pytestmark = pytest.mark.usefixtures("folder")

MISSPELT = """\
:- event(win_lottery(_)).
initiatedAt(rich(X)=true, T) :- happensAt(win_lotery(X), T).
"""
UNBOUND = "happensAt(richer(X, Y), T) :- happensAt(win(X), T).\n"
BOTH_WAYS = """\
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
holdsFor(rich(X)=true, I) :- holdsFor(poor(X)=false, I).
"""
ENDLESS = """\
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T), grow(X, _).
grow(X, Y) :- grow(s(X), Y).
"""
DEEP = "deep(" + "f(" * 10_000 + "1" + ")" * 10_000 + ").\n"


def refused(command: str, name: str) -> Outcome:
    """A command over a program with errors shows them and exits with 1."""
    done = run(command, name)
    assert done.code == 1
    return done


@pytest.mark.parametrize("command", ["check", "plan", "graph"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MISSPELT, ["C020", "bad.cer:2:43", "did you mean `win_lottery`?"]),
        (UNBOUND, ["C030", "bad.cer:1:21", "gives Y a value"]),
        (BOTH_WAYS, ["C040", "bad.cer:2:10", "bad.cer:1:13", "either by initiatedAt"]),
        ("initiatedAt(rich(X)=true, T) :- happ", ["C003", "bad.cer:1:33", "cut off?"]),
        ("initiatedAt(rich(X)=true", ["C002", "bad.cer:1:12", "cut off?"]),
        ("a('open).\nb.\n", ["C004", "bad.cer:1:3", "close it with '"]),
        ("a. /* open\n", ["C004", "bad.cer:1:4", "close it with */"]),
        ("a :- b c.\n", ["C001", "bad.cer:1:8", "comma or an operator missing"]),
        ("a :- b\nc :- d.\n", ["C013", "bad.cer:1:6", "a :- b."]),
        (DEEP, ["C006", "bad.cer:1:", "split it"]),
        ("2::a.\n", ["C011", "bad.cer:1:1", "between 0 and 1"]),
        (":- ['gone.cer'].\n", ["C007", "bad.cer:1:5", "gone.cer does not exist"]),
    ],
)
def test_faults_have_a_code_a_place_and_a_hint(command: str, text: str, said: list[str]) -> None:
    Path("bad.cer").write_text(text, "utf-8")
    done = refused(command, "bad.cer")
    assert [each for each in said if each not in done.said] == []


def test_all_faults_are_shown_at_once() -> None:
    Path("bad.cer").write_text(UNBOUND + BOTH_WAYS + "a(.\n" + "b :- .\n", "utf-8")
    done = refused("check", "bad.cer")
    assert "bad.cer: 4 errors" in done.out
    places = [line for line in done.out.splitlines() if line.startswith("  --> ")]
    assert [int(place.split(":")[1]) for place in places] == [1, 3, 2, 4, 5]


@pytest.mark.parametrize("command", ["check", "plan", "graph", "fmt"])
@pytest.mark.parametrize("name", ["gone.cer", "subfolder", "binary.cer", "noise.cer"])
def test_what_is_no_rule_file_is_refused(command: str, name: str) -> None:
    Path("subfolder").mkdir()
    Path("binary.cer").write_bytes(b"\x7fELF\0\0\1\2" * 500)
    Path("noise.cer").write_bytes(bytes((7 * at * at + 13) % 255 + 1 for at in range(3000)))
    assert name in refused(command, name).said


def test_a_missing_file_is_told_its_neighbours() -> None:
    done = refused("check", "toys.cer")
    assert "toys.cer does not exist" in done.out
    assert "did you mean toy.cer" in done.out


def test_a_missing_folder_is_told() -> None:
    assert "there is no directory nowhere" in refused("check", "nowhere/toy.cer").out


def test_a_directory_is_called_one() -> None:
    Path("rules").mkdir()
    assert "rules is a directory" in refused("check", "rules").out
    done = run("check", "toy.cer", "--facts", "rules")
    assert (done.code, "rules is a directory" in done.out) == (1, True)


def test_noise_is_given_up_after_a_while() -> None:
    Path("noise.cer").write_bytes(b"\xfe" * 100_000)
    done = refused("check", "noise.cer")
    assert "too many unreadable characters" in done.out
    assert len(done.out) < 100_000


@pytest.mark.parametrize("command", ["check", "plan", "graph", "fmt"])
def test_a_file_without_permission_is_named(command: str) -> None:
    Path("toy.cer").chmod(0)
    if os.access("toy.cer", os.R_OK):
        pytest.skip("this user may read everything")
    assert "toy.cer cannot be read: Permission denied" in refused(command, "toy.cer").said


def test_files_that_include_each_other_are_named() -> None:
    Path("a.cer").write_text(":- ['b.cer'].\n", "utf-8")
    Path("b.cer").write_text("p(1).\n:- [a].\n", "utf-8")
    done = refused("check", "a.cer")
    assert "error[C008]" in done.out
    assert "b.cer:2:5" in done.out
    assert "a.cer includes b.cer includes a.cer" in done.out


def test_a_file_that_includes_itself_is_named() -> None:
    Path("a.cer").write_text(":- ['./a.cer'].\n", "utf-8")
    assert "a.cer includes a.cer" in refused("check", "a.cer").out


def test_a_file_included_twice_is_read_once() -> None:
    Path("facts.cer").write_text("p(1).\n", "utf-8")
    Path("b.cer").write_text(":- [facts].\n", "utf-8")
    Path("a.cer").write_text(":- [b, facts].\n", "utf-8")
    assert run("check", "a.cer").code == 0


def test_a_predicate_without_end_loads_and_is_planned() -> None:
    Path("endless.cer").write_text(ENDLESS, "utf-8")
    assert run("check", "endless.cer").code == 0
    planned = run("plan", "endless.cer")
    assert planned.code == 0
    assert "Resolve grow(X, _)" in planned.out
    assert "grow/2 resolve: recursive" in planned.out


def test_a_predicate_without_end_is_named_when_it_is_asked() -> None:
    clauses = [c for own in cernis.load(ENDLESS).checked.clauses.values() for c in own]
    knowledge = Knowledge(clauses, limits=Limits(steps=10_000))
    with pytest.raises(KnowledgeError, match="grow/2"):
        list(knowledge.solve(parse_term("grow(a, Y)")))


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["check"],
        ["fmt"],
        ["explain-code"],
        ["chekc", "toy.cer"],
        ["--colour"],
        ["check", "toy.cer", "toy.cer"],
        ["check", "toy.cer", "--format", "xml"],
        ["check", "toy.cer", "--facts"],
        ["graph", "toy.cer", "--output", "picture.png"],
        ["graph", "toy.cer", "--output", "nowhere/picture.svg"],
        ["explain-code", "C999"],
        ["explain-code", ""],
    ],
    ids=" ".join,
)
def test_wrong_use_exits_with_2(args: list[str]) -> None:
    done = run(*args)
    assert done.code == 2
    assert done.said
