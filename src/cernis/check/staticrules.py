"""Rules over intervals: the bodies of holdsFor."""

from __future__ import annotations

from dataclasses import dataclass, field

from cernis.check.clause_parts import pair_of
from cernis.check.model import (
    Condition,
    HoldsFor,
    IntervalFilter,
    IntervalOperation,
    NotEmpty,
    Pair,
    StaticLiteral,
    StaticRule,
)
from cernis.check.pointrules import TEMPORAL
from cernis.check.reporter import Report
from cernis.errors import Note
from cernis.source import Span
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Sequence,
    Term,
    Variable,
    conjuncts,
    functor,
    variables,
)

ALLEN_RELATIONS = ("before", "meets", "starts", "finishes", "during", "overlaps", "equal")
ALLEN_MODES = ("source", "target", "union", "intersect", "complement", "complement_inv")
OTHER_NAMES_OF_MODES = {
    "lhs": "source",
    "rhs": "target",
    "intersection": "intersect",
    "relative_complement": "complement",
    "relative_complement_inverse": "complement_inv",
}
"""What RTEC calls the modes."""

_LISTS = frozenset({("union_all", 2), ("intersect_all", 2), ("complement_all", 2)})
_DURATIONS = frozenset({("intDurGreater", 3), ("intDurLess", 3)})
_EMPTY = Atom("[]")


def lower_static(clause: Clause, pair: Pair, output: Term, report: Report) -> StaticRule | None:
    """A rule for the intervals of a pair; None if it cannot be understood."""
    if not isinstance(output, Variable) or output.name == "_":
        report.error(
            "C062", f"the intervals of a rule must be a variable, not {show(output)}", output.span,
            help="write I and compute it in the body",
        )  # fmt: skip
        return None
    body = _StaticBody(report)
    for goal in clause.body:
        body.goal(goal)
    if body.failed:
        return None
    _ends_are_local(body, pair, report)
    name = body.alias(output.name)
    if name not in body.known:
        report.error(
            "C061", f"the body does not compute the intervals {output.name}", output.span,
            help=f"let the last goal give {output.name}",
        )  # fmt: skip
        return None
    return StaticRule(pair, tuple(body.literals), name, clause.span, body.cut)


def _ends_are_local(body: _StaticBody, pair: Pair, report: Report) -> None:
    """The names of starts and ends of intervals stand for nothing else in the rule."""
    terms: list[Term] = [*pair.args, pair.value]
    for literal in body.literals:
        if isinstance(literal, HoldsFor):
            terms += [*literal.pair.args, literal.pair.value]
        elif isinstance(literal, Condition):
            terms.append(literal.goal)
    used = {variable.name for term in terms for variable in variables(term)}
    for literal in body.literals:
        if isinstance(literal, IntervalOperation) and literal.filter is not None:
            for name in sorted(literal.filter.bounds & used):
                report.error("C061", f"{name} is an end of an interval, and stands outside of "
                             "findall, too", literal.span, help="use another name")  # fmt: skip


