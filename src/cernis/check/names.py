"""Names: unknown and misspelt ones, clashing arities and kinds, definitions nothing needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from cernis.check.catalogue import Catalogue, EventEntry, FluentEntry, covers
from cernis.check.model import Definitions, Event, FluentKind, Pair, Relation
from cernis.check.reporter import Report, did_you_mean, misspelt
from cernis.errors import Note


def check_names(catalogue: Catalogue, definitions: Definitions, report: Report) -> None:
    """Report what is wrong with the names of events and fluents."""
    clashed = _arities(catalogue, report)
    events, fluents = _Names(catalogue.events.values()), _Names(catalogue.fluents.values())
    is_strict = "event" in definitions.declared_strictly
    declaring = is_strict or any(e.declaration or e.grounded for e in catalogue.events.values())
    for event in catalogue.events.values():
        if event.is_input and event.declaration is None and event.relation not in clashed:
            _input("event", event, events, is_strict, declaring, report)
    inputs = [f for f in catalogue.fluents.values() if f.kind is FluentKind.INPUT]
    is_strict = "fluent" in definitions.declared_strictly
    declaring = is_strict or any(f.declaration or f.grounded for f in inputs)
    for fluent in catalogue.fluents.values():
        if fluent.kind is FluentKind.INPUT:
            if fluent.declaration is None and fluent.relation not in clashed:
                _input("fluent", fluent, fluents, is_strict, declaring, report)
        else:
            _values(fluent, report)
    _kinds(catalogue, report)


def _values(entry: FluentEntry, report: Report) -> None:
    """Values that are asked for or terminated, but that nothing gives."""
    values = {pair.value_name for pair in entry.defined}
    for pair in entry.terminated:
        if not covers(values, pair.value_name):
            report.warn(
                "C047", f"{pair} is terminated, but nothing initiates it", pair.span,
                help=did_you_mean(
                    pair.value_name, values, "remove this rule, or add an initiation"
                ),
            )  # fmt: skip
    for pair in entry.uses:
        if not covers(values, pair.value_name):
            report.warn(
                "C048", f"{pair} can never hold: no rule gives {entry.relation} this value",
                pair.span,
                help=did_you_mean(pair.value_name, values, f"its values are {_listed(values)}"),
            )  # fmt: skip


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _kinds(catalogue: Catalogue, report: Report) -> None:
    for relation in catalogue.events.keys() & catalogue.fluents.keys():
        event, fluent = catalogue.events[relation], catalogue.fluents[relation]
        places = event.definitions or event.uses
        others = fluent.defined or fluent.uses
        if places and others:
            report.warn(
                "C024", f"{relation} is both an event and a fluent", places[0].span,
                Note("it is a fluent here", others[0].span),
                help="give one of them another name, so that records and results say which it is",
            )  # fmt: skip


def _arities(catalogue: Catalogue, report: Report) -> set[Relation]:
    """Names used with another number of arguments than they are known with."""
    clashed: set[Relation] = set()
    for kind, entries in (("event", catalogue.events), ("fluent", catalogue.fluents)):
        for group in _by_name(entries).values():
            known = [entry for entry in group if _is_known(entry)]
            known = known or [max(group, key=lambda entry: len(entry.uses))]
            for entry in group:
                if entry not in known and entry.uses:
                    clashed.add(entry.relation)
                    _arity_clash(kind, entry, known, report)
    return clashed


def _by_name(
    entries: Mapping[Relation, EventEntry] | Mapping[Relation, FluentEntry],
) -> dict[str, list[EventEntry | FluentEntry]]:
    groups: dict[str, list[EventEntry | FluentEntry]] = defaultdict(list)
    for relation, entry in entries.items():
        if "(" not in relation.name:
            groups[relation.name].append(entry)
    return {name: group for name, group in groups.items() if len(group) > 1}


def _is_known(entry: EventEntry | FluentEntry) -> bool:
    if entry.declaration is not None or entry.grounded:
        return True
    if isinstance(entry, EventEntry):
        return not entry.is_input
    return entry.kind is not FluentKind.INPUT


def _arity_clash(
    kind: str, entry: EventEntry | FluentEntry, known: list[EventEntry | FluentEntry],
    report: Report,
) -> None:  # fmt: skip
    arities = " or ".join(str(other.relation.arity) for other in known)
    noun = "argument" if arities == "1" else "arguments"
    for use in entry.uses:
        report.error(
            "C023",
            f"the {kind} {entry.relation.name} has {arities} {noun}, not {entry.relation.arity}",
            use.span,
            *_known_at(known[0]),
            help="write `_` for an argument that does not matter",
        )


def _known_at(entry: EventEntry | FluentEntry) -> list[Note]:
    if entry.declaration is not None:
        return [Note("it is declared here", entry.declaration.span)]
    places: list[Event] | list[Pair] = (
        entry.definitions if isinstance(entry, EventEntry) else entry.defined
    )
    if places:
        return [Note("it is defined here", places[0].span)]
    return [Note("it is used so here", entry.uses[0].span)] if entry.uses else []


# -- input that may be a misspelling ---------------------------------------------------------


_MANY_PAIRS = 250_000
"""So many pairs of names are compared one by one; of more, those that one slip tells apart."""


class _Names:
    """The names of events or of fluents, and which of them one of them may be meant to be."""

    def __init__(self, entries: Iterable[EventEntry | FluentEntry]) -> None:
        self._entries = list(entries)
        self._known = {id(entry) for entry in self._entries if _is_known(entry)}
        unknown = len(self._entries) - len(self._known)
        self._near: dict[str, list[EventEntry | FluentEntry]] | None = None
        if unknown * len(self._entries) > _MANY_PAIRS:
            self._near = defaultdict(list)
            least = min(len(e.uses) for e in self._entries if id(e) not in self._known)
            for entry in self._entries:
                if id(entry) in self._known or len(entry.uses) > least:
                    for part in _with_a_slip(entry.relation.name):
                        self._near[part].append(entry)

    def others(self, entry: EventEntry | FluentEntry) -> list[str]:
        """The names that are known, or used more often; where there are many, only near ones."""
        others: Iterable[EventEntry | FluentEntry] = self._entries
        if self._near is not None:
            parts = _with_a_slip(entry.relation.name)
            others = (other for part in parts for other in self._near.get(part, ()))
        return list(dict.fromkeys(
            other.relation.name for other in others
            if other is not entry
            and (id(other) in self._known or len(other.uses) > len(entry.uses))
        ))  # fmt: skip


def _with_a_slip(name: str) -> set[str]:
    """A name, and what is left of it without one of its letters.

    Two names that differ by a letter more, another letter or two that are swapped have one of these
    in common.
    """
    name = name.casefold()
    return {name, *(name[:position] + name[position + 1 :] for position in range(len(name)))}


def _input(
    kind: str, entry: EventEntry | FluentEntry, names: _Names, strict: bool, declaring: bool,
    report: Report,
) -> None:  # fmt: skip
    if not entry.grounded:
        _unknown(kind, entry, names.others(entry), strict, declaring, report)


def _unknown(
    kind: str, entry: EventEntry | FluentEntry, known: list[str], strict: bool, declaring: bool,
    report: Report,
) -> None:  # fmt: skip
    """An input nothing declares: an error where inputs are declared, else suspicious if near.

    A program that declares nothing leaves its inputs to its data, and only a name very near to
    another is worth a word.
    """
    name, relation = entry.relation.name, entry.relation
    similar = misspelt(name, known)
    for use in entry.uses:
        if strict or (declaring and similar):
            report.error(
                "C020", f"there is no {kind} {relation}: no rule defines it, nothing declares it",
                use.span, help=did_you_mean(name, known, _how_to_declare(kind, relation)),
            )  # fmt: skip
        elif declaring or similar:
            report.warn(
                "C021", f"the {kind} {relation} is taken for input, but nothing declares it",
                use.span, help=did_you_mean(name, similar, _how_to_declare(kind, relation)),
            )  # fmt: skip


def _how_to_declare(kind: str, relation: Relation) -> str:
    args = ", ".join("_" * relation.arity)
    shown = f"{relation.name}({args})" if relation.arity else relation.name
    return f"if it is input, declare it: :- {kind}({shown}{'=_' if kind == 'fluent' else ''})."
