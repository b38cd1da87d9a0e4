"""The properties of a plan as sentences: what is true of the program beyond its rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from cernis.check.model import Relation
from cernis.plan.builder import Plan
from cernis.plan.properties.confined_news import StrataPlan
from cernis.plan.properties.routes import Way

_BUCKETS = {
    Way.DEMANDED: "buckets of stage {} get what they ask for of {}",
    Way.EVERYWHERE: "all buckets of stage {} get {}",
    Way.LINKED: "buckets of stage {} get {} by the entities that they link",
    Way.ONE: "one bucket of stage {} gets {}",
}


def describe_properties(plan: Plan) -> Iterator[str]:
    """What is true of a program, one sentence a line; nothing for what is as usual."""
    yield from _kept(plan)
    yield from _cycles(plan)
    yield from _domains(plan)
    yield from _changes(plan)
    yield from _routes(plan)
    yield from _stages_walked(plan)
    yield from _slices(plan)


def _kept(plan: Plan) -> Iterator[str]:
    """What is kept, or kept otherwise, because of what rules do with it."""
    roles = plan.roles
    if roles.watched:
        yield f"initiations and terminations of {_listed(roles.watched)} are kept for other rules"
    if roles.counted:
        yield f"equal happenings of {_listed(roles.counted)} count as one in aggregates"
    if roles.in_time:
        yield f"happenings of {_listed(roles.in_time)} are kept in the order of time, without a key"
    by_memory: dict[int | None, list[Relation]] = {}
    for relation, memory in roles.looked_back_at.items():
        by_memory.setdefault(memory, []).append(relation)
    for memory, relations in by_memory.items():
        back = "everything" if memory is None else f"up to {memory}"
        yield (
            f"rules that relate or measure intervals of {_listed(relations)} see {back} before the "
            "window"
        )
    yield from _patterns(plan)


def _patterns(plan: Plan) -> Iterator[str]:
    """How far back patterns look."""
    by_reach: dict[float, list[Relation]] = {}
    for (_, relation), (_, reach) in plan.pattern_needs.atoms.items():
        if reach > 0:
            by_reach.setdefault(reach, []).append(relation)
    for reach, relations in sorted(by_reach.items()):
        back = "everything" if reach == math.inf else f"up to {int(reach)}"
        yield f"patterns of {_listed(relations)} see {back} before the window"
    if plan.pattern_needs.leftover_steps:
        yield "some patterns keep only what can still be matched"


def _cycles(plan: Plan) -> Iterator[str]:
    for stratum in (stratum for stage in plan.stages for stratum in stage.strata):
        if stratum.immediate:
            how = (
                "is decided in one walk through time"
                if stratum.causes is not None
                else "is evaluated in rounds until nothing changes"
            )
            yield f"the cycle of {_listed(stratum.relations)} {how}"


def _domains(plan: Plan) -> Iterator[str]:
    domains = [relation for relation, _ in plan.checked.definitions.domains]
    if domains and plan.may_forget_members:
        yield f"members of {_listed(domains)} are forgotten when nothing in the window names them"
    elif domains:
        yield f"members of {_listed(domains)} are kept for good, since rules may still ask for them"


def _changes(plan: Plan) -> Iterator[str]:
    """How much is evaluated where something has changed."""
    if plan.is_swept:
        yield "sessions walk on from the first change of each key"
        return
    if not plan.confines_news:
        yield "sessions evaluate the whole window again at every query"
        return
    by_part: dict[str, list[Relation]] = {}
    for strata in (strata for of_stage in plan.keyed_strata for strata in of_stage):
        by_part.setdefault(_part(strata), []).extend(strata.definitions)
    for part, relations in by_part.items():
        yield f"sessions evaluate {part}: {_listed(relations)}"


def _part(strata: StrataPlan) -> str:
    if strata.looks_back:
        return "for all keys at every query, as forgetting may change the answer"
    return "for the keys that have news"


def _routes(plan: Plan) -> Iterator[str]:
    """How input reaches the buckets of stages on Spark, where it is not by key."""
    by_way: dict[tuple[int, Way], list[Relation]] = {}
    for relation, home in plan.routes.homes.items():
        for delivery in (home, *plan.routes.onward.get(relation, ())):
            by_way.setdefault((delivery.step, delivery.way), []).append(relation)
    for (step, way), relations in sorted(by_way.items()):
        if way in _BUCKETS:
            yield f"on Spark, {_BUCKETS[way].format(step, _listed(relations))}"


def _stages_walked(plan: Plan) -> Iterator[str]:
    """Which stages are walked on Spark, where it is not as in a single process."""
    for number, stage in plan.stage_plans.items():
        if stage.is_swept and not plan.is_swept:
            yield f"on Spark, stage {number} is walked"
        elif plan.is_swept and not stage.is_swept:
            yield f"on Spark, stage {number} is evaluated by columns: its walk takes other stages"


def _slices(plan: Plan) -> Iterator[str]:
    for number, parts in plan.slices.items():
        if parts is not None and parts.is_walked:
            yield f"on Spark, stage {number} can be walked in slices of time"
        elif parts is not None:
            rest = [s for stage in parts.rest.stages for s in stage.strata]
            late = [relation for stratum in rest for relation in stratum.relations]
            but = f", but for {_listed(late)}" if late else ""
            yield f"on Spark, stage {number} can be evaluated in slices of time{but}"


def _listed(relations: Iterable[Relation]) -> str:
    """Relations in a sentence, sorted.

    >>> _listed([Relation("b", 1), Relation("a", 2), Relation("c", 0)])
    'a/2, b/1 and c/0'
    """
    names = sorted(map(str, dict.fromkeys(relations)))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
