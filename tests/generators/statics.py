"""Random rules of statically determined fluents: `holdsFor` and `iff`.

A rule's body is written first. The variables of its fluents that no background literal gives a
value go into the head, so that each of them has one whenever the rule has a result.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from tests.generators.bodies import ORDERS, Below, Body
from tests.generators.vocabulary import FACTS, RULES, Predicate, Signature, chance

RELATIONS = ("before", "meets", "starts", "finishes", "during", "overlaps", "equal")
MODES = ("source", "target", "union", "intersect", "complement", "complement_inv")


class StaticRule:
    """Writes one rule; which of the two forms is drawn too."""

    def __init__(self, random: Random, below: Below, tick: int) -> None:
        self.random = random
        self.below = below
        self.tick = tick
        self.body = Body(random, below)
        self.lists: list[str] = []
        self.is_short = chance(random, 0.25)
        if self.is_short:
            self._write_short()
        else:
            self._write_long()
        self.text = self.joint.join(self.body.literals)
        self.open = sorted(_asked(self.text) - _given(self.text) - self._any_value())

    def _any_value(self) -> set[str]:
        """Variables of one fluent that are left to stand for any value."""
        counts = Counter(_NAME.findall(self.text))
        alone = sorted(name for name, count in counts.items() if count == 1)
        return {"_", *(name for name in alone if chance(self.random, 0.5))}

    # -- the head ---------------------------------------------------------------------------

    def kinds(self) -> list[str]:
        """The types of the variables that have to be in the head."""
        return [self.body.env[name] for name in self.open]

    def fits(self, head: Signature) -> bool:
        """Is there room in the head for them?"""
        room = [*head.slots, head.value]
        return all(room.count(kind) >= self.kinds().count(kind) for kind in set(self.kinds()))

    def clauses(self, head: Signature) -> list[str]:
        """The rule, and sometimes a second one that gives the empty list."""
        waiting = list(self.open)
        terms = [self._term(slot, waiting) for slot in [*head.slots, head.value or "truth"]]
        pair = head.text(terms[:-1], terms[-1])
        if self.is_short:
            return [f"{pair} iff {self.text}."]
        rule = f"holdsFor({pair}, {self.lists[-1]}) :- {self.text}."
        if "[]" not in self.text or head.value != "truth" or chance(self.random, 0.5):
            return [rule]
        empty = head.text(["_" for _ in head.slots], "true")
        return [rule, f"holdsFor({empty}, [])."]

    def _term(self, kind: str, waiting: list[str]) -> str:
        for name in waiting:
            if self.body.env[name] == kind:
                waiting.remove(name)
                return name
        return self.body.known(kind)

    # -- terms ------------------------------------------------------------------------------

    def _opening(self, kind: str) -> str:
        if kind == "truth":
            return "true"
        if chance(self.random, 0.05):
            return "_"
        return self._variable(kind) if chance(self.random, 0.85) else self.body.known(kind)

    def _joining(self, kind: str) -> str:
        if kind == "truth":
            return "true"
        if self.body.bound(kind) and chance(self.random, 0.75):
            return self.random.choice(self.body.bound(kind))
        return self._variable(kind) if chance(self.random, 0.5) else self.body.known(kind)

    def _variable(self, kind: str) -> str:
        name = self.body.fresh(kind)
        self.body.env[name] = kind
        return name

    def _pair(self) -> str:
        relation = self.random.choice(self.below.fluents)
        return self.body.entity(relation, self._joining if self.body.env else self._opening)

    # -- iff --------------------------------------------------------------------------------

    def _write_short(self) -> None:
        self.joint = self.random.choice((", ", " and "))
        self.body.literals.append(self._combination())
        for _ in range(self.random.randint(0, 2)):
            roll = self.random.random()
            if roll < 0.35:
                self.body.literals.append(f"not {self._combination()}")
            elif roll < 0.5:
                self._background(negated=False, predicates=FACTS)
            else:
                self.body.literals.append(self._combination())

    def _combination(self) -> str:
        if chance(self.random, 0.6):
            return self._pair()
        return f"({self._pair()} or {self._pair()})"

    # -- holdsFor ---------------------------------------------------------------------------

    def _write_long(self) -> None:
        self.joint = ", "
        for _ in range(self.random.randint(1, 3)):
            self.body.literals.append(f"holdsFor({self._pair()}, {self._new()})")
        if chance(self.random, 0.35):
            self._condition()
        self._check()
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 2, 3))):
            self._operate()
        self._check()

    def _new(self) -> str:
        self.lists.append(f"I{len(self.lists) + 1}")
        return self.lists[-1]

    def _condition(self) -> None:
        kind = self.random.choice(("background", "background", "negated", "compare", "compute"))
        if kind == "compute" and self.body.bound("number"):
            value = self.body.expression("number").replace("T mod 3", "2")
            self.body.literals.append(f"{self._variable('number')} is {value}")
        elif kind == "compare":
            self._compare()
        elif kind != "compute":
            # Grounding gives variables a value first, so nothing here can be sure to give it.
            self._background(kind == "negated", tuple(p for p in (*FACTS, *RULES) if not p.gives))

    def _compare(self) -> None:
        kind = self.random.choice(("person", "number", "colour"))
        if not self.body.bound(kind):
            return
        left, right = self.random.choice(self.body.bound(kind)), self.body.known(kind)
        orders = ORDERS if kind == "number" else ("\\=", "==", "@<", "\\==")
        self.body.literals.append(f"{left} {self.random.choice(orders)} {right}")

    def _background(self, negated: bool, predicates: tuple[Predicate, ...]) -> None:
        term = self.body.closed if negated else self.body.asked
        goal = self.body.goal(self.random.choice(predicates), term)
        self.body.literals.append(f"\\+ {goal}" if negated else goal)

    def _check(self) -> None:
        if not chance(self.random, 0.12):
            return
        name = self.random.choice(self.lists)
        check = self.random.choice((f"\\+ {name} = []", f"{name} \\= []"))
        self.body.literals.append(check)
        if chance(self.random, 0.3):
            self.body.literals.append("!")

    def _operate(self) -> None:
        name = self.random.choice(
            ("union_all", "union_all", "intersect_all", "relative_complement_all",
             "complement_all", "intDurGreater", "intDurLess", "allen")
        )  # fmt: skip
        first = self.lists[-1] if chance(self.random, 0.6) else self.random.choice(self.lists)
        others = ", ".join(self._some())
        match name:
            case "relative_complement_all":
                goal = f"{name}({first}, [{others}], {self._new()})"
            case "intDurGreater" | "intDurLess":
                duration, result = self._duration(), self._new()
                goal = f"{name}({first}, {duration}, {result})"
                own = Random(", ".join((*self.body.literals, goal)))
                if chance(own, 0.4):
                    goal = _findall(own, first, duration, result)
            case "allen":
                goal = self._allen(first, self.random.choice(self.lists))
            case "complement_all":
                goal = f"{name}([{others}], {self._new()})"
            case _:
                goal = f"{name}([{first}, {others}], {self._new()})"
        self.body.literals.append(goal)

    def _allen(self, source: str, target: str) -> str:
        relation = self.random.choice(RELATIONS)
        rest = f"{source}, {target}, {self.random.choice(MODES)}, {self._new()}"
        if chance(self.random, 0.5):
            return f"{relation}({rest})"
        return f"allen({relation}, {rest})"

    def _some(self) -> list[str]:
        return self.random.sample(self.lists, self.random.randint(1, min(2, len(self.lists))))

    def _duration(self) -> str:
        numbers = self.body.bound("number")
        if numbers and chance(self.random, 0.3):
            return f"{self.random.choice(numbers)} * {2 * self.tick}"
        return str(self.random.randint(0, 7) * self.tick)


def fluents_of(body: str) -> list[set[str]]:
    """The variables of each fluent of a body."""
    return [set(_NAME.findall(pair)) for pair in _PAIR.findall(body)]


def _asked(body: str) -> set[str]:
    """The variables of the fluents."""
    return set[str]().union(*fluents_of(body))


def _given(body: str) -> set[str]:
    """The variables that background literals give a value."""
    return {name for goal in _GIVING.findall(body) for name in _NAME.findall(goal)}


_NAME = re.compile(r"\b[A-HJ-Z]\d+\b|\b_(?!\w)")
_PAIR = re.compile(r"[a-z]\w*(?:\((?:[^()]|\([^()]*\))*\))?=(?:'[^']*'|[-\w.]+)")
_GIVING = re.compile(r"(?<!\\\+ )\b(?:friend|limit|adult|taste|rank|linked|pal|suits)\([^()]*\)")


def _findall(random: Random, source: str, duration: str, result: str) -> str:
    """Some intervals of a list, by conditions on their ends."""
    longer = f"E - S > {duration}"
    choices = (longer, f"\\+ {longer}", "S mod 2 =:= 0", f"E - S =\\= {duration}", "E < inf")
    conditions = random.sample(choices, random.choice((0, 1, 1, 2)))
    goals = ", ".join(["member((S, E), " + source + ")", *conditions])
    return f"findall((S, E), ({goals}), {result})"
