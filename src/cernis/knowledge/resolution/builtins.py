"""The predicates that are built in, and what they ask of their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from cernis.knowledge.ground_values import Key


class BuiltinKind(StrEnum):
    """What sort of predicate a built-in is."""

    CONTROL = "control"
    COMPARISON = "comparison"
    COLLECTION = "collection"
    LISTS = "lists"
    TEXTS = "texts"
    TERMS = "terms"


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to call: the positions, from 0, that must be bound, and those bound afterwards."""

    needs: tuple[int, ...] = ()
    binds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in predicate.

    The first mode whose needs are met says what gets bound; where none is, the needs of the
    first are what is missing. `goals` are the positions that hold goals. A library predicate
    gives way to a definition in the program; any other built-in shadows it.
    """

    name: str
    arity: int
    kind: BuiltinKind
    modes: tuple[Mode, ...] = (Mode(),)
    goals: tuple[int, ...] = ()
    library: bool = False

    @property
    def key(self) -> Key:
        """Name and number of arguments."""
        return self.name, self.arity


# A word that ends in a number names a predicate, `*` in front marking the library. The words
# after it are its modes, one sign an argument: `+` must be bound, `-` gets bound, `:` is a goal,
# `?` is neither.
_WORDS: Final = {
    BuiltinKind.CONTROL: r"""
        true/0 otherwise/0 fail/0 false/0 !/0 ,/2 :: ;/2 :: ->/2 :: \+/1 : not/1 :
        once/1 : ignore/1 : forall/2 :: call/1 : call/2 :? call/3 :?? call/4 :??? call/5 :????
    """,
    BuiltinKind.COMPARISON: r"""
        =/2 +- -+ \=/2 ++ ==/2 ++ \==/2 ++ compare/3 -++
        =:=/2 ++ =\=/2 ++ </2 ++ >/2 ++ =</2 ++ >=/2 ++
        @</2 ++ @>/2 ++ @=</2 ++ @>=/2 ++ is/2 -+
        var/1 ? nonvar/1 ? ground/1 ? atom/1 + string/1 + number/1 + integer/1 + float/1 +
        atomic/1 + compound/1 + callable/1 + is_list/1 +
        between/3 ++- succ/2 +- -+ plus/3 ++- +-+ -++
    """,
    BuiltinKind.COLLECTION: """
        findall/3 ?:- findall/4 ?:-+ aggregate_all/3 ?:- bagof/3 ?:- setof/3 ?:-
    """,
    BuiltinKind.LISTS: """
        length/2 +- msort/2 +- sort/2 +- sort/4 +++- keysort/2 +-
        *member/2 -+ *memberchk/2 -+ *append/3 ++- --+ *append/2 +- *nth0/3 -+- *nth1/3 -+-
        *last/2 +- *reverse/2 +- *select/3 -+- *selectchk/3 ++- *delete/3 ++- *subtract/3 ++-
        *intersection/3 ++- *union/3 ++- *list_to_set/2 +- *numlist/3 ++- *exclude/3 :+-
        *include/3 :+- *maplist/2 :+ *maplist/3 :+- *maplist/4 :++- *foldl/4 :++-
        *sum_list/2 +- *sumlist/2 +- *max_list/2 +- *min_list/2 +- *max_member/2 -+
        *min_member/2 -+ *pairs_keys_values/3 +-- -++ *pairs_keys/2 +- *pairs_values/2 +-
    """,
    BuiltinKind.TEXTS: """
        atom_length/2 +- atom_concat/3 ++- atom_number/2 +- -+ atom_string/2 +- -+
        atom_chars/2 +- -+ upcase_atom/2 +- downcase_atom/2 +- string_concat/3 ++-
        string_length/2 +- atomic_list_concat/2 +- atomic_list_concat/3 ++-
    """,
    BuiltinKind.TERMS: """
        functor/3 +-- -++ arg/3 ++- =../2 +- -+ copy_term/2 +-
    """,
}

CHANGES_THE_PROGRAM: Final[frozenset[str]] = frozenset({
    "assert", "asserta", "assertz", "retract", "retractall", "abolish", "nb_setval", "b_setval",
    "recorda", "recordz", "ins_event_rule", "del_event_rule", "ins_static_rule",
    "del_static_rule",
})  # fmt: skip
"""Predicates other systems have and this one refuses: knowledge changes by new tables only."""

SPEAKS: Final[frozenset[str]] = frozenset({
    "write", "writeln", "write_canonical", "print", "nl", "tab", "format", "consult", "open",
    "close", "read", "see", "seen", "tell", "told", "halt", "shell",
})  # fmt: skip
"""Predicates that act on the outside; refused as well."""


def _positions(mode: str, sign: str) -> tuple[int, ...]:
    return tuple(position for position, each in enumerate(mode) if each == sign)


def _builtin(word: str, modes: list[str], kind: BuiltinKind) -> Builtin:
    library = word[0] == "*" and len(word) > 3
    name, _, arity = word.removeprefix("*" if library else "").rpartition("/")
    read = tuple(Mode(_positions(mode, "+"), _positions(mode, "-")) for mode in modes)
    goals = _positions(modes[0], ":") if modes else ()
    return Builtin(name, int(arity), kind, read or (Mode(),), goals, library)


def _read() -> Iterator[Builtin]:
    for kind, text in _WORDS.items():
        words = text.split()
        starts = [place for place, word in enumerate(words) if word[-1].isdigit()]
        for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
            yield _builtin(words[start], words[start + 1 : end], kind)


BUILTINS: Final[Mapping[Key, Builtin]] = MappingProxyType({each.key: each for each in _read()})
"""All built-in predicates by name and number of arguments."""


def builtin(name: str, arity: int) -> Builtin | None:
    """The built-in predicate of that name and number of arguments; `,` and `;` take any number.

    >>> builtin("is", 2).modes
    (Mode(needs=(1,), binds=(0,)),)
    >>> builtin("linked", 2) is None
    True
    """
    if name in (",", ";") and arity > 1:
        return BUILTINS[name, 2]
    return BUILTINS.get((name, arity))
