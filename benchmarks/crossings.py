"""How many functions of cernis an event passes, and how often it crosses from folder to folder.

    python benchmarks/crossings.py [--calls] [--functions] [words of the name of a path]

The toy program is run in process, in a session, with uncertain records, as the steps of a Spark
batch in two buckets, and as one micro-batch of a stream in two buckets; what Spark does in between
is done by hand. Each path is taken once before it is counted, so that what is loaded and cached
once is left out. For each path it prints the distinct functions that were entered, the files they
are in, and the calls from a function in one folder of the package to one in another. With
`--calls` it lists these calls, by pair of folders and by function, most first; with `--functions`
the functions that were entered, by file, with the number of times.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import cernis  # noqa: E402
from cernis.session.session import Session  # noqa: E402
from cernis.session.settings import settings  # noqa: E402
from tests.spark.batch import without_spark  # noqa: E402
from tests.spark.streaming.local_stream import LocalStream  # noqa: E402

PACKAGE = str(Path(cernis.__file__).parent)
TOY = ROOT / "examples" / "toy"
WINDOW, STEP = 20, 10


@dataclass
class Crossings:
    """What was called while a path was taken."""

    functions: Counter[CodeType] = field(default_factory=Counter)
    crossed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """How often it was called from one folder to another: both folders, and the function."""

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Take note of a call, as `sys.setprofile` tells it."""
        folder = _folder(frame.f_code)
        if event != "call" or folder is None or frame.f_code.co_name.startswith("<"):
            return
        self.functions[frame.f_code] += 1
        caller = _caller(frame)
        if caller is not None and caller != folder:
            self.crossed[caller, folder, _name(frame.f_code)] += 1

    @property
    def calls(self) -> int:
        """The calls from one folder to another."""
        return self.crossed.total()

    @property
    def files(self) -> set[str]:
        """The files of the functions."""
        return {code.co_filename for code in self.functions}

    def print_calls(self) -> None:
        """Print the calls across folders, by pair of folders and by function, most first."""
        pairs: Counter[tuple[str, str]] = Counter()
        for (caller, folder, _), count in self.crossed.items():
            pairs[caller, folder] += count
        for pair, total in pairs.most_common():
            print(f"  {total:>5} {pair[0]} -> {pair[1]}")
            for (*folders, name), count in self.crossed.most_common():
                if tuple(folders) == pair:
                    print(f"        {count:>5} {name}")

    def print_functions(self) -> None:
        """Print the functions that were entered, by file, with the number of times."""
        for name, count in sorted((_name(code), count) for code, count in self.functions.items()):
            print(f"  {count:>5} {name}")


def _name(code: CodeType) -> str:
    """A function, with the file that it is in."""
    return f"{Path(code.co_filename).relative_to(PACKAGE)}:{code.co_qualname}"


def _folder(code: CodeType) -> str | None:
    """The folder right below the package that a function is in; None if it is not of the package.

    Folders within such a folder are rooms of one layer, and count as one.
    """
    name = code.co_filename
    return Path(name).relative_to(PACKAGE).parts[0] if name.startswith(PACKAGE) else None


def _caller(frame: FrameType) -> str | None:
    """The folder of the function of the package that this one is called from, at any distance."""
    back = frame.f_back
    while back is not None and _folder(back.f_code) is None:
        back = back.f_back
    return None if back is None else _folder(back.f_code)


def counted(begin: Callable[[], Callable[[], object]]) -> Crossings:
    """What is called on a path, the second time it is taken; how it begins is left out."""
    begin()()
    path = begin()
    crossings = Crossings()
    sys.setprofile(crossings)
    try:
        path()
    finally:
        sys.setprofile(None)
    return crossings


def main() -> None:
    """Print the figures of all paths, or of those that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("path", nargs="*")
    options = parser.parse_args()
    lines = (TOY / "events.txt").read_text(encoding="utf-8").splitlines()
    program = cernis.load(TOY / "rules.cer", [TOY / "facts.cer"])

    def session(is_incremental: bool) -> None:
        own = Session(program.plan, WINDOW, STEP, 0, incremental=is_incremental)
        own.insert(lines)
        own.query(30)

    def micro_batch() -> Callable[[], object]:
        stream = LocalStream(
            program, Path(tempfile.mkdtemp(dir=folder)), WINDOW, STEP, buckets=2, start=0
        )
        stream.take(lines[:2])
        return lambda: stream.take(lines[2:])

    paths: dict[str, Callable[[], Callable[[], object]]] = {
        "run in process": lambda: lambda: program.run(lines),
        "session, keys with news": lambda: lambda: session(True),
        "session, from scratch": lambda: lambda: session(False),
        "uncertain run": lambda: lambda: program.run_uncertain([f"0.9::{own}" for own in lines]),
        "Spark batch, 2 buckets": lambda: lambda: without_spark.run(program, lines, settings(), 2),
        "one micro-batch, 2 buckets": micro_batch,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, begin in paths.items():
            if not all(word in name for word in options.path):
                continue
            crossings = counted(begin)
            sizes = len(crossings.functions), len(crossings.files), crossings.calls
            print(
                "{:<28}{:>5} functions {:>4} files {:>6} calls across folders".format(name, *sizes)
            )
            if options.calls:
                crossings.print_calls()
            if options.functions:
                crossings.print_functions()


if __name__ == "__main__":
    main()
