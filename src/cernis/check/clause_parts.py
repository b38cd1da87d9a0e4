"""The parts clauses are made of: fluent-value pairs and events."""

from __future__ import annotations

from cernis.check.amounts import amount, is_length
from cernis.check.model import Event, Pair, flatten
from cernis.check.reporter import Report
from cernis.syntax.printer import show
from cernis.syntax.tree import Atom, Compound, Term, Variable, functor


def pair_of(term: Term, report: Report, where: str) -> Pair | None:
    """A fluent-value pair; None, and a diagnostic, for anything else."""
    if not isinstance(term, Compound) or term.functor != "=" or len(term.args) != 2:
        shown = show(term)
        report.error(
            "C062", f"{where} needs a fluent with its value", term.span,
            help=f"write {shown}=true" if isinstance(term, (Compound, Atom)) else "write F=V",
        )  # fmt: skip
        return None
    fluent, value = term.args
    if not isinstance(fluent, (Compound, Atom)):
        report.error("C062", f"{show(fluent)} is no fluent", fluent.span,
                     help="a fluent is a name, with arguments or without")  # fmt: skip
        return None
    relation, args = flatten(fluent)
    return Pair(relation, args, value, term.span, term)


def event_of(term: Term, report: Report, where: str) -> Event | None:
    """An event; None, and a diagnostic, for anything else."""
    if not isinstance(term, (Compound, Atom)) or functor(term) == ("=", 2):
        report.error("C062", f"{where} needs an event, not {show(term)}", term.span,
                     help="an event is a name, with arguments or without")  # fmt: skip
        return None
    relation, args = flatten(term)
    return Event(relation, args, term.span, term)


def show_fluent(pair: Pair) -> str:
    """The fluent of a pair, without its value."""
    return show(pair.term.args[0]) if isinstance(pair.term, Compound) else str(pair.relation)


def is_delay(term: Term, report: Report) -> bool:
    """A delay is a number above 0, or something that is computed."""
    said = amount(term)
    if (said is not None and said > 0 and is_length(said)) or isinstance(term, Variable):
        return True
    if isinstance(term, Compound) and term.functor in ("+", "-", "*", "/", "//", "min", "max"):
        return True
    report.error(
        "C044", f"{show(term)} is no delay", term.span,
        help="a delay is a number above 0 and below 2**62, or is computed by the body",
    )  # fmt: skip
    return False
