"""Records that a program has no use for: when that is worth a warning, and the words for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cernis.check.catalogue import Catalogue
from cernis.check.model import FluentKind
from cernis.check.report import near

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
    by_count = sorted(ignored.items(), key=lambda pair: (-pair[1], pair[0]))
    for name, count in by_count[:_SHOWN]:
        records = f"{count:,} record{'s' if count != 1 else ''}"
        guesses = " or ".join(f"`{guess}`" for guess in near(name, names))
        question = f": did you mean {guesses}?" if guesses else ""
        yield f"no rule mentions {name or 'records without a name'} ({records}){question}"
    if len(by_count) > _SHOWN:
        yield f"and {len(by_count) - _SHOWN} more names that no rule mentions"


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
