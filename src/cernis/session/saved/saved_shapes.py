"""What a saved state must look like: session files, and the states of a stream's buckets.

A checksum reveals damage of storage. It says nothing of a state that was written by something else
than the module `saved_state`, so a state is checked against these shapes before any of it is used:
the kinds and lengths of all arrays, codes that have values, times that are time-points, intervals
that begin before they end. A state that fits and was not left by a session is still some state that
a session can go on from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from cernis.check.amounts import FARTHEST
from cernis.check.model import FluentKind, Relation
from cernis.check.value_forms import ValueForm as ValueForm
from cernis.errors import DataError
from cernis.evaluate.columns.pattern_history import history_keys, leaving
from cernis.evaluate.probabilities.tracked_probabilities import NO_PROBABILITY
from cernis.evaluate.relation_layout import Spaces
from cernis.kernels import array_types
from cernis.plan.uses import head_of
from cernis.records.record_columns import INFINITE, RecordKind
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.tree_shapes import (
    Cases,
    Floats,
    Integers,
    Listed,
    Maybe,
    Named,
    Nothing,
    Number,
    Numbers,
    Parts,
    Shape,
    Table,
    Text,
    Truth,
    Truths,
    Whole,
    check,
    offsets_fit,
)

if TYPE_CHECKING:
    from cernis.session.session import Session

Codes: TypeAlias = array_types.Integers

MOST_CODES: Final = 1 << 31
"""No domain has so many codes: registers have 31 bits for each."""

_COUNT: Final = Whole(0)
_TIME: Final = Whole(-FARTHEST, FARTHEST)
_TIMES: Final = Integers(-FARTHEST, FARTHEST)
_ENDS: Final = Integers(-FARTHEST, INFINITE)
_LENGTH: Final = Whole(1, FARTHEST)
_CHANCE: Final = Number(0, 1)
_CHANCES: Final = Floats(0, 1)
_RELATION: Final = Parts((Text(), _COUNT))


# -- values, and records that wait -------------------------------------------------------------


def _texts_fit(tree: Tree) -> str | None:
    ends, text = tree["ends"], tree["text"].astype(np.uint8)
    if len(ends) and (ends[0] < 0 or (np.diff(ends) < 0).any()):
        return "the ends of its texts are not in order"
    # Characters are counted by the bytes that go on with none.
    count = np.count_nonzero(text & 0xC0 != 0x80)
    return None if (ends[-1] if len(ends) else 0) == count else "its texts have another length"


_VALUE: Final = Cases({
    int: Whole(-(1 << 4096), 1 << 4096), float: Number(), str: Text(),
    dict: Table({"term": Text()}),
})  # fmt: skip

VALUES: Final = Cases({
    np.ndarray: Integers(),
    dict: Table({"text": Integers(0, 255), "ends": Integers(0)}, (_texts_fit,)),
    list: Listed(_VALUE),
})  # fmt: skip
"""Values of any kind: whole numbers, texts, or cell by cell."""


def count_of_values(tree: Tree) -> int:
    """How many values a tree has that fits."""
    return len(tree["ends"]) if isinstance(tree, dict) else len(tree)


def _codes_have_values(tree: Tree) -> str | None:
    codes, count = tree["codes"], count_of_values(tree["values"])
    return "it has codes without a value" if len(codes) and codes.max() >= count else None


COLUMN: Final = Cases({
    np.ndarray: Numbers(),
    dict: Table({"values": VALUES, "codes": Integers(0)}, (_codes_have_values,)),
})  # fmt: skip
"""A column of records that are not resolved yet."""


def _column_length(tree: Tree) -> int:
    return len(tree["codes"]) if isinstance(tree, dict) else len(tree)


def _records_fit(tree: Tree) -> str | None:
    name, arity, kind = tree["form"]
    times, columns = tree["times"], tree["columns"]
    if len(times) != (2 if kind == RecordKind.INTERVAL else 1):
        return f"{name} has another number of times"
    if len(columns) != arity + (kind != RecordKind.EVENT):
        return f"{name} has another number of columns"
    more = [tree["arrival"], tree["places"], tree["retracts"], tree["chances"]]
    lengths = {len(each) for each in (*times, *more) if each is not None}
    lengths |= {_column_length(each) for each in (*columns, tree.get("ids")) if each is not None}
    if len(lengths) > 1:
        return f"columns of {name} have different lengths"
    if len(times) == 2 and not (times[0] < times[1]).all():
        return f"an interval of {name} ends before it begins"
    return None


_FORM: Final = Parts((Text(), _COUNT, Text(tuple(RecordKind))))

_FORM_OF_SLOT: Final = Parts((
    Text(("event", "fluent")), Text(), _COUNT,
    Cases({int: _COUNT, str: Text(("value",))}), Whole(0, int(ValueForm.ANY)),
))  # fmt: skip

RECORDS: Final = Table(
    {
        "form": _FORM, "arrival": Maybe(_TIMES), "times": Listed(_ENDS),
        "columns": Listed(COLUMN), "places": Integers(), "retracts": Maybe(Truths()),
        "chances": Maybe(_CHANCES), "ids": Maybe(COLUMN),
    },
    (_records_fit,), frozenset({"ids"}),
)  # fmt: skip
"""Records of one form that are not resolved yet."""


# -- columns of codes --------------------------------------------------------------------------


def _domain_fits(tree: Tree) -> str | None:
    same = len(tree["codes"]) == count_of_values(tree["values"])
    return None if same else "it has not one value for each code"


_DOMAINS: Final = Listed(
    Table({"codes": Integers(0, MOST_CODES - 1, ascending=True), "values": VALUES}, (_domain_fits,))
)


def _rows_have_values(tree: Tree) -> str | None:
    rows, count = tree["rows"], count_of_values(tree["values"])
    return "it has codes without a value" if len(rows) and rows.max() >= count else None


_LISTED: Final = Table({"values": VALUES, "rows": Integers(0)}, (_rows_have_values,))
"""A column that lists its values itself."""


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """A column of numbers, or of codes of one of several domains, all of which have values."""

    domains: tuple[Codes, ...]

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        if isinstance(tree, dict) and "values" in tree:
            return _LISTED.complaint(tree, place)
        highest = len(self.domains) - 1
        shape = Table({"of": Maybe(Whole(0, highest)), "rows": Numbers()})
        found = shape.complaint(tree, place)
        if found is not None or tree["of"] is None or not len(tree["rows"]):
            return found
        rows = tree["rows"]
        if rows.dtype != np.int64:
            return f"{place}.rows is an array of {rows.dtype}, not of codes"
        return None if has_all(self.domains[tree["of"]], rows) else f"{place} has unknown codes"


def has_all(codes: Codes, rows: Codes) -> bool:
    """Are all rows among some codes, which are in order?"""
    if not len(codes) or int(rows.min()) < 0 or int(rows.max()) > int(codes[-1]):
        return False
    if int(codes[-1]) == len(codes) - 1:
        return True
    return bool((codes[np.minimum(np.searchsorted(codes, rows), len(codes) - 1)] == rows).all())


@dataclass(frozen=True, slots=True)
class RelationRows:
    """Rows of a relation: its arguments, and so many other columns.

    `times` of the columns are times; of intervals they are two, the start before the end. After
    the times come values, and with chances, last, a probability; of several widths, only the
    widest has one.
    """

    column: CodedColumn
    widths: tuple[int, ...]
    times: int
    has_chances: bool = False
    extra: int = 0
    """So many arguments more than the relation has: of a fluent's occurrences, its value."""
    may_lack_chance: bool = False
    """May a probability be missing, as that of intervals which others are made of?"""

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        shape = Table({
            "relation": _RELATION, "arguments": Listed(self.column), "columns": Listed(self.column)
        })  # fmt: skip
        found = shape.complaint(tree, place) or self._misfit(tree)
        return found if found is None or found.startswith(place) else f"{place}: {found}"

    def _misfit(self, tree: Tree) -> str | None:
        name, arity = tree["relation"]
        arguments, columns = tree["arguments"], tree["columns"]
        if len(arguments) != arity + self.extra or len(columns) not in self.widths:
            return f"{name} has another number of columns"
        if len({len(each["rows"]) for each in (*arguments, *columns)}) > 1:
            return f"columns of {name} have different lengths"
        if any(each.get("of") is not None for each in columns[: self.times]):
            return f"the times of {name} are codes"
        starts, *ends = (each["rows"] for each in columns[: self.times])
        found = _TIMES.complaint(starts, f"a time of {name}")
        for each in ends:
            found = found or _ENDS.complaint(each, f"an end of {name}")
            if found is None and not (starts < each).all():
                found = f"an interval of {name} ends before it begins"
        if found is None and self.has_chances and len(columns) == max(self.widths):
            return _CHANCES.complaint(
                self._chances(columns[-1]["rows"]), f"a probability of {name}"
            )
        return found

    def _chances(self, given: Tree) -> Tree:
        """The probabilities that are there."""
        if not self.may_lack_chance or not isinstance(given, np.ndarray):
            return given
        return given[given != NO_PROBABILITY]


