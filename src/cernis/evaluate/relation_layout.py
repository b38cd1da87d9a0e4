"""What a session and its ways of evaluating have in common: spaces, stores, and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.changes.differences import differing
from cernis.evaluate.changes.stores import Rows, Store, stacked
from cernis.evaluate.columns.pattern_history import Past
from cernis.evaluate.windowed_run import Window, counted_events, watched_fluents
from cernis.evaluate.working_memory import Memory
from cernis.kernels.array_types import Booleans
from cernis.operators.definitions.rule_heads import slot_domains
from cernis.operators.query_context import Attempts, Context, Memo
from cernis.plan.builder import Plan
from cernis.plan.key_reads import Home, Link, homes, links
from cernis.plan.open_heads import marked_event
from cernis.tables.domains import Domain, Domains
from cernis.tables.registers import Register


@dataclass(slots=True)
class Change:
    """Rows of a relation that are no longer there, and rows that are new.

    The columns of a fluent are start, end and value, those of an event its time, and its start if
    it is a pattern's.
    """

    gone: Rows
    come: Rows

    def __len__(self) -> int:
        return len(self.gone) + len(self.come)


Changed: TypeAlias = dict[Relation, Change]


@dataclass(slots=True)
class Outcome:
    """What a query has changed in the answer, and what it counted on its way."""

    changes: Changed = field(default_factory=dict)
    conflicts: int = 0

    def add(self, relation: Relation, change: Change) -> None:
        """Note what has changed of a relation, in addition to what is known by now."""
        known = self.changes.get(relation)
        if known is not None:
            change = Change(stacked(known.gone, change.gone), stacked(known.come, change.come))
        self.changes[relation] = change


@dataclass(slots=True)
class Standing:
    """All that one way of evaluating has to know of another's last query to go on from there."""

    query: int
    fluents: dict[Relation, Rows]
    """The intervals of all fluents, of the input, too: start, end, value."""
    events: dict[Relation, Rows]
    """The happenings of derived events in the window."""
    begun: dict[Relation, Rows]
    """The initiations that delayed effects are counted from: time, coded value and end."""
    remembered: dict[Relation, Rows] = field(default_factory=dict)
    """Intervals before the window's edge that rules look back at."""
    seen: dict[Relation, Rows] = field(default_factory=dict)
    """What the query saw of the fluents that later ones look back at."""
    history: Past | None = None
    """What patterns may need of occurrences before the edge."""


def rows_of_attempts(attempts: Attempts) -> Rows:
    """Attempts as they are kept."""
    return Rows(attempts.arguments, [attempts.times, attempts.values, attempts.ends])


def attempts_of(rows: Rows) -> Attempts:
    """Attempts from rows of them."""
    times, values, ends = rows.columns
    return Attempts(rows.arguments, values, times, ends)


