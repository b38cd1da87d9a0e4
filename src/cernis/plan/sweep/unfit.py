"""Why something stays with columns."""

from __future__ import annotations

from cernis.source import NOWHERE, Span


class NotSweptError(Exception):
    """A definition cannot be evaluated in a lane or by lists, for a reason in plain words."""

    def __init__(self, reason: str, span: Span = NOWHERE) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


class NotCausalError(NotSweptError):
    """What holds at a point rests on more than the point before it, so it needs whole lists."""


class OpenValueError(NotSweptError):
    """The value of a fluent takes more values than there are bits for: it needs a register."""


class FamilyError(NotSweptError):
    """An argument beside the key takes more values than there are bits for."""
