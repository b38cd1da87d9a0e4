"""RTEC's own unit tests, read from its files: programs, records and the intervals it expects."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cernis
from cernis.program import Program
from cernis.syntax import parse, show
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Directive,
    Number,
    Sequence,
    Term,
    Variable,
    conjuncts,
    functor,
)
from tests.conformance.rtec import FOREVER, Intervals

FILES = (
    "RTEC_version_1", "RTEC_version_1_dg", "RTEC_version_2_cycles_deadlines",
    "cycles_deadlines_combination", "negotiation_quote_extended", "negotiation_quote_notextended",
    "voting_motion_cycles_deadlines_extended", "voting_motion_cycles_deadlines_notextended",
    "voting_motion_cycles_nodeadlines", "allen/hierarchies", "allen/maritime", "allen/personDoor",
    "allen/personDoorCombined",
)  # fmt: skip
_FROM_MINUS_ONE = ("RTEC_version_2", "cycles", "voting")
"""Files in which something is initiated at -1, so that it holds from 0."""
_RELATIONS = ("before", "meets", "starts", "finishes", "during", "overlaps", "equal")


@dataclass(frozen=True)
class Case:
    """One test: what is fed before each query, and what the pair's intervals are then."""

    kind: str
    scenario: str
    name: str
    number: float
    step: int
    window: int
    start: int
    end: int
    tick: int
    memory: int
    pair: Term
    expected: list[Intervals]
    feeds: list[tuple[int, list[tuple[object, ...]]]]


@dataclass
class TestFile:
    """A file of tests, and the rule files it is about."""

    __test__ = False

    path: Path
    rules: list[Path] = field(default_factory=list)
    _tests: list[Clause] = field(default_factory=list)
    _checks: list[Clause] = field(default_factory=list)
    _records: list[Clause] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._read(self.path)

    def _read(self, path: Path) -> None:
        for item in parse(path.read_text()).items:
            if isinstance(item, Directive) and isinstance(item.goal, Sequence):
                for each in item.goal.items:
                    self._include((path.parent / _name(each)).resolve())
            elif isinstance(item, Clause):
                name = functor(item.head)[0]
                lists = {"check": self._checks, "updateSDE": self._records}
                target = self._tests if name.startswith("testcase") else lists.get(name)
                if target is not None:
                    target.append(item)

    def _include(self, path: Path) -> None:
        if re.search("event_stream|narrative", str(path)):
            self._read(path)
        elif not re.search(r"unit_tester|timeoutTreatment|RTEC-tests/\.\.|/src/", str(path)):
            self.rules.append(path)

    def cases(self) -> Iterator[Case]:
        """All tests of the file."""
        for test in self._tests:
            assert isinstance(test.head, Compound)
            scenario, name, number, expected, times, *_, tick = test.head.args
            step, window, start, end = (_whole(each) for each in conjuncts(times))
            kind = test.head.functor.removeprefix("testcase") or "plain"
            own = Case(
                kind, _name(scenario), _name(name), _number(number), step, window, start, end,
                _whole(tick), _memory(test), self._pair(name, number), _lists(expected), [],
            )  # fmt: skip
            own.feeds.extend(self._feeds(own))
            yield own

    def _pair(self, name: Term, number: Term) -> Term:
        """The pair whose intervals a test asks for."""
        for check in self._checks:
            assert isinstance(check.head, Compound)
            of, which, result = check.head.args
            if of != name or not (isinstance(which, Variable) or which == number):
                continue
            goals = [goal for goal in check.body if isinstance(goal, Compound)]
            if all(_is_met(goal, _number(number)) for goal in goals):
                return next(goal.args[0] for goal in goals if goal.args[1] == result)
        raise LookupError(f"no check for {show(name)} {show(number)}")

    def _feeds(self, case: Case) -> Iterator[tuple[int, list[tuple[object, ...]]]]:
        query, first = case.start, True
        while query < case.end:
            query = min(query + case.step, case.end)
            keys: dict[str, list[int]] = {
                "plain": [], "E": [query], "SE": [query - case.window, query],
            }  # fmt: skip
            fed = first or case.kind != "plain"
            yield query, self._fed(case, keys[case.kind], query) if fed else []
            first = False

    def _fed(self, case: Case, keys: list[int], query: int) -> list[tuple[object, ...]]:
        wanted = (Atom(case.scenario), *map(Number, keys))
        for clause in self._records:
            assert isinstance(clause.head, Compound)
            if clause.head.args == wanted:
                return [_record(goal, case.kind, query) for goal in clause.body]
        return []


def _is_met(goal: Compound, number: float) -> bool:
    """Is what a check says of the number of a test true?"""
    if goal.functor == "member":
        return number in map(_number, _items(goal.args[1]))
    compare = _COMPARISONS.get(goal.functor)
    return compare is None or compare(number, _number(goal.args[1]))


_COMPARISONS = {"<": operator.lt, ">": operator.gt, ">=": operator.ge, "=<": operator.le}


# -- terms -----------------------------------------------------------------------------------


def _number(term: Term) -> float:
    assert isinstance(term, Number)
    return float(term.value)


def _name(term: Term) -> str:
    return term.name if isinstance(term, Atom) else show(term).strip("'")


def _whole(term: Term) -> int:
    assert isinstance(term, Number)
    return int(term.value)


