"""Everything cernis raises, and the diagnostics that errors carry.

One root, `CernisError`, and one class for each kind of trouble. All of them survive pickling, so an
error raised in a worker process arrives whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from cernis.source import NOWHERE, Place, Sources, Span


class Severity(StrEnum):
    """How bad a diagnostic is: only errors keep a program from running."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Note:
    """A second place, or a fact, that helps to see what a diagnostic means."""

    message: str
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Correction:
    """What to write in place of a stretch of the text."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to say about a program: what, where, and what to do."""

    code: str
    severity: Severity
    message: str
    span: Span = NOWHERE
    notes: tuple[Note, ...] = ()
    help: str = ""
    correction: Correction | None = None

    def corrected_line(self, sources: Sources) -> str:
        """The line as it is probably meant; empty where that is not known."""
        correction = self.correction
        return sources.replaced(correction.span, correction.text) if correction else ""

    @property
    def is_error(self) -> bool:
        """Does it keep the program from running?"""
        return self.severity is Severity.ERROR


class CernisError(Exception):
    """The root of all errors cernis raises on purpose."""


class ProgramError(CernisError):
    """A program that does not parse or check; carries all diagnostics, warnings included."""

    def __init__(self, diagnostics: Iterable[Diagnostic], sources: Sources) -> None:
        self.diagnostics = tuple(diagnostics)
        self.sources = sources
        super().__init__(self.diagnostics, sources)

    def __str__(self) -> str:
        errors = [diagnostic for diagnostic in self.diagnostics if diagnostic.is_error]
        lines = [f"{len(errors)} error{'s' if len(errors) != 1 else ''}"]
        for error in errors[:10]:
            lines.append(f"{self._place(error)}{error.code} {error.message}")
            if corrected := error.corrected_line(self.sources):
                lines.append(f"  write: {corrected}")
            elif error.help:
                lines.append(f"  help: {error.help}")
        if len(errors) > 10:
            lines.append(f"and {len(errors) - 10} more")
        return "\n".join(lines)

    def _place(self, diagnostic: Diagnostic) -> str:
        place: Place | None = self.sources.place(diagnostic.span)
        return f"{place}: " if place else ""


class PlanError(CernisError):
    """A program that checks but that no plan can be made for."""


class UnsupportedError(CernisError):
    """Something the language has and this version of the engine has not."""


class DataError(CernisError):
    """Input that cannot be read, and that the caller asked not to set aside."""


class InputWarning(UserWarning):
    """Input that can be read, and is probably not what was meant."""


class ProgramWarning(UserWarning):
    """A program that runs, but probably not as it is meant to, or not as fast as it could."""


def warn_of_program(diagnostics: Iterable[Diagnostic], sources: Sources, stacklevel: int) -> None:
    """Give diagnostics as warnings of Python, each in a line, to the caller that many calls up."""
    for diagnostic in diagnostics:
        place = sources.place(diagnostic.span)
        where, advice = f"{place}: " if place else "", diagnostic.help
        text = f"{where}{diagnostic.code} {diagnostic.message}{'; ' + advice if advice else ''}"
        warnings.warn(text, ProgramWarning, stacklevel=stacklevel + 1)


class KnowledgeError(CernisError):
    """Background knowledge that cannot be evaluated: no end in sight, or a wrong argument."""

    def __init__(self, predicate: str, message: str) -> None:
        self.predicate = predicate
        self.message = message
        super().__init__(predicate, message)

    def __str__(self) -> str:
        return f"{self.predicate}: {self.message}"


class OverflowFault(CernisError):
    """A rule computes a whole number of more than 64 bits; `rule` says where it stands."""

    def __init__(self, expression: str, span: Span = NOWHERE, rule: str = "") -> None:
        self.expression = expression
        self.span = span
        self.rule = rule
        super().__init__(expression, span, rule)

    def __str__(self) -> str:
        where = f"{self.rule}: " if self.rule else ""
        return (
            f"{where}`{self.expression}` needs more than 64 bits for a whole number; "
            "compute with floats, or leave such values out by a condition before it"
        )


class FunctionFault(DataError):
    """A function that was given to a program failed; `rule` says in which rule it was called."""

    def __init__(self, name: str, reason: str, span: Span = NOWHERE, rule: str = "") -> None:
        self.name = name
        self.reason = reason
        self.span = span
        self.rule = rule
        super().__init__(name, reason, span, rule)

    def __str__(self) -> str:
        where = f"{self.rule}: " if self.rule else ""
        return f"{where}the function {self.name} failed: {self.reason}"


class TooManyMatches(DataError):
    """A literal gives more pairs of rows than can be held; `place` says where it stands."""

    def __init__(self, pairs: str, span: Span = NOWHERE, place: str = "", text: str = "") -> None:
        self.pairs = pairs
        self.span = span
        self.place = place
        self.text = text
        super().__init__(pairs, span, place, text)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return (
            f"{where}{self.text[:200]} matches too often: {self.pairs}; let it share "
            "an argument with what comes before it, or bound the time between them"
        )


class InternalError(CernisError):
    """A fault of cernis itself."""
