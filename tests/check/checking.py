"""Short ways to check a text and to look at what comes of it."""

from __future__ import annotations

from cernis.check import Checked, check
from cernis.check.model import Definitions
from cernis.errors import Diagnostic
from cernis.syntax.load import load_text


def checked(text: str) -> Checked:
    """A text, checked."""
    return check(load_text(text))


def understood(text: str) -> Definitions:
    """What a text without errors defines."""
    result = checked(text)
    assert not result.has_errors, [d.message for d in result.diagnostics if d.is_error]
    return result.definitions


def found(text: str, code: str) -> list[Diagnostic]:
    """The diagnostics of one code."""
    return [diagnostic for diagnostic in checked(text).diagnostics if diagnostic.code == code]


def codes(text: str) -> list[str]:
    """The codes of all diagnostics, in order."""
    return [diagnostic.code for diagnostic in checked(text).diagnostics]


def errors(text: str) -> set[str]:
    """The codes of the errors."""
    return {diagnostic.code for diagnostic in checked(text).diagnostics if diagnostic.is_error}


def places(text: str, code: str) -> list[str]:
    """The texts that the diagnostics of a code point at."""
    result = checked(text)
    return [result.sources.text(d.span) for d in result.diagnostics if d.code == code]
