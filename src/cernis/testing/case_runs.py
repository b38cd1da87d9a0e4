"""Runs a case: once as a run and once as a session, whose answers must agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cernis.errors import CernisError, DataError
from cernis.evaluate.windows import windows
from cernis.operators.context.measuring import Profile
from cernis.program import Program, load
from cernis.records.record_columns import Records
from cernis.records.record_sources import read_unresolved
from cernis.session.recognise import recognise
from cernis.session.replayed_session import records_by_query
from cernis.session.session import Session
from cernis.session.settings import Settings, length
from cernis.syntax.load import NamedText
from cernis.syntax.time_scale import TimeScale
from cernis.testing.case_answers import CaseAnswer, CaseChange, answer_of, changes_of, sum_of
from cernis.testing.case_files import Case, CaseBlock, CaseFault, CaseFile, CaseLine
from cernis.testing.case_records import CaseRecord, read_records
from cernis.testing.case_times import CaseClock, TimeStyle, style_of
from cernis.testing.expectations import Claim, Expectation, read_expectation


@dataclass(slots=True)
class ProgramShelf:
    """The programs that cases are about, each loaded and planned once."""

    programs: dict[tuple[Any, ...], Program] = field(default_factory=dict)

    def program_of(self, file: CaseFile, case: Case) -> Program:
        """The program of a case; trouble with it is a CaseFault at the line that names it."""
        rules, line = _rules_of(file, case)
        facts = [file.beside(name) for name in _names(case.setting("facts"))]
        blocks = [block for block in case.of_kind("facts") if block.lines]
        texts = tuple(_facts_text(file, block) for block in blocks)
        choices = tuple(case.setting(name) for name in ("dialect", "time unit", "timezone"))
        key = (rules.resolve(), tuple(facts), texts, choices)
        if key not in self.programs:
            dialect, unit, zone = choices
            try:
                self.programs[key] = load(
                    rules, [*facts, *texts], dialect, time_unit=unit, timezone=zone
                )
            except CernisError as error:
                raise CaseFault(line, f"the program of this test has errors:\n{error}") from None
        return self.programs[key]


def _rules_of(file: CaseFile, case: Case) -> tuple[Path, int]:
    """The file of rules: as the case says, or of the same name as the file of cases."""
    line = case.settings.get("rules")
    if line is not None:
        return file.beside(line.text), line.number
    for name in (file.path.with_suffix(".cer"), file.path.parent / "rules.cer"):
        if name.is_file():
            return name, case.line
    raise CaseFault(case.line, "which rules are tested? Write `rules: FILE` before the first test")


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _facts_text(file: CaseFile, block: CaseBlock) -> NamedText:
    """The facts of a block, each on the line that it has in the file of cases."""
    lines: list[str] = []
    for line in block.lines:
        lines += [""] * (line.number - 1 - len(lines)) + [line.text]
    return NamedText(str(file.path), "\n".join(lines) + "\n")


@dataclass(slots=True)
class PreparedCase:
    """A case as it is understood: its program, its records, its settings, what it expects."""

    file: CaseFile
    case: Case
    program: Program
    clock: CaseClock
    settings: Settings
    records: list[CaseRecord]
    files: list[Path]
    expectations: list[tuple[CaseBlock, list[Expectation]]]

    @property
    def tick(self) -> int:
        """How far apart time-points are."""
        return self.settings.tick or self.program.checked.definitions.settings.tick

    @property
    def policy(self) -> str:
        """When its session reports intervals."""
        return self.case.setting("policy") or "early"

    def events(self) -> list[Any]:
        """All that it is given, in a form that runs and sessions take."""
        rows = [row for record in self.records for row in record.rows()]
        return [*self.files, rows] if self.files and rows else self.files or rows

    def claims(self) -> Iterator[Expectation]:
        """All expectations."""
        for _, expectations in self.expectations:
            yield from expectations


@dataclass(slots=True)
class CaseEvidence:
    """What came of a case: the answer of its run, and of its session after each query."""

    answer: CaseAnswer
    text: str
    start: int
    end: int
    unused: Mapping[str, int]
    outside: int
    reasons: list[str]
    records: Records
    feeds: dict[int, list[CaseChange]] = field(default_factory=dict)
    session_answer: set[Any] = field(default_factory=set)

    def disagreement(self) -> tuple[list[Any], list[Any]]:
        """What only the run has, and what only the session has."""
        run_rows = set(self.answer.rows())
        return sorted(run_rows - self.session_answer, key=str), sorted(
            self.session_answer - run_rows, key=str
        )


def prepare(file: CaseFile, case: Case, shelf: ProgramShelf) -> PreparedCase:
    """Understand a case; a CaseFault says what is wrong with it."""
    program = shelf.program_of(file, case)
    clock = _clock(case, program.time_scale)
    tick = _number(case, "tick") or program.checked.definitions.settings.tick
    records = [
        record
        for block in case.of_kind("given")
        for record in read_records(block, program.checked, clock)
    ]
    expectations = [
        (block, [read_expectation(line, program.checked, clock, tick) for line in block.lines])
        for block in case.of_kind("expect")
    ]
    if not any(block.lines for block, _ in expectations) and "answer" not in case.settings:
        # An update may fill in what is missing here.
        expectations = []
    settings = _settings(case, clock, program.time_scale)
    files = [file.beside(name) for name in _names(case.setting("records"))]
    if settings.end is None and not files:
        settings = _until_last_time(settings, records, expectations)
    return PreparedCase(file, case, program, clock, settings, records, files, expectations)


def _clock(case: Case, scale: TimeScale) -> CaseClock:
    """The clock of a case: lengths count from its start, and times are shown as it writes them."""
    start = case.settings.get("start")
    style, origin = TimeStyle.NUMBER, 0
    if start is not None:
        style = style_of(start.text)
        origin = _read(CaseClock(scale), start)
    for block in case.of_kind("given"):
        first = next(iter(block.lines[bool(block.subject) :]), None)
        if first is not None:
            words = first.text.removeprefix("at ").removeprefix("from ").removeprefix("|").split()
            style = style_of(words[0].rstrip("|")) if words else style
            break
    return CaseClock(scale, origin, style)


def _read(clock: CaseClock, line: CaseLine) -> int:
    try:
        return clock.read(line.text)
    except DataError as error:
        raise CaseFault(line.number, str(error)) from None


def _number(case: Case, name: str) -> int | None:
    line = case.settings.get(name)
    if line is None:
        return None
    if not line.text.isdecimal() or int(line.text) < 1:
        raise CaseFault(line.number, f"{name} must be a positive whole number")
    return int(line.text)


def _settings(case: Case, clock: CaseClock, scale: TimeScale) -> Settings:
    lengths: dict[str, int | None] = {}
    for name in ("window", "step"):
        line = case.settings.get(name)
        try:
            lengths[name] = None if line is None else length(line.text, name, scale)
        except DataError as error:
            raise CaseFault(line.number if line else case.line, str(error)) from None
    points = {
        name: _read(clock, case.settings[name]) if name in case.settings else None
        for name in ("start", "end")
    }
    _check_choices(case)
    return Settings(
        lengths["window"], lengths["step"], points["start"], points["end"],
        _number(case, "tick"), case.setting("ties"), epoch=True,
    )  # fmt: skip


def _check_choices(case: Case) -> None:
    for name, choices in (
        ("policy", ("early", "partial", "final")), ("ties", ("break", "initiation")),
    ):  # fmt: skip
        line = case.settings.get(name)
        if line is not None and line.text not in choices:
            raise CaseFault(line.number, f"{name} is one of {', '.join(choices)}, not {line.text}")


def _until_last_time(
    settings: Settings, records: Iterable[CaseRecord],
    expectations: Iterable[tuple[CaseBlock, list[Expectation]]],
) -> Settings:  # fmt: skip
    """A run goes to the last time that the case names, whether anything is given there or not."""
    times = [time for record in records for time in record.times()]
    times += [time for _, claims in expectations for each in claims for time in each.times()]
    end = max(times, default=None)
    return Settings(
        settings.window, settings.step, settings.start, end, settings.tick, settings.ties,
        epoch=True,
    )  # fmt: skip


# -- running -----------------------------------------------------------------------------------


def run_case(prepared: PreparedCase, profile: Profile | None = None) -> CaseEvidence:
    """Let a run and a session recognise; what operators do is entered into the profile."""
    evidence = _run(prepared, profile)
    queries = _queries(prepared, evidence)
    unresolved = read_unresolved(prepared.events(), prepared.program.checked, _config(prepared))
    feeds = _session_feeds(prepared, evidence.start, queries, unresolved, "early")
    evidence.session_answer = sum_of(feeds)
    claims = (Claim.CHANGE, Claim.NO_CHANGE)
    if prepared.policy != "early" and any(e.claim in claims for e in prepared.claims()):
        feeds = _session_feeds(prepared, evidence.start, queries, unresolved, prepared.policy)
    evidence.feeds = dict(zip(queries, feeds, strict=True))
    return evidence


def _config(prepared: PreparedCase) -> Path | None:
    name = prepared.case.setting("config")
    return None if name is None else prepared.file.beside(name)


def _run(prepared: PreparedCase, profile: Profile | None) -> CaseEvidence:
    program = prepared.program
    records = program.records(prepared.events(), _config(prepared))
    result = recognise(program.plan, records, prepared.settings, profile=profile)
    summary = result.summary
    return CaseEvidence(
        answer_of(result.answer),
        result.text() if "answer" in prepared.case.settings else "",
        summary.start,
        summary.end,
        {
            "too late": len(summary.too_late),
            "set aside": len(summary.set_aside),
            "ignored": sum(summary.ignored.values()),
        },
        summary.outside,
        [f"{aside.text}: {aside.reason}" for aside in summary.set_aside],
        records,
    )


def _queries(prepared: PreparedCase, evidence: CaseEvidence) -> list[int]:
    """When the session is asked: as the run is, or as the case says, or once in between."""
    settings = prepared.settings
    if settings.window is not None or settings.step is not None:
        every = windows(evidence.start, evidence.end, settings.window, settings.step)
        return [window.query for window in every]
    query_times = {e.query for e in prepared.claims() if e.query is not None}
    if not query_times:
        arrivals = [part.times[0] for part in evidence.records.relations.values()]
        times = np.unique(np.concatenate(arrivals)).tolist() if arrivals else []
        query_times = {times[len(times) // 2]} if times else set()
    inside = {time for time in query_times if evidence.start < time < evidence.end}
    return sorted({*inside, evidence.end})


def _session_feeds(
    prepared: PreparedCase, start: int, queries: list[int], records: Records, policy: str
) -> list[list[CaseChange]]:
    settings = prepared.settings
    session = Session(
        prepared.program.plan, settings.window, settings.step, start, settings.tick,
        settings.ties, policy, epoch=True,
    )  # fmt: skip
    feeds = []
    for query, arrived in zip(queries, records_by_query(records, queries), strict=True):
        session.insert(arrived)
        feeds.append(changes_of(session.query(query)))
    session.leave_workspace()
    return feeds
