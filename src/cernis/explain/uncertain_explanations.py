"""Explains how likely a pair is from uncertain records: what speaks for it, what against it.

The tree is that of the case in which all records that speak for the pair are true and no uncertain
record that speaks against it is. With each record goes its share: what goes of the probability if
the record is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cernis.errors import DataError, UnsupportedError
from cernis.evaluate.probabilities.shares import PairAtPoint, PairShares, RecordShare, record_shares
from cernis.explain.explaining import (
    RunLimits,
    explain,
    explain_history,
    history_of,
    last_point,
)
from cernis.explain.explanation_tree import Explanation, Reason
from cernis.explain.histories import NamedRecord
from cernis.explain.point_texts import point_asked, point_text
from cernis.explain.questions import Question, read_question
from cernis.explain.reachable_records import reachable
from cernis.explain.replays import only
from cernis.knowledge.ground_values import value
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records

_MOST_LISTED: Final = 10
"""So many records are listed that carry a probability and that the tree does not name."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The shares in a probability, as far as they are known."""

    shares: PairShares
    is_whole: bool
    """Are these the shares of all records?"""


def explain_uncertain(
    plan: Plan, records: Records, text: str, time: int | str | None, limits: RunLimits,
    show_time: Callable[[int], str] = str,
) -> Explanation:  # fmt: skip
    """Why a pair is as likely as it is at a time-point, with the share of each record.

    Without a time, it is the last point at which it held if all records were true. Events have no
    probability of their own: they are explained as if all records were true.
    """
    question = read_question(text, plan.checked)
    history = history_of(plan, records, question, limits)
    if isinstance(time, str):
        time = point_asked(time, plan.checked.definitions.settings.time, history.end)
    point = last_point(history, question) if time is None else time
    certain = explain_history(history, question, point, records, limits)
    named = {record.number for record in certain.records}
    try:
        weighed = _weighed(
            plan, records, question, point, limits, (history.start, history.end), named
        )
    except UnsupportedError as error:
        return _as_if_certain(plan, records, question, point, limits, show_time, str(error))
    if weighed is None:
        why = "an event has no probability of its own"
        return _as_if_certain(plan, records, question, point, limits, show_time, why)
    against = {each.number for each in weighed.shares.records if each.share < 0}
    likely = _without(records, {each for each in against if _chance(weighed, each) < 1})
    within = RunLimits(
        limits.window, limits.step, history.start, history.end, limits.tick, limits.ties
    )
    explanation = explain(plan, likely, text, point, within)
    _write(explanation, question, weighed, {each.number: each for each in history.all_records()})
    explanation.write_times(show_time)
    return explanation


def _weighed(
    plan: Plan, records: Records, question: Question, time: int, limits: RunLimits,
    bounds: tuple[int, int], named: set[int],
) -> _Weighed | None:  # fmt: skip
    """The shares of all records, or of those that the tree names if there are too many."""
    if question.value is None:
        return None
    near = reachable(plan, records, question)
    target = PairAtPoint(
        question.relation, tuple(map(value, question.args)), value(question.value), time
    )

    def shares(numbers: Iterable[int] | None) -> PairShares:
        return record_shares(
            plan, near, target, bounds, tick=limits.tick, ties=limits.ties, window=limits.window,
            step=limits.step, only=None if numbers is None else set(numbers),
        )  # fmt: skip

    try:
        return _Weighed(shares(None), True)
    except DataError:
        return _Weighed(shares(named), False)


def _chance(weighed: _Weighed, number: int) -> float:
    return next(each.probability for each in weighed.shares.records if each.number == number)


def _without(records: Records, numbers: set[int]) -> Records:
    """All records but some."""
    places = [part.places for part in records.relations.values()]
    kept = set(np.concatenate([np.empty(0, np.int64), *places]).tolist()) - numbers
    rest = only(records, kept)
    rest.set_aside = records.set_aside
    return rest


def _as_if_certain(
    plan: Plan, records: Records, question: Question, time: int, limits: RunLimits,
    show_time: Callable[[int], str], why: str,
) -> Explanation:  # fmt: skip
    explanation = explain(plan, records, str(question), time, limits, show_time)
    note = Reason("note", f"this is so if all records are true: {why}")
    explanation.tree.reasons.append(note)
    return explanation


def _write(
    explanation: Explanation, question: Question, weighed: _Weighed,
    records: Mapping[int, NamedRecord],
) -> None:  # fmt: skip
    """Write the probability at the head of a tree, and its share beside each record."""
    shares = {each.number: each for each in weighed.shares.records}
    named = set()
    for reason in explanation.tree.walk():
        if reason.record is not None:
            named.add(reason.record.number)
            share = shares.get(reason.record.number)
            reason.text += f", share {0.0 if share is None else share.share:+.3g}"
    probability = weighed.shares.probability
    head = f"{question} has probability {probability:.4g} at {point_text(explanation.time)}"
    tree = explanation.tree
    if explanation.holds:
        tree.text += ", if these records are true"
    explanation.tree = Reason("pair", head, interval=tree.interval, reasons=[tree])
    others = [each for each in weighed.shares.records if each.number not in named]
    explanation.tree.reasons += [
        *_listed("against it", [each for each in others if each.share < 0], records),
        *_listed("for it, too", [each for each in others if each.share > 0], records),
    ]
    if not weighed.is_whole:
        text = "the shares of records that are not named here were not computed: there are too many"
        explanation.tree.reasons.append(Reason("note", text))
    explanation.probability = probability
    explanation.holds = probability > 0


def _listed(
    title: str, shares: list[RecordShare], records: Mapping[int, NamedRecord]
) -> list[Reason]:
    """Records that carry a probability, under a title."""
    if not shares:
        return []
    reason = Reason("note", title)
    for each in shares[:_MOST_LISTED]:
        record = records[each.number]
        text = f"record {record.text}, share {each.share:+.3g}"
        reason.reasons.append(Reason("share", text, record.place))
    if len(shares) > _MOST_LISTED:
        reason.reasons.append(Reason("note", f"and {len(shares) - _MOST_LISTED} more"))
    return [reason]
