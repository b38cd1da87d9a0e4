"""What a walk over linked instances needs to know: kinds of instances, and links between them.

Where rules meet over more than one key, each fluent has instances of its own *kind*: a tuple of
arguments, such as merchant, consumer and good. Every kind is a lane: a word of state for each
instance, and rows of masks. What rules read of an instance of another kind, whose tuple is a part
of their own, is a bit of their lane's state that is looked up over a *link*. What they bring about
for such an instance is a fired bit of its lane, which is sent over a link.
"""

from __future__ import annotations

from dataclasses import dataclass

from cernis.check.model import Relation
from cernis.plan.sweep.lanes import Lane


@dataclass(frozen=True, slots=True)
class KindLink:
    """Leads from an instance to one of the kind number `target`.

    For each place of the target's tuple, `positions` has the place in the tuple it comes from.
    """

    target: int
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LinkedRead:
    """State bit `bit` is, before a point, bit `source` of the instance that a link leads to."""

    bit: int
    link: int
    source: int


@dataclass(frozen=True, slots=True)
class LinkedSignal:
    """Where fired bit `fired` is sent, bit `target` of the instance that a link leads to fires."""

    fired: int
    link: int
    target: int


@dataclass(frozen=True, slots=True)
class InstanceKind:
    """The lane of one kind of instances, and how it is linked to others.

    `home` is a relation of the program whose arguments at `positions` are the tuple. Records that
    set fired bits are named as the lane names them, with the input event that they are of: a lane
    has two names for an event that it reads by two choices of arguments. `late` is the mask of
    state bits that follow from words of other instances as they are after a point.
    """

    lane: Lane
    home: Relation
    positions: tuple[int, ...]
    records: tuple[tuple[Relation, Relation], ...]
    links: tuple[KindLink, ...] = ()
    reads: tuple[LinkedRead, ...] = ()
    signals: tuple[LinkedSignal, ...] = ()
    late: int = 0

    @property
    def events(self) -> tuple[Relation, ...]:
        """The input events whose records it takes."""
        return tuple(dict.fromkeys(event for _, event in self.records))


@dataclass(frozen=True)
class LinkedProgram:
    """Kinds of instances that are walked together.

    A kind comes before those it has links to: what it reads of them is what held before the point,
    and what it sends to them is there when they are decided.
    """

    kinds: tuple[InstanceKind, ...]
    stages: tuple[int, ...]
    """The stages that its definitions are of."""

    @property
    def definitions(self) -> tuple[Relation, ...]:
        """All relations that it defines."""
        return tuple(relation for kind in self.kinds for relation in kind.lane.definitions)

    @property
    def events(self) -> tuple[Relation, ...]:
        """The input events whose records it takes."""
        return tuple(dict.fromkeys(event for kind in self.kinds for event in kind.events))
