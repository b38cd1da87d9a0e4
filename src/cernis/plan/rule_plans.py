"""From the body of a rule to a pipeline: inlines background rules and chooses the order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from cernis.check.goal_checks import Binder, Modes, named
from cernis.check.model import (
    Boundary,
    Changes,
    Collect,
    Condition,
    Either,
    Event,
    Happens,
    Holds,
    Literal,
    Pair,
    Unless,
)
from cernis.check.pointrules import AGGREGATES
from cernis.knowledge import Knowledge, Route
from cernis.knowledge.call_graph import leaves
from cernis.knowledge.resolution.builtins import builtin
from cernis.knowledge.scope import (
    COLLECTIONS,
    GROUPING,
    asked_names,
    exposed_names,
    hidden_names,
    without_carets,
)
from cernis.knowledge.user_functions import is_function
from cernis.knowledge.zone_clock import CLOCK_RANGES
from cernis.plan.logical import (
    Aggregate,
    AntiStab,
    Branches,
    Compute,
    EventAntiJoin,
    EventJoin,
    Except,
    Exclude,
    Filter,
    Lookup,
    Occurrence,
    PointOperator,
    Resolve,
    Scan,
    Stab,
)
from cernis.source import Span
from cernis.syntax.tree import (
    Atom,
    Compound,
    Term,
    Variable,
    conjuncts,
    functor,
)
from cernis.syntax.tree import (
    Sequence as ListTerm,
)

COMPARISONS = frozenset((name, 2) for name in (
    "<", ">", "=<", ">=", "=:=", "=\\=", "@<", "@>", "@=<", "@>=", "=", "\\=", "==", "\\==",
))  # fmt: skip
"""Comparisons that are decided column by column."""

_COMPUTING = frozenset({"<", ">", "=<", ">=", "=:=", "=\\="})
"""Those that compute both sides; to all others a compound term is what it is."""

LISTS = frozenset({"findall", "bagof", "max_with", "min_with"})
"""Collections whose result depends on the order of answers."""

EXPRESSIONS = frozenset({
    "+", "-", "*", "/", "//", "div", "mod", "rem", "**", "^", "abs", "sign", "min", "max", "sqrt",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "floor", "ceiling",
    "round", "truncate", "integer", "float", "haversine", *CLOCK_RANGES,
})  # fmt: skip
"""Functions that are computed column by column."""


def is_expression(name: str) -> bool:
    """Is something of this name computed column by column, be it a function of the caller's?"""
    return name in EXPRESSIONS or is_function(name)


@dataclass(slots=True)
class AnswerOrder:
    """The order in which answers to a body come, as columns to sort them by.

    That is the order of proofs goal by goal: events and fluents in the standard order of their
    arguments, facts in the order of the text, alternatives one after the other. Literals run in
    another order, so each has a path that names its place in the text.
    """

    _numbers: Iterator[int]
    """Numbers for names that no other part of the rule has."""
    _paths: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _literals: list[Literal] = field(default_factory=list)
    _columns: list[tuple[tuple[int, ...], str]] = field(default_factory=list)

    def enter(self, body: list[Literal], path: tuple[int, ...] = ()) -> list[Literal]:
        """Literals in the order of the text; what they leave unnamed gets names to sort by."""
        entered = [self._named(literal) for literal in body]
        for place, literal in enumerate(entered):
            self._paths[id(literal)] = (*path, place)
        # Kept, so that their identities stay theirs.
        self._literals += entered
        return entered

    def replace(self, literal: Literal, by: list[Literal]) -> list[Literal]:
        """Literals in the place of one."""
        return self.enter(by, self._paths[id(literal)])

    def rank(self, literal: Literal) -> str:
        """The name of a column with the number of an answer to a literal."""
        name = f"<rank {next(self._numbers)}>"
        self._columns.append((self._paths[id(literal)], name))
        return name

    def values(self, literal: Happens | Boundary | Changes | Holds) -> None:
        """Answers to a literal over time come in the order of its values."""
        path = self._paths[id(literal)]
        for position, arg in enumerate(_arguments(literal)):
            if isinstance(arg, Variable):
                self._columns.append(((*path, position), arg.name))

    def columns(self) -> tuple[str, ...]:
        """The columns to sort by, the first first."""
        return tuple(dict.fromkeys(name for _, name in sorted(self._columns)))

    def _named(self, literal: Literal) -> Literal:
        if not isinstance(literal, Happens | Boundary | Changes | Holds) or literal.negated:
            return literal
        unnamed = Variable("_")
        # What is terminated may have no value of its own to name.
        is_ended = isinstance(literal, Changes) and not literal.initiates
        value = literal.pair.value if isinstance(literal, Changes) and is_ended else None
        args = [
            Variable(f"_any {next(self._numbers)}", arg.span)
            if arg == unnamed and arg is not value else arg
            for arg in _arguments(literal)
        ]  # fmt: skip
        if isinstance(literal, Happens):
            return replace(literal, event=replace(literal.event, args=tuple(args)))
        pair = replace(literal.pair, args=tuple(args[:-1]), value=args[-1])
        return replace(literal, pair=pair)


