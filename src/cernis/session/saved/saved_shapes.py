"""The shapes of saved states: of session files, and of the states of a stream's buckets.

A checksum reveals damage of storage, but not that a state was written by something else than the
module `saved_state`. So a state is checked against these shapes before any of it is used: the kinds
and lengths of all arrays, that codes have values, that times are time-points, and that intervals
start before they end. A session can go on from every state that fits, even from one that no session
has written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from cernis.check.amounts import FARTHEST
from cernis.check.model import FluentKind, Relation
from cernis.errors import DataError
from cernis.plan.builder import Plan
from cernis.plan.uses import head_of
from cernis.records.record_columns import RecordKind
from cernis.session.saved.column_shapes import (
    CHANCE,
    CHANCES,
    CODED_COLUMN,
    COLUMN,
    COUNT,
    DOMAINS,
    ENDS,
    FORM,
    FORM_OF_SLOT,
    LENGTH,
    RECORDS,
    RELATION,
    TIME,
    TIMES,
    VALUES,
    RelationRows,
    column_length,
    count_of_values,
    each_once,
    same_lengths,
)
from cernis.session.saved.course_shapes import (
    INTERVAL_FIELDS,
    MEMORY_FIELDS,
    courses_fit,
    occurrences_fit,
    pairs_fit,
    tracks_fit,
)
from cernis.session.saved.plain_trees import Tree
from cernis.session.saved.saved_delays import delays_shape
from cernis.session.saved.tree_shapes import (
    Integers,
    Listed,
    Maybe,
    Named,
    Nothing,
    Numbers,
    NumberShape,
    Parts,
    Shape,
    Table,
    TextShape,
    Truth,
    Whole,
    check,
)

if TYPE_CHECKING:
    from cernis.session.session import Session

# -- a session ---------------------------------------------------------------------------------


_ASIDE: Final = Listed(
    Table({"line": Whole(), "reason": TextShape(), "text": TextShape(), "source": TextShape()},
          optional=frozenset({"source"}))
)  # fmt: skip
_BY_NAME: Final = Listed(Parts((TextShape(), COUNT)))
_COUNTS: Final = Table({
    "records": COUNT, "used": COUNT, "outside": COUNT, "duplicated": _BY_NAME,
    "ignored": _BY_NAME, "set_aside": _ASIDE, "too_late": _ASIDE, "dropped_set_aside": COUNT,
    "dropped_too_late": COUNT,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Makes the shapes of the states of one program."""

    plan: Plan
    is_uncertain: bool
    has_others: bool

    def session(self) -> Shape:
        return Table(
            {
                "start": Maybe(TIME), "last": Maybe(TIME), "incremental": Truth(),
                "counts": _COUNTS, "memory": self._memory(), "standing": Maybe(self._standing()),
                "policy": Table({"known": self._intervals(), "reported": self._intervals()}),
                "population": self._population(), "registers": self._registers(),
                "forms": Maybe(Listed(FORM_OF_SLOT)), "domains": DOMAINS,
                "more": Maybe(self._uncertain()) if self.is_uncertain else Nothing(),
            },
            (_session_fits,), frozenset({"more"}),
        )  # fmt: skip

    def _memory(self) -> Shape:
        rows = self._of_kind(self._records(1), self._records(4, 2), is_input=True)
        return Table(
            {
                "rows": Listed(rows, (each_once,)), "has_points": Truth(),
                "waiting": waiting_shape(self.plan, self.has_others),
                "ledgers": Listed(_Ledger(rows), (each_once,)),
            },
        )  # fmt: skip

    def _records(self, width: int, times: int = 1) -> RelationRows:
        more = int(self.is_uncertain)
        return RelationRows((width + more,), times, self.is_uncertain)

    def _intervals(self) -> Shape:
        width = 3 + self.is_uncertain
        rows = RelationRows((width,), 2, self.is_uncertain, may_lack_chance=True)
        return Listed(self._of_kind(None, rows), (each_once,))

    def _of_kind(
        self, events: Shape | None, fluents: Shape | None, is_input: bool = False
    ) -> _OfKind:
        others = RelationRows((1, 2, 3, 4, 5), 1) if self.has_others else None
        return _OfKind(events, fluents, _kinds(self.plan, is_input), others)

    def _standing(self) -> Shape:
        # Among uncertain fluents there may be certain ones, whose intervals have no probability.
        likely = Listed(
            self._of_kind(None, RelationRows((3, 4), 2, True, may_lack_chance=True)),
            (each_once,),
        )
        certain = Listed(self._of_kind(None, RelationRows((3, 4), 2)), (each_once,))
        happenings = _Happenings(self._intervals_of_patterns(), has_chances=self.is_uncertain)
        happened = self._of_kind(happenings, None)
        attempts = self._of_kind(None, RelationRows((2, 3), 1))
        return Table({
            "query": TIME, "fluents": likely if self.is_uncertain else certain,
            "events": Listed(happened, (each_once,)), "begun": Listed(attempts, (each_once,)),
            "remembered": certain, "seen": certain, "history": Maybe(self._history()),
        })  # fmt: skip

    def _history(self) -> Shape:
        with_starts = self._intervals_of_patterns()
        occurrences = _Occurrences(self.plan.pattern_needs.keys, with_starts)
        left = Parts((Whole(0, len(self.plan.pattern_needs.leftover_steps) - 1), occurrences))
        return Table({
            "kept": Listed(occurrences), "last": Listed(occurrences), "leftover": Listed(left),
            "dropped": COUNT,
        })  # fmt: skip

    def _intervals_of_patterns(self) -> frozenset[Relation]:
        """The events that patterns define, whose happenings are intervals."""
        patterns = self.plan.checked.definitions.patterns
        return frozenset(head_of(rule)[0] for rule in patterns)

    def _population(self) -> Shape:
        members = Table(
            {
                "relation": RELATION, "predicate": RELATION, "members": Listed(CODED_COLUMN),
                "counts": Integers(0),
            },
            (_members_fit,),
        )  # fmt: skip
        return Listed(members)

    def _registers(self) -> Shape:
        return Listed(Listed(CODED_COLUMN, (same_lengths,)))

    def _uncertain(self) -> Shape:
        courses, pairs = self._courses(), self._pairs()
        tracks = Table(
            {
                "relation": self._fluent(), "first": TIME, "settled": COUNT,
                "pairs": Maybe(pairs),
                "memory": Table(dict.fromkeys(MEMORY_FIELDS, Integers())),
                "found": Table({**dict.fromkeys(INTERVAL_FIELDS, Integers()), "threshold": CHANCE}),
                "courses": Maybe(courses), "numbers": Integers(0),
            },
            (tracks_fit,),
        )  # fmt: skip
        return Table({
            "thresholded": Listed(self._fluent()), "courses": Listed(courses, (each_once,)),
            "tracks": Listed(tracks, (each_once,)), "let_go": self._intervals(),
            "occurred": Parts((Listed(self._occurred()), Listed(self._occurred()))),
            "delayed": delays_shape(self._fluent()),
        })  # fmt: skip

    def _occurred(self) -> Shape:
        keys = self.plan.pattern_needs.keys
        rows = _Occurrences(keys, frozenset(relation for _, relation in keys))
        return Table({"rows": rows, "chances": CHANCES}, (occurrences_fit,))

    def _fluent(self) -> Shape:
        if self.has_others:
            return RELATION
        catalogue = self.plan.checked.catalogue
        return _OneOf(frozenset((relation.name, relation.arity) for relation in catalogue.fluents))

    def _pairs(self) -> Shape:
        return Table(
            {
                "arguments": Listed(CODED_COLUMN), "values": CODED_COLUMN, "is_coded": Truth(),
                "initial": CHANCES,
            },
            (pairs_fit,),
        )  # fmt: skip

    def _courses(self) -> Shape:
        return Table(
            {
                "relation": self._fluent(), "pairs": self._pairs(), "offsets": Integers(0),
                "times": TIMES, "chances": CHANCES,
            },
            (courses_fit,),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _OneOf:
    """One of some relations."""

    relations: frozenset[tuple[str, int]]

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        complaint = RELATION.complaint(tree, place)
        if complaint is None and tuple(tree) not in self.relations:
            return f"{place}: there is no fluent {tree[0]} here"
        return complaint


def _kinds(plan: Plan, is_input: bool = False) -> dict[Relation, str]:
    """Which relations of a program, or of its input, are events, and which are fluents."""
    catalogue = plan.checked.catalogue
    hidden = {} if is_input else dict.fromkeys(plan.hidden_lists, "fluent")
    events = {r: "event" for r, event in catalogue.events.items()
             if event.is_input or not is_input}  # fmt: skip
    return events | hidden | {
        r: "fluent" for r, fluent in catalogue.fluents.items()
        if fluent.kind is FluentKind.INPUT or not is_input
    }  # fmt: skip


def _called(name: str, kind: str) -> str:
    return f"{name} is {'an event' if kind == 'event' else 'a fluent'}"


def waiting_shape(plan: Plan, has_others: bool = False) -> Shape:
    """The shape of records that wait for a query, in the forms that a program uses.

    With `has_others`, there may also be records of relations that the program does not have.
    """
    kinds = _kinds(plan, is_input=True)

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
    """Rows of an event or of a fluent; `others` is for relations that the program does not have."""

    events: Shape | None
    fluents: Shape | None
    kinds: dict[Relation, str]
    others: Shape | None

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        complaint = Table({"relation": RELATION}).complaint(tree, place)
        if complaint is not None:
            return complaint
        kind = self.kinds.get(Relation(*tree["relation"]))
        if kind is None:
            if self.others is None:
                return f"{place}: there is no {tree['relation'][0]} here"
            # It is a relation of other rules, and what was reported of it may be taken back.
            return self.others.complaint(tree, place)
        shape = self.events if kind == "event" else self.fluents
        if shape is None:
            return f"{place}: {_called(tree['relation'][0], kind)}"
        return shape.complaint(tree, place)


@dataclass(frozen=True, slots=True)
class _Ledger:
    """Records with their ids."""

    rows: Shape

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        complaint = Table({"relation": RELATION, "ids": VALUES}).complaint(tree, place)
        count = 0 if complaint else count_of_values(tree["ids"])
        if complaint is not None or not count:
            return complaint
        complaint = Table({"columns": Listed(Table({"rows": Numbers()}))}).complaint(tree, place)
        complaint = complaint or self.rows.complaint(tree, place)
        if complaint is None and {len(each["rows"]) for each in tree["columns"]} != {count}:
            return f"{place} has not one record for each id"
        return complaint


@dataclass(frozen=True, slots=True)
class _Happenings:
    """Happenings: their times and, if a pattern defines the event, their starts.

    Over uncertain records these may also have probabilities.
    """

    with_starts: frozenset[Relation]
    extra: int = 0
    has_chances: bool = False

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        widths = (1, 2, 3) if self.has_chances else (1, 2)
        rows = RelationRows(widths, 1, self.has_chances, self.extra)
        complaint = rows.complaint(tree, place)
        if complaint is not None:
            return complaint
        has_starts = len(tree["columns"]) >= 2
        is_known = self.extra or (Relation(*tree["relation"]) in self.with_starts) == has_starts
        if not is_known and len(tree["columns"][0]["rows"]):
            return f"{place}: {tree['relation'][0]} has another number of columns"
        if not has_starts:
            return None
        times, starts = (each["rows"] for each in tree["columns"][:2])
        complaint = TIMES.complaint(starts, f"{place}: a start")
        if complaint is None and not (starts <= times).all():
            return f"{place}: an occurrence ends before it begins"
        return complaint


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The occurrences that are kept for patterns, of one event or fluent."""

    keys: frozenset[tuple[str, Relation]]
    with_starts: frozenset[Relation]

    def complaint(self, tree: Tree, place: str) -> str | None:
        """What is wrong with a tree, and where; None if it fits."""
        complaint = Table({"kind": TextShape(), "relation": RELATION}).complaint(tree, place)
        if complaint is not None:
            return complaint
        if (tree["kind"], Relation(*tree["relation"])) not in self.keys:
            return f"{place}: no pattern is made of {tree['kind']} {tree['relation'][0]}"
        extra = int(tree["kind"] != "event")
        return _Happenings(self.with_starts, extra).complaint(tree, place)


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


_STATES: Final[WeakKeyDictionary[Plan, dict[tuple[bool, bool], Shape]]] = WeakKeyDictionary()
"""The shapes of states, for as long as their plans live: one is checked in every micro-batch."""


def _shape_of_states(plan: Plan, is_uncertain: bool, has_others: bool) -> Shape:
    shapes = _STATES.setdefault(plan, {})
    if (is_uncertain, has_others) not in shapes:
        shapes[is_uncertain, has_others] = _Shapes(plan, is_uncertain, has_others).session()
    return shapes[is_uncertain, has_others]


def check_state(tree: Tree, session: Session, is_uncertain: bool, has_others: bool = False) -> None:
    """Refuse a state that no session with the same settings can have saved.

    Only if the rules have changed may it have relations that the program does not have.
    """
    check(tree, _shape_of_states(session.plan, is_uncertain, has_others), "")
    if tree["incremental"] and not session.may_be_incremental:
        raise DataError(
            "keys with news were evaluated, and in its program news cannot be confined to keys"
        )


# -- files -------------------------------------------------------------------------------------


_SETTINGS: Final = Table(
    {
        "window": Maybe(LENGTH), "step": Maybe(LENGTH), "tick": LENGTH,
        "ties": TextShape(("break", "initiation")),
        "policy": TextShape(("early", "partial", "final")),
        "incremental": Maybe(Truth()), "ids": Maybe(TextShape()),
        "future": Maybe(Whole(0, FARTHEST)), "dated": Truth(), "epoch": Truth(),
    },
    optional=frozenset({"ids", "future", "dated", "epoch"}),
)  # fmt: skip

_UNCERTAIN: Final = Table(
    {
        "threshold": CHANCE, "thresholds": Named(CHANCE), "memory": Maybe(COUNT),
        "durations": Named(Table({"mean": NumberShape(), "deviation": NumberShape(0)})),
        "seed": Whole(), "uncertain": Maybe(Listed(TextShape())), "probabilities": Truth(),
        "mean_change": CHANCE,
    },
    optional=frozenset({"mean_change"}),
)  # fmt: skip

FILE: Final = Table(
    {
        "settings": _SETTINGS, "version": TextShape(), "definitions": Named(TextShape()),
        "has_patterns": Truth(), "uncertain": Maybe(_UNCERTAIN), "shown": Listed(TextShape()),
    },
    optional=frozenset({"has_patterns", "uncertain"}),
)  # fmt: skip
"""The file of a session, without the state of the session."""


# -- streams -----------------------------------------------------------------------------------


def _clock_fits(tree: Tree) -> str | None:
    start, query, time = tree["start"], tree["query"], tree["time"]
    if query is not None and (start is None or time is None or not start < query <= time):
        return f"its last query, at {query}, is not between its start and its clock"
    return None


MOST_REPLAYED: Final = 16
"""So many queries may be answered again when the session of a bucket is restored."""

_LOGGED = Parts((COUNT, Whole(0, MOST_REPLAYED), COUNT, TextShape()))

STANDING: Final = Table(
    {
        "start": Maybe(TIME), "time": Maybe(TIME), "query": Maybe(TIME),
        "forms": Listed(FORM), "held": COUNT, "open_intervals": COUNT, "log": Listed(_LOGGED),
    },
    (_clock_fits,),
    optional=frozenset({"log"}),
)  # fmt: skip
"""How far a bucket has come."""


def _demand_fits(tree: Tree) -> str | None:
    _, _, width, hashed, _ = tree["demand"]
    if len(tree["columns"]) != width or any(position >= width for position in hashed):
        return "a demand has another number of columns"
    lengths = {column_length(each) for each in tree["columns"]}
    lengths |= {len(tree["targets"]), len(tree["until"])}
    return "its columns have different lengths" if len(lengths) > 1 else None


def demands_shape(buckets: int) -> Shape:
    """The shape of the demands of other buckets, of which there are so many."""
    demand = Parts((COUNT, COUNT, COUNT, Listed(COUNT), Listed(COUNT)))
    return Listed(Table(
        {
            "demand": demand, "columns": Listed(COLUMN), "targets": Integers(0, buckets - 1),
            "until": ENDS,
        },
        (_demand_fits,),
    ))  # fmt: skip
