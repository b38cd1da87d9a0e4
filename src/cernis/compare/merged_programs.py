"""Several versions of a program as one: what is the same in all of them is there once.

A run of the merged program reads its input once, and evaluates each definition once that no change
has touched. What a version defines in another way, or by something that is defined in another
way, stands beside the first version's under another name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cernis.check.checker import Checked, checked_again
from cernis.check.model import Definitions, Relation
from cernis.compare.definition_digests import digests_of
from cernis.compare.renamed_definitions import NewNames, renamed_definitions


@dataclass(frozen=True, slots=True)
class MergedPrograms:
    """A program with all versions in it, and the names that each version's relations have there."""

    checked: Checked
    names: tuple[Mapping[Relation, Relation], ...]

    def name_of(self, version: int, relation: Relation) -> Relation:
        """The name of an event or fluent of a version."""
        return self.names[version].get(relation, relation)


class Unmergeable(Exception):
    """Why versions do not fit into one program."""


def merged(versions: Sequence[Checked]) -> MergedPrograms:
    """The versions as one program; `Unmergeable` if that could not mean the same."""
    first, *others = versions
    base = first.definitions
    definitions = replace(base)
    for name in _LISTS:
        setattr(definitions, name, list(getattr(base, name)))
    for name in _TABLES:
        setattr(definitions, name, dict(getattr(base, name)))
    for name in _SETS:
        setattr(definitions, name, set(getattr(base, name)))
    clauses, tables = dict(first.clauses), dict(first.tables)
    names: list[Mapping[Relation, Relation]] = [{}]
    taken = {relation.name for each in versions for relation in _relations(each)}
    for number, other in enumerate(others, 2):
        _refuse_other_settings(first, other)
        affected = affected_relations(first, other)
        new = NewNames(
            _new_names(affected & defined_relations(other), number, taken),
            _new_names(changed_predicates(first, other), number, set()),
        )
        _add(definitions, renamed_definitions(other.definitions, new, affected))
        clauses |= {
            new.predicates.get(relation, relation): [new.clause(each) for each in defining]
            for relation, defining in other.clauses.items()
            if relation in new.predicates or relation not in clauses
        }
        tables |= {
            new.predicates.get(relation, relation): table
            for relation, table in other.tables.items()
            if relation in new.predicates or relation not in tables
        }
        names.append(new.relations)
    return MergedPrograms(checked_again(definitions, first, clauses, tables), tuple(names))


def affected_relations(old: Checked, new: Checked) -> frozenset[Relation]:
    """The events and fluents of a new version that are defined in another way than before.

    What depends on one of them is another, too.
    """
    before, after = digests_of(old).whole, digests_of(new).whole
    return frozenset(each for each in _relations(new) if before.get(each) != after[each])


def changed_relations(old: Checked, new: Checked) -> frozenset[Relation]:
    """The events and fluents of either version whose own definitions differ."""
    before, after = digests_of(old).alone, digests_of(new).alone
    both = {*_relations(old), *_relations(new)}
    return frozenset(each for each in both if before.get(each) != after.get(each))


def defined_relations(checked: Checked) -> frozenset[Relation]:
    """The events and fluents that rules define."""
    catalogue = checked.catalogue
    events = {relation for relation, entry in catalogue.events.items() if not entry.is_input}
    return frozenset(events | {r for r, entry in catalogue.fluents.items() if entry.defined})


def _relations(checked: Checked) -> set[Relation]:
    return {*checked.catalogue.events, *checked.catalogue.fluents}


def changed_predicates(old: Checked, new: Checked) -> frozenset[Relation]:
    """The predicates of both versions whose facts or clauses differ, or what they depend on."""
    before, after = digests_of(old).predicates, digests_of(new).predicates
    return frozenset(each for each in after if each in before and before[each] != after[each])


def _new_names(
    relations: Iterable[Relation], number: int, taken: set[str]
) -> dict[Relation, Relation]:
    """Names with the number of the version, that no other relation has."""
    names = {}
    for relation in sorted(relations):
        functor, bracket, rest = relation.name.partition("(")
        new = f"{functor}_v{number}"
        while new + bracket + rest in taken:
            new += "_"
        names[relation] = Relation(new + bracket + rest, relation.arity)
    return names


_LISTS = (
    "changes", "events", "statics", "initials", "effects", "postponables", "groundings", "domains",
    "patterns", "declared_values", "tables", "ontologies", "validities",
)  # fmt: skip
_TABLES = ("shapes", "declared_events", "declared_fluents", "ending_values")
_SETS = ("outputs", "auxiliary", "dynamic", "declared_strictly")


def _add(definitions: Definitions, more: Definitions) -> None:
    for name in _LISTS:
        getattr(definitions, name).extend(getattr(more, name))
    for name in _TABLES:
        known = getattr(definitions, name)
        setattr(definitions, name, {**getattr(more, name), **known})
    for name in _SETS:
        getattr(definitions, name).update(getattr(more, name))
    policies = more.settings.consumption_of
    settings = definitions.settings
    definitions.settings = replace(settings, consumption_of=(*settings.consumption_of, *policies))


def _refuse_other_settings(old: Checked, new: Checked) -> None:
    """Refuse versions that differ in what is true of a program as a whole."""
    one, two = old.definitions, new.definitions
    if replace(one.settings, consumption_of=()) != replace(two.settings, consumption_of=()):
        raise Unmergeable("the versions have different directives")
    pairs = [
        ("declare growing domains differently", _domains(one), _domains(two)),
        ("declare dynamic predicates differently", one.dynamic, two.dynamic),
        ("have facts that are valid for other times", one.validities, two.validities),
    ]  # fmt: skip
    for words, before, after in pairs:
        if before != after:
            raise Unmergeable(f"the versions {words}")
    defined = (defined_relations(old), defined_relations(new))
    for relation in _relations(old) & _relations(new):
        if (relation in defined[0]) != (relation in defined[1]):
            raise Unmergeable(f"{relation} is input in one version and derived in the other")
    _refuse_other_input(old, new, defined[0] | defined[1])


def _domains(definitions: Definitions) -> list[Relation]:
    return [relation for relation, _ in definitions.domains]


def _refuse_other_input(old: Checked, new: Checked, defined: frozenset[Relation]) -> None:
    """Refuse versions that read their common input differently."""
    one, two = old.definitions, new.definitions
    shared = (_relations(old) & _relations(new)) - defined
    changed = affected_relations(old, new) & shared
    for relation in sorted(shared):
        declarations = [
            (each.declared_events.get(relation), each.declared_fluents.get(relation),
             each.shapes.get(relation))
            for each in (one, two)
        ]  # fmt: skip
        if relation in changed or declarations[0] != declarations[1]:
            raise Unmergeable(f"the input {relation} is declared or grounded differently")
