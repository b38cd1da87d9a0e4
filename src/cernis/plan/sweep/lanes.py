"""What a walk in time needs to know of a stage: lanes of bits, programs over lists, verdicts.

A *lane* is a set of definitions of one key that share a word of state. Records are turned into
fired bits when they are taken in; at each point the rows of the lane say what the fired bits and
the state before the point make of the state. Masks are Python's whole numbers: bit `n` of a mask of
state is `lane.state[n]`, bit `n` of a mask of what fires is `lane.fired[n]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cernis.check.model import Grounding, Pair, Relation
from cernis.plan.logical import Aggregate, Filter, InitialPoints, PointOperator, Scan, Stab
from cernis.source import NOWHERE, Span
from cernis.syntax.tree import Atom, Compound, Term, Variable

if TYPE_CHECKING:
    from cernis.plan.linked.linked_plans import LinkedProgram
    from cernis.plan.sweep.key_members import KeyMembers
    from cernis.plan.sweep.members.head_members import HeadMembers
    from cernis.plan.sweep.members.sent_points import SentPoints

Steps = tuple[PointOperator, ...]
Arguments = tuple[Term | None, ...]
"""The arguments of an instance: None at the positions of the key, constants elsewhere."""

OPEN = Atom(" any other")
"""Stands for all values of a fluent that no rule names."""

MOST_BITS = 64
"""How many bits of state, fired bits and blocks a lane can have."""


# -- bits ------------------------------------------------------------------------------------


class StateKind(StrEnum):
    """What a bit of the state stands for."""

    PAIR = "pair"
    FACT = "fact"
    ARMED = "armed"
    OPEN = "open"
    CLASH = "clash"


@dataclass(frozen=True, slots=True)
class StateBit:
    """A fluent-value pair of the key, a fact about the key, or a delay that is running.

    A fluent that takes any value has a bit of kind OPEN for the values that no rule names; its
    register has the value then. A bit of kind CLASH never holds: it is initiated together with the
    open one where two open values are.

    A fact is true of a key if something comes out of `steps` for a row with the values of the key
    under the names `variables`; it is decided when the key is first met.
    """

    kind: StateKind
    relation: Relation | None = None
    arguments: Arguments = ()
    value: Term | None = None
    variables: tuple[str, ...] = ()
    steps: Steps = ()


class FiredKind(StrEnum):
    """What sets a fired bit: a record, a delayed effect that is due, or an earlier row."""

    RECORD = "record"
    DUE = "due"
    SIGNAL = "signal"
    GUARD = "guard"
    CLASH = "clash"
    CLOSING = "closing"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class HeldValue:
    """The value that a fluent with a register has before a point, under a name.

    If it is negated, the fluent must not have the value that the record has under this name.
    """

    relation: Relation
    arguments: Arguments
    variable: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class FiredBit:
    """What may happen to a key at a point.

    A bit of kind RECORD is set by each record of the event `relation` out of which something comes
    by `steps`, which begin with a scan of that event, if the variables in `values` have those
    values in a row that comes out. The key of the record is in the lane's `keys`. Bits that differ
    in nothing but `values` have equal steps.

    A bit of kind DUE is set when a delayed effect of the pair is due. A bit of kind SIGNAL is set
    by rows: `word` says whether it is a derived "event" (with `arguments`), the "initiation" or
    "termination" of a pair, a condition of a "rule", or the initiation or termination of a "value"
    or "ended value" that stands in the record of the bit `base` under the name `variable`.

    A bit of kind GUARD is set by a record that sets the bit `base`, if the values that are held
    before the point meet `conditions`. Bits of the kinds CLASH and CLOSING are set at points that
    initiate two values of the fluent, or terminate the one that it has or is to have.

    A bit of kind EDGE is set where an interval of a fluent of the input begins or ends, as `word`
    says: at its start or at its end, a point before it holds, or holds no more.

    Where a bit of kind RECORD has a `gate`, its records count only at points at which another lane
    sends this event, for the key of that lane that the record names, too.
    """

    kind: FiredKind
    relation: Relation | None = None
    arguments: Arguments = ()
    value: Term | None = None
    steps: Steps = ()
    values: tuple[tuple[str, Term], ...] = ()
    word: str = ""
    base: FiredBit | None = None
    variable: str = ""
    held: tuple[HeldValue, ...] = ()
    conditions: Steps = ()
    gate: Relation | None = None

    @property
    def all_steps(self) -> Steps:
        """The steps, and then a comparison for each of the values."""
        same = (Compound("==", (Variable(name), term)) for name, term in self.values)
        return (*self.steps, *map(Filter, same))


# -- rows ------------------------------------------------------------------------------------


class LaneOp(IntEnum):
    """What a row does."""

    RULE = 0
    COMMIT = 1
    TERM = 2
    DERIVE = 3


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One row of a lane's program.

    A RULE applies if some bit of `any` is fired, or some bit of `starts` has begun at this point,
    or some bit of `ends` has ended (if it has none of the three, `all` triggers it); if moreover
    all bits of `all` and none of `none` are fired, and all bits of `pos` and none of `neg` held
    before the point. Then it adds `init` and `term` to what is initiated and terminated, and fires
    `signal`. A COMMIT makes of these what holds after the point for its group of values, `init`,
    and forgets them. A TERM is true if all bits of `pos` and none of `neg` hold AFTER the point; a
    DERIVE sets its bit, `init`, if a term of its block was true, and clears it otherwise.
    """

    op: LaneOp
    any: int = 0
    all: int = 0
    none: int = 0
    starts: int = 0
    ends: int = 0
    pos: int = 0
    neg: int = 0
    init: int = 0
    term: int = 0
    signal: int = 0
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def masks(self) -> tuple[int, ...]:
        """The eleven numbers of the row: what it does, then its masks."""
        return (
            int(self.op), self.any, self.all, self.none, self.starts, self.ends, self.pos,
            self.neg, self.init, self.term, self.signal,
        )  # fmt: skip

    @property
    def triggers(self) -> tuple[int, int]:
        """The fired bits, and the bits of state that change, without which it does nothing."""
        if self.op is LaneOp.TERM:
            return 0, self.pos | self.neg
        changed = self.starts | self.ends
        return self.any if self.any or changed else self.all, changed


