"""Diagnostics as people and machines read them."""

import json
import re

import pytest

from cernis.errors import Diagnostic, Note, Severity
from cernis.report.diagnostics import as_github, as_json, as_text, summary
from cernis.source import NOWHERE, Sources, Span

WIDEST_LINE = 130


def sources(*texts: str) -> Sources:
    """Texts named a.cer, b.cer and so on, laid end to end."""
    laid = Sources()
    for name, text in zip("abcdef", texts, strict=False):
        laid.add(f"{name}.cer", text)
    return laid


def error(span: Span, message: str = "wrong", *notes: Note, help: str = "") -> Diagnostic:
    return Diagnostic("C001", Severity.ERROR, message, span, notes, help)


def marked(text: str, span: Span, *more: str) -> str:
    """What the marks of a diagnostic stand under, and where it says that is."""
    lines = as_text([error(span)], sources(text, *more)).splitlines()
    shown, marks = lines[3].partition(" | ")[2], lines[4].partition(" | ")[2]
    start, end = marks.index("^"), marks.rindex("^") + 1
    assert set(marks[:start]) <= {" "}
    assert set(marks[start:end]) == {"^"}
    return shown[start:end]


# -- with carets -----------------------------------------------------------------------------


def test_a_block_has_title_place_line_marks_and_help() -> None:
    found = error((7, 8), "no value", help="bind it")
    assert as_text([found], sources("a(1).\nb(X).\n")) == (
        "error[C001]: no value\n  --> a.cer:2:2\n   |\n 2 | b(X).\n   |  ^\n   = help: bind it"
    )


def test_notes_have_a_place_of_their_own() -> None:
    found = error((6, 7), "twice", Note("first here", (0, 1)), Note("that is all"))
    assert as_text([found], sources("a(1).\na(2).\n")).splitlines()[5:] == [
        "   = note: first here",
        "  --> a.cer:1:1",
        "   |",
        " 1 | a(1).",
        "   | -",
        "   = note: that is all",
    ]


def test_blocks_stand_apart() -> None:
    shown = as_text([error(NOWHERE, "one"), error(NOWHERE, "two")], sources("a."))
    assert shown == "error[C001]: one\n\nerror[C001]: two"


def test_nothing_to_say_is_nothing() -> None:
    assert as_text([], sources("a.")) == ""


def test_what_has_no_place_is_shown_without() -> None:
    assert as_text([error(NOWHERE)], sources("a.")) == "error[C001]: wrong"
    assert as_text([error((0, 1))], Sources()) == "error[C001]: wrong"


def test_marks_stand_under_the_characters_meant() -> None:
    assert marked("a(X) :- bcd(X).\n", (8, 11)) == "bcd"


def test_a_tab_takes_one_column() -> None:
    assert marked("\ta :-\tbcd.\n", (6, 9)) == "bcd"


def test_control_characters_do_not_reach_the_terminal() -> None:
    shown = as_text([error((5, 6))], sources("a\x1b[2Jb.\r\n"))
    assert "\x1b" not in shown
    assert "\r" not in shown


@pytest.mark.parametrize("before", ["\u4e2d\u6587", "e\u0301e\u0301", "\u00e9"])
def test_marks_count_columns_and_not_characters(before: str) -> None:
    columns = {"\u4e2d\u6587": 4, "e\u0301e\u0301": 2, "\u00e9": 1}[before]
    start = len(before) + 3
    lines = as_text([error((start, start + 2))], sources(f"'{before}' cd.")).splitlines()
    assert lines[4] == "   | " + " " * (columns + 3) + "^^"


@pytest.mark.parametrize("at", [0, 15, 300, 590, 598, 600])
def test_a_long_line_is_clipped_around_the_place(at: int) -> None:
    line = "".join(f"<{number:03}>" for number in range(120))
    shown = as_text([error((at, at + 3))], sources(line + "\nb.")).splitlines()
    assert all(len(each) <= WIDEST_LINE for each in shown)
    assert marked(line, (at, at + 3)).strip() == line[at : at + 3]


def test_marks_end_where_a_clipped_line_does() -> None:
    shown = as_text([error((0, 500))], sources("x" * 600)).splitlines()
    assert shown[3].endswith("x...")
    assert shown[4].rstrip().endswith("^")
    assert len(shown[4]) == len(shown[3]) - len("...")


def test_a_line_is_cut_on_the_side_where_there_is_more() -> None:
    text = "x" * 600
    assert as_text([error((0, 1))], sources(text)).splitlines()[3].startswith(" 1 | xxx")
    assert as_text([error((599, 600))], sources(text)).splitlines()[3].startswith(" 1 | ...xxx")
    assert as_text([error((599, 600))], sources(text)).splitlines()[3].endswith("xxx")


def test_of_several_lines_the_first_is_marked_to_its_end() -> None:
    text = "a :-\n    b,\n    c.\n"
    assert marked(text, (2, 18)) == ":-"
    assert marked(text, (9, 18)) == "b,"


