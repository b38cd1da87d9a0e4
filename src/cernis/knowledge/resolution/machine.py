"""The machine that runs goals: frames for what is still to prove, choices for what can be retried.

A frame is `(node, environment, cut, then, depth)`: a goal of a body, the variables of the clause,
the number of choices a cut in that body leaves, and the frame after the end of the body. Frames
are immutable and shared, so a choice needs to keep only the one it goes on with. A last goal is
run with the frame after its own body, so tail recursion takes no memory.

Nothing here recurses with the proof: its depth is limited by `Limits.depth`, not by Python.
"""

# ruff: noqa: D102 - `resume` means what `ChoicePoint` says.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cernis.errors import KnowledgeError
from cernis.knowledge.resolution.cells import Environment, Ref
from cernis.knowledge.resolution.prolog_arithmetic import Endless, Fault

if TYPE_CHECKING:
    from cernis.knowledge.resolution.database import Database

Frame: TypeAlias = tuple[Any, Any, int, Any, int]
_STRIDE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a computation may go before it is taken to have no end.

    Steps (goals run and choices retried), depth and seconds bound the proof of one goal. Tuples
    and `materialise_seconds` bound what bottom-up evaluation derives for one group of predicates
    that call each other.
    """

    steps: int = 5_000_000
    depth: int = 500_000
    seconds: float = 20.0
    tuples: int = 5_000_000
    materialise_seconds: float = 120.0


class Node:
    """A goal in a body; `next` is the goal after it, None for the last."""

    __slots__ = ("next", "owner")

    next: Node | None
    owner: str

    def run(self, machine: Machine, env: Environment, cut: int, after: Frame) -> Frame | None:
        """Prove the goal and return the frame to go on with, or None if there is no answer."""
        raise NotImplementedError

    def shown(self, env: Environment) -> str:
        """The goal as it stands, for messages."""
        raise NotImplementedError


class ChoicePoint:
    """A point to come back to: what was bound since is undone first."""

    __slots__ = ("mark",)

    mark: int

    def resume(self, machine: Machine) -> Frame | None:
        """Go on with the next alternative; the choice has left the stack already."""
        raise NotImplementedError


class Machine:
    """One proof: its bindings, its choices and what it has used of its limits."""

    __slots__ = ("choices", "database", "deadline", "limits", "next_check", "steps", "trail")

    def __init__(self, database: Database, limits: Limits) -> None:
        self.database = database
        self.limits = limits
        self.choices: list[ChoicePoint] = []
        self.trail: list[Ref] = []
        self.steps = 0
        self.next_check = min(_STRIDE, limits.steps)
        self.deadline = monotonic() + limits.seconds

    def undo(self, mark: int) -> None:
        """Unbind what was bound since the trail had that length."""
        trail = self.trail
        while len(trail) > mark:
            trail.pop().value = None

    def prove(self, frame: Frame) -> Iterator[None]:
        """Stop at each answer, with its bindings in place; they are undone on going on."""
        node: Node | None = None
        env: Environment = []
        try:
            current: Frame | None = frame
            while True:
                if current is None:
                    if not self.choices:
                        return
                    self.steps += 1
                    choice = self.choices.pop()
                    self.undo(choice.mark)
                    current = choice.resume(self)
                    continue
                node, env, cut, then, depth = current
                if node is None:
                    paused = monotonic()
                    yield
                    # Only the proof's own time counts.
                    self.deadline += monotonic() - paused
                    current = None
                    continue
                self.steps += 1
                if self.steps >= self.next_check:
                    self._check(node, depth, current)
                following = node.next
                after = then if following is None else (following, env, cut, then, depth)
                current = node.run(self, env, cut, after)
        except Fault as fault:
            raise self._error(node, env, fault) from fault
        except RecursionError as error:
            raise self._error(node, env, Endless("computes with a term too deep")) from error

    def _error(self, node: Node | None, env: Environment, fault: Exception) -> KnowledgeError:
        if node is None or isinstance(fault, Endless):
            return KnowledgeError("?" if node is None else node.owner, str(fault))
        return KnowledgeError(node.owner, f"`{node.shown(env)}` {fault}")

    def _check(self, node: Node, depth: int, frame: Frame) -> None:
        limits = self.limits
        if self.steps >= limits.steps:
            raise self._endless(frame, f"{self.steps:,} steps")
        if depth > limits.depth:
            raise self._endless(frame, f"a recursion {depth:,} deep")
        if len(self.choices) > limits.depth:
            raise self._endless(frame, f"{len(self.choices):,} choices left open")
        if monotonic() > self.deadline:
            raise self._endless(frame, f"{limits.seconds:g} s")
        if not self.choices:
            self.trail.clear()
        self.next_check = min(self.steps + _STRIDE, limits.steps)

    def _endless(self, frame: Frame, spent: str) -> KnowledgeError:
        culprit = self._culprit(frame)
        return KnowledgeError(
            culprit,
            f"no end in sight after {spent}; see that its recursion gets closer to an end with "
            "each step, or raise the limit",
        )

    def _culprit(self, frame: Frame) -> str:
        """The innermost predicate on the way here that is recursive; else the innermost."""
        innermost: str = frame[0].owner
        current: Any = frame
        for _ in range(1000):
            if current is None or current[0] is None:
                break
            if self.database.is_recursive(current[0].owner):
                owner: str = current[0].owner
                return owner
            current = current[3]
        return innermost


class FrameChoice(ChoicePoint):
    """Go on with another frame."""

    __slots__ = ("frame",)

    def __init__(self, mark: int, frame: Frame) -> None:
        self.mark = mark
        self.frame = frame

    def resume(self, machine: Machine) -> Frame | None:
        return self.frame


class AnswerChoice(ChoicePoint):
    """Take the next of a goal's answers, each of which binds what it binds when it is drawn."""

    __slots__ = ("after", "answers")

    def __init__(self, mark: int, answers: Iterator[bool], after: Frame) -> None:
        self.mark = mark
        self.answers = answers
        self.after = after

    def resume(self, machine: Machine) -> Frame | None:
        for answer in self.answers:
            if answer:
                machine.choices.append(self)
                return self.after
            machine.undo(self.mark)
        return None
