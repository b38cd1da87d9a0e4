"""Programs from files: rules, the files they include, and facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from cernis.errors import ProgramError
from cernis.syntax import parse
from cernis.syntax.tree import Atom, Compound, Directive, Item, Sequence, Term, Text

from .calendar import timed

ENDINGS = ("", ".cer", ".prolog", ".pl", ".event")


def load(paths: Iterable[Path]) -> list[Item]:
    """The items of the files, and in the place of each `:- [file].` those of that file.

    A file is read once, however often it is named. Raises ProgramError if a text has errors.
    """
    seen: set[Path] = set()
    return timed(item for path in paths for item in _file(path, seen))


def rules_of(folder: Path) -> Path:
    """The file of rules of a case: `rules.cer`, or `rules.event` if it is one of ETALIS."""
    event_file = folder / "rules.event"
    return event_file if event_file.exists() else folder / "rules.cer"


def _file(path: Path, seen: set[Path]) -> Iterator[Item]:
    if path.resolve() in seen:
        return
    seen.add(path.resolve())
    for item in items_of(path.read_text(encoding="utf-8"), str(path)):
        included = list(_included(item))
        if not included:
            yield item
        for name in included:
            yield from _file(_find(path.parent, name), seen)


def items_of(text: str, name: str = "<text>") -> list[Item]:
    """The items of a text; raises ProgramError if it has errors."""
    parsed = parse(text, name)
    if any(diagnostic.is_error for diagnostic in parsed.diagnostics):
        raise ProgramError(parsed.diagnostics, parsed.sources)
    return list(parsed.items)


def _included(item: Item) -> Iterator[str]:
    if not isinstance(item, Directive):
        return
    goal = item.goal
    if isinstance(goal, Compound) and goal.functor == "consult":
        goal = goal.args[0]
        yield from _names(goal)
    if isinstance(goal, Sequence):
        yield from (name for file in goal.items for name in _names(file))


def _names(term: Term) -> Iterator[str]:
    if isinstance(term, Atom):
        yield term.name
    if isinstance(term, Text):
        yield term.value


def _find(folder: Path, name: str) -> Path:
    for ending in ENDINGS:
        path = folder / (name + ending)
        if path.is_file():
            return path
    raise FileNotFoundError(folder / name)