class Spaces:
    """Where a program's relations are kept: by the keys of its stages."""

    def __init__(self, plan: Plan, context: Context, has_marks: bool = False) -> None:
        self.plan = plan
        self.context = context
        self.links: Mapping[Relation, tuple[Link, ...]] = links(plan.checked, plan.stages)
        self.homes: Mapping[Relation, Home] = homes(plan.stages, dict(self.links))
        self.marking = self._marking() if has_marks else {}
        self.registers = [self._register(dict(stage.keys), len(stage.key)) for stage in plan.stages]

    def _marking(self) -> dict[Relation, list[Relation]]:
        """For each event, the fluents whose rules mark its happenings."""
        found: dict[Relation, list[Relation]] = {}
        apart = watched_fluents(self.plan), counted_events(self.plan)
        if self.context.ties != "break":
            return found
        for stage in self.plan.stages:
            for stratum in stage.strata:
                for own in stratum.definitions:
                    event = marked_event(own) if own.kind == FluentKind.SIMPLE else None
                    is_apart = own.relation in apart[0] or stratum.immediate
                    if event is not None and event[0] not in apart[1] and not is_apart:
                        found.setdefault(event[0], []).append(own.relation)
        return found

    def _register(self, keys: dict[Relation, tuple[int, ...]], width: int) -> Register:
        if not width:
            return Register([])
        relation, positions = next(iter(keys.items()))
        domains = self.argument_domains(relation)
        return Register([domains[at] for at in positions])

    @property
    def are_coded(self) -> bool:
        """Are all keys made of codes, and not of numeric values?"""
        return all(None not in register.domains for register in self.registers)

    def argument_domains(self, relation: Relation) -> list[Domain | None]:
        """The encodings of a relation's arguments."""
        kind = "fluent" if relation in self.context.catalogue.fluents else "event"
        return [self.context.domain(kind, relation, at) for at in range(relation.arity)]

    def encoding(self, relation: Relation) -> tuple[list[Domain | None], Domain | None]:
        """The encodings of a relation's arguments and of its value."""
        if relation in self.context.catalogue.fluents:
            return slot_domains(relation, self.context)
        return self.argument_domains(relation), None

    def of(self, relation: Relation) -> tuple[Register, tuple[int, ...]]:
        """The register of a relation's key, and the arguments that are the key."""
        home = self.homes.get(relation, Home(None, ()))
        domains = self.argument_domains(relation)
        if home.stage is not None and None not in self.registers[home.stage].domains:
            return self.registers[home.stage], home.positions
        positions = tuple(at for at in home.positions or range(1) if at < len(domains)
                          and domains[at] is not None)  # fmt: skip
        return Register([domains[at] for at in positions]), positions

    def events(self, relation: Relation, width: int = 1) -> Store:
        """An empty store of happenings, or of other points."""
        register, positions = self.of(relation)
        domains = self.argument_domains(relation)
        marked = -(-len(self.marking.get(relation, ())) // 8) if width == 1 else 0
        return Store(relation, register, positions, domains, width, marked=marked)

    def fluent(self, relation: Relation, width: int = 3) -> Store:
        """An empty store of intervals."""
        register, positions = self.of(relation)
        domains, value_domain = slot_domains(relation, self.context)
        return Store(relation, register, positions, domains, width, value_domain, True)

    def memory(self, has_chances: bool = False) -> Memory:
        """An empty working memory for the program's input, whose records may be uncertain."""
        catalogue = self.context.catalogue
        more = int(has_chances)
        stores = {
            relation: self.events(relation, 1 + more)
            for relation, event in catalogue.events.items() if event.is_input
        }  # fmt: skip
        stores |= {
            relation: self.fluent(relation, 4 + more)
            for relation, fluent in catalogue.fluents.items() if fluent.kind is FluentKind.INPUT
        }  # fmt: skip
        return Memory(stores, self.context.tick, has_chances)


def context_of(
    plan: Plan, domains: Domains, memo: Memo, tick: int, ties: str, window: Window, start: int
) -> Context:
    """The context of a query, without any tables yet."""
    checked = plan.checked
    context = Context(
        plan.knowledge, checked.modes, checked.types, checked.catalogue, domains, tick, ties,
        start, window.edge, window.query, window.forgotten,
    )  # fmt: skip
    context.memo = memo
    context.sources = checked.sources
    return context


def told_apart(old: Rows, new: Rows) -> tuple[Booleans, Booleans]:
    """Which rows only one of two has: masks over the old and the new."""
    one, two = [*old.arguments, *old.columns], [*new.arguments, *new.columns]
    if not len(old) or not len(new):
        return np.ones(len(old), np.bool_), np.ones(len(new), np.bool_)
    pairs = [np.promote_types(a.dtype, b.dtype) for a, b in zip(one, two, strict=True)]
    one = [a.astype(kind, copy=False) for a, kind in zip(one, pairs, strict=True)]
    two = [b.astype(kind, copy=False) for b, kind in zip(two, pairs, strict=True)]
    mask = differing(one, two)
    return mask[: len(old)], mask[len(old) :]
