"""RTEC's own applications, through RTEC and through cernis, in one run.

    python benchmarks/rtec.py RTEC_FOLDER [voting ctm] [--swipl PROGRAM] [--records netbill=FILE]

RTEC_FOLDER is an unpacked RTEC (or is named by CERNIS_RTEC). Nothing of it is changed: it runs on
a copy of its sources in a temporary folder. One window over all records, one core for either. The
time of RTEC is the recognition time of its own log: processor time, without that of reading. That
of cernis is the processor time of a `program.run`, reading included, in a process in which all
kernels that are worth it are compiled: the median of the last runs of several. The processor time
of recognition alone, from records that are read, and times by the clock stand beside. Applications
whose records RTEC does not bring along need `--records`, and are left out without. The intervals
are not compared here.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Application:
    """One of RTEC's applications: where its parts are in RTEC's folder of examples."""

    facts: tuple[str, ...]
    records: tuple[str, ...]
    start: int
    end: int
    tick: int = 1
    rules: str = ""


_AUXILIARY = "maritime/resources/auxiliary"
_CTM = (
    "abrupt_acceleration",
    "abrupt_deceleration",
    "internal_temperature_change",
    "noise_level_change",
    "passenger_density_change",
    "sharp_turn",
    "stop_enter_leave",
)

APPLICATIONS = {
    "ctm": Application(
        ("ctm/dataset/auxiliary/vehicles.prolog",),
        tuple(f"ctm/dataset/csv/{name}.csv" for name in _CTM), 0, 50_000,
    ),
    "caviar": Application(
        ("caviar/resources/auxiliary/pre-processing.prolog",),
        ("caviar/dataset/csv/appearance.csv", "caviar/dataset/csv/movementB.csv"),
        0, 1_100_000, 40,
    ),
    "voting": Application(
        ("voting/dataset/auxiliary/voting_static_generator.prolog",),
        ("voting/dataset/csv/voting.csv",), 0, 100,
    ),
    "netbill": Application(
        ("netbill/dataset/auxiliary/netbill_static_generator.prolog",), (), 0, 100
    ),
    "maritime": Application(
        (f"{_AUXILIARY}/compare.prolog", f"{_AUXILIARY}/loadStaticData.prolog"),
        (), 1_443_650_400, 1_443_708_000,
    ),
}  # fmt: skip

RUNS, COUNTED = 9, 3
"""So many runs has a process of cernis, of which the last ones count."""

NEAR = (24, 25, 30, 34)
"""The distances that rules of the application `caviar` ask for."""


# -- RTEC --------------------------------------------------------------------------------------


def by_rtec(rtec: Path, swipl: str, application: Application) -> float:
    """The recognition time of RTEC in seconds, as its log says."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(rtec / "execution scripts", folder / "scripts")
        shutil.copytree(rtec / "src", folder / "src")
        shutil.copy(application.rules, folder / "rules.prolog")
        (folder / "results").mkdir()
        rules = folder / "rules.prolog"
        compiling = f"compileED('{rules}',withoutOptimisation),halt."
        _prolog(swipl, folder, "../src/compiler.prolog", compiling)
        files = _listed([*application.facts, str(folder / "compiled_rules.prolog")])
        length = application.end - application.start
        _prolog(swipl, folder, "continuousQueries.prolog", (
            f"continuousQueries(one,[event_description_files={files},window_size={length},"
            f"step={length},start_time={application.start},end_time={application.end},"
            f"clock_tick={application.tick},input_mode=csv,"
            f"input_providers={_listed(application.records)},stream_rate=1,output_mode=file,"
            f"results_directory='{folder / 'results'}']),halt."
        ))  # fmt: skip
        logs = "".join(path.read_text() for path in (folder / "results").glob("*-log.txt"))
    found = re.search(r"Recognition Time average \(ms\)\s*:\s*([\d.]+)", logs)
    if found is None:
        raise SystemExit("RTEC has left no log: does it run on its own?")
    return float(found[1]) / 1000


def _prolog(swipl: str, folder: Path, script: str, goal: str) -> None:
    subprocess.run(
        [swipl, "-l", script, "-g", goal], cwd=folder / "scripts", capture_output=True, check=False
    )


def _listed(paths: Iterable[str]) -> str:
    return "[" + ",".join(f"'{path}'" for path in paths) + "]"


# -- cernis ------------------------------------------------------------------------------------


