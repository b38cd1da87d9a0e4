"""Collects diagnostics, so that a pass can go on after the first."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from cernis.errors import Correction, Diagnostic, Note, Severity
from cernis.source import Span


@dataclass(slots=True)
class Report:
    """The diagnostics of one check, in the order they were found."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def error(
        self, code: str, message: str, span: Span, *notes: Note, help: str = "",
        correction: Correction | None = None,
    ) -> None:  # fmt: skip
        """Something that keeps the program from running."""
        self.diagnostics.append(
            Diagnostic(code, Severity.ERROR, message, span, notes, help, correction)
        )

    def warn(
        self, code: str, message: str, span: Span, *notes: Note, help: str = "",
        correction: Correction | None = None,
    ) -> None:  # fmt: skip
        """Something that is probably not meant."""
        self.diagnostics.append(
            Diagnostic(code, Severity.WARNING, message, span, notes, help, correction)
        )

    def note(self, code: str, message: str, span: Span, *notes: Note, help: str = "") -> None:
        """Something good to know."""
        self.diagnostics.append(Diagnostic(code, Severity.NOTE, message, span, notes, help))

    @property
    def has_errors(self) -> bool:
        """Has anything been found that keeps the program from running?"""
        return any(diagnostic.is_error for diagnostic in self.diagnostics)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All diagnostics by place, each once.

        That a variable occurs only once is not reported where there is a more serious diagnostic
        about it, or one that points to it.
        """
        unique = dict.fromkeys(self.diagnostics)
        worse = {d.span for d in unique if d.code != "C035"}
        worse |= {note.span for d in unique if d.code in ("C026", "C033") for note in d.notes}
        said = [d for d in unique if d.code != "C035" or d.span not in worse]
        return tuple(sorted(said, key=lambda d: (d.span, d.code)))


def near(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Names that a misspelt one may have been meant to be, the nearest first; case is no matter.

    >>> near("sp02", ["spo2", "pulse"]), near("SPO2", ["spo2"])
    (['spo2'], ['spo2'])
    """
    spelled: dict[str, list[str]] = {}
    for other in sorted(set(names) - {name}):
        spelled.setdefault(other.casefold(), []).append(other)
    matches = difflib.get_close_matches(name.casefold(), spelled, n=count, cutoff=0.72)
    return [other for each in matches for other in spelled[each]][:count]


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    """A help line: the near names, or what else to do."""
    near_names = near(name, names)
    return f"did you mean {' or '.join(f'`{n}`' for n in near_names)}?" if near_names else otherwise


def misspelt(name: str, known: Iterable[str]) -> list[str]:
    """Known names so near that a slip of the keyboard explains the difference."""
    return [other for other in near(name, known, 5) if _distance(name, other) <= 1 + len(name) // 8]


def _distance(left: str, right: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours between two names."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row = row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                row[-1] = min(row[-1], before[j - 2] + 1)
        before = previous
    return row[-1]
