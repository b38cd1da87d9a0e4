"""Files of tests are read as they stand, and what is wrong with them is said with its line."""

from pathlib import Path

import pytest

from cernis.testing.case_files import CaseFile, CaseFileError, case_file

HERE = Path("ward.certest")


def read(text: str) -> CaseFile:
    return case_file(text, HERE)


def faults(text: str) -> list[str]:
    with pytest.raises(CaseFileError) as caught:
        read(text)
    return str(caught.value).splitlines()


def test_what_stands_before_the_first_test_is_for_all() -> None:
    file = read("window: 5\nfacts\n f(1).\ntest: a\nwindow: 7\ngiven\n 1 e(x)\ntest: b\n")
    first, second = file.cases
    assert (first.setting("window"), second.setting("window")) == ("7", "5")
    assert [block.kind for block in first.blocks] == ["facts", "given"]
    assert [line.number for line in first.blocks[1].lines] == [7]
    assert [block.kind for block in second.blocks] == ["facts"]


def test_a_table_of_cases_fills_in_every_line() -> None:
    file = read("test: <x> is\nend: <x>\ngiven\n <x> e(<y>)\ncases\n x | y\n 1 | a\n 2 | b\n")
    assert [case.name for case in file.cases] == ["1 is [x=1, y=a]", "2 is [x=2, y=b]"]
    assert [case.blocks[0].lines[0].text for case in file.cases] == ["1 e(a)", "2 e(b)"]
    assert [case.setting("end") for case in file.cases] == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "there is no test"),
        ("hello\ntest: a\n", 1, "belongs to no block"),
        ("test:\n", 1, "needs a name"),
        ("wndow: 5\ntest: a\n", 1, "there is no setting 'wndow'; there are rules"),
        ("window: 5\nwindow: 6\ntest: a\n", 2, "window is set already, in line 1"),
        ("window:\ntest: a\n", 1, "window needs a value"),
        ("test: a\ntest: a\n", 2, "the test in line 1 has the same name"),
        ("test: a\ncases\n x\n", 2, "a line of titles and at least one row"),
        ("test: a\ncases\n x | y\n 1\n", 4, "1 fields under 2 titles"),
        ("test: a\ncases\n x | x\n 1 | 2\n", 3, "the same title"),
        ("test: a\ngiven\n 1 e(<z>)\ncases\n x\n 1\n", 3, "<z> is no column of the cases"),
        ("test: a\ngiven\n 1 e(<z>)\n", 3, "no `cases` block"),
    ],
)
def test_a_fault_has_its_line_and_says_what_to_do(text: str, line: int, words: str) -> None:
    (fault,) = faults(text)
    assert fault.startswith(f"ward.certest:{line}: ")
    assert words in fault


def test_all_faults_of_a_file_are_listed() -> None:
    assert len(faults("hello\ntest: a\ncases\n x\ntest: a\n")) == 2
