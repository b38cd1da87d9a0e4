"""The answers of lanes and of the engine to the same records, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from cernis.answers.result import as_text
from cernis.check.model import Relation, flatten
from cernis.evaluate.run import Run
from cernis.knowledge.ground_values import canonical, term_of
from cernis.plan.builder import Plan
from cernis.plan.sweep.lanes import SweepWay, is_gate, is_hidden
from cernis.program import Program
from cernis.records.record_sources import read_events
from cernis.syntax import parse
from cernis.syntax.printer import show
from cernis.syntax.tree import Clause, Compound, Item, Term
from tests.plan.sweep.lane_interpreter import InputEvent, LaneInterpreter, PairOfKey, event_of
from tests.plan.sweep.list_interpreter import ListInterpreter, as_spans
from tests.reference.domain import Domain
from tests.reference.evaluate import Settings, run_bounds
from tests.reference.intervals import Intervals
from tests.reference.memory import Memory, Window, memory_at, sort_records
from tests.reference.program import Program as ReferenceProgram
from tests.reference.program import read_program
from tests.reference.records import read_records
from tests.reference.solve import Solver

Answers = dict[str, str]
"""For each pair or event: its intervals or points, as text."""


@dataclass(frozen=True)
class WholeRun:
    """All records of a text, and the bounds of a run over them."""

    events: tuple[InputEvent, ...]
    start: int
    end: int
    fluents: dict[PairOfKey, Intervals]
    """The intervals of input fluents."""
    solver: Solver
    """Answers goals; it knows the members of dynamic domains when all is seen."""
    tick: int
    ties: str


def read_run(
    program: Program, items: list[Item], text: str, settings: Settings | None = None
) -> WholeRun:
    """The run of a program over a text in one window. Records that are equal count once."""
    known = read_program(items)
    settings = settings or Settings()
    read = read_records(text, known).records
    tick, ties = settings.tick or known.tick, settings.ties or known.ties
    start, end = run_bounds(read, settings, tick)
    window = Window(start, end)
    memory = memory_at(sort_records(read, start, [window], tick).counted, window, tick)
    events = [event_of(time, term) for time, terms in memory.events.items() for term in terms]
    fluents = {_pair(pair): intervals for pair, intervals in memory.fluents.items()}
    return WholeRun(tuple(events), start, end, fluents, _solver(program, known, memory), tick, ties)


def _pair(term: Term) -> PairOfKey:
    assert isinstance(term, Compound)
    relation, args = flatten(term.args[0])
    return relation, tuple(map(canonical, args)), canonical(term.args[1])


def _solver(program: Program, known: ReferenceProgram, memory: Memory) -> Solver:
    knowledge = program.plan.knowledge
    in_time = [
        Clause(Compound(key[0], tuple(map(term_of, row))))
        for key in knowledge.predicates if key[0].endswith(" valid")
        for row in knowledge.table(*key).rows()
    ]  # fmt: skip
    return Solver([*known.background, *Domain(known, memory.told).facts, *in_time])


def by_sweep(program: Program, run: WholeRun) -> Answers:
    """What the lanes and lists of a program give."""
    plan = program.plan
    answers: Answers = {}
    hidden = plan.checked.definitions.auxiliary
    held: dict[PairOfKey, Intervals] = dict(run.fluents)
    for swept in plan.sweep:
        for lane in swept.lanes:
            if lane.asked_gates:
                continue
            lane = replace(lane, tick=run.tick, ties=run.ties)
            walk = LaneInterpreter(lane, run.solver, run.start, run.end)
            walk.run(run.events, run.fluents)
            held |= {
                pair: [(start, inf if end is None else end) for start, end in intervals]
                for pair, intervals in walk.intervals.items()
            }
            for (relation, args), points in walk.happened.items():
                if relation not in hidden:
                    answers[_name(relation, args)] = str(points)
        for listed in swept.lists:
            lists = ListInterpreter(listed, run.solver, run.start, run.end, run.tick)
            held |= lists.run(held)
    of_members = _of_members(program.plan)
    for (relation, args, value), intervals in held.items():
        if (
            relation not in hidden
            and not is_hidden(relation)
            and not is_gate(relation)
            and relation not in of_members
            and (relation, args, value) not in run.fluents
        ):
            answers[_name(relation, (*args, value))] = str(as_spans(intervals))
    return answers


def _of_members(plan: Plan) -> set[Relation]:
    """The fluents of which lanes do not write out the members."""
    return {each.relation for lane in plan.lanes for each in lane.head_members}


def _name(relation: Relation, terms: Sequence[Term]) -> str:
    return f"{relation} {', '.join(map(show, terms))}"


class _WalkedRun(Run):
    """A run that walks what it can, also where columns are evaluated above."""

    @property
    def may_walk(self) -> bool:
        return True


class _ColumnsRun(Run):
    """A run that walks nothing."""

    @property
    def may_walk(self) -> bool:
        return False


def by_engine(program: Program, text: str, run: WholeRun, may_walk: bool = False) -> Answers:
    """What the engine gives for the definitions that are in the sweep: by columns, or by walks."""
    plan = program.plan
    in_sweep = {
        verdict.relation
        for swept in program.plan.sweep
        for verdict in swept.verdicts
        if verdict.way not in (SweepWay.COLUMNS, SweepWay.LINKED_LANE) and not verdict.has_gate
    }
    kind = _WalkedRun if may_walk else _ColumnsRun
    records = read_events(text.splitlines(), plan.checked)
    answer = kind(plan, run.tick, run.ties).over(records, run.start, run.end)
    answers: Answers = {}
    for item in parse(as_text(answer)).items:
        assert isinstance(item, Clause)
        head = item.head
        assert isinstance(head, Compound)
        relation, terms = _entity(head)
        if relation in in_sweep - _of_members(plan):
            answers[_name(relation, terms)] = str(_times(head.args[1]))
    return answers


def _entity(head: Compound) -> tuple[Relation, list[Term]]:
    entity = head.args[0]
    if head.functor == "happensAt":
        relation, args = flatten(entity)
        return relation, list(map(canonical, args))
    assert isinstance(entity, Compound)
    relation, args = flatten(entity.args[0])
    return relation, [*map(canonical, args), canonical(entity.args[1])]


def _times(term: Term) -> list[object]:
    return [_time(item) for item in getattr(term, "items", ())]


def _time(term: Term) -> object:
    if isinstance(term, Compound):
        return tuple(map(_time, term.args))
    value = getattr(term, "value", None)
    return None if value is None or value == inf else value
