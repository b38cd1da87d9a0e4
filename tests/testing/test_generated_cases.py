"""Cases cut out of recorded data have the records that matter, and fail without any of them."""

import random
from pathlib import Path

import pytest

import cernis
from cernis.session.settings import Settings
from cernis.testing.case_files import case_file
from cernis.testing.case_sessions import CaseSession
from cernis.testing.generated_cases import CaseCut, CaseHeading, fewest, generated_case
from tests.cli.command import run
from tests.testing.cases import RULES


def noisy_records(seed: int) -> str:
    """A critical level of b7 that is muted and ends, among many records without effect."""
    rng = random.Random(seed)
    lines = ["hr|100|100|b7|130", "mute|150|150|b7", "unmute|160|160|b7", "hr|400|420|b7|90"]
    for _ in range(300):
        time = rng.randrange(1, 900)
        bed = rng.choice(["b1", "b2", "b7"])
        rate = rng.randrange(101, 120) if bed == "b7" else rng.randrange(60, 160)
        lines.append(f"hr|{time}|{time}|{bed}|{rate}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ward.cer").write_text(RULES, "utf-8")
    Path("records.txt").write_text(noisy_records(7), "utf-8")
    return tmp_path


ARGS = ("generate-test", "ward.cer", "--input", "records.txt", "--entity", "b7")


def test_only_the_records_that_matter_are_left(folder: Path) -> None:
    outcome = run(*ARGS, "--from", "50", "--to", "800", "--name", "a critical bed")
    assert outcome.code == 0, outcome.err
    assert "4 of 304 records matter" in outcome.err
    assert "100  hr(b7, 130)\n" in outcome.out
    assert "420  hr(b7, 90)  arrives 400" in outcome.out
    assert "level(b7)=critical from 101 to 421" in outcome.out
    assert "visit(b7) from 150 to 160" in outcome.out


def test_the_case_fails_without_any_of_its_records(folder: Path) -> None:
    text = run(*ARGS, "--to", "800").out
    lines = text.splitlines()
    first, last = lines.index("  given") + 1, lines.index("  expect")
    for place in range(first, last):
        shorter = "\n".join(lines[:place] + lines[place + 1 :])
        file = case_file(shorter, folder / "shorter.certest")
        assert not CaseSession().outcome(file, file.cases[0]).is_passed, lines[place]


def test_what_ends_later_is_open_in_the_case(folder: Path) -> None:
    out = run(*ARGS, "--from", "200", "--to", "300").out
    assert "level(b7)=critical from 101\n" in out
    assert "visit" not in out
    assert "end: 300" in out


def test_cases_are_added_to_a_file_and_pass(folder: Path) -> None:
    assert "a test was written" in run(*ARGS, "--to", "300", "-o", "ward.certest").out
    more = ("--window", "200", "--step", "100", "--start", "0", "-o", "ward.certest")
    assert "a test was added" in run(*ARGS, "--to", "500", *more).out
    outcome = run("test", "ward.certest", "-v")
    assert (outcome.code, outcome.out.count("PASSED")) == (0, 2)


def test_nothing_to_show_is_an_error(folder: Path) -> None:
    outcome = run(*ARGS[:-1], "b99")
    assert (outcome.code, "nothing of b99 holds or happens" in outcome.err) == (2, True)


def test_times_and_texts_come_back_as_they_were(folder: Path) -> None:
    rules = "initiatedAt(at(V)=P, T) :- happensAt(moor(V, P), T).\n"
    Path("port.cer").write_text(rules, "utf-8")
    program = cernis.load(Path("port.cer"))
    rows = [("moor", "2026-01-31T10:00", "2026-01-31T10:00", "007", "Piraeus 'old'")]
    cut = CaseCut(program, program.records(rows), ("007",), None, None, Settings())
    heading = CaseHeading("dated", Path("port.cer"), ())
    text = generated_case(cut, heading, Path("port.certest"))
    assert "2026-01-31T10:00:00  moor('007', 'Piraeus ''old''')" in text
    assert "after 2026-01-31T10:00:00" in text


@pytest.mark.parametrize("seed", range(10))
def test_the_fewest_are_enough_and_none_can_go(seed: int) -> None:
    rng = random.Random(seed)
    needed = {frozenset(rng.sample(range(60), rng.randrange(1, 5))) for _ in range(2)}
    enough = fewest(frozenset(range(60)), lambda part: any(each <= part for each in needed))
    assert enough in needed, seed
