"""Random programs over linked instances: tuples of merchants, consumers and goods, and parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from cernis.plan.builder import Plan
from cernis.plan.linked.linked_fits import with_linked
from cernis.plan.sweep.fits import SweepSearch

MERCHANTS, CONSUMERS, GOODS = ("m1", "m2"), ("c1", "c2"), ("g1", "g2")
VALUES = ("u", "v")
FACTS = """
known(m1). known(c2). cheap(g1). wait(short, 2). wait(long, 5). shade(u). shade(v).
merchant(m1). merchant(m3). consumer(c1). consumer(c2). good(g1).
"""
EVENTS = ("offer(M, C, G)", "take(C, M, G)", "meet(M, C)", "strike(M)", "cry(C)", "sale(M, G)")
FLUENTS = ("f(M, C, G)", "g(C, G, M)", "d(M, C)", "e(C, M)", "s(M)", "s2(M, G)", "k(C)", "all")


def tuple_of(term: str) -> frozenset[str]:
    """The variables of a fluent or event."""
    return frozenset(name for name in "MCG" if f"{name}" in term.partition("(")[2])


@dataclass
class LinkedAuthor:
    """Writes one program and records for it."""

    random: Random
    clauses: list[str] = field(default_factory=list)
    fluents: list[str] = field(default_factory=list)

    def program(self) -> str:
        """The text of a program of some fluents that may all ask for each other."""
        random = self.random
        if random.random() < 0.3:
            self.clauses.append(":- ties(initiation).")
        if random.random() < 0.15:
            self.clauses.append(":- dialect(rtec).")
        self.fluents = random.sample(FLUENTS, random.randint(2, 5))
        for fluent in self.fluents:
            for value in VALUES[: random.randint(1, 2)] + VALUES[:1]:
                self._rule("initiatedAt", fluent, value)
            for _ in range(random.randint(0, 2)):
                self._rule("terminatedAt", fluent, random.choice((*VALUES, "_")))
            if random.random() < 0.5:
                self._delay(fluent)
            if random.random() < 0.15:
                self.clauses.append(f"initially({_ground(fluent)}={random.choice(VALUES)}).")
        if random.random() < 0.3:
            self._groundings()
        if random.random() < 0.3:
            self._event()
        if random.random() < 0.6:
            self._static()
        return "\n".join(self.clauses) + "\n" + FACTS

    def stream(self, lag: int = 0, markets: int = 1) -> list[str]:
        """Some records, several at most points; some arrive late, some are taken back.

        Each is of one market; those of different markets have no entities in common.
        """
        random, lines = self.random, []
        for _ in range(random.randint(10, 60) * (1 + markets // 2)):
            market = f"_{random.randrange(markets)}" if markets > 1 else ""
            market = "" if market == "_0" else market
            time, event = random.randint(1, 30), random.choice(EVENTS)
            arrival = time + (random.choice((0, 0, lag)) if lag else 0)
            name, _, args = event[:-1].partition("(")
            values = [random.choice(_DOMAINS[arg]) + market for arg in args.split(", ")]
            lines.append("|".join([name, str(arrival), str(time), *values]))
            if lag and random.random() < 0.15:
                again = arrival + random.randint(1, lag)
                lines.append("|".join([f"-{name}", str(again), str(time), *values]))
        return sorted(lines, key=lambda line: int(line.split("|")[1]))

    # -- definitions ------------------------------------------------------------------------

    def _rule(self, word: str, fluent: str, value: str) -> None:
        body = self._body(tuple_of(fluent), self.fluents[: self.fluents.index(fluent)])
        if body is not None:
            self.clauses.append(f"{word}({fluent}={value}, T) :- {', '.join(body)}.")

    def _body(self, needed: frozenset[str], earlier: list[str]) -> list[str] | None:
        """A trigger that names all that is needed, and conditions on parts of what it names.

        Only changes of earlier fluents are triggers, so that no point depends on itself.
        """
        random = self.random
        options = [event for event in EVENTS if tuple_of(event) >= needed]
        happening = [f"happensAt({event}, T)" for event in options]
        for fluent in earlier:
            if tuple_of(fluent) >= needed:
                pair = f"{fluent}={random.choice(VALUES)}"
                happening.append(f"initiatedAt({pair}, T)")
                if random.random() < 0.3:
                    happening.append(f"happensAt({random.choice(('start', 'end'))}({pair}), T)")
        if not happening:
            return None
        trigger = random.choice(happening)
        names = frozenset(name for name in "MCG" if name in trigger.replace("initiatedAt", ""))
        body = [trigger]
        for _ in range(random.choice((0, 1, 1, 2))):
            body.append(self._condition(names, needed))
        return body

    def _condition(self, names: frozenset[str], needed: frozenset[str]) -> str:
        random = self.random
        fluents = [fluent for fluent in self.fluents if tuple_of(fluent) <= names]
        if fluents and random.random() < 0.75:
            pair = f"{random.choice(fluents)}={random.choice(VALUES)}"
            return f"{random.choice(('', chr(92) + '+ '))}holdsAt({pair}, T)"
        if random.random() < 0.4:
            others = [event for event in EVENTS if needed <= tuple_of(event) <= names]
            if others:
                return f"\\+ happensAt({random.choice(others)}, T)"
        tests = [f"known({name})" for name in "MC" if name in names]
        tests += ["cheap(G)"] if "G" in names else []
        return random.choice(tests or ["wait(short, _)"])

    def _delay(self, fluent: str) -> None:
        random = self.random
        source, target = random.sample(VALUES, 2)
        delay, goals = random.choice((("3", ""), ("R", " :- wait(long, R)"), ("1", "")))
        if random.random() < 0.6:
            self.clauses.append(f"fi({fluent}={source}, {fluent}={target}, {delay}){goals}.")
        else:
            self.clauses.append(f"ft({fluent}={source}, {delay}){goals}.")
        if random.random() < 0.4:
            self.clauses.append(f"p({fluent}={source}).")

    def _groundings(self) -> None:
        """Some fluents exist for traders only, and who strikes is one."""
        fluent = self.random.choice(self.fluents)
        goals = [_DOMAIN_GOALS[name] for name in "MCG" if name in tuple_of(fluent)]
        if self.random.random() < 0.5:
            goals = [goal.replace("merchant", "trader") for goal in goals]
            self.clauses.append(":- dynamic trader/1.")
            self.clauses.append("grounding(strike(M)) :- trader(M).")
        value = self.random.choice(("V", "u"))
        goals += ["shade(V)"] if value == "V" else []
        goals = goals or ["wait(short, _)"]
        self.clauses.append(f"grounding({fluent}={value}) :- {', '.join(goals)}.")

    def _event(self) -> None:
        body = self._body(frozenset("M"), self.fluents)
        if body is not None:
            self.clauses.append(f"happensAt(alarm(M), T) :- {', '.join(body)}.")

    def _static(self) -> None:
        largest = max(self.fluents, key=lambda fluent: len(tuple_of(fluent)))
        others = [each for each in self.fluents if tuple_of(each) <= tuple_of(largest)]
        smaller = [each for each in others if tuple_of(each) < tuple_of(largest)] or others
        one, two = self.random.choice(smaller), self.random.choice(others)
        args = ", ".join(sorted(tuple_of(largest)))
        if args:
            self.clauses.append(
                f"open({args})=true iff "
                + self.random.choice((
                    f"{largest}=u, not {one}=v",
                    f"({largest}=u or {largest}=v), not {one}=u, not {two}=v",
                    f"{largest}=u, ({one}=u or {two}=v)",
                ))
                + "."
            )  # fmt: skip
            if self.random.random() < 0.4:
                self.clauses.append(f"wide({args})=true iff open({args})=true, not {two}=u.")


_DOMAIN_GOALS = {"M": "merchant(M)", "C": "consumer(C)", "G": "good(G)"}
_DOMAINS = {"M": MERCHANTS, "C": CONSUMERS, "G": GOODS}


def _ground(fluent: str) -> str:
    for name, values in _DOMAINS.items():
        fluent = fluent.replace(name, values[0])
    return fluent


def walk_all_over_links(plan: Plan) -> bool:
    """Let a plan walk over links all that can be, in cycles or not; is there anything?"""
    search = SweepSearch(plan.stages, plan.checked, plan.knowledge)
    plans = tuple(search.plan(stage) for stage in plan.stages)
    for name in ("lanes", "linked", "walked"):
        plan.__dict__.pop(name, None)
    plan.__dict__["sweep"] = with_linked(plans, plan.stages, search, only_cycles=False)
    return bool(plan.linked)