@pytest.mark.parametrize("text", ["a(1", "a(1\n", "a(1\n\n"])
def test_the_end_of_a_text_has_a_place(text: str) -> None:
    lines = as_text([error((len(text), len(text)))], sources(text)).splitlines()
    assert lines[1] == f"  --> a.cer:{text.count(chr(10)) + 1}:{4 if text == 'a(1' else 1}"
    assert lines[4].endswith("^")
    assert lines[4].count("^") == 1


def test_the_end_of_an_empty_text_has_a_place() -> None:
    lines = as_text([error((0, 0))], sources("")).splitlines()
    assert lines[1:] == ["  --> a.cer:1:1", "   |", " 1 | ", "   | ^"]


def test_the_margin_grows_with_the_number_of_the_line() -> None:
    found = error((2 * 1233, 2 * 1233 + 1), "wrong", Note("so it is"), help="do")
    assert as_text([found], sources("a\n" * 2000)).splitlines()[1:] == [
        "     --> a.cer:1234:1",
        "      |",
        " 1234 | a",
        "      | ^",
        "      = note: so it is",
        "      = help: do",
    ]


def test_each_text_has_lines_of_its_own() -> None:
    both = sources("a.\na.", "b.\nb.")
    start = both.source_at(6)
    assert start is not None
    assert start.name == "b.cer"
    assert " --> b.cer:2:1\n" in as_text([error((start.base + 3, start.base + 4))], both)


def test_colour_only_adds_escapes() -> None:
    found = error((0, 1), "twice", Note("here", (3, 4)), help="do")
    plain = as_text([found], sources("a.\nb."))
    coloured = as_text([found], sources("a.\nb."), colour=True)
    assert "\x1b" not in plain
    assert coloured.startswith("\x1b[1;31merror[C001]\x1b[0m")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert coloured.count("\x1b[0m") == 4


# -- in short --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severities", "said"),
    [
        ([], "no problems"),
        ([Severity.ERROR], "1 error"),
        ([Severity.WARNING] * 2, "2 warnings"),
        ([Severity.NOTE, Severity.WARNING, Severity.ERROR], "1 error, 1 warning, 1 note"),
    ],
)
def test_the_summary_counts_the_worst_first(severities: list[Severity], said: str) -> None:
    assert summary(Diagnostic("C001", severity, "") for severity in severities) == said


# -- as JSON ---------------------------------------------------------------------------------


def test_json_has_all_there_is() -> None:
    found = error((6, 10), "tw\u00efce", Note("first", (0, 1)), help='say "one"')
    (entry,) = json.loads(as_json([found], sources("a(1).\na(2).\n")))
    assert entry == {
        "code": "C001", "severity": "error", "message": "tw\u00efce",
        "file": "a.cer", "line": 2, "column": 1, "end_line": 2, "end_column": 5,
        "notes": [{"message": "first", "file": "a.cer", "line": 1, "column": 1,
                   "end_line": 1, "end_column": 2}],
        "help": 'say "one"', "corrected": None,
    }  # fmt: skip


def test_json_of_nothing_is_an_empty_list() -> None:
    assert json.loads(as_json([], Sources())) == []


def test_json_of_what_has_no_place_has_none() -> None:
    (entry,) = json.loads(as_json([error(NOWHERE)], sources("a.")))
    assert entry["file"] is entry["line"] is entry["end_column"] is None


def test_the_end_of_several_lines_is_on_the_last() -> None:
    (entry,) = json.loads(as_json([error((0, 8))], sources("a :-\n b.\nc.")))
    assert (entry["line"], entry["end_line"], entry["end_column"]) == (1, 2, 4)


# -- for code review -------------------------------------------------------------------------


def test_github_names_the_lines() -> None:
    found = Diagnostic("C043", Severity.WARNING, "unused", (3, 4))
    assert as_github([found], sources("a.\nb.")) == (
        "::warning file=a.cer,line=2,endLine=2,col=1,title=C043::unused"
    )


def test_github_has_a_command_for_each_severity() -> None:
    found = [Diagnostic("C001", severity, "x") for severity in Severity]
    commands = [line.split()[0] for line in as_github(found, Sources()).splitlines()]
    assert commands == ["::error", "::warning", "::notice"]


def test_github_puts_the_help_behind_the_message_on_the_same_line() -> None:
    assert as_github([error(NOWHERE, "wrong", help="right")], Sources()) == (
        "::error title=C001::wrong%0Ahelp: right"
    )


def test_github_escapes_what_would_end_a_message_or_property() -> None:
    laid = Sources()
    laid.add("50%,a:b\n.cer", "a.")
    line = as_github([error((0, 1), "100%\r\n::error::no")], laid)
    assert line == (
        "::error file=50%25%2Ca%3Ab%0A.cer,line=1,endLine=1,col=1,title=C001::"
        "100%25%0D%0A::error::no"
    )
    assert "\n" not in line
