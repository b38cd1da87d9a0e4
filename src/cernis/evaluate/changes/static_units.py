"""Statically determined fluents brought up to date where what they are made of has changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from cernis.check.model import Pair
from cernis.evaluate.changes.dirt import Dirt, joined
from cernis.evaluate.changes.splicing import behind, inside, splice, splice_one
from cernis.evaluate.changes.stores import Places, Rows, Store
from cernis.evaluate.changes.units import DURATION, Kept, Unit, Update
from cernis.kernels.array_types import Integers
from cernis.kernels.intervals.stretches import cut as cut_by
from cernis.operators.intervals.bindings import is_local
from cernis.operators.intervals.pieces import pieces
from cernis.operators.intervals.static_fluents import evaluate_static
from cernis.operators.query_context import Context, constant_column
from cernis.plan.key_reads import Link
from cernis.plan.logical import Combine, Definition, Fetch, IntervalRule, Require, Stratum
from cernis.syntax.tree import Variable
from cernis.tables.interval_tables import INFINITY

_POINT_BY_POINT = frozenset({"union_all", "intersect_all", "relative_complement_all"})
_DURATIONS = frozenset({"intDurGreater", "intDurLess"})


def can_be_cut(definition: Definition) -> bool:
    """Does what rules derive at a point depend only on what holds there, or around it?"""
    return all(
        _is_plain(rule) and is_local(rule, bool(definition.groundings))
        for rule in definition.rules
        if isinstance(rule, IntervalRule)
    )


def _is_plain(rule: IntervalRule) -> bool:
    steps = [step for step in rule.steps if isinstance(step, Combine)]
    known = all(step.operator in _POINT_BY_POINT | _DURATIONS and step.inputs for step in steps)
    requires = [step for step in rule.steps if isinstance(step, Require)]
    required = {step.intervals for step in requires}
    return (
        known
        and not any(s.negated for s in requires)
        and required <= {rule.output} | _holding(rule)
    )


def _holding(rule: IntervalRule) -> set[str]:
    """The lists that hold wherever the result does: such a list is not empty if the result is."""
    holding: dict[str, set[str]] = {}
    for step in rule.steps:
        if isinstance(step, Fetch):
            holding[step.output] = {step.output}
        elif isinstance(step, Combine):
            inputs = [holding[name] for name in step.inputs]
            if step.operator == "union_all":
                found = set.intersection(*inputs)
            elif step.operator == "intersect_all":
                found = set().union(*inputs)
            else:
                found = inputs[0]
            holding[step.output] = {*found, step.output}
    return holding[rule.output]


@dataclass(frozen=True, slots=True)
class _Read:
    """A list that a rule fetches: by which keys, and of which constants."""

    pair: Pair
    link: Link
    is_of_one: bool
    """Does the key determine all arguments of the list?"""


@dataclass(frozen=True, slots=True)
class _Lasting:
    """The list that a duration is asked of, by what makes it up."""

    operator: str
    parts: tuple[_Lasting | _Read, ...]

    def reads(self) -> tuple[_Read, ...]:
        """Lists within which all its intervals lie: as few as can be, and whole keys if there are.

        Of an intersection, any one of its operands will do.
        """
        every = [(part,) if isinstance(part, _Read) else part.reads() for part in self.parts]
        if self.operator == "union_all":
            return tuple(dict.fromkeys(read for own in every for read in own))
        if self.operator != "intersect_all":
            return every[0]
        return min(every, key=lambda own: (-min(len(r.link.pairs) for r in own), len(own)))

    def every_read(self) -> Iterator[_Read]:
        """All lists that make it up."""
        for part in self.parts:
            yield from (part,) if isinstance(part, _Read) else part.every_read()

    @property
    def is_joined(self) -> bool:
        """Is it made of intervals of which some may be forgotten before others that they meet?"""
        return any(
            not part.is_of_one if isinstance(part, _Read) else part.is_joined for part in self.parts
        ) or self.operator in ("union_all", "relative_complement_all")


class StaticUnit(Unit):
    """A statically determined fluent, evaluated only where there is dirt.

    Where durations are asked for, dirt is widened to the intervals that it touches.
    """

    def __init__(self, stage: int, stratum: Stratum, kept: Kept) -> None:
        super().__init__(stage, [stratum], kept)
        (self.definition,) = self.definitions.values()
        self.relation = self.definition.relation
        self.looks_back = False
        rules = [rule for rule in self.definition.rules if isinstance(rule, IntervalRule)]
        self._value = self._one_value(rules)
        self._asked: list[_Lasting] = []
        self._within: list[_Read] = []
        for rule in rules:
            self._note(rule)

    def _one_value(self, rules: list[IntervalRule]) -> int | None:
        """The code of the only value there is, if the key also determines all arguments."""
        store = self.kept.fluents[self.relation]
        values = {rule.head.value for rule in rules}
        is_whole = len(store.positions) == self.relation.arity
        if not is_whole or len(values) > 1 or store.value_domain is None:
            return None
        (value,) = values
        is_constant = not isinstance(value, Variable)
        return int(constant_column(value, store.value_domain).data[0]) if is_constant else None

    def _note(self, rule: IntervalRule) -> None:
        """Note the lists that durations are asked of, and those that the result lies within."""
        keys = self.kept.spaces.homes[self.relation].positions
        wanted = [rule.head.args[at] for at in keys]
        made: dict[str, _Lasting | _Read] = {}
        for step in rule.steps:
            if isinstance(step, Fetch):
                args = step.pair.args
                pairs = tuple(
                    (args.index(term), at) for at, term in enumerate(wanted) if term in args
                )
                others = {own for own in (*args, step.pair.value) if isinstance(own, Variable)}
                link = Link(step.pair.relation, pairs)
                made[step.output] = _Read(step.pair, link, others <= set(wanted))
            elif isinstance(step, Combine):
                parts = tuple(made[name] for name in step.inputs)
                made[step.output] = _Lasting(step.operator, parts)
                if step.operator in _DURATIONS:
                    self._asked.append(_Lasting(step.operator, parts[:1]))
        self._within += _Lasting("union_all", (made[rule.output],)).reads()
        for asked in self._asked:
            if asked.is_joined:
                self.kept.missed |= {read.link.relation for read in asked.every_read()}

    # -- what is affected -------------------------------------------------------------------

    def by_time(self, update: Update) -> Iterator[Dirt]:
        """The keys of lists that were open at the query before: they have become longer."""
        assert update.before is not None
        for asked in self._asked:
            if asked.operator == DURATION:
                groups = self._open(asked, update)
                if groups is None:
                    yield Dirt.all()
                    return
                points = np.full(len(groups), update.before)
                yield Dirt(groups, points, np.full(len(groups), INFINITY))
        for asked in self._asked:
            if asked.is_joined:
                for read in asked.every_read():
                    groups = update.missed[read.link.relation]
                    points = np.full(len(groups), update.bound)
                    yield self.forward(read.link, Dirt(groups, points, points + 1), update)

    def _open(self, made: _Lasting | _Read, update: Update) -> Integers | None:
        """The keys for which a list is open, in order; None if it may be any."""
        if isinstance(made, _Read):
            store = self.kept.fluents[made.link.relation]
            places = self._meant(made.pair, store, store.shelf.reaching(INFINITY), update.context)
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

    def _meant(self, pair: Pair, store: Store, places: Places, context: Context) -> Places:
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
        """Derive what holds where there is dirt."""
        dirt = self._pruned(behind(dirt, update.bound), update)
        dirt = behind(self._widened(dirt, update), update.bound)
        if not dirt:
            return
        cut = self.cut(self.look_at(dirt, update), update)
        table, unsure = evaluate_static(self.relation, self.definition, cut)
        store = self.kept.fluents[self.relation]
        ((arguments, values, starts, ends),) = pieces(table)
        found = Rows(arguments, [starts, ends, values])
        if dirt.everything:
            groups, _ = store.enter(found)
            self.note(self.relation, *splice(store, dirt, found, groups, update.bound), update)
        elif self._value is not None:
            self.note(self.relation, *splice_one(store, dirt, found, self._value), update)
        else:
            found, groups = inside(dirt, found, store.groups(found))
            self.note(self.relation, *splice(store, dirt, found, groups, update.bound), update)
        if unsure is not None:
            update.unsure[self.relation] = unsure
            own = Rows(unsure[:-1], unsure[-1:])
            groups = store.groups(own)
            self.kept.unsure[self.relation] = np.unique(groups[groups >= 0])

    def _pruned(self, dirt: Dirt, update: Update) -> Dirt:
        """The dirt without stretches on which the fluent neither held nor can hold now.

        Changes of a vessel, say, are dirt of all its pairs, most of which are far apart then.
        """
        links = [read.link for read in self._within]
        same = [self._is_same(self._store(link.relation), link) for link in links]
        if dirt.everything or not all(same) or len(self.links) == len(links):
            return dirt
        parts = []
        for store in {id(s): s for s in map(self._store, [r.relation for r in links])}.values():
            parts.append(self._lists(store, dirt))
        parts.append(self._lists(self.kept.fluents[self.relation], dirt))
        there = joined(parts)
        rows, starts, ends = cut_by(
            dirt.groups, dirt.starts, dirt.ends, there.groups, there.starts, there.ends,
            inside=True,
        )  # fmt: skip
        return Dirt(dirt.groups[rows], starts, ends)

    def _lists(self, store: Store, dirt: Dirt) -> Dirt:
        """The intervals of a fluent that overlap or touch dirt."""
        places = store.overlapping(dirt)
        return Dirt.of(
            places[1], store.shelf.column(0, places[0]), store.shelf.column(1, places[0])
        )

    def _widened(self, dirt: Dirt, update: Update) -> Dirt:
        """The dirt with the whole of all intervals that it touches, of which durations matter."""
        reads = list(dict.fromkeys(read for asked in self._asked for read in asked.reads()))
        if not reads or dirt.everything:
            return dirt
        while True:
            parts = [dirt]
            for read in reads:
                own = self.backward(read.link, dirt)
                if own.everything:
                    return Dirt.all()
                store = self.kept.fluents[read.link.relation]
                places = self._meant(read.pair, store, store.overlapping(own), update.context)
                starts, ends = store.shelf.rows(places[0])[:2]
                touched = Dirt.of(places[1], starts, ends)
                parts.append(self._touching(self.forward(read.link, touched, update), dirt))
            wider = joined(parts)
            if len(wider.groups) == len(dirt.groups) and all(
                np.array_equal(one, other)
                for one, other in ((wider.starts, dirt.starts), (wider.ends, dirt.ends))
            ):
                return dirt
            dirt = wider

    def _touching(self, found: Dirt, dirt: Dirt) -> Dirt:
        """The stretches of keys that have dirt."""
        if found.everything:
            return found
        own = np.isin(found.groups, dirt.groups)
        return Dirt(found.groups[own], found.starts[own], found.ends[own])


def _operands(made: _Lasting) -> int:
    """How many of its parts a list needs to be open."""
    is_first = made.operator not in ("union_all", "intersect_all")
    return 1 if is_first else len(made.parts)
