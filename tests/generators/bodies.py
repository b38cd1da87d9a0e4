"""Random bodies of rules about time-points: triggers, conditions, and what they bind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.generators.vocabulary import (
    CONSTANTS,
    FACTS,
    LETTERS,
    RULES,
    Predicate,
    Signature,
    chance,
)

ORDERS = ("<", ">", "=<", ">=", "=:=", "=\\=")


@dataclass
class Below:
    """What the rules under construction may use: all that is defined before them, and input."""

    events: list[Signature]
    fluents: list[Signature]
    simple: list[Signature] = field(default_factory=list)
    predicates: set[Predicate] = field(default_factory=set)
    mutual: list[Signature] = field(default_factory=list)
    """The fluents under construction themselves: what held of them may be asked for."""
    tick: int = 1
    base: int = 0
    """The point before the first at which something may happen."""
    constants: Mapping[str, Sequence[str]] = field(default_factory=lambda: CONSTANTS)


class Body:
    """Writes one body. `env` maps each variable bound so far to its type."""

    def __init__(
        self, random: Random, below: Below, env: dict[str, str] | None = None,
        counts: dict[str, int] | None = None, deep: bool = False,
    ) -> None:  # fmt: skip
        self.random = random
        self.below = below
        self.env = dict(env or {})
        self.counts = dict(counts or {})
        self.deep = deep
        self.literals: list[str] = []

    # -- terms ------------------------------------------------------------------------------

    def fresh(self, kind: str) -> str:
        """A variable not used so far, not bound yet."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{LETTERS[kind]}{self.counts[kind]}"

    def bound(self, kind: str) -> list[str]:
        """The variables of a type that have a value."""
        return [name for name, own in self.env.items() if own == kind]

    def known(self, kind: str) -> str:
        """A term that has a value: a variable, or else a constant."""
        names = self.bound(kind)
        if names and chance(self.random, 0.88):
            return self.random.choice(names)
        return self.random.choice(self.below.constants[kind])

    def asked(self, kind: str) -> str:
        """A term of a positive literal, which may bind it."""
        names = self.bound(kind)
        roll = self.random.random()
        if kind == "truth" and roll < 0.9:
            return "true"
        if names and roll < 0.5:
            return self.random.choice(names)
        if roll < 0.8:
            name = self.fresh(kind)
            self.env[name] = kind
            return name
        return self.random.choice(self.below.constants[kind]) if roll < 0.87 else "_"

    def closed(self, kind: str) -> str:
        """A term of a negated literal, which binds nothing."""
        if kind == "truth":
            return "true"
        return "_" if chance(self.random, 0.2) else self.known(kind)

    def entity(self, relation: Signature, term: Callable[[str], str]) -> str:
        """An event or pair of the relation, with terms made by `term`."""
        args = [term(slot) for slot in relation.slots]
        return relation.text(args, None if relation.value is None else term(relation.value))

    # -- triggers ---------------------------------------------------------------------------

    def trigger(self) -> None:
        """A literal that says when to look."""
        if chance(self.random, 0.08) and not self.deep:
            self._disjunction(lambda inner: inner.trigger())
            return
        self.literals.append(self._occurrence(self.asked))

    def _occurrence(self, term: Callable[[str], str]) -> str:
        roll = self.random.random()
        if roll < 0.72 or not self.below.fluents:
            return f"happensAt({self.entity(self.random.choice(self.below.events), term)}, T)"
        if roll < 0.88 or not self.below.simple:
            edge = self.random.choice(("start", "end", "start", "end", "startI", "endI"))
            fluent = self._late(self.below.fluents)
            if edge == "startI" and self.below.mutual and chance(self.random, 0.5):
                fluent = self.random.choice(self.below.mutual)
            return f"happensAt({edge}({self.entity(fluent, term)}), T)"
        change = "initiatedAt" if roll < 0.93 else "terminatedAt"
        return f"{change}({self.entity(self.random.choice(self.below.simple), term)}, T)"

    def _held(self) -> Signature | None:
        """A fluent to ask for what held."""
        if self.below.mutual and chance(self.random, 0.5):
            return self.random.choice(self.below.mutual)
        return self._late(self.below.fluents) if self.below.fluents else None

    def _late(self, fluents: list[Signature]) -> Signature:
        # Defined fluents come last; the later half is drawn more often, for deeper programs.
        return max(self.random.choice(fluents), self.random.choice(fluents), key=fluents.index)

    # -- conditions -------------------------------------------------------------------------

    def condition(self) -> None:
        """One more literal of any kind."""
        kinds = [
            (3, self._happens), (2, self._not_happens), (5, self._holds), (4, self._not_holds),
            (4, self._compare), (2, self._compute), (4, self._background),
            (2, self._not_background), (1, self._same),
        ]  # fmt: skip
        if not self.deep:
            kinds += [
                (2, self._either), (2, self._unless), (2, self._collect), (1, self._builtin),
                (1, self._choose),
            ]  # fmt: skip
        weights = [weight for weight, _ in kinds]
        self.random.choices([kind for _, kind in kinds], weights)[0]()

    def _happens(self) -> None:
        self.literals.append(self._occurrence(self.asked))

    def _not_happens(self) -> None:
        self._negated(self._occurrence(self.closed))

    def _holds(self) -> None:
        fluent = self._held()
        if fluent is not None:
            self.literals.append(f"holdsAt({self.entity(fluent, self.asked)}, T)")

    def _not_holds(self) -> None:
        fluent = self._held()
        if fluent is not None:
            self._negated(f"holdsAt({self.entity(fluent, self.closed)}, T)")

    def denied(self, kind: str) -> str:
        """A variable that a new negation has, and nothing else of the body."""
        name = self.random.choice(("", "_")) + self.fresh(kind)
        relations = [r for r in (*self.below.events, *self.below.fluents) if kind in r.slots]
        if not relations:
            return "_"
        relation = self.random.choice(relations)
        at = relation.slots.index(kind)
        args = [name if i == at else self.closed(slot) for i, slot in enumerate(relation.slots)]
        value = None if relation.value is None else self.closed(relation.value)
        what = "happensAt" if value is None else "holdsAt"
        self._negated(f"{what}({relation.text(args, value)}, T)")
        return name

    def _negated(self, literal: str) -> None:
        self.literals.append(self.random.choice(("\\+ ", "not ")) + literal)

    def _compare(self) -> None:
        kind = self.random.choice(("number", "number", "amount", "person", "colour", "time"))
        if kind == "time":
            time = self.below.base + self.below.tick * self.random.randint(1, 20)
            self.literals.append(f"T {self.random.choice(ORDERS)} {time}")
        elif kind in ("number", "amount") and self.bound(kind):
            left, right = self.expression(kind), self.expression(kind)
            self.literals.append(f"{left} {self.random.choice(ORDERS)} {right}")
        elif kind in ("person", "colour") and self.bound(kind):
            order = self.random.choice(("=", "\\=", "==", "\\==", "@<", "@>", "@=<", "@>="))
            left = self.random.choice(self.bound(kind))
            self.literals.append(f"{left} {order} {self.known(kind)}")

    def expression(self, kind: str) -> str:
        """A number from the values bound so far."""
        one, other = self.known(kind), self.known(kind)
        if kind == "amount":
            return self.random.choice((one, one, f"{one} + {other}", f"max({one}, {other})"))
        return self.random.choice(
            (one, one, one, f"{one} + 1", f"{one} - {other}", f"{one} * 2", f"{one} mod 2",
             f"abs({one} - {other})", f"max({one}, {other})", f"min({one}, {other})",
             f"({one} + {other}) // 2", "T mod 3")
        )  # fmt: skip

    def _compute(self) -> None:
        value = self.expression("number")
        name = self.fresh("number")
        self.literals.append(f"{name} is {value}")
        self.env[name] = "number"

    def _same(self) -> None:
        kind = self.random.choice(("person", "colour", "number"))
        value = self.known(kind)
        name = self.fresh(kind)
        self.literals.append(f"{name} = {value}")
        self.env[name] = kind

    def _background(self) -> None:
        self.literals.append(self.goal(self.random.choice((*FACTS, *RULES)), self.asked))

    def _not_background(self) -> None:
        self._negated(self.goal(self.random.choice((*FACTS, *RULES)), self.closed))

    def goal(self, predicate: Predicate, term: Callable[[str], str]) -> str:
        """A literal of a background predicate, with terms made by `term` where it is free to."""
        self.below.predicates.add(predicate)
        args = []
        for at, slot in enumerate(predicate.slots):
            if at in predicate.gives:
                name = "_" if term == self.closed else self.fresh(slot)
                self.env.update({} if name == "_" else {name: slot})
                args.append(name)
            else:
                args.append(self.known(slot) if at in predicate.needs else term(slot))
        return f"{predicate.name}({', '.join(args)})"

    def _builtin(self) -> None:
        if chance(self.random, 0.5):
            name = self.asked("person")
            self.literals.append(f"member({name if name != '_' else 'ann'}, [ann, bob])")
        elif self.bound("number"):
            # Up to a number that is not small, there is no end of them.
            is_plain = self.below.constants is CONSTANTS
            top = self.known("number") if is_plain else self.random.choice(CONSTANTS["number"])
            name = self.fresh("number")
            self.literals.append(f"between(0, {top}, {name})")
            self.env[name] = "number"

    # -- bodies inside bodies ---------------------------------------------------------------

    def inner(self) -> Body:
        """A body that sees what is bound so far."""
        return Body(self.random, self.below, self.env, self.counts, deep=True)

    def _either(self) -> None:
        self._disjunction(lambda inner: inner.some_condition())

    def _choose(self) -> None:
        """`(C -> X = one ; X = another)`."""
        test = self.inner()
        test.some_test()
        kind = self.random.choice(("person", "colour", "number"))
        one, other = self.known(kind), self.known(kind)
        name = self.fresh(kind)
        condition = ", ".join(test.literals)
        self.literals.append(f"({condition} -> {name} = {one} ; {name} = {other})")
        self.env[name] = kind
        self._skip(test)

    def some_test(self) -> None:
        """One literal for certain that binds nothing."""
        tests = (self._compare, self._not_holds, self._not_happens, self._not_background)
        while not self.literals:
            self.random.choice(tests)()

    def some_condition(self) -> None:
        """One literal for certain."""
        while not self.literals:
            self.condition()

    def _disjunction(self, first: Callable[[Body], None]) -> None:
        branches = [self.inner() for _ in range(self.random.randint(2, 3))]
        for branch in branches:
            first(branch)
            if chance(self.random, 0.3):
                branch.condition()
        self.literals.append(f"({' ; '.join(', '.join(own.literals) for own in branches)})")
        # A name tells its type, so what all branches have bound has one type in all of them.
        common = set.intersection(*(set(own.env) for own in branches))
        self.env.update({name: branches[0].env[name] for name in sorted(common)})
        for branch in branches:
            self._skip(branch)

    def _skip(self, inner: Body) -> None:
        """Names used inside are not used again outside."""
        for kind, count in inner.counts.items():
            self.counts[kind] = max(count, self.counts.get(kind, 0))

    def _unless(self) -> None:
        inner = self.inner()
        for _ in range(self.random.randint(1, 2)):
            inner.some_condition()
        inner.condition()
        self.literals.append(f"\\+ ({', '.join(inner.literals)})")
        self._skip(inner)

    def _collect(self) -> None:
        inner = self.inner()
        kind = self.random.choice(("person", "number", "number", "colour"))
        template = inner.fresh(kind)
        goal = inner.giver(kind, template)
        if goal is None:
            return
        inner.literals.append(goal)
        inner.env[template] = kind
        if chance(self.random, 0.3):
            inner.condition()
        goal = f"({', '.join(inner.literals)})" if len(inner.literals) > 1 else goal
        self._skip(inner)
        self._aggregate(kind, template, goal)

    def _aggregate(self, kind: str, template: str, goal: str) -> None:
        result = self.fresh("number")
        ways = ["length", "count"] + (["sum", "min", "max", "avg"] if kind == "number" else [])
        way = self.random.choice(ways)
        if way == "length":
            self.literals += [f"findall({template}, {goal}, L{result})",
                              f"length(L{result}, {result})"]  # fmt: skip
        else:
            what = way if way == "count" else f"{way}({template})"
            self.literals.append(f"aggregate_all({what}, {goal}, {result})")
        # An average is a float, and no column mixes the two.
        self.env[result] = "amount" if way == "avg" else "number"
        if chance(self.random, 0.6):
            self.literals.append(f"{result} {self.random.choice(ORDERS)} {self.known('number')}")

    def giver(self, kind: str, name: str) -> str | None:
        """A literal that binds the name, of the given type."""
        relations = [
            relation for relation in (*self.below.events, *self.below.fluents)
            if kind in relation.slots or kind == relation.value
        ]  # fmt: skip
        if not relations:
            return None
        relation = self.random.choice(relations)
        places = [*relation.slots, relation.value]
        at = self.random.choice([i for i, slot in enumerate(places) if slot == kind])
        terms = [name if i == at else self.asked(slot) for i, slot in enumerate(places) if slot]
        if relation.value is None:
            return f"happensAt({relation.text(terms)}, T)"
        return f"holdsAt({relation.text(terms[:-1], terms[-1])}, T)"
