"""Partition stages: which strata can be evaluated side by side with which key, from the rules.

A key of a relation is a choice of argument positions. A component fits a stage if, in every rule,
each literal over time has at the key positions of its relation the variables that the head has at
its own: then everything that one application of the rule needs meets in one partition. Input and
the results of earlier stages may carry only part of the key, if another literal carries all of it:
the rows of that literal then say which partitions need what. A termination may leave part of the
key of its head open; then the instances that it can end say which partitions need it. The search is
greedy: each component goes into the earliest stage it fits, and the key of a stage is as short as
possible. Where no key fits, a stage may still have links.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, islice, product
from typing import TypeVar

from cernis.check.catalogue import pattern_head, pattern_parts, pattern_uses
from cernis.check.dependencies import Component
from cernis.check.model import (
    Definitions,
    Event,
    Happens,
    HoldsFor,
    Pair,
    Relation,
    Temporal,
    temporal,
)
from cernis.check.pattern_checks import consumption_of
from cernis.check.rewrites.sliding_conditions import is_sliding, sliding
from cernis.plan.entity_links import Linker, Links
from cernis.plan.rule_plans import all_names, entity_names
from cernis.syntax.tree import Pattern, Term, Variable, Where

Key = tuple[int, ...]
K = TypeVar("K")
V = TypeVar("V")

_LONGEST_KEY = 3
"""Keys of more arguments than this are not looked for: the relation's rows are too few then."""

_MOST_KEYS = 1000
"""How many keys are tried: all of relations with up to 18 arguments, the shortest of others."""


@dataclass(frozen=True, slots=True)
class RuleShape:
    """What the search needs of a rule: its head, and what its literals are about."""

    head: Event | Pair
    uses: tuple[Event | Pair, ...]
    is_open: bool = False
    """Does the head leave arguments open, to range over the instances there are?"""
    windows: tuple[frozenset[str], ...] = ()
    """The variables that have windows of their own: rows that share one must stay together."""
    selects: bool = False
    """Does a policy select among matches? Then all that it selects from must meet."""


def shapes(definitions: Definitions) -> Iterator[RuleShape]:
    """The shapes of all rules that carry something over time."""
    for change in definitions.changes:
        uses = tuple(_entity(x) for x in temporal(change.body))
        is_open = bool(entity_names(change.pair) - all_names(change.body))
        yield RuleShape(change.pair, uses, is_open and not change.initiates)
    for event in definitions.events:
        yield RuleShape(event.event, tuple(_entity(x) for x in temporal(event.body)))
    for static in definitions.statics:
        fetched = [goal.pair for goal in static.body if isinstance(goal, HoldsFor)]
        yield RuleShape(static.pair, tuple(fetched))
    for pattern in definitions.patterns:
        yield RuleShape(
            pattern_head(pattern), tuple(_entity(use) for use in pattern_uses(pattern.pattern)),
            windows=tuple(_windows(pattern.pattern)),
            selects=consumption_of(pattern, definitions).policy != "unrestricted",
        )  # fmt: skip


def _windows(pattern: Pattern) -> Iterator[frozenset[str]]:
    """For each aggregate in a pattern, the variables each value of which has its own window."""
    if isinstance(pattern, Where):
        for aggregate in filter(None, map(sliding, filter(is_sliding, pattern.conditions))):
            yield frozenset(variable.name for variable in aggregate.key)
    for part in pattern_parts(pattern):
        yield from _windows(part)


def _entity(literal: Temporal | Event | Pair) -> Event | Pair:
    if isinstance(literal, (Event, Pair)):
        return literal
    return literal.event if isinstance(literal, Happens) else literal.pair


@dataclass(slots=True)
class StageDraft:
    """A stage while it is being filled: its components, and the key of each relation in it."""

    key: tuple[str, ...]
    keys: MutableMapping[Relation, Key] = field(default_factory=dict)
    components: list[Component] = field(default_factory=list)
    demands: MutableMapping[Relation, Relation] = field(default_factory=dict)
    needed: MutableMapping[Relation, Key] = field(default_factory=dict)
    links: Links | None = None
    """Where there is no key: the links by which the data can be divided."""

    @property
    def relations(self) -> frozenset[Relation]:
        """What the stage defines."""
        return frozenset(v.relation for c in self.components for v in c.vertices)


