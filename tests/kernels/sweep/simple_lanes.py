"""Lanes by names, random ones, and what they mean: point by point, over dictionaries.

`SimpleLane` is what the semantics says and nothing more: it notes all initiations and breaks that
ever happened, and decides of every delayed effect from these notes. It knows no masks, no timers
and no tables, and shares no code with the kernels.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np

from cernis.kernels.sweep import lane_tables as lt
from tests.kernels.sweep.lane_parts import (
    NO_NAMES,
    Delay,
    Event,
    Fluent,
    Guard,
    LaneProgram,
    Names,
    OpenFluent,
    OpenRule,
    Rule,
    Static,
)
from tests.kernels.sweep.register_bits import RegisterBits

NEVER = int(np.iinfo(np.int64).max)


# -- what it means ---------------------------------------------------------------------------


@dataclass
class SimpleLane:
    """One key: what has happened to it up to a point, and what holds after that."""

    program: LaneProgram
    start: int = 0
    allowed: frozenset[str] | None = None
    since: dict[str, int] = field(default_factory=dict)
    closed: list[tuple[str, int, int]] = field(default_factory=list)
    signals: list[tuple[str, int]] = field(default_factory=list)
    initiations: list[tuple[str, int]] = field(default_factory=list)
    breaks: list[tuple[str, int]] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)
    last: int = -(2**60)

    def begin(self, initially: Iterable[str]) -> None:
        """What holds initially holds from the first point, and is initiated at the start."""
        for pair in initially:
            self.since[pair] = self.start + self.program.tick
            if not self.program.is_rtec:
                self.initiations.append((pair, self.start))
        self._derive(self.start)

    def walk(self, records: Iterable[tuple[int, str]], query: int) -> None:
        """Let time pass up to the query, with what happens after the last point walked."""
        happens: dict[int, set[str]] = {}
        for time, event in records:
            if self.last < time <= query:
                happens.setdefault(time, set()).add(event)
        while True:
            points = [time for time in happens if time > self.last]
            points += [time for time in self._due_times() if self.last < time <= query]
            if not points:
                break
            point = min(points)
            self._point(point, happens.get(point, set()))
            self.last = point
        self.last = max(self.last, query)

    def change_allowed(self, allowed: frozenset[str], derives: bool) -> None:
        """Allow other pairs from the last point on; determined ones may be decided again there."""
        self.allowed = allowed
        if derives:
            self._derive(self.last)
            self.closed = [interval for interval in self.closed if interval[1] < interval[2]]

    def copy(self) -> SimpleLane:
        """Another lane that goes on from here."""
        return deepcopy(self)

    def intervals(self) -> list[tuple[str, int, int]]:
        """All intervals of all pairs, the open ones too."""
        return sorted([*self.closed, *((pair, since, NEVER) for pair, since in self.since.items())])

    # -- a point -----------------------------------------------------------------------------

    def _point(self, time: int, events: set[str]) -> None:
        before = set(self.since)
        for fluent in self.program.open_fluents:
            if self._held(fluent, before) not in (None, *fluent.named):
                before.add(fluent.other)
        payloads = self._payloads(events, before)
        fired = {event.partition(":")[0] for event in events} | payloads.keys()
        for definition in self.program.definitions:
            if isinstance(definition, Fluent):
                self._fluent(definition, time, fired, before)
            elif isinstance(definition, OpenFluent):
                self._open_fluent(definition, time, fired, before, payloads)
            elif isinstance(definition, Event):
                for rule in definition.rules:
                    if self._fires(rule, fired, before):
                        fired.add(rule.head)
                        if (rule.head, time) not in self.signals:
                            self.signals.append((rule.head, time))
            else:
                self._static(definition, time)

    def _fluent(self, fluent: Fluent, time: int, fired: set[str], before: set[str]) -> None:
        rules = [rule for rule in fluent.rules if self._fires(rule, fired, before)]
        by_rules = {rule.head for rule in rules if rule.kind == "init"}
        initiated, terminated = set(by_rules), {r.head for r in rules if r.kind == "term"}
        for delay in fluent.delays:
            is_moved = self.program.is_rtec and delay.is_postponable and delay.source in by_rules
            if not is_moved and self._is_due(delay, time):
                if delay.target is None:
                    terminated.add(delay.source)
                else:
                    initiated.add(delay.target)
        broken = {p for p in fluent.pairs if p in terminated or initiated - {p}}
        counted = initiated if self.program.ties == "initiation" else initiated - broken
        if len(initiated) > 1:
            self.conflicts.append(time)
        allowed = {p for p in initiated if self.allowed is None or p in self.allowed}
        self.initiations += [(pair, time) for pair in allowed]
        self.breaks += [(pair, time) for pair in broken]
        for pair in fluent.pairs:
            holds = pair in counted & allowed or (pair in before and pair not in broken)
            self._set(pair, holds, time)

    # -- fluents that take any value ---------------------------------------------------------

    def _held(self, fluent: OpenFluent, before: set[str]) -> int | None:
        values = [p.partition("=")[2] for p in before if p.startswith(f"{fluent.name}=")]
        return next((int(value) for value in values if value != "other"), None)

    def _payloads(self, events: set[str], before: set[str]) -> dict[str, set[int]]:
        """The payloads of the records that fire an event or a guard."""
        payloads: dict[str, set[int]] = {}
        for event, _, value in (event.partition(":") for event in events if ":" in event):
            payloads.setdefault(event, set()).add(int(value))
        by_name = {fluent.name: fluent for fluent in self.program.open_fluents}
        for guard in self.program.guards:
            held = self._held(by_name[guard.fluent], before)
            for value in payloads.get(guard.event, set()):
                if _meets(guard, held, value):
                    payloads.setdefault(guard.name, set()).add(value)
        return payloads

    def _open_fluent(
        self,
        fluent: OpenFluent,
        time: int,
        fired: set[str],
        before: set[str],
        payloads: dict[str, set[int]],
    ) -> None:
        held = self._held(fluent, before)
        initiated: set[int] = set()
        terminated: set[int] = set()
        for each in fluent.rules:
            if not self._fires(each.rule, fired, before):
                continue
            values = initiated if each.rule.kind == "init" else terminated
            if each.value == "any":
                values |= {*initiated, *({held} - {None}), -1}
            elif each.value == "payload":
                values |= payloads[next(iter(each.rule.any))]
            else:
                values.add(int(each.value))
        counted = initiated - terminated if len(initiated) == 1 and -1 not in terminated else set()
        if len(initiated) > 1:
            self.conflicts.append(time)
        counted = {v for v in counted if self._allows_value(fluent, v)}
        is_broken = bool(initiated - {held}) or held in terminated or len(initiated) > 1
        for value in {*counted, *({held} - {None})}:
            holds = value in counted or (value == held and not is_broken)
            self._set(f"{fluent.name}={value}", holds, time)

    def _allows_value(self, fluent: OpenFluent, value: int) -> bool:
        is_named = value in fluent.named
        return not is_named or self.allowed is None or f"{fluent.name}={value}" in self.allowed

    def _static(self, static: Static, time: int) -> None:
        is_met = any(
            all(pair in self.since for pair in pos) and not any(pair in self.since for pair in neg)
            for pos, neg in static.terms
        )
        is_allowed = self.allowed is None or static.pair in self.allowed
        self._set(static.pair, is_met and is_allowed, time)

    def _derive(self, time: int) -> None:
        for definition in self.program.definitions:
            if isinstance(definition, Static):
                self._static(definition, time)

    def _set(self, pair: str, holds: bool, time: int) -> None:
        if holds and pair not in self.since:
            self.since[pair] = time + self.program.tick
        elif not holds and pair in self.since:
            self.closed.append((pair, self.since.pop(pair), time + self.program.tick))

    def _fires(self, rule: Rule, fired: set[str], before: set[str]) -> bool:
        begun = {pair for pair in rule.starts if pair in self.since and pair not in before}
        ended = {pair for pair in rule.ends if pair in before and pair not in self.since}
        is_triggered = bool(rule.any & fired or begun or ended)
        if not rule.any | rule.starts | rule.ends:
            is_triggered = True
        return (
            is_triggered
            and rule.all <= fired
            and not rule.none & fired
            and rule.pos <= before
            and not rule.neg & before
        )

    # -- delayed effects ---------------------------------------------------------------------

    def _due_times(self) -> list[int]:
        return [
            time + delay.delay
            for delay in self.program.delays
            for pair, time in self.initiations
            if pair == delay.source and not self._is_cancelled(delay, time, time + delay.delay)
        ]

    def _is_due(self, delay: Delay, time: int) -> bool:
        return any(
            pair == delay.source
            and point + delay.delay == time
            and not self._is_cancelled(delay, point, time)
            for pair, point in self.initiations
        )

    def _is_cancelled(self, delay: Delay, point: int, due: int) -> bool:
        if any(pair == delay.source and point < time < due for pair, time in self.breaks):
            return True
        return delay.is_postponable and any(
            pair == delay.source and point < time < due for pair, time in self.initiations
        )


def _meets(guard: Guard, held: int | None, value: int) -> bool:
    if guard.kind == "not same":
        return held != value
    if held is None:
        return False
    if guard.kind == "more":
        return held - value > guard.least
    return (held == value) == (guard.kind == "same")


# -- as tables -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedTables:
    """The tables of a lane, and the bits of its names."""

    tables: lt.LaneTables
    fired: Mapping[str, int]
    state: Mapping[str, int]
    program: LaneProgram

    def fired_word(self, events: Iterable[str]) -> int:
        """The word of some events."""
        names = {name for event in events for name in RegisterBits(self.program).of_record(event)}
        return sum(1 << self.fired[name] for name in names)

    def state_word(self, pairs: Iterable[str]) -> int:
        """The word of some pairs."""
        return sum(1 << self.state[pair] for pair in set(pairs))


def tables_of(program: LaneProgram, hidden: Iterable[str] = ()) -> NamedTables:
    """What a planner would make of a program; `hidden` pairs and signals are not reported."""
    dues = [f"due {delay.source}" for delay in program.delays]
    armed = [f"armed {delay.source}" for delay in program.delays]
    bits = RegisterBits(program)
    happenings = [*program.events, *program.signals, *dues, *bits.fired]
    fired = {name: bit for bit, name in enumerate(happenings)}
    state = {name: bit for bit, name in enumerate([*program.pairs, *armed, *bits.state])}
    rows: list[list[int]] = []
    first_row = [0]

    def mask(names: Iterable[str], bits: Mapping[str, int]) -> int:
        return sum(1 << bits[name] for name in names)

    def add(
        op: int, rule: Rule | None = None, init: int = 0, term: int = 0, signal: int = 0
    ) -> None:
        r = rule or Rule("", "")
        events = [mask(names, fired) for names in (r.any, r.all, r.none)]
        pairs = [mask(names, state) for names in (r.starts, r.ends, r.pos, r.neg)]
        rows.append([op, *events, *pairs, init, term, signal])

    for definition in program.definitions:
        if isinstance(definition, Fluent):
            for rule in definition.rules:
                bit = 1 << state[rule.head]
                add(lt.RULE, rule, *((bit, 0) if rule.kind == "init" else (0, bit)))
            for delay in definition.delays:
                due = Rule("", "", any=frozenset({f"due {delay.source}"}))
                if delay.target is None:
                    add(lt.RULE, due, 0, 1 << state[delay.source])
                else:
                    add(lt.RULE, due, 1 << state[delay.target])
            add(lt.COMMIT, None, mask(definition.pairs, state))
        elif isinstance(definition, OpenFluent):
            for rule, init, term, signal in bits.rows(definition):
                add(lt.RULE, rule, mask(init, state), mask(term, state), mask(signal, fired))
            add(lt.COMMIT, None, mask(bits.group(definition), state))
        elif isinstance(definition, Event):
            for rule in definition.rules:
                add(lt.RULE, rule, 0, 0, 1 << fired[rule.head])
        else:
            for pos, neg in definition.terms:
                add(lt.TERM, Rule("", "", pos=pos, neg=neg))
            add(lt.DERIVE, None, 1 << state[definition.pair])
        first_row.append(len(rows))
    blocks, firsts = np.array(rows, np.uint64).reshape(-1, 11), np.array(first_row, np.int64)
    delays = [
        [
            state[each.source],
            each.delay,
            fired[due],
            state[arm],
            int(each.is_postponable),
            int(each.is_postponable and program.is_rtec),
        ]
        for each, due, arm in zip(program.delays, dues, armed, strict=True)
    ]
    tables = lt.LaneTables(
        blocks,
        firsts,
        *lt.touched_blocks(blocks, firsts),
        np.array(delays, np.int64).reshape(-1, 6),
        np.uint64(mask((set(program.pairs) | set(bits.others)) - set(hidden), state)),
        np.uint64(mask(set(program.signals) - set(hidden), fired)),
        int(program.ties == "initiation"),
        program.tick,
        bits.tables(fired, state),
    )
    return NamedTables(tables, fired, state, program)


# -- at random -------------------------------------------------------------------------------


def random_program(r: random.Random, has_registers: bool = False) -> LaneProgram:
    """Some fluents over a few events, with delays, derived events and determined pairs between."""
    events = tuple(f"e{number}" for number in range(r.randint(3, 6)))
    if has_registers:
        return _random_open_program(r, events)
    tick = r.choice([1, 1, 1, 3])
    below: list[str] = []
    signals: list[str] = []
    definitions: list[Fluent | Static | Event] = []
    for number in range(r.randint(2, 5)):
        kind = r.random()
        if below and kind < 0.2:
            terms = tuple(
                (_some(r, 0.4, below), _some(r, 0.15, below)) for _ in range(r.randint(1, 2))
            )
            terms = tuple((pos, neg - pos) for pos, neg in terms)
            definitions.append(Static(f"s{number}", terms))
            below.append(f"s{number}")
        elif kind < 0.4:
            signal = f"d{number}"
            rules = [
                _random_rule(r, "signal", signal, events, signals, below, ())
                for _ in range(r.randint(1, 2))
            ]
            definitions.append(Event(tuple(rules)))
            signals.append(signal)
        else:
            pairs = tuple(f"f{number}v{value}" for value in range(r.randint(1, 3)))
            fluent = _random_fluent(r, pairs, events, signals, below, tick)
            definitions.append(fluent)
            below += pairs
    if not below:
        return random_program(r)
    ties = r.choice(["break", "break", "initiation"])
    return LaneProgram(events, tuple(signals), tuple(definitions), ties, r.random() < 0.3, tick)


def _random_open_program(r: random.Random, events: tuple[str, ...]) -> LaneProgram:
    """One or two fluents of any value, guards, and a program around them that reads both."""
    events = (*events[:3], "p0", "p1")
    names = [f"r{number}" for number in range(r.choice([1, 1, 2]))]
    kinds = ("same", "other", "not same", "more")
    guards = tuple(
        Guard(f"g{n}", r.choice(["p0", "p1"]), r.choice(names), r.choice(kinds), r.randint(-1, 2))
        for n in range(r.randint(0, 3 - len(names)))
    )
    carriers = ["p0", "p1", *(guard.name for guard in guards)]
    happenings = (*events, *(guard.name for guard in guards))
    below: list[str] = []
    definitions: list[Fluent | Static | Event | OpenFluent] = []
    for name in names:
        named = tuple(range(r.randint(0, 2)))
        if r.random() < 0.6:
            pairs = tuple(f"f{name}v{value}" for value in range(r.randint(1, 2)))
            plain = [pair for pair in below if not pair.endswith("=other")]
            definitions.append(_random_fluent(r, pairs, happenings, [], plain, 1))
            below += pairs
        fluent = OpenFluent(name, named, ())
        asked = [*below, *fluent.pairs, fluent.other]
        rules = tuple(
            _random_open_rule(r, fluent, kind, carriers, happenings, asked)
            for kind in ("init", "init", "term")
            for _ in range(r.randint(1 if kind == "init" else 0, 2))
        )
        definitions.append(replace(fluent, rules=rules))
        below += asked
    pairs = tuple(f"fv{value}" for value in range(r.randint(1, 2)))
    plain = [pair for pair in below if not pair.endswith("=other")]
    definitions.append(_random_fluent(r, pairs, happenings, [], plain, 1))
    return LaneProgram(events, (), tuple(definitions), "break", False, 1, guards)


def _random_open_rule(
    r: random.Random,
    fluent: OpenFluent,
    kind: str,
    carriers: list[str],
    happenings: tuple[str, ...],
    asked: list[str],
) -> OpenRule:
    value: int | str = r.choice(["payload", "payload", *fluent.named])
    if kind == "term" and r.random() < 0.3:
        value = "any"
    trigger = r.choice(carriers if value == "payload" else list(happenings))
    none = frozenset({r.choice(happenings)}) if r.random() < 0.15 else NO_NAMES
    rule = Rule(
        kind,
        "",
        any=frozenset({trigger}),
        none=none - {trigger},
        pos=_some(r, 0.1, asked),
        neg=_some(r, 0.1, asked),
    )
    return OpenRule(rule, value)


def _random_fluent(
    r: random.Random,
    pairs: tuple[str, ...],
    events: tuple[str, ...],
    signals: list[str],
    below: list[str],
    tick: int,
) -> Fluent:
    rules = [
        _random_rule(r, kind, pair, events, signals, below, pairs)
        for pair in pairs
        for kind in ("init", "term")
        for _ in range(r.randint(1 if kind == "init" else 0, 2))
    ]
    delays = [
        Delay(pair, tick * r.randint(1, 9), None if to == pair else to, r.random() < 0.5)
        for pair in pairs
        for to in [r.choice(pairs)]
        if r.random() < 0.5
    ]
    return Fluent(pairs, tuple(rules), tuple(delays))


def _random_rule(
    r: random.Random,
    kind: str,
    head: str,
    events: tuple[str, ...],
    signals: list[str],
    below: list[str],
    pairs: tuple[str, ...],
) -> Rule:
    happenings = [*events, *signals]
    masks: dict[str, Names] = {"any": frozenset({r.choice(happenings)})}
    if below and r.random() < 0.3:
        masks = {r.choice(["starts", "ends"]): frozenset({r.choice(below)})}
    elif r.random() < 0.15:
        masks = {"all": frozenset(r.sample(happenings, min(2, len(happenings))))}
    if r.random() < 0.2:
        masks["none"] = frozenset({r.choice(happenings)})
    return Rule(
        kind,
        head,
        pos=_some(r, 0.1, [*below, *pairs]),
        neg=_some(r, 0.1, [*below, *pairs]),
        **masks,
    )


def _some(r: random.Random, share: float, names: Iterable[str]) -> Names:
    return frozenset(name for name in names if r.random() < share)
