"""How each background predicate is going to be answered, and why."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Final

from cernis.knowledge.call_graph import calls, leaves
from cernis.knowledge.digraphs import strong_components
from cernis.knowledge.fact_tables import FactTable
from cernis.knowledge.ground_values import Key, is_ground, label
from cernis.knowledge.inline import CUT, DEEPEST, Expansion, Known, NotInline
from cernis.knowledge.modes import group_modes, names
from cernis.knowledge.resolution.builtins import BUILTINS, Mode
from cernis.knowledge.rules import NotDatalog, Rule, read_rules
from cernis.knowledge.terms import conjunction
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Number,
    Term,
    Text,
    Variable,
    functor,
    variables,
    walk,
)

MOST_INLINE_CLAUSES: Final = 64
MOST_INLINE_FACTS: Final = 8
"""Facts beside rules from which on a table is preferred to a disjunction of them."""


class Route(StrEnum):
    """The way a predicate is answered."""

    TABLE = "table"
    """Facts only: a look-up."""
    INLINE = "inline"
    """Expanded where it is used, into comparisons and look-ups."""
    MATERIALISE = "materialise"
    """Computed once, bottom-up, then a look-up."""
    RESOLVE = "resolve"
    """Proved by resolution for each distinct tuple of arguments."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A background predicate and how it is answered.

    `needs` are the argument positions, from 0, that have to be bound where it is called, `binds`
    those that are bound after it. An inlined predicate with a cut is proved by resolution where
    its needs are not met. `missing` are the predicates its clauses call and nothing defines;
    `refused` says why it cannot be called at all, if so. `rules` are there if it is materialised,
    and `table` if rows were given for it.
    """

    name: str
    arity: int
    route: Route
    reason: str
    clauses: tuple[Clause, ...] = ()
    needs: tuple[int, ...] = ()
    binds: tuple[int, ...] = ()
    recursive: bool = False
    missing: tuple[Key, ...] = ()
    refused: str = ""
    group: tuple[Key, ...] = ()
    rules: tuple[Rule, ...] = field(default=(), repr=False)
    table: FactTable | None = field(default=None, repr=False)
    chances: tuple[float, ...] | None = field(default=None, repr=False)
    """The probability of each fact of a table, if some are uncertain."""
    grows: bool = False
    """Does it rest on rows that a run adds?"""

    @property
    def key(self) -> Key:
        """Name and number of arguments."""
        return self.name, self.arity


def grouped(clauses: Iterable[Clause]) -> dict[Key, list[Clause]]:
    """Clauses by the predicate they define, in the order of the text."""
    groups: dict[Key, list[Clause]] = {}
    for clause in clauses:
        key = functor(clause.head)
        if key in groups:
            groups[key].append(clause)
        else:
            groups[key] = [clause]
    return groups


def classify(
    clauses: Mapping[Key, Sequence[Clause]], tables: Mapping[Key, FactTable],
    growing: Collection[Key] = (),
) -> dict[Key, Predicate]:  # fmt: skip
    """The predicates that clauses define or tables give, each after those it calls.

    A run adds rows to the `growing` ones. What rests on them is expanded into look-ups where that
    can be: other answers have to be found again whenever there are further rows.
    """
    return _Classifier(clauses, tables, growing).all()


class _Classifier:
    def __init__(
        self, clauses: Mapping[Key, Sequence[Clause]], tables: Mapping[Key, FactTable],
        growing: Collection[Key],
    ) -> None:  # fmt: skip
        self._clauses = clauses
        self._tables = tables
        self._growing = set(growing)
        self._found: dict[Key, Predicate] = {}
        self._modes: dict[Key, Mode] = {}
        self._inlined: dict[Key, Sequence[Clause]] = {}
        self._rows: set[Key] = set()
        self._depths: dict[Key, int] = {}

    def all(self) -> dict[Key, Predicate]:
        rest: dict[Key, list[Key]] = {}
        for key in dict.fromkeys([*self._tables, *self._clauses]):
            if self._is_table(key):
                self._keep(self._table(key))
            else:
                called = (calls(clause, self._clauses) for clause in self._clauses[key])
                rest[key] = list(dict.fromkeys(chain.from_iterable(called)))
        for group in strong_components(rest, rest):
            self._group(tuple(group), rest)
        return self._found

    def _keep(self, predicate: Predicate) -> None:
        key = predicate.key
        self._found[key] = predicate
        self._modes[key] = Mode(predicate.needs, predicate.binds)
        if predicate.route in (Route.TABLE, Route.MATERIALISE):
            self._rows.add(key)
        elif predicate.route is Route.INLINE:
            self._inlined[key] = predicate.clauses
        if predicate.route is not Route.INLINE:
            self._depths.pop(key, None)

    def _is_table(self, key: Key) -> bool:
        return all(map(_is_ground_fact, self._clauses.get(key, ())))

    def _table(self, key: Key) -> Predicate:
        clauses = tuple(self._clauses.get(key, ()))
        table = self._tables.get(key)
        facts = [_counted(len(clauses), "fact")] if clauses else []
        rows = [_counted(len(table), "row") + " given"] if table is not None and len(table) else []
        growing = ["filled from the input"] if key in self._growing else []
        reason = " and ".join([*facts, *rows, *growing]) or "no facts yet"
        binds = tuple(range(key[1]))
        chances = None
        if any(clause.probability is not None for clause in clauses):
            reason += ", with probabilities"
            clause_chances = (
                1.0 if clause.probability is None else clause.probability for clause in clauses
            )
            chances = (*[1.0] * (len(table) if table is not None else 0), *clause_chances)
        return Predicate(
            *key, Route.TABLE, reason, clauses, binds=binds, table=table, chances=chances,
            grows=key in self._growing,
        )  # fmt: skip

    def _group(self, group: tuple[Key, ...], edges: Mapping[Key, Sequence[Key]]) -> None:
        recursive = len(group) > 1 or group[0] in edges[group[0]]
        modes = group_modes(group, self._clauses, self._modes)
        base = {key: self._base(key, group, recursive, edges[key], modes[key]) for key in group}
        if any(predicate.refused or predicate.missing for predicate in base.values()):
            for predicate in base.values():
                self._keep(predicate)
            return
        rests_on = {called for key in group for called in edges[key]} & self._growing
        if rests_on:
            self._growing |= base.keys()
        for predicate in self._routed(base, recursive, bool(rests_on)):
            self._keep(replace(predicate, grows=bool(rests_on)))

    def _base(
        self, key: Key, group: tuple[Key, ...], recursive: bool, called: Sequence[Key], mode: Mode
    ) -> Predicate:
        clauses = tuple(self._clauses[key])
        missing = tuple(
            each for each in called if each not in self._found and each not in self._clauses
        )
        refused, reason = "", f"calls {', '.join(map(label, missing))}, which nothing defines"
        if any(clause.probability is not None for clause in clauses):
            refused = reason = "has rules with a probability, which only facts can have"
        return Predicate(
            *key, Route.RESOLVE, reason, clauses, mode.needs, mode.binds, recursive, missing,
            refused, group, table=self._tables.get(key),
        )  # fmt: skip

    def _routed(
        self, base: Mapping[Key, Predicate], recursive: bool, grows: bool
    ) -> list[Predicate]:
        reasons: list[str] = []
        attempts = [self._materialised] if recursive else [self._inline, self._materialised]
        if not recursive and not grows and self._prefers_rows(next(iter(base.values()))):
            attempts.reverse()
        for attempt in attempts:
            try:
                return attempt(base)
            except (NotInline, NotDatalog) as refusal:
                reasons.append(str(refusal))
        reason = ("recursive, and " if recursive else "") + reasons[0]
        return [_with(each, Route.RESOLVE, reason) for each in base.values()]

    def _prefers_rows(self, predicate: Predicate) -> bool:
        return sum(map(_is_fact, predicate.clauses)) > MOST_INLINE_FACTS

    def _inline(self, base: Mapping[Key, Predicate]) -> list[Predicate]:
        (predicate,) = base.values()
        key = predicate.key
        if predicate.table is not None:
            raise NotInline("has rows and rules")
        if self._nested(key) > DEEPEST:
            raise NotInline(f"its expansion goes more than {DEEPEST} definitions deep")
        if len(predicate.clauses) > MOST_INLINE_CLAUSES:
            raise NotInline(f"has more than {MOST_INLINE_CLAUSES} clauses")
        needs = {*predicate.needs, *_guarded(predicate)}
        args = [Variable(f"Arg{position}") for position in range(1, key[1] + 1)]
        goal: Term = Compound(key[0], tuple(args)) if args else Atom(key[0])
        bound = frozenset(args[position].name for position in needs)
        own: dict[Key, Sequence[Clause]] = {key: predicate.clauses}
        inlined = ChainMap(own, self._inlined)
        modes = ChainMap({key: Mode(predicate.needs, predicate.binds)}, self._modes)
        Expansion(inlined, self._rows, modes, names(goal), strict=True).goal(goal, Known(bound))
        cut = any(CUT in clause.body for clause in predicate.clauses)
        how = _counted(len(predicate.clauses), "clause") + " of comparisons and look-ups"
        reason = f"{how}, cuts made exclusive branches" if cut else how
        binds = tuple(position for position in predicate.binds if position not in needs)
        return [_with(predicate, Route.INLINE, reason, needs=tuple(sorted(needs)), binds=binds)]

    def _nested(self, key: Key) -> int:
        """How many definitions deep the expansion of a predicate goes."""
        called = (calls(clause, self._clauses) for clause in self._clauses[key])
        depths = self._depths
        depths[key] = 1 + max((depths.get(each, 0) for each in chain(*called)), default=0)
        return depths[key]

    def _materialised(self, base: Mapping[Key, Predicate]) -> list[Predicate]:
        done = []
        for predicate in base.values():
            rules = [
                rule for clause in predicate.clauses for rule in self._rules(clause, base.keys())
            ]
            recursive = "recursive, " if predicate.recursive else ""
            often = "whenever it grows" if self._growing & base.keys() else "once"
            count = _counted(len(rules), "rule")
            reason = f"{recursive}range-restricted: {count}, computed {often}"
            binds = tuple(range(predicate.arity))
            done.append(_with(predicate, Route.MATERIALISE, reason, (), binds, tuple(rules)))
        return done

    def _rules(self, clause: Clause, group: Collection[Key]) -> list[Rule]:
        if any(node == CUT for goal in clause.body for node in walk(goal)):
            raise NotDatalog("has a cut")
        taken = {each.name for term in (clause.head, *clause.body) for each in variables(term)}
        expansion = Expansion(self._inlined, self._rows, self._modes, taken, strict=False)
        body, _ = expansion.body(clause.body, Known())
        return list(read_rules(clause.head, conjunction(body), self._rows, group))


def _with(
    predicate: Predicate,
    route: Route,
    reason: str,
    needs: tuple[int, ...] | None = None,
    binds: tuple[int, ...] | None = None,
    rules: tuple[Rule, ...] = (),
) -> Predicate:
    return Predicate(
        *predicate.key, route, reason, predicate.clauses,
        predicate.needs if needs is None else needs,
        predicate.binds if binds is None else binds,
        predicate.recursive, predicate.missing, predicate.refused, predicate.group, rules,
        predicate.table,
    )  # fmt: skip


def _is_fact(clause: Clause) -> bool:
    return clause.probability is None and _is_ground_fact(clause)


def _is_ground_fact(clause: Clause) -> bool:
    """Is it a ground fact, with or without a probability?"""
    if clause.body:
        return False
    head = clause.head
    args = head.args if isinstance(head, Compound) else ()
    return all(type(arg) in _PLAIN or is_ground(arg) for arg in args)


_PLAIN: Final = (Atom, Number, Text)


def _guarded(predicate: Predicate) -> set[int]:
    """The positions whose variables a guard in front of a cut looks up."""
    positions = set()
    for clause in predicate.clauses:
        if CUT in clause.body and isinstance(clause.head, Compound):
            guard = clause.body[: clause.body.index(CUT)]
            goals = chain.from_iterable(map(leaves, guard))
            looked_up = (leaf for leaf in goals if functor(leaf) not in BUILTINS)
            wanted = frozenset().union(*map(names, looked_up))
            args = enumerate(clause.head.args)
            positions |= {position for position, arg in args if names(arg) & wanted}
    return positions


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
