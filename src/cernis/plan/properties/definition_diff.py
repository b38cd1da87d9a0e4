"""Which definitions and facts of two programs are the same, and depend on the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b, sha256

from cernis.check.catalogue import pattern_head
from cernis.check.checker import Checked
from cernis.check.model import DIALECTS, Definitions, Event, Pair, Relation
from cernis.knowledge.fact_tables import FactTable
from cernis.syntax.time_scale import TimeScale
from cernis.syntax.tree import Atom, Compound


def digests(checked: Checked) -> dict[str, str]:
    """A digest of each event and fluent, which changes with its definition or what it depends on.

    The places and the order of rules make no difference. Names of variables do.
    """
    texts = _definition_texts(checked)
    rests_on = dependency_sources(checked)
    return {
        str(relation): digest_of(sorted(texts[each] for each in reached(relation, rests_on)))
        for relation in texts
    }


def fingerprint(checked: Checked) -> str:
    """A digest of a program, which changes with its rules and with the dialect they are read in.

    Tables of facts have digests of their own: see `fact_digests`.
    """
    texts = sorted(source.text for source in checked.sources)
    functions = sorted(each.functor for each in checked.functions)
    joined = "\0".join([*texts, *dialect_texts(checked), *time_texts(checked), *functions])
    return sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fact_digests(checked: Checked) -> dict[str, str]:
    """A digest of each table of facts, which changes with any of its values."""
    tables = sorted(checked.tables.items())
    return {str(relation): digest_of(table_contents(table)) for relation, table in tables}


def dialect_texts(checked: Checked) -> list[str]:
    """The dialect that a program is read in, where it is not the usual one."""
    dialect = checked.definitions.settings.dialect
    return [] if dialect in (None, DIALECTS[0]) else [f"dialect {dialect}"]


def time_texts(checked: Checked) -> list[str]:
    """The time of a program, where it is not the usual one."""
    time = checked.definitions.settings.time
    return [] if time == TimeScale() else [f"time {time}"]


def _definition_texts(checked: Checked) -> dict[Relation, str]:
    """For each relation its clauses, with the background knowledge that they use."""
    catalogue = checked.catalogue
    texts: dict[Relation, list[str]] = {r: [] for r in (*catalogue.events, *catalogue.fluents)}
    dialect = [*dialect_texts(checked), *time_texts(checked)]
    for relation, event in catalogue.events.items():
        texts[relation].append(f"event {event.is_input}")
    for relation, fluent in catalogue.fluents.items():
        texts[relation].append(f"fluent {fluent.kind}")
    for relation, clause in defining_clauses(checked.definitions):
        known = _predicates(clause, checked)
        background = [_predicate(each, checked) for each in sorted(known)]
        texts.setdefault(relation, []).append(digest_of([plain(clause), *background, *dialect]))
    return {relation: digest_of(sorted(each)) for relation, each in texts.items()}


def defining_clauses(definitions: Definitions) -> Iterator[tuple[Relation, object]]:
    """All that defines events and fluents, each with the relation that it defines."""
    for change in definitions.changes:
        yield change.pair.relation, change
    for event in definitions.events:
        yield event.event.relation, event
    for static in definitions.statics:
        yield static.pair.relation, static
    for initial in definitions.initials:
        yield initial.pair.relation, initial
    for effect in definitions.effects:
        yield effect.source.relation, effect
    for postponable in definitions.postponables:
        yield postponable.pair.relation, postponable
    for relation, values in definitions.ending_values.items():
        yield relation, "some values end no other"
        yield from ((relation, value) for value in values)
    settings = definitions.settings
    for pattern in definitions.patterns:
        yield (
            pattern_head(pattern).relation,
            (pattern, settings.consumption, settings.consumption_of),
        )
    for grounding in definitions.groundings:
        entity: Event | Pair = grounding.entity
        yield entity.relation, grounding


def dependency_sources(checked: Checked) -> Mapping[Relation, set[Relation]]:
    """The events and fluents that each one depends on directly."""
    sources: defaultdict[Relation, set[Relation]] = defaultdict(set)
    graph = checked.dependencies
    for edge in (*graph.edges, *graph.input_edges):
        sources[edge.target.relation].add(edge.source.relation)
    return sources


def reached(relation: Relation, edges: Mapping[Relation, set[Relation]]) -> set[Relation]:
    """A relation, and all that it depends on."""
    reached, ahead = {relation}, [relation]
    while ahead:
        new = edges.get(ahead.pop(), set()) - reached
        reached |= new
        ahead += new
    return reached


# -- background knowledge ----------------------------------------------------------------------


def _predicates(clause: object, checked: Checked) -> set[Relation]:
    """The predicates that a clause asks for, and those that these ask for."""
    asked_for: set[Relation] = set()
    ahead: list[object] = [clause]
    while ahead:
        for relation in set(functors_of(ahead.pop())) - asked_for:
            if relation in checked.clauses or relation in checked.tables:
                asked_for.add(relation)
                ahead += checked.clauses.get(relation, [])
    return asked_for


def _predicate(relation: Relation, checked: Checked) -> str:
    table = checked.tables.get(relation)
    rows = [] if table is None else table_contents(table)
    return digest_of([str(relation), *map(plain, checked.clauses.get(relation, [])), *rows])


def table_contents(table: FactTable) -> list[str]:
    """All values of a table, in their order; 2, 2.0 and '2' are three values."""
    return [str(table.length), *(repr(list(column.values)) for column in table.columns)]


def functors_of(node: object) -> Iterator[Relation]:
    """All that could be predicates in a part of a program."""
    if isinstance(node, Compound):
        yield Relation(node.functor, len(node.args))
    elif isinstance(node, Atom):
        yield Relation(node.name, 0)
    for part in parts_of(node):
        yield from functors_of(part)


def parts_of(node: object) -> Iterator[object]:
    """The parts of a part of a program, without its places."""
    if isinstance(node, tuple | list):
        yield from node
    elif is_dataclass(node):
        yield from (getattr(node, each.name) for each in fields(node) if each.compare)


def plain(node: object) -> str:
    """A part of a program without its places: equal texts for what is written equally."""
    if isinstance(node, tuple | list) or is_dataclass(node):
        return f"{type(node).__name__}({','.join(map(plain, parts_of(node)))})"
    return repr(node)


def digest_of(texts: Iterable[str]) -> str:
    """A digest of texts in their order."""
    hasher = blake2b(digest_size=12)
    for text in texts:
        hasher.update(text.encode("utf-8", "surrogatepass"))
        hasher.update(b"\0")
    return hasher.hexdigest()
