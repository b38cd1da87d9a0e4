"""The walk of a lane with rules like those of a vessel: from scratch, and in queries.

    python benchmarks/lanes.py [--events 1000000] [--keys 5000]

Records are signed words already; what is measured is placing them, walking, and telling changes.
Times are processor times, the best of several; `sorts` counts what `numpy.sort` takes for as many
integers.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from sorts import pin_sort

if __name__ == "__main__":
    pin_sort()

import numpy as np

import cernis
from cernis.evaluate.sweep.lane_state import LaneState
from tests.kernels.sweep.simple_lanes import (
    Delay,
    Fluent,
    LaneProgram,
    NamedTables,
    Names,
    Rule,
    Static,
    tables_of,
)

SEED = 7
ALL_ALLOWED = 2**64 - 1
SPAN = 86_400
WINDOWS = 16


def names(text: str) -> Names:
    return frozenset(text.split())


def init(pair: str, any: str = "", **masks: str) -> Rule:
    return Rule("init", pair, any=names(any), **{k: names(v) for k, v in masks.items()})


def term(pair: str, any: str = "", **masks: str) -> Rule:
    return Rule("term", pair, any=names(any), **{k: names(v) for k, v in masks.items()})


def vessel() -> LaneProgram:
    """Areas, gaps in communication, stops, speeds and manoeuvres: 27 pairs, two delays."""
    definitions: list[Fluent | Static] = []
    for number in range(4):
        area = f"in{number}"
        rules = (init(area, f"enter{number}"), term(area, f"leave{number} gap_start"))
        definitions.append(Fluent((area,), rules))

    def add(pairs: str, *rules: Rule, delays: tuple[Delay, ...] = ()) -> None:
        definitions.append(Fluent(tuple(pairs.split()), rules, delays))

    gap = "gap_near gap_far"
    add(gap, init("gap_near", "gap_start", pos="in0"), init("gap_far", "gap_start", neg="in0"),
        term("gap_near", "gap_end"), term("gap_far", "gap_end"))  # fmt: skip
    add("stop_near stop_far", init("stop_near", "stop_start", pos="in0"),
        init("stop_far", "stop_start", neg="in0"), term("stop_near", "stop_end"),
        term("stop_far", "stop_end"), term("stop_near", starts=gap),
        term("stop_far", starts=gap))  # fmt: skip
    for pair in ("slow", "changing"):
        add(pair, init(pair, f"{pair}_start"), term(pair, f"{pair}_end"), term(pair, starts=gap))
    add("fast", init("fast", "v_fast", pos="in1"), term("fast", "v_slow"), term("fast", ends="in1"))
    add("below normal above", *(init(pair, f"v_{pair}") for pair in ("below", "normal", "above")),
        *(term(pair, "v_still") for pair in ("below", "normal", "above")),
        *(term(pair, starts=gap) for pair in ("below", "normal", "above")))  # fmt: skip
    add("trawl_speed", init("trawl_speed", "v_trawl", pos="in3"), term("trawl_speed", "v_no_trawl"),
        term("trawl_speed", ends="in3"))  # fmt: skip
    add("trawling_on trawling_off", init("trawling_on", "turn_fishing", pos="in3"),
        term("trawling_on", ends="in3"),
        delays=(Delay("trawling_on", 600, "trawling_off", True),))  # fmt: skip
    add("sar_speed", init("sar_speed", "v_sar"), term("sar_speed", "v_no_sar"),
        term("sar_speed", starts=gap))  # fmt: skip
    add("sar_on sar_off", init("sar_on", "turn_sar"), init("sar_on", starts="changing"),
        term("sar_on", starts=gap), delays=(Delay("sar_on", 600, "sar_off", True),))  # fmt: skip
    add("tug", init("tug", "v_tug"), term("tug", "v_no_tug"), term("tug", starts=gap))
    under_way = tuple((names(pair), names("")) for pair in ("below", "normal", "above"))
    definitions.append(Static("under_way", under_way))
    add("drifting", init("drifting", "v_drift", pos="under_way"), term("drifting", "v_no_drift"),
        term("drifting", ends="under_way"))  # fmt: skip
    definitions.append(
        Static("moored", ((names("stop_far in2"), names("")), (names("stop_near"), names(""))))
    )
    definitions.append(Static("trawls", ((names("trawl_speed trawling_on"), names("")),)))
    definitions.append(Static("searches", ((names("sar_speed sar_on"), names("")),)))
    events = (
        [f"{kind}{number}" for kind in ("enter", "leave") for number in range(4)]
        + ["gap_start", "gap_end", "stop_start", "stop_end", "slow_start", "slow_end"]
        + [
            "changing_start",
            "changing_end",
            "turn_fishing",
            "turn_sar",
            "v_fast",
            "v_slow",
            "v_below",
            "v_normal",
        ]
        + ["v_above", "v_still", "v_trawl", "v_no_trawl", "v_sar", "v_no_sar", "v_tug", "v_no_tug"]
        + ["v_drift", "v_no_drift"]
    )
    return LaneProgram(tuple(events), (), tuple(definitions))


Batch = tuple[np.ndarray, np.ndarray, np.ndarray]


def batches(named: NamedTables, count: int, keys: int) -> list[Batch]:
    """Records by relation, each in the order of time: keys, times and fired words."""
    r = np.random.default_rng(SEED)
    found = []

    modes = r.integers(0, 2**31, (keys, 24))  # what a vessel does for an hour

    def add(share: float, words: np.ndarray, is_steady: bool = False) -> None:
        size = int(count * share)
        times, own = np.sort(r.integers(1, SPAN + 1, size)), r.integers(0, keys, size)
        if not is_steady:  # each vessel meets some of the relations only
            own = (own // 4 * 4 + (len(found) + r.integers(0, 2, size)) % 4) % keys
        mode = modes[own, (times - 1) * 24 // SPAN]
        kind = (own + r.integers(0, 2, size)) % len(words)
        found.append((own, times, words[mode % len(words) if is_steady else kind]))

    def word(text: str) -> int:
        return named.fired_word(text.split())

    speeds = ["still", "below", "normal", "above"]
    velocity = np.array([
        word(f"v_{speed} v_{'' if is_fast else 'no_'}sar v_no_tug v_no_trawl v_no_drift "
             f"v_{'fast' if is_fast else 'slow'}")
        for speed in speeds for is_fast in (0, 1)
    ], np.uint64)  # fmt: skip
    add(0.58, velocity, is_steady=True)
    for kind, share in (("enter", 0.06), ("leave", 0.06)):
        add(share, np.array([word(f"{kind}{n}") for n in range(4)], np.uint64))
    for event, share in (
        ("gap_start", 0.02), ("gap_end", 0.02), ("stop_start", 0.04), ("stop_end", 0.04),
        ("slow_start", 0.035), ("slow_end", 0.035), ("changing_start", 0.03),
        ("changing_end", 0.03),
    ):  # fmt: skip
        add(share, np.array([word(event)], np.uint64))
    add(0.05, np.array([word("turn_fishing"), word("turn_sar")], np.uint64))
    return found


def best(work: Callable[[], object], times: int = 7) -> float:
    found = []
    for _ in range(times):
        begins = time.process_time()
        work()
        found.append(time.process_time() - begins)
    return min(found)


def new_state(named: NamedTables, keys: int) -> LaneState:
    state = LaneState(named.tables)
    state.add_keys(np.zeros(keys, np.uint64), np.full(keys, ALL_ALLOWED, np.uint64))
    return state


def from_scratch(named: NamedTables, count: int, keys: int) -> None:
    records = batches(named, count, keys)
    events = sum(len(batch[0]) for batch in records)
    numbers = np.random.default_rng(SEED).integers(0, 2**62, events)
    sort = best(lambda: np.sort(numbers))
    states = [new_state(named, keys) for _ in range(8)]
    found = []

    def run() -> None:
        state = states.pop()
        for batch in records:
            state.change(*batch)
        found.append(len(state.update(0, SPAN).come.bits))

    whole = best(run)
    print(
        f"from scratch: {events:,} events of {keys:,} keys, {found[-1]:,} intervals: "
        f"{whole * 1e3:.1f} ms, {whole / events * 1e9:.1f} ns an event, {whole / sort:.2f} sorts"
    )


def queries(
    named: NamedTables, count: int, keys: int, late: float, steps: int
) -> Iterator[tuple[int, int, list[Batch]]]:
    """Edge, query time and changes of each query: the window has `count` records."""
    r = np.random.default_rng(SEED)
    span = SPAN * 2
    columns = [
        np.concatenate(parts) for parts in zip(*batches(named, 2 * count, keys), strict=True)
    ]
    sizes = [len(batch[0]) for batch in batches(named, 2 * count, keys)]
    relation = np.repeat(np.arange(len(sizes)), sizes)
    times = columns[1] * 2
    step = span // (2 * steps)
    is_late = r.random(len(times)) < late
    arrival = times + np.where(is_late, r.integers(0, (steps - 1) * step, len(times)), 0)
    for query in range(step, span + 1, step):
        now = (arrival > query - step) & (arrival <= query)
        found = []
        for number in range(len(sizes)):
            rows = np.flatnonzero(now & (relation == number))
            rows = rows[np.argsort(times[rows], kind="stable")]
            found.append((columns[0][rows], times[rows], columns[2][rows]))
        yield max(0, query - steps * step), query, found


def session(named: NamedTables, count: int, keys: int, late: float, steps: int = WINDOWS) -> None:
    state = new_state(named, keys)
    spent = []
    for edge, query, changes in queries(named, count, keys, late, steps):
        begins = time.process_time()
        for batch in changes:
            state.change(*batch)
        told = state.update(edge, query)
        spent.append(time.process_time() - begins)
    some = min(spent[-4:]) * 1e3
    rows = sum(len(batch[0]) for batch in changes)
    print(
        f"session: {count:,} in the window, {rows:,} new of {keys:,} keys, {late:.0%} late: "
        f"{some:.3f} ms a query, {len(told.come.bits) + len(told.gone.bits):,} changes told"
    )
    empty = best(lambda: state.update(edge, query))
    print(f"  a query without changes: {empty * 1e3:.3f} ms")


def main(count: int, keys: int) -> None:
    cernis.keep_freed_memory()
    named = tables_of(vessel())
    from_scratch(named, count, keys)
    for late in (0.0, 0.05, 0.4):
        session(named, 2 * count, keys, late)
    session(named, 200_000, keys, 0.0, 200)
    session(named, 200_000, 50, 0.0, 200)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=5_000)
    settings = parser.parse_args()
    main(settings.events, settings.keys)
