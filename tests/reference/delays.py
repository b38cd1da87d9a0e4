"""Delayed effects, by the three naive rules of the paper on delayed effects.

Alpha: if F=V is initiated at T and `fi(F=V, F=V', R)`, then F=V' is initiated at T+R, unless
cancelled; with `ft(F=V, R)`, F=V is terminated at T+R.
Beta: cancelled if F=V is broken strictly between T and T+R.
Gamma: cancelled if `p(F=V)` and F=V is initiated again strictly between T and T+R.

Ties decide what holds and not what is initiated: an initiation that loses one has its delayed
effect, postpones others, and breaks other values. A pair that grounding does not allow has no
effects; of an initiation up to the edge, grounding decided when the window saw it last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from cernis.errors import KnowledgeError
from cernis.syntax.tree import Term

from .arithmetic import NoValue, evaluate
from .context import Context
from .inertia import broken
from .terms import Env, substitute, unify


@dataclass(frozen=True, slots=True)
class Effect:
    """Under way since `cause` was initiated at `point`: `changed` is initiated or terminated."""

    initiates: bool
    cause: Term
    point: int
    changed: Term


@dataclass(slots=True)
class Pending:
    """The delayed effects of a component's pairs, by the point at which they are due."""

    context: Context
    due: dict[int, list[Effect]] = field(default_factory=lambda: defaultdict(list))

    def schedule(self, point: int) -> set[int]:
        """Note the effects of all that was initiated at a point; gives the points they are due at.

        What was due up to the edge has been settled by earlier queries. In the dialect rtec what
        holds initially has no effects.
        """
        added: set[int] = set()
        if self.context.program.is_rtec and point == self.context.start:
            return added
        for pair in self.context.state.initiated.get(point, ()):
            if self._has_effects(pair, point):
                for when, effect in self._effects(pair, point):
                    if when > self.context.edge:
                        self.due[when].append(effect)
                        added.add(when)
        return added

    def _has_effects(self, pair: Term, point: int) -> bool:
        """Does grounding allow the pair, or did it so when the window saw the point last?"""
        context = self.context
        if point <= context.edge and (point, pair) in context.state.refused:
            return False
        is_settled = point <= context.edge and not context.from_start
        return is_settled or context.domain.allows(pair)

    def _effects(self, pair: Term, point: int) -> list[tuple[int, Effect]]:
        found = []
        for rule in self.context.component:
            env = unify(rule.head, pair, {}) if rule.delay is not None else None
            if env is None or rule.delay is None:
                continue
            for answer in self.context.solver.solve(rule.body, env):
                known = {**env, **answer}
                changed = substitute(rule.changes, known)
                effect = Effect(rule.kind == "fi", pair, point, changed)
                found.append((point + _delay(rule.delay, known), effect))
        return found

    def under_way(self) -> list[Term]:
        """The pairs initiated up to the edge whose effects nothing has cancelled there."""
        edge, tick = self.context.edge, self.context.tick
        effects = [effect for effects in self.due.values() for effect in effects]
        return [
            effect.cause
            for effect in effects
            if effect.point <= edge and not self._cancelled(effect.cause, effect.point, edge + tick)
        ]

    def may_be_postponed(self, point: int) -> bool:
        """Is something due that an initiation at the very point would postpone?

        So it is in the dialect rtec, for pairs that p names.
        """
        due = self.due.get(point, ())
        return self.context.program.is_rtec and any(self._postponable(e.cause) for e in due)

    def take_effect(self, point: int, initiated: Collection[Term] = ()) -> None:
        """Let all that is due at the point happen, unless it is cancelled.

        `initiated` are the pairs whose initiation at the point postpones their effects.
        """
        state = self.context.state
        for effect in self.due.get(point, ()):
            if effect.cause in initiated and self._postponable(effect.cause):
                continue
            if not self._cancelled(effect.cause, effect.point, point):
                points = state.initiated if effect.initiates else state.terminated
                points.setdefault(point, set()).add(effect.changed)

    def _cancelled(self, pair: Term, point: int, due: int) -> bool:
        initiated = self.context.state.initiated
        moved = initiated.keys() | self.context.state.terminated.keys()
        between = [other for other in moved if point < other < due]
        if any(broken(self.context, pair, other) for other in between):
            return True
        again = any(pair in initiated.get(other, ()) for other in between)
        return again and self._postponable(pair)

    def _postponable(self, pair: Term) -> bool:
        for clause in self.context.program.postponable:
            env = unify(clause.head, pair, {})
            if env is not None and any(True for _ in self.context.solver.solve(clause.body, env)):
                return True
        return False


def _delay(term: Term, known: Env) -> int:
    try:
        value = evaluate(term, known)
    except NoValue as error:
        raise KnowledgeError("fi/3", f"the delay has no value: {error}") from error
    if value != int(value) or value <= 0:
        raise KnowledgeError("fi/3", f"the delay {value} is no positive whole number")
    return int(value)
