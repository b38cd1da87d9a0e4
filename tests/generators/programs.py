"""Random programs: input, background knowledge and a few definitions, each over those before it.

Everything the engine has is in them, event patterns left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import cernis
from cernis.errors import ProgramError
from cernis.program import Program
from tests.generators.bodies import Below, Body
from tests.generators.statics import RELATIONS, StaticRule
from tests.generators.vocabulary import (
    BASES,
    CONSTANTS,
    EVENTS,
    FACTS,
    FLUENTS,
    Predicate,
    Signature,
    background,
    chance,
    flat,
)

SLOTS = ("person", "person", "person", "colour", "number")
_RELATION = rf"allen\(|\b({'|'.join(RELATIONS)})\("
VALUES = ("truth", "truth", "truth", "colour", "number", "person")


@dataclass(frozen=True)
class Text:
    """A program as clauses, one a string, and the input it is about."""

    clauses: tuple[str, ...]
    events: tuple[Signature, ...] = ()
    fluents: tuple[Signature, ...] = ()
    tick: int = 1
    base: int = 0
    """The point before the first at which something may happen."""

    def __str__(self) -> str:
        return "\n".join(self.clauses) + "\n"


@dataclass
class Author:
    """Writes one program."""

    random: Random
    tick: int = 1
    clauses: list[str] = field(default_factory=list)
    domains: dict[str, str] = field(default_factory=dict)
    constants: Mapping[str, Sequence[str]] = field(default_factory=lambda: CONSTANTS)

    def program(self) -> Text:
        """A program of one to five definitions. It may turn out not to check."""
        random = self.random
        self.tick = random.choice((1, 1, 1, 1, 2, 3, 10, 40))
        base = random.choice(BASES)
        events = random.sample(EVENTS, random.randint(2, 4))
        fluents = random.sample(FLUENTS, random.randint(0, 2))
        self.below = Below(list(events), list(fluents), tick=self.tick, base=base)
        self.below.constants = self.constants
        self._directives(fluents)
        for number in range(random.randint(1, 5)):
            self._definition(number)
        self._domains([*events, *fluents])
        self.clauses += background(sorted(self.below.predicates, key=_name), random, self.constants)
        self._memory()
        self._dialect()
        return Text(tuple(self.clauses), tuple(events), tuple(fluents), self.tick, base)

    def _directives(self, fluents: list[Signature]) -> None:
        if self.tick != 1:
            self.clauses.append(f":- tick({self.tick}).")
        if chance(self.random, 0.15):
            self.clauses.append(":- ties(initiation).")
        for fluent in fluents:
            pair = fluent.text(["_" for _ in fluent.slots], "_")
            if fluent.shape == "intervals" and chance(self.random, 0.5):
                self.clauses.append(f"collectIntervals({pair}).")
            if fluent.shape == "points" and chance(self.random, 0.5):
                self.clauses.append(f"{self.random.choice(('points', 'buildFromPoints'))}({pair}).")

    def _memory(self) -> None:
        """How far back relations between intervals see, in some of the programs that have any."""
        text = "\n".join(self.clauses)
        if re.search(_RELATION, text):
            far = Random(text).choice((0, "inf", *(self.tick * n for n in (1, 3, 6, 12))))
            self.clauses.append(f":- memory({far}).")

    def _dialect(self) -> None:
        """Some programs are read as RTEC reads them.

        Not those with several clauses for one fluent: RTEC tells which of them count for pairs
        that grounding names, and has no others.
        """
        heads = re.findall(r"^holdsFor\((\w+)", "\n".join(self.clauses), re.MULTILINE)
        is_chosen = chance(Random("\n".join(self.clauses)), 0.25)
        if is_chosen and len(heads) == len(set(heads)):
            self.clauses.append(":- dialect(rtec).")

    def _definition(self, number: int) -> None:
        roll = self.random.random()
        if roll < 0.2:
            self._event(number)
        elif roll < 0.28:
            self._cycle(number)
        elif roll < 0.6 or not self.below.fluents:
            self._simple(self._simple_signature(number))
        else:
            self._static(number)

    def _signature(self, number: int, kind: str, value: str | None) -> Signature:
        random = self.random
        slots = [random.choice(SLOTS) for _ in range(random.choice((0, 1, 1, 1, 2)))]
        return self._named(f"{kind}{number}", slots, value)

    def _named(self, name: str, slots: list[str], value: str | None) -> Signature:
        """The relation, now and then with all its arguments inside a compound term."""
        if slots and chance(self.random, 0.15):
            inside = ", ".join("{}" for _ in slots)
            return Signature(f"{name}(of({inside}))", tuple(slots), value)
        return flat(name, slots, value)

    # -- events -----------------------------------------------------------------------------

    def _event(self, number: int) -> None:
        relation = self._signature(number, "event", None)
        for _ in range(self.random.choice((1, 1, 2))):
            body = self._body()
            head = body.entity(relation, body.known)
            self.clauses.append(f"happensAt({head}, T) :- {', '.join(body.literals)}.")
        self.below.events.append(relation)

    def _body(self) -> Body:
        body = Body(self.random, self.below)
        body.trigger()
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 3))):
            body.condition()
        return body

    # -- simple fluents ---------------------------------------------------------------------

    def _simple_signature(self, number: int) -> Signature:
        return self._signature(number, "fluent", self.random.choice(VALUES))

    def _cycle(self, number: int) -> None:
        """One or two fluents that ask for what held of themselves and of each other."""
        relations = [self._simple_signature(number)]
        if chance(self.random, 0.5):
            relations.append(self._simple_signature(number + 10))
        self.below.mutual = relations
        for relation in relations:
            self._simple_rules(relation)
        self.below.mutual = []
        for relation in relations:
            self._is_defined(relation)

    def _simple(self, relation: Signature) -> None:
        self._simple_rules(relation)
        self._is_defined(relation)

    def _simple_rules(self, relation: Signature) -> None:
        is_grounded = chance(self.random, 0.15) and self._ground(relation)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            open_share = 0.3 if is_grounded else 0.04
            self._rule("initiatedAt", relation, open_share, denied_share=0.3 * is_grounded)
        for _ in range(self.random.randint(1 if relation.value == "truth" else 0, 2)):
            self._rule("terminatedAt", relation, 0.12, denied_share=0.3 * is_grounded)
        if chance(self.random, 0.12):
            self._initially(relation, open_share=0.5 if is_grounded else 0.0)
        if chance(self.random, 0.2):
            for _ in range(self.random.choice((1, 1, 2, 3))):
                self._delay(relation)

    def _is_defined(self, relation: Signature) -> None:
        """Later definitions may use it."""
        self.below.fluents.append(relation)
        self.below.simple.append(relation)

    def _delay(self, relation: Signature) -> None:
        """A delayed effect, postponable now and then, with a delay that may be computed."""
        assert relation.value is not None
        body = Body(self.random, self.below)
        args = [body.fresh(slot) for slot in relation.slots]
        before, after = self._two_values(relation.value)
        delay, computed = str(self.tick * self.random.randint(1, 7)), ""
        if "person" in relation.slots and chance(self.random, 0.3):
            person = args[relation.slots.index("person")]
            self.below.predicates.add(FACTS[1])
            delay, computed = "R", f" :- limit({person}, N), R is (N + 2) * {self.tick}"
        pair = relation.text(args, before)
        if chance(self.random, 0.5):
            self.clauses.append(f"fi({pair}, {relation.text(args, after)}, {delay}){computed}.")
        else:
            self.clauses.append(f"ft({pair}, {delay}){computed}.")
        if chance(self.random, 0.4) and f"p({pair})." not in self.clauses:
            self.clauses.append(self._postponed(relation, args, before))

    def _postponed(self, relation: Signature, args: list[str], value: str) -> str:
        """Of all instances, of those with some argument, or of those that a body says."""
        # Drawn apart, so that the rest of a program stays what it was.
        random = Random(f"{relation} {len(self.clauses)}")
        own, body = list(args), ""
        if args and chance(random, 0.4):
            at = random.randrange(len(args))
            own[at] = random.choice(self.constants[relation.slots[at]])
        if "person" in relation.slots and chance(random, 0.25):
            self.below.predicates.add(FACTS[2])
            body = f" :- adult({own[relation.slots.index('person')]})"
        return f"p({relation.text(own, value)}){body}."

    def _two_values(self, kind: str) -> tuple[str, str]:
        if kind == "truth":
            return "true", "false"
        first, second = self.random.sample(self.constants[kind], 2)
        return first, second

    def _rule(self, kind: str, relation: Signature, open_share: float, denied_share: float) -> None:
        """A rule; some arguments of its head are open, or stand besides in a negation only."""
        body = self._body()

        def term(slot: str) -> str:
            if denied_share and chance(self.random, denied_share):
                return body.denied(slot)
            return "_" if chance(self.random, open_share) else body.known(slot)

        args = [term(slot) for slot in relation.slots]
        assert relation.value is not None
        value = body.known(relation.value)
        if kind == "terminatedAt" and relation.value != "truth" and chance(self.random, 0.15):
            value = "_"
        pair = relation.text(args, value)
        first, *rest = body.literals
        goals = ", ".join(body.literals)
        if first.startswith("happensAt(") and chance(self.random, 0.06):
            older = "initiates" if kind == "initiatedAt" else "terminates"
            event = first.removeprefix("happensAt(").removesuffix(", T)")
            end = f" :- {', '.join(rest)}." if rest else "."
            self.clauses.append(f"{older}({event}, {pair}, T){end}")
        elif chance(self.random, 0.06):
            self.clauses.append(f"{kind}({pair}, T1, T, T2) :- {goals}, T1 =< T, T < T2.")
        else:
            self.clauses.append(f"{kind}({pair}, T) :- {goals}.")

    def _initially(self, relation: Signature, open_share: float) -> None:
        body = Body(self.random, self.below)
        if chance(self.random, 0.5):
            body._background()

        def term(slot: str) -> str:
            return "_" if chance(self.random, open_share) else body.known(slot)

        head = body.entity(relation, term)
        end = f" :- {', '.join(body.literals)}." if body.literals else "."
        if chance(self.random, 0.2):
            self.clauses.append(f"initiatedAt({head}, _, -1, _){end}")
        else:
            self.clauses.append(f"initially({head}){end}")

    # -- statically determined fluents ------------------------------------------------------

    def _static(self, number: int) -> None:
        rule = StaticRule(self.random, self.below, self.tick)
        while len(rule.open) > 3:
            rule = StaticRule(self.random, self.below, self.tick)
        relation = self._static_signature(number, rule.kinds())
        if chance(self.random, 0.1):
            self._ground(relation)
        self.clauses += rule.clauses(relation)
        if chance(self.random, 0.25):
            another = StaticRule(self.random, self.below, self.tick)
            if another.fits(relation):
                self.clauses += another.clauses(relation)
        self.below.fluents.append(relation)

    def _static_signature(self, number: int, kinds: list[str]) -> Signature:
        """A fluent with room for values of all these types."""
        slots = list(kinds)
        value = self.random.choice(VALUES)
        if value in slots and chance(self.random, 0.7):
            slots.remove(value)
        if chance(self.random, 0.15):
            slots.append(self.random.choice(SLOTS))
        self.random.shuffle(slots)
        return self._named(f"static{number}", slots, value)

    # -- domains ----------------------------------------------------------------------------

    def _ground(self, relation: Signature) -> bool:
        """Grounding rules of a fluent; every argument and an open value have a domain."""
        body = Body(self.random, self.below)
        args = []
        for slot in relation.slots:
            args.append(body.fresh(slot))
            body.literals.append(f"{self._domain(slot)}({args[-1]})")
        assert relation.value is not None
        value = self.random.choice(self.constants[relation.value])
        if relation.value != "truth" and chance(self.random, 0.6):
            value = body.fresh(relation.value)
            body.literals.append(f"{self._domain(relation.value)}({value})")
        end = f" :- {', '.join(body.literals)}." if body.literals else "."
        self.clauses.append(f"grounding({relation.text(args, value)}){end}")
        return True

    def _domain(self, slot: str) -> str:
        self.domains.setdefault(slot, self.random.choice(("facts", "facts", "dynamic", "both")))
        return f"some_{slot}"

    def _domains(self, given: list[Signature]) -> None:
        for slot, kind in self.domains.items():
            name = f"some_{slot}"
            if kind != "dynamic":
                several = self.random.sample(self.constants[slot], self.random.randint(1, 2))
                self.clauses += [f"{name}({constant})." for constant in several]
            if kind == "facts":
                continue
            self.clauses.append(f"dynamicDomain({name}(_)).")
            for relation in given:
                if slot in relation.slots and chance(self.random, 0.7):
                    args = [f"X{at}" for at in range(len(relation.slots))]
                    at = relation.slots.index(slot)
                    entity = relation.text(args, None if relation.value is None else "_")
                    self.clauses.append(f"grounding({entity}) :- {name}(X{at}).")


def _name(predicate: Predicate) -> str:
    return predicate.name


def random_program(
    random: Random, constants: Mapping[str, Sequence[str]] = CONSTANTS
) -> tuple[Text, Program]:
    """A random program that checks; those that do not are thrown away."""
    while True:
        text = Author(random, constants=constants).program()
        try:
            program = cernis.load(str(text))
        except ProgramError:
            continue
        return _about(text, program), program


def _about(text: Text, program: Program) -> Text:
    """The text with the input relations that its rules do speak of."""
    named = {relation.name.partition("(")[0] for relation in (*program.events, *program.fluents)}
    return replace(
        text,
        events=tuple(relation for relation in text.events if relation.name in named),
        fluents=tuple(relation for relation in text.fluents if relation.name in named),
    )
