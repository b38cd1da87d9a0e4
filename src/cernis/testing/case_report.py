"""Outcomes as text: a mark for each case, failures with what was there and why, a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cernis.testing.case_sessions import CaseOutcome

_WIDTH: Final = 80
_COLOURS: Final = {"passed": "32", "failed": "31", "error": "31", "dim": "2", "bold": "1"}
_SHOWN: Final = 12
"""So many lines of what was there are shown."""


@dataclass(slots=True)
class CaseReport:
    """Writes outcomes as they come; `is_verbose` gives each case a line of its own."""

    is_verbose: bool = False
    is_coloured: bool = False
    _file: str = ""
    _column: int = 0

    def mark(self, outcome: CaseOutcome) -> str:
        """What to write, without a line feed at its end, when a case is done."""
        verdict = _verdict(outcome)
        if self.is_verbose:
            word = self._painted(verdict.upper(), verdict)
            return f"{outcome.id} {word}\n"
        text = ""
        if self._file != str(outcome.path):
            text = "\n" * bool(self._file) + f"{outcome.path} "
            self._file, self._column = str(outcome.path), 0
        self._column += 1
        letter = {"passed": ".", "failed": "F", "error": "E"}[verdict]
        return text + self._painted(letter, verdict)

    def end(self, outcomes: Sequence[CaseOutcome], seconds: float) -> Iterator[str]:
        """The lines after the last mark: failures, their summary, the count."""
        if not self.is_verbose and outcomes:
            yield ""
        failed = [outcome for outcome in outcomes if not outcome.is_passed]
        if failed:
            yield self._title("failures", "=")
        for outcome in failed:
            yield self._painted(self._title(f"{outcome.name}", "_"), "failed")
            yield from self._failure(outcome)
        if failed:
            yield self._title("summary", "=")
            yield from (self._summary(outcome) for outcome in failed)
        yield self._last_line(outcomes, seconds)

    def _failure(self, outcome: CaseOutcome) -> Iterator[str]:
        if outcome.error:
            yield outcome.error
            yield ""
        for number, miss in enumerate(outcome.misses):
            yield self._painted(f"{outcome.path}:{miss.line}", "bold")
            yield f"  expected  {miss.expected}"
            label = "there was "
            for text in _limited(miss.was):
                yield self._painted(f"  {label}{text}", "failed")
                label = " " * len(label)
            why = outcome.explanations[number] if number < len(outcome.explanations) else []
            label = "why       "
            for text in why:
                yield self._painted(f"  {label}{text}", "dim")
                label = " " * len(label)
            yield ""

    def _summary(self, outcome: CaseOutcome) -> str:
        if outcome.error:
            first = outcome.error.splitlines()[0].removeprefix(f"{outcome.path}:")
            return f"{self._painted('ERROR', 'error')} {outcome.id} - {first}"
        more = len(outcome.misses) - 1
        text = f"{outcome.misses[0].expected}" + (f" (and {more} more)" if more else "")
        return f"{self._painted('FAILED', 'failed')} {outcome.id} - {text}"

    def _last_line(self, outcomes: Sequence[CaseOutcome], seconds: float) -> str:
        verdicts = [_verdict(outcome) for outcome in outcomes]
        counts = [
            f"{verdicts.count(name)} {word}"
            for name, word in (("failed", "failed"), ("passed", "passed"), ("error", "with errors"))
            if verdicts.count(name)
        ]
        is_well = all(verdict == "passed" for verdict in verdicts)
        text = f"{', '.join(counts) or 'no tests'} in {seconds:.2f} s"
        return self._painted(self._title(text, "="), "passed" if is_well else "failed")

    def _title(self, text: str, sign: str) -> str:
        return f" {text} ".center(_WIDTH, sign)

    def _painted(self, text: str, kind: str) -> str:
        return f"\033[{_COLOURS[kind]}m{text}\033[0m" if self.is_coloured else text


def failure_text(outcome: CaseOutcome) -> str:
    """All that is to say of one case that does not pass."""
    return "\n".join(CaseReport()._failure(outcome)).rstrip()


def _verdict(outcome: CaseOutcome) -> str:
    if outcome.error:
        return "error"
    return "failed" if outcome.misses else "passed"


def _limited(texts: Iterable[str]) -> Iterator[str]:
    lines = list(texts)
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"… {len(lines) - _SHOWN} more"
