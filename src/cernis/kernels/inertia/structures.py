"""The arrays that walks through time work on, put together by what they are about.

A kernel is called with one argument for each array, and makes these structures of them first: as
arguments they would cost several times as much at each call, and would not take arrays that may not
be written to. So they are for the parts of a kernel, which they cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from cernis.kernels.array_types import Integers, Matrix, SmallMatrix


class IntervalColumns(NamedTuple):
    """Room for intervals."""

    instances: Integers
    values: Integers
    starts: Integers
    ends: Integers


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


class EffectTables(NamedTuple):
    """The columns of `Effects`; `slots` has two entries in front, for where nothing holds."""

    slots: Integers
    delays: Matrix
    reported: Matrix
    done: Matrix
    postponable: Integers
    quiet: int


class ActionPoints(NamedTuple):
    """The actions that rules say, sorted by instance and time."""

    instances: Integers
    times: Integers
    actions: Integers


class CarriedValues(NamedTuple):
    """What instances hold at first: since when, and from which initiation effects count."""

    instances: Integers
    values: Integers
    starts: Integers
    since: Integers


class ListedValues(NamedTuple):
    """The values of one instance that hold or whose initiations are under way.

    A start is `NEVER` where a value does not hold, and an effect is due `NEVER` where none is.
    """

    helds: Integers
    starts: Integers
    dues: Integers


# -- cycles ----------------------------------------------------------------------------------


class CycleTables(NamedTuple):
    """The rules, relations and classes of a cycle, and the relation of each instance."""

    rules: Matrix
    relations: Matrix
    classes: Matrix
    relation_of: Integers


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


class PendingValues(NamedTuple):
    """Of instances that hold nothing: values whose initiations are under way, when they are due."""

    values: Matrix
    dues: Matrix


class WaitingRecords(NamedTuple):
    """Records that wait for what happens at a point.

    Those of slot s are `triggers[s]:triggers[s+1]`. What has been woken is linked: from the first
    of a rank, each has the following one, or -1.
    """

    records: SmallMatrix
    triggers: Integers
    following: Integers
    first_of_rank: Integers


class Agenda(NamedTuple):
    """Actions of a point, the following one of the same instance, the instances that have any."""

    actions: Integers
    following: Integers
    instances: Integers
