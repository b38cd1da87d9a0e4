"""Streams that are killed: the changes they have told must come to what they should, every time.

    python benchmarks/faults.py [--kills 20] [--executors 5] [--files 60] [--seed 1] [--uncertain]

The driver of a stream over two stages, with everything it has started, is killed by SIGKILL at
random moments, and started again from its checkpoint, as often as asked. Then a stream on executors
of their own (`local-cluster`) loses one of them, as often as asked. Each time the feed in the
Parquet sink must be, change for change, what an uninterrupted session in one process tells. Prints
a line for each kill. With `--uncertain`, records have probabilities, and the state is that of
uncertain pairs.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

import pyarrow.dataset as ds  # noqa: E402

import cernis  # noqa: E402
from tests.spark.keyed import PROGRAMS  # noqa: E402
from tests.spark.keyed import stream as records  # noqa: E402

WINDOW, STEP, LINES = 60, 4, 12
RESTARTS = 3
SETTINGS = {"window": WINDOW, "step": STEP, "start": 0}
KEYED = PROGRAMS["pairs"]
UNCERTAIN = PROGRAMS["one"].rules
Likely = dict[str, Any] | None
LIKELY = {"threshold": 0.6, "memory": 6}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--executors", type=int, default=5)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--uncertain", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "MASTER"))
    given = parser.parse_args()
    likely = LIKELY if given.uncertain else None
    if given.child:
        run(Path(given.child[0]), given.child[1], likely)
        return
    print(f"seed {given.seed}, {given.files} files of {LINES} records")
    ok = True
    if given.kills:
        ok &= attempt("driver", given.kills, given.files, Random(given.seed), likely)
    if given.executors:
        ok &= attempt("executor", given.executors, given.files, Random(given.seed + 1), likely)
    raise SystemExit(0 if ok else 1)


# -- the stream ---------------------------------------------------------------------------------


def run(folder: Path, master: str, likely: Likely) -> None:
    """Run the stream to its end; in a process that may be killed."""
    from cernis.spark import files, stream
    from cernis.spark.spark_session import session

    spark = session(master, {"spark.log.level": "OFF", "spark.executor.memory": "512m"})
    running = stream(
        rules_of(likely), files(spark, folder / "in", at_once=1), checkpoint=folder / "checkpoint",
        sink=f"parquet:{folder / 'feed'}", partitions=3, until_done=True, **SETTINGS,
        uncertain=likely or False,
    )  # fmt: skip
    running.wait()
    spark.stop()


def rules_of(likely: Likely) -> str:
    return KEYED.rules if likely is None else UNCERTAIN


def prepare(folder: Path, files: int, random: Random, likely: Likely) -> Counter[Any]:
    """Write the input, a file a micro-batch; gives the feed that should come of it."""
    lines = []
    for at in range(files * LINES // 60 + 1):
        for line in records(KEYED, random, 60, retractions=True):
            lines.append(shifted(line, at * 30))
    # Of one arrival, retractions come last in a stream, whichever reader is first.
    lines = sorted(lines, key=lambda line: (int(line.split("|")[1]), line.startswith("-")))
    lines = lines[: files * LINES]
    program = cernis.load(rules_of(likely))
    if likely is None:
        session = program.session(**SETTINGS)
    else:
        lines = [doubted(line) for line in lines]
        session = program.uncertain_session(**SETTINGS, **likely)
    told: Counter[Any] = Counter()
    last, clock = 0, 0
    (folder / "in").mkdir(parents=True)
    for number in range(files):
        own = lines[number * LINES : (number + 1) * LINES]
        file = folder / "in" / f"{number:05}.txt"
        file.write_text("\n".join(own) + "\n")
        os.utime(file, (1e9 + number, 1e9 + number))
        session.insert("\n".join(own) + "\n")
        clock = max(clock, *(int(line.split("|")[1]) for line in own))
        while last + STEP < clock:
            last += STEP
            told.update(rows(session.query(last)))
    return told


def shifted(line: str, by: int) -> str:
    """A record of a later time; that of an interval has two times that move."""
    fields = line.split("|")
    for at in range(1, 4 if fields[0].lstrip("-") == "near" else 3):
        fields[at] = str(int(fields[at]) + by)
    return "|".join(fields)


def doubted(line: str) -> str:
    """A record with a probability, the same for what takes it back."""
    name, _, *rest = line.split("|")
    chance = (0.3, 0.7, 0.9, 1.0)[crc32("|".join([name.lstrip("-"), *rest]).encode()) % 4]
    return f"{chance}::{line}"


def rows(feed: Any) -> list[Any]:
    found = [key(row) for row in feed.table().to_pylist()]
    for row in feed.happenings().to_pylist():
        found.append(key({**row, "fluent": row["event"], "value": None,
                          "start": row["occurrence"], "end": None}))  # fmt: skip
    return found


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["query_time"], row["change"], row["fluent"], tuple(row["args"]), row["value"],
            row["start"], row["end"], row.get("probability"))  # fmt: skip


def feed_of(folder: Path) -> Counter[Any]:
    return Counter(key(row) for row in ds.dataset(folder / "feed").to_table().to_pylist())


# -- killing --------------------------------------------------------------------------------------


def attempt(what: str, kills: int, files: int, random: Random, likely: Likely) -> bool:
    with tempfile.TemporaryDirectory(prefix="cernis-faults-") as place:
        folder = Path(place)
        expected = prepare(folder, files, random, likely)
        began = time.monotonic()
        done = (
            kill_drivers(folder, kills, files, random, likely) if what == "driver"
            else kill_executors(folder, kills, random, likely)
        )  # fmt: skip
        same = feed_of(folder) == expected
        seconds = time.monotonic() - began
        print(
            f"{what}: killed {done} times, {files} micro-batches, {expected.total()} changes, "
            f"{'the same feed' if same else 'ANOTHER FEED'}, {seconds:.0f} s"
        )
        return same and done == kills


def start(folder: Path, master: str, likely: Likely) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--child", str(folder), master]
    command += [] if likely is None else ["--uncertain"]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)


def commits(folder: Path) -> int:
    own = folder / "checkpoint" / "commits"
    numbers = [int(file.stem) for file in own.glob("0*.json")] if own.is_dir() else []
    return max(numbers, default=-1) + 1


def kill_drivers(folder: Path, kills: int, files: int, random: Random, likely: Likely) -> int:
    done = 0
    for number in range(kills + 1):
        before = commits(folder)
        process = start(folder, "local[2]", likely)
        if number < kills:
            # At least one micro-batch between two kills, or it would never come to an end.
            room = max(1, (files - before) // (kills - number + 1))
            wanted = before + random.randint(1, room)
            wait_for(process, folder, wanted)
            time.sleep(random.random())
            done += process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
            print(f"  kill {number + 1}: in micro-batch {commits(folder)}", flush=True)
        if process.wait(900) and number == kills:
            print((folder / "log").read_text()[-3000:])
    return done


def kill_executors(folder: Path, kills: int, random: Random, likely: Likely) -> int:
    process = start(folder, "local-cluster[2,1,1024]", likely)
    done = 0
    for number in range(kills):
        wanted = commits(folder) + random.randint(1, 3)
        wait_for(process, folder, wanted, 2)
        time.sleep(random.random())
        if process.poll() is not None:
            break
        os.kill(random.choice(executors(process.pid)), signal.SIGKILL)
        done += 1
        print(f"  executor {number + 1}: in micro-batch {commits(folder)}", flush=True)
    # Spark gives a job up if it loses executors again and again. Then a stream is started anew.
    for _ in range(RESTARTS):
        if not process.wait(900):
            return done
        print(f"  Spark gave up in micro-batch {commits(folder)}; started again", flush=True)
        process = start(folder, "local-cluster[2,1,1024]", likely)
    if process.wait(900):
        print((folder / "log").read_text()[-3000:])
    return done


def wait_for(process: subprocess.Popen[bytes], folder: Path, wanted: int, workers: int = 0) -> None:
    """Wait until so many micro-batches are done and so many executors are there."""
    deadline = time.monotonic() + 300
    while commits(folder) < wanted or len(executors(process.pid)) < workers:
        if process.poll() is not None:
            return
        if time.monotonic() > deadline:
            raise SystemExit("a stream does not go on")
        time.sleep(0.05)


def executors(group: int) -> list[int]:
    """The executors that a process and those it has started have started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and int(fields[3]) == group:
            found.append(int(path.name))
    return found


if __name__ == "__main__":
    main()
