"""Event patterns: sequences under each policy, absence, shared prefixes, iteration, windows.

    python benchmarks/patterns.py [sequences dense shared blizzard sliding] [--events 1000000]
    python benchmarks/patterns.py --stream [--events 4000000]

Each line gives processor time and clock, and the first in sorts: one `np.sort` of as many random
64-bit integers, measured in the same run; and how many sorts are asked for at most. polars and
DuckDB, each on one thread, answer the same questions about the same tables, in memory, beside
cernis; they are left out if not installed. With `--stream`, see `pattern_streams.py`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

os.environ.setdefault("POLARS_MAX_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import cernis  # noqa: E402

Integers = npt.NDArray[np.int64]
Tables = dict[str, pa.Table]

REACH = 600
KEYS = 10_000
READINGS = 38_000
TIMES = 5
PAPER = {"settling": 24_696, "warning": 37_437, "area": 3_900}
"""Events a second in the paper, for each of the blizzard patterns."""


class Clock:
    """Measures work, and prints it beside a sort of as many keys."""

    def __init__(self, events: int) -> None:
        self.events = events
        keys = np.random.default_rng(0).integers(0, 2**62, events)
        self.sort = min(self._sorted(keys.copy()) for _ in range(9))
        print(f"one sort of {events:,} keys: {self.sort * 1e3:.1f} ms")

    def _sorted(self, keys: Integers) -> float:
        begun = time.process_time()
        keys.sort()
        return time.process_time() - begun

    def line(
        self, name: str, work: Callable[[], int], asked: float | None = None, times: int = TIMES
    ) -> float:
        """Print the best of some runs; gives it in seconds of the processor."""
        count = work()
        both = [self._timed(work) for _ in range(times)]
        spent, clock = min(own for own, _ in both), min(own for _, own in both)
        print(
            f"{name:<52} {spent * 1e3:9.1f} ms {spent / self.sort:8.2f} sorts"
            f"{'' if asked is None else f' of {asked:g}':<8}"
            f"clock {clock * 1e3:9.1f} ms   {count:>12,} found"
        )
        return spent

    def _timed(self, work: Callable[[], int]) -> tuple[float, float]:
        begun, clock = time.process_time(), time.perf_counter()
        work()
        return time.process_time() - begun, time.perf_counter() - clock


def stream(
    events: int, names: dict[str, float], keys: int = KEYS, a_second: float = 10, seed: int = 1
) -> Tables:
    """Events of several names, in shares, at even pace and of random keys."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, max(int(events / a_second), 1), events))
    own = random.integers(0, keys, events)
    which = random.choice(len(names), events, p=list(names.values()))
    return {
        name: pa.table({"X": own[which == at], "occurrence": times[which == at]})
        for at, name in enumerate(names)
    }


def occurrences(rules: str, tables: Tables, name: str = "e") -> Callable[[], int]:
    """A run of rules over tables, which gives the number of occurrences of an event."""
    program = cernis.load(rules)

    def run() -> int:
        found = program.run(tables).answer.events
        return sum(len(table) for relation, table in found.items() if relation.name == name)

    return run


# -- sequences -------------------------------------------------------------------------------


def sequences(clock: Clock) -> None:
    """a(X) seq b(X) within 600, under each policy and with absence; others beside it."""
    pairs = stream(clock.events, {"a": 0.5, "b": 0.5})
    for policy, asked in (("recent", 6), ("chronological", 8), ("unrestricted", 10)):
        rules = f":- consumption({policy}). e(X) <- a(X) seq b(X) within {REACH}."
        clock.line(f"cernis, a seq b within {REACH}, {policy}", occurrences(rules, pairs), asked)
    three = stream(clock.events, {"a": 0.4, "b": 0.4, "c": 0.2})
    rules = f"e(X) <- not(c(X))[a(X), b(X)] within {REACH}."
    clock.line(f"cernis, not(c)[a, b] within {REACH}, all pairs", occurrences(rules, three), 12)
    if find_spec("polars"):
        _polars(clock, pairs)
    if find_spec("duckdb"):
        _duckdb(clock, pairs, three)


def _polars(clock: Clock, tables: Tables) -> None:
    import polars as pl

    a, b = (pl.from_arrow(tables[name]) for name in ("a", "b"))
    assert isinstance(a, pl.DataFrame)
    assert isinstance(b, pl.DataFrame)
    left = a.with_columns(begun=pl.col("occurrence")).sort("occurrence")

    def recent() -> int:
        # The match must be earlier, so the right side looks one second back.
        asked = b.with_columns(pl.col("occurrence") - 1).sort("occurrence")
        found = asked.join_asof(
            left, on="occurrence", by="X", tolerance=REACH - 1, check_sortedness=False
        )
        return found.filter(pl.col("begun").is_not_null()).height

    def everything() -> int:
        found = left.join(b, on="X").filter(
            (pl.col("occurrence") < pl.col("occurrence_right"))
            & (pl.col("occurrence_right") - pl.col("occurrence") <= REACH)
        )
        return found.height

    clock.line("polars, join_asof (recent)", recent)
    clock.line("polars, join and filter (unrestricted)", everything, times=2)


