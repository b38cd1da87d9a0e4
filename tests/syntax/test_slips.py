"""What newcomers' hands write: each slip is named, with the corrected line, and brings no others.

A case is a file of rules in the folder `slips`, and beside it all that `cernis check` says of it.
"""

from pathlib import Path

import pytest

from cernis.check import check
from cernis.errors import Diagnostic
from cernis.program import load
from cernis.report.diagnostics import as_text
from cernis.syntax import parse
from cernis.syntax.load import load_files
from cernis.syntax.tree import Clause, Compound, Duration

CASES = sorted((Path(__file__).parent / "slips").glob("*.cer"))


def said(file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that the check says of a file in its folder."""
    monkeypatch.chdir(file.parent)
    checked = check(load_files([Path(file.name)]))
    return as_text(checked.diagnostics, checked.sources)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_slip_is_named_with_the_corrected_line(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(file, monkeypatch).strip() == file.with_suffix(".expected").read_text().strip()


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_the_corrected_lines_are_right(file: Path) -> None:
    text = file.read_text("utf-8")
    while faults := [each for each in parse(text).diagnostics if each.is_error]:
        text = _corrected(text, faults[-1])
    assert not check(parse(text)).has_errors


def _corrected(text: str, fault: Diagnostic) -> str:
    assert fault.correction is not None
    start, end = fault.correction.span
    return text[:start] + fault.correction.text + text[end:]


def test_a_unit_may_stand_after_a_blank() -> None:
    (clause,) = parse("limit(10 minutes, 1.5 h).").items
    assert isinstance(clause, Clause)
    assert isinstance(clause.head, Compound)
    assert clause.head.args == (Duration(10, "minutes"), Duration(1.5, "h"))


def test_signs_with_a_meaning_keep_it() -> None:
    text = "a :- b, !, X = [c|D], (e | f), X = \"#\", Y = '<=', x(X, Y, D). % <= && ||\n"
    assert parse(text).diagnostics == ()


def test_an_error_in_python_has_the_corrected_line() -> None:
    from cernis.errors import ProgramError

    with pytest.raises(ProgramError, match=r"write: happensAt\(a\(X\), T\) :- .* X =< 3\."):
        load("happensAt(a(X), T) :- happensAt(b(X), T), X <= 3.\n")