def find_stages(
    components: Iterable[Component], rules: list[RuleShape], linker: Linker
) -> tuple[list[StageDraft], list[Component]]:
    """Put every component into a stage; also gives those that neither a key fits nor links."""
    stages: list[StageDraft] = []
    stage_of: dict[Relation, int] = {}
    without: list[Component] = []
    by_head = rules_by_head(rules)
    for component in components:
        search = _Search(component, _rules_of(component, by_head), stage_of, linker)
        number, draft = search.place(stages)
        if number == len(stages):
            stages.append(_written(draft))
        else:
            stages[number] = _written(draft)
        if not draft.key and draft.links is None:
            without.append(component)
        stages[number].components.append(component)
        stage_of.update((vertex.relation, number) for vertex in component.vertices)
    return stages, without


def component_keys(
    component: Component, by_head: Mapping[Relation, list[RuleShape]]
) -> dict[Relation, Key]:
    """Keys by which a component's rules can be evaluated apart, with those of what they read.

    Nothing if there are none.
    """
    draft = _Search(component, _rules_of(component, by_head), {}).fit(StageDraft(()), 0)
    return {} if draft is None else dict(draft.keys)


def rules_by_head(rules: Iterable[RuleShape]) -> dict[Relation, list[RuleShape]]:
    """Rules by what they define."""
    by_head: dict[Relation, list[RuleShape]] = {}
    for rule in rules:
        by_head.setdefault(rule.head.relation, []).append(rule)
    return by_head


def _rules_of(component: Component, by_head: Mapping[Relation, list[RuleShape]]) -> list[RuleShape]:
    relations = dict.fromkeys(vertex.relation for vertex in component.vertices)
    return [rule for relation in relations for rule in by_head.get(relation, ())]


@dataclass(slots=True)
class _Search:
    """Looks for the stage and the keys of one component."""

    component: Component
    rules: list[RuleShape]
    stage_of: dict[Relation, int]
    linker: Linker | None = None
    _relations: frozenset[Relation] | None = None

    def place(self, stages: list[StageDraft]) -> tuple[int, StageDraft]:
        needed = [self.stage_of[use.relation] for rule in self.rules for use in rule.uses
                  if use.relation in self.stage_of]  # fmt: skip
        for number in range(max(needed, default=0), len(stages)):
            if not stages[number].key:
                continue
            draft = self.fit(stages[number], number)
            if draft is not None:
                return number, draft
        fresh = self.fit(StageDraft(()), len(stages))
        if fresh is not None:
            return len(stages), fresh
        return self._without_key(stages, max(needed, default=0))

    def _without_key(self, stages: list[StageDraft], first: int) -> tuple[int, StageDraft]:
        """By links, or one partition for all: the first such stage that takes the component."""
        alone = self._links(StageDraft(()))
        for number in range(first, len(stages)):
            if stages[number].key or (stages[number].links is None) != (alone is None):
                continue
            # What has no links alone has none together with more rules that must fit, too.
            links = None if alone is None else self._links(stages[number])
            if (links is None) == (alone is None):
                return number, self._unkeyed(stages[number], links)
        return len(stages), self._unkeyed(StageDraft(()), alone)

    def _links(self, stage: StageDraft) -> Links | None:
        """The links of a stage with the component in it."""
        return None if self.linker is None else self.linker.links(stage.relations | self._own())

    def _unkeyed(self, stage: StageDraft, links: Links | None) -> StageDraft:
        draft = replace(_copy(stage), links=links)
        for rule in self.rules:
            for entity in (rule.head, *rule.uses):
                draft.keys.setdefault(entity.relation, ())
        return draft

    def fit(self, stage: StageDraft, number: int) -> StageDraft | None:
        """The stage with the component in it, if some key fits."""
        heads = list(dict.fromkeys(rule.head.relation for rule in self.rules))
        if not heads:
            return None
        for key in _candidates(heads[0], stage):
            draft = self._try(stage, number, heads[0], key)
            if draft is not None:
                return draft
        return None

    def _try(self, stage: StageDraft, number: int, first: Relation, key: Key) -> StageDraft | None:
        """Give the first head a key and follow what that means for everything else."""
        draft = _copy(stage)
        draft.keys[first] = key
        waiting = list(self.rules)
        while waiting:
            ready = [rule for rule in waiting if self._known(rule, draft)]
            if not ready:
                return None
            for rule in ready:
                if not self._rule(rule, draft, number):
                    return None
            done = {id(rule) for rule in ready}
            waiting = [rule for rule in waiting if id(rule) not in done]
        if not draft.key:
            named = next(rule.head for rule in self.rules if rule.head.relation == first)
            draft.key = tuple(_name(named.args[position]) for position in key)
        return draft

    def _known(self, rule: RuleShape, draft: StageDraft) -> bool:
        return rule.head.relation in draft.keys

    def _rule(self, rule: RuleShape, draft: StageDraft, number: int) -> bool:
        """Can a rule be evaluated by the key its head has? Enters the keys of its literals."""
        wanted = [rule.head.args[position] for position in draft.keys[rule.head.relation]]
        if not all(isinstance(term, Variable) and term.name != "_" for term in wanted):
            return False
        names = {term.name for term in wanted if isinstance(term, Variable)}
        if not all(names <= window for window in rule.windows):
            return False
        driver = None if rule.selects else _driver(rule, wanted)
        return all(self._use(use, wanted, driver, draft, number) for use in rule.uses)

    def _use(
        self, use: Event | Pair, wanted: list[Term], driver: Relation | None, draft: StageDraft,
        number: int,
    ) -> bool:  # fmt: skip
        relation = use.relation
        carried = tuple(use.args.index(term) for term in wanted if term in use.args)
        is_whole = len(carried) == len(wanted)
        if self.stage_of.get(relation, -1) == number or relation in self._own():
            return is_whole and _carry(use, wanted, draft)
        if is_whole and relation not in self.stage_of:
            return _carry(use, wanted, draft)
        if not carried or (not is_whole and driver is None):
            return False
        draft.needed[relation] = carried
        if not is_whole and driver is not None:
            draft.demands[relation] = driver
        return True

    def _own(self) -> frozenset[Relation]:
        if self._relations is None:
            self._relations = frozenset(vertex.relation for vertex in self.component.vertices)
        return self._relations


