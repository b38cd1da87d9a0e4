"""How the values of a program are encoded: the domain of each argument."""

from __future__ import annotations

from dataclasses import dataclass, field

from cernis.check.catalogue import Catalogue
from cernis.check.model import Relation
from cernis.check.types import Types
from cernis.tables.domains import Domain, Domains


@dataclass(slots=True)
class ValueEncoding:
    """The domains of arguments and values, which stay the same from query to query."""

    types: Types
    catalogue: Catalogue
    domains: Domains
    slots: dict[tuple[str, Relation, int | str], Domain | None] = field(default_factory=dict)
    """Domains that have been asked for, by the kind of relation, the relation and the position."""

    def domain(self, kind: str, relation: Relation, position: int | str) -> Domain | None:
        """The domain of a slot; None if it is held as an array of numbers."""
        slot = (kind, relation, position)
        if slot not in self.slots:
            self.slots[slot] = self.domains.encoding(self.types.find(slot))
        return self.slots[slot]

    def event(self, relation: Relation) -> list[Domain | None]:
        """The domains of the arguments of an event."""
        return [self.domain("event", relation, position) for position in range(relation.arity)]

    def fluent(self, relation: Relation) -> tuple[list[Domain | None], Domain | None]:
        """The domains of the arguments of a fluent, and that of its value."""
        arguments = [self.domain("fluent", relation, place) for place in range(relation.arity)]
        return arguments, self.value(relation)

    def value(self, relation: Relation) -> Domain | None:
        """The domain of the value of a fluent."""
        return self.domain("fluent", relation, "value")

    def arguments(self, relation: Relation) -> list[Domain | None]:
        """The domains of the arguments of an event or a fluent."""
        return self.relation(relation)[0]

    def relation(self, relation: Relation) -> tuple[list[Domain | None], Domain | None]:
        """The domains of the arguments of an event or a fluent, and of its value if it has one."""
        if relation in self.catalogue.fluents:
            return self.fluent(relation)
        return self.event(relation), None

    def predicate(self, name: str, arity: int) -> list[Domain | None]:
        """The domains of the arguments of a background predicate."""
        relation = Relation(name, arity)
        return [self.domain("predicate", relation, position) for position in range(arity)]
