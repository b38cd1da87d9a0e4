"""The tables that groundings look at, and whether these have been filled again."""

from __future__ import annotations

from collections.abc import Iterable

from cernis.check.model import Grounding
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.grounding import only_grow


class DomainFillings:
    """Knows which tables some groundings look at; it finds that out once."""

    def __init__(self, groundings: Iterable[tuple[Grounding, ...]]) -> None:
        self._groundings = list(dict.fromkeys(groundings))
        self._tables: frozenset[tuple[str, int]] | None = None
        self._is_known = False
        self._only_grow = True

    def _look(self, context: Context) -> None:
        tables = [context.goals.tables_of(each) for each in self._groundings]
        known = [each for each in tables if each is not None]
        self._tables = frozenset().union(*known) if len(known) == len(tables) else None
        self._only_grow = all(only_grow(each, context) for each in self._groundings)
        self._is_known = True

    def current(self, context: Context) -> int:
        """A number that changes whenever one of the tables is filled again."""
        if not self._is_known:
            self._look(context)
        background = context.background
        if self._tables is None:
            return background.all_fillings
        return sum(map(background.filling, self._tables))

    def only_grow(self, context: Context) -> bool:
        """Is allowed what was allowed before, however many members join domains?"""
        if not self._is_known:
            self._look(context)
        return self._only_grow
