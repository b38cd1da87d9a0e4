"""What columns are called that have other names than the roles and arguments they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cernis.errors import DataError

ROLE_NAMES: Final = (
    "arrival", "occurrence", "start", "end", "value", "probability", "retracts", "name",
)  # fmt: skip
"""What a column may be besides an argument."""
READING: Final = ("delimiter", "encoding")
"""How files of text are written, which stands beside the names of columns."""


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """For roles and arguments, the columns that have them: of all relations, or of one.

    >>> names = ColumnNames((("", "occurrence", "time"), ("spo2", "value", "sat")))
    >>> names.called("spo2", ["bed", "sat", "time"])
    ['bed', 'value', 'occurrence']
    """

    entries: tuple[tuple[str, str, str], ...] = ()
    """Relation, or nothing for all; role or argument; column."""

    def over(self, other: ColumnNames) -> ColumnNames:
        """These names, and others where these say nothing."""
        known = {entry[:2] for entry in self.entries}
        more = (entry for entry in other.entries if entry[:2] not in known)
        return ColumnNames((*self.entries, *more))

    def called(self, relation: str, titles: Sequence[str]) -> list[str]:
        """What the columns of a table stand for; a column that nothing is said of keeps its title.

        A column that has the title of a role which another column has is none of that role.
        """
        column_of_key = self._of(relation)
        key_of_title = {title: key for key, title in column_of_key.items() if title in titles}
        taken = set(key_of_title.values())
        return [
            key_of_title.get(title, f"{title} (unused)" if title in taken else title)
            for title in titles
        ]

    def column(self, key: str, relation: str = "") -> str | None:
        """The column of a role or argument, or how files are read; None if nothing is said."""
        return self._of(relation).get(key)

    def _of(self, relation: str) -> dict[str, str]:
        """The names for one relation: what is said of it goes before what is said of all."""
        general = {key: title for name, key, title in self.entries if not name}
        return general | {key: title for name, key, title in self.entries if name == relation}

    def check(self, arguments: Mapping[str, Iterable[str]]) -> None:
        """Raise a DataError if something is neither a role nor an argument of the input.

        `arguments` are the names of arguments by relation.
        """
        for relation, key, title in self.entries:
            if relation and relation not in arguments:
                known = ", ".join(sorted(arguments)) or "none"
                raise DataError(
                    f"{relation}.{key} = {title!r} names a column, and no input is called "
                    f"{relation}; there are {known}"
                )
            names = {
                name for each in ([relation] if relation else arguments) for name in arguments[each]
            }
            allowed = {*ROLE_NAMES, *READING, *names}
            if key not in allowed and key.casefold() not in {name.casefold() for name in allowed}:
                listed = ", ".join([*ROLE_NAMES, *sorted(names), *READING])
                raise DataError(
                    f"{key} = {title!r} names a column, and {key} is neither a role nor an "
                    f"argument of the input; there are {listed}"
                )


NO_NAMES: Final = ColumnNames()
"""Columns are called as the roles and arguments that they stand for."""


def column_names(said: Mapping[str, Any], source: str) -> ColumnNames:
    """The names that a mapping says: `{"occurrence": "time", "spo2": {"value": "sat"}}`."""
    entries = []
    for key, title in said.items():
        if isinstance(title, Mapping):
            entries += [(str(key), str(role), title[role]) for role in title]
        else:
            entries.append(("", str(key), title))
    for _, key, title in entries:
        if not isinstance(title, str):
            raise DataError(
                f"{source}: {key} must be the name of a column, not {title!r}; write, say, "
                f'{key} = "time"'
            )
    return ColumnNames(tuple(entries))


def names_of_options(options: Iterable[str]) -> dict[str, Any]:
    """What options such as `occurrence=time` and `spo2.value=sat` say, as a mapping.

    >>> names_of_options(["occurrence=time", "spo2.value=sat"])
    {'occurrence': 'time', 'spo2': {'value': 'sat'}}
    """
    said: dict[str, Any] = {}
    for option in options:
        key, sign, title = option.partition("=")
        if not sign or not key.strip() or not title:
            raise DataError(f"--map {option}: write, say, --map occurrence=time")
        relation, dot, role = key.strip().rpartition(".")
        if dot:
            said.setdefault(relation, {})[role] = title
        else:
            said[role] = title
    return said
