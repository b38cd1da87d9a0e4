"""The plan as text: stages, strata, rules and operators, each line with the place it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cernis.check.dependencies import EdgeKind
from cernis.check.model import Boundary, Changes, Event, Postponable
from cernis.knowledge.user_functions import without_digests
from cernis.knowledge.zone_clock import with_plain_clocks
from cernis.plan.builder import Plan
from cernis.plan.logical import (
    Aggregate,
    AntiStab,
    Branches,
    Combine,
    Compute,
    Definition,
    Delay,
    EventAntiJoin,
    EventJoin,
    Except,
    Exclude,
    Fetch,
    Filter,
    InitialPoints,
    IntervalOperator,
    IntervalRule,
    Lookup,
    Match,
    Occurrence,
    PointOperator,
    PointRule,
    Require,
    Resolve,
    RulePlan,
    Scan,
    Stab,
    Stage,
    Stratum,
)
from cernis.plan.pattern_plans import renamed
from cernis.plan.pattern_steps import Around, Longest, Slide, Step, StepUse, parts_below
from cernis.plan.pattern_words import absence, arounds, in_words, shared_steps, title
from cernis.plan.property_text import describe_properties
from cernis.plan.sweep.lanes import SweepWay, Verdict
from cernis.source import Span
from cernis.syntax.printer import show

_PLACE_COLUMN = 84

_SETS = {
    "union_all": "Union", "intersect_all": "Intersect", "complement_all": "Complement",
    "relative_complement_all": "RelativeComplement", "intDurGreater": "Longer",
    "intDurLess": "Shorter", "allen": "Allen", "findall": "Pick",
}  # fmt: skip


def explain(plan: Plan) -> str:
    """The whole plan, for people to read.

    Indentation shows what belongs to what; the right margin cites file and line.
    """
    return with_plain_clocks(without_digests("\n".join(_Explainer(plan).lines()) + "\n"))


def division(stage: Stage) -> str:
    """How the work of a stage is divided, in words."""
    if stage.key:
        return f"by {', '.join(stage.key)}"
    if stage.linked_by is None:
        return "in one partition"
    linking = f" linked by {' and '.join(stage.linked_by)}" if stage.linked_by else ""
    return f"by components of entities{linking}"


class _Explainer:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._numbers = shared_steps(_matches(plan))
        self._shown: set[int | None] = set()
        self._verdicts = {
            verdict.relation: _in_words(verdict)
            for swept in plan.sweep
            for verdict in swept.verdicts
        }

    def lines(self) -> Iterator[str]:
        for stage in self._plan.stages:
            yield from self._stage(stage)
        yield from self._properties()
        yield from self._background()

    def _line(self, depth: int, text: str, span: Span | None = None) -> str:
        line = "  " * depth + text
        place = self._plan.checked.sources.place(span) if span else None
        if place is None:
            return line
        return f"{line:<{_PLACE_COLUMN}}  {Path(place.name).name}:{place.line}"

    # -- stages and strata ------------------------------------------------------------------

    def _stage(self, stage: Stage) -> Iterator[str]:
        yield f"stage {stage.number}, {division(stage)}"
        for exchange in stage.exchanges:
            joint = ", " if stage.linked_by is None else " and "
            by = f" by {joint.join(exchange.key)}" if exchange.key else ""
            demand = f", as {exchange.demanded_by} demands" if exchange.demanded_by else ""
            yield self._line(1, f"read {exchange.relation} from {exchange.origin}{by}{demand}")
        for stratum in stage.strata:
            yield from self._stratum(stratum)
        yield ""

    def _stratum(self, stratum: Stratum) -> Iterator[str]:
        marks = [f"stratum {stratum.level}"]
        if stratum.cyclic:
            marks.append("cyclic: iterated by time")
        if stratum.delayed:
            # In a cycle there is no order to show: it is found while iterating.
            order = "" if stratum.cyclic else f" in the order {', '.join(stratum.order)}"
            marks.append(f"delayed effects{order}")
        yield self._line(1, ", ".join(marks))
        if stratum.cyclic or stratum.delayed:
            yield from self._edges(stratum)
        for definition in stratum.definitions:
            yield from self._definition(definition)

    def _edges(self, stratum: Stratum) -> Iterator[str]:
        """What leads from where to where inside of a component, at once and with a delay."""
        members = set(stratum.order)
        inner = [
            edge for edge in self._plan.checked.dependencies.edges
            if str(edge.source) in members and str(edge.target) in members
        ]  # fmt: skip
        for vertex in stratum.order:
            for delayed, arrow in ((False, "->"), (True, "-> after a delay")):
                targets = dict.fromkeys(
                    str(edge.target) for edge in inner
                    if str(edge.source) == vertex and (edge.kind is EdgeKind.DELAYED) == delayed
                )  # fmt: skip
                if targets:
                    yield self._line(2, f"{vertex} {arrow} {', '.join(targets)}")

    def _definition(self, definition: Definition) -> Iterator[str]:
        values = [value for value in definition.values if value != "true"]
        of = f" of {', '.join(definition.values)}" if values else ""
        kind = definition.kind if definition.kind == "event" else f"{definition.kind} fluent"
        yield self._line(2, f"{definition.relation}, {kind}{of}{_ending(definition)}")
        yield self._line(3, self._verdicts[definition.relation])
        for grounding in definition.groundings:
            goals = ", ".join(show(goal) for goal in grounding.goals) or "true"
            yield self._line(3, f"Restrict {grounding.entity} to {goals}", grounding.span)
        for rule in definition.rules:
            yield from self._rule(rule)

    # -- rules ------------------------------------------------------------------------------

    def _rule(self, rule: RulePlan) -> Iterator[str]:
        if isinstance(rule, PointRule):
            open_ = f" for all {', '.join(rule.open_variables)}" if rule.open_variables else ""
            yield self._line(3, f"{rule.kind} {rule.head}{open_}", rule.span)
            yield from self._steps(4, rule.steps)
        elif isinstance(rule, IntervalRule):
            yield self._line(3, f"intervals {rule.head} = {rule.output}", rule.span)
            yield from self._steps(4, rule.steps)
        elif isinstance(rule, InitialPoints):
            yield self._line(3, f"initially {rule.head}", rule.span)
            yield from self._steps(4, rule.steps)
        elif isinstance(rule, Delay):
            yield self._line(3, _delay(rule), rule.span)
        else:
            yield self._line(3, f"pattern {rule.head}, {rule.consumption}", rule.span)
            yield from self._part(4, rule.part)

    def _steps(
        self, depth: int, steps: Sequence[PointOperator] | Sequence[IntervalOperator]
    ) -> Iterator[str]:
        for step in steps:
            yield self._line(depth, _describe(step), step.span)
            if isinstance(step, Branches):
                for branch in step.branches:
                    yield self._line(depth + 1, "branch")
                    yield from self._steps(depth + 2, branch)
            elif isinstance(step, (Except, Aggregate)):
                yield from self._steps(depth + 1, step.body)

    # -- patterns ---------------------------------------------------------------------------

    def _part(self, depth: int, part: StepUse) -> Iterator[str]:
        """A step from the outside in, by the names its variables have where it is used.

        A step that several rules have is numbered, and shown once.
        """
        step, called = part.step, dict(zip(part.step.names, part.names, strict=True))
        number = self._numbers.get(id(step))
        if number in self._shown:
            yield self._line(depth, f"step {number} again{_names('on', part.names)}", step.span)
            return
        mark = f", step {number}" if number else ""
        if number:
            self._shown.add(number)
        yield self._line(depth, f"{title(step, called)}{mark}", step.span)
        for around in arounds(step):
            yield from self._around(depth + 1, around, called)
        for below in parts_below(step):
            names = tuple(called.get(name, name) for name in below.names)
            yield from self._part(depth + 1, replace(below, names=names))
        for around in absence(step):
            yield from self._around(depth + 2, around, called)

    def _around(self, depth: int, around: Around, called: dict[str, str]) -> Iterator[str]:
        if isinstance(around, Longest):
            yield self._line(depth, f"Within {show(renamed(around.duration, called))}")
        elif isinstance(around, Slide):
            yield self._line(depth, _slide(in_words(around, called)))
        else:
            yield from self._steps(depth, in_words(around.steps, called))

    # -- properties -------------------------------------------------------------------------

    def _properties(self) -> Iterator[str]:
        sentences = list(describe_properties(self._plan))
        if sentences:
            yield "properties"
            yield from (self._line(1, sentence) for sentence in sentences)
            yield ""

    # -- background -------------------------------------------------------------------------

    def _background(self) -> Iterator[str]:
        predicates = self._plan.knowledge.predicates
        if not predicates:
            return
        yield "background"
        for (name, arity), predicate in sorted(predicates.items()):
            text = f"{name}/{arity} {predicate.route}: {predicate.reason}"
            span = predicate.clauses[0].head.span if predicate.clauses else None
            yield self._line(1, text, span)


_WAYS = {
    SweepWay.LANE: "fits a lane",
    SweepWay.LIST: "fits lists",
    SweepWay.LINKED: "fits lists of linked keys",
    SweepWay.LINKED_LANE: "is walked over linked instances",
    SweepWay.COLUMNS: "stays with columns",
}


def _in_words(verdict: Verdict) -> str:
    """Whether a definition fits one walk in time, and why not if it does not."""
    if verdict.way is SweepWay.LANE:
        register = ", with a register for its value" if verdict.has_register else ""
        gate = "; a lane of another key says which records count" if verdict.has_gate else ""
        return f"{_WAYS[verdict.way]}{register}{gate}"
    return f"{_WAYS[verdict.way]}{f': {verdict.reason}' if verdict.reason else ''}"


def _matches(plan: Plan) -> Iterator[Step]:
    """The outermost steps of all patterns."""
    strata = (stratum for stage in plan.stages for stratum in stage.strata)
    for definition in (each for stratum in strata for each in stratum.definitions):
        yield from (rule.part.step for rule in definition.rules if isinstance(rule, Match))


def _slide(around: Slide) -> str:
    of = "" if around.value is None else f" of {show(around.value)}"
    window = "all so far"
    if around.last is not None:
        window = f"the last {around.last}"
    elif around.past is not None:
        window = f"the past {around.past}"
    return f"Slide {around.result} = {around.kind}{of}{_names('for each', around.key)} in {window}"


def _ending(definition: Definition) -> str:
    """Which values end others, where some do not."""
    if definition.ending_values is None:
        return ""
    values = ", ".join(map(show, definition.ending_values))
    return f"; only initiations of {values} end others" if values else "; no value ends others"


def _delay(rule: Delay) -> str:
    effect = rule.effect
    then = f"-> {effect.target}" if effect.target else "ends"
    until = " until it is due" * any(each.until_due for each in rule.moved_by)
    moved = f", moved by each initiation{until}{_of_some(rule.moved_by)}" if rule.moved_by else ""
    computed = f" where {', '.join(map(show, effect.goals))}" if effect.goals else ""
    return f"Delay {effect.source} {then} after {show(effect.delay)}{computed}{moved}"


def _of_some(moved_by: tuple[Postponable, ...]) -> str:
    """Of which instances, if not of all."""
    if any(each.is_of_all for each in moved_by):
        return ""
    pairs = [f"{p.pair}" + (f" where {', '.join(map(show, p.goals))}" if p.goals else "")
             for p in moved_by]  # fmt: skip
    return f" of {' or '.join(pairs)}"


def _occurrence(occurrence: Occurrence) -> str:
    if isinstance(occurrence, Event):
        return str(occurrence)
    if isinstance(occurrence, Boundary):
        return f"{occurrence.edge}({occurrence.pair})"
    assert isinstance(occurrence, Changes)
    word = "initiation" if occurrence.initiates else "termination"
    return f"{word} of {occurrence.pair}"


def _names(prefix: str, names: Iterable[str]) -> str:
    joined = ", ".join(names)
    return f" {prefix} {joined}" if joined else ""


def _describe(step: PointOperator | IntervalOperator) -> str:
    """One operator on one line: its name, what it is about, and what it joins on or binds."""
    if isinstance(step, (Scan, EventJoin, EventAntiJoin)):
        on = _names("on", step.on) if isinstance(step, EventJoin) else ""
        return f"{type(step).__name__} {_occurrence(step.occurrence)}{on}"
    if isinstance(step, Stab):
        return f"Stab {step.pair}{_names('binding', step.binds)}"
    if isinstance(step, AntiStab):
        return f"AntiStab {step.pair}"
    if isinstance(step, Filter):
        return f"Filter {'not ' if step.negated else ''}{show(step.condition)}"
    if isinstance(step, Compute):
        return f"Compute {step.variable} = {show(step.expression)}"
    if isinstance(step, Lookup):
        return f"Lookup {show(step.goal)}{_names('on', step.on)}{_names('binding', step.binds)}"
    if isinstance(step, Exclude):
        return f"Exclude {show(step.goal)}"
    if isinstance(step, Resolve):
        negated = "not " if step.negated else ""
        return f"Resolve {negated}{show(step.goal)}{_names('binding', step.binds)}"
    if isinstance(step, Aggregate):
        return f"Aggregate {step.kind} {show(step.template)} into {show(step.result)}"
    if isinstance(step, Fetch):
        return f"{step.output} = Fetch {step.pair}"
    if isinstance(step, Combine):
        parameters = "".join(f", {show(parameter)}" for parameter in step.parameters)
        return f"{step.output} = {_SETS[step.operator]}({', '.join(step.inputs)}{parameters})"
    if isinstance(step, Require):
        return f"Require {step.intervals}{' = []' if step.negated else ''}"
    return type(step).__name__
