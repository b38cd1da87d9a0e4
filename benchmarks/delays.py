"""Delayed effects and cycles: netbill, voting and feedback over generated streams, and the kernel.

    python benchmarks/delays.py [netbill voting feedback kernel] [--events 1000000] [--large]
        [--profile] [--fresh-memory]

For each application: time per event and in sorts (one `np.sort` of as many random 64-bit integers,
measured in the same run), in processor time of one core, and by the clock; how often rules were
evaluated and at how many points, which is once in acyclic components, and in cyclic ones once if
they are walked through in the order of time; and, with --large, ten times as many events. --profile
lists the dearest operators, by the literal they come from. Freed memory stays with the process,
unless --fresh-memory lets the C library give it back.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import cernis  # noqa: E402
from cernis.evaluate.run import Run  # noqa: E402
from cernis.kernels.inertia.delays import Effects, hold_delayed  # noqa: E402
from cernis.kernels.inertia.points import NO_ACTION, NO_EFFECT  # noqa: E402
from cernis.operators.context.measuring import Cost, Profile  # noqa: E402
from cernis.plan import Plan  # noqa: E402
from cernis.plan.logical import Scan, parts_of  # noqa: E402
from cernis.source import Span  # noqa: E402

ENTITIES = {"netbill": 20_000, "voting": 20_000, "feedback": 20_000}
SHARE = {"feedback": 10}
"""One in so many events where causal chains are long, and evaluation takes longer."""
DEAREST = 15
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Settings of the C library's allocator, by their numbers."""


