"""The rules of a program as a report shows them: the text, and where it stands."""

from __future__ import annotations

from typing import Any

from cernis.check.checker import Checked
from cernis.source import Span


def rule_texts(checked: Checked) -> list[dict[str, Any]]:
    """All rules that define fluents and events, in the order of their places."""
    definitions = checked.definitions
    spans: set[Span] = {rule.span for rule in definitions.changes}
    spans |= {rule.span for rule in definitions.events}
    spans |= {rule.span for rule in definitions.statics}
    spans |= {rule.span for rule in definitions.patterns}
    spans |= {rule.span for rule in definitions.initials}
    return [
        {"text": text, "place": place}
        for text, place in (rule_place(checked, span) for span in sorted(spans))
        if place
    ]


def rule_place(checked: Checked, span: Span) -> tuple[str, str]:
    """The text of a rule, and the file and line where it begins; nothing if it has no place."""
    place = checked.sources.place(span)
    if place is None:
        return "", ""
    return checked.sources.text(span), f"{place.name}:{place.line}"
