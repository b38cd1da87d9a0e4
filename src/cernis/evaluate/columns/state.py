"""What one query leaves to the next."""

from __future__ import annotations

import numpy as np

from cernis.check.checker import Checked
from cernis.check.model import FluentKind, Relation
from cernis.evaluate.columns.window_carry import cut_at
from cernis.operators.definitions.simple_fluents import Carried
from cernis.operators.intervals.pieces import Piece, chosen, pieces, united
from cernis.operators.query_context import Attempts, Context
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable, by_time, stacked
from cernis.tables.interval_tables import FluentTable


class State:
    """What one query leaves to the next.

    `live` are the tables of the last query. Before the next, `advance` moves what lies wholly
    before the new edge to the archive, keeps what reaches the edge, and forgets the rest, which
    the next query derives again.
    """

    def __init__(
        self, checked: Checked, domains: Domains, tick: int, looked_back_at: frozenset[Relation]
    ) -> None:
        self._checked = checked
        self._domains = domains
        self._tick = tick
        self._archive: dict[Relation, list[Piece]] = {}
        self._lately: dict[Relation, list[Piece]] = {}
        self._live: dict[Relation, FluentTable] = {}
        self._before: dict[Relation, list[Piece]] = {}
        self._carried: dict[Relation, Carried] = {}
        self._past: dict[Relation, list[EventTable]] = {}
        self._happened: dict[Relation, EventTable] = {}
        self._begun: dict[Relation, Attempts] = {}
        self._memory = checked.definitions.settings.memory
        self._wanted = looked_back_at
        self._seen: dict[Relation, FluentTable] = {}
        self._remembered: dict[Relation, FluentTable] = {}
        self._context: Context | None = None

    def advance(self, edge: int, forgotten: int) -> None:
        """Forget what the next query derives again: all after its edge.

        `forgotten` is the edge of its window, which memories reach back from. It comes after the
        edge of what is derived again where steps are longer than windows.
        """
        bound = edge + self._tick
        self._before, self._carried, self._lately = {}, {}, {}
        for relation, table in self._seen.items():
            self._remember(relation, table, edge, forgotten)
        for relation, table in self._live.items():
            simple = self._checked.catalogue.fluents[relation].kind is FluentKind.SIMPLE
            if simple:
                over, self._carried[relation] = cut_at(
                    relation, table, self._begun.get(relation), edge, self._tick,
                    self._domains,
                )  # fmt: skip
                self._put_by(relation, over)
            else:
                (piece,) = pieces(table)
                cut = chosen(piece, piece[2] < bound)
                cut = (cut[0], cut[1], cut[2], np.minimum(cut[3], bound))
                self._put_by(relation, chosen(cut, cut[3] < bound))
                self._before[relation] = [chosen(cut, cut[3] == bound)]
        for happened, events in self._happened.items():
            past = np.flatnonzero(events.times <= edge)
            self._past.setdefault(happened, []).append(events.take(past))
        self._live, self._happened = {}, {}

    def _remember(self, relation: Relation, table: FluentTable, edge: int, forgotten: int) -> None:
        """Keep the intervals of a table up to an edge that did not end too long before it.

        What goes on after the edge is cut there: the table of the next query has it whole.
        """
        assert self._context is not None
        bound = edge + self._tick
        parts = [*pieces(self._remembered.get(relation)), *pieces(table)]
        parts = [chosen(part, part[2] < bound) for part in parts]
        parts = [(part[0], part[1], part[2], np.minimum(part[3], bound)) for part in parts]
        if self._memory is not None:
            least = forgotten + self._tick - self._memory
            parts = [chosen(part, part[3] > least) for part in parts]
        self._remembered[relation] = united(parts, relation, self._context)

    def remembered(self) -> dict[Relation, FluentTable]:
        """What ended before the edge, and rules look back at."""
        return self._remembered

    def _put_by(self, relation: Relation, piece: Piece) -> None:
        if len(piece[2]):
            self._archive.setdefault(relation, []).append(piece)
            self._lately.setdefault(relation, []).append(piece)

    def before(self, relation: Relation) -> list[Piece]:
        """What was derived up to the edge and reaches it."""
        return self._before.get(relation, [])

    def carried(self) -> dict[Relation, Carried]:
        """The simple fluents that hold right after the edge, from what was derived up to it."""
        return self._carried

    def settle(self, context: Context) -> None:
        """Take over the result of a query."""
        self._context = context
        self._live = dict(context.fluents)
        self._seen = {r: context.seen[r] for r in self._wanted if r in context.seen}
        self._begun = dict(context.effect_origins)
        for relation, past in context.past.items():
            for piece in past:
                self._put_by(relation, piece)
        for relation, table in context.events.items():
            entry = self._checked.catalogue.events.get(relation)
            if entry is not None and not entry.is_input:
                self._happened[relation] = table

    def resume(
        self, live: dict[Relation, FluentTable], begun: dict[Relation, Attempts],
        remembered: dict[Relation, FluentTable], seen: dict[Relation, FluentTable],
        context: Context,
    ) -> None:  # fmt: skip
        """Go on from what a query elsewhere has left."""
        self._live, self._begun, self._context = live, begun, context
        self._remembered, self._seen = remembered, seen

    def looked_back_at(self) -> tuple[dict[Relation, FluentTable], dict[Relation, FluentTable]]:
        """What is remembered from before the edge, and what the last query saw of the same."""
        return self._remembered, self._seen

    def left(self) -> tuple[dict[Relation, FluentTable], dict[Relation, Attempts]]:
        """What the last query has left, to go on from elsewhere."""
        return self._live, self._begun

    def live(self, relation: Relation) -> list[Piece]:
        """The intervals of a fluent as the last query has them, put by or not."""
        return [*self._lately.get(relation, []), *pieces(self._live.get(relation))]

    def forget_archive(self) -> None:
        """Forget the archive: what is in it has been reported."""
        self._archive, self._past = {}, {}

    def fluents(self) -> dict[Relation, FluentTable]:
        """The answer over the run: all defined fluents but those that phrases are made of."""
        hidden = self._checked.definitions.auxiliary
        vertices = self._checked.dependencies.vertices
        assert self._context is not None
        answer: dict[Relation, FluentTable] = {}
        for relation in dict.fromkeys(v.relation for v in vertices if v.value is not None):
            if relation in hidden:
                continue
            live, past = self._live.get(relation), self._archive.get(relation, [])
            if live is not None and not past:
                answer[relation] = live
            else:
                answer[relation] = united([*past, *pieces(live)], relation, self._context)
        return answer

    def events(self) -> dict[Relation, EventTable]:
        """The happenings of all derived events over the run."""
        answer = {}
        hidden = self._checked.definitions.auxiliary
        for relation, table in self._happened.items():
            if relation in hidden:
                continue
            whole = stacked([*self._past.get(relation, []), table])
            answer[relation] = (
                whole
                if whole.starts is not None
                else by_time(whole.arguments, whole.domains, whole.times)
            )
        return answer
