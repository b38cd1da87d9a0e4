"""Case files: the text in which tests of rules are written, as a tree of blocks and lines.

A file has settings (`rules: ward.cer`), blocks that all its tests share, and tests. What a line
inside a block says is read later, by the module that needs it; every line keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cernis.errors import DataError

ENDING: Final = ".certest"
"""The ending of case files."""

SETTINGS: Final = (
    "rules", "facts", "records", "answer", "config", "dialect", "window", "step", "start", "end",
    "tick", "ties", "policy", "time unit", "timezone",
)  # fmt: skip
"""What may stand before a colon, in a file or in a test."""

_SETTING: Final = re.compile(r"([a-z]+(?: [a-z]+)?)\s*:(?![:-])\s*(.*)")
_GIVEN: Final = re.compile(r"given(?:\s+(\S+))?")
_EXPECT: Final = re.compile(r"expect(\s+exactly)?")
_HOLE: Final = re.compile(r"<([A-Za-z_]\w*)>")


class CaseFault(DataError):
    """One thing that is wrong with a case file, with the line and what to do."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(line, message)

    def __str__(self) -> str:
        return f"{self.line}: {self.message}"


class CaseFileError(DataError):
    """A case file that cannot be used: all that is wrong with it."""

    def __init__(self, path: str, faults: tuple[CaseFault, ...]) -> None:
        self.path = path
        self.faults = faults
        super().__init__(path, faults)

    def __str__(self) -> str:
        return "\n".join(f"{self.path}:{fault}" for fault in self.faults)


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A line of a case file, without its comment and the spaces around it."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class CaseBlock:
    """A heading and the lines under it: `given`, `facts`, `expect` or `cases`.

    `subject` is the relation of a table of records; `is_exact` says that what an `expect` names is
    expected to be all there is of it.
    """

    kind: str
    line: int
    subject: str = ""
    is_exact: bool = False
    lines: tuple[CaseLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One test, its parameters filled in: what it is given, and what is expected."""

    name: str
    line: int
    settings: Mapping[str, CaseLine]
    blocks: tuple[CaseBlock, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)

    def of_kind(self, kind: str) -> Iterator[CaseBlock]:
        """The blocks of one kind."""
        return (block for block in self.blocks if block.kind == kind)

    def setting(self, name: str) -> str | None:
        """A setting, if there is one."""
        line = self.settings.get(name)
        return None if line is None else line.text


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases."""

    path: Path
    cases: tuple[Case, ...]

    def beside(self, name: str) -> Path:
        """A file that is named in it: beside it, unless the name is a whole path."""
        return self.path.parent / name


def read_case_file(path: Path) -> CaseFile:
    """Read a case file; all that is wrong with its layout is one CaseFileError."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is no text in UTF-8") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    return case_file(text, path)


def case_file(text: str, path: Path) -> CaseFile:
    """The cases of a text."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        content = without_comment(line).strip()
        if content:
            reader.take(CaseLine(number, content))
    shared, *drafts = reader.drafts
    cases = [
        case for draft in drafts for case in _expanded(_with_shared(draft, shared), reader.faults)
    ]
    if not cases and not reader.faults:
        reader.faults.append(CaseFault(1, "there is no test; begin one with `test: its name`"))
    reader.faults += _same_names(cases)
    if reader.faults:
        faults = sorted(reader.faults, key=lambda fault: fault.line)
        raise CaseFileError(str(path), tuple(faults))
    return CaseFile(path, tuple(cases))


def without_comment(line: str) -> str:
    """A line up to the `%` that begins a comment; one in quotes begins none.

    >>> without_comment("f('50%')=1 at 3  % half")
    "f('50%')=1 at 3  "
    """
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "%":
            return line[:place]
    return line


@dataclass(slots=True)
class _Draft:
    """A test as it is read, or what stands before the first one."""

    name: str
    line: int
    settings: dict[str, CaseLine] = field(default_factory=dict)
    blocks: list[CaseBlock] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    """Puts lines where they belong."""

    drafts: list[_Draft] = field(default_factory=lambda: [_Draft("", 0)])
    faults: list[CaseFault] = field(default_factory=list)

    def take(self, line: CaseLine) -> None:
        """Take the next line that is not empty."""
        setting = _SETTING.fullmatch(line.text)
        if setting and setting[1] == "test":
            self._begin(CaseLine(line.number, setting[2]))
        elif block := _heading(line):
            self.drafts[-1].blocks.append(block)
        elif setting and setting[1] in SETTINGS:
            self._set(setting[1], CaseLine(line.number, setting[2].strip()))
        elif self.drafts[-1].blocks:
            block = self.drafts[-1].blocks[-1]
            self.drafts[-1].blocks[-1] = replace(block, lines=(*block.lines, line))
        elif setting:
            self._fault(
                line, f"there is no setting {setting[1]!r}; there are {', '.join(SETTINGS)}"
            )
        else:
            self._fault(
                line, "this line belongs to no block; begin one with given, facts, expect or cases"
            )

    def _begin(self, title: CaseLine) -> None:
        if not title.text:
            self._fault(title, "a test needs a name: `test: what it is about`")
        self.drafts.append(_Draft(title.text, title.number))

    def _set(self, name: str, line: CaseLine) -> None:
        known = self.drafts[-1].settings
        if name in known:
            self._fault(line, f"{name} is set already, in line {known[name].number}")
        if not line.text:
            self._fault(line, f"{name} needs a value")
        known[name] = line

    def _fault(self, line: CaseLine, message: str) -> None:
        self.faults.append(CaseFault(line.number, message))


def _heading(line: CaseLine) -> CaseBlock | None:
    if line.text in ("facts", "cases"):
        return CaseBlock(line.text, line.number)
    if heading := _GIVEN.fullmatch(line.text):
        return CaseBlock("given", line.number, heading[1] or "")
    if heading := _EXPECT.fullmatch(line.text):
        return CaseBlock("expect", line.number, is_exact=heading[1] is not None)
    return None


def _with_shared(draft: _Draft, shared: _Draft) -> _Draft:
    """A test with the settings and blocks that all tests of the file share, its own ones last."""
    return _Draft(
        draft.name, draft.line, {**shared.settings, **draft.settings},
        [*shared.blocks, *draft.blocks],
    )  # fmt: skip


# -- parametrised cases ------------------------------------------------------------------------


def _expanded(draft: _Draft, faults: list[CaseFault]) -> Iterator[Case]:
    """A test once for each row of its table of cases, or once."""
    tables = [block for block in draft.blocks if block.kind == "cases"]
    blocks = tuple(block for block in draft.blocks if block.kind != "cases")
    case = Case(draft.name, draft.line, draft.settings, blocks)
    try:
        rows = [row for table in tables for row in table_rows(table)]
        if not tables:
            rows = [({}, draft.line)]
        for values, line in rows:
            yield _filled(case, values, line)
    except CaseFault as fault:
        faults.append(fault)


def table_rows(block: CaseBlock) -> list[tuple[dict[str, str], int]]:
    """The rows of a table with `|` between its fields: by title, and the line of each."""
    if len(block.lines) < 2:
        raise CaseFault(block.line, "a table has a line of titles and at least one row")
    titles = fields_of(block.lines[0].text)
    if len({*titles}) < len(titles):
        raise CaseFault(block.lines[0].number, "two columns have the same title")
    rows = []
    for line in block.lines[1:]:
        cells = fields_of(line.text)
        if len(cells) != len(titles):
            raise CaseFault(
                line.number,
                f"there are {len(cells)} fields under {len(titles)} titles ({', '.join(titles)})",
            )
        rows.append((dict(zip(titles, cells, strict=True)), line.number))
    return rows


def fields_of(text: str) -> list[str]:
    """The fields of a row; a `|` at its beginning and its end is no field's.

    >>> fields_of("10:01 | b7"), fields_of("| 10:01 | b7 |")
    (['10:01', 'b7'], ['10:01', 'b7'])
    """
    return [part.strip() for part in text.strip().removeprefix("|").removesuffix("|").split("|")]


def _filled(case: Case, values: Mapping[str, str], line: int) -> Case:
    """A case with its parameters in place of `<name>`."""
    if not values:
        _refuse_holes(case)
        return case
    label = ", ".join(f"{name}={value}" for name, value in values.items())
    name = _fill(case.name, values)
    settings = {
        key: CaseLine(each.number, _fill(each.text, values)) for key, each in case.settings.items()
    }
    blocks = tuple(
        replace(
            block,
            lines=tuple(CaseLine(each.number, _fill(each.text, values)) for each in block.lines),
        )
        for block in case.blocks
    )
    filled = Case(f"{name} [{label}]", line, settings, blocks, dict(values))
    _refuse_holes(filled)
    return filled


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), text)


def _refuse_holes(case: Case) -> None:
    for block in case.blocks:
        for line in block.lines:
            hole = _HOLE.search(line.text)
            if hole and block.kind != "facts":
                known = ", ".join(case.parameters) or "no `cases` block"
                raise CaseFault(
                    line.number,
                    f"{hole[0]} is no column of the cases (there is {known}); name one, or write "
                    "the value",
                )


def _same_names(cases: list[Case]) -> Iterator[CaseFault]:
    seen: dict[str, int] = {}
    for case in cases:
        if case.name in seen:
            yield CaseFault(
                case.line, f"the test in line {seen[case.name]} has the same name: {case.name!r}"
            )
        seen.setdefault(case.name, case.line)
