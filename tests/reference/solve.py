"""A small resolution engine for background knowledge and for the conditions of rules.

It reads like the definition of resolution: a goal is proved by each clause whose head unifies
with it and whose body can be proved in turn, in the order of the text. Predicates that depend
on themselves are evaluated by naive iteration: the whole proof is repeated, looking up the
answers found so far at every inner call, until a round brings no new answer. So recursion over
cyclic facts ends.

Multiplicity: `findall/3` and aggregates see one solution for each proof, as in Prolog, except
that a recursive predicate has each answer once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cernis.errors import KnowledgeError
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Number,
    Term,
    Text,
    Variable,
    functor,
    variables,
)

from . import builtins
from .arithmetic import COMPARISONS, NoValue, Numeric, evaluate, exact, with_constants
from .terms import (
    Env,
    Renamer,
    canonical,
    goals_of,
    listing,
    order_key,
    substitute,
    unify,
)

__all__ = ["Env", "KnowledgeError", "NoValue", "Predicate", "Solver", "evaluate"]

Key = tuple[str, int]
Predicate = Callable[[Term], Iterable[Term]]
"""From a goal, its known variables replaced, to terms; those that unify with it are answers."""


@dataclass(slots=True)
class _Tables:
    """Answers found so far for calls of recursive predicates, and the calls made this round."""

    answers: dict[Term, dict[Term, None]] = field(default_factory=dict)
    called: set[Term] = field(default_factory=set)

    def size(self) -> int:
        return sum(len(found) for found in self.answers.values())


@dataclass(slots=True)
class _Frame:
    """One use of a clause: where its `!` takes effect."""

    tables: _Tables | None = None
    cut: bool = False


class Solver:
    """Answers conjunctions of goals from clauses.

    `predicates` adds predicates that are computed and not written down; they come before
    clauses of the same name, as built-ins come before both. A goal nothing is known of fails.

    >>> from cernis.syntax import parse, parse_term
    >>> solver = Solver(parse("parent(a, b). parent(b, c).").items)
    >>> [answer["X"].name for answer in solver.solve([parse_term("parent(X, c)")], {})]
    ['b']
    """

    def __init__(
        self, clauses: Iterable[Clause], predicates: Mapping[Key, Predicate] | None = None
    ) -> None:
        self._clauses: dict[Key, list[Clause]] = defaultdict(list)
        for clause in clauses:
            self._clauses[functor(clause.head)].append(clause)
        self._by_first: dict[tuple[Key, Term], list[Clause]] = {}
        self._predicates = dict(predicates or {})
        self._renamer = Renamer("$")
        self._recursive = {key for key in self._clauses if self._reaches(key, key)}

    def solve(
        self, goals: Sequence[Term], bindings: Mapping[str, Term]
    ) -> Iterator[dict[str, Term]]:
        """Each way to make all goals true, in order: the bindings, with those it adds.

        Only variables of the goals and of the bindings are in an answer, `_` never. A variable
        left open is absent. No goals: the bindings, once.
        """
        names = set(bindings)
        for term in (*goals, *bindings.values()):
            names.update(variable.name for variable in variables(term))
        wanted = sorted(names - {"_"})
        open_goals = tuple(self._renamer.anonymous(goal) for goal in goals)
        try:
            for env in self._conjunction(open_goals, dict(bindings), _Frame()):
                yield _answer(wanted, env)
        except RecursionError as error:
            raise KnowledgeError("solve", "the proof has no end in sight") from error

    def _conjunction(self, goals: tuple[Term, ...], env: Env, frame: _Frame) -> Iterator[Env]:
        if not goals:
            yield env
            return
        for further in self._goal(goals[0], env, frame):
            yield from self._conjunction(goals[1:], further, frame)
            if frame.cut:
                return

    def _goal(self, goal: Term, env: Env, frame: _Frame) -> Iterator[Env]:
        goal = substitute(_with_constants(goal), env)
        name, arity = functor(goal)
        args = goal.args if isinstance(goal, Compound) else ()
        if name == "!" and arity == 0:
            yield env
            frame.cut = True
        elif name == ",":
            yield from self._conjunction(args, env, frame)
        elif name == ";":
            yield from self._disjunction(args, env, frame)
        elif (name, arity) == ("->", 2):
            yield from self._disjunction((goal,), env, frame)
        elif name in ("\\+", "not") and arity == 1:
            if not self.provable(args[0]):
                yield env
        elif (name, arity) in (("findall", 3), ("aggregate_all", 3)):
            yield from self._collect(name, args, env)
        elif (name, arity) in (("bagof", 3), ("setof", 3)):
            yield from self._grouped(name, args, env)
        elif (name, arity) == ("forall", 2):
            if not self.provable(Compound(",", (args[0], Compound("\\+", (args[1],))))):
                yield env
        elif (name, arity) in (("once", 1), ("ignore", 1)):
            first = next(self._conjunction((args[0],), env, _Frame()), None)
            if first is not None or name == "ignore":
                yield env if first is None else first
        else:
            yield from self._simple(goal, (name, arity), args, env, frame)

    def _disjunction(self, branches: tuple[Term, ...], env: Env, frame: _Frame) -> Iterator[Env]:
        for branch in branches:
            if isinstance(branch, Compound) and functor(branch) == ("->", 2):
                condition, then = branch.args
                first = next(self._conjunction((condition,), env, _Frame()), None)
                if first is not None:
                    yield from self._conjunction((then,), first, frame)
                    return
            else:
                yield from self._conjunction((branch,), env, frame)
            if frame.cut:
                return

    def provable(self, goal: Term) -> bool:
        """Is there any proof of the goal?"""
        return next(self._conjunction((goal,), {}, _Frame()), None) is not None

    def _collect(self, name: str, args: tuple[Term, ...], env: Env) -> Iterator[Env]:
        what, goal, result = args
        template = what
        if name == "aggregate_all" and isinstance(what, Compound):
            template = what.args[0] if len(what.args) == 1 else what
        found = [
            substitute(template, answer) for answer in self._conjunction((goal,), {}, _Frame())
        ]
        value = listing(found) if name == "findall" else _aggregate(what, found)
        if value is not None:
            yield from _unified(result, value, env)

    def _grouped(self, name: str, args: tuple[Term, ...], env: Env) -> Iterator[Env]:
        """bagof and setof: a list for each value of the variables that are free in the goal.

        Those of the template are not free, nor those before a `^`. The values come in the
        standard order.
        """
        template, goal, result = args
        bound = {variable.name for variable in variables(template)}
        while isinstance(goal, Compound) and functor(goal) == ("^", 2):
            bound |= {variable.name for variable in variables(goal.args[0])}
            goal = goal.args[1]
        free = dict.fromkeys(v.name for v in variables(goal) if v.name not in bound)
        witness = listing([Variable(free_name) for free_name in free])
        groups: dict[Term, list[Term]] = {}
        for answer in self._conjunction((goal,), {}, _Frame()):
            groups.setdefault(substitute(witness, answer), []).append(substitute(template, answer))
        for values in sorted(groups, key=order_key):
            found = groups[values]
            if name == "setof":
                found = sorted(dict.fromkeys(found), key=order_key)
            both = Compound("", (witness, result)), Compound("", (values, listing(found)))
            yield from _unified(*both, env)

    def _simple(
        self, goal: Term, key: Key, args: tuple[Term, ...], env: Env, frame: _Frame
    ) -> Iterator[Env]:
        if isinstance(goal, Variable):
            raise KnowledgeError("call/1", f"the goal {goal.name} is not known")
        if key in COMPARISON_KEYS:
            if _compare(key[0], args):
                yield env
        elif key in builtins.RELATIONS:
            for instance in builtins.RELATIONS[key](args, self._renamer):
                yield from _unified(Compound("", args), Compound("", instance), env)
        elif key in self._predicates:
            for answer in self._predicates[key](goal):
                yield from _unified(goal, self._renamer.term(answer, {}), env)
        else:
            for answer in self._user(goal, key, frame.tables):
                yield from _unified(goal, answer, env)

    def _user(self, goal: Term, key: Key, tables: _Tables | None) -> Iterator[Term]:
        if key in self._recursive:
            return self._tabled(goal, key, tables)
        return self._by_clauses(goal, key, tables)

    def _by_clauses(self, goal: Term, key: Key, tables: _Tables | None) -> Iterator[Term]:
        for clause in self._candidates(goal, key):
            fresh = self._renamer.clause(clause)
            env = unify(goal, fresh.head, {})
            if env is None:
                continue
            frame = _Frame(tables)
            for proved in self._conjunction(fresh.body, env, frame):
                yield substitute(goal, proved)
            if frame.cut:
                return

    def _candidates(self, goal: Term, key: Key) -> list[Clause]:
        """The clauses whose first argument is not another constant than the goal's."""
        clauses = self._clauses.get(key, [])
        first = goal.args[0] if isinstance(goal, Compound) else None
        if not isinstance(first, _CONSTANTS):
            return clauses
        if (key, first) not in self._by_first:
            self._by_first[key, first] = [
                clause
                for clause in clauses
                if not isinstance(_first(clause), _CONSTANTS) or _first(clause) == first
            ]
        return self._by_first[key, first]

    def _tabled(self, goal: Term, key: Key, tables: _Tables | None) -> Iterator[Term]:
        call = canonical(goal)
        if tables is None:
            tables = _Tables()
            before = -1
            while before != tables.size():
                before = tables.size()
                tables.called.clear()
                self._round(call, key, tables)
        elif call not in tables.called:
            self._round(call, key, tables)
        for answer in list(tables.answers[call]):
            yield self._renamer.term(answer, {})

    def _round(self, call: Term, key: Key, tables: _Tables) -> None:
        tables.called.add(call)
        found = tables.answers.setdefault(call, {})
        for answer in self._by_clauses(call, key, tables):
            found[canonical(answer)] = None

    def _reaches(self, start: Key, target: Key) -> bool:
        seen: set[Key] = set()
        todo = [start]
        while todo:
            for clause in self._clauses.get(todo.pop(), ()):
                called = {functor(goal) for literal in clause.body for goal in goals_of(literal)}
                if target in called:
                    return True
                todo.extend(called - seen)
                seen |= called
        return False


