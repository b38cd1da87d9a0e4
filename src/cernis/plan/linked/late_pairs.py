"""Statically determined pairs that rest on words of other instances.

Larger instances are decided first, from the words before the point. What a list over a link says
is known only after that. So pairs that rest on it are decided *late*: when all kinds have been
decided, for instances whose words have changed and for those that are linked to one that has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from cernis.check.model import Relation
from cernis.plan.sweep.lane_rules import pair_bit
from cernis.plan.sweep.lanes import Lane, StateBit, StateKind
from cernis.plan.sweep.static_formulas import FormulaTerm, StaticPair
from cernis.plan.sweep.unfit import NotSweptError
from cernis.plan.sweep.unrolled import Instance


def late_pairs(
    statics: Mapping[Instance, StaticPair], imported: Collection[Relation]
) -> list[StaticPair]:
    """The pairs that rest on what is imported over links, themselves or by way of others."""
    late: dict[StateBit, StaticPair] = {}
    while True:
        more = {
            pair_bit(pair.instance): pair for pair in statics.values()
            if any(bit in late or bit.relation in imported for bit in _bits_of(pair))
        }  # fmt: skip
        if len(more) == len(late):
            return list(more.values())
        late = more


def check_late(pair: StaticPair, imported: Collection[Relation], has_initials: bool) -> None:
    """Only instances of which something holds themselves can be found when others change."""
    if has_initials:
        raise NotSweptError("reads other instances, and something holds initially", pair.span)
    for term in pair.formula:
        if not own_bits(term, imported):
            raise NotSweptError("may hold where nothing of its own instance does", pair.span)


def own_bits(term: FormulaTerm, imported: Collection[Relation]) -> list[StateBit]:
    """The pairs of the instance itself that must hold."""
    return [bit for bit in term.pos if bit.kind is StateKind.PAIR and bit.relation not in imported]


def mask_of(pairs: Iterable[StaticPair], lane: Lane) -> int:
    """The state bits of some pairs."""
    bits = {pair_bit(pair.instance) for pair in pairs}
    return sum(1 << number for number, bit in enumerate(lane.state) if bit in bits)


def asks_for_edges(lane: Lane, late: int) -> bool:
    """Does a row ask at which point some bits begin or end? Late ones do so after the rows."""
    return any((row.starts | row.ends) & late for row in lane.rows)


def _bits_of(pair: StaticPair) -> frozenset[StateBit]:
    return frozenset(bit for term in pair.formula for bit in term.pos | term.neg)
