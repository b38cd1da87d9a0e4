"""Longer keys for the lanes of a stage: instances of two entities and more, each with its own word.

The key of a stage is as short as possible, since it says what has to meet in one partition. Lanes
want the opposite: where fluents have a further argument that takes any value, as the motion of
`status(Committee, Motion)`, both arguments together are the key of a lane. What meets by the longer
key meets by the shorter one, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from cernis.check.model import Event, Pair, Relation
from cernis.plan.linked.instance_kinds import tuple_positions
from cernis.plan.logical import Definition, Stage, parts_of
from cernis.syntax.tree import Variable

Keys = Mapping[Relation, tuple[int, ...]]

_MOST_KEYS = 6
"""So many longer keys are tried for a stage, and no more."""


def finer_stages(stage: Stage, wanting: Iterable[Relation]) -> Iterator[Stage]:
    """The stage with longer keys, those with fewer arguments first.

    `wanting` are the relations that have an argument beside the key that takes any value. Relations
    that do not carry a longer key are not among the keys of the stage then.
    """
    if not stage.key:
        return
    definitions = [each for stratum in stage.strata for each in stratum.definitions]
    shared, wanted = dict(stage.keys), frozenset(wanting)
    seeds = chain.from_iterable(
        _seeds(each, shared) for each in definitions if each.relation in wanted
    )
    rules = _literals_of_rules(definitions)
    tried: list[Keys] = []
    for relation, positions in sorted(seeds, key=lambda seed: len(seed[1])):
        if len(tried) == _MOST_KEYS:
            return
        # What a key is followed to leads back to it, as a rule.
        if not any(keys.get(relation) == positions for keys in tried):
            keys = _followed(rules, shared, {relation: positions})
            tried.append(keys)
            names = _names(definitions, relation, positions)
            yield replace(stage, key=names, keys=tuple(keys.items()))


def _seeds(definition: Definition, shared: Keys) -> Iterator[tuple[Relation, tuple[int, ...]]]:
    """Longer keys of a relation: with one argument more, and with all there are."""
    relation = definition.relation
    if relation not in shared:
        return
    more = [place for place in tuple_positions(definition) if place not in shared[relation]]
    for place in more:
        yield relation, (*shared[relation], place)
    if len(more) > 1:
        yield relation, (*shared[relation], *more)


def _literals_of_rules(definitions: list[Definition]) -> list[list[Pair | Event]]:
    """For each rule: its head, and what else it is about."""
    return [
        [part for part in parts_of(rule) if isinstance(part, Pair | Event)]
        for definition in definitions
        for rule in definition.rules
    ]


def _followed(rules: list[list[Pair | Event]], shared: Keys, first: Keys) -> Keys:
    """The longer key of every relation that has it, by the variables that rules have in common."""
    mentioning: dict[Relation, list[list[Pair | Event]]] = {}
    for literals in rules:
        for relation in {each.relation for each in literals}:
            mentioning.setdefault(relation, []).append(literals)
    keys, waiting = dict(first), list(first)
    while waiting:
        for literals in mentioning.get(waiting.pop(), ()):
            for relation, positions in _carriers(literals, keys, shared):
                if relation not in keys:
                    keys[relation] = positions
                    waiting.append(relation)
    return keys


def _carriers(
    literals: list[Pair | Event], keys: Keys, shared: Keys
) -> Iterator[tuple[Relation, tuple[int, ...]]]:
    """The literals of a rule that have the variables of its key at places not known before."""
    known = next((each for each in literals if each.relation in keys), None)
    if known is None:
        return
    terms = [known.args[place] for place in keys[known.relation]]
    if not all(isinstance(term, Variable) and term.name != "_" for term in terms):
        return
    for each in literals:
        if each.relation in keys or each.relation not in shared:
            continue
        if all(term in each.args for term in terms):
            positions = tuple(each.args.index(term) for term in terms)
            if positions[: len(shared[each.relation])] == shared[each.relation]:
                yield each.relation, positions


def _names(
    definitions: list[Definition], relation: Relation, positions: tuple[int, ...]
) -> tuple[str, ...]:
    """What the arguments of a longer key are called in the first head."""
    definition = next(each for each in definitions if each.relation == relation)
    heads = (part for part in parts_of(definition.rules) if isinstance(part, Pair | Event))
    args = next(head.args for head in heads if head.relation == relation)
    terms = [args[place] for place in positions]
    return tuple(term.name if isinstance(term, Variable) else "?" for term in terms)