COMPARISON_KEYS = frozenset((name, 2) for name in COMPARISONS) | frozenset(
    (name, 2) for name in ("\\=", "==", "\\==", "@<", "@>", "@=<", "@>=")
)


_CONSTANTS = (Atom, Number, Text)


def _first(clause: Clause) -> Term | None:
    return clause.head.args[0] if isinstance(clause.head, Compound) else None


def _answer(wanted: Iterable[str], env: Env) -> dict[str, Term]:
    answer = {}
    for name in wanted:
        value = substitute(Variable(name), env)
        if value != Variable(name):
            answer[name] = value
    return answer


def _with_constants(goal: Term) -> Term:
    """A goal that compares or computes numbers, with numbers for `pi` and `e`."""
    numeric = isinstance(goal, Compound) and (goal.functor in COMPARISONS or goal.functor == "is")
    return with_constants(goal) if numeric else goal


def _unified(left: Term, right: Term, env: Env) -> Iterator[Env]:
    result = unify(left, right, env)
    if result is not None:
        yield result


def _compare(name: str, args: tuple[Term, ...]) -> bool:
    """Comparisons, which bind nothing. One of numbers fails where a side has no value."""
    left, right = args
    if name in COMPARISONS:
        try:
            return COMPARISONS[name](evaluate(left, {}), evaluate(right, {}))
        except NoValue:
            return False
    if name == "\\=":
        return unify(left, right, {}) is None
    if name == "==":
        return left == right
    if name == "\\==":
        return left != right
    low, high = order_key(left), order_key(right)
    return COMPARISONS[{"@<": "<", "@>": ">", "@=<": "=<", "@>=": ">="}[name]](low, high)  # type: ignore[arg-type]


