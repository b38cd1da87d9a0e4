"""Facts that are valid for a time: what a rule looks up is what is valid when the rule fires.

| directive | facts of `price/3` or `price/4` are valid |
| --- | --- |
| `:- valid(price(X, P, From), From).` | from their time on |
| `:- valid(price(X, P, From, Until), From, Until).` | from one time to before another |
| `:- valid(price(X, P, From), From, by(X)).` | until the next of the same X is |

Rules ask for `price(X, P)`. Each such goal becomes `'price at'(X, P, T)`, T being the time of the
rule, and the end of the match in a pattern; so does each goal whose predicate rests on one. The
facts become a table of their own, with both times. All later passes see plain predicates only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cernis.check.model import Relation, Validity
from cernis.check.reporter import Report
from cernis.check.rewrites.rewriting import with_parts
from cernis.errors import KnowledgeError
from cernis.knowledge.fact_tables import FactTable, table_of_facts, table_of_rows
from cernis.knowledge.ground_values import Row, Value
from cernis.syntax.printer import show
from cernis.syntax.time_scale import FinerThanUnit, TimeScale
from cernis.syntax.tree import (
    Clause,
    Compound,
    Directive,
    Item,
    Pattern,
    PatternRule,
    Term,
    Variable,
    Where,
    functor,
)

START: Final = "<start>"
END: Final = "<end>"
"""The variables that stand for the times of a match in the conditions of a pattern."""

FOREVER: Final = (1 << 63) - 1

_TIMES: Final = {
    ("initiatedAt", 2): 1, ("terminatedAt", 2): 1, ("happensAt", 2): 1, ("initiatedAt", 4): 2,
    ("terminatedAt", 4): 2, ("initiates", 3): 2, ("terminates", 3): 2,
}  # fmt: skip
_TIMELESS: Final = frozenset({
    ("holdsFor", 2), ("initially", 1), ("grounding", 1), ("fi", 3), ("ft", 2), ("p", 1),
    ("iff", 2),
})  # fmt: skip
_GOALS: Final[Mapping[tuple[str, int], tuple[int, ...]]] = {
    (",", 2): (0, 1), (";", 2): (0, 1), ("->", 2): (0, 1), ("\\+", 1): (0,), ("not", 1): (0,),
    ("once", 1): (0,), ("ignore", 1): (0,), ("call", 1): (0,), ("forall", 2): (0, 1),
    ("findall", 3): (1,), ("findall", 4): (1,), ("aggregate_all", 3): (1,), ("bagof", 3): (1,),
    ("setof", 3): (1,),
}  # fmt: skip
"""Which arguments of a goal are goals."""


def validity_of(goal: Compound) -> Validity | str:
    """What a directive says of facts, or what is wrong with it."""
    subject, since, *rest = goal.args
    if not isinstance(subject, Compound) or not all(isinstance(a, Variable) for a in subject.args):
        return "what is valid is a predicate with a variable for each argument"
    names = [arg.name for arg in subject.args if isinstance(arg, Variable)]
    until: int | None = None
    by: tuple[int, ...] = ()
    try:
        begin = _place(since, names)
        if rest and isinstance(rest[0], Compound) and rest[0].functor == "by":
            by = tuple(_place(arg, names) for arg in rest[0].args)
        elif rest:
            until = _place(rest[0], names)
    except ValueError as error:
        return f"{error} is no argument of {show(subject)}"
    left = tuple(position for position in range(len(names)) if position not in (begin, until))
    facts = Relation(subject.functor, len(names))
    return Validity(facts, left, begin, until, by, goal.span, tuple(names))


def _place(term: Term, names: list[str]) -> int:
    if not isinstance(term, Variable) or term.name not in names or term.name == "_":
        raise ValueError(show(term))
    return names.index(term.name)


# -- goals that are looked up at a time ------------------------------------------------------


def look_up_in_time(items: Iterable[Item], report: Report) -> tuple[Item, ...]:
    """The program with the time of its rules in all goals that rest on facts valid for a time."""
    clauses = tuple(items)
    validities = [validity for item in clauses for validity in _declared(item)]
    if not validities:
        return clauses
    timing = _Timing(report, {validity.looked_up for validity in validities})
    timing.spread(item for item in clauses if isinstance(item, Clause))
    made = [_definition(validity) for validity in validities]
    return (*(new for item in clauses for new in timing.item(item)), *made)


def _declared(item: Item) -> Iterator[Validity]:
    if isinstance(item, Directive) and functor(item.goal) in (("valid", 2), ("valid", 3)):
        assert isinstance(item.goal, Compound)
        validity = validity_of(item.goal)
        if isinstance(validity, Validity):
            yield validity


def _definition(validity: Validity) -> Clause:
    """`'price at'(X, P, T) :- 'price valid'(X, P, From, Until), From =< T, T < Until.`"""
    span = validity.span
    args = tuple(Variable(f"A{number}", span) for number in range(len(validity.arguments)))
    time, since, until = (Variable(name, span) for name in ("T", "From", "Until"))
    table = Compound(validity.table.name, (*args, since, until), span)
    bounds = (Compound("=<", (since, time), span), Compound("<", (time, until), span))
    head = Compound(_at(validity.looked_up), (*args, time), span)
    return Clause(head, (table, *bounds), None, span)


def _at(relation: Relation) -> str:
    return f"{relation.name} at"


@dataclass(slots=True)
class _Timing:
    """Gives goals their times."""

    report: Report
    timed: set[Relation]
    looked_up: frozenset[Relation] = field(init=False)

    def __post_init__(self) -> None:
        self.looked_up = frozenset(self.timed)

    def spread(self, clauses: Iterable[Clause]) -> None:
        """Find the predicates that rest on what is looked up in time."""
        left = [c for c in clauses if c.body and functor(c.head) not in {*_TIMES, *_TIMELESS}]
        before = -1
        while len(self.timed) > before:
            before = len(self.timed)
            self.timed |= {
                Relation(*functor(c.head)) for c in left if any(map(self._rests, c.body))
            }

    def _rests(self, goal: Term) -> bool:
        if Relation(*functor(goal)) in self.timed:
            return True
        places = _GOALS.get(functor(goal), ())
        return any(self._rests(goal.args[place]) for place in places)  # type: ignore[union-attr]

    def item(self, item: Item) -> Iterator[Item]:
        """What an item is written as."""
        if isinstance(item, PatternRule):
            yield replace(item, pattern=self._pattern(item.pattern))
        elif not isinstance(item, Clause):
            yield item
        elif Relation(*functor(item.head)) in self.looked_up:
            self._refuse(item.head, "is looked up among facts with a time, and cannot be defined")
        elif functor(item.head) in _TIMES:
            assert isinstance(item.head, Compound)
            time = item.head.args[_TIMES[functor(item.head)]]
            yield replace(item, body=tuple(self._goal(goal, time) for goal in item.body))
        elif Relation(*functor(item.head)) in self.timed:
            time = Variable("<time>", item.span)
            head = self._goal(item.head, time)
            yield replace(item, head=head, body=tuple(self._goal(g, time) for g in item.body))
        elif any(map(self._rests, item.body)):
            goal = next(goal for goal in item.body if self._rests(goal))
            self._refuse(goal, "is valid for a time, and this rule has no time to look it up at")
        else:
            yield item

    def _refuse(self, goal: Term, reason: str) -> None:
        self.report.error(
            "C060", f"{show(goal)} {reason}", goal.span,
            help="look it up in a rule over time-points: initiatedAt, terminatedAt or happensAt",
        )  # fmt: skip

    def _goal(self, goal: Term, time: Term) -> Term:
        relation = Relation(*functor(goal))
        args = goal.args if isinstance(goal, Compound) else ()
        if relation in self.timed:
            return Compound(_at(relation), (*args, time), goal.span)
        places = _GOALS.get(functor(goal))
        if places is None or not isinstance(goal, Compound):
            return goal
        new = (self._goal(arg, time) if place in places else arg for place, arg in enumerate(args))
        return replace(goal, args=tuple(new))

    def _pattern(self, pattern: Pattern) -> Pattern:
        if isinstance(pattern, Where):
            time = Variable(END, pattern.span)
            conditions = tuple(self._goal(goal, time) for goal in pattern.conditions)
            return replace(pattern, pattern=self._pattern(pattern.pattern), conditions=conditions)
        return with_parts(pattern, self._pattern)


# -- tables ----------------------------------------------------------------------------------


def valid_tables(
    validities: Sequence[Validity], clauses: Mapping[Relation, list[Clause]],
    tables: Mapping[Relation, FactTable], report: Report, scale: TimeScale,
) -> dict[Relation, FactTable]:  # fmt: skip
    """The facts with the times from which and until which they are valid."""
    valid_facts = {}
    for validity in validities:
        rows: list[Row] = []
        try:
            rows = list(_valid(validity, _facts(validity, clauses, tables), scale))
        except (KnowledgeError, ValueError) as error:
            report.error("C064", str(error), validity.span,
                         help="give facts with whole numbers or dates as their times")  # fmt: skip
        table = validity.table
        valid_facts[table] = table_of_rows((table.name, table.arity), rows)
    return valid_facts


def _facts(
    validity: Validity, clauses: Mapping[Relation, list[Clause]],
    tables: Mapping[Relation, FactTable],
) -> FactTable:  # fmt: skip
    relation = validity.facts
    if relation in tables:
        return tables[relation]
    defining = clauses.get(relation, [])
    if any(clause.body for clause in defining):
        raise ValueError(f"{relation} is valid for a time, and is defined by a rule")
    return table_of_facts((relation.name, relation.arity), defining)


def _valid(validity: Validity, facts: FactTable, scale: TimeScale) -> Iterator[Row]:
    rows = list(facts.rows())
    begins = [_time(row[validity.since], row, validity, scale) for row in rows]
    ends = [FOREVER] * len(rows)
    if validity.until is not None:
        ends = [_time(row[validity.until], row, validity, scale) for row in rows]
    elif validity.by:
        ends = _next([tuple(row[position] for position in validity.by) for row in rows], begins)
    for row, begin, end in zip(rows, begins, ends, strict=True):
        yield (*(row[position] for position in validity.arguments), begin, end)


def _time(value: Value, row: Row, validity: Validity, scale: TimeScale) -> int:
    if value in ("inf", float("inf")):
        return FOREVER
    if isinstance(value, (int, float)) and value == int(value):
        return int(value)
    nanoseconds = scale.written(value.strip()) if isinstance(value, str) else None
    try:
        if nanoseconds is not None:
            return scale.point(nanoseconds, value)
    except FinerThanUnit as error:
        raise ValueError(f"{validity.facts.name}: {error}") from None
    shown = ", ".join(map(str, row))
    raise ValueError(f"{validity.facts.name}({shown}): {value} is no time-point")


def _next(keys: list[Row], begins: list[int]) -> list[int]:
    """When the next of the same key begins that does not begin together with it."""
    later: dict[Row, list[int]] = {}
    for key, begin in zip(keys, begins, strict=True):
        later.setdefault(key, []).append(begin)
    following: dict[tuple[Row, int], int] = {}
    for key, later_begins in later.items():
        times = sorted(set(later_begins))
        following |= {(key, t): n for t, n in zip(times, [*times[1:], FOREVER], strict=True)}
    return [following[key, begin] for key, begin in zip(keys, begins, strict=True)]
