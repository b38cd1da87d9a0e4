"""What is odd about a question itself: a time outside the run, an unknown value or argument."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

from cernis.check.checker import Checked
from cernis.check.model import Definitions, Pair
from cernis.explain.explanation_tree import Reason
from cernis.explain.histories import History
from cernis.explain.point_texts import point_text
from cernis.explain.questions import Question
from cernis.knowledge.ground_values import is_ground, same, value
from cernis.records.record_columns import Coded, Records
from cernis.syntax import show
from cernis.syntax.tree import Atom, Compound, Term, Text

_MOST_NAMES: Final = 50_000
"""Among so many names of records a similar one is looked for."""


def before_run(history: History, time: int) -> Reason | None:
    """That a run begins after a point; None if it does not."""
    if time > history.start:
        return None
    text = f"the run begins after {point_text(history.start)}: nothing is known before"
    return Reason("failed", text)


def after_run(history: History, time: int) -> Iterator[Reason]:
    """That a run ends before a point."""
    if time > history.end:
        yield Reason("note", f"the run ends at {point_text(history.end)}: no later record is known")


def unknown_value(definitions: Definitions, question: Question) -> Iterator[Reason]:
    """That no rule gives a fluent the value that is asked for, and which values rules give."""
    pairs = [each for each in _defined_pairs(definitions) if each.relation == question.relation]
    wanted = question.value
    if wanted is None or not pairs or any(_may_be(each.value, wanted) for each in pairs):
        return
    known = ", ".join(dict.fromkeys(show(each.value) for each in pairs))
    name = question.relation.name
    yield Reason("failed", f"no rule gives {name} the value {show(wanted)}; rules give {known}")


def _defined_pairs(definitions: Definitions) -> Iterator[Pair]:
    yield from (rule.pair for rule in definitions.changes if rule.initiates)
    yield from (rule.pair for rule in definitions.statics)
    yield from (rule.pair for rule in definitions.initials)
    yield from (rule.target for rule in definitions.effects if rule.target is not None)


def _may_be(pattern: Term, wanted: Term) -> bool:
    return not is_ground(pattern) or same(pattern, wanted)


def unnamed_arguments(
    records: Records | None, checked: Checked, terms: Iterable[Term]
) -> Iterator[Reason]:
    """Which names no record and no fact has as an argument, and similar ones that some have."""
    constants = [each for each in terms if isinstance(each, Atom | Text)]
    if records is None or checked.tables or not constants:
        return
    names = _names(records)
    for term in constants:
        name = str(value(term))
        if name not in names and not _is_in_program(name, checked):
            near = get_close_matches(name, names, 3) if len(names) <= _MOST_NAMES else []
            more = f"; there are {', '.join(near)}" if near else ""
            yield Reason("failed", f"no record and no fact names {show(term)}{more}")


def _names(records: Records) -> set[str]:
    """All texts that records have as arguments or values."""
    return {
        each
        for part in records.relations.values()
        for column in part.columns
        if isinstance(column, Coded)
        for each in column.values
        if isinstance(each, str)
    }


def _is_in_program(name: str, checked: Checked) -> bool:
    """Does a fact, or the head of a rule, have a name among its arguments?"""
    heads = (clause.head for clauses in checked.clauses.values() for clause in clauses)
    if any(_has(head, name) for head in heads):
        return True
    definitions = checked.definitions
    args = [arg for pair in _defined_pairs(definitions) for arg in pair.args]
    args += [arg for rule in definitions.events for arg in rule.event.args]
    return any(_has(arg, name) for arg in args)


def _has(term: Term, name: str) -> bool:
    if isinstance(term, Compound):
        return any(_has(arg, name) for arg in term.args)
    return isinstance(term, Atom | Text) and value(term) == name