def _each_once(trees: Tree) -> str | None:
    names = [tuple(tree["relation"]) for tree in trees]
    return "a relation is there twice" if len(set(names)) < len(names) else None


# -- a session ---------------------------------------------------------------------------------


_ASIDE: Final = Listed(
    Table({"line": Whole(), "reason": Text(), "text": Text(), "source": Text()},
          optional=frozenset({"source"}))
)  # fmt: skip
_BY_NAME: Final = Listed(Parts((Text(), _COUNT)))
_COUNTS: Final = Table({
    "records": _COUNT, "used": _COUNT, "outside": _COUNT, "duplicated": _BY_NAME,
    "ignored": _BY_NAME, "set_aside": _ASIDE, "too_late": _ASIDE, "dropped_set_aside": _COUNT,
    "dropped_too_late": _COUNT,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Shapes:
    """The shapes of one state: they depend on the values it has, and on the program."""

    spaces: Spaces
    column: CodedColumn
    is_uncertain: bool
    has_others: bool

    def session(self) -> Shape:
        return Table(
            {
                "start": Maybe(_TIME), "last": Maybe(_TIME), "incremental": Truth(),
                "counts": _COUNTS, "memory": self._memory(), "standing": Maybe(self._standing()),
                "policy": Table({"known": self._intervals(), "reported": self._intervals()}),
                "population": self._population(), "registers": self._registers(),
                "forms": Maybe(Listed(_FORM_OF_SLOT)),
                "more": Maybe(self._uncertain()) if self.is_uncertain else Nothing(),
            },
            (_session_fits,), frozenset({"more"}),
        )  # fmt: skip

    def _memory(self) -> Shape:
        rows = self._of_kind(self._records(1), self._records(4, 2), is_input=True)
        return Table(
            {
                "rows": Listed(rows, (_each_once,)), "has_points": Truth(),
                "waiting": waiting_shape(self.spaces, self.has_others),
                "ledgers": Listed(_Ledger(rows), (_each_once,)),
            },
        )  # fmt: skip

    def _records(self, width: int, times: int = 1) -> RelationRows:
        more = int(self.is_uncertain)
        return RelationRows(self.column, (width + more,), times, self.is_uncertain)

    def _intervals(self) -> Shape:
        width = 3 + self.is_uncertain
        rows = RelationRows(self.column, (width,), 2, self.is_uncertain, may_lack_chance=True)
        return Listed(self._of_kind(None, rows), (_each_once,))

    def _of_kind(
        self, events: Shape | None, fluents: Shape | None, is_input: bool = False
    ) -> _OfKind:
        others = RelationRows(self.column, (1, 2, 3, 4, 5), 1) if self.has_others else None
        return _OfKind(events, fluents, _kinds(self.spaces, is_input), others)

    def _standing(self) -> Shape:
        # Among uncertain fluents there may be certain ones, whose intervals have no probability.
        likely = Listed(
            self._of_kind(None, RelationRows(self.column, (3, 4), 2, True, may_lack_chance=True)),
            (_each_once,),
        )
        certain = Listed(self._of_kind(None, RelationRows(self.column, (3, 4), 2)), (_each_once,))
        happened = self._of_kind(_Happenings(self.column, self._intervals_of_patterns()), None)
        begun = self._of_kind(None, RelationRows(self.column, (2, 3), 1))
        return Table({
            "query": _TIME, "fluents": likely if self.is_uncertain else certain,
            "events": Listed(happened, (_each_once,)), "begun": Listed(begun, (_each_once,)),
            "remembered": certain, "seen": certain, "history": Maybe(self._history()),
        })  # fmt: skip

    def _history(self) -> Shape:
        plan = self.spaces.plan
        with_starts = self._intervals_of_patterns()
        occurrences = _Occurrences(self.column, history_keys(plan), with_starts)
        left = Parts((Whole(0, len(leaving(plan)) - 1), occurrences))
        return Table({
            "kept": Listed(occurrences), "last": Listed(occurrences), "leftover": Listed(left),
            "dropped": _COUNT,
        })  # fmt: skip

    def _intervals_of_patterns(self) -> frozenset[Relation]:
        """The events whose happenings are intervals."""
        patterns = self.spaces.plan.checked.definitions.patterns
        return frozenset(head_of(rule)[0] for rule in patterns)

    def _population(self) -> Shape:
        members = Table(
            {
                "relation": _RELATION, "predicate": _RELATION, "members": Listed(self.column),
                "counts": Integers(0),
            },
            (_members_fit,),
        )  # fmt: skip
        return Listed(members)

    def _registers(self) -> Shape:
        return Listed(Listed(self.column, (_same_lengths,)))

    def _uncertain(self) -> Shape:
        courses, pairs = self._courses(), self._pairs()
        tracks = Table(
            {
                "relation": self._fluent(), "first": _TIME, "settled": _COUNT,
                "pairs": Maybe(pairs),
                "memory": Table(dict.fromkeys(_MEMORY, Integers())),
                "found": Table({**dict.fromkeys(_FOUND, Integers()), "threshold": _CHANCE}),
                "courses": Maybe(courses), "numbers": Integers(0),
            },
            (_tracks_fit,),
        )  # fmt: skip
        return Table({
            "thresholded": Listed(self._fluent()), "courses": Listed(courses, (_each_once,)),
            "tracks": Listed(tracks, (_each_once,)), "let_go": self._intervals(),
        })  # fmt: skip

    def _fluent(self) -> Shape:
        catalogue = self.spaces.context.catalogue
        return _OneOf(frozenset((own.name, own.arity) for own in catalogue.fluents))

    def _pairs(self) -> Shape:
        return Table(
            {
                "arguments": Listed(self.column), "values": self.column, "is_coded": Truth(),
                "initial": _CHANCES,
            },
            (_pairs_fit,),
        )  # fmt: skip

    def _courses(self) -> Shape:
        return Table(
            {
                "relation": self._fluent(), "pairs": self._pairs(), "offsets": Integers(0),
                "times": _TIMES, "chances": _CHANCES,
            },
            (_courses_fit,),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _OneOf:
    """One of some relations."""

    relations: frozenset[tuple[str, int]]

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        found = _RELATION.complaint(tree, place)
        if found is None and tuple(tree) not in self.relations:
            return f"{place}: there is no fluent {tree[0]} here"
        return found


def _kinds(spaces: Spaces, is_input: bool = False) -> dict[Relation, str]:
    """Which relations of a program, or of its input, are events, and which are fluents."""
    catalogue = spaces.context.catalogue
    found = {r: "event" for r, event in catalogue.events.items()
             if event.is_input or not is_input}  # fmt: skip
    return found | {
        r: "fluent" for r, fluent in catalogue.fluents.items()
        if fluent.kind is FluentKind.INPUT or not is_input
    }  # fmt: skip


def _called(name: str, kind: str) -> str:
    return f"{name} is {'an event' if kind == 'event' else 'a fluent'}"


def waiting_shape(spaces: Spaces, has_others: bool = False) -> Shape:
    """Records that wait for a query, in the forms that the rules of a program use.

    There may be others beside them, of relations that the program has not.
    """
    kinds = _kinds(spaces, is_input=True)

    def forms_fit(trees: Tree) -> str | None:
        for tree in trees:
            name, arity, form = tree["form"]
            known = kinds.get(Relation(name, arity))
            if known is None and not has_others:
                return f"{name} is no input"
            if known is not None and (known == "event") != (form == RecordKind.EVENT):
                return _called(name, known)
        return None

    return Listed(RECORDS, (forms_fit,))


@dataclass(frozen=True, slots=True)
class _OfKind:
    """Rows of events or of fluents, where the program has the relation; either, if it has not."""

    events: Shape | None
    fluents: Shape | None
    kinds: dict[Relation, str]
    others: Shape | None

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        found = Table({"relation": _RELATION}).complaint(tree, place)
        if found is not None:
            return found
        kind = self.kinds.get(Relation(*tree["relation"]))
        if kind is None:
            if self.others is None:
                return f"{place}: there is no {tree['relation'][0]} here"
            # Of other rules: what was reported of it may have to be taken back.
            return self.others.complaint(tree, place)
        shape = self.events if kind == "event" else self.fluents
        if shape is None:
            return f"{place}: {_called(tree['relation'][0], kind)}"
        return shape.complaint(tree, place)


@dataclass(frozen=True, slots=True)
class _Ledger:
    """Rows by their ids."""

    rows: Shape

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        found = Table({"relation": _RELATION, "ids": VALUES}).complaint(tree, place)
        count = 0 if found else count_of_values(tree["ids"])
        if found is not None or not count:
            return found
        found = Table({"columns": Listed(Table({"rows": Numbers()}))}).complaint(tree, place)
        found = found or self.rows.complaint(tree, place)
        if found is None and {len(each["rows"]) for each in tree["columns"]} != {count}:
            return f"{place} has not one record for each id"
        return found


@dataclass(frozen=True, slots=True)
class _Happenings:
    """Happenings: their times, and where patterns match, where these begin."""

    column: CodedColumn
    with_starts: frozenset[Relation]
    extra: int = 0

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        rows = RelationRows(self.column, (1, 2), 1, extra=self.extra)
        found = rows.complaint(tree, place)
        if found is not None:
            return found
        has_starts = len(tree["columns"]) == 2
        is_known = self.extra or (Relation(*tree["relation"]) in self.with_starts) == has_starts
        if not is_known and len(tree["columns"][0]["rows"]):
            return f"{place}: {tree['relation'][0]} has another number of columns"
        if not has_starts:
            return None
        times, starts = (each["rows"] for each in tree["columns"])
        found = _TIMES.complaint(starts, f"{place}: a start")
        if found is None and not (starts <= times).all():
            return f"{place}: an occurrence ends before it begins"
        return found


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """What patterns keep of the past, of something that they are made of."""

    column: CodedColumn
    keys: frozenset[tuple[str, Relation]]
    with_starts: frozenset[Relation]

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        found = Table({"kind": Text(), "relation": _RELATION}).complaint(tree, place)
        if found is not None:
            return found
        if (tree["kind"], Relation(*tree["relation"])) not in self.keys:
            return f"{place}: no pattern is made of {tree['kind']} {tree['relation'][0]}"
        extra = int(tree["kind"] != "event")
        return _Happenings(self.column, self.with_starts, extra).complaint(tree, place)


_MEMORY: Final = ("offsets", "points", "scores", "seen", "score", "lowest", "states")
_FOUND: Final = ("offsets", "starts", "ends", "sums")


def _same_lengths(trees: Tree) -> str | None:
    lengths = {len(tree["rows"]) for tree in trees}
    return "its columns have different lengths" if len(lengths) > 1 else None


def _session_fits(tree: Tree) -> str | None:
    start, last, standing = tree["start"], tree["last"], tree["standing"]
    if (last is None) != (standing is None):
        return "it has a last query and no answer, or an answer and no query"
    if last is None:
        return None
    if start is None or start > last:
        return f"its last query, at {last}, is before its start"
    if standing["query"] != last:
        return f"its answer is of {standing['query']}, not of its last query, {last}"
    for rows in tree["memory"]["rows"]:
        times = rows.get("columns", [{"rows": ()}])[0]["rows"]
        if len(times) and int(times.max()) > last:
            return f"a record of {rows['relation'][0]} is of a time after its last query"
    return None


def _members_fit(tree: Tree) -> str | None:
    if tree["members"] and len(tree["members"]) != tree["predicate"][1]:
        return f"{tree['predicate'][0]} has another number of columns"
    lengths = {len(each["rows"]) for each in tree["members"]} | {len(tree["counts"])}
    return "its columns have different lengths" if len(lengths) > 1 else None


def _pairs_fit(tree: Tree) -> str | None:
    lengths = {len(each["rows"]) for each in (*tree["arguments"], tree["values"])}
    return "its columns have different lengths" if lengths != {len(tree["initial"])} else None


def _courses_fit(tree: Tree) -> str | None:
    pairs, offsets, times = tree["pairs"], tree["offsets"], tree["times"]
    if len(pairs["arguments"]) != tree["relation"][1]:
        return f"{tree['relation'][0]} has another number of arguments"
    if not offsets_fit(offsets, len(pairs["initial"]), len(times)):
        return "its steps are not divided among its pairs"
    if len(tree["chances"]) != len(times):
        return "its columns have different lengths"
    firsts = np.zeros(max(len(times) - 1, 0), np.bool_)
    inner = offsets[1:-1]
    firsts[inner[(inner > 0) & (inner < len(times))] - 1] = True
    return None if ((np.diff(times) > 0) | firsts).all() else "its steps are not in order"


def _tracks_fit(tree: Tree) -> str | None:
    memory, found, pairs = tree["memory"], tree["found"], tree["pairs"]
    count = len(memory["seen"])
    if any(len(memory[name]) != count for name in ("score", "lowest", "states")):
        return "its pairs have different numbers of scores"
    if pairs is not None and (
        len(pairs["initial"]) != count or len(pairs["arguments"]) != tree["relation"][1]
    ):
        return "it has not one memory for each pair"
    if len(memory["points"]) != len(memory["scores"]):
        return "its points have different numbers of scores"
    if not offsets_fit(memory["offsets"], count, len(memory["points"])):
        return "its points are not divided among its pairs"
    if len({len(found[name]) for name in ("starts", "ends", "sums")}) > 1:
        return "its intervals have different numbers of ends"
    if not offsets_fit(found["offsets"], count, len(found["starts"])):
        return "its intervals are not divided among its pairs"
    if (found["starts"] > found["ends"]).any() or (found["starts"] < 1).any():
        return "an interval ends before it begins"
    if count and (int(memory["seen"].min()) < 0 or int(memory["seen"].max()) > tree["settled"]):
        return "a pair has seen more points than are settled"
    return _numbers_fit(tree, count)


def _numbers_fit(tree: Tree, count: int) -> str | None:
    courses, numbers = tree["courses"], tree["numbers"]
    if courses is None:
        return None
    if len(numbers) != len(courses["pairs"]["initial"]) or len(np.unique(numbers)) != len(numbers):
        return "its courses have not one number each"
    if len(numbers) and int(numbers.max()) >= count:
        return "a course is of a pair that it does not know"
    return None


def check_state(tree: Tree, session: Session, is_uncertain: bool, has_others: bool = False) -> None:
    """Refuse what no session with the same settings can have left.

    Only if rules have changed may it have relations that the program does not have.
    """
    check(tree, Table({"domains": _DOMAINS}), "")
    domains = tuple(each["codes"] for each in tree["domains"])
    shapes = _Shapes(session.spaces, CodedColumn(domains), is_uncertain, has_others)
    check(tree, shapes.session(), "")
    is_fixed = session.incremental is False or not session.may_be_incremental
    if tree["incremental"] and is_fixed:
        raise DataError("it was evaluated from changes, and its program cannot be")


# -- files -------------------------------------------------------------------------------------


_SETTINGS: Final = Table(
    {
        "window": Maybe(_LENGTH), "step": Maybe(_LENGTH), "tick": _LENGTH,
        "ties": Text(("break", "initiation")), "policy": Text(("early", "partial", "final")),
        "incremental": Maybe(Truth()), "ids": Maybe(Text()), "future": Maybe(Whole(0, FARTHEST)),
    },
    optional=frozenset({"ids", "future"}),
)  # fmt: skip

_UNCERTAIN: Final = Table({
    "threshold": _CHANCE, "thresholds": Named(_CHANCE), "memory": Maybe(_COUNT),
    "durations": Named(Table({"mean": Number(), "deviation": Number(0)})), "seed": Whole(),
    "uncertain": Maybe(Listed(Text())), "probabilities": Truth(),
})  # fmt: skip

FILE: Final = Table(
    {
        "settings": _SETTINGS, "version": Text(), "definitions": Named(Text()),
        "has_patterns": Truth(), "uncertain": Maybe(_UNCERTAIN), "shown": Listed(Text()),
    },
    optional=frozenset({"has_patterns", "uncertain"}),
)  # fmt: skip
"""The file of a session, but for what the session knows."""


# -- streams -----------------------------------------------------------------------------------


def _clock_fits(tree: Tree) -> str | None:
    start, query, time = tree["start"], tree["query"], tree["time"]
    if query is not None and (start is None or time is None or not start < query <= time):
        return f"its last query, at {query}, is not between its start and its clock"
    return None


STANDING: Final = Table(
    {
        "start": Maybe(_TIME), "time": Maybe(_TIME), "query": Maybe(_TIME),
        "forms": Listed(_FORM), "held": _COUNT, "open_intervals": _COUNT,
    },
    (_clock_fits,),
)  # fmt: skip
"""How far a bucket has come."""


def _demand_fits(tree: Tree) -> str | None:
    _, _, width, hashed, _ = tree["demand"]
    if len(tree["columns"]) != width or any(at >= width for at in hashed):
        return "a demand has another number of columns"
    lengths = {_column_length(each) for each in tree["columns"]}
    lengths |= {len(tree["targets"]), len(tree["until"])}
    return "its columns have different lengths" if len(lengths) > 1 else None


def demands_shape(buckets: int) -> Shape:
    """What other buckets have asked for, of so many buckets."""
    demand = Parts((_COUNT, _COUNT, _COUNT, Listed(_COUNT), Listed(_COUNT)))
    return Listed(Table(
        {
            "demand": demand, "columns": Listed(COLUMN), "targets": Integers(0, buckets - 1),
            "until": _ENDS,
        },
        (_demand_fits,),
    ))  # fmt: skip