def _arguments(literal: Happens | Boundary | Changes | Holds) -> tuple[Term, ...]:
    if isinstance(literal, Happens):
        return literal.event.args
    return (*literal.pair.args, literal.pair.value)


@dataclass(slots=True)
class Pipeline:
    """Chooses, again and again, the cheapest literal that can run next.

    Cheapest first: what only filters, then what looks up a table by bound arguments, then what
    looks at fluents, then what joins events, and last what makes rows out of nothing.
    """

    knowledge: Knowledge
    modes: Modes
    bound: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    nested: bool = False
    time: str = ""
    steps: list[PointOperator] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    order: AnswerOrder | None = None
    """Where it is asked for: the columns by which answers come as they are proved one by one."""
    is_collected: bool = False
    """Are answers counted or listed, each once?"""

    def run(self, body: Iterable[Literal]) -> tuple[PointOperator, ...]:
        """Order all literals of a body and give their operators."""
        waiting = list(body)
        if self.order is not None:
            waiting = self.order.enter(waiting)
        self.taken |= self.bound | all_names(waiting)
        while waiting:
            best = min(waiting, key=lambda literal: self._rank(literal, waiting))
            waiting = [literal for literal in waiting if literal is not best]
            expanded = self._expanded(best)
            if expanded is None:
                self._add(best)
            else:
                if self.order is not None:
                    expanded = self.order.replace(best, expanded)
                self.taken |= all_names(expanded)
                waiting = [*expanded, *waiting]
        return tuple(self.steps)

    def inside(
        self, body: Sequence[Literal], in_order: bool = False, is_collected: bool = False
    ) -> Pipeline:
        """A pipeline for a body that runs once for each row so far, planned."""
        nested = self.nested or bool(self.steps)
        inner = Pipeline(
            self.knowledge, self.modes, set(self.bound), set(self.taken), nested, self.time,
            numbers=self.numbers, order=AnswerOrder(self.numbers) if in_order else None,
            is_collected=is_collected or self.is_collected,
        )  # fmt: skip
        inner.run(body)
        self.taken |= inner.taken
        return inner

    # -- the order --------------------------------------------------------------------------

    def _rank(self, literal: Literal, waiting: list[Literal]) -> int:
        is_choice = isinstance(literal, Condition) and functor(literal.goal)[0] == ";"
        if isinstance(literal, Condition) and not is_choice:
            if functor(literal.goal) in COLLECTIONS and not self._is_given(literal, waiting):
                return 85
            # What is asked of a list waits for the list.
            lists = named(each.result for each in waiting if isinstance(each, Collect))
            if lists and not lists.isdisjoint(named([literal.goal])):
                return 98
            return self._rank_condition(literal)
        if isinstance(literal, (Happens, Boundary, Changes)):
            if literal.negated:
                return 60 if self._is_bound(literal) else 95
            return 50 if self.steps else 0
        if isinstance(literal, Holds):
            if literal.negated:
                return 40 if self._is_bound(literal) else 95
            return 30 if self._is_bound(literal) else 45
        # What holds literals of its own comes after those that give its variables their values.
        others = all_names([other for other in waiting if other is not literal])
        literal_names = (
            _inside_names(literal) if isinstance(literal, Collect) else all_names([literal])
        )
        late = 10 if literal_names & others - self.bound else 0
        late += 5 if self._lacks(literal, others) else 0
        if isinstance(literal, Either):
            return 70 + late if self.steps else 5 if _triggers(literal) else 90
        if is_choice:
            return 72 + late
        return 75 + late

    def _is_given(self, literal: Condition, waiting: list[Literal]) -> bool:
        """Has a collection all values that other literals give it?"""
        assert isinstance(literal.goal, Compound)
        inside = named(literal.goal.args[:2])
        others = all_names([other for other in waiting if other is not literal])
        return not inside & others - self.bound

    def _lacks(self, literal: Literal, others: set[str]) -> bool:
        """Is there a variable that a choice, or a branch of it, cannot give itself?

        What only some branches speak of, and others too, has to come from those others.
        """
        if isinstance(literal, Either):
            each = [all_names(branch) for branch in literal.branches]
            every: set[str] = set.intersection(*each)
            some = set[str]().union(*each) - every
            return bool(some & others - self.bound) or any(map(self._lacks_one, literal.branches))
        return isinstance(literal, Condition) and self._lacks_one([literal])

    def _lacks_one(self, body: Sequence[Literal]) -> bool:
        over_time = [one for one in body if isinstance(one, (Happens, Boundary, Changes, Holds))]
        conditions = [one for one in body if isinstance(one, Condition)]
        binder = Binder(self.modes, set(self.bound))
        binder.bound |= set[str]().union(*(_names(one) for one in over_time if not one.negated))
        binder.run([one.goal for one in conditions if not one.negated])
        negated = named(one.goal for one in conditions if one.negated)
        negated |= set[str]().union(*(_names(one) for one in over_time if one.negated))
        free = {name for name in negated - binder.bound if not name.startswith("_")}
        return bool(free or binder.stuck)

    def _rank_condition(self, literal: Condition) -> int:
        free = asked_names(literal.goal) - self.bound
        if literal.negated and any(not name.startswith("_") for name in free):
            return 97
        if not self.steps and not self.bound:
            return 90
        if literal.negated:
            return 12
        binder = Binder(self.modes, set(self.bound))
        binder.run([literal.goal])
        if binder.stuck:
            return 99
        if not free:
            return 10
        return 20 if named([literal.goal]) & self.bound or _is_small(literal.goal) else 65

    def _is_bound(self, literal: Happens | Boundary | Changes | Holds) -> bool:
        free = {name for name in _names(literal) - self.bound if not name.startswith("_")}
        return not free

    # -- the operators ----------------------------------------------------------------------

    def _add(self, literal: Literal) -> None:
        if isinstance(literal, Condition):
            self._condition(literal)
        elif isinstance(literal, (Happens, Boundary, Changes)):
            self._occurrence(literal)
        elif isinstance(literal, Holds):
            self._holds(literal)
        elif isinstance(literal, Either):
            in_order = self.order is not None
            inner = [self.inside(branch, in_order) for branch in literal.branches]
            branches = tuple(tuple(pipeline.steps) for pipeline in inner)
            rank = "" if self.order is None else self.order.rank(literal)
            orders = tuple(each.order.columns() for each in inner if each.order is not None)
            self.steps.append(Branches(branches, literal.span, rank, orders))
            self.bound |= set.intersection(*(pipeline.bound for pipeline in inner))
        elif isinstance(literal, Unless):
            self.steps.append(Except(tuple(self.inside(literal.body).steps), literal.span))
        else:
            assert isinstance(literal, Collect)
            self._collect(literal)

    def _collect(self, literal: Collect) -> None:
        inner = self.inside(literal.body, literal.kind in LISTS, is_collected=True)
        order = () if inner.order is None else inner.order.columns()
        by = tuple(name for name in literal.by if name not in self.bound)
        result, is_known = literal.result, bool(named([literal.result]) & self.bound)
        if is_known:
            result = Variable(f"<list {next(self.numbers)}>", result.span)
        self.steps.append(
            Aggregate(literal.kind, literal.template, result, tuple(inner.steps), literal.span,
                      order, by)
        )  # fmt: skip
        self.bound |= named([result]) | set(by)
        if is_known:
            same = Compound("=", (result, literal.result), literal.span)
            self.steps.append(Filter(same, False, literal.span))

    def _occurrence(self, literal: Happens | Boundary | Changes) -> None:
        occurrence: Occurrence = literal.event if isinstance(literal, Happens) else literal
        if literal.negated:
            self.steps.append(EventAntiJoin(occurrence, literal.span))
            return
        names = _names(literal)
        if self.steps or self.bound or self.nested:
            shared = tuple(sorted(names & self.bound))
            once = self.is_collected and isinstance(literal, Changes)
            self.steps.append(EventJoin(occurrence, shared, literal.span, once))
        else:
            self.steps.append(Scan(occurrence, self.time, literal.span))
            self.bound |= {self.time} if self.time else set()
        if self.order is not None:
            self.order.values(literal)
        self.bound |= names

    def _holds(self, literal: Holds) -> None:
        if literal.negated:
            self.steps.append(AntiStab(literal.pair, literal.span))
            return
        names = _names(literal)
        self.steps.append(Stab(literal.pair, tuple(sorted(names - self.bound)), literal.span))
        if self.order is not None:
            self.order.values(literal)
        self.bound |= names

    def _condition(self, literal: Condition) -> None:
        step = condition_operator(literal, self.bound, self.knowledge)
        if self.order is not None and isinstance(step, Lookup | Resolve) and not literal.negated:
            step = replace(step, rank=self.order.rank(literal))
        self.steps.append(step)
        if not literal.negated:
            binder = Binder(self.modes, self.bound)
            binder.run([literal.goal])
            self.bound = binder.bound | exposed_names(literal.goal)

    # -- background rules -------------------------------------------------------------------

    def _expanded(self, literal: Literal) -> list[Literal] | None:
        """A condition replaced by the rules that define it; None if it stays as it is.

        It is expanded when its turn has come and not before, as what is bound by then decides
        how a rule with a cut in it can be written without one.
        """
        if not isinstance(literal, Condition):
            return None
        goal = literal.goal
        if functor(goal) in COLLECTIONS and isinstance(goal, Compound) and self._is_filled(goal):
            return self._collected(goal, literal)
        predicate = self.knowledge.predicates.get(functor(goal))
        if predicate is not None and predicate.route is Route.INLINE:
            expanded = self.knowledge.inline(goal, self.bound, self.taken)
            if expanded == goal:
                return None
            goal = expanded
        elif functor(goal)[0] not in (",", ";") or _has_arrow(goal):
            return None
        if not literal.negated:
            return list(literals_of(goal, literal.span))
        known = named([literal.goal])
        return [_negated(part, known, literal.span) for part in _alternatives(goal)]

    def _is_filled(self, goal: Compound) -> bool:
        """Does a collection look at a table that the run fills? A proof would not see its rows."""
        goals = leaves(without_carets(goal.args[1])[0])
        return any(
            builtin(*functor(leaf)) is None and functor(leaf) not in self.knowledge.predicates
            for leaf in goals
        )

    def _collected(self, goal: Compound, literal: Condition) -> list[Literal]:
        """A collection as one over rows."""
        template, inner, result, *rest = goal.args
        inner, _ = without_carets(inner)
        kind = goal.functor
        if kind == "aggregate_all":
            kind = AGGREGATES.get(functor(template), "count")
            template = template.args[0] if isinstance(template, Compound) else template
        by: list[str] = []
        if functor(goal) in GROUPING:
            by = sorted(named([inner]) - hidden_names(goal) - self.bound)
        listed = Variable(f"<list {next(self.numbers)}>", result.span)
        body = literals_of(inner, literal.span)
        made: list[Literal] = [Collect(kind, template, body, listed, literal.span, tuple(by))]
        same: Term = Compound("=", (listed, result), literal.span)
        if rest:
            same = Compound("append", (listed, *rest, result), literal.span)
        made.append(Condition(same, False, literal.span))
        return [Unless(tuple(made), literal.span)] if literal.negated else made