@dataclass(slots=True)
class _StaticBody:
    """Lowers goals one by one, keeping track of the lists of intervals computed so far."""

    report: Report
    literals: list[StaticLiteral] = field(default_factory=list)
    known: dict[str, Span] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    cut: int | None = None

    def alias(self, name: str) -> str:
        """The name a list of intervals was first given."""
        while name in self.aliases:
            name = self.aliases[name]
        return name

    def goal(self, goal: Term) -> None:
        """Add one goal of the body."""
        name = functor(goal)
        if goal == Atom("!"):
            self.cut = len(self.literals)
        if goal in (Atom("!"), Atom("true")):
            return
        if name == ("holdsFor", 2):
            self._holds_for(goal)
        elif name in _LISTS:
            self._operation(goal, self._list(_args(goal)[0]))
        elif name == ("relative_complement_all", 3):
            first, rest, _ = _args(goal)
            self._operation(goal, (*self._input(first), *self._list(rest)))
        elif name in _DURATIONS:
            first, duration, _ = _args(goal)
            self._operation(goal, self._input(first), (duration,))
        elif name == ("allen", 5) or (name[0] in ALLEN_RELATIONS and name[1] == 4):
            self._allen(goal)
        elif name == ("findall", 3) and self._lists_in(goal):
            self._filter(goal)
        elif not self._about_emptiness(goal):
            self._condition(goal)

    def _holds_for(self, goal: Term) -> None:
        target, output = _args(goal)
        pair = pair_of(target, self.report, "holdsFor")
        name = self._output(output)
        if pair is None or name is None:
            self.failed = True
            return
        self.literals.append(HoldsFor(pair, name, goal.span))

    def _operation(
        self, goal: Term, inputs: tuple[str, ...], parameters: tuple[Term, ...] = ()
    ) -> None:
        name = self._output(_args(goal)[-1])
        if name is not None:
            self.literals.append(
                IntervalOperation(functor(goal)[0], inputs, name, parameters, goal.span)
            )

    def _allen(self, goal: Term) -> None:
        args = _args(goal)
        relation: Term = args[0] if len(args) == 5 else Atom(functor(goal)[0], goal.span)
        source, target, mode, output = args[-4:]
        mode = _mode(mode)
        for term, allowed, noun in (
            (relation, ALLEN_RELATIONS, "relation between intervals"),
            (mode, ALLEN_MODES, "mode of output"),
        ):
            if functor(term) not in {(name, 0) for name in allowed}:
                self._fail("C061", f"{show(term)} is no {noun}", term.span,
                           f"there are {', '.join(allowed)}")  # fmt: skip
        inputs = (*self._input(source), *self._input(target))
        name = self._output(output)
        if name is not None and not self.failed:
            self.literals.append(
                IntervalOperation("allen", inputs, name, (relation, mode), goal.span)
            )

    def _lists_in(self, term: Term) -> list[Variable]:
        """The variables of a term that are lists of intervals."""
        return [each for each in variables(term) if self.alias(each.name) in self.known]

    def _filter(self, goal: Term) -> None:
        """`findall((S, E), (member((S, E), I0), Conditions), I)`: some intervals of a list."""
        template, body, output = _args(goal)
        goals = list(conjuncts(body))
        members = [each for each in goals if functor(each) == ("member", 2)]
        chosen = [each for each in members if self._lists_in(_args(each)[1])]
        bounds = _args(template) if functor(template) == (",", 2) else ()
        names = [each.name for each in bounds if isinstance(each, Variable)]
        if len(chosen) != 1 or len(set(names)) != 2 or _args(chosen[0])[0] != template:
            self._fail(
                "C061", "findall over a list of intervals picks some of them", goal.span,
                "write findall((S, E), (member((S, E), I0), Conditions), I)",
            )  # fmt: skip
            return
        inputs = self._input(_args(chosen[0])[1])
        conditions = [self._plain(each) for each in goals if each is not chosen[0]]
        name = self._output(output)
        if name is not None and not self.failed:
            kept = tuple(each for each in conditions if each is not None)
            picks = IntervalFilter(names[0], names[1], kept)
            self.literals.append(IntervalOperation("findall", inputs, name, (), goal.span, picks))

    def _about_emptiness(self, goal: Term) -> bool:
        r"""`I \= []` in its spellings; also `I = J`, which gives a list a second name."""
        name = functor(goal)
        negated = name in (("\\+", 1), ("not", 1))
        inner = _args(goal)[0] if negated else goal
        operator, arity = functor(inner)
        wanted = ("=", "==") if negated else ("\\=", "\\==")
        if arity != 2 or operator not in (*wanted, "="):
            return False
        left, right = _args(inner)
        if operator in wanted and _EMPTY in (left, right):
            list_ = right if left == _EMPTY else left
            for list_name in self._input(list_):
                self.literals.append(NotEmpty(list_name, goal.span))
            return True
        return operator == "=" and not negated and self._second_name(left, right)

    def _second_name(self, left: Term, right: Term) -> bool:
        for new, old in ((left, right), (right, left)):
            if (
                isinstance(new, Variable) and isinstance(old, Variable)
                and self.alias(old.name) in self.known and self.alias(new.name) not in self.known
            ):  # fmt: skip
                self.aliases[new.name] = old.name
                return True
        return False

    def _condition(self, goal: Term) -> None:
        condition = self._plain(goal)
        if condition is not None:
            self.literals.append(condition)

    def _plain(self, goal: Term) -> Condition | None:
        """A goal that is about neither time nor lists of intervals."""
        negated = functor(goal) in (("\\+", 1), ("not", 1))
        inner = _args(goal)[0] if negated else goal
        if functor(inner) in TEMPORAL:
            self._fail("C060", "this rule speaks of intervals, and not of time-points", goal.span,
                       "use holdsFor(F=V, I) and the operations on intervals")  # fmt: skip
            return None
        if functor(inner) == ("holdsFor", 2):
            self._fail("C060", "holdsFor cannot be negated", goal.span,
                       "a list of intervals may be empty; take it away with "
                       "relative_complement_all")  # fmt: skip
            return None
        for variable in self._lists_in(inner):
            self._fail(
                "C061", f"{variable.name} is a list of intervals, and no condition can be "
                "about it", variable.span, "use the operations on intervals",
            )  # fmt: skip
            return None
        return Condition(inner, negated, goal.span)

    def _list(self, term: Term) -> tuple[str, ...]:
        if term == _EMPTY:
            return ()
        if isinstance(term, Sequence) and term.tail is None:
            return tuple(name for item in term.items for name in self._input(item))
        self._fail("C061", f"a list of lists of intervals is expected, not {show(term)}",
                   term.span, "write [I1, I2]")  # fmt: skip
        return ()

    def _input(self, term: Term) -> tuple[str, ...]:
        """The list of intervals a term names; nothing for `[]`, which adds nothing."""
        if isinstance(term, Variable) and self.alias(term.name) in self.known:
            return (self.alias(term.name),)
        if isinstance(term, Variable):
            message = f"no goal before this one computes the intervals {term.name}"
            self._fail("C061", message, term.span, "goals of a holdsFor rule run in their order")
        elif term != _EMPTY:
            self._fail("C061", f"{show(term)} is no list of intervals", term.span,
                       "name the result of a goal before this one")  # fmt: skip
        return ()

    def _output(self, term: Term) -> str | None:
        if not isinstance(term, Variable):
            self._fail("C061", f"the result must be a new variable, not {show(term)}", term.span,
                       "to ask for a result, compute it and write I \\= []")  # fmt: skip
            return None
        name = f"_{term.span[0]}" if term.name == "_" else term.name
        if name in self.known:
            self._fail("C061", f"{name} is computed already", term.span, "use another name",
                       Note("here", self.known[name]))  # fmt: skip
            return None
        self.known[name] = term.span
        return name

    def _fail(self, code: str, message: str, span: Span, help_: str, *notes: Note) -> None:
        self.failed = True
        self.report.error(code, message, span, *notes, help=help_)


def _mode(term: Term) -> Term:
    """A mode of output under the name that the engine knows."""
    if isinstance(term, Atom):
        return Atom(OTHER_NAMES_OF_MODES.get(term.name, term.name), term.span)
    return term


def _args(goal: Term) -> tuple[Term, ...]:
    assert isinstance(goal, Compound)
    return goal.args
