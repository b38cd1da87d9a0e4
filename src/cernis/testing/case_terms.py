"""Events and pairs as case files write them, and as answers have them: by relation and texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

from cernis.answers.answer_lines import template
from cernis.check.checker import Checked
from cernis.check.model import Relation, flatten
from cernis.errors import CernisError, DataError
from cernis.knowledge.ground_values import Value, field_value, is_ground, value
from cernis.records.record_columns import shown
from cernis.syntax import parse_term, show
from cernis.syntax.printer import show_atom
from cernis.syntax.tree import Atom, Compound, Term, Variable

_PLAIN: Final = re.compile(r"[a-z][A-Za-z0-9_]*")

Texts: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityPattern:
    """A pair or an event of which some arguments, or the value, may be left open.

    `args` are texts as answers have them, None for what is open. `value` is None for events, and
    an empty tuple where the value of a fluent is open.
    """

    relation: Relation
    args: tuple[str | None, ...]
    value: str | tuple[()] | None
    written: str

    @property
    def is_event(self) -> bool:
        """Is it about an event?"""
        return self.value is None

    @property
    def is_ground(self) -> bool:
        """Is nothing left open?"""
        return None not in self.args and self.value != ()

    def fits(self, args: Texts, held: str | None) -> bool:
        """Is an instance with these arguments and this value one of those that are meant?"""
        if isinstance(self.value, str) and self.value != held:
            return False
        return all(
            wanted is None or wanted == text for wanted, text in zip(self.args, args, strict=True)
        )


def read_entity(text: str, checked: Checked) -> EntityPattern:
    """What a text such as `level(b7)=critical` or `level(_)=V` is about; `true` is the usual value.

    A DataError says what is wrong with it, and which names there are.
    """
    term = _term(text)
    held: Term | None = None
    if isinstance(term, Compound) and term.functor == "=" and len(term.args) == 2:
        term, held = term.args
    if isinstance(term, Variable):
        raise DataError(f"{text!r} is neither a pair nor an event")
    relation, args = flatten(term)
    catalogue = checked.catalogue
    known = relation in catalogue.fluents or (held is None and relation in catalogue.events)
    if not known:
        raise _unknown(relation, checked, held is None)
    is_event = held is None and relation in catalogue.events
    pattern_value: str | tuple[()] | None = None if is_event else "true"
    if held is not None:
        pattern_value = () if isinstance(held, Variable) else _text_of(held, text)
    return EntityPattern(
        relation,
        tuple(None if isinstance(arg, Variable) else _text_of(arg, text) for arg in args),
        pattern_value,
        text,
    )


def read_ground(text: str, checked: Checked) -> tuple[str, list[Value], Value | None]:
    """The name, the arguments and, of a fluent, the value of a record as it is written."""
    term = _term(text)
    held: Value | None = None
    if not is_ground(term):
        raise DataError(
            f"{text!r} has variables; a record has values, and names in capitals need quotes"
        )
    if isinstance(term, Compound) and term.functor == "=" and len(term.args) == 2:
        term, held_term = term.args
        held = _plain_value(held_term)
    if not isinstance(term, Atom | Compound):
        raise DataError(f"{text!r} is neither an event nor a pair")
    name, args = (term.functor, term.args) if isinstance(term, Compound) else (term.name, ())
    relation = Relation(name, len(args))
    known = checked.catalogue.events if held is None else checked.catalogue.fluents
    if relation not in known and not any(_is_nested(each, name) for each in known):
        raise _unknown(relation, checked, held is None)
    return name, [_plain_value(arg) for arg in args], held


def entity_shown(relation: Relation, args: Iterable[str], held: str | None) -> str:
    """An instance as it is written in rules.

    >>> entity_shown(Relation("level", 1), ["b7"], "Far out")
    "level(b7)='Far out'"
    """
    pieces = template(relation)
    text = pieces[0] + "".join(
        _spelled(arg) + piece for arg, piece in zip(args, pieces[1:], strict=True)
    )
    return text if held is None else f"{text}={_spelled(held)}"


def args_by_title(
    titles: Sequence[str], row: Mapping[str, str], names: Sequence[str]
) -> list[Value]:
    """The arguments of a row of a table: by the names that rules give them, or in their order."""
    folded = {re.sub(r"[^a-z0-9]", "", title.lower()): title for title in titles}
    wanted = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in names]
    if set(wanted) == set(folded) and len(wanted) == len(titles):
        titles = [folded[name] for name in wanted]
    return [cell_value(row[title]) for title in titles]


def cell_value(text: str) -> Value:
    """A field of a table as a value: a number if it reads as one, else text; quotes are left out.

    >>> cell_value("7"), cell_value("'7'"), cell_value("Far out")
    (7, '7', 'Far out')
    """
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return field_value(text)


def _term(text: str) -> Term:
    try:
        return parse_term(text)
    except CernisError as error:
        reason = str(error).splitlines()[-1].partition(": ")[2]
        raise DataError(f"{text!r} is neither an event nor a pair: {reason}") from None


def _text_of(term: Term, text: str) -> str:
    if not is_ground(term):
        raise DataError(f"{text!r}: a variable stands for a whole argument, not for a part of one")
    return shown(value(term))


def _plain_value(term: Term) -> Value:
    """A value as records hold it: compound terms are texts there."""
    plain = value(term)
    return plain if isinstance(plain, int | float | str) else show(term)


def _is_nested(relation: Relation, name: str) -> bool:
    return relation.name.startswith(f"{name}(")


def _spelled(text: str) -> str:
    """A text of an answer as rules write it."""
    number = field_value(text)
    if _PLAIN.fullmatch(text) or (not isinstance(number, str) and shown(number) == text):
        return text
    try:
        if isinstance(term := parse_term(text), Compound) and show(term) == text:
            return text
    except CernisError:
        pass
    return show_atom(text)


def _unknown(relation: Relation, checked: Checked, maybe_event: bool) -> DataError:
    catalogue = checked.catalogue
    names = [str(each) for each in catalogue.fluents]
    if maybe_event:
        names += [str(each) for each in catalogue.events]
    near = get_close_matches(str(relation), names, 3, 0.5) or sorted(names)[:8]
    kind = "event or fluent" if maybe_event else "fluent"
    return DataError(f"the rules have no {kind} {relation}; they have {', '.join(near) or 'none'}")