def _time(term: Term) -> int:
    return int(term.value) if isinstance(term, Number) and abs(term.value) < FOREVER else FOREVER


def _lists(term: Term) -> list[Intervals]:
    """A list of lists of intervals."""
    items = term.items if isinstance(term, Sequence) else ()
    return [
        [(_whole(start), _time(end)) for start, end in map(conjuncts, _items(each))]
        for each in items
    ]


def _items(term: Term) -> tuple[Term, ...]:
    return tuple(term.items) if isinstance(term, Sequence) else ()


def _memory(test: Clause) -> int:
    for goal in test.body:
        inner = goal.args[0] if isinstance(goal, Compound) else goal
        if isinstance(inner, Compound) and inner.functor == "allenMemory":
            return _whole(inner.args[0])
    return 0


def _record(goal: Term, kind: str, query: int) -> tuple[object, ...]:
    """A record as cernis takes it; it arrives at the query at which a test loads it."""
    assert isinstance(goal, Compound)
    fact = goal.args[0]
    assert isinstance(fact, Compound)
    if fact.functor == "happensAtIE":
        event, time = fact.args[0], _whole(fact.args[1])
        return (functor(event)[0], time if kind == "plain" else query, time, *_values(event))
    assert isinstance(fact.args[0], Compound)
    fluent, value = fact.args[0].args
    start, end = map(_time, conjuncts(fact.args[1]))
    until = "inf" if end == FOREVER else end
    arrival = start if kind == "plain" else query
    return (functor(fluent)[0], arrival, start, until, _value(value), *_values(fluent))


def _values(term: Term) -> list[object]:
    return [_value(arg) for arg in term.args] if isinstance(term, Compound) else []


def _value(term: Term) -> object:
    return term.value if isinstance(term, Number) else _name(term)


# -- programs --------------------------------------------------------------------------------


def program_of(file: TestFile, memory: int, work: Path) -> Program:
    """The rules of a file of tests as one program, read in the dialect rtec."""
    lines = [f":- memory({memory})." if memory else ""]
    for number, path in enumerate(file.rules):
        source = path
        if path.name == "toy_rules_compiled.prolog":
            source = path.with_name("toy_rules.prolog")
        elif "compiled" in path.name:
            source = work / f"{file.path.stem}_{number}.prolog"
            source.write_text(_uncompiled(path))
        lines.append(f":- ['{source}'].")
    whole = work / f"whole_{file.path.stem}_{memory}.prolog"
    whole.write_text("\n".join(lines) + "\n")
    return cernis.load(whole)


def _uncompiled(path: Path) -> str:
    """Compiled rules with the names that goals have in source files; else as they are."""
    lines = []
    for item in parse(path.read_text()).items:
        if isinstance(item, Clause):
            body = ", ".join(show(_goal(goal)) for goal in item.body)
            head = show(_goal(item.head) if _is_static(item.head) else item.head)
            lines.append(f"{head} :- {body}." if body else f"{head}.")
    return "\n".join(lines) + "\n"


def _is_static(head: Term) -> bool:
    return functor(head)[0] == "holdsForSDFluent"


def _goal(goal: Term) -> Term:
    """Goals have an index before, and names that say where intervals are looked up."""
    if not isinstance(goal, Compound):
        return goal
    if goal.functor in (",", ";", "\\+", "not", "findall"):
        return Compound(goal.functor, tuple(map(_goal, goal.args)))
    for name in ("happensAt", "holdsAt", "holdsFor"):
        if goal.functor.startswith(name):
            return Compound(name, goal.args[-2:])
    if goal.functor in _RELATIONS and len(goal.args) == 7:
        return Compound(goal.functor, (*goal.args[2:5], goal.args[6]))
    return goal


# -- sessions --------------------------------------------------------------------------------


def answers(program: Program, case: Case, file: str) -> list[Intervals]:
    """What a session says of the pair at each query."""
    first = min(case.feeds[0][0] - case.window, case.start)
    start = max(first, -1) if file.startswith(_FROM_MINUS_ONE) else first
    session = program.session(window=case.window, step=case.step, start=start, tick=case.tick)
    found = []
    for query, records in case.feeds:
        if records:
            session.insert(records)  # type: ignore[arg-type]
        session.query(query)
        found.append(_of_pair(session.intervals().to_pylist(), case.pair))
    return found


def _of_pair(rows: list[dict[str, object]], pair: Term) -> Intervals:
    assert isinstance(pair, Compound)
    fluent, value = pair.args
    args = list(fluent.args) if isinstance(fluent, Compound) else []
    return sorted(
        (row["start"], FOREVER if row["end"] is None else row["end"])  # type: ignore[misc]
        for row in rows
        if row["fluent"] == functor(fluent)[0] and row["value"] == _name(value)
        and len(row["args"]) == len(args)  # type: ignore[arg-type]
        and all(
            isinstance(arg, Variable) or str(_value(arg)) == own
            for arg, own in zip(args, row["args"], strict=True)  # type: ignore[call-overload]
        )
    )  # fmt: skip


def visible(intervals: Intervals, query: int, case: Case) -> Intervals:
    """Without what ended before the window, which RTEC forgets; touching intervals joined."""
    found: Intervals = []
    for start, end in sorted(intervals):
        if end <= query - case.window + case.tick:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
