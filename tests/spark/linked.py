"""Random programs whose rules cross keys, and sparse streams for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import cernis
from cernis.errors import ProgramError
from cernis.program import Program

PEOPLE = [f"p{number}" for number in range(30)]
BUSES = [str(number) for number in range(12)]
POOLS = {"P": PEOPLE, "B": BUSES}
EVENTS = {"calls": "PP", "meets": "PP", "pings": "P", "rides": "PB", "stops": "B"}
FLUENTS = {"near": "PP"}
SIMPLE = {"calm": "P", "owes": "PP", "full": "B", "seat": "PB", "busy": "P"}
STATIC = {"free": "P", "safe": "PP"}


def program(random: Random) -> Program | None:
    """A random program with a stage that has links; None if it did not turn out so."""
    text = "\n".join(_clauses(random))
    try:
        found = cernis.load(text)
        stages = found.plan.stages
    except ProgramError:
        return None
    return found if any(stage.linked_by for stage in stages) else None


def _clauses(random: Random) -> list[str]:
    simple = random.sample(sorted(SIMPLE), random.randint(2, 3))
    found = []
    for at, name in enumerate(simple):
        author = _Author(random, simple, simple[:at])
        found.append(_plain_rule(name, random))
        for kind in ("terminatedAt", "initiatedAt", "terminatedAt")[: random.randint(1, 3)]:
            found.append(author.rule(kind, name))
        if random.random() < 0.3:
            args = ", ".join("XY"[: len(SIMPLE[name])])
            found.append(f"ft({name}({args})=true, {random.randint(2, 9)}).")
        if random.random() < 0.15:
            args = ", ".join(random.choice(POOLS[kind]) for kind in SIMPLE[name])
            found.append(f"initially({name}({args})=true).")
    if random.random() < 0.5:
        found.append(_Author(random, simple, simple).interval_rule())
    return found


def _plain_rule(name: str, random: Random) -> str:
    """Something has to hold before conditions on it mean anything."""
    shape = SIMPLE[name]
    event = random.choice(sorted(own for own in EVENTS if EVENTS[own] == shape))
    args = ", ".join("XY"[: len(shape)])
    return f"initiatedAt({name}({args})=true, T) :- happensAt({event}({args}), T)."


@dataclass
class _Author:
    """Writes rules whose variables are bound, most of them by what is there already."""

    random: Random
    simple: list[str]
    before: list[str]
    """What may be asked for at the very same point."""
    bound: dict[str, list[str]] = field(default_factory=dict)

    def rule(self, kind: str, name: str) -> str:
        random = self.random
        self.bound = {"P": [], "B": []}
        event = random.choice(sorted(EVENTS))
        body = [f"happensAt({self._atom(event, EVENTS[event])}, T)"]
        body += [self._literal() for _ in range(random.randint(1, 2))]
        if random.random() < 0.2:
            body.append(f"( {self._test()} ; {self._test()} )")
        if random.random() < 0.1:
            body.append(f"\\+ ( {self._test()}, {self._test()} )")
        if random.random() < 0.1:
            body.append(f"findall(T, {self._test()}, L), length(L, N), N < 1")
        head = self._atom(name, SIMPLE[name], new="_" if kind == "terminatedAt" else "")
        return f"{kind}({head}=true, T) :- {', '.join(body)}."

    def interval_rule(self) -> str:
        random = self.random
        self.bound = {"P": [], "B": []}
        shapes = {own: SIMPLE[own] for own in self.simple} | FLUENTS
        lists = [random.choice(sorted(shapes)) for _ in range(random.randint(2, 3))]
        body = [
            f"holdsFor({self._atom(own, shapes[own])}=true, I{at})" for at, own in enumerate(lists)
        ]
        names = ", ".join(f"I{at}" for at in range(len(lists)))
        last = random.choice((
            f"union_all([{names}], I)", f"intersect_all([{names}], I)",
            f"relative_complement_all(I0, [{names[4:]}], I)",
        ))  # fmt: skip
        name = random.choice(sorted(STATIC))
        head = self._atom(name, STATIC[name], new="")
        return f"holdsFor({head}=true, I) :- {', '.join(body)}, {last}."

    def _literal(self) -> str:
        return self._test() if self.random.random() < 0.4 else self._condition(None)

    def _test(self) -> str:
        """A condition that binds nothing."""
        return self.random.choice(("", "\\+ ")) + self._condition("_")

    def _condition(self, new: str | None) -> str:
        random = self.random
        roll = random.random()
        if roll < 0.3:
            event = random.choice(sorted(EVENTS))
            return f"happensAt({self._atom(event, EVENTS[event], new)}, T)"
        now = roll < 0.5
        name = random.choice([*(self.before if now else self.simple * 2), *FLUENTS])
        pair = f"{self._atom(name, (SIMPLE | FLUENTS)[name], new)}=true"
        if not now:
            return f"holdsAt({pair}, T)"
        if name in FLUENTS or roll < 0.4:
            return f"happensAt({random.choice(('start', 'end'))}({pair}), T)"
        return f"{random.choice(('initiatedAt', 'terminatedAt'))}({pair}, T)"

    def _atom(self, name: str, shape: str, new: str | None = None) -> str:
        """An atom; `new` stands where a variable would be new, None for a variable that is."""
        return f"{name}({', '.join(self._argument(kind, new) for kind in shape)})"

    def _argument(self, kind: str, new: str | None) -> str:
        random, bound = self.random, self.bound[kind]
        if random.random() < 0.01 or (new == "" and not bound):
            return random.choice(POOLS[kind])
        if bound and (new == "" or random.random() < 0.85):
            return random.choice(bound)
        if new is not None:
            return new
        bound.append(f"{kind}{len(bound)}")
        return bound[-1]


def stream(random: Random, count: int, retractions: bool = False) -> list[str]:
    """Random records; some late, and with retractions some taken back."""
    shapes = EVENTS | FLUENTS
    people = random.sample(PEOPLE, random.choice((5, 12, 30)))
    lines = []
    for _ in range(count):
        name = random.choice(sorted(shapes))
        time = random.randint(0, 14)
        arrival = time + random.choice((0, 0, 0, random.randint(0, 12)))
        args = [random.choice(people if kind == "P" else BUSES) for kind in shapes[name]]
        if name in FLUENTS:
            args = [str(time + random.randint(1, 15)), "true", *args]
        line = "|".join([str(time), *args])
        lines.append(f"{name}|{arrival}|{line}")
        if retractions and random.random() < 0.1:
            lines.append(f"-{name}|{arrival + random.randint(0, 15)}|{line}")
    return lines
