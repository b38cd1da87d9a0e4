"""Comparisons and arithmetic of rules as programs of `kernels.decide`.

What the machine cannot compute exactly does not fit, and is left to the operators.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from cernis.kernels import decide as machine
from cernis.kernels.array_types import Array
from cernis.plan.logical import Compute, Except, Filter
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import Atom, Compound, Duration, Number, Term, Variable, functor

K = TypeVar("K")

EXACT = 2**50
"""Integers up to this size stay exact through some additions of floats."""
_LARGEST = 2**53
"""All integers up to this size are floats."""

_DEPTH = 4
"""At most so many operations are nested."""

ARITHMETIC = {
    ("+", 2): machine.ADD, ("-", 2): machine.SUBTRACT, ("*", 2): machine.MULTIPLY,
    ("min", 2): machine.LEAST, ("max", 2): machine.GREATEST, ("abs", 1): machine.ABSOLUTE,
    ("-", 1): machine.NEGATE,
}  # fmt: skip

QUOTIENTS = {("/", 2): machine.DIVIDE, ("floor", 1): machine.FLOOR}
"""What only some programs can compute: the numbers they read must not be too large."""
_ENDLESS = frozenset({"inf", "infinite"})

_TESTS = {
    "<": (machine.LESS, False), "=<": (machine.LESS_OR_EQUAL, False),
    ">": (machine.LESS, True), ">=": (machine.LESS_OR_EQUAL, True),
    "=:=": (machine.EQUAL, False), "=\\=": (machine.UNEQUAL, False),
}  # fmt: skip
"""The test of a comparison, and whether its operands change places."""


class UnfitProgramError(Exception):
    """This cannot be put into a program."""


@dataclass(frozen=True, slots=True)
class RegisterUse:
    """A register, whether it may hold whole numbers, and how large these can be."""

    register: int
    whole: bool
    most: float = EXACT
    is_constant: bool = False


class ComparisonProgram(ABC):
    """A program in the making. Equal operations on equal registers are done once."""

    arithmetic: ClassVar[Mapping[tuple[str, int], int]] = ARITHMETIC
    """The instructions for functions."""

    def __init__(self) -> None:
        self.code: list[tuple[int, int, int, int]] = []
        self.constants: dict[int, float] = {}
        self.registers = 0
        self._operations: dict[tuple[int, int, int], RegisterUse] = {}
        self._numbers: dict[tuple[type, float], RegisterUse] = {}
        self._loaded: dict[object, RegisterUse] = {}
        self._named: dict[str, RegisterUse] = {}

    @abstractmethod
    def _variable(self, name: str) -> RegisterUse:
        """The register with the numbers of a variable that is not computed."""

    # -- steps ------------------------------------------------------------------------------

    def attempt(self, add: Callable[[], None]) -> bool:
        """Add something; False, and nothing is added, if it does not fit."""
        before = len(self.code), self.registers, dict(self._named)
        try:
            add()
        except UnfitProgramError:
            length, self.registers, self._named = before
            del self.code[length:]
            self._forget_registers()
            return False
        return True

    def _forget_registers(self) -> None:
        """Forget what was put into registers that are free again."""
        self._operations = self._used(self._operations)
        self._numbers = self._used(self._numbers)
        self._loaded = self._used(self._loaded)
        self.constants = {
            register: number for register, number in self.constants.items()
            if register < self.registers
        }  # fmt: skip

    def _used(self, known: dict[K, RegisterUse]) -> dict[K, RegisterUse]:
        return {key: use for key, use in known.items() if use.register < self.registers}

    def filter(self, step: Filter, mask: int = 0) -> None:
        """A comparison; negated, it is true also of what is no number."""
        if step.negated:
            if mask:
                raise UnfitProgramError
            self.code.append((machine.BEGIN, 0, 0, 0))
            self._compare(step.condition, 1)
            self.code.append((machine.NOT_ALL, 0, 0, 0))
        else:
            self._compare(step.condition, mask)

    def _compare(self, goal: Term, mask: int) -> None:
        if not isinstance(goal, Compound) or goal.functor not in _TESTS:
            raise UnfitProgramError
        test, turned = _TESTS[goal.functor]
        one, other = (self._numeric_value(arg) for arg in goal.args)
        if turned:
            one, other = other, one
        self._test(test, one, other, mask)

    def compute(self, step: Compute) -> None:
        """A column that tests can ask for; rows whose expression has no value are ruled out."""
        if not isinstance(step.expression, Compound):
            raise UnfitProgramError
        value = self._numeric_value(step.expression)
        self._test(machine.IS_NUMBER, value, value)
        self._named[step.variable] = value

    def unless(self, step: Except) -> None:
        """Comparisons that must not all be true."""
        if not all(isinstance(inner, Filter) for inner in step.body):
            raise UnfitProgramError
        self.code.append((machine.BEGIN, 0, 0, 0))
        for inner in step.body:
            assert isinstance(inner, Filter)
            self.filter(inner, 1)
        self.code.append((machine.NOT_ALL, 0, 0, 0))

    # -- registers --------------------------------------------------------------------------

    def _test(self, test: int, one: RegisterUse, other: RegisterUse, mask: int = 0) -> None:
        self.code.append((test, mask, one.register, other.register))

    def _new(self, whole: bool, most: float = EXACT, is_constant: bool = False) -> RegisterUse:
        self.registers += 1
        return RegisterUse(self.registers - 1, whole, most, is_constant)

    def _numeric_value(self, term: Term, depth: int = 0) -> RegisterUse:
        if isinstance(term, Variable):
            known = self._named.get(term.name)
            return known if known is not None else self._variable(term.name)
        if isinstance(term, Number):
            return self._constant(term.value)
        if isinstance(term, Duration):
            return self._constant(term.amount * DURATION_UNITS[term.unit])
        if isinstance(term, Atom) and term.name in _ENDLESS and not depth:
            return self._number(math.inf)
        operation = self.arithmetic.get(functor(term))
        if operation is None or depth > _DEPTH or not isinstance(term, Compound):
            raise UnfitProgramError
        parts = [self._numeric_value(arg, depth + 1) for arg in term.args]
        return self._operated(operation, parts[0], parts[-1])

    def _operated(self, operation: int, one: RegisterUse, other: RegisterUse) -> RegisterUse:
        whole, most = one.whole and other.whole, _size_of(operation, one, other)
        if whole and operation == machine.MULTIPLY and most > _LARGEST:
            raise UnfitProgramError
        key = (operation, one.register, other.register)
        if key not in self._operations:
            whole |= operation == machine.FLOOR
            result = self._operations[key] = self._new(whole, most)
            self.code.append((operation, result.register, one.register, other.register))
        return self._operations[key]

    def _constant(self, number: float) -> RegisterUse:
        if not abs(number) <= EXACT:
            raise UnfitProgramError
        return self._number(number)

    def _number(self, number: float) -> RegisterUse:
        key = (type(number), number)
        if key not in self._numbers:
            value = self._new(isinstance(number, int), abs(number), is_constant=True)
            self._numbers[key] = value
            self.constants[value.register] = float(number)
        return self._numbers[key]

    def _value_constant(self, value: object) -> RegisterUse:
        """A constant that need not be a number: what is none compares with nothing."""
        return self._constant(value if isinstance(value, int | float) else math.inf)


def _size_of(operation: int, one: RegisterUse, other: RegisterUse) -> float:
    """How large whole numbers among the results can be."""
    if operation in (machine.ADD, machine.SUBTRACT):
        return one.most + other.most
    if operation == machine.MULTIPLY:
        return one.most * other.most
    if operation == machine.DIVIDE:
        if not (other.is_constant and 1 <= other.most <= EXACT):
            raise UnfitProgramError
        return one.most / other.most
    if operation == machine.FLOOR:
        if one.most > _LARGEST:
            raise UnfitProgramError
        return one.most + 1
    return max(one.most, other.most)


def are_exact(numbers: Array) -> bool:
    """Are whole numbers among these exact as floats, through some additions?"""
    if numbers.dtype.kind == "f":
        return not (np.abs(numbers) > EXACT).any()
    return not len(numbers) or (int(numbers.max()) <= EXACT and int(numbers.min()) >= -EXACT)