def literals_of(goal: Term, span: Span) -> tuple[Literal, ...]:
    """A goal as conditions, disjunctions and negations of them."""
    literals: list[Literal] = []
    for part in conjuncts(goal):
        if isinstance(part, Compound) and part.functor == ";" and not _has_arrow(part):
            branches = tuple(literals_of(branch, span) for branch in part.args)
            literals.append(Either(branches, span))
        elif isinstance(part, Compound) and functor(part) in (("\\+", 1), ("not", 1)):
            literals.append(Condition(part.args[0], True, span))
        elif part != Atom("true"):
            literals.append(Condition(part, False, span))
    return tuple(literals)


def _alternatives(goal: Term) -> Iterator[Term]:
    """The branches of a disjunction at any depth: if it is not true, none of them is."""
    if isinstance(goal, Compound) and goal.functor == ";" and not _has_arrow(goal):
        for branch in goal.args:
            yield from _alternatives(branch)
    else:
        yield goal


def _negated(goal: Term, known: set[str], span: Span) -> Literal:
    """No answer to a goal; variables that are not known are its own, and take any value."""
    is_plain = not isinstance(goal, Compound) or goal.functor not in (",", ";")
    if is_plain and named([goal]) <= known:
        return Condition(goal, True, span)
    return Unless(literals_of(goal, span), span)


