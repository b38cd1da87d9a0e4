"""Signs that other languages have: what they are called here, and the line as it should be.

A sign such as `<=` has one meaning only, so the clause is read as if it were written rightly: the
diagnostic is an error, but it brings no others after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cernis.errors import Correction, Diagnostic, Severity
from cernis.source import Span

WORDS = {"and": ",", "or": ";"}
"""Words that join conditions in other languages."""

_NUMBER_BEFORE = re.compile(r"(?<![\w.])\d[\d.]*\s*\Z")
_NUMBER_AFTER = re.compile(r"\s*[-+]?\d")
_MEANINGS = {
    "<=": ("=<", "less or equal is written `=<`"),
    "&&": (",", "conditions are joined by `,`"),
    "||": (";", "alternatives are separated by `;`, in parentheses"),
    "!": ("\\+", "a condition is negated by `\\+`"),
}


@dataclass(frozen=True, slots=True)
class Slip:
    """A sign of another language; the token that is meant, or None if it begins a comment."""

    sign: str
    token: str | None
    advice: str
    span: Span
    replaced: Span
    text: str

    def diagnostic(self, base: int = 0) -> Diagnostic:
        """What to say of it, in a text that begins there in the address space."""
        start, end = self.replaced
        correction = Correction((start + base, end + base), self.text)
        return Diagnostic(
            "C012", Severity.ERROR, f"`{self.sign}` is not used here: {self.advice}",
            (self.span[0] + base, self.span[1] + base), correction=correction,
        )  # fmt: skip


def meant(text: str, start: int, end: int) -> Slip | None:
    """What a sign between two offsets of a text is meant to be; None if that cannot be said."""
    sign = text[start:end]
    if sign.startswith("#"):
        return _comment(text, start, end)
    if sign == "!=":
        is_number = _NUMBER_AFTER.match(text, end) or _NUMBER_BEFORE.search(text[:start][-40:])
        token = "=\\=" if is_number else "\\="
        advice = "numbers that differ are compared by `=\\=`, other values by `\\=`"
        return Slip(sign, token, advice, (start, end), (start, end), token)
    token, advice = _MEANINGS[sign]
    written = f"{token} " if sign == "!" else token
    return Slip(sign, token, advice, (start, end), _with_blanks(text, start, end, token), written)


def _with_blanks(text: str, start: int, end: int, token: str) -> Span:
    """A comma and a semicolon stand directly after what is before them."""
    return (len(text[:start].rstrip(" \t")), end) if token in WORDS.values() else (start, end)


def _comment(text: str, start: int, end: int) -> Slip | None:
    """A comment stands alone in its line, or after the end of a condition or clause."""
    before = text[text.rfind("\n", 0, start) + 1 : start].rstrip()
    if before and not before.endswith((".", ",", ":-", "(")):
        return None
    comment = "%" + text[start:end].lstrip("#")
    return Slip("#", None, "a comment begins with `%`", (start, start + 1), (start, end), comment)


def word_slip(word: str, span: Span, end_before: int) -> Diagnostic:
    """What to say of a word between conditions; it follows what ends before it."""
    token = WORDS[word]
    what = "conditions are joined by" if word == "and" else "alternatives are separated by"
    slip = Slip(word, token, f"{what} `{token}`", span, (end_before, span[1]), token)
    return slip.diagnostic()
