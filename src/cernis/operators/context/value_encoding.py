"""How the values of a program are encoded: the domain of each argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from cernis.check.catalogue import Catalogue
from cernis.check.model import Relation
from cernis.check.types import Types
from cernis.tables.domains import Domain, Domains

RelationDomains: TypeAlias = tuple[list[Domain | None], Domain | None]
"""The domains of the arguments of a relation, and of its value, if it has one; None where values
are held as arrays of numbers. The list is shared by all who ask, and stays as it is."""

K = TypeVar("K")
V = TypeVar("V")


class FilledOnDemand(dict[K, V]):
    """A table whose entries are computed when they are first asked for."""

    def __init__(self, compute: Callable[[K], V]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: K) -> V:
        entry = self[key] = self._compute(key)
        return entry


class ValueEncoding:
    """The domains of arguments and values, which stay the same from query to query."""

    def __init__(self, types: Types, catalogue: Catalogue, domains: Domains) -> None:
        self.types = types
        self.catalogue = catalogue
        self.domains = domains
        self._slots = FilledOnDemand(self._slot_domain)
        self.events = FilledOnDemand(self._event_domains)
        """The domains of the arguments of each event."""
        self.fluents = FilledOnDemand(self._fluent_domains)
        """The domains of the arguments of each fluent, and of its value."""
        self.relations = FilledOnDemand(self._relation_domains)
        """The domains of each event and fluent; a name that both have is the fluent's."""

    def _slot_domain(self, slot: tuple[str, Relation, int | str]) -> Domain | None:
        return self.domains.encoding(self.types.find(slot))

    def _event_domains(self, relation: Relation) -> list[Domain | None]:
        return [self._slots["event", relation, place] for place in range(relation.arity)]

    def _fluent_domains(self, relation: Relation) -> RelationDomains:
        arguments = [self._slots["fluent", relation, place] for place in range(relation.arity)]
        return arguments, self._slots["fluent", relation, "value"]

    def _relation_domains(self, relation: Relation) -> RelationDomains:
        if relation in self.catalogue.fluents:
            return self.fluents[relation]
        return self.events[relation], None

    def domain(self, kind: str, relation: Relation, position: int | str) -> Domain | None:
        """The domain of a slot; None if it is held as an array of numbers."""
        return self._slots[kind, relation, position]

    def event(self, relation: Relation) -> list[Domain | None]:
        """The domains of the arguments of an event."""
        return self.events[relation]

    def fluent(self, relation: Relation) -> RelationDomains:
        """The domains of the arguments of a fluent, and that of its value."""
        return self.fluents[relation]

    def value(self, relation: Relation) -> Domain | None:
        """The domain of the value of a fluent."""
        return self.fluents[relation][1]

    def arguments(self, relation: Relation) -> list[Domain | None]:
        """The domains of the arguments of an event or a fluent."""
        return self.relations[relation][0]

    def predicate(self, name: str, arity: int) -> list[Domain | None]:
        """The domains of the arguments of a background predicate."""
        relation = Relation(name, arity)
        return [self._slots["predicate", relation, position] for position in range(arity)]
