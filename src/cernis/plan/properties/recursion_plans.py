"""Strata whose patterns depend on themselves: what rounds have to evaluate again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cernis.check.model import Boundary, Event, Pair, Relation
from cernis.plan.logical import Definition, Match, Stratum
from cernis.plan.pattern_steps import Join, Occurrences, Refine, Slide, Step, steps_of
from cernis.plan.properties.pattern_needs import history_key


@dataclass(frozen=True, slots=True)
class RecursionPlan:
    """How a stratum with patterns that depend on one another is evaluated in rounds."""

    dependent_steps: tuple[Step, ...]
    """The steps whose matches depend on the state of the last round."""
    grows: bool
    """Are all rules patterns that can only add occurrences, the more there are of them?"""
    only_adds: bool
    """Is it so, and does each rule use the recursion once?"""
    recursive: tuple[Definition, ...]
    """The definitions with the rules that can still add something after the first round."""
    atoms: tuple[Event | Boundary | Pair, ...]
    """What else the patterns are made of."""


def recursion_plan(stratum: Stratum) -> RecursionPlan | None:
    """How a stratum is evaluated in rounds; None if none of its relations has a pattern."""
    rules = list(_matches(stratum))
    if not rules:
        return None
    search = _Search(frozenset(stratum.relations))
    steps = [step for rule in rules for step in steps_of(rule.part.step)]
    all_rules = [rule for definition in stratum.definitions for rule in definition.rules]
    atoms = {
        history_key(step.atom): step.atom
        for step in steps if isinstance(step, Occurrences) and not search.is_defined(step)
    }  # fmt: skip
    return RecursionPlan(
        tuple(filter(search.depends_on_defined, steps)),
        all(isinstance(rule, Match) and search.grows(rule) for rule in all_rules),
        all(isinstance(rule, Match) and search.is_linear(rule) for rule in all_rules),
        tuple(map(search.recursive, stratum.definitions)), tuple(atoms.values()),
    )  # fmt: skip


def _matches(stratum: Stratum) -> Iterator[Match]:
    for definition in stratum.definitions:
        yield from (rule for rule in definition.rules if isinstance(rule, Match))


@dataclass(frozen=True, slots=True)
class _Search:
    """Finds what depends on the relations that a stratum defines."""

    defined: frozenset[Relation]

    def depends_on_defined(self, step: Step) -> bool:
        return any(self.is_defined(below) for below in steps_of(step))

    def is_defined(self, step: Step) -> bool:
        return isinstance(step, Occurrences) and history_key(step.atom)[1] in self.defined

    def is_linear(self, rule: Match) -> bool:
        return self.grows(rule) and sum(map(self.is_defined, steps_of(rule.part.step))) <= 1

    def grows(self, rule: Match) -> bool:
        steps = list(steps_of(rule.part.step))
        absent = [step.absent.part.step for step in steps if isinstance(step, Join) and step.absent]
        return (
            rule.consumption == "unrestricted"
            and not any(map(self.depends_on_defined, absent))
            and not any(_has_window(step) and self.depends_on_defined(step) for step in steps)
        )

    def recursive(self, definition: Definition) -> Definition:
        """A definition with its recursive rules alone."""
        rules = tuple(
            rule for rule in definition.rules
            if isinstance(rule, Match) and self.depends_on_defined(rule.part.step)
        )  # fmt: skip
        return Definition(definition.relation, definition.kind, definition.values, rules)


def _has_window(step: Step) -> bool:
    """Is there a window over matches, in which each depends on those before?"""
    return isinstance(step, Refine) and any(isinstance(around, Slide) for around in step.around)
