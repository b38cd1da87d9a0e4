"""Words for tables whose columns do not fit: what there is, what is expected, what to write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from cernis.check.reporter import near

_TIME_WORDS: Final = (
    "time", "timestamp", "datetime", "date", "ts", "t", "when", "eventtime", "occurredat", "at",
)  # fmt: skip
_TIME_PARTS: Final = ("time", "date", "stamp")
INDEX: Final = "__index_level_0__"
"""What Arrow calls the index of a data frame that has no name."""


def missing_column(
    source: str, role: str, titles: Sequence[str], arguments: Iterable[str], free: Sequence[str]
) -> str:
    """A table lacks the column of a time, which may be one of the free columns."""
    expected = ", ".join([role, *(name for name in arguments if name)])
    text = f"{source} has no column {role}; there are {title_list(titles)}; expected are {expected}"
    if INDEX in titles:
        return f'{text}; an index is not read: df.reset_index(names="{role}") makes it a column'
    guess = likely_time(free)
    return f"{text}; {line_to_add(role, guess)}"


def likely_time(titles: Sequence[str]) -> str | None:
    """The column that is probably a time, by its title."""
    plain = {"".join(c for c in title.casefold() if c.isalnum()): title for title in titles}
    for word in _TIME_WORDS:
        if word in plain:
            return plain[word]
    return next((t for word, t in plain.items() if any(p in word for p in _TIME_PARTS)), None)


def likely_argument(name: str, titles: Sequence[str]) -> str | None:
    """The column that is probably an argument, by its title."""
    guesses = near(name.casefold(), [title.casefold() for title in titles])
    return next((title for title in titles if title.casefold() in guesses), None)


def line_to_add(key: str, title: str | None) -> str:
    """What to write so that a column is what it is."""
    column = title or "COLUMN"
    if_it_is = f"if {title} is it, write" if title else "if another column is it, write"
    return (
        f'{if_it_is} {key} = "{column}" under [defaults] in cernis.toml, or say '
        f"--map {key}={column}, or mapping={{'{key}': '{column}'}}"
    )


def title_list(titles: Sequence[str]) -> str:
    """The titles of a table, as there may be none."""
    return ", ".join(titles) or "no columns"


def seems_separated(title: str, delimiter: str) -> str:
    """The sign that a line of titles in one column seems to have between them; else nothing."""
    signs = [sign for sign in (";", "\t", "|", ",") if sign != delimiter and sign in title]
    return signs[0] if signs else ""
