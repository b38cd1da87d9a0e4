"""Steps of patterns in words: by the names that variables have in the rule that is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from cernis.check.model import Boundary, Event
from cernis.plan.pattern_plans import renamed
from cernis.plan.pattern_steps import (
    Around,
    Choice,
    Instant,
    Join,
    Occurrences,
    Refine,
    Step,
    parts_below,
)
from cernis.syntax.printer import show
from cernis.syntax.tree import Compound, Term, Variable, variables

Node = TypeVar("Node")


def shared_steps(steps: Iterable[Step]) -> dict[int, int]:
    """Numbers for the steps that are used more than once, by identity; single events left out."""
    uses: Counter[int] = Counter()
    for step in steps:
        _use(step, uses)
    shared = (step for step, count in uses.items() if count > 1)
    return {step: number for number, step in enumerate(shared, 1)}


def _use(step: Step, uses: Counter[int]) -> None:
    """Count a step, and what is below it when it is first met."""
    if isinstance(step, (Occurrences, Instant)):
        return
    uses[id(step)] += 1
    if uses[id(step)] == 1:
        for part in parts_below(step):
            _use(part.step, uses)


def arounds(step: Step) -> tuple[Around, ...]:
    """What is written around a step."""
    return step.around if isinstance(step, (Refine, Join)) else ()


def absence(step: Step) -> tuple[Around, ...]:
    """The conditions on what must be absent that speak of what is around it, too."""
    return step.absent.around if isinstance(step, Join) and step.absent else ()


def title(step: Step, called: dict[str, str]) -> str:
    """A step on one line: what it is, and what it joins on."""
    if isinstance(step, Occurrences):
        return f"Occurrences {_atom(step, called)}"
    if isinstance(step, Instant):
        return f"TimePoint {step.time}"
    if isinstance(step, Choice):
        return "Or"
    if isinstance(step, Refine):
        return "Refine"
    shared = [called[name] for name in step.left.names if name in step.right.names]
    on = f" on {', '.join(shared)}" if shared else ""
    within = f" within {step.limit}" if step.limit >= 0 else ""
    return f"{'Absence' if step.absent else step.operator.capitalize()}{on}{within}"


def _atom(step: Occurrences, called: dict[str, str]) -> str:
    atom = step.atom
    pair = atom.pair if isinstance(atom, Boundary) else atom
    args = pair.args if isinstance(pair, Event) else (*pair.args, pair.value)
    names = (called.get(v.name, "_") for arg in args for v in variables(arg))
    text = show(_with_names(pair.term, names))
    return f"{atom.edge}({text})" if isinstance(atom, Boundary) else text


def _with_names(term: Term, names: Iterator[str]) -> Term:
    """The term with other names for its variables, given in reading order."""
    if isinstance(term, Variable):
        name = next(names)
        return replace(term, name="_" if name.startswith("_ ") else name)
    if isinstance(term, Compound):
        return replace(term, args=tuple(_with_names(arg, names) for arg in term.args))
    return term


def in_words(node: Node, called: dict[str, str]) -> Node:
    """Operators with their variables called otherwise."""
    if isinstance(node, (Variable, Compound)):
        return renamed(node, called)  # type: ignore[return-value]
    if isinstance(node, str):
        return called.get(node, node)  # type: ignore[return-value]
    if isinstance(node, tuple):
        return tuple(in_words(each, called) for each in node)  # type: ignore[return-value]
    if is_dataclass(node) and not isinstance(node, type):
        parts = {each.name: in_words(getattr(node, each.name), called) for each in fields(node)}
        return type(node)(**parts)
    return node
