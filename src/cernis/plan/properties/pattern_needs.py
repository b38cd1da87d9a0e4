"""What the patterns of a program need of the time before a window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from cernis.check.model import Boundary, Event, Pair, Relation
from cernis.plan.logical import Match, Stage
from cernis.plan.pattern_steps import (
    Choice,
    Conditions,
    Join,
    Occurrences,
    Refine,
    Slide,
    Step,
    StepUse,
    parts_below,
    steps_of,
)

_LAST: Final = {
    "seq": ("right",), "meets": ("right",), "starts": ("right",), "during": ("right",),
    "finishes": ("left", "right"), "equals": ("left", "right"),
}  # fmt: skip
"""The sides of an operator that end at the same point as the whole match."""

Key: TypeAlias = tuple[str, Relation]

Atoms: TypeAlias = dict[Key, tuple[Occurrences, float]]


@dataclass(frozen=True, slots=True)
class PatternNeeds:
    """The occurrences before the edge that the patterns of a plan need."""

    atoms: Atoms
    """The atoms of the patterns, and how far back from the end of a match each may be needed."""
    needed_keys: frozenset[Key]
    """The events and fluents whose occurrences before the edge are kept."""
    keys: frozenset[Key]
    """The events and fluents of which occurrences may be kept: all that are in patterns."""
    leftover_steps: tuple[Join | Refine, ...]
    """The steps that keep only what they need: see the module `leftover_matches`."""
    input_events: frozenset[Relation]
    """The input events whose happenings must be handed over when the edge passes them."""


def pattern_needs(
    stages: tuple[Stage, ...], inputs: frozenset[Relation],
    keeps_all: Callable[[Step], bool] = lambda _: False,
) -> PatternNeeds:  # fmt: skip
    """What the patterns of some stages need, where these events and fluents are input.

    For steps that are to keep all, all occurrences that a match may need are kept.
    """
    rules = list(_matches(stages))
    steps, atoms = [s for s in _leftover_steps(stages, rules) if not keeps_all(s)], Atoms()
    left = {id(step) for step in steps}
    for rule in rules:
        parts = parts_below(rule.part.step) if id(rule.part.step) in left else (rule.part,)
        for step, reach in (each for part in parts for each in reaches(part.step, 0)):
            key = history_key(step.atom)
            atoms[key] = (step, max(atoms.get(key, (step, 0.0))[1], reach))
    needed_keys = {key for key, (_, reach) in atoms.items() if reach > 0}
    needed_keys |= {history_key(atom) for step in steps for atom in atoms_of(step)}
    input_events = {relation for kind, relation in needed_keys if kind == "event"} & inputs
    return PatternNeeds(
        atoms, frozenset(needed_keys), _keys(rules), tuple(steps), frozenset(input_events)
    )


def _matches(stages: tuple[Stage, ...]) -> Iterator[Match]:
    strata = (stratum for stage in stages for stratum in stage.strata)
    for definition in (each for stratum in strata for each in stratum.definitions):
        yield from (rule for rule in definition.rules if isinstance(rule, Match))


def _keys(rules: list[Match]) -> frozenset[Key]:
    """What patterns are made of."""
    steps = [step for rule in rules for step in steps_of(rule.part.step)]
    steps += [part.step for step in list(steps) for part in parts_below(step)]
    return frozenset(history_key(s.atom) for s in steps if isinstance(s, Occurrences))


def _leftover_steps(stages: tuple[Stage, ...], rules: list[Match]) -> list[Join | Refine]:
    """The steps that keep only what they need of the past: see the module `leftover_matches`."""
    below = {
        id(part.step) for rule in rules for step in steps_of(rule.part.step)
        for part in parts_below(step)
    }  # fmt: skip
    intervals = {rule.head.relation for rule in rules}
    steps: dict[int, Join | Refine] = {}
    for stratum in (stratum for stage in stages for stratum in stage.strata):
        for rule in (rule for each in stratum.definitions for rule in each.rules):
            if not isinstance(rule, Match) or stratum.immediate or id(rule.part.step) in below:
                continue
            step = rule.part.step
            if isinstance(step, (Join, Refine)) and _leaves(step, _has_points(step, intervals)):
                steps[id(step)] = step
    return list(steps.values())


def _has_points(step: Join | Refine, intervals: set[Relation]) -> bool:
    """Are the occurrences of a step's second part points?"""
    if isinstance(step, Refine) or not is_simple(step.right):
        return False
    atom = occurrences_below(step.right).atom
    return not isinstance(atom, Pair) and not (
        isinstance(atom, Event) and atom.relation in intervals
    )


def atoms_of(step: Join | Refine) -> list[Event | Boundary | Pair]:
    """The atoms of the parts of a step that knows what it needs."""
    parts = [step.part] if isinstance(step, Refine) else [step.left, step.right]
    return [occurrences_below(part).atom for part in parts]


def reaches(step: Step, reach: float) -> Iterator[tuple[Occurrences, float]]:
    """How far back from its end a match of a pattern may need each atom of it."""
    if isinstance(step, Occurrences):
        yield step, reach
    elif isinstance(step, Choice):
        for part in step.parts:
            yield from reaches(part.step, reach)
    elif isinstance(step, Refine):
        slides = [around for around in step.around if isinstance(around, Slide)]
        further = max((_window(slide) for slide in slides), default=0.0)
        yield from reaches(step.part.step, reach + further)
    elif isinstance(step, Join):
        join_reach = (
            math.inf if step.limit < 0 or step.consumption == "chronological" else step.limit
        )
        for side, part in (("left", step.left), ("right", step.right)):
            # A part that ends with the whole match is in the window whenever the match is.
            is_last = side in _LAST.get(step.operator, ()) and step.consumption != "chronological"
            yield from reaches(part.step, reach if is_last else reach + join_reach)
        if step.absent is not None:
            yield from reaches(step.absent.part.step, reach + join_reach)


def _window(slide: Slide) -> float:
    return math.inf if slide.past is None else slide.past


def _leaves(step: Step, has_points: bool) -> bool:
    """Is it one of the three? `has_points` says whether the second part of a sequence has."""
    if isinstance(step, Refine):
        slides = [isinstance(own, Slide) for own in step.around]
        lasting = [own for own in step.around if isinstance(own, Slide) and own.last is None]
        return is_simple(step.part) and any(slides) and not lasting and slides == sorted(
            slides, reverse=True
        )  # fmt: skip
    if not isinstance(step, Join) or step.operator != "seq" or step.absent is not None:
        return False
    if not is_simple(step.left) or not is_simple(step.right):
        return False
    usual = step.consumption == "recent" and step.limit < 0 and not step.around
    return step.consumption == "chronological" or (usual and has_points)


def is_simple(part: StepUse) -> bool:
    """Is a part made of occurrences, perhaps with conditions on them?"""
    step = part.step
    if isinstance(step, Refine):
        return all(isinstance(own, Conditions) for own in step.around) and is_simple(step.part)
    return isinstance(step, Occurrences)


def occurrences_below(part: StepUse) -> Occurrences:
    """The occurrences that a simple part is made of."""
    step = part.step
    return occurrences_below(step.part) if isinstance(step, Refine) else _as_occurrences(step)


def _as_occurrences(step: Step) -> Occurrences:
    assert isinstance(step, Occurrences)
    return step


def history_key(atom: Event | Boundary | Pair) -> tuple[str, Relation]:
    """What identifies the occurrences of an atom."""
    if isinstance(atom, Boundary):
        return atom.edge, atom.pair.relation
    return ("event" if isinstance(atom, Event) else "fluent"), atom.relation
