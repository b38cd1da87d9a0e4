"""Every kind of expectation is met by what it says, and missed by what is near to it."""

import pytest

from tests.testing.cases import outcome_of

GIVEN = """test: a
start: 0
step: 5
end: 30
given
  0 to 20 ward(b7)=icu
  1  hr(b7, 130)
  2  hr(b9, 125)
  8  hr(b7, 90)  arrives 12
  9  mute(b7)    retracted 19
  11 unmute(b7)
  22 hr(b7, 131)
expect
  """

MET = [
    "level(b7)=critical from 2 to 9 and from 23",
    "level(b7)=critical after 1 until 8, after 22",
    "level(_)=critical from 3",
    "level(B)=V from 3",
    "exactly level(b9)=critical from 3",
    "level(b7)=critical at 2, 8 and 30",
    "not level(b7)=critical at 1, 9",
    "level(b9)=critical throughout 3 to 30",
    "level(b9)=critical for at least 28",
    "level(b9)=critical for exactly 28",
    "level(b7)=critical for at most 15",
    "never level(_)=high",
    "never level(b7)=critical between 9 and 22",
    "never alarm(b7) between 2 and 21",
    "alarm(b7) at 1, 22",
    "exactly alarm(b9) at 2",
    "exactly 3 alarm(_)",
    "at least 3 alarm(_)",
    "at most 2 alarm(b7)",
    "exactly 1 alarm(_) between 2 and 21",
    "exactly 2 level(_)=critical between 3 and 8",
    "never visit(b7)",
    "watched(b7)=icu from 2",
    "at 5 reports level(b7)=critical after 1",
    "at 5 reports alarm(b7) at 1",
    "at 15 ends level(b7)=critical from 2 to 9",
    "at 15 corrects level(b7)=critical from 2 to 9",
    "at 10 reports muted(b7)",
    "at 15 ends muted(b7) from 10 to 12",
    "at 15 reports visit(b7) from 9 to 11",
    "at 20 withdraws muted(b7)",
    "at 20 withdraws visit(b7)",
    "at 10 reports nothing of level(_)=_",
    "at 30 reports nothing",
    "no records too late",
]

MISSED = {
    "level(b7)=critical from 2 to 9": "level(b7)=critical from 2 to 9 and from 23",
    "level(b7)=critical from 2 to 8 and from 23": "from 2 to 9",
    "level(_)=critical from 4": "level(b9)=critical from 3",
    "exactly level(_)=critical from 3": "level(b7)=critical from 2 to 9 and from 23",
    "level(b7)=critical at 9": "level(b7)=critical from 2 to 9",
    "not level(b7)=critical at 2": "level(b7)=critical from 2 to 9",
    "level(b7)=critical throughout 5 to 25": "from 2 to 9 and from 23",
    "level(b9)=critical for at least 29": "28 in all",
    "level(b9)=high at 3": "but level(b9)=critical from 3",
    "never alarm(b7) between 2 and 22": "alarm(b7) at 22",
    "exactly alarm(b7) at 1": "alarm(b7) at 1, 22",
    "alarm(b7) at 2": "alarm(b7) at 1, 22",
    "exactly 2 alarm(_)": "alarm(b9) at 2",
    "at least 4 alarm(_)": "alarm(b9) at 2",
    "at most 2 alarm(_)": "alarm(b9) at 2",
    "visit(b7) from 9 to 11": "none of visit(b7)",
    "at 15 reports level(b7)=critical from 2 to 9": "deleted  level(b7)=critical from 2",
    "at 10 reports level(b7)=critical after 1": "but at 5 inserted  level(b7)=critical from 2",
    "at 20 ends muted(b7)=true from 10 to 12": "deleted  muted(b7)=true from 10 to 12",
    "at 15 withdraws level(b7)=critical": "inserted  level(b7)=critical from 2 to 9",
    "at 20 reports nothing": "deleted  visit(b7) from 9 to 11",
    "at 7 reports level(b7)": "no query at that time; the nearest are at 5 and 10",
    "1 record too late": "0 records too late",
}


@pytest.mark.parametrize("line", MET)
def test_what_is_so_is_met(line: str) -> None:
    outcome = outcome_of(GIVEN + line)
    assert outcome.is_passed, (outcome.error, outcome.misses)


@pytest.mark.parametrize("line", MISSED)
def test_what_is_not_so_is_missed_and_shown(line: str) -> None:
    outcome = outcome_of(GIVEN + line)
    assert not outcome.error
    (miss,) = outcome.misses
    assert (miss.line, miss.expected) == (14, line)
    assert MISSED[line] in "\n".join(miss.was)


@pytest.mark.parametrize("line", MISSED)
def test_what_is_to_be_written_instead_is_met(line: str) -> None:
    (miss,) = outcome_of(GIVEN + line).misses
    if "no query" not in miss.was[0]:
        again = outcome_of(GIVEN + "\n  ".join(miss.instead))
        assert again.is_passed, (miss.instead, again.misses)


def test_an_exact_block_names_all_there_is() -> None:
    head = GIVEN.replace("expect", "expect exactly")
    assert outcome_of(head + "alarm(b7) at 1\n alarm(b9) at 2").is_passed
    (miss,) = outcome_of(head + "alarm(b7) at 1").misses
    assert (miss.expected, miss.was) == ("nothing else of alarm/1", ("alarm(b9) at 2",))


def test_an_explanation_begins_at_the_first_difference() -> None:
    outcome = outcome_of(GIVEN + "level(b7)=critical from 2 to 7 and from 23")
    assert outcome.misses[0].question == ("level(b7)=critical", 7)
    assert any("hr|12|8|b7|90" in line for line in outcome.explanations[0])
    outcome = outcome_of(GIVEN + "alarm(b7) at 9")
    assert outcome.explanations[0][0] == "alarm(b7) does not happen at 9"
