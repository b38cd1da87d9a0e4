"""The state that one query carries over to the next."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.columns.window_carry import cut_at
from cernis.operators.context.fluent_points import Attempts
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.simple_fluents import Carried
from cernis.plan.builder import Plan
from cernis.tables.domains import Domains
from cernis.tables.event_tables import EventTable, by_time, stacked
from cernis.tables.interval_pieces import chosen, pieces, united
from cernis.tables.interval_tables import FluentTable, Piece


class CarriedState:
    """The state that one query carries over to the next.

    Its `live` tables are those of the last query. Before the next query, `advance` moves the
    intervals that lie wholly before the new edge to the archive, and keeps those that reach the
    edge. It forgets the others, since the next query derives them again. What a sweep has found is
    not its concern.
    """

    def __init__(
        self, plan: Plan, domains: Domains, tick: int, swept: frozenset[Relation] = frozenset()
    ) -> None:
        self._plan = plan
        self._swept = swept
        self._domains = domains
        self._tick = tick
        self._archive: dict[Relation, list[Piece]] = {}
        self._newly_archived: dict[Relation, list[Piece]] = {}
        self.live: dict[Relation, FluentTable] = {}
        """The tables of the last query."""
        self.reaching_edge: dict[Relation, list[Piece]] = {}
        """The intervals of fluents that were derived up to the edge and reach it."""
        self.carried: dict[Relation, Carried] = {}
        """The simple fluents that hold right after the edge, from what was derived up to it."""
        self._archived_events: dict[Relation, list[EventTable]] = {}
        self.live_events: dict[Relation, EventTable] = {}
        """The happenings of derived events, as of the last query."""
        self.effect_origins: dict[Relation, Attempts] = {}
        """The initiations that delayed effects count from."""
        self.seen: dict[Relation, FluentTable] = {}
        """The tables that the last query saw of the fluents that rules look back at."""
        self.remembered: dict[Relation, FluentTable] = {}
        """The intervals of these fluents that ended before the edge."""
        self._context: Context | None = None

    def advance(self, edge: int, forgotten: int, start: int) -> None:
        """Forget all that lies after the edge of the next query, which derives it again.

        `forgotten` is the last point whose records that query does not see. The declared memory
        reaches back from there. It is later than the edge where steps are longer than windows.
        An edge at the start of the run has nothing before it: what holds initially is derived
        again too, as it may follow domains whose members have left.
        """
        bound = edge + self._tick
        self.reaching_edge, self.carried, self._newly_archived = {}, {}, {}
        if edge <= start:
            self.live, self.live_events, self.remembered = {}, {}, {}
            return
        for relation, table in self.seen.items():
            self._remember(relation, table, edge, forgotten)
        for relation, table in self.live.items():
            if relation in self._plan.roles.simple:
                over, self.carried[relation] = cut_at(
                    relation, table, self.effect_origins.get(relation), edge, self._tick,
                    self._domains,
                )  # fmt: skip
                self._add_to_archive(relation, over)
            else:
                (piece,) = pieces(table)
                cut = chosen(piece, piece[2] < bound)
                cut = (cut[0], cut[1], cut[2], np.minimum(cut[3], bound))
                self._add_to_archive(relation, chosen(cut, cut[3] < bound))
                self.reaching_edge[relation] = [chosen(cut, cut[3] == bound)]
        for happened, events in self.live_events.items():
            past = np.flatnonzero(events.times <= edge)
            self._archived_events.setdefault(happened, []).append(events.take(past))
        self.live, self.live_events = {}, {}

    def _remember(self, relation: Relation, table: FluentTable, edge: int, forgotten: int) -> None:
        """Keep the intervals of a table up to an edge that did not end too long before it.

        What goes on after the edge is cut there: the table of the next query has it whole.
        """
        assert self._context is not None
        bound = edge + self._tick
        parts = [*pieces(self.remembered.get(relation)), *pieces(table)]
        parts = [chosen(part, part[2] < bound) for part in parts]
        parts = [(part[0], part[1], part[2], np.minimum(part[3], bound)) for part in parts]
        memory = self._plan.roles.looked_back_at[relation]
        if memory is not None:
            least = forgotten - memory
            parts = [chosen(part, part[3] > least) for part in parts]
        self.remembered[relation] = united(parts, self._context.encoding.fluents[relation])

    def _add_to_archive(self, relation: Relation, piece: Piece) -> None:
        if len(piece[2]):
            self._archive.setdefault(relation, []).append(piece)
            self._newly_archived.setdefault(relation, []).append(piece)

    def settle(self, context: Context) -> None:
        """Take over the result of a query."""
        self._context, relations = context, context.relations
        catalogue = context.encoding.catalogue
        self.live = {r: table for r, table in relations.fluents.items() if r not in self._swept}
        self.seen = {r: relations.seen[r] for r in self._plan.roles.looked_back_at
                      if r in relations.seen}  # fmt: skip
        self.effect_origins = dict(relations.effect_origins)
        for relation, past in relations.past.items():
            for piece in past:
                self._add_to_archive(relation, piece)
        for relation, table in relations.events.items():
            is_defined = relation in catalogue.events and relation not in self._plan.roles.inputs
            if is_defined and relation not in self._swept:
                self.live_events[relation] = table

    def resume(
        self, live: dict[Relation, FluentTable], effect_origins: dict[Relation, Attempts],
        remembered: dict[Relation, FluentTable], seen: dict[Relation, FluentTable],
        context: Context,
    ) -> None:  # fmt: skip
        """Go on from the state that another evaluator has handed over."""
        self.live, self.effect_origins, self._context = live, effect_origins, context
        self.remembered, self.seen = remembered, seen

    def live_pieces(self, relation: Relation) -> list[Piece]:
        """The intervals of a fluent as of the last query, including those newly archived."""
        return [*self._newly_archived.get(relation, []), *pieces(self.live.get(relation))]

    def forget_archive(self) -> None:
        """Forget the archive: what is in it has been reported."""
        self._archive, self._archived_events = {}, {}

    def fluents(self) -> dict[Relation, FluentTable]:
        """The answer over the run: all defined fluents but those that phrases are made of."""
        hidden = self._plan.checked.definitions.auxiliary
        assert self._context is not None
        answer: dict[Relation, FluentTable] = {}
        for relation in self._plan.roles.defined:
            if relation in hidden or relation in self._swept:
                continue
            live, past = self.live.get(relation), self._archive.get(relation, [])
            if live is not None and not past:
                answer[relation] = live
            else:
                answer[relation] = united(
                    [*past, *pieces(live)], self._context.encoding.fluents[relation]
                )
        return answer

    def events(self) -> dict[Relation, EventTable]:
        """The happenings of all derived events over the run."""
        answer = {}
        hidden = self._plan.checked.definitions.auxiliary
        for relation, table in self.live_events.items():
            if relation in hidden:
                continue
            whole = stacked([*self._archived_events.get(relation, []), table])
            answer[relation] = (
                whole
                if whole.starts is not None
                else by_time(whole.arguments, whole.domains, whole.times)
            )
        return answer
