"""The arrays that walks through time work on, put together by what they are about.

Beside each structure stand the words of its fields, as signatures of kernels have them.
"""

from __future__ import annotations

from typing import NamedTuple

from cernis.kernels.array_types import Integers, Matrix, SmallMatrix

INTERVAL_COLUMNS = "(writable-integers writable-integers writable-integers writable-integers)"


class IntervalColumns(NamedTuple):
    """Room for intervals."""

    instances: Integers
    values: Integers
    starts: Integers
    ends: Integers


NOTE_COLUMNS = "(writable-integers writable-integers writable-integers)"


class NoteColumns(NamedTuple):
    """Room for notes of initiations, effects or happenings: whose, about what, and when."""

    instances: Integers
    about: Integers
    times: Integers


class HeldValues(NamedTuple):
    """What instances hold at first, and since when; sorted by instance."""

    instances: Integers
    values: Integers
    starts: Integers


# -- one fluent with delayed effects ---------------------------------------------------------


EFFECT_TABLES = "(integers matrix matrix matrix integers integer)"


class EffectTables(NamedTuple):
    """The columns of `Effects`; `slots` has two entries in front, for where nothing holds."""

    slots: Integers
    delays: Matrix
    reported: Matrix
    done: Matrix
    postponable: Integers
    quiet: int


ACTION_POINTS = "(integers integers integers)"


class ActionPoints(NamedTuple):
    """The actions that rules say, sorted by instance and time."""

    instances: Integers
    times: Integers
    actions: Integers


CARRIED_VALUES = "(integers integers integers integers)"


class CarriedValues(NamedTuple):
    """What instances hold at first: since when, and from which initiation effects count."""

    instances: Integers
    values: Integers
    starts: Integers
    since: Integers


LISTED_VALUES = "(writable-integers writable-integers writable-integers)"


class ListedValues(NamedTuple):
    """The values of one instance that hold or whose initiations are under way.

    A start is `NEVER` where a value does not hold, and an effect is due `NEVER` where none is.
    """

    helds: Integers
    starts: Integers
    dues: Integers


DELAY_TIMES = "(integer integer integer integer integer)"


class DelayTimes(NamedTuple):
    """The query and the tick, and how an instance is walked.

    `is_each` says whether values hold beside one another, `noted` of which values initiations are
    noted, and `room` how many effects may be written.
    """

    query: int
    tick: int
    is_each: int
    noted: int
    room: int


# -- cycles ----------------------------------------------------------------------------------


CYCLE_TABLES = "(matrix matrix matrix integers)"


class CycleTables(NamedTuple):
    """The rules, relations and classes of a cycle, and the relation of each instance."""

    rules: Matrix
    relations: Matrix
    classes: Matrix
    relation_of: Integers


WALKED_EFFECTS = "(integers integers integers integers integers integer)"


class WalkedEffects(NamedTuple):
    """Delayed effects of all relations, one after the other.

    `slots` has those of values, `delays` and `postponable` are by slot, `reported` and `done` by
    effect. What is initiated at the point `quiet` has no effects.
    """

    slots: Integers
    delays: Integers
    reported: Integers
    done: Integers
    postponable: Integers
    quiet: int


PENDING_VALUES = "(writable-matrix writable-matrix)"


class PendingValues(NamedTuple):
    """Of instances that hold nothing: values whose initiations are under way, when they are due."""

    values: Matrix
    dues: Matrix


WAITING_RECORDS = "(records integers writable-integers writable-integers)"


class WaitingRecords(NamedTuple):
    """Records that wait for what happens at a point.

    Those of slot s are `triggers[s]:triggers[s+1]`. What has been woken is linked: from the first
    of a rank, each has the following one, or -1.
    """

    records: SmallMatrix
    triggers: Integers
    following: Integers
    first_of_rank: Integers


AGENDA_WORDS = "(writable-integers writable-integers writable-integers)"


class Agenda(NamedTuple):
    """Actions of a point, the following one of the same instance, the instances that have any."""

    actions: Integers
    following: Integers
    instances: Integers


DRIVEN_RECORDS = "(records integers integers integers integers)"


class DrivenRecords(NamedTuple):
    """The records that events drive, as `Causes` has them."""

    records: SmallMatrix
    times: Integers
    ends: Integers
    members: Integers
    member_ends: Integers


WALK_LIMITS = "(integer integer integer integer integer integer)"


class WalkLimits(NamedTuple):
    """The edge of the window, the query and the tick; and limits of the walk.

    `edges` is the highest rank at which relations tell starts and ends, `tries` 1 if points at
    which effects are due are first tried without them, and `room` how much may be written.
    """

    edge: int
    query: int
    tick: int
    edges: int
    tries: int
    room: int
