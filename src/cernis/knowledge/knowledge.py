"""Background knowledge as the rest of the engine meets it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from cernis.errors import KnowledgeError
from cernis.knowledge.classify import Predicate, Route, classify, grouped
from cernis.knowledge.fact_tables import FactTable, table_of_facts, table_of_rows
from cernis.knowledge.ground_values import Key, Row, label
from cernis.knowledge.inline import Expansion, Known
from cernis.knowledge.materialise import materialise
from cernis.knowledge.modes import names
from cernis.knowledge.relations import IndexedRows
from cernis.knowledge.resolution.builtins import BUILTINS, Mode
from cernis.knowledge.resolution.database import Database
from cernis.knowledge.resolution.machine import Limits
from cernis.knowledge.resolution.resolution_engine import Resolver
from cernis.knowledge.rules import looked_up
from cernis.knowledge.unknown import unknown
from cernis.syntax.printer import show
from cernis.syntax.tree import Clause, Term, functor, walk

_MOST_LEVELS: Final = 20
"""So many predicates may wait for one another's rows."""

UNCERTAIN = (
    "has facts with a probability; only rules over time that look them up can use them, in a run "
    "over uncertain records"
)


class Knowledge:
    """The background facts and rules of a program, and tables beside them.

    `clauses` are those of background predicates only. `tables` give rows for predicates by name
    and number of arguments; a predicate may have both, its rows come first. `declared` are
    predicates that are known and may have no fact, as `:- dynamic` makes them; `growing` those to
    which a run adds rows. A clause for a built-in predicate is left out and named in `shadowed`,
    unless the built-in is of the library.

    Nothing is evaluated before it is asked for; what was computed is kept. Knowledge does not
    change: `filled` gives another one. It survives pickling, without what it has computed.

    >>> from cernis.syntax import parse, parse_term
    >>> text = "linked(1, 2). linked(2, 3). jet(X, Y) :- linked(X, Y). "
    >>> knowledge = Knowledge(parse(text + "jet(X, Z) :- linked(X, Y), jet(Y, Z).").items)
    >>> knowledge.predicates["jet", 2].route.value
    'materialise'
    >>> sorted(knowledge.table("jet", 2).rows())
    [(1, 2), (1, 3), (2, 3)]
    """

    def __init__(
        self,
        clauses: Iterable[Clause],
        tables: Mapping[Key, FactTable] = MappingProxyType({}),
        declared: Iterable[Key] = (),
        limits: Limits | None = None,
        growing: Iterable[Key] = (),
    ) -> None:
        self._limits = limits or Limits()
        self._given = (
            tuple(clauses), dict(tables), tuple(declared), self._limits, tuple(growing)
        )  # fmt: skip
        by_key = grouped(self._given[0])
        _see(by_key, tables)
        core = {key for key, known in BUILTINS.items() if not known.library}
        self.shadowed: tuple[Key, ...] = tuple(key for key in by_key if key in core)
        kept = {key: each for key, each in by_key.items() if key not in core}
        empty = {key: table_of_rows(key, []) for key in (*self._given[2], *self._given[4])}
        self._predicates = classify(kept, {**empty, **tables}, frozenset(self._given[4]))
        self.predicates: Mapping[Key, Predicate] = MappingProxyType(self._predicates)
        by_route = _by_route(self._predicates)
        self._inlined = {key: self._predicates[key].clauses for key in by_route[Route.INLINE]}
        self._tables = {*by_route[Route.TABLE], *by_route[Route.MATERIALISE]}
        self._modes = {key: Mode(each.needs, each.binds) for key, each in self.predicates.items()}
        self._found: dict[Key, FactTable] = {}
        self._relations: dict[Key, IndexedRows] = {}
        self._below, self._levels = _layers(self._predicates)
        self._resolver = Resolver(self._database(), self._limits)

    def __reduce__(self) -> tuple[type[Knowledge], tuple[Any, ...]]:
        return type(self), self._given

    def grows(self, goal: Term) -> bool:
        """Does the answer to a goal rest on rows that a run adds?"""
        known = (self._predicates.get(functor(node)) for node in walk(goal))
        return any(predicate is not None and predicate.grows for predicate in known)

    def filled(self, rows: Mapping[Key, Sequence[Row]]) -> Knowledge:
        """The same knowledge with rows that a run has added, and what does not rest on them."""
        other = copy(self)
        grown = {key: _with_rows(self._predicates[key], known) for key, known in rows.items()}
        other._predicates = {**self._predicates, **grown}
        other.predicates = MappingProxyType(other._predicates)
        kept = {key for key, predicate in self._predicates.items() if not predicate.grows}
        other._found = {key: known for key, known in self._found.items() if key in kept}
        other._relations = {key: known for key, known in self._relations.items() if key in kept}
        other._resolver = Resolver(other._database(), self._limits)
        return other

    def table(self, name: str, arity: int) -> FactTable:
        """All rows of a predicate that is a table or is materialised; computed when first asked.

        Facts come in their order, given rows in front; materialised rows are distinct.
        """
        key = (name, arity)
        if key not in self._found:
            predicate = self._predicate(key)
            if predicate.route is Route.TABLE:
                self._found[key] = _facts(predicate)
            elif predicate.route is Route.MATERIALISE:
                self._found[key] = table_of_rows(key, list(self._relation(key).rows))
            else:
                hint = "expand it" if predicate.route is Route.INLINE else "solve it for arguments"
                raise KnowledgeError(label(key), f"has no table ({predicate.reason}); {hint}")
        return self._found[key]

    def inline(self, goal: Term, bound: Collection[str] = (), avoid: Collection[str] = ()) -> Term:
        """The goal with every inlined predicate in it replaced by its definition.

        The goal may be a whole body: conjunctions, disjunctions, negations and collections are
        gone into. `bound` are the variables that are bound where it stands, exactly: every other
        one is taken to be unbound there. `avoid` are the names that fresh variables must not get,
        beside those of the goal: all variables of the rule around it.

        What is left are comparisons, arithmetic, literals of predicates that have a table, and
        goals that cannot be expanded where they stand: those are to be solved.
        """
        taken = {*names(goal), *bound, *avoid}
        expansion = Expansion(self._inlined, self._tables, self._modes, taken, strict=False)
        return expansion.goal(goal, Known(frozenset(bound)))[0]

    def solve(self, goal: Term, limit: int | None = None) -> Iterator[dict[str, Term]]:
        """The answers to a goal by resolution; see `Resolver.solve`."""
        return self._resolver.solve(goal, limit)

    def solve_many(
        self, goal: Term, inputs: Sequence[str], tuples: Iterable[Row]
    ) -> dict[Row, tuple[Row, ...]]:
        """The answers to a goal for each distinct tuple; see `Resolver.solve_many`."""
        return self._resolver.solve_many(goal, inputs, tuples)

    def _predicate(self, key: Key) -> Predicate:
        predicate = self._predicates.get(key)
        if predicate is None:
            raise KnowledgeError(label(key), unknown(key, self._predicates))
        return predicate

    def _database(self) -> Database:
        clauses, rows, refused = {}, {}, {}
        for key, predicate in self._predicates.items():
            if key in self._tables:
                rows[key] = self._rows_of(key)
            else:
                clauses[key] = predicate.clauses
                if predicate.table is not None:
                    rows[key] = predicate.table.rows
            if predicate.refused or predicate.chances is not None:
                refused[key] = predicate.refused or UNCERTAIN
        recursive = [key for key, each in self._predicates.items() if each.recursive]
        return Database(clauses, rows, recursive, refused)

    def _rows_of(self, key: Key) -> Callable[[], Iterable[Row]]:
        return lambda: self.table(*key).rows()

    def _relation(self, key: Key) -> IndexedRows:
        """The rows of a predicate; those of others are asked for where its rules need them.

        Below a long chain of predicates, some are worked out beforehand, from the bottom up: each
        link takes some calls, and there is a limit to how many may be open.
        """
        for below in self._landings(key) if key not in self._relations else ():
            self._rows_at(below)
        return self._rows_at(key)

    def _landings(self, key: Key) -> list[Key]:
        """Every so many levels below a predicate, those that are materialised, lowest first."""
        if self._levels.get(key, 0) <= _MOST_LEVELS:
            return []
        seen, stack = {key}, [key]
        while stack:
            for below in self._below[stack.pop()]:
                if below not in seen and below not in self._relations:
                    seen.add(below)
                    stack.append(below)
        landings = [each for each in seen - {key} if not self._levels[each] % _MOST_LEVELS]
        return sorted(landings, key=self._levels.__getitem__)

    def _rows_at(self, key: Key) -> IndexedRows:
        if key not in self._relations:
            predicate = self._predicates[key]
            if predicate.chances is not None:
                raise KnowledgeError(label(key), UNCERTAIN)
            if predicate.route is Route.TABLE:
                self._relations[key] = IndexedRows(self.table(*key).rows())
            else:
                self._relations.update(self._materialise(predicate.group))
        return self._relations[key]

    def _materialise(self, group: Sequence[Key]) -> dict[Key, IndexedRows]:
        members = [self._predicates[key] for key in group]
        rules = [rule for member in members for rule in member.rules]
        given_rows = {each.key: each.table.rows() for each in members if each.table is not None}
        return materialise(group, rules, given_rows, self._rows_at, self._limits)


