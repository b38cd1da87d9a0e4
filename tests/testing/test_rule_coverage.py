"""Coverage counts what the cases have shown of each rule, and of each condition."""

from pathlib import Path

from cernis.testing.case_files import case_file
from cernis.testing.case_sessions import CaseSession
from cernis.testing.rule_coverage import RuleCoverage

RULES = """initiatedAt(level(B)=high, T) :-
    happensAt(hr(B, R), T),
    R > 120,
    not holdsAt(muted(B)=true, T).
initiatedAt(muted(B)=true, T) :- happensAt(mute(B), T).
loud(B)=true iff level(B)=high and muted(B)=true.
"""


def lines_of(folder: Path, *given: str) -> list[str]:
    (folder / "rules.cer").write_text(RULES, "utf-8")
    session = CaseSession(coverage=RuleCoverage())
    for number, records in enumerate(given):
        text = f"test: {number}\ngiven\n{records}\nexpect\n no records ignored\n"
        file = case_file(text, folder / "a.certest")
        assert session.outcome(file, file.cases[0]).is_passed
    assert session.coverage is not None
    return [line.replace(f"{folder}/", "").strip() for line in session.coverage.lines()]


def test_what_no_case_has_shown_is_listed(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "1 hr(b7, 130)") == [
        "coverage: 1 of 3 rules fired, 0 of 2 conditions decided",
        "rules.cer:5:1  never fired    initiatedAt(muted(B)=true, T) :- happensAt(mute(B), T).",
        "rules.cer:6:1  never fired    loud(B)=true iff level(B)=high and muted(B)=true.",
        "rules.cer:3:5  never false    R > 120",
        "rules.cer:4:5  never false    not holdsAt(muted(B)=true, T)",
    ]


def test_cases_add_up(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "1 hr(b7, 130)", "1 hr(b7, 90)", "1 mute(b7)\n 2 hr(b7, 130)")
    assert lines[0] == "coverage: 2 of 3 rules fired, 2 of 2 conditions decided"
    assert len(lines) == 2


def test_a_condition_that_nothing_reaches_is_not_decided(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "1 hr(b7, 90)")
    assert "rules.cer:3:5  never true     R > 120" in lines
    assert any("never reached  not holdsAt" in line for line in lines)
