"""Random programs that mostly fit lanes: one key, few values, everything that rows can say."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

FACTS = """
kind(red, warm). kind(green, cold). kind(blue, cold).
big(x1). big(x3). item(x1). item(x2). limit(x1, 1). limit(x2, 2).
least(3). least(6). shade(u). shade(v).
"""
KEYS = ("x1", "x2", "x3")
COLOURS = ("red", "green", "blue")
VALUES = ("u", "v", "w")


@dataclass
class LaneAuthor:
    """Writes one program and records for it."""

    random: Random
    clauses: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=lambda: ["a(X)", "b(X, {n})", "c(X, {k})", "d(X)"])
    fluents: list[tuple[str, str]] = field(default_factory=list)
    """Simple fluents so far: with a family or without, and what they may be asked."""
    statics: list[str] = field(default_factory=list)
    opens: list[tuple[str, bool]] = field(default_factory=list)
    """Fluents that take any value, and whether their values are numbers."""
    has_open_values: bool = False

    def program(self) -> str:
        """The text of a program of two to six definitions."""
        random = self.random
        if not self.has_open_values and random.random() < 0.2:
            self.clauses.append(":- ties(initiation).")
        if not self.has_open_values and random.random() < 0.15:
            self.clauses.append(":- dialect(rtec).")
        for number in range(random.randint(2, 6)):
            roll = random.random()
            if self.has_open_values and (roll < 0.4 or not self.opens):
                self._open_fluent(number)
            elif roll < 0.6 or not self.fluents:
                self._fluent(number)
            elif roll < 0.78:
                self._event(number)
            else:
                self._static(number)
        return "\n".join(self.clauses) + FACTS

    def stream(self) -> list[str]:
        """Some records, several at most points."""
        random = self.random
        lines = []
        for _ in range(random.randint(8, 40)):
            time, name = random.randint(1, 24), random.choice("aabbbcccd")
            args = [random.choice(KEYS)]
            args += [str(random.randint(0, 3))] if name == "b" else []
            args += [random.choice((*COLOURS, "grey"))] if name == "c" else []
            lines.append("|".join([name, str(time), str(time), *args]))
        return sorted(lines, key=lambda line: int(line.split("|")[1]))

    # -- definitions ------------------------------------------------------------------------

    def _fluent(self, number: int) -> None:
        random = self.random
        is_family = random.random() < 0.3
        head = f"f{number}(X, {{k}})" if is_family else f"f{number}(X)"
        mine = (head, f"f{number}")
        reads = [*self.fluents, mine] if random.random() < 0.4 else list(self.fluents)
        for _ in range(random.randint(1, 3)):
            self._rule("initiatedAt", head, reads)
        for _ in range(random.randint(0, 2)):
            self._rule("terminatedAt", head, reads)
        if random.random() < 0.35:
            self._delay(head)
        if random.random() < 0.15:
            self.clauses.append(f"initially({self._about(head, 'x1')}={random.choice(VALUES)}).")
        if random.random() < 0.2:
            self.clauses.append(
                f"grounding({head.replace('{k}', 'K')}=V) :- item(X), shade(V)"
                + (", kind(K, _)." if is_family else ".")
            )
        self.fluents.append(mine)

    def _open_fluent(self, number: int) -> None:
        """A fluent whose value is what a record says, and rules that end it or set it otherwise."""
        random, head, is_number = self.random, f"o{number}(X)", self.random.random() < 0.5
        literal, name = ("b(X, N)", "N") if is_number else ("c(X, K)", "K")
        self.opens.append((head, is_number))
        for _ in range(random.randint(1, 2)):
            known = {name}
            body = [f"happensAt({literal}, T)", *self._conditions(known)]
            self.clauses.append(f"initiatedAt({head}={name}, T) :- {', '.join(body)}.")
        if random.random() < 0.3:
            body, _ = self._body(self.fluents)
            value = "1" if is_number else "red"
            self.clauses.append(f"initiatedAt({head}={value}, T) :- {', '.join(body)}.")
        for _ in range(random.randint(0, 2)):
            if random.random() < 0.4:
                known = {name}
                body, value = [f"happensAt({literal}, T)", *self._conditions(known)], name
            else:
                body, _ = self._body(self.fluents)
                value = random.choice(("_", "2" if is_number else "green"))
            self.clauses.append(f"terminatedAt({head}={value}, T) :- {', '.join(body)}.")
        if random.random() < 0.1:
            self.clauses.append(
                f"initially({self._about(head, 'x1')}={1 if is_number else 'red'})."
            )

    def _conditions(self, known: set[str]) -> list[str]:
        count = self.random.choice((0, 0, 1, 2))
        return [self._condition(self.fluents, known) for _ in range(count)]

    def _open_condition(self, known: set[str]) -> str:
        """What a rule may ask of a fluent that takes any value."""
        random = self.random
        head, is_number = random.choice(self.opens)
        known_value, name = ("1", "N") if is_number else ("red", "K")
        old = f"Old{random.randint(0, 999)}"
        options = [f"holdsAt({head}={known_value}, T)", f"holdsAt({head}=_, T)"]
        options += [f"\\+ {each}" for each in options]
        if is_number:
            options += [f"holdsAt({head}={old}, T), {old} > 1"]
        else:
            options += [f"holdsAt({head}={old}, T), {old} \\= blue"]
        if name in known:
            options += [f"holdsAt({head}={name}, T)", f"\\+ holdsAt({head}={name}, T)"] * 2
            options += [f"holdsAt({head}={old}, T), {old} \\= {name}"] * 2
        if is_number and "N" in known:
            options += [
                f"holdsAt({head}={old}, T), {old} - N > 1",
                f"holdsAt({head}={old}, T), N >= {old}",
                f"holdsAt({head}={old}, T), D{old} is N - {old}, D{old} =\\= 1",
                f"holdsAt({head}={old}, T), least(R{old}), N + {old} > R{old}",
                f"holdsAt({head}={old}, T), limit(X, L{old}), {old} > L{old}",
                f"holdsAt({head}={old}, T), \\+ {old} < N",
            ]
        return random.choice(options)

    def _about(self, head: str, key: str) -> str:
        return head.replace("X", key).replace("{k}", self.random.choice(COLOURS))

    def _rule(self, word: str, head: str, reads: list[tuple[str, str]]) -> None:
        random = self.random
        body, known = self._body(reads)
        if "{k}" in head:
            colour = "K" if "K" in known else random.choice(COLOURS)
            if word == "terminatedAt" and random.random() < 0.3:
                colour = "_"
            head = head.replace("{k}", colour)
        value = random.choice(VALUES)
        if word == "terminatedAt" and random.random() < 0.3:
            value = "_"
        if "V" in known and random.random() < 0.5:
            value = "V"
        self.clauses.append(f"{word}({head}={value}, T) :- {', '.join(body)}.")

    def _delay(self, head: str) -> None:
        random = self.random
        pair = head.replace("{k}", "K")
        source, target = random.sample(VALUES, 2)
        delay, goals = str(random.randint(1, 7)), ""
        if random.random() < 0.3:
            delay, goals = "R", " :- least(R)"
        if random.random() < 0.5:
            self.clauses.append(f"fi({pair}={source}, {pair}={target}, {delay}){goals}.")
        else:
            self.clauses.append(f"ft({pair}={source}, {delay}){goals}.")
        if random.random() < 0.4:
            self.clauses.append(f"p({pair}={source}).")

    def _event(self, number: int) -> None:
        body, known = self._body(self.fluents)
        has_colour = "K" in known and self.random.random() < 0.6
        colour = "K" if has_colour else self.random.choice(COLOURS)
        is_family = self.random.random() < 0.4
        head = f"e{number}(X, {colour})" if is_family else f"e{number}(X)"
        self.clauses.append(f"happensAt({head}, T) :- {', '.join(body)}.")
        self.events.append(f"e{number}(X, {{k}})" if is_family else f"e{number}(X)")

    def _static(self, number: int) -> None:
        random = self.random
        names = [f"I{at}" for at in range(random.randint(2, 3))]
        body = [f"holdsFor({self._pair(random.choice(self.fluents)[0])}, {name})" for name in names]
        for other in self.statics[-1:]:
            body[0] = f"holdsFor({other}, I0)"
        if random.random() < 0.3:
            body.append("I0 \\= []")
        word = random.choice(("union_all", "intersect_all", "relative_complement_all"))
        rest = ", ".join(names[1:])
        body.append(
            f"relative_complement_all(I0, [{rest}], J)"
            if word == "relative_complement_all"
            else f"{word}([{', '.join(names)}], J)"
        )
        body.append(self._last())
        if random.random() < 0.25:
            body.append(random.choice(("big(X)", "\\+ big(X)", "limit(X, 1)")))
        self.clauses.append(f"holdsFor(s{number}(X)=true, I) :- {', '.join(body)}.")
        self.statics.append(f"s{number}(X)=true")

    def _last(self) -> str:
        roll = self.random.random()
        if roll < 0.2:
            return "least(R), intDurGreater(J, R, I)"
        if roll < 0.3:
            return "intDurLess(J, 4, I)"
        return "union_all([J], I)"

    # -- bodies -----------------------------------------------------------------------------

    def _body(self, reads: list[tuple[str, str]]) -> tuple[list[str], set[str]]:
        """Literals, the first of which is a trigger, and the variables they bind."""
        random = self.random
        known: set[str] = set()
        body = [self._trigger(known)]
        for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
            body.append(self._condition(reads, known))
        return body, known

    def _trigger(self, known: set[str]) -> str:
        random = self.random
        roll = random.random()
        if roll < 0.55 or not self.fluents:
            return self._happens(known)
        if roll < 0.62:
            return f"({self._happens(set())} ; {self._happens(set())})"
        pair = self._pair(random.choice(self.fluents)[0])
        if self.opens and random.random() < 0.3:
            head, is_number = random.choice(self.opens)
            pair = f"{head}={1 if is_number else 'red'}"
        if roll < 0.8:
            return f"happensAt({random.choice(('start', 'end'))}({pair}), T)"
        if self.statics and roll < 0.86:
            return f"happensAt({random.choice(('start', 'end'))}({self.statics[-1]}), T)"
        return f"{random.choice(('initiatedAt', 'initiatedAt', 'terminatedAt'))}({pair}, T)"

    def _happens(self, known: set[str]) -> str:
        return f"happensAt({self._event_term(known)}, T)"

    def _event_term(self, known: set[str]) -> str:
        random = self.random
        event = random.choice(self.events)
        if "{n}" in event:
            event = event.replace("{n}", random.choice(("_", "1", "2", "N")))
            known |= {"N"} if "N" in event else set()
        if "{k}" in event:
            term = random.choice(("_", "K", "K", *COLOURS))
            known |= {"K"} if term == "K" else set()
            event = event.replace("{k}", term)
        return event

    def _pair(self, head: str) -> str:
        random = self.random
        value = random.choice((*VALUES, "_"))
        return f"{head.replace('{k}', random.choice((*COLOURS, '_')))}={value}"

    def _condition(self, reads: list[tuple[str, str]], known: set[str]) -> str:
        random = self.random
        if self.opens and random.random() < 0.5:
            return self._open_condition(known)
        options = ["big(X)", "\\+ big(X)", "limit(X, 1)", "T > 6"]
        options += ["kind(K, cold)", "K \\= red", "kind(K, G), G = warm"] * ("K" in known)
        options += ["N > 1", "limit(X, N)", "\\+ N =:= 2"] * ("N" in known)
        if reads and random.random() < 0.7:
            head, _ = random.choice(reads)
            pair = self._pair(head)
            if random.random() < 0.15:
                pair, _ = f"{pair.rpartition('=')[0]}=V", known.add("V")
                return f"holdsAt({pair}, T)"
            if "K" in known and "{k}" in head and random.random() < 0.6:
                pair = f"{head.replace('{k}', 'K')}={random.choice(VALUES)}"
            negation = random.choice(("", "\\+ "))
            if random.random() < 0.1:
                return f"\\+ (holdsAt({pair}, T), {self._happens(set())})"
            return f"{negation}holdsAt({pair}, T)"
        if random.random() < 0.3:
            return f"\\+ {self._happens(set())}"
        if random.random() < 0.3:
            return self._happens(known)
        return random.choice(options)
