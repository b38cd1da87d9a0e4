r"""Expansion: a goal replaced by what its definition says, down to comparisons and table literals.

Clauses become the branches of a disjunction and the unification with a head becomes equations.
A clause with a cut, `head :- guard, !, rest`, becomes the branch `head, guard, rest`, and each
branch after it that its own tests do not keep apart gets `\+ (head, guard)` in front. That is
what the cut says as long as the guard is a test, one that has at most one answer for given
arguments; so the expansion has to know what is bound where the goal stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cernis.knowledge.call_graph import NEGATIONS
from cernis.knowledge.exclusive import exclude_each_other
from cernis.knowledge.ground_values import Key, label
from cernis.knowledge.modes import BindingFlow, follow, names
from cernis.knowledge.resolution.builtins import BUILTINS, BuiltinKind, Mode, builtin
from cernis.knowledge.terms import (
    FAIL,
    TRUE,
    Names,
    conjunction,
    disjunction,
    negation,
    spoken,
    substitute,
    unify_head,
)
from cernis.syntax.tree import Atom, Clause, Compound, Term, conjuncts, functor, variables, walk
from cernis.syntax.tree import Sequence as ListTerm

LARGEST: Final = 2_000
"""Goals an expansion may have: a larger one is answered another way."""
DEEPEST: Final = 30
"""Definitions an expansion may be nested in each other: it recurses with them."""
CUT: Final = Atom("!")
_STATE_TESTS: Final = frozenset({("var", 1), ("nonvar", 1), ("ground", 1)})


class NotInline(Exception):
    """Raised inside the expansion of a goal that has none; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of variables at a point of a body: bound, or met and not surely bound.

    A variable in neither set is free: nothing before can have bound it.
    """

    bound: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()

    def free(self, name: str) -> bool:
        """Is the variable surely unbound?"""
        return name not in self.bound and name not in self.met

    def with_met(self, met: frozenset[str]) -> Known:
        """Also knows that some variables have been met."""
        return Known(self.bound, self.met | (met - self.bound))


class _Branch(NamedTuple):
    """A clause as goals, the part of them in front of its cut, and what is known after all."""

    goals: list[Term]
    guard: list[Term] | None
    after: Known


class Expansion:
    """Expands goals by the definitions of the predicates that are to be inlined.

    `inlined` gives their clauses, `tables` the predicates that are answered by look-up, and
    `modes` what each predicate binds. In a strict expansion every leaf has to be a comparison
    or a table literal, else it is refused; otherwise a goal that has no expansion stays.
    """

    def __init__(
        self,
        inlined: Mapping[Key, Sequence[Clause]],
        tables: Collection[Key],
        modes: Mapping[Key, Mode],
        taken: Iterable[str],
        strict: bool,
    ) -> None:
        self._inlined = inlined
        self._tables = tables
        self._modes = modes
        self._names = Names(taken)
        self._strict = strict
        self._size = 0
        self._depth = 0

    def goal(self, goal: Term, known: Known) -> tuple[Term, Known]:
        """The expansion of a goal and what is known after it."""
        expanded, after = self._expand(goal, known)
        return expanded, after or self._known_after(expanded, goal, known)

    def body(self, goals: Iterable[Term], known: Known) -> tuple[list[Term], Known]:
        """The expansions of goals that stand in a row."""
        expanded = []
        for goal in goals:
            one, known = self.goal(goal, known)
            expanded.append(one)
        return expanded, known

    def _known_after(self, expanded: Term, goal: Term, known: Known) -> Known:
        flow = BindingFlow(known.bound)
        follow(expanded, flow, self._modes)
        if flow.missing and self._strict:
            raise NotInline(f"needs {spoken(flow.missing)} before anything binds it")
        # A need that was not met ends in an error, so after the goal it is met.
        met = known.met | names(goal) | names(expanded)
        return Known(flow.bound, met - flow.bound)

    def _expand(self, goal: Term, known: Known) -> tuple[Term, Known | None]:
        """The expansion of a goal, and what is known after it, where that is clear by its parts.

        Otherwise the expansion itself has to be followed. To do so at each level of a nest of
        definitions takes time by the square of its depth.
        """
        key = functor(goal)
        args = goal.args if isinstance(goal, Compound) else ()
        if key[0] == ",":
            expanded, after = self.body(args, known)
            return conjunction(expanded), after
        if key in NEGATIONS:
            denied, inside = self.goal(args[0], known)
            # In a strict expansion nothing that it needs is missing, and it binds nothing.
            met = inside.met | inside.bound
            return negation(denied), known.with_met(met) if self._strict else None
        controlled = self._control(key, args, known)
        if controlled is not None:
            return controlled, None
        return self._literal(goal, key, args, known)

    def _control(self, key: Key, args: Sequence[Term], known: Known) -> Term | None:
        """The expansion of a goal that is made of goals; None if it is none."""
        if key[0] == ";":
            return self._alternatives(args, known)
        if key == ("->", 2):
            return self._if(args[0], args[1], FAIL, known)
        if key == ("forall", 2):
            refuted = Compound(",", (args[0], Compound("\\+", (args[1],))))
            return negation(self.goal(refuted, known)[0])
        if key in (("findall", 3), ("aggregate_all", 3)) and not self._strict:
            return Compound(key[0], (args[0], self.goal(args[1], known)[0], args[2]))
        return None

    def _alternatives(self, args: Sequence[Term], known: Known) -> Term:
        first, rest = args[0], args[1:]
        if isinstance(first, Compound) and functor(first) == ("->", 2):
            other = rest[0] if len(rest) == 1 else Compound(";", tuple(rest))
            return self._if(first.args[0], first.args[1], other, known)
        is_last = len(rest) == 1
        later = self._expand(rest[0], known)[0] if is_last else self._alternatives(rest, known)
        return disjunction([self._expand(first, known)[0], later])

    def _if(self, condition: Term, then: Term, other: Term, known: Known) -> Term:
        r"""`(C -> T ; E)` is `(C, T ; \+ C, E)` if C is a test."""
        try:
            test, known_after = self.goal(condition, known)
            self._see_test(test, known, names(condition))
            branch = conjunction([test, self._expand(then, known_after)[0]])
            otherwise = self._expand(other, known)[0]
            return disjunction([branch, conjunction([negation(test), otherwise])])
        except NotInline:
            if self._strict:
                raise
            return Compound(";", (Compound("->", (condition, then)), other))

    def _literal(
        self, goal: Term, key: Key, args: Sequence[Term], known: Known
    ) -> tuple[Term, Known | None]:
        self._size += 1
        if self._size > LARGEST:
            raise NotInline(f"its expansion has more than {LARGEST:,} goals")
        if key in self._inlined:
            return self._definition(goal, key, args, known)
        return self._leaf(goal, key, args, known), None

    def _leaf(self, goal: Term, key: Key, args: Sequence[Term], known: Known) -> Term:
        """A goal that no clauses define."""
        if key in self._tables or self._is_simple(key):
            return goal
        if key in (("member", 2), ("memberchk", 2)) and key not in self._modes:
            return self._member(goal, args, key[0] == "memberchk", known)
        return self._keep(goal, f"uses {label(key)}" if builtin(*key) else f"calls {label(key)}")

    def _is_simple(self, key: Key) -> bool:
        known = BUILTINS.get(key)
        if known is None or key in self._modes or key in _STATE_TESTS:
            return False
        several = key[0] in ("between", "succ", "plus", "compare")
        return (known.kind is BuiltinKind.COMPARISON and not several) or key in (
            ("true", 0), ("fail", 0), ("false", 0), ("otherwise", 0),
        )  # fmt: skip

    def _keep(self, goal: Term, reason: str) -> Term:
        if self._strict:
            raise NotInline(reason)
        return goal

    def _member(self, goal: Term, args: Sequence[Term], once: bool, known: Known) -> Term:
        """`member(X, [a, b])` is `(X = a ; X = b)`; once is the same if nothing can get bound."""
        element, items = args
        if items == Atom("[]"):
            return FAIL
        proper = isinstance(items, ListTerm) and items.tail is None
        if not proper or (once and not names(goal) <= known.bound):
            return self._keep(goal, f"uses {label(functor(goal))} on a list of its arguments")
        assert isinstance(items, ListTerm)
        return disjunction(Compound("=", (element, item)) for item in items.items)

    def _definition(
        self, goal: Term, key: Key, args: Sequence[Term], known: Known
    ) -> tuple[Term, Known | None]:
        start = self._size
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                raise NotInline(f"its expansion goes more than {DEEPEST} definitions deep")
            expanded, after = self._branches(key, self._names.renamed(args, only=()), known)
        except NotInline:
            if self._strict:
                raise
            self._size = start
            return goal, None
        else:
            return expanded, after and after.with_met(names(goal))
        finally:
            self._depth -= 1

    def _branches(self, key: Key, args: Sequence[Term], known: Known) -> tuple[Term, Known | None]:
        """The clauses of a definition as branches; of a single one, what is known after it."""
        branches: list[Term] = []
        blocks: list[Term] = []
        outer = frozenset().union(*map(names, args))
        after: Known | None = None
        for clause in self._inlined[key]:
            if TRUE in blocks:
                break
            branch = self._branch(clause, args, known)
            if branch is None:
                continue
            goals, guard, after = branch
            open_ = [each for each in blocks if not exclude_each_other(goals, each)]
            branches.append(conjunction([*(self._negated(each, outer) for each in open_), *goals]))
            if guard is not None:
                blocks.append(self._block(guard, args, known))
        return disjunction(branches), after if len(branches) == 1 else None

    def _negated(self, block: Term, outer: Collection[str]) -> Term:
        self._size += len(conjuncts(block))
        return negation(self._names.renamed([block], only=names(block) - frozenset(outer))[0])

    def _branch(self, clause: Clause, args: Sequence[Term], known: Known) -> _Branch | None:
        """A clause as a branch; None if it cannot fit."""
        head = clause.head.args if isinstance(clause.head, Compound) else ()
        renamed = self._names.renamed([*head, *clause.body])
        unified = unify_head(renamed[: len(head)], args)
        if unified is None:
            return None
        bindings, pairs = unified
        equations = [Compound("=", pair) for pair in pairs]
        body = [substitute(goal, bindings) for goal in renamed[len(head) :]]
        return self._split(equations, body, args, known)

    def _split(
        self, equations: Sequence[Term], body: Sequence[Term], args: Sequence[Term], known: Known
    ) -> _Branch:
        start = known
        for equation in equations:
            start = self._known_after(equation, equation, start)
        if CUT not in body:
            self._see_no_cut(body)
            goals, after = self.body(body, start)
            return _Branch([*equations, *goals], None, after)
        cut_position = body.index(CUT)
        rest = body[cut_position + 1 :]
        self._see_no_cut([*body[:cut_position], *rest])
        guard, known_after = self.body(body[:cut_position], start)
        for equation in equations:
            if names(equation) & names(conjunction(guard)):
                _see_tied(equation, start.bound)
        outside = frozenset().union(*map(names, args), *map(names, rest))
        self._see_test(conjunction(guard), start, outside)
        tail, after = self.body(rest, known_after)
        return _Branch([*equations, *guard, *tail], [*equations, *guard], after)

    def _see_no_cut(self, goals: Sequence[Term]) -> None:
        if any(node == CUT for goal in goals for node in walk(goal)):
            raise NotInline("has a cut inside a goal, or two")

    def _block(self, guard: Sequence[Term], args: Sequence[Term], known: Known) -> Term:
        """A guard as later branches negate it.

        What is free where the goal stands is renamed, as the guard would bind it and the branch
        must not see that; equations that only bind such a variable are left out.
        """
        whole = conjunction(guard)
        outer = frozenset().union(*map(names, args))
        doubtful = sorted(name for name in names(whole) & outer if name in known.met)
        if doubtful:
            raise NotInline(f"cuts, and {spoken(doubtful)} may or may not be bound in front of it")
        free = [name for name in outer if known.free(name)]
        (renamed,) = self._names.renamed([whole], only=free)
        goals = conjuncts(renamed)
        once = _once(goals)
        new = names(renamed) - outer
        return conjunction(goal for goal in goals if not _only_binds(goal, new & once))

    def _see_test(self, goal: Term, known: Known, outside: Collection[str]) -> None:
        """See that a goal has at most one answer as far as the variables outside of it go."""
        bound = known.bound
        for each in conjuncts(goal):
            if functor(each) in NEGATIONS:
                continue
            loose = (names(each) & frozenset(outside)) - bound
            if functor(each) not in (("=", 2), ("is", 2)):
                if loose:
                    raise NotInline(f"commits to one answer for {spoken(loose)}")
            elif loose & known.met:
                raise NotInline(f"commits to a test of {spoken(loose)}, which may be unbound")
            flow = BindingFlow(bound)
            follow(each, flow, self._modes)
            bound = flow.bound
            if functor(each) == ("=", 2):
                _see_tied(each, bound)


def _see_tied(equation: Term, bound: Collection[str]) -> None:
    """See that an equation in front of a cut leaves no variable unbound.

    Two unbound variables made equal are bound together later, so that a goal on the one, local
    to the guard, would choose a value for the other, outside of it.
    """
    tied = names(equation).difference(bound)
    if tied:
        raise NotInline(f"makes {spoken(tied)} equal to something unbound in front of a cut")


def _once(goals: Iterable[Term]) -> frozenset[str]:
    """The variables that occur once in all."""
    count: dict[str, int] = {}
    for goal in goals:
        for variable in variables(goal):
            count[variable.name] = count.get(variable.name, 0) + 1
    return frozenset(name for name, times in count.items() if times == 1)


def _only_binds(goal: Term, local: Collection[str]) -> bool:
    """Is the goal an equation of a variable that nothing else knows?"""
    if not isinstance(goal, Compound) or functor(goal) != ("=", 2):
        return False
    return any(getattr(side, "name", None) in local and names(side) for side in goal.args)
