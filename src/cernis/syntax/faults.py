"""What the parser says of a clause it gives up."""

from __future__ import annotations

from cernis.errors import Correction, Diagnostic, Note, Severity
from cernis.source import Span


class Unexpected(Exception):
    """Raised inside the parser to give up the clause at hand."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class MissingStop(Unexpected):
    """A clause goes on, after its end, at the beginning of a line; `position` is that token."""

    def __init__(self, span: Span, position: int) -> None:
        super().__init__(
            Diagnostic("C013", Severity.ERROR, "the `.` that ends this clause is missing", span,
                       correction=Correction((span[1], span[1]), "."))
        )  # fmt: skip
        self.position = position


def error(
    code: str, message: str, span: Span, notes: tuple[Note, ...] = (), help_: str = ""
) -> Diagnostic:
    """A diagnostic that keeps the clause from being read."""
    return Diagnostic(code, Severity.ERROR, message, span, notes, help_)
