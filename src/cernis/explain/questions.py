"""What is to be explained: a pair at a time-point, or an event."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from cernis.check.checker import Checked
from cernis.check.model import Relation, flatten
from cernis.errors import CernisError, DataError, ProgramError
from cernis.knowledge.ground_values import is_ground
from cernis.syntax import parse_term, show
from cernis.syntax.tree import Atom, Compound, Term


@dataclass(frozen=True, slots=True)
class Question:
    """A fluent with its arguments and value, or an event, which has no value."""

    relation: Relation
    args: tuple[Term, ...]
    value: Term | None

    @property
    def is_event(self) -> bool:
        """Is it about an event?"""
        return self.value is None

    def __str__(self) -> str:
        return entity_text(self.relation, self.args, self.value)


def entity_text(relation: Relation, args: tuple[Term, ...], value: Term | None) -> str:
    """A pair or an event as it is written.

    >>> entity_text(Relation("level", 1), (Atom("b7"),), Atom("critical"))
    'level(b7)=critical'
    """
    term = _nested(relation.name, iter(args)) if "(" in relation.name else None
    if term is None:
        term = Compound(relation.name, args) if args else Atom(relation.name)
    return show(term if value is None else Compound("=", (term, value)))


def _nested(name: str, args: object) -> Term:
    """The term of a relation that has compound arguments, its slots filled."""
    return _filled(parse_term(name), args)


def _filled(term: Term, args: object) -> Term:
    if isinstance(term, Compound):
        return Compound(term.functor, tuple(_filled(arg, args) for arg in term.args))
    if getattr(term, "name", "") == "_":
        return next(args)  # type: ignore[call-overload,no-any-return]
    return term


def read_question(text: str, checked: Checked) -> Question:
    """What a text such as `level(b7)=critical` asks for; a pair without value is of `true`."""
    try:
        term = parse_term(text)
    except CernisError as error:
        raise DataError(_unreadable(text, error)) from None
    value: Term | None = None
    if isinstance(term, Compound) and term.functor == "=" and len(term.args) == 2:
        term, value = term.args
    if not is_ground(term) or (value is not None and not is_ground(value)):
        raise DataError(f"{text!r} has variables: name the arguments and the value")
    relation, args = flatten(term)
    if value is None and relation in checked.catalogue.fluents:
        value = Atom("true")
    known = checked.catalogue.events if value is None else checked.catalogue.fluents
    if relation not in known:
        raise _unknown(relation, [str(each) for each in known], value is None)
    return Question(relation, args, value)


def _unreadable(text: str, error: CernisError) -> str:
    """What is wrong with the text of a question, in a line."""
    faults = error.diagnostics if isinstance(error, ProgramError) else ()
    reason = next((each.message for each in faults if each.is_error), str(error))
    if not text.strip():
        reason = "it is empty"
    return f"{text!r} is neither a pair, such as level(b7)=critical, nor an event: {reason}"


def _unknown(relation: Relation, known: list[str], is_event: bool) -> DataError:
    kind = "event" if is_event else "fluent"
    near = get_close_matches(str(relation), known, 3) or sorted(known)[:8]
    return DataError(f"there is no {kind} {relation}; there are {', '.join(near) or 'none'}")
