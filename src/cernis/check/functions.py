"""Functions of arithmetic, and aggregates: what is computed is made of those that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from cernis.check.goal_checks import calls
from cernis.check.reporter import did_you_mean
from cernis.check.rewrites.sliding_conditions import KINDS, has_window, is_aggregate
from cernis.knowledge.resolution.prolog_arithmetic import FUNCTIONS
from cernis.knowledge.zone_clock import CLOCK_RANGES
from cernis.syntax.printer import show
from cernis.syntax.tree import Compound, Term, functor

Say: TypeAlias = Callable[..., None]
"""Reports a diagnostic: as an error, or as a warning."""

_NUMERIC: Final = frozenset({"<", ">", "=<", ">=", "=:=", "=\\="})

_USUAL_NAMES = {
    "average": "avg", "mean": "avg", "total": "sum", "number": "count", "minimum": "min",
    "maximum": "max",
}  # fmt: skip
"""What aggregates are called elsewhere."""


def check_functions(goals: Iterable[Term], say: Say) -> None:
    """Report what goals compute by functions that there are not."""
    for goal in goals:
        for call in calls(goal):
            if not isinstance(call, Compound) or len(call.args) != 2:
                continue
            computed = call.args[1:] if call.functor == "is" else call.args
            for arg in computed if call.functor in _NUMERIC or call.functor == "is" else ():
                check_expression(arg, True, say)


def check_expression(term: Term, computed: bool, say: Say) -> None:
    """Report what is no function; unless it is surely computed, an unknown term is a value."""
    if not isinstance(term, Compound) or is_aggregate(term):
        return
    known = functor(term) in FUNCTIONS
    if known or computed or (term.args and has_window(term)):
        for arg in term.args if known else ():
            check_expression(arg, True, say)
        if not known:
            _unknown_function(term, say)


def _unknown_function(term: Compound, say: Say) -> None:
    name, arity = functor(term)
    arities = sorted(size for other, size in FUNCTIONS if other == name)
    arities = [1] if name in CLOCK_RANGES else arities
    if has_window(term):
        message = f"there is no aggregate {name}"
        some = f"there are {', '.join(sorted(KINDS))}; fold combines values by a predicate"
        usual = _USUAL_NAMES.get(name)
        help_ = f"it is called {usual}" if usual else did_you_mean(name, KINDS, some)
    elif name in KINDS and not arities:
        message = f"{show(term)} has no window"
        help_ = "end it with last(N), past(D) or all: avg(P, last(50))"
    elif arities:
        message = f"there is no function {name}/{arity}"
        count = " or ".join(map(str, arities))
        help_ = f"{name} has {count} argument{'' if count == '1' else 's'}"
    else:
        message = f"there is no function {name}/{arity}"
        names = {other for other, _ in FUNCTIONS} | KINDS
        help_ = did_you_mean(name, names, "a predicate can compute it: f(X, Y)")
    say("C025", message, term.span, help=help_)