def _layers(
    predicates: Mapping[Key, Predicate],
) -> tuple[dict[Key, list[Key]], dict[Key, int]]:
    """For each materialised predicate: those its rules look up, and how many lie below another."""
    below: dict[Key, list[Key]] = {}
    levels: dict[Key, int] = {}
    # Predicates come after those they call, and a group that calls itself is on one level.
    for key, predicate in predicates.items():
        if predicate.route is Route.MATERIALISE:
            group = [predicates[each] for each in predicate.group]
            rules = (rule for member in group for rule in member.rules)
            asked = {each for rule in rules for each in looked_up(rule.parts)}
            below[key] = [each for each in asked if each in below and each not in predicate.group]
            levels[key] = 1 + max((levels[each] for each in below[key]), default=0)
    return below, levels


def _by_route(predicates: Mapping[Key, Predicate]) -> dict[Route, list[Key]]:
    keys: dict[Route, list[Key]] = {route: [] for route in Route}
    for key, predicate in predicates.items():
        keys[predicate.route].append(key)
    return keys


def _facts(predicate: Predicate) -> FactTable:
    """The rows given for a predicate and the facts of its clauses after them."""
    if predicate.table is None:
        return table_of_facts(predicate.key, predicate.clauses)
    if not predicate.clauses:
        return predicate.table
    facts = table_of_facts(predicate.key, predicate.clauses)
    return table_of_rows(predicate.key, [*predicate.table.rows(), *facts.rows()])


def _with_rows(predicate: Predicate, rows: Sequence[Row]) -> Predicate:
    """A table with further rows, those that it has already left out."""
    before = [] if predicate.table is None else list(predicate.table.rows())
    known = {*before, *table_of_facts(predicate.key, predicate.clauses).rows()}
    more = [row for row in dict.fromkeys(rows) if row not in known]
    return replace(predicate, table=table_of_rows(predicate.key, [*before, *more]))


def _see(clauses: Mapping[Key, Sequence[Clause]], tables: Mapping[Key, FactTable]) -> None:
    if ("", 0) in clauses:
        head = show(clauses["", 0][0].head)
        raise KnowledgeError(head, "is no predicate; the head of a clause is an atom or a compound")
    for key, table in tables.items():
        if table.arity != key[1]:
            raise KnowledgeError(label(key), f"is given a table of {table.arity} columns")
