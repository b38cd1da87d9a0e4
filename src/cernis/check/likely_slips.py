"""What can be read but is probably a slip: variables in lower case, numbers compared as terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from cernis.check.reporter import Report
from cernis.errors import Correction, Note
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS
from cernis.source import Sources, Span
from cernis.syntax.operators import INFIX
from cernis.syntax.printer import show
from cernis.syntax.slips import WORDS, word_slip
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Item,
    Number,
    Term,
    Variable,
    conjuncts,
    functor,
    variables,
    walk,
)

_NUMERIC = {"==": "=:=", "\\==": "=\\="}
"""What compares numbers, for what compares terms."""

_Positions = dict[tuple[str, int, int, str], Span]
"""Where a variable stands as which argument of what."""


def check_slips(items: Iterable[Item], report: Report) -> None:
    """Warn of what a newcomer's hand writes and the language understands otherwise."""
    rules = [item for item in items if isinstance(item, Clause) and item.body]
    facts = [item.head for item in items if isinstance(item, Clause) and not item.body]
    _lower_case(rules, facts, report)
    for rule in rules:
        for node in (node for goal in rule.body for node in walk(goal)):
            if isinstance(node, Compound) and node.functor in _NUMERIC and len(node.args) == 2:
                _numbers(node, report)


def read_words_as_signs(items: Iterable[Item], sources: Sources, report: Report) -> list[Item]:
    """Clauses whose conditions are joined by `and` and `or`, as they are meant; with errors."""
    words: list[Compound] = []
    signs = [
        _signed(item, words)
        if isinstance(item, Clause) and any(_is_joined(goal) for goal in item.body)
        else item
        for item in items
    ]
    for chain in words:
        for left, right in pairwise(chain.args):
            if (place := _word_between(chain.functor, left, right, sources)) is not None:
                report.diagnostics.append(word_slip(chain.functor, *place))
    return signs


def _signed(clause: Clause, words: list[Compound]) -> Clause:
    goals = (conjuncts(_with_signs(goal, words)) for goal in clause.body)
    return replace(clause, body=tuple(part for parts in goals for part in parts))


def _is_joined(term: Term) -> bool:
    if not isinstance(term, Compound) or term.functor not in (*WORDS, ",", ";", "\\+", "not"):
        return False
    return term.functor in WORDS or any(_is_joined(argument) for argument in term.args)


def _with_signs(term: Term, words: list[Compound]) -> Term:
    """A condition with `,` and `;` for words; the chains that have words are collected."""
    if not isinstance(term, Compound) or not _is_joined(term):
        return term
    args = tuple(_with_signs(argument, words) for argument in term.args)
    if term.functor in WORDS:
        words.append(term)
    sign = WORDS.get(term.functor, term.functor)
    if sign == ",":
        args = tuple(part for argument in args for part in conjuncts(argument))
    return Compound(sign, args, term.span)


def _word_between(
    word: str, left: Term, right: Term, sources: Sources
) -> tuple[Span, int] | None:  # fmt: skip
    """Where a word stands between two terms, and where what is before it ends."""
    match = re.search(rf"[ \t]*\b({word})\b", sources.text((left.span[1], right.span[0])))
    if match is None:
        return None
    base = left.span[1]
    return (base + match.start(1), base + match.end(1)), base + match.start()


def _numbers(comparison: Compound, report: Report) -> None:
    left, right = comparison.args
    if not _is_numeric(left) and not _is_numeric(right):
        return
    sign = _NUMERIC[comparison.functor]
    report.warn(
        "C051", f"`{comparison.functor}` compares terms and not numbers", comparison.span,
        help=f"it computes nothing, and 2 and 2.0 differ; numbers are compared by `{sign}`",
        correction=Correction(comparison.span, f"{show(left)} {sign} {show(right)}"),
    )  # fmt: skip


def _is_numeric(term: Term) -> bool:
    return isinstance(term, Number) or (isinstance(term, Compound) and functor(term) in FUNCTIONS)


def _lower_case(rules: list[Clause], facts: list[Term], report: Report) -> None:
    """Names that stand where other places have a variable of that name."""
    positions: _Positions = {}
    for rule in rules:
        for place, argument in _arguments(rule):
            if isinstance(argument, Variable):
                positions.setdefault((*place, argument.name), argument.span)
    suspects = [
        (rule, atom, name, positions[(*place, name)])
        for rule in rules
        for place, atom in _arguments(rule)
        if isinstance(atom, Atom)
        and (name := atom.name[:1].upper() + atom.name[1:]) != atom.name
        and (*place, name) in positions
    ]
    known = {node.name for fact in facts if suspects for node in _atoms(fact)}
    for rule, atom, name, elsewhere in suspects:
        if atom.name not in known:
            _say_lower_case(rule, atom, name, elsewhere, report)


def _say_lower_case(
    rule: Clause, atom: Atom, name: str, elsewhere: Span, report: Report
) -> None:  # fmt: skip
    same = (v.span for term in (rule.head, *rule.body) for v in variables(term) if v.name == name)
    report.warn(
        "C026", f"`{atom.name}` is a name, and elsewhere this argument is the variable {name}",
        atom.span, Note(f"{name} stands here", next(same, elsewhere)),
        help=f"variables begin with a capital letter; write '{atom.name}' if the name is meant",
        correction=Correction(atom.span, name),
    )  # fmt: skip


def _arguments(rule: Clause) -> Iterator[tuple[tuple[str, int, int], Term]]:
    """All arguments of a rule, each with what it is an argument of."""
    for term in (rule.head, *rule.body):
        for node in walk(term):
            if isinstance(node, Compound) and node.functor not in INFIX:
                for position, argument in enumerate(node.args):
                    yield (node.functor, len(node.args), position), argument


def _atoms(term: Term) -> Iterator[Atom]:
    return (node for node in walk(term) if isinstance(node, Atom))
