"""Goals made ready for the machine: one class of node for each kind of goal."""

# ruff: noqa: D102 - `run` and `shown` mean what `Node` says.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cernis.knowledge.ground_values import told_apart
from cernis.knowledge.resolution.cells import (
    Cell,
    Environment,
    build,
    decode,
    evaluate,
    unify,
    variable_names,
)
from cernis.knowledge.resolution.library import Answers, Test
from cernis.knowledge.resolution.machine import AnswerChoice, Frame, FrameChoice, Machine, Node
from cernis.knowledge.resolution.prolog_arithmetic import NoNumber, Numeric
from cernis.syntax.printer import show

if TYPE_CHECKING:
    from cernis.knowledge.resolution.database import Procedure


def enter(body: Node | None, env: Environment, cut: int, after: Frame) -> Frame:
    """The frame of a body that goes on with another; an empty body is just that other."""
    return after if body is None else (body, env, cut, after, after[4] + 1)


class Goal(Node):
    """A node that keeps its goal for messages."""

    __slots__ = ("goal",)

    def __init__(self, goal: Cell, owner: str) -> None:
        self.goal = goal
        self.owner = owner
        self.next = None

    def shown(self, env: Environment) -> str:
        cell = build(self.goal, env)
        return show(decode(cell, variable_names(self.goal, env)))

    @property
    def cells(self) -> Sequence[Cell]:
        """The arguments as the clause has them."""
        return self.goal[1:] if isinstance(self.goal, tuple) else ()


class Call(Goal):
    """A predicate of the program or of the prelude."""

    __slots__ = ("args", "key", "procedure")

    procedure: Procedure | None

    def __init__(self, goal: Cell, owner: str) -> None:
        super().__init__(goal, owner)
        self.args = self.cells
        self.key = (goal[0] if isinstance(goal, tuple) else goal, len(self.args))
        self.procedure = None

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        procedure = self.procedure
        if procedure is None:
            procedure = self.procedure = machine.database.procedure(self.key)
        return procedure.call(machine, [build(arg, env) for arg in self.args], after)


class Fail(Goal):
    """`fail`"""

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        return None


class Cut(Goal):
    """`!`: the choices made since the clause was entered are dropped."""

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        del machine.choices[cut:]
        return after


class Unify(Goal):
    """`X = Y`"""

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        left, right = self.cells
        return after if unify(build(left, env), build(right, env), machine.trail) else None


class Is(Goal):
    """`X is Expression`"""

    __slots__ = ()

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        target, expression = self.cells
        try:
            result = told_apart(evaluate(expression, env))
        except NoNumber:
            return None
        return after if unify(build(target, env), result, machine.trail) else None


class Compare(Goal):
    """`X < Y` and the other comparisons of numbers."""

    __slots__ = ("holds",)

    def __init__(self, goal: Cell, owner: str, holds: Callable[[Numeric, Numeric], bool]) -> None:
        super().__init__(goal, owner)
        self.holds = holds

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        left, right = self.cells
        try:
            return after if self.holds(evaluate(left, env), evaluate(right, env)) else None
        except NoNumber:
            return None


class Once(Goal):
    """A built-in with at most one answer."""

    __slots__ = ("test",)

    def __init__(self, goal: Cell, owner: str, test: Test) -> None:
        super().__init__(goal, owner)
        self.test = test

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        args = [build(arg, env) for arg in self.cells]
        return after if self.test(args, machine.trail) else None


class Many(Goal):
    """A built-in with several answers."""

    __slots__ = ("answers",)

    def __init__(self, goal: Cell, owner: str, answers: Answers) -> None:
        super().__init__(goal, owner)
        self.answers = answers

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        args = [build(arg, env) for arg in self.cells]
        answers = self.answers(args, machine.trail)
        return AnswerChoice(len(machine.trail), answers, after).resume(machine)


class Disjunction(Goal):
    """`A ; B`"""

    __slots__ = ("left", "right")

    def __init__(self, goal: Cell, owner: str, left: Node | None, right: Node | None) -> None:
        super().__init__(goal, owner)
        self.left = left
        self.right = right

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        other = enter(self.right, env, cut, after)
        machine.choices.append(FrameChoice(len(machine.trail), other))
        return enter(self.left, env, cut, after)


class IfThenElse(Goal):
    r"""`Condition -> Then ; Else`: commits to the condition's first answer; `\+` is built of it.

    A cut in the condition is local to it, one in the branches is the clause's.
    """

    __slots__ = ("condition", "then", "without")

    def __init__(
        self,
        goal: Cell,
        owner: str,
        condition: Node | None,
        then: Node | None,
        without: Node | None,
    ) -> None:
        super().__init__(goal, owner)
        self.condition = condition
        self.then = then
        self.without = without

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        height = len(machine.choices)
        other = enter(self.without, env, cut, after)
        machine.choices.append(FrameChoice(len(machine.trail), other))
        committed = enter(self.then, env, cut, after)
        commit = (Cut("!", self.owner), env, height, committed, committed[4])
        return enter(self.condition, env, height + 1, commit)