@dataclass(frozen=True, slots=True)
class LaneDelay:
    """A delayed effect of the pair `source`: so long after its initiation, `due` is fired.

    Bits are given by number. `armed` is the bit of state that says that it is running.
    """

    source: int
    delay: int
    due: int
    armed: int
    postponable: bool = False
    until_due: bool = False
    """Is the effect dropped if the source is initiated at the very point at which it is due?"""
    follows_initial: bool = True
    """Does what holds initially arm it at the start of the run?"""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


# -- registers -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterSource:
    """What initiates or terminates a value, where a row has fired `signal`.

    The value is that of `variable` in each record with the fired bit `carrier`, or `constant`.
    """

    signal: int
    carrier: int | None = None
    variable: str = ""
    constant: Term | None = None
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class LaneRegister:
    """Holds the value of a fluent that may take any.

    Its bits are those of `group`, among them `open_bit` for values that rules do not name, and
    those of `named` values. `clash` and `closing` are fired bits.
    """

    relation: Relation
    arguments: Arguments
    open_bit: int
    group: int
    clash: int
    closing: int
    named: tuple[tuple[int, Term], ...]
    sources: tuple[RegisterSource, ...]


@dataclass(frozen=True, slots=True)
class LaneGuard:
    """Fires `bit` for records with the fired bit `trigger` that meet its conditions.

    `held` are registers by number, and the names of their values, in negated literals or not.
    """

    bit: int
    trigger: int
    scan: Scan
    held: tuple[tuple[int, str, bool], ...]
    conditions: Steps


# -- keys ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneGrounding:
    """Which keys have a pair: those for which `groundings` allow the pair of bit `bit`."""

    bit: int
    groundings: tuple[Grounding, ...]