def _duckdb(clock: Clock, tables: Tables, three: Tables) -> None:
    import duckdb

    link = duckdb.connect(config={"threads": 1})
    for name, table in tables.items():
        link.register(f"p{name}", table)
    for name, table in three.items():
        link.register(name, table)

    def count(query: str) -> Callable[[], int]:
        def run() -> int:
            return len(link.execute(query).to_arrow_table())

        return run

    # Its ASOF join takes minutes for as many keys; a window over both tables does the same.
    last = (
        "SELECT X, s, e FROM (SELECT X, occurrence e, is_b, max(CASE WHEN NOT is_b THEN occurrence "
        f"END) OVER (PARTITION BY X ORDER BY occurrence RANGE BETWEEN {REACH} PRECEDING AND "
        "1 PRECEDING) s FROM (SELECT X, occurrence, false is_b FROM pa UNION ALL "
        "SELECT X, occurrence, true FROM pb)) WHERE is_b AND s IS NOT NULL"
    )
    clock.line("DuckDB, window (recent)", count(last), times=2)
    pairs = (
        "SELECT {b}.X, {a}.occurrence s, {b}.occurrence e FROM {a} JOIN {b} ON {a}.X = {b}.X "
        "AND {a}.occurrence < {b}.occurrence AND {b}.occurrence - {a}.occurrence <= "
        f"{REACH}"
    )
    everything = pairs.format(a="pa", b="pb")
    clock.line("DuckDB, join (unrestricted)", count(everything), times=2)
    without = (
        f"SELECT * FROM ({pairs.format(a='a', b='b')}) p WHERE NOT EXISTS (SELECT 1 FROM c "
        "WHERE c.X = p.X AND c.occurrence > p.s AND c.occurrence < p.e)"
    )
    clock.line("DuckDB, join without c between", count(without), times=2)


# -- cost by matches -------------------------------------------------------------------------


