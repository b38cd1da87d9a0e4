"""What can be read but is probably a slip: a warning with the corrected line."""

from pathlib import Path

import pytest

from cernis.check import check
from cernis.syntax import parse
from tests.syntax.test_slips import said

CASES = sorted((Path(__file__).parent / "slips").glob("*.cer"))


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_likely_slip_has_the_corrected_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(file, monkeypatch).strip() == file.with_suffix(".expected").read_text().strip()


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in check(parse(text)).diagnostics]


def test_a_name_that_facts_have_is_no_slip() -> None:
    rules = (
        "happensAt(a(Port), T) :- happensAt(b(Port), T).\n"
        "happensAt(c(X), T) :- happensAt(b(port), T), harbour(X, port).\n"
    )
    assert "C026" in codes(rules + "harbour(1, 2).\n")
    assert "C026" not in codes(rules + "harbour(1, port).\n")


def test_terms_may_be_compared_as_terms() -> None:
    assert "C051" not in codes("happensAt(a(X), T) :- happensAt(b(X, Y), T), X == Y, Y \\== red.")


def test_other_dialects_compare_as_they_do() -> None:
    rules = ":- dialect(rtec).\nhappensAt(a(X), T) :- happensAt(b(X), T), X == 2.\n"
    assert "C051" not in codes(rules)
