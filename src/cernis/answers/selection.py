"""Which fluents and derived events of an answer are printed or written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from cernis.check.catalogue import Catalogue
from cernis.check.model import FluentKind, Relation
from cernis.check.reporter import near
from cernis.errors import DataError
from cernis.evaluate.answer import Answer


def selected_relations(
    names: Iterable[str], catalogue: Catalogue, hidden: Collection[Relation] = ()
) -> frozenset[Relation]:
    """The defined fluents and events of some names, with or without their number of arguments.

    A name of several is all of them; a name of none is a DataError. Hidden ones, such as the timers
    that phrases are written out with, cannot be selected.
    """
    known = [each for each, entry in catalogue.events.items() if not entry.is_input]
    kinds = catalogue.fluents.items()
    known += [each for each, entry in kinds if entry.kind is not FluentKind.INPUT]
    known = [each for each in known if each not in hidden]
    selected: set[Relation] = set()
    for name in names:
        matching = {r for r in known if name in (r.name, str(r), r.name.partition("(")[0])}
        if not matching:
            raise DataError(_unknown(name, known))
        selected |= matching
    return frozenset(selected)


def _unknown(name: str, known: Iterable[Relation]) -> str:
    names = sorted({relation.name for relation in known})
    guesses = near(name, names)
    question = f": did you mean {' or '.join(guesses)}?" if guesses else ""
    listed = ", ".join(names) or "none"
    return f"rules define no fluent and no event {name}{question}; there are {listed}"


def selected_answer(answer: Answer, relations: frozenset[Relation]) -> Answer:
    """The answer with only these fluents and events."""
    return replace(
        answer,
        fluents={each: table for each, table in answer.fluents.items() if each in relations},
        events={each: table for each, table in answer.events.items() if each in relations},
        courses={each: course for each, course in answer.courses.items() if each in relations},
        means={each: mean for each, mean in answer.means.items() if each in relations},
        possible={each: table for each, table in answer.possible.items() if each in relations},
        occurrence_chances={
            each: chances
            for each, chances in answer.occurrence_chances.items()
            if each in relations
        },
    )