def dense(clock: Clock) -> None:
    """Cost goes by matches: 50 for one event in four, and few among many candidates."""
    events = clock.events
    groups = events // 200
    own = np.repeat(np.arange(groups), 200)
    at = np.tile(np.arange(200), groups)
    is_b = at >= 150
    times = own * 200 + at
    keys = own * 3 + np.where(is_b, at % 3, at // 50)
    tables = {
        "a": pa.table({"X": keys[~is_b], "N": at[~is_b], "occurrence": times[~is_b]}),
        "b": pa.table({"X": keys[is_b], "M": at[is_b], "occurrence": times[is_b]}),
    }
    rules = "e(X, N, M) <- a(X, N) seq b(X, M) within 600."
    few = clock.line("cernis, each b after 50 a's", occurrences(rules, tables), times=2)
    found = occurrences(rules, tables)()
    print(f"{'':<52} {few / max(found, 1) * 1e9:9.1f} ns a match")
    crowded = stream(events, {"a": 0.5, "b": 0.5}, keys=100)
    rules = f":- consumption(unrestricted). e(X) <- a(X) seq b(X) within {REACH // 100}."
    clock.line("cernis, 100 keys, 5,000 candidates a match", occurrences(rules, crowded))


# -- shared prefixes -------------------------------------------------------------------------


def shared(clock: Clock) -> None:
    """Ten rules over one prefix against one."""
    names = {"a": 0.4, "b": 0.4, **{f"c{at}": 0.02 for at in range(10)}}
    tables = stream(clock.events, names)
    rule = "e{at}(X) <- a(X) seq b(X) seq c{at}(X) within 600."
    one = clock.line("cernis, one rule", occurrences(rule.format(at=0), tables, "e0"))
    ten = "\n".join(rule.format(at=at) for at in range(10))
    all_ten = clock.line("cernis, ten rules over its prefix", occurrences(ten, tables, "e0"))
    print(f"{'':<52} {all_ten / one:9.2f} x one, of 2.5")


# -- blizzards -------------------------------------------------------------------------------

SETTLING = """
settling(ID, T, 1) <- sensor(ID, T, W, V) where W >= 15, V < 0.25.
settling(ID, S, C + 1) <- settling(ID, S, C) seq sensor(ID, _, W, V)
    where W >= 15, V < 0.25 within 6hours.
"""
WARNING = """
warning(ID) <- settling(ID, S, C) seq sensor(ID, T, W, V)
    where W >= 15, V < 0.25, C >= 3, T - S >= 3hours within 6hours.
"""
AREA = """
area(A, 1) <- warning(A).
area(A, N + 1) <- area(A, N) seq warning(B)
    where N < 3, A \\= B, place(A, Lat1, Lon1), place(B, Lat2, Lon2),
          near(Lat1, Lon1, Lat2, Lon2)
    within 9hours.

near(Lat1, Lon1, Lat2, Lon2) :-
    H is sin((Lat2 - Lat1) * pi / 360) ** 2
        + cos(Lat1 * pi / 180) * cos(Lat2 * pi / 180) * sin((Lon2 - Lon1) * pi / 360) ** 2,
    2 * 6371 * asin(sqrt(H)) < 300.
"""


def readings(stations: int, each: int, seed: int = 3) -> pa.Table:
    """Half-hourly readings, with spells of bad weather that last some hours."""
    random = np.random.default_rng(seed)
    names, times = np.repeat(np.arange(stations), each), np.tile(np.arange(each), stations)
    spells = random.random((stations, each)) < 1 / 300
    since = np.maximum.accumulate(np.where(spells, np.arange(each), -(10**6)), axis=1)
    bad = (np.arange(each) - since < random.integers(3, 12, (stations, each))).ravel()
    count = len(names)
    wind = np.where(bad, random.integers(15, 60, count), random.integers(0, 14, count))
    visibility = np.where(bad, random.random(count) / 4.1, 1 + 9 * random.random(count))
    order = np.lexsort((names, times))
    return pa.table({
        "ID": names[order], "T": times[order] * 1800, "W": wind[order],
        "V": visibility[order], "occurrence": times[order] * 1800,
    })  # fmt: skip


def blizzard(clock: Clock) -> None:
    """The patterns of the paper: one station for the first two, fifteen for the third."""
    single = {"sensor": readings(1, READINGS)}
    fifteen = {"sensor": readings(15, READINGS)}
    random = np.random.default_rng(5)
    places = "\n".join(
        f"place({at}, {37 + random.random() * 4:.3f}, {-122 + random.random() * 4:.3f})."
        for at in range(15)
    )
    for name, rules, tables in (
        ("settling", SETTLING, single), ("warning", SETTLING + WARNING, single),
        ("area", SETTLING + WARNING + AREA + places, fifteen),
    ):  # fmt: skip
        spent = clock.line(f"cernis, {name}", occurrences(rules, tables, name))
        speed = tables["sensor"].num_rows / spent
        print(f"{'':<52} {speed:12,.0f} events a second, {speed / PAPER[name]:.0f} x the paper, "
              "where 100 is asked")  # fmt: skip


# -- sliding windows -------------------------------------------------------------------------


def sliding(clock: Clock) -> None:
    """An aggregate over the last N events, of one stream and of many keys."""
    random = np.random.default_rng(7)
    count = clock.events
    values, times = random.random(count) * 100, np.arange(count) * 100
    one = {"price": pa.table({"X": np.zeros(count, np.int64), "P": values, "occurrence": times})}
    many = {"price": pa.table({"X": random.integers(0, KEYS, count), "P": values,
                               "occurrence": times})}  # fmt: skip
    for size in (10, 1_000, 100_000):
        rules = f"e(A) <- price(_, P) where A = avg(P, last({size}))."
        clock.line(f"cernis, avg over the last {size:,}, one stream", occurrences(rules, one), 10)
    for kind in ("sum", "max"):
        rules = f"e(A) <- price(_, P) where A = {kind}(P, last(1000))."
        clock.line(f"cernis, {kind} over the last 1,000, one stream", occurrences(rules, one), 10)
    rules = "e(A) <- price(_, P) where A = avg(P, past(100000))."
    clock.line("cernis, avg over the past 100 s, one stream", occurrences(rules, one), 10)
    rules = "e(X, A) <- price(X, P) where A = avg(P, X, last(1000))."
    clock.line("cernis, avg over the last 1,000 of each key", occurrences(rules, many), 10)
    rules = "e(A) <- price(_, P) where A = avg(P, last(1000))."
    clock.line("cernis, avg over the last 1,000 of all keys", occurrences(rules, many), 10)
    rules = "e(A) <- price(_, P) where A = fold(add, P, last(1000)). add(A, B, C) :- C is A + B."
    clock.line("cernis, a fold of one's own over the last 1,000", occurrences(rules, one))


PARTS = {
    "sequences": sequences, "dense": dense, "shared": shared, "blizzard": blizzard,
    "sliding": sliding,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--events", type=int)
    parser.add_argument(
        "--stream", action="store_true", help="on Spark, micro-batch by micro-batch"
    )
    given = parser.parse_args()
    cernis.keep_freed_memory()
    if given.stream:
        from benchmarks.pattern_streams import measure

        measure(given.events or 4_000_000)
        return
    clock = Clock(given.events or 1_000_000)
    for name in given.parts or PARTS:
        print(f"\n{name}")
        PARTS[name](clock)


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