@dataclass(frozen=True, slots=True)
class LaneInitial:
    """The keys for which a pair holds from the start.

    They are the values that `head` has at the positions of the key in the rows that come out of the
    steps of `rule`, where the variables in `values` have those values.
    """

    bit: int
    rule: InitialPoints
    values: tuple[tuple[str, Term], ...] = ()
    grows: bool = False
    """Does it ask for members of a domain that grows with the input?"""

    @property
    def head(self) -> Pair:
        """The pair, as the rule has it."""
        return self.rule.head


@dataclass(frozen=True)
class Lane:
    """A program of masks for all definitions that share one word of state."""

    key: tuple[str, ...]
    keys: tuple[tuple[Relation, tuple[int, ...]], ...]
    """For each event it reads and each relation it defines: the positions of the key."""
    definitions: tuple[Relation, ...]
    state: tuple[StateBit, ...]
    fired: tuple[FiredBit, ...]
    rows: tuple[LaneRow, ...]
    first_row: tuple[int, ...]
    """Where each block begins, and where the last one ends."""
    delays: tuple[LaneDelay, ...] = ()
    reported: int = 0
    """The bits of state that are pairs of definitions."""
    listed: int = 0
    """The bits of state that stand for lists inside of rules, which programs over lists read."""
    reported_signals: int = 0
    """The fired bits that are derived events."""
    groundings: tuple[LaneGrounding, ...] = ()
    """Pairs without any are allowed for all keys."""
    initials: tuple[LaneInitial, ...] = ()
    """What holds from the start; bits that rows derive are worked out from it."""
    ties: str = "break"
    tick: int = 1
    registers: tuple[LaneRegister, ...] = ()
    """Of fluents that take any value; their open bits are the last of the state."""
    guards: tuple[LaneGuard, ...] = ()
    members: tuple[KeyMembers, ...] = ()
    """Keys of which something may hold though nothing has happened to them."""
    head_members: tuple[HeadMembers, ...] = ()
    """Fluents that hold of all members of a key, who have one bit together."""
    sent: tuple[SentPoints, ...] = ()
    """Records that are points of other lanes."""
    copies: tuple[tuple[Relation, Relation], ...] = ()
    """What it knows of fluents of other lanes, which is not reported: the copy, and the fluent."""
    inputs: ListProgram | None = None
    """Unites the intervals of the fluents of the input that it reads; each output is a pair."""

    @property
    def blocks(self) -> Iterator[tuple[LaneRow, ...]]:
        """The rows of each block."""
        for first, end in zip(self.first_row, self.first_row[1:], strict=False):
            yield self.rows[first:end]

    @cached_property
    def touch_fired(self) -> tuple[int, ...]:
        """For each fired bit: the blocks that do nothing without it or another of their bits."""
        return self._touched(0)

    @cached_property
    def touch_state(self) -> tuple[int, ...]:
        """For each bit of state: the blocks in which its change at the point counts."""
        return self._touched(1)

    def _touched(self, place: int) -> tuple[int, ...]:
        blocks = [0] * MOST_BITS
        for number, block in enumerate(self.blocks):
            mask = 0
            for row in block:
                mask |= row.triggers[place]
            for bit in bits_of(mask):
                blocks[bit] |= 1 << number
        return tuple(blocks)

    @cached_property
    def events(self) -> tuple[Relation, ...]:
        """The events of the input whose records it reads."""
        sent = {each.relation for each in self.sent}
        records = [bit.relation for bit in self.fired if bit.kind is FiredKind.RECORD]
        known = dict.fromkeys(relation for relation in records if relation is not None)
        return tuple(relation for relation in known if relation not in sent)

    @cached_property
    def input_pairs(self) -> tuple[InputPair, ...]:
        """The bits of each output of `inputs`."""
        if self.inputs is None:
            return ()
        state = {bit: number for number, bit in enumerate(self.state)}
        fired = {bit: number for number, bit in enumerate(self.fired)}
        return tuple(
            InputPair(
                state[StateBit(StateKind.PAIR, each.relation, each.arguments, each.value)],
                *(fired[edge_of_input(each.relation, each.arguments, each.value, word)]
                  for word in ("start", "end")),
            )
            for each in self.inputs.outputs
        )  # fmt: skip

    @cached_property
    def gates(self) -> dict[int, Relation]:
        """By fired bit of records: the event of another lane without which they do not count."""
        bits = enumerate(self.fired)
        return {
            number: bit.gate for number, bit in bits
            if bit.kind is FiredKind.RECORD and bit.gate is not None
        }  # fmt: skip

    @cached_property
    def asked_gates(self) -> frozenset[Relation]:
        """The events of other lanes that it needs."""
        return frozenset((*self.gates.values(), *(each.gate for each in self.sent)))

    @cached_property
    def counted(self) -> frozenset[Relation]:
        """The fluents of other lanes of which it counts instances."""
        steps = (step for bit in self.fired for step in bit.steps if isinstance(step, Aggregate))
        pairs = (part.pair for step in steps for part in step.body if isinstance(part, Stab))
        return frozenset(pair.relation for pair in pairs)

    @cached_property
    def sent_gates(self) -> dict[Relation, int]:
        """The events that say which records of other lanes count, with their fired bits."""
        return {
            bit.relation: number for number, bit in enumerate(self.fired)
            if bit.word == "event" and bit.relation is not None and is_gate(bit.relation)
        }  # fmt: skip

    def positions(self, relation: Relation) -> tuple[int, ...]:
        """The positions of the key among the arguments of a relation."""
        return dict(self.keys)[relation]


