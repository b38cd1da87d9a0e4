"""Records that a program has no use for: when that is worth a warning, and the words for it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from cernis.check.catalogue import Catalogue
from cernis.check.model import FluentKind, Relation
from cernis.check.reporter import near
from cernis.errors import InputWarning

if TYPE_CHECKING:
    from cernis.answers.result import Summary

_SHOWN: Final = 5
"""How many names, or reasons, are listed."""


def input_names(catalogue: Catalogue) -> list[str]:
    """The names that records may have: of the events and fluents no rule defines, sorted."""
    events = [relation for relation, entry in catalogue.events.items() if entry.is_input]
    kinds = catalogue.fluents.items()
    fluents = [relation for relation, entry in kinds if entry.kind is FluentKind.INPUT]
    return sorted({relation.name.partition("(")[0] for relation in (*events, *fluents)})


def is_mostly_unused(records: int, unused: int, used: int) -> bool:
    """Are more than half of the records unused, or none used although there were some?

    >>> is_mostly_unused(10, 5, 5), is_mostly_unused(10, 6, 4), is_mostly_unused(3, 0, 0)
    (False, True, True)
    >>> is_mostly_unused(0, 0, 0)
    False
    """
    return records > 0 and (2 * unused > records or used <= 0)


def unknown_names(ignored: Mapping[str, int], known: Iterable[str]) -> Iterator[str]:
    r"""A sentence for each name that no rule mentions, those with most records first.

    >>> print(*unknown_names({"sp02": 7, "rain": 1}, ["spo2", "pulse"]), sep="\n")
    no rule mentions sp02 (7 records): did you mean `spo2`?
    no rule mentions rain (1 record)
    """
    names = sorted(set(known))
    found = [(name, count) for name, count in ignored.items() if count]
    by_count = sorted(found, key=lambda pair: (-pair[1], pair[0]))
    for name, count in by_count[:_SHOWN]:
        records = f"{count:,} record{'s' if count != 1 else ''}"
        guesses = " or ".join(f"`{guess}`" for guess in near(name, names))
        question = f": did you mean {guesses}?" if guesses else ""
        yield f"no rule mentions {name or 'records without a name'} ({records}){question}"
    if len(by_count) > _SHOWN:
        yield f"and {len(by_count) - _SHOWN} more names that no rule mentions"


def missing_fluents(provided: Collection[Relation], catalogue: Catalogue) -> list[str]:
    """A sentence about the fluents that rules read, nothing defines, and no record is of.

    Nothing that depends on them can hold, and nothing else would show that the input lacks them.
    """
    read = [
        relation for relation, entry in catalogue.fluents.items()
        if entry.kind is FluentKind.INPUT and entry.uses and relation not in provided
    ]  # fmt: skip
    if not read:
        return []
    names = ", ".join(map(str, sorted(read)[:_SHOWN]))
    more = f" and {len(read) - _SHOWN} more" if len(read) > _SHOWN else ""
    return [f"rules read {names}{more}, which nothing defines and no record is of"]


def reasons_counted(reasons: Iterable[str]) -> Iterator[str]:
    r"""A sentence for each reason why records were set aside, the most frequent first.

    >>> print(*reasons_counted(["no time", "no value", "no time"]), sep="\n")
    2 records set aside: no time
    1 record set aside: no value
    """
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    by_count = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    for reason, count in by_count[:_SHOWN]:
        yield f"{count:,} record{'s' if count != 1 else ''} set aside: {reason}"
    if len(by_count) > _SHOWN:
        yield f"and {len(by_count) - _SHOWN} more reasons"


def unused_records(summary: Summary, catalogue: Catalogue) -> list[str]:
    """Sentences about a run that had little use for its records; none if it used most of them."""
    if not summary.is_mostly_unused:
        return []
    ignored, late = sum(summary.ignored.values()), len(summary.too_late)
    unused = min(ignored + len(summary.set_aside) + late + summary.outside, summary.records)
    lines = [f"{unused:,} of {summary.records:,} records are not used"]
    lines += unknown_names(summary.ignored, input_names(catalogue))
    lines += reasons_counted(each.reason for each in summary.set_aside)
    counts = ((late, "too late"), (summary.outside, "outside the run"))
    lines += [f"{count:,} {word}" for count, word in counts if count]
    return lines


def warn_of_input(summary: Summary, catalogue: Catalogue, stacklevel: int = 3) -> None:
    """Warn of what about the input of a run is probably not meant, in one warning each."""
    for text in (*summary.warnings, *summary.remarks):
        warnings.warn(text, InputWarning, stacklevel=stacklevel)
    unused = unused_records(summary, catalogue)
    if not unused and summary.set_aside:
        count = len(summary.set_aside)
        first = summary.set_aside[0]
        text = f"{count:,} of {summary.records:,} records set aside, the first: {first}"
        warnings.warn(text, InputWarning, stacklevel=stacklevel)
    if unused:
        text = "; ".join((f"{unused[0]}: {unused[1]}", *unused[2:]))
        warnings.warn(text, InputWarning, stacklevel=stacklevel)