def _aggregate(what: Term, found: list[Term]) -> Term | None:
    """The aggregate of the solutions; None, that is failure, for max, min and avg of none.

    `count` and `sum` of none are 0. `avg` is a float. Solutions without a value do not count.
    `max(X, W)` and `min(X, W)` give the value with its W, of equal values the first.
    """
    name, arity = functor(what)
    if name == "count":
        return Number(len(found))
    if name in ("bag", "set"):
        once = sorted(dict.fromkeys(found), key=order_key) if name == "set" else found
        return listing(once)
    values = [(value, term) for term in found for value in _value(_measured(term, arity))]
    numbers = [value for value, _ in values]
    if name == "sum":
        return Number(exact(sum(numbers)))
    if not values:
        return None
    if name == "avg":
        return Number(float(sum(numbers) / len(numbers)))
    best = max(numbers) if name == "max" else min(numbers)
    if arity == 1:
        return Number(best)
    witness = next(term for value, term in values if value == best)
    assert isinstance(witness, Compound)
    return Compound(name, (Number(best), witness.args[1]))


def _measured(term: Term, arity: int) -> Term:
    """What is measured of a solution: the first of two."""
    return term.args[0] if arity == 2 and isinstance(term, Compound) else term


def _value(term: Term) -> list[Numeric]:
    try:
        return [evaluate(term, {})]
    except NoValue:
        return []
