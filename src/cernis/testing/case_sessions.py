"""Collects cases from files and folders, chooses among them, and gives the outcome of each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cernis.errors import CernisError, DataError
from cernis.operators.context.measuring import Profile
from cernis.testing.case_files import (
    ENDING,
    Case,
    CaseFault,
    CaseFile,
    CaseFileError,
    read_case_file,
)
from cernis.testing.case_runs import CaseEvidence, PreparedCase, ProgramShelf, prepare, run_case
from cernis.testing.judging import Judge, Miss
from cernis.testing.rule_coverage import RuleCoverage

_EXPLAINED: Final = 8
"""So many lines of an explanation are shown."""

_FOLDERS_LEFT_OUT: Final = frozenset({"node_modules", "__pycache__", "build", "dist"})


@dataclass(slots=True)
class CaseOutcome:
    """What became of a case: it passes, fails for what it missed, or cannot be run."""

    path: Path
    name: str
    line: int
    misses: list[Miss] = field(default_factory=list)
    explanations: list[list[str]] = field(default_factory=list)
    error: str = ""
    seconds: float = 0.0
    prepared: PreparedCase | None = None
    evidence: CaseEvidence | None = None

    @property
    def is_passed(self) -> bool:
        """Is all as expected?"""
        return not self.misses and not self.error

    @property
    def id(self) -> str:
        """The file and the name of the test."""
        return f"{self.path}::{self.name}"


def case_paths(places: Iterable[Path]) -> list[Path]:
    """The case files at some places: files as they are, and all below folders, in order."""
    paths: list[Path] = []
    for place in places:
        if place.is_dir():
            paths += sorted(path for path in place.rglob(f"*{ENDING}") if _is_ours(path, place))
        elif place.is_file():
            paths.append(place)
        else:
            raise DataError(f"there is no file or folder {place}")
    return list(dict.fromkeys(paths))


def _is_ours(path: Path, place: Path) -> bool:
    parts = path.relative_to(place).parts[:-1]
    return not any(part.startswith(".") or part in _FOLDERS_LEFT_OUT for part in parts)


@dataclass(slots=True)
class CaseSession:
    """Runs cases one after the other; they share programs, and what coverage counts."""

    shelf: ProgramShelf = field(default_factory=ProgramShelf)
    coverage: RuleCoverage | None = None
    """Where it is counted which rules fire, if that was asked for."""

    def outcomes(
        self, paths: Iterable[Path], chosen: Callable[[str], bool] = lambda name: True
    ) -> Iterator[CaseOutcome]:
        """The outcomes of the chosen cases of some files; that of a bad file is an error."""
        for path in paths:
            try:
                file = read_case_file(path)
            except CaseFileError as error:
                yield CaseOutcome(path, "the file", error.faults[0].line, error=str(error))
                continue
            for case in file.cases:
                if chosen(f"{path}::{case.name}"):
                    yield self.outcome(file, case)

    def outcome(self, file: CaseFile, case: Case) -> CaseOutcome:
        """Run and judge one case."""
        outcome = CaseOutcome(file.path, case.name, case.line)
        began = time.perf_counter()
        try:
            self._run(file, case, outcome)
        except CaseFault as fault:
            outcome.error = f"{file.path}:{fault}"
        except CernisError as error:
            outcome.error = f"{file.path}:{case.line}: {error}"
        outcome.seconds = time.perf_counter() - began
        return outcome

    def _run(self, file: CaseFile, case: Case, outcome: CaseOutcome) -> None:
        prepared = outcome.prepared = prepare(file, case, self.shelf)
        profile = None if self.coverage is None else Profile()
        evidence = outcome.evidence = run_case(prepared, profile)
        if self.coverage is not None and profile is not None:
            self.coverage.add(prepared.program, profile, evidence.answer)
        _refuse_unused(prepared, evidence)
        outcome.misses = Judge(prepared, evidence).misses()
        if not any(True for _ in prepared.claims()) and "answer" not in case.settings:
            raise CaseFault(
                case.line,
                "the test expects nothing; add an `expect` block, or let --update write it",
            )
        outcome.explanations = [_explained(prepared, evidence, miss) for miss in outcome.misses]


def _refuse_unused(prepared: PreparedCase, evidence: CaseEvidence) -> None:
    """Records of a case that have no effect are a mistake, unless the case expects just that."""
    expected = {each.verb for each in prepared.claims()}
    if evidence.unused["set aside"] and "set aside" not in expected and not prepared.files:
        raise CaseFault(
            prepared.case.line,
            "a record cannot be used: " + "; ".join(evidence.reasons[:3])
            + "; correct it, or expect `1 record set aside`",
        )  # fmt: skip
    if evidence.outside and not prepared.files:
        outside = [
            record for record in prepared.records
            if record.start <= evidence.start or record.start > evidence.end
        ]  # fmt: skip
        show = prepared.clock.show
        raise CaseFault(
            outside[0].line if outside else prepared.case.line,
            f"the record is no part of the run, which sees what is after {show(evidence.start)}, "
            f"up to {show(evidence.end)}; change its time, or start and end",
        )


def _explained(prepared: PreparedCase, evidence: CaseEvidence, miss: Miss) -> list[str]:
    """The first lines of the explanation of a miss; none where nothing can be explained."""
    if miss.question is None:
        return []
    question, point = miss.question
    settings = prepared.settings
    try:
        explanation = prepared.program.explain(
            evidence.records, question, point, window=settings.window, step=settings.step,
            start=evidence.start, end=miss.as_of or evidence.end, tick=settings.tick,
            ties=settings.ties,
        )  # fmt: skip
    except CernisError:
        return []
    lines = explanation.text().splitlines()
    more = len(lines) - _EXPLAINED
    return [*lines[:_EXPLAINED], *([f"… {more} more lines"] if more > 0 else [])]


# -- choosing cases by words -------------------------------------------------------------------

_WORD: Final = re.compile(r"\(|\)|\"[^\"]*\"|'[^']*'|[^\s()]+")


def chooser(expression: str) -> Callable[[str], bool]:
    """Which names an expression of words, `and`, `or`, `not` and brackets chooses.

    >>> chosen = chooser("rich and not (poor or wallet)")
    >>> chosen("the rich are happy"), chosen("the rich lose a wallet")
    (True, False)
    """
    words = _WORD.findall(expression)
    reader = _WordReader(words, expression)
    chosen = reader.either()
    if reader.place < len(words):
        raise reader.unclear()
    return lambda name: chosen(name.lower())


@dataclass(slots=True)
class _WordReader:
    words: list[str]
    text: str
    place: int = 0

    def either(self) -> Callable[[str], bool]:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return lambda name: any(part(name) for part in parts)

    def _both(self) -> Callable[[str], bool]:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return lambda name: all(part(name) for part in parts)

    def _one(self) -> Callable[[str], bool]:
        if self._take("not"):
            part = self._one()
            return lambda name: not part(name)
        if self._take("("):
            inner = self.either()
            if not self._take(")"):
                raise self.unclear()
            return inner
        if self.place >= len(self.words) or self.words[self.place] in ("and", "or", ")"):
            raise self.unclear()
        word = self.words[self.place].strip("\"'").lower()
        self.place += 1
        return lambda name: word in name

    def _take(self, word: str) -> bool:
        if self.place < len(self.words) and self.words[self.place] == word:
            self.place += 1
            return True
        return False

    def unclear(self) -> DataError:
        return DataError(
            f"-k {self.text!r} cannot be read; write words with and, or, not and brackets, and "
            "words that belong together in quotes"
        )