class InputPair(NamedTuple):
    """The bits of a pair of the input: whether it holds, and where it starts and ends."""

    holds: int
    start: int
    end: int


def edge_of_input(
    relation: Relation, arguments: Arguments, value: Term | None, word: str
) -> FiredBit:
    """The fired bit of the start or end of an interval that is input."""
    return FiredBit(FiredKind.EDGE, relation, arguments, value, word=word)


_GATE = "gate"


def gate_event(number: int, arity: int) -> Relation:
    """A name for an event by which a lane says which records of others count; no text has it."""
    return Relation(f"{_GATE} {number}", arity)


def is_gate(relation: Relation) -> bool:
    """Is it the name of such an event?"""
    return relation.name.startswith(f"{_GATE} ")


def bits_of(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


_COPY = "copy of"


def copied_fluent(relation: Relation, number: int) -> Relation:
    """A name for what a lane knows of a fluent of another lane; no text has it."""
    return Relation(f"{_COPY} {relation.name} {number}", relation.arity)


def is_copy(relation: Relation) -> bool:
    """Is it the name of such a copy?"""
    return relation.name.startswith(f"{_COPY} ")


# -- lists -----------------------------------------------------------------------------------


_HIDDEN = "list"


def hidden_list(stage: int, number: int, arity: int) -> Relation:
    """A name for a list inside of the rules of a stage; no text can have it."""
    return Relation(f"{_HIDDEN} {stage}.{number}", arity)


def is_hidden(relation: Relation) -> bool:
    """Is it the name of a list inside of rules?"""
    return relation.name.startswith(f"{_HIDDEN} ")


class ListOp(IntEnum):
    """What a row of a program over lists does."""

    UNION = 0
    INTERSECT = 1
    SUBTRACT = 2
    COMPLEMENT = 3
    LONGER = 4
    SHORTER = 5
    CONDITION = 6
    OUTPUT = 7


@dataclass(frozen=True, slots=True)
class ListLink:
    """Where another key is found: the values at these positions of the program's key.

    `stage` is the stage whose lanes or lists have that key; None if the intervals are input.
    """

    stage: int | None
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ListSource:
    """A list that a program begins with: the intervals of a pair, or those given as input.

    `positions` are the arguments of the relation that are its key, in the order of the program's
    key, or of the key that the link number `link` gives; without a link it is the program's. The
    relation may be one of `hidden_list`: a list inside of a rule, which is a bit of a lane.
    """

    slot: int
    relation: Relation
    arguments: Arguments
    value: Term
    positions: tuple[int, ...]
    link: int | None = None
    is_input: bool = False


@dataclass(frozen=True, slots=True)
class ListRow:
    """List `to` becomes what the operation makes of the lists `source` and `other`.

    LONGER and SHORTER have their limit in `parameter`. CONDITION makes the list empty for keys that
    do not meet condition number `parameter` of the program. OUTPUT makes it the intervals of output
    number `parameter`: nothing for keys whose grounding does not allow the pair, and up to the
    window's edge what was derived before.
    """

    op: ListOp
    to: int
    source: int = 0
    other: int = 0
    parameter: int = 0
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListOutput:
    """A pair whose intervals are in a list when the program has run.

    `positions` are the arguments that are the program's key. What is seen of a pair of the input is
    an output, too, since that stands up to the window's edge as well; it is not reported.
    """

    slot: int
    relation: Relation
    arguments: Arguments
    value: Term
    positions: tuple[int, ...]
    groundings: tuple[Grounding, ...] = ()
    is_input: bool = False


@dataclass(frozen=True, slots=True)
class ListCondition:
    """Keys for which something comes out of `steps`, under the names `variables`."""

    variables: tuple[str, ...]
    steps: Steps


@dataclass(frozen=True, slots=True)
class ListProgram:
    """Intervals of the definitions of a stage from lists of the same key, or of linked ones.

    Lists that are no sources are empty before the first row. Nothing comes out for a key that has
    none of the sources without a link.
    """

    definitions: tuple[Relation, ...]
    linked: frozenset[Relation]
    """Those of the definitions that read lists of other keys."""
    key: tuple[str, ...]
    slots: int
    sources: tuple[ListSource, ...]
    rows: tuple[ListRow, ...]
    outputs: tuple[ListOutput, ...]
    links: tuple[ListLink, ...] = ()
    conditions: tuple[ListCondition, ...] = ()
    members: tuple[KeyMembers, ...] = ()
    """Keys of which something may hold without any source."""


# -- the plan --------------------------------------------------------------------------------


class SweepWay(StrEnum):
    """How a definition is evaluated."""

    LANE = "lane"
    LIST = "list"
    LINKED = "linked"
    LINKED_LANE = "linked lane"
    COLUMNS = "columns"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a definition is evaluated, and why it is not in the sweep if it is not."""

    relation: Relation
    way: SweepWay
    reason: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    has_register: bool = False
    """Is its value, which may be any, held in a register?"""
    has_gate: bool = False
    """Does a lane of another key decide which records count?"""


@dataclass(frozen=True)
class SweepPlan:
    """What of a stage is evaluated in one walk in time; the rest stays with columns."""

    stage: int
    lanes: tuple[Lane, ...] = ()
    lists: tuple[ListProgram, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    linked: tuple[LinkedProgram, ...] = ()
    """What is walked over links, its definitions being of this stage and of earlier ones."""

    @cached_property
    def ways(self) -> dict[Relation, SweepWay]:
        """How each definition is evaluated."""
        return {verdict.relation: verdict.way for verdict in self.verdicts}

    @property
    def swept(self) -> frozenset[Relation]:
        """The definitions that go with the sweep."""
        return frozenset(r for r, way in self.ways.items() if way is not SweepWay.COLUMNS)

    def only(self) -> SweepPlan:
        """What can be walked with the definitions of this stage only."""
        linked = tuple(each for each in self.linked if each.stages == (self.stage,))
        lanes: list[Lane] = []
        for lane in self.lanes:
            sent = {gate for known in lanes for gate in known.sent_gates}
            walked = {relation for known in lanes for relation in known.definitions}
            if lane.asked_gates <= sent and lane.counted <= walked:
                lanes.append(lane)
        return replace(self, linked=linked, lanes=tuple(lanes))

    def __bool__(self) -> bool:
        """Is anything evaluated so?"""
        return bool(self.lanes or self.lists or self.linked)
