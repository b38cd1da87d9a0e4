"""The bits, rows and tables of fluents with any value, as a planner would write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from cernis.kernels import decide as machine
from cernis.kernels.sweep.registers import register_tables as rt
from tests.kernels.sweep.lane_parts import Guard, LaneProgram, OpenFluent, Rule


class RegisterBits:
    """The bits that fluents with any value need beside those of their pairs."""

    def __init__(self, program: LaneProgram) -> None:
        self.program = program
        fluents = program.open_fluents
        self.others = [fluent.other for fluent in fluents]
        self.state = [*(f"clash {fluent.name}" for fluent in fluents), *self.others]
        carriers = [*(e for e in program.events if e.startswith("p")),
                    *(guard.name for guard in program.guards)]  # fmt: skip
        self.fired = [guard.name for guard in program.guards]
        for fluent in fluents:
            splits = [f"{c}={v}@{fluent.name}" for c in carriers for v in self._values(fluent)]
            constants = [f"constant {pair}" for pair in fluent.pairs]
            self.fired += splits + [f"set {split}" for split in splits] + constants
            self.fired += [f"ended {c}@{fluent.name}" for c in carriers]
            self.fired += [f"clashing {fluent.name}", f"closing {fluent.name}"]

    def _values(self, fluent: OpenFluent) -> list[str]:
        return [*map(str, fluent.named), "other"]

    def of_record(self, event: str) -> list[str]:
        """What a record fires when it comes."""
        name, _, payload = event.partition(":")
        splits = [
            f"{name}={payload if int(payload) in fluent.named else 'other'}@{fluent.name}"
            for fluent in self.program.open_fluents
            if payload
        ]
        return [name, *splits]

    def group(self, fluent: OpenFluent) -> list[str]:
        return [*fluent.pairs, f"clash {fluent.name}", fluent.other]

    def rows(self, fluent: OpenFluent) -> Iterable[tuple[Rule, list[str], list[str], list[str]]]:
        """Rules with what they initiate, terminate and signal."""
        for each in fluent.rules:
            rule, pairs = each.rule, [*fluent.pairs, fluent.other]
            if each.value == "any":
                yield rule, [], pairs, []
            elif each.value == "payload":
                yield from self._payload_rows(fluent, rule)
            elif rule.kind == "init":
                pair = f"{fluent.name}={each.value}"
                yield rule, [pair], [], [f"constant {pair}"]
            else:
                yield rule, [], [f"{fluent.name}={each.value}"], []
        clashing, closing = (frozenset({f"{w} {fluent.name}"}) for w in ("clashing", "closing"))
        yield Rule("", "", any=clashing), [f"clash {fluent.name}"], [], []
        yield Rule("", "", any=closing), [], [fluent.other], []

    def _payload_rows(
        self, fluent: OpenFluent, rule: Rule
    ) -> Iterable[tuple[Rule, list[str], list[str], list[str]]]:
        (carrier,) = rule.any
        for value in self._values(fluent):
            split, pair = f"{carrier}={value}@{fluent.name}", f"{fluent.name}={value}"
            part = replace(rule, any=frozenset({split}))
            if rule.kind == "init":
                yield part, [pair], [], [f"set {split}"]
            elif value == "other":
                yield part, [], [], [f"ended {carrier}@{fluent.name}"]
            else:
                yield part, [], [pair], []

    def tables(self, fired: Mapping[str, int], state: Mapping[str, int]) -> rt.RegisterTables:
        """Payloads have the value, and then the value as a float."""
        registers, sources, guards = [], [], []
        for number, fluent in enumerate(self.program.open_fluents):
            group = sum(1 << state[name] for name in self.group(fluent))
            marks = [1 << fired[f"{word} {fluent.name}"] for word in ("clashing", "closing")]
            registers.append([state[fluent.other], group, *marks])
            for name, bit in fired.items():
                if name.startswith("set ") and name.endswith(f"@{fluent.name}"):
                    trigger = 1 << fired[name.removeprefix("set ")]
                    sources.append([number, 0, 1 << bit, trigger, 0, 0])
                elif name.startswith("ended ") and name.endswith(f"@{fluent.name}"):
                    carrier = name.removeprefix("ended ").partition("@")[0]
                    trigger = 1 << fired[f"{carrier}=other@{fluent.name}"]
                    sources.append([number, 1, 1 << bit, trigger, 0, 0])
                elif name.startswith(f"constant {fluent.name}="):
                    value = int(name.rpartition("=")[2])
                    sources.append([number, 0, 1 << bit, 0, 0, value])
        for number, guard in enumerate(self.program.guards):
            guards += self._guard_rows(guard, number, fired)
        return rt.RegisterTables(
            2, *(np.array(rows, np.uint64).astype(np.int64).reshape(-1, width)
                 for rows, width in ((registers, 4), (sources, 6), (guards, 4))),
            np.array([*(float(guard.least) for guard in self.program.guards), 1.0]),
        )  # fmt: skip

    def _guard_rows(self, guard: Guard, number: int, fired: Mapping[str, int]) -> list[list[int]]:
        names = [fluent.name for fluent in self.program.open_fluents]
        register = names.index(guard.fluent)
        held, same = [rt.IS_HELD, 0, register, 0], [rt.IS_SAME, 0, register, 0]
        begin, end = [machine.BEGIN, 0, 0, 0], [machine.NOT_ALL, 0, 0, 0]
        tests = {
            "same": [held, same],
            "other": [held, begin, same, end],
            "not same": [begin, held, same, end],
            "more": [
                held,
                [rt.LOAD_NUMBER, 0, register, rt.ROOM + len(self.program.guards)],
                [rt.LOAD_PAYLOAD, 1, 1, 0],
                [machine.SUBTRACT, 2, 0, 1],
                [machine.LESS, 0, rt.ROOM + number, 2],
            ],
        }[guard.kind]
        rows = []
        suffixes = [f"={v}@{f.name}" for f in self.program.open_fluents for v in self._values(f)]
        for suffix in ("", *suffixes):
            begins = [rt.GUARD, fired[f"{guard.event}{suffix}"], len(tests) + 1, 0]
            rows += [begins, *tests, [rt.SET, fired[f"{guard.name}{suffix}"], 0, 0]]
        return rows
