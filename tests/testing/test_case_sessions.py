"""Cases are collected and chosen; what is wrong with one is said where it stands."""

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from cernis.errors import DataError
from cernis.testing.case_answers import CaseAnswer
from cernis.testing.case_report import CaseReport
from cernis.testing.case_sessions import CaseSession, case_paths, chooser
from cernis.testing.judging import Judge
from cernis.testing.junit import junit_xml
from tests.cli.command import run
from tests.testing.cases import FOLDER, RULES, outcome_of


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("given\n 1 hrr(b7, 3)", 3, "no event or fluent hrr/2; they have hr/2"),
        ("given\n 1 hr(b7)", 3, "no event or fluent hr/1"),
        ("given\n 1 hr(B7, 3)", 3, "has variables; a record has values"),
        ("given\n hr(b7, 3)", 3, "is no record; write `TIME event(arguments)`"),
        ("given\n 1 hr(b7, 3", 3, "neither an event nor a pair"),
        ("given\n 1 to 3 hr(b7, 3)", 3, "an event has one time"),
        ("given\n 5 to 3 ward(b7)=icu", 3, "ends before it starts"),
        ("given\n 5 hr(b7, 3) retracted 4", 3, "retracted before it arrives"),
        ("given hr\n time | B\n 1 | b7", 2, "the rules have no hr/1; they have hr/2"),
        ("given hr\n B | Rate\n b7 | 1", 3, "has a column `time`"),
        ("given hr\n time | B | Rate\n soon | b7 | 1", 4, "'soon' is no time"),
        ("given\n 1 alarm(b7)\nexpect\n never alarm(_)", 1, "a record cannot be used"),
        ("start: 5\ngiven\n 5 hr(b7, 3)\nexpect\n never alarm(_)", 4, "no part of the run"),
        ("expect\n level(b7)=critical form 3", 3, "neither an event nor a pair"),
        ("expect\n level(b7)=critical", 3, "it does not say when; write a pair"),
        ("expect\n level(b7)=critical from 3 until 4", 3, "write `from T to T`"),
        ("expect\n level(b7)=critical from 4 to 3", 3, "ends before it begins"),
        ("expect\n alarm(b7) from 4", 3, "an event happens `at T`"),
        ("expect\n never alarm(b7) at 4", 3, "followed by `between T and T`"),
        ("expect\n levle(b7)=critical at 4", 3, "no fluent levle/1; they have level/1"),
        ("expect\n at 5 ends alarm(b7)", 3, "an event is reported or withdrawn"),
        ("given\n 1 hr(b7, 3)", 1, "expects nothing; add an `expect` block"),
        ("window: soon\nexpect\n never alarm(_)", 2, "window must be a positive whole number"),
        ("policy: late\nexpect\n never alarm(_)", 2, "policy is one of early, partial, final"),
        ("tick: 0\nexpect\n never alarm(_)", 2, "tick must be a positive whole number"),
        ("rules: none.cer\nexpect\n never alarm(_)", 2, "none.cer does not exist"),
        ("facts\n limit(high\nexpect\n never alarm(_)", 1, "ward.certest:3"),
    ],
)
def test_a_fault_of_a_case_has_its_line(text: str, line: int, words: str) -> None:
    error = outcome_of(f"test: a\n{text}\n").error
    assert error.startswith(f"{FOLDER / 'ward.certest'}:{line}: ")
    assert words in error


def test_records_that_cannot_be_used_may_be_expected() -> None:
    text = "test: a\ngiven\n 1 alarm(b7)\nexpect\n 1 record set aside\n"
    assert outcome_of(text).is_passed


def test_late_records_are_counted() -> None:
    text = (
        "test: a\nstart: 0\nwindow: 10\ngiven\n 3 hr(b7, 130) arrives 25\n"
        "expect\n 1 record too late\n never level(_)=_\n"
    )
    assert outcome_of(text).is_passed


def test_a_policy_holds_back_what_may_change() -> None:
    text = (
        "test: a\nstart: 0\nwindow: 10\nstep: 5\npolicy: final\ngiven\n 1 hr(b7, 130)\n"
        " 3 hr(b7, 90)\n 30 mute(b9)\nexpect\n at 5 reports nothing of level(_)=_\n"
        " at 10 reports level(b7)=critical from 2 to 4\n"
    )
    outcome = outcome_of(text)
    assert outcome.is_passed, (outcome.error, outcome.misses)


def test_a_session_that_differs_fails_the_case() -> None:
    outcome = outcome_of("test: a\ngiven\n 1 hr(b7, 130)\nexpect\n alarm(b7) at 1\n")
    assert outcome.prepared is not None
    assert outcome.evidence is not None
    outcome.evidence.answer = CaseAnswer()
    misses = Judge(outcome.prepared, outcome.evidence).misses()
    assert misses[-1].expected == "a run and a session give the same answer"
    assert "only the session: alarm(b7) at 1" in misses[-1].was


def test_files_are_collected_below_folders(tmp_path: Path) -> None:
    for name in ("b/x.certest", "a.certest", ".hidden/y.certest", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [str(path.relative_to(tmp_path)) for path in case_paths([tmp_path])]
    assert names == ["a.certest", "b/x.certest"]
    with pytest.raises(DataError, match="there is no file or folder"):
        case_paths([tmp_path / "c"])


@pytest.mark.parametrize("words", ["and", "a and", "(a", "a b", "not"])
def test_an_expression_that_cannot_be_read_is_refused(words: str) -> None:
    with pytest.raises(DataError, match="cannot be read; write words"):
        chooser(words)


TWO = """rules: ward.cer
test: first
  given
    1 hr(b7, 130)
  expect
    alarm(b7) at 2
test: second
  given
    1 hr(b7, 110)
  expect
    never alarm(_)
"""


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    (tmp_path / "ward.cer").write_text(RULES, "utf-8")
    (tmp_path / "ward.certest").write_text(TWO, "utf-8")
    return tmp_path


def test_the_command_says_by_its_exit_code_what_came(ward: Path) -> None:
    assert run("test", ward).code == 1
    assert run("test", ward, "-k", "second").code == 0
    assert run("test", ward, "-k", "third").code == 2
    assert run("test", ward / "none").code == 2
    (ward / "bad.certest").write_text("nothing", "utf-8")
    outcome = run("test", ward, "-v")
    assert outcome.code == 2
    assert "bad.certest:1: this line belongs to no block" in outcome.out
    assert "second PASSED" in outcome.out


def test_the_command_stops_at_the_first_failure(ward: Path) -> None:
    assert "1 failed in" in run("test", ward, "-x").out


def test_outcomes_are_written_as_junit_xml(ward: Path) -> None:
    outcomes = list(CaseSession().outcomes([ward / "ward.certest"]))
    suite = Xml.fromstring(junit_xml(outcomes, 0.5))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert suite[0][0].get("message") == "expected alarm(b7) at 2"
    assert "there was alarm(b7) at 1" in (suite[0][0].text or "")
    assert run("test", ward, "--junit", ward / "report.xml").code == 1
    assert Xml.parse(ward / "report.xml").getroot()[0].get("tests") == "2"


def test_marks_are_coloured_on_request(ward: Path) -> None:
    report = CaseReport(is_coloured=True)
    marks = [report.mark(outcome) for outcome in CaseSession().outcomes([ward / "ward.certest"])]
    assert marks[0].endswith("\033[31mF\033[0m")
    assert marks[1] == "\033[32m.\033[0m"
