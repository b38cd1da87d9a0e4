"""How to write a rule that speaks of two times: as a sequence of events, or by a fluent."""

from __future__ import annotations

from cernis.errors import Correction
from cernis.syntax.printer import show
from cernis.syntax.tree import Clause, Compound, Term, Variable, functor, variables, walk

_ORDERS = ("<", "=<", ">", ">=")


def help_for(time: Term, goal: Term, rule_time: str, clause: Clause) -> str:
    """What to write in place of a goal whose time is not that of its rule."""
    one_time = f"all literals of a rule speak of one time, here {rule_time}"
    order = _order(time, rule_time, clause)
    if order is None or not isinstance(goal, Compound):
        return f"{one_time}; what held or happened at another time is a fluent of its own"
    if order in (">", ">="):
        return (
            f"{one_time}, and what comes later is not known then: write the rule for "
            f"{show(time)}, and let a fluent remember what happened at {rule_time}"
        )
    if goal.functor == "happensAt":
        return f"{one_time}; {_as_sequence(goal.args[0], rule_time, clause)}"
    held = f"held{_args(goal.args[0])}=true"
    return (
        f"{one_time}; let a fluent remember it: initiatedAt({held}, {rule_time}) :- "
        f"happensAt(start({show(goal.args[0])}), {rule_time}). "
        f"and ask for holdsAt({held}, {rule_time})"
    )


def correction(time: Term, rule_time: str, clause: Clause) -> Correction | None:
    """The rule's own name for its time, where nothing says that another time is meant."""
    if not isinstance(time, Variable) or _order(time, rule_time, clause) is not None:
        return None
    return Correction(time.span, rule_time)


def _order(time: Term, rule_time: str, clause: Clause) -> str | None:
    """How another time is compared with that of the rule: `<` if it comes before."""
    for node in (node for goal in clause.body for node in walk(goal)):
        if isinstance(node, Compound) and node.functor in _ORDERS and isinstance(time, Variable):
            left, right = ({each.name for each in variables(side)} for side in node.args)
            if time.name in left and rule_time in right:
                return node.functor
            if rule_time in left and time.name in right:
                return _ORDERS[(_ORDERS.index(node.functor) + 2) % 4]
    return None


def _as_sequence(earlier: Term, rule_time: str, clause: Clause) -> str:
    """The same as an event pattern, if another event happens at the time of the rule."""
    later = next(
        (
            goal.args[0] for goal in clause.body
            if isinstance(goal, Compound) and functor(goal) == ("happensAt", 2)
            and goal.args[1] == Variable(rule_time)
        ),
        None,
    )  # fmt: skip
    fluent = f"let it initiate a fluent, and ask for that with holdsAt(F=V, {rule_time})"
    if later is None:
        return fluent
    args = _args(earlier, later)
    return (
        f"define an event, both{args} <- {show(earlier)} seq {show(later)}. and write "
        f"happensAt(both{args}, {rule_time}); or {fluent}"
    )


def _args(*terms: Term) -> str:
    """The variables of terms as arguments."""
    names = dict.fromkeys(each.name for term in terms for each in variables(term))
    return f"({', '.join(names)})" if names else ""
