"""Units of statically determined fluents, evaluated only where their parts have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from cernis.check.model import Pair
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.incremental_stores import IncrementalStores, Update
from cernis.evaluate.changes.splicing import at_or_after, splice, splice_one, within_dirt
from cernis.evaluate.changes.stores import Places, Store, StoredRows
from cernis.evaluate.changes.units import Unit
from cernis.kernels.array_types import Integers
from cernis.kernels.intervals.stretches import cut as cut_by
from cernis.operators.context.coded_columns import constant_column
from cernis.operators.intervals.static_fluents import evaluate_static
from cernis.plan.logical import Combine, Fetch, IntervalRule
from cernis.plan.properties.change_units import DURATION, DURATIONS, UnitPlan
from cernis.plan.properties.key_reads import Link
from cernis.syntax.tree import Variable
from cernis.tables.interval_pieces import pieces
from cernis.tables.interval_tables import INFINITY


@dataclass(frozen=True, slots=True)
class _FetchedList:
    """A list of intervals that a rule fetches: by which keys, and for which constants."""

    pair: Pair
    link: Link
    is_of_one: bool
    """Does the key determine all arguments of the list?"""


@dataclass(frozen=True, slots=True)
class _MadeList:
    """A list of intervals that an operator makes of other lists."""

    operator: str
    parts: tuple[_MadeList | _FetchedList, ...]

    def reads(self) -> tuple[_FetchedList, ...]:
        """Fetched lists that together cover all its intervals.

        An intersection lies within any one of its operands. The operand is chosen whose lists give
        most arguments of the key, and among these the one with the fewest lists.
        """
        every = [(part,) if isinstance(part, _FetchedList) else part.reads() for part in self.parts]
        if self.operator == "union_all":
            return tuple(dict.fromkeys(read for reads in every for read in reads))
        if self.operator != "intersect_all":
            return every[0]
        return min(every, key=lambda reads: (-min(len(r.link.pairs) for r in reads), len(reads)))

    def every_read(self) -> Iterator[_FetchedList]:
        """All fetched lists that it is made of."""
        for part in self.parts:
            yield from (part,) if isinstance(part, _FetchedList) else part.every_read()

    @property
    def is_joined(self) -> bool:
        """Can the window forget some of the intervals that it is made of before others?"""
        return any(
            not part.is_of_one if isinstance(part, _FetchedList) else part.is_joined
            for part in self.parts
        ) or self.operator in ("union_all", "relative_complement_all")


class StaticUnit(Unit):
    """A statically determined fluent, evaluated only where there is dirt.

    Where rules compare durations, the dirt is widened to the whole intervals that it touches.
    """

    def __init__(self, unit: UnitPlan, stores: IncrementalStores) -> None:
        super().__init__(unit, stores)
        (self.definition,) = self.definitions.values()
        self.relation = self.definition.relation
        rules = [rule for rule in self.definition.rules if isinstance(rule, IntervalRule)]
        self._value = self._one_value(rules)
        self._durations: list[_MadeList] = []
        self._bounding_lists: list[_FetchedList] = []
        for rule in rules:
            self._note_lists(rule)

    def _one_value(self, rules: list[IntervalRule]) -> int | None:
        """The code of the only value there is, if the key also determines all arguments."""
        store = self.stores.fluents[self.relation]
        values = {rule.head.value for rule in rules}
        is_whole = len(store.positions) == self.relation.arity
        if not is_whole or len(values) > 1 or store.value_domain is None:
            return None
        (value,) = values
        is_constant = not isinstance(value, Variable)
        return int(constant_column(value, store.value_domain).data[0]) if is_constant else None

    def _note_lists(self, rule: IntervalRule) -> None:
        """Note the lists whose durations are compared, and those that the result lies within."""
        keys = self.stores.layout.homes[self.relation].positions
        wanted = [rule.head.args[position] for position in keys]
        made: dict[str, _MadeList | _FetchedList] = {}
        for step in rule.steps:
            if isinstance(step, Fetch):
                args = step.pair.args
                pairs = tuple(
                    (args.index(term), position)
                    for position, term in enumerate(wanted)
                    if term in args
                )
                others = {term for term in (*args, step.pair.value) if isinstance(term, Variable)}
                link = Link(step.pair.relation, pairs)
                made[step.output] = _FetchedList(step.pair, link, others <= set(wanted))
            elif isinstance(step, Combine):
                parts = tuple(made[name] for name in step.inputs)
                made[step.output] = _MadeList(step.operator, parts)
                if step.operator in DURATIONS:
                    self._durations.append(_MadeList(step.operator, parts[:1]))
        self._bounding_lists += _MadeList("union_all", (made[rule.output],)).reads()
        for duration in self._durations:
            if duration.is_joined:
                self.stores.watched_for_forgetting |= {
                    read.link.relation for read in duration.every_read()
                }

    # -- what is affected -------------------------------------------------------------------

    def by_time(self, update: Update) -> Iterator[Dirt]:
        """The keys of lists that were open at the query before: these have become longer."""
        assert update.before is not None
        for duration in self._durations:
            if duration.operator == DURATION:
                groups = self._open(duration, update)
                if groups is None:
                    yield Dirt.all()
                    return
                points = np.full(len(groups), update.before)
                yield Dirt(groups, points, np.full(len(groups), INFINITY))
        for duration in self._durations:
            if duration.is_joined:
                for read in duration.every_read():
                    groups = update.newly_forgotten[read.link.relation]
                    points = np.full(len(groups), update.bound)
                    yield self.forward(read.link, Dirt(groups, points, points + 1), update)

    def _open(self, made: _MadeList | _FetchedList, update: Update) -> Integers | None:
        """The keys for which a list is open, sorted; None if it may be open for any key."""
        if isinstance(made, _FetchedList):
            store = self.stores.fluents[made.link.relation]
            places = self._agreeing(made.pair, store, store.shelf.reaching(INFINITY))
            groups = np.unique(places[1])
            dirt = Dirt(groups, np.zeros(len(groups), np.int64), np.ones(len(groups), np.int64))
            keys = self.forward(made.link, dirt, update) if len(groups) else dirt
            return None if keys.everything else keys.keys()
        parts = [self._open(part, update) for part in made.parts[: _operands(made)]]
        known = [part for part in parts if part is not None]
        is_any = len(known) < len(parts) if made.operator == "union_all" else not known
        if is_any:
            return None
        both = np.union1d if made.operator == "union_all" else np.intersect1d
        return reduce(both, known)

    def _agreeing(self, pair: Pair, store: Store, places: Places) -> Places:
        """The intervals that agree with the constants of a literal."""
        rows = store.rows(places)
        mask = np.ones(len(rows), np.bool_)
        columns = zip(
            (*pair.args, pair.value), (*rows.arguments, rows.columns[2]),
            (*store.domains, store.value_domain), strict=True,
        )  # fmt: skip
        for term, column, domain in columns:
            if not isinstance(term, Variable):
                mask &= column == constant_column(term, domain).data[0]
        return places if mask.all() else (places[0][mask], places[1][mask])

    # -- evaluation -------------------------------------------------------------------------

    def evaluate(self, dirt: Dirt, update: Update) -> None:
        """Derive the intervals where there is dirt."""
        dirt = self._pruned(at_or_after(dirt, update.bound), update)
        dirt = at_or_after(self._widened(dirt, update), update.bound)
        if not dirt:
            return
        cut = self.cut_context(self.shared_tables(dirt, update), update)
        table, unsure = evaluate_static(self.relation, self.definition, cut)
        store = self.stores.fluents[self.relation]
        ((arguments, values, starts, ends),) = pieces(table)
        intervals = StoredRows(arguments, [starts, ends, values])
        if dirt.everything:
            groups, _ = store.enter(intervals)
            self.note_change(
                self.relation, *splice(store, dirt, intervals, groups, update.bound), update
            )
        elif self._value is not None:
            self.note_change(
                self.relation, *splice_one(store, dirt, intervals, self._value), update
            )
        else:
            intervals, groups = within_dirt(dirt, intervals, store.groups(intervals))
            self.note_change(
                self.relation, *splice(store, dirt, intervals, groups, update.bound), update
            )
        if unsure is not None:
            update.open_at_query[self.relation] = unsure
            open_rows = StoredRows(unsure[:-1], unsure[-1:])
            groups = store.groups(open_rows)
            self.stores.open_at_query[self.relation] = np.unique(groups[groups >= 0])

    def _pruned(self, dirt: Dirt, update: Update) -> Dirt:
        """The dirt without stretches on which the fluent neither held nor can hold now.

        If the key is a pair of vessels, for example, a change of one vessel is dirt of all its
        pairs, and in most of them the vessels are far apart then.
        """
        links = [read.link for read in self._bounding_lists]
        same = [self._is_same(self._store(link.relation), link) for link in links]
        if dirt.everything or not all(same) or len(self.links) == len(links):
            return dirt
        parts = []
        for store in {id(s): s for s in map(self._store, [r.relation for r in links])}.values():
            parts.append(self._intervals_touching(store, dirt))
        parts.append(self._intervals_touching(self.stores.fluents[self.relation], dirt))
        there = joined(parts)
        rows, starts, ends = cut_by(
            dirt.groups, dirt.starts, dirt.ends, there.groups, there.starts, there.ends,
            inside=True,
        )  # fmt: skip
        return Dirt(dirt.groups[rows], starts, ends)

    def _intervals_touching(self, store: Store, dirt: Dirt) -> Dirt:
        """The intervals of a fluent that overlap or touch dirt."""
        places = store.overlapping(dirt)
        return Dirt.of(
            places[1], store.shelf.column(0, places[0]), store.shelf.column(1, places[0])
        )

    def _widened(self, dirt: Dirt, update: Update) -> Dirt:
        """The dirt, widened to all intervals that it touches and whose durations are compared."""
        reads = list(
            dict.fromkeys(read for duration in self._durations for read in duration.reads())
        )
        if not reads or dirt.everything:
            return dirt
        while True:
            parts = [dirt]
            for read in reads:
                read_dirt = self.backward(read.link, dirt)
                if read_dirt.everything:
                    return Dirt.all()
                store = self.stores.fluents[read.link.relation]
                places = self._agreeing(read.pair, store, store.overlapping(read_dirt))
                starts, ends = store.shelf.rows(places[0])[:2]
                touched = Dirt.of(places[1], starts, ends)
                parts.append(self._of_dirty_keys(self.forward(read.link, touched, update), dirt))
            wider = joined(parts)
            if len(wider.groups) == len(dirt.groups) and all(
                np.array_equal(one, other)
                for one, other in ((wider.starts, dirt.starts), (wider.ends, dirt.ends))
            ):
                return dirt
            dirt = wider

    def _of_dirty_keys(self, stretches: Dirt, dirt: Dirt) -> Dirt:
        """The stretches whose keys have dirt."""
        if stretches.everything:
            return stretches
        has_dirt = np.isin(stretches.groups, dirt.groups)
        return Dirt(
            stretches.groups[has_dirt], stretches.starts[has_dirt], stretches.ends[has_dirt]
        )


def _operands(made: _MadeList) -> int:
    """How many of its parts decide whether a list is open."""
    is_first = made.operator not in ("union_all", "intersect_all")
    return 1 if is_first else len(made.parts)
