"""On request, files of tests say what came; comments and all else stay."""

from pathlib import Path

from tests.cli.command import run
from tests.testing.cases import RULES

BEFORE = """% Beds.
rules: ward.cer

test: written
  given
    1 hr(b7, 130)  % high
    9 hr(b7, 90)
  expect
    level(b7)=critical from 2 to 9  % it ends
    never alarm(_)
    exactly 1 alarm(_)

test: new
  given
    2 hr(b9, 130)

test: shared <rate>
  given
    1 hr(b7, <rate>)
  expect
    never alarm(_)
  cases
    rate
    90
    130
"""

AFTER = """% Beds.
rules: ward.cer

test: written
  given
    1 hr(b7, 130)  % high
    9 hr(b7, 90)
  expect
    level(b7)=critical from 2 to 10  % it ends
    alarm(b7) at 1
    exactly 1 alarm(_)

test: new
  given
    2 hr(b9, 130)
  expect exactly
    level(b9)=critical from 3
    alarm(b9) at 2

test: shared <rate>
"""


def test_what_came_is_written_in_place_of_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "ward.cer").write_text(RULES, "utf-8")
    path = tmp_path / "ward.certest"
    path.write_text(BEFORE, "utf-8")
    outcome = run("test", path, "--update")
    assert path.read_text("utf-8").startswith(AFTER)
    assert path.read_text("utf-8").endswith(BEFORE[BEFORE.index("test: shared") :])
    assert "updated: 3 in" in outcome.out
    assert "left as it is, as several tests share it or it has errors" in outcome.out
    again = run("test", path, "--update", "-k", "not shared")
    assert (again.code, "nothing updated" in again.out) == (0, True)
    assert run("test", path).code == 1


def test_a_whole_answer_is_written_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "ward.cer").write_text(RULES, "utf-8")
    (tmp_path / "records.txt").write_text("hr|1|1|b7|130\n", "utf-8")
    path = tmp_path / "ward.certest"
    path.write_text("test: all\n  records: records.txt\n  answer: answer.txt\n", "utf-8")
    assert "there is no file" in run("test", path).out
    run("test", path, "--update")
    assert "holdsFor(level(b7)=critical, [(2,inf)])." in (tmp_path / "answer.txt").read_text()
    assert run("test", path).code == 0