def keep_memory() -> None:
    """Let freed memory stay with the process, as in one that has been running for a while.

    Otherwise arrays above 32 MB go back to the system each time, which clears them for the next
    use: with ten times the events, that would be what is measured.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def best(work: Callable[[], object], times: int) -> tuple[float, float]:
    """The shortest time some work takes, in seconds of the processor and by the clock."""
    found = []
    for _ in range(times):
        begun, clock = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - begun, time.perf_counter() - clock))
    return min(own for own, _ in found), min(own for _, own in found)


def sort_time(count: int) -> float:
    """How long a sort of so many random integers takes."""
    keys = np.random.default_rng(0).integers(0, 2**62, count)
    return min(_timed_sort(keys.copy()) for _ in range(9))


def _timed_sort(keys: np.ndarray) -> float:
    begun = time.process_time()
    keys.sort()
    return time.process_time() - begun


def prepared(name: str, events: int) -> tuple[Plan, dict[str, pa.Table]]:
    """The plan of an application and a stream for it."""
    generator = import_module(f"examples.{name}.generate")
    entities = ENTITIES[name]
    rules = (ROOT / "examples" / name / "rules.cer").read_text("utf-8")
    program = cernis.load(rules + generator.facts(entities))
    return program.plan, generator.generate(events, entities, 7)


def application(name: str, events: int, large: bool, profile: bool) -> None:
    """Print the figures of one application."""
    plan, tables = prepared(name, events)
    sort = sort_time(events)
    # The first run compiles what has not been.
    Run(plan).over({relation: table.slice(0, 1000) for relation, table in tables.items()})
    one, clock = best(lambda: Run(plan).over(tables), 5)
    print(
        f"{name}: {one * 1e3:.0f} ms ({clock * 1e3:.0f} by the clock), "
        f"{one / events * 1e9:.0f} ns an event, {one / sort:.1f} sorts "
        f"(a sort is {sort * 1e3:.1f} ms)"
    )
    found = measured(plan, tables)
    for title, (times, points) in evaluations(plan, found).items():
        print(f"{name}, {title} rules: evaluated {times} x in the window, at {points:,} points")
    if profile:
        _dearest(plan, found.costs)
    if large:
        plan, tables = prepared(name, 10 * events)
        more, clock = best(lambda: Run(plan).over(tables), 3)
        print(
            f"{name}, ten times the events: {more * 1e3:.0f} ms ({clock * 1e3:.0f} by the clock), "
            f"{more / one / 10:.2f} x linear, {more / sort_time(10 * events):.1f} sorts"
        )


def measured(plan: Plan, tables: dict[str, pa.Table]) -> Profile:
    """What each operator costs in one window, and how often rules are evaluated."""
    profile = Profile()
    Run(plan, profile=profile).over(tables)
    return profile


def evaluations(plan: Plan, profile: Profile) -> dict[str, tuple[int, int]]:
    """How often the most evaluated rule was, and at how many points all were in all."""
    found = {"acyclic": (0, 0), "cyclic": (0, 0)}
    for stratum in (stratum for stage in plan.stages for stratum in stage.strata):
        title = "cyclic" if stratum.immediate else "acyclic"
        for scan in (part for part in parts_of(stratum.definitions) if isinstance(part, Scan)):
            own = profile.scans.get(id(scan))
            if own is not None:
                times, points = found[title]
                found[title] = max(times, own.times), points + own.points
    return found


def _dearest(plan: Plan, costs: dict[tuple[str, Span], Cost]) -> None:
    """List the operators that took longest: calls, rows looked at, time, place."""
    for (operator, span), cost in sorted(costs.items(), key=lambda pair: -pair[1].seconds)[
        :DEAREST
    ]:
        place = plan.checked.sources.place(span)
        line = f"line {place.line}" if place else ""
        print(
            f"  {cost.seconds * 1e3:7.0f} ms  {cost.calls:3d} calls  {cost.rows_in:9d} rows  "
            f"{operator} {line}"
        )


def kernel(points: int) -> None:
    """Print the figures of the kernel that walks through points and effects."""
    sort = sort_time(points)
    for title, work in _walks(points):
        work()
        taken, _ = best(work, 7)
        print(f"hold_delayed, {title}: {taken / points * 1e9:.1f} ns, {taken / sort:.2f} sorts")


def _walks(points: int) -> list[tuple[str, Callable[[], object]]]:
    rng = np.random.default_rng(20)
    found = []
    for title, instances, postponable, ties, is_watched in (
        ("200 points an instance", points // 200, 0, "break", False),
        ("200 points an instance, postponable", points // 200, 1, "break", False),
        ("200 points an instance, ties by initiation", points // 200, 0, "initiation", False),
        ("200 points an instance, effects watched", points // 200, 0, "break", True),
        ("5 points an instance", points // 5, 0, "break", False),
    ):
        walk = _walk(rng, points, max(1, instances), postponable)
        found.append((title, lambda walk=walk, rest=(ties, is_watched): hold_delayed(*walk, *rest)))
    return found


def _walk(rng: np.random.Generator, points: int, instances: int, postponable: int) -> tuple:
    """Initiations of a value that leads to another, and breaks, one in four, at random."""
    instance = np.sort(rng.integers(0, instances, points))
    times = rng.integers(1, 50 * points // instances + 2, points)
    order = np.lexsort((times, instance))
    actions = np.where(rng.random(points) < 0.75, 1, 0)
    none = np.empty(0, np.int64)
    told = np.array([[NO_ACTION, 3]])
    effects = Effects(
        np.array([1, 0]), np.array([[NO_EFFECT, 100]]), told, told, np.array([0, postponable])
    )
    return (
        np.arange(instances), instance, times[order], actions, none, none, none, none, effects,
        int(times.max()) + 200, 1,
    )  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", nargs="*", default=[*ENTITIES, "kernel"])
    arguments.add_argument("--events", type=int, default=1_000_000)
    arguments.add_argument("--large", action="store_true")
    arguments.add_argument("--profile", action="store_true")
    arguments.add_argument("--fresh-memory", action="store_true")
    given = arguments.parse_args()
    if not given.fresh_memory:
        keep_memory()
    for name in given.what:
        if name == "kernel":
            kernel(given.events)
        else:
            events = given.events // SHARE.get(name, 1)
            application(name, events, given.large, given.profile)


if __name__ == "__main__":
    from sorts import pin_sort

    pin_sort()
    main()
