"""The page of diagnostics, section by section."""

from __future__ import annotations

import re
from pathlib import Path

_HEADING = re.compile(r"^## (C\d{3})\b.*$", re.MULTILINE)


def section(code: str) -> str | None:
    """What the page says about a code; None if it says nothing."""
    page = _page()
    for match in _HEADING.finditer(page):
        if match[1] == code:
            end = _HEADING.search(page, match.end())
            return page[match.start() : end.start() if end else len(page)].strip()
    return None


def _page() -> str:
    """The page as installed with the package, or, in a checkout, from its documents."""
    installed = Path(__file__).with_name("diagnostics.md")
    beside = Path(__file__).parents[3] / "docs" / "diagnostics.md"
    for path in (installed, beside):
        if path.is_file():
            return path.read_text("utf-8")
    return ""