def by_cernis(application: Application) -> tuple[float, float, float, int]:
    """Seconds of the processor, without reading, and by the clock; and the number of records."""
    asked = json.dumps(application.__dict__)
    done = subprocess.run(
        [sys.executable, __file__, "--inside", asked],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, alone, clock, records = json.loads(done.stdout)
    return seconds, alone, clock, records


def inside(asked: str) -> None:
    """Load a program and run it several times; print medians of the last runs."""
    import warnings

    import cernis
    from cernis.evaluate.run import Run
    from cernis.records.record_sources import read_events

    warnings.simplefilter("ignore")
    cernis.keep_freed_memory()
    application = Application(**json.loads(asked))
    program = cernis.load(Path(application.rules), application.facts)
    records = list(application.records)
    chosen = {"start": application.start, "end": application.end, "tick": application.tick}
    times = []
    for _ in range(RUNS):
        begun, clock = time.process_time(), time.perf_counter()
        result = program.run(records, **chosen)
        whole_run, by_clock = time.process_time() - begun, time.perf_counter() - clock
        gathered, run = read_events(records, program.checked), Run(program.plan, application.tick)
        begun = time.process_time()
        run.over(gathered, start=application.start, end=application.end)
        times.append((whole_run, time.process_time() - begun, by_clock))
    medians = [statistics.median(each) for each in zip(*times[-COUNTED:], strict=True)]
    print(json.dumps([*medians, result.summary.records]))


# -- both --------------------------------------------------------------------------------------


def distances(movement: Path, target: Path) -> Path:
    """Who is near whom, which RTEC's pre-processing of `caviar` computes from coordinates."""
    places: dict[int, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for line in movement.read_text().splitlines():
        fields = line.split("|")
        if fields[0] == "coord":
            places[int(fields[2])][fields[4]].append((float(fields[5]), float(fields[6])))
    rows = set()
    for point, people in places.items():
        names = sorted(people)
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                apart = (math.dist(a, b) for a in people[one] for b in people[other])
                near = (next((each for each in NEAR if own <= each), None) for own in apart)
                rows |= {(point, one, other, limit) for limit in near if limit is not None}
    target.write_text(
        "".join(f"distance|{t}|{t}|true|{a}|{b}|{d}\n" for t, a, b, d in sorted(rows))
    )
    return target


def whole(name: str, options: argparse.Namespace, folder: Path) -> Application:
    """An application with the paths of its parts; without records if there are none."""
    own, examples = APPLICATIONS[name], options.rtec / "examples"
    records = [str(examples / path) for path in own.records]
    records += [file for each, file in options.records if each == name]
    if name == "caviar":
        records.append(str(distances(Path(records[1]), folder / "distances.csv")))
    rules = dict(options.rules).get(name, examples / name / "resources/patterns/rules.prolog")
    facts = tuple(str(examples / path) for path in own.facts)
    return replace(own, rules=str(rules), facts=facts, records=tuple(records))


def _named(text: str) -> tuple[str, str]:
    name, _, file = text.partition("=")
    return name, str(Path(file).resolve())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("rtec", type=Path, nargs="?", default=os.environ.get("CERNIS_RTEC"))
    parser.add_argument("applications", nargs="*", metavar="NAME")
    parser.add_argument("--swipl", default="swipl", help="the Prolog system for RTEC")
    parser.add_argument("--records", type=_named, action="append", default=[],
                        metavar="NAME=FILE", help="records of an application")  # fmt: skip
    parser.add_argument("--rules", type=_named, action="append", default=[],
                        metavar="NAME=FILE", help="rules to use instead")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="the medians of so many count")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Print one line for each application."""
    options = _options()
    if options.inside:
        inside(options.inside)
        return
    if options.rtec is None:
        raise SystemExit("name the folder of an unpacked RTEC, or let CERNIS_RTEC name it")
    options.rtec = Path(options.rtec).resolve()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in options.applications or APPLICATIONS:
        with tempfile.TemporaryDirectory() as folder:
            application = whole(name, options, Path(folder))
            if not application.records:
                print(
                    f"{name:10} left out: RTEC brings no records of it; give --records {name}=FILE"
                )
                continue
            measured = [
                (by_rtec(options.rtec, options.swipl, application), *by_cernis(application))
                for _ in range(options.rounds)
            ]
        print(f"{name:10} {_line(measured)}", flush=True)


def _line(measured: list[tuple[float, float, float, float, int]]) -> str:
    """The medians of some rounds."""
    columns = [sorted(own)[len(own) // 2] for own in zip(*measured, strict=True)]
    theirs, ours, alone, clock, records = columns
    return (
        f"{records:9,} records  RTEC {theirs * 1000:6.0f} ms  cernis {ours * 1000:6.1f} ms"
        f" ({clock * 1000:.1f} by the clock)  {theirs / ours:5.1f} x,"
        f" without reading {alone * 1000:6.1f} ms  {theirs / alone:5.1f} x"
    )


if __name__ == "__main__":
    main()