def _driver(rule: RuleShape, wanted: list[Term]) -> Relation | None:
    """The relation whose rows say which combinations of the key there are."""
    for use in rule.uses:
        if all(term in use.args for term in wanted):
            return use.relation
    return rule.head.relation if rule.is_open else None


def _copy(stage: StageDraft) -> StageDraft:
    """A stage to try something with: what is entered lies over what it has, until it is written."""
    return replace(
        stage, keys=ChainMap({}, stage.keys), demands=ChainMap({}, stage.demands),
        needed=ChainMap({}, stage.needed),
    )  # fmt: skip


def _written(draft: StageDraft) -> StageDraft:
    """A stage with what was entered while it was tried."""
    return replace(
        draft, keys=_merged(draft.keys), demands=_merged(draft.demands),
        needed=_merged(draft.needed),
    )  # fmt: skip


def _merged(entered: MutableMapping[K, V]) -> MutableMapping[K, V]:
    if not isinstance(entered, ChainMap):
        return entered
    base = _merged(entered.maps[-1])
    for layer in reversed(entered.maps[:-1]):
        base.update(layer)
    return base


def _candidates(relation: Relation, stage: StageDraft) -> Iterator[Key]:
    """Keys to try, the one it has first, else short ones first and of the stage's length."""
    if relation in stage.keys:
        yield stage.keys[relation]
        return
    lengths = [len(stage.key)] if stage.key else range(1, min(relation.arity, _LONGEST_KEY) + 1)
    positions = range(relation.arity)
    every = chain.from_iterable(combinations(positions, length) for length in lengths)
    yield from islice(every, _MOST_KEYS)


def _carry(use: Event | Pair, wanted: list[Term], draft: StageDraft) -> bool:
    """Does a literal carry the key, at the positions its relation has or can be given?"""
    if use.relation in draft.keys:
        return [use.args[position] for position in draft.keys[use.relation]] == wanted
    places = [[p for p, arg in enumerate(use.args) if arg == term] for term in wanted]
    if not all(places):
        return False
    draft.keys[use.relation] = next(product(*places))
    return True


def _name(term: Term) -> str:
    return term.name if isinstance(term, Variable) else "?"
