"""What a session has cost, as text: stage by stage, stratum by stratum, query by query."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.check.model import Relation
from cernis.plan.builder import Plan
from cernis.plan.plan_text import division
from cernis.session.replayed_session import Analysis, MeasuredQuery

_EDGE = 5
"""So many of the first queries, and of the last, are shown."""


def as_text(analysis: Analysis, plan: Plan) -> str:
    """The stages with their strata, then the queries with the way of each."""
    return "\n".join([*_stages(analysis, plan), "", *_queries(analysis)]) + "\n"


def _stages(analysis: Analysis, plan: Plan) -> Iterator[str]:
    whole = analysis.seconds
    inside = sum(analysis.timing.seconds.values())
    yield f"{'time':>11}  {'share':>5}  {'changes':>11}  {'held':>11}"
    for stage in plan.stages:
        defined = {relation for stratum in stage.strata for relation in stratum.relations}
        times = {
            relations: seconds for relations, seconds in analysis.timing.seconds.items()
            if defined & set(relations)
        }  # fmt: skip
        yield f"\n{_time(sum(times.values()), whole)}  stage {stage.number}, {division(stage)}"
        for relations, seconds in sorted(times.items(), key=lambda each: -each[1]):
            yield from _stratum(relations, _time(seconds, whole), analysis)
    yield f"\n{_time(whole - inside, whole)}  records taken in, changes reported"
    yield f"{_time(whole, whole)}  in all"


def _stratum(relations: tuple[Relation, ...], time_taken: str, analysis: Analysis) -> Iterator[str]:
    """A stratum in one line, or one line for each of its definitions below it."""
    if len(relations) == 1:
        yield f"{time_taken}  {_rows(relations[0], analysis)}    {relations[0]}"
        return
    yield f"{time_taken}  {'':>24}    {len(relations)} definitions together"
    for relation in relations:
        yield f"{'':>18}  {_rows(relation, analysis)}      {relation}"


def _rows(relation: Relation, analysis: Analysis) -> str:
    return f"{analysis.changes[relation]:>11,}  {analysis.rows_at_end.get(relation, 0):>11,}"


def _time(seconds: float, whole: float) -> str:
    return f"{seconds * 1e3:>8,.1f} ms  {seconds / whole if whole else 0:>5.0%}"


def _queries(analysis: Analysis) -> Iterator[str]:
    yield (
        f"{'query':>12}  {'held':>11}  {'new':>9}  {'late':>9}  "
        f"{'keys':<9} {'changes':>9}  {'time':>11}"
    )
    queries = analysis.queries
    if len(queries) <= 2 * _EDGE + 1:
        yield from map(_query, queries)
    else:
        yield from map(_query, queries[:_EDGE])
        yield f"{'...':>12}  {len(queries) - 2 * _EDGE:,} more"
        yield from map(_query, queries[-_EDGE:])
    incremental = sum(each.is_incremental for each in queries)
    yield (
        f"\n{len(queries):,} queries, {incremental:,} of them evaluated for the keys that have "
        "news,\nthe others for all keys."
    )


def _query(query: MeasuredQuery) -> str:
    records = query.records
    keys = "with news" if query.is_incremental else "all"
    return (
        f"{query.query:>12}  {records.held:>11,}  {records.new:>9,}  {records.late:>9,}  "
        f"{keys:<9} {query.changes:>9,}  {query.seconds * 1e3:>8,.1f} ms"
    )