def _triggers(literal: Either) -> bool:
    """Does every branch wait for something to happen?"""
    return all(any(map(_is_trigger, branch)) for branch in literal.branches)


def _is_trigger(literal: Literal) -> bool:
    if isinstance(literal, Either):
        return _triggers(literal)
    return isinstance(literal, (Happens, Boundary, Changes)) and not literal.negated


def _has_arrow(goal: Term) -> bool:
    """If-then-else is no disjunction of its branches."""
    return isinstance(goal, Compound) and any(functor(arg)[0] == "->" for arg in goal.args)


def all_names(body: Iterable[Literal]) -> set[str]:
    """All named variables of a body, at any depth."""
    names: set[str] = set()
    for literal in body:
        if isinstance(literal, Condition):
            names |= named([literal.goal])
        elif isinstance(literal, Either):
            names |= set[str]().union(*map(all_names, literal.branches))
        elif isinstance(literal, Unless):
            names |= all_names(literal.body)
        elif isinstance(literal, Collect):
            names |= _inside_names(literal) | named([literal.result])
        else:
            names |= _names(literal)
    return names


def _inside_names(literal: Collect) -> set[str]:
    return all_names(literal.body) | named([literal.template])


def condition_operator(
    literal: Condition, bound: set[str], knowledge: Knowledge
) -> Filter | Compute | Lookup | Exclude | Resolve:
    """The operator of a condition whose needs are met."""
    goal, span = literal.goal, literal.span
    key = functor(goal)
    names = exposed_names(goal) | named([goal]) & bound
    binds = tuple(sorted(exposed_names(goal) - bound))
    predicate = knowledge.predicates.get(key)
    if predicate is not None:
        if predicate.route not in (Route.TABLE, Route.MATERIALISE):
            return Resolve(goal, literal.negated, () if literal.negated else binds, span)
        if literal.negated:
            return Exclude(goal, span)
        return Lookup(goal, tuple(sorted(names & bound)), binds, span)
    if key in (("is", 2), ("=", 2)) and not literal.negated and isinstance(goal, Compound):
        for target, source in (goal.args, goal.args[::-1]):
            is_free = isinstance(target, Variable) and target.name in binds
            is_value = key[0] == "is" or not isinstance(source, Compound)
            if isinstance(target, Variable) and is_free and is_value and _is_plain(source):
                return Compute(target.name, source, span, key[0] == "is")
    known = builtin(*key)
    if key in COMPARISONS and not binds and _are_plain(goal):
        return Filter(goal, literal.negated, span)
    if known is None:
        # A dynamic predicate or a domain: a table that the run fills.
        if literal.negated:
            return Exclude(goal, span)
        return Lookup(goal, tuple(sorted(names & bound)), binds, span)
    return Resolve(goal, literal.negated, () if literal.negated else binds, span)


def _are_plain(goal: Term) -> bool:
    if not isinstance(goal, Compound) or not all(map(_is_plain, goal.args)):
        return False
    return goal.functor in _COMPUTING or not any(isinstance(arg, Compound) for arg in goal.args)


def _is_plain(term: Term) -> bool:
    """A value or an expression: not a list or a term that would have to be taken apart."""
    if isinstance(term, Compound):
        return is_expression(term.functor) and all(map(_is_plain, term.args))
    return not isinstance(term, ListTerm) and term != Atom("[]")


def _is_small(goal: Term) -> bool:
    """A look-up by a constant, such as a threshold, makes one row or few."""
    return isinstance(goal, Compound) and any(not named([arg]) and not isinstance(arg, Variable)
                                              for arg in goal.args)  # fmt: skip


def _names(literal: Happens | Boundary | Changes | Holds) -> set[str]:
    if isinstance(literal, Happens):
        return entity_names(literal.event)
    return entity_names(literal.pair)


def entity_names(entity: Event | Pair) -> set[str]:
    """The named variables of an event or pair."""
    names = named(entity.args)
    return names | named([entity.value]) if isinstance(entity, Pair) else names
