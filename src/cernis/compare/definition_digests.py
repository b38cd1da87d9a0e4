"""Digests of definitions, by which two versions of a program are compared.

They are finer than those of saved sessions: of facts, only those count that a goal can match, so
that of `limit(high, X)` never sees `limit(low, 3)`. Facts may be many, so each is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from cernis.check.checker import Checked
from cernis.check.model import Relation
from cernis.knowledge.ground_values import is_ground, value
from cernis.plan.properties.definition_diff import (
    defining_clauses,
    dependency_sources,
    dialect_texts,
    digest_of,
    functors_of,
    parts_of,
    plain,
    reached,
    table_contents,
    time_texts,
)
from cernis.syntax.tree import Clause, Compound, Term

FactKey: TypeAlias = tuple[object, ...]
"""The arguments of a fact, or of a goal that may match it; None where the goal has a variable."""


@dataclass(frozen=True)
class DefinitionDigests:
    """The digests of one version."""

    checked: Checked

    @cached_property
    def alone(self) -> dict[Relation, str]:
        """A digest of each event and fluent, of its own rules and the background they use."""
        catalogue = self.checked.catalogue
        texts: dict[Relation, list[str]] = {
            **{each: [f"event {entry.is_input}"] for each, entry in catalogue.events.items()},
            **{each: [f"fluent {entry.kind}"] for each, entry in catalogue.fluents.items()},
        }
        general = [*dialect_texts(self.checked), *time_texts(self.checked)]
        for relation, clause in defining_clauses(self.checked.definitions):
            parts = [plain(clause), *self._background(clause), *general]
            texts.setdefault(relation, []).append(digest_of(parts))
        return {relation: digest_of(sorted(each)) for relation, each in texts.items()}

    @cached_property
    def whole(self) -> dict[Relation, str]:
        """As `alone`, with all events and fluents that each depends on."""
        sources, texts = dependency_sources(self.checked), self.alone
        return {
            relation: digest_of(sorted(texts[each] for each in reached(relation, sources)))
            for relation in texts
        }

    @cached_property
    def predicates(self) -> dict[Relation, str]:
        """A digest of each predicate: of its clauses and facts, and those it depends on."""
        known = {*self.checked.clauses, *self.checked.tables}
        return {
            relation: digest_of(
                sorted(self._contents[each] for each in self._called([], {relation}))
            )
            for relation in known
        }

    @cached_property
    def _contents(self) -> dict[Relation, str]:
        """A digest of the clauses and facts of each predicate."""
        clauses, tables = self.checked.clauses, self.checked.tables
        return {
            relation: digest_of([
                str(relation),
                repr(self._facts[relation])
                if relation in self._facts
                else "".join(map(plain, clauses.get(relation, []))),
                *(table_contents(tables[relation]) if relation in tables else []),
            ])
            for relation in {*clauses, *tables}
        }  # fmt: skip

    @cached_property
    def _facts(self) -> dict[Relation, list[FactKey]]:
        """The predicates that are nothing but ground facts in the text, with their facts."""
        return {
            relation: [_key(clause.head) for clause in clauses]
            for relation, clauses in self.checked.clauses.items()
            if relation not in self.checked.tables and all(map(_is_fact, clauses))
        }

    def _background(self, clause: object) -> Iterator[str]:
        """What a clause uses of background knowledge: of facts, those that it can match."""
        called = self._called([clause], set())
        users = [clause, *(each for relation in called for each in self._rules(relation))]
        goals = [goal for user in users for goal in _compounds(user)]
        for relation in sorted(called):
            if relation not in self._facts:
                yield self._contents[relation]
                continue
            patterns = {
                _key(goal)
                for goal in goals
                if (goal.functor, len(goal.args)) == (relation.name, relation.arity)
            }
            yield self._matching(relation, frozenset(patterns))

    def _rules(self, relation: Relation) -> Iterable[Clause]:
        return () if relation in self._facts else self.checked.clauses.get(relation, ())

    def _matching(self, relation: Relation, patterns: frozenset[FactKey]) -> str:
        """A digest of the facts that some goals can match."""
        if not relation.arity or any(set(pattern) == {None} for pattern in patterns):
            return self._contents[relation]
        facts = [
            fact
            for fact in self._facts[relation]
            if any(
                all(w is None or w == held for w, held in zip(pattern, fact, strict=True))
                for pattern in patterns
            )
        ]
        return digest_of([str(relation), repr(facts)])

    def _called(self, nodes: list[object], called: set[Relation]) -> set[Relation]:
        """The predicates that some parts of a program call, and those that these call."""
        ahead = [*nodes, *(each for relation in called for each in self._rules(relation))]
        called = set(called)
        while ahead:
            for relation in set(functors_of(ahead.pop())) - called:
                if relation in self.checked.clauses or relation in self.checked.tables:
                    called.add(relation)
                    ahead += self._rules(relation)
        return called


@lru_cache(maxsize=8)
def _digests_by_identity(kept: _ByIdentity) -> DefinitionDigests:
    return DefinitionDigests(kept.checked)


@dataclass(frozen=True, eq=False)
class _ByIdentity:
    """A version as the key of a cache: the same object, and not an equal one."""

    checked: Checked

    def __hash__(self) -> int:
        return id(self.checked)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.checked is self.checked


def digests_of(checked: Checked) -> DefinitionDigests:
    """The digests of a version, which are kept for as long as few others are asked for."""
    return _digests_by_identity(_ByIdentity(checked))


def _is_fact(clause: Clause) -> bool:
    return not clause.body and is_ground(clause.head)


def _key(term: Term) -> FactKey:
    """The arguments of a term as values that tell numbers of different forms apart."""
    args = term.args if isinstance(term, Compound) else ()
    return tuple(
        (type(known := value(arg)).__name__, known) if is_ground(arg) else None for arg in args
    )


def _compounds(node: object) -> Iterator[Compound]:
    if isinstance(node, Compound):
        yield node
    for part in parts_of(node):
        yield from _compounds(part)
