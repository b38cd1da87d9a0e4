"""Files of cases as collectors of pytest, and cases as its items."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cernis.testing.case_files import Case, CaseFile, read_case_file
from cernis.testing.case_report import failure_text
from cernis.testing.case_sessions import CaseOutcome, CaseSession


class CaseFailed(Exception):
    """A case that does not pass; its outcome says why."""

    def __init__(self, outcome: CaseOutcome) -> None:
        self.outcome = outcome
        super().__init__(outcome)


class CaseCollector(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[CaseItem]:
        """One item for each case; a file that cannot be read is an error of the collection."""
        file = read_case_file(_shown(self.path, self.config.invocation_params.dir))
        for case in file.cases:
            yield CaseItem.from_parent(self, name=case.name, case_file=file, case=case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """What is wrong with the file, line by line."""
        return str(excinfo.value)


class CaseItem(pytest.Item):
    """A case."""

    def __init__(self, *, case_file: CaseFile, case: Case, **settings: Any) -> None:
        super().__init__(**settings)
        self.case_file = case_file
        self.case = case

    def runtest(self) -> None:
        """Run the case as a run and as a session, and judge it."""
        outcome = _session().outcome(self.case_file, self.case)
        if not outcome.is_passed:
            raise CaseFailed(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """What was expected, what was there instead, and why."""
        if isinstance(excinfo.value, CaseFailed):
            return failure_text(excinfo.value.outcome)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case stands; lines are counted from 0."""
        return self.path, self.case.line - 1, self.name


@cache
def _session() -> CaseSession:
    """The programs that all cases of a run of pytest share."""
    return CaseSession()


def _shown(path: Path, folder: Path) -> Path:
    """A path as users write it, from the folder in which pytest was started."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path
