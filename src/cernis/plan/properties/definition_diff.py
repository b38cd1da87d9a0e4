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
from cernis.knowledge.ground_values import is_ground, same
from cernis.syntax.time_scale import TimeScale
from cernis.syntax.tree import Atom, Compound, Term


def digests(checked: Checked, alone: bool = False, finely: bool = False) -> dict[str, str]:
    """A digest of each event and fluent, which changes with its definition or what it depends on.

    The places and the order of rules make no difference. Names of variables do. If `alone`, events
    and fluents that it depends on make no difference either; if `finely`, nor do facts that no goal
    can match: that of `limit(high, X)` never sees `limit(low, 3)`.
    """
    texts = _definition_texts(checked, finely)
    if alone:
        return {str(relation): text for relation, text in texts.items()}
    rests_on = _edges(checked)
    return {
        str(relation): _digest(sorted(texts[each] for each in _reached(relation, rests_on)))
        for relation in texts
    }


def fingerprint(checked: Checked) -> str:
    """A digest of a program, which changes with its rules and with the dialect they are read in.

    Tables of facts have digests of their own: see `fact_digests`.
    """
    texts = sorted(source.text for source in checked.sources)
    joined = "\0".join([*texts, *_dialect(checked), *_time(checked)])
    return sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fact_digests(checked: Checked) -> dict[str, str]:
    """A digest of each table of facts, which changes with any of its values."""
    tables = sorted(checked.tables.items())
    return {str(relation): _digest(_contents(table)) for relation, table in tables}


def predicate_digests(checked: Checked) -> dict[Relation, str]:
    """A digest of each predicate: of its clauses and facts, and those that it depends on."""
    return {
        relation: _digest(
            sorted(
                _predicate(each, checked)
                for each in {relation, *_predicates(checked.clauses.get(relation, []), checked)}
            )
        )
        for relation in {*checked.clauses, *checked.tables}
    }


def _dialect(checked: Checked) -> list[str]:
    """The dialect that a program is read in, where it is not the usual one."""
    dialect = checked.definitions.settings.dialect
    return [] if dialect in (None, DIALECTS[0]) else [f"dialect {dialect}"]


def _time(checked: Checked) -> list[str]:
    """The time of a program, where it is not the usual one."""
    time = checked.definitions.settings.time
    return [] if time == TimeScale() else [f"time {time}"]


def _definition_texts(checked: Checked, finely: bool = False) -> dict[Relation, str]:
    """For each relation its clauses, with the background knowledge that they use."""
    catalogue = checked.catalogue
    texts: dict[Relation, list[str]] = {r: [] for r in (*catalogue.events, *catalogue.fluents)}
    dialect = [*_dialect(checked), *_time(checked)]
    for relation, event in catalogue.events.items():
        texts[relation].append(f"event {event.is_input}")
    for relation, fluent in catalogue.fluents.items():
        texts[relation].append(f"fluent {fluent.kind}")
    for relation, clause in _clauses(checked.definitions):
        known = _predicates(clause, checked)
        background = [
            _matching_facts(each, [clause, *_clauses_of(known, checked)], checked)
            if finely and _is_facts(each, checked)
            else _predicate(each, checked)
            for each in sorted(known)
        ]
        texts.setdefault(relation, []).append(_digest([plain(clause), *background, *dialect]))
    return {relation: _digest(sorted(each)) for relation, each in texts.items()}


def _clauses(definitions: Definitions) -> Iterator[tuple[Relation, object]]:
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


def _edges(checked: Checked) -> Mapping[Relation, set[Relation]]:
    sources: defaultdict[Relation, set[Relation]] = defaultdict(set)
    graph = checked.dependencies
    for edge in (*graph.edges, *graph.input_edges):
        sources[edge.target.relation].add(edge.source.relation)
    return sources


def _reached(relation: Relation, edges: Mapping[Relation, set[Relation]]) -> set[Relation]:
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
        for relation in set(_functors(ahead.pop())) - asked_for:
            if relation in checked.clauses or relation in checked.tables:
                asked_for.add(relation)
                ahead += checked.clauses.get(relation, [])
    return asked_for


def _predicate(relation: Relation, checked: Checked) -> str:
    table = checked.tables.get(relation)
    rows = [] if table is None else _contents(table)
    return _digest([str(relation), *map(plain, checked.clauses.get(relation, [])), *rows])


def _clauses_of(relations: Iterable[Relation], checked: Checked) -> list[object]:
    """The clauses of predicates, but not those that are nothing but facts."""
    return [
        clause
        for relation in relations
        if not _is_facts(relation, checked)
        for clause in checked.clauses.get(relation, [])
    ]


def _is_facts(relation: Relation, checked: Checked) -> bool:
    """Is a predicate nothing but facts in the text?"""
    clauses = checked.clauses.get(relation, [])
    return relation not in checked.tables and all(
        not clause.body and is_ground(clause.head) for clause in clauses
    )


def _matching_facts(relation: Relation, users: list[object], checked: Checked) -> str:
    """A digest of the facts that goals in some clauses can match, in their order."""
    goals = [
        goal
        for user in users
        for goal in _compounds(user)
        if (goal.functor, len(goal.args)) == (relation.name, relation.arity)
    ]
    facts = [
        clause
        for clause in checked.clauses.get(relation, [])
        if not relation.arity or any(_may_match(goal, clause.head) for goal in goals)
    ]
    return _digest([str(relation), *map(plain, facts)])


def _may_match(goal: Compound, fact: Term) -> bool:
    assert isinstance(fact, Compound)
    return all(
        not is_ground(arg) or same(arg, held)
        for arg, held in zip(goal.args, fact.args, strict=True)
    )


def _compounds(node: object) -> Iterator[Compound]:
    if isinstance(node, Compound):
        yield node
    for part in _parts(node):
        yield from _compounds(part)


def _contents(table: FactTable) -> list[str]:
    """All values of a table, in their order; 2, 2.0 and '2' are three values."""
    return [str(table.length), *(repr(list(column.values)) for column in table.columns)]


def _functors(node: object) -> Iterator[Relation]:
    """All that could be predicates in a clause."""
    if isinstance(node, Compound):
        yield Relation(node.functor, len(node.args))
    elif isinstance(node, Atom):
        yield Relation(node.name, 0)
    for part in _parts(node):
        yield from _functors(part)


def _parts(node: object) -> Iterator[object]:
    if isinstance(node, tuple | list):
        yield from node
    elif is_dataclass(node):
        yield from (getattr(node, each.name) for each in fields(node) if each.compare)


def plain(node: object) -> str:
    """A part of a program without its places: equal texts for what is written equally."""
    if isinstance(node, tuple | list) or is_dataclass(node):
        return f"{type(node).__name__}({','.join(map(plain, _parts(node)))})"
    return repr(node)


def _digest(texts: Iterable[str]) -> str:
    hasher = blake2b(digest_size=12)
    for text in texts:
        hasher.update(text.encode("utf-8", "surrogatepass"))
        hasher.update(b"\0")
    return hasher.hexdigest()
