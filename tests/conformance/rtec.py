"""RTEC as a back-end: a program and its records in, the intervals of each query out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

FOREVER = 10**18
Intervals = list[tuple[int, int]]
Answer = dict[str, Intervals]
"""Intervals by pair, as one query gives them."""

_FOUND = re.compile(r"recognitions\(predictions,(\w+),\[\[(.*)\],([^\],]+)\],\[(.*)\]\)\.")
_HOLDS = re.compile(r"holdsFor\((.*),\s*\[(.*)\]\)\.")
_SPAN = re.compile(r"\((-?\d+),\s*(-?\d+|inf)\)")


def folder() -> Path | None:
    """Where RTEC lies, if it does and can be run."""
    named = os.environ.get("CERNIS_RTEC")
    return Path(named).resolve() if named else None


def needs_rtec() -> list[pytest.MarkDecorator]:
    """Marks for tests that run RTEC."""
    reasons = {
        "CERNIS_RTEC does not name the folder of an unpacked RTEC": folder() is None,
        "swipl, which runs RTEC, is not installed": shutil.which("swipl") is None,
    }
    return [pytest.mark.skipif(missing, reason=reason) for reason, missing in reasons.items()]


@dataclass(frozen=True)
class Windows:
    """The settings of a run from 0 on."""

    end: int
    window: int
    step: int
    tick: int = 1
    start: int = 0

    @property
    def queries(self) -> list[int]:
        """The query times."""
        return list(range(self.start + self.step, self.end + 1, self.step))

    @property
    def is_one(self) -> bool:
        """Is it one window over all?"""
        return self.window >= self.end - self.start

    def seen(self, query: int) -> tuple[int, int]:
        """What a query is asked about: the first point, and the one after the last."""
        return max(query - self.window + 1, self.start + self.tick), query + 1


@dataclass
class Rtec:
    """RTEC, with a folder of one's own to run in."""

    source: Path
    work: Path
    facts: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, here in (("execution scripts", "scripts"), ("src", "src")):
            if not (self.work / here).exists():
                shutil.copytree(self.source / name, self.work / here)

    def compile(self, rules: Path) -> Path:
        """The rules as RTEC's compiler writes them."""
        own = self.work / "rules.prolog"
        shutil.copyfile(rules, own)
        compiled = self.work / "compiled_rules.prolog"
        compiled.unlink(missing_ok=True)
        self._swipl("../src/compiler.prolog", f"compileED('{own}',withoutOptimisation)")
        return compiled

    def run(self, compiled: Path, records: Sequence[Path], windows: Windows) -> list[Answer]:
        """What each query gives."""
        results = self.work / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir()
        settings = {
            "event_description_files": _listed([*self.facts, compiled]),
            "window_size": windows.window, "step": windows.step, "start_time": windows.start,
            "end_time": windows.end, "clock_tick": windows.tick, "input_mode": "csv",
            "input_providers": _listed(records), "stream_rate": 1, "output_mode": "file",
            "results_directory": f"'{results}'",
        }  # fmt: skip
        options = ",".join(f"{name}={value}" for name, value in settings.items())
        self._swipl("continuousQueries.prolog", f"continuousQueries(one,[{options}])")
        texts = [path.read_text() for path in results.iterdir() if "recognised" in path.name]
        return rtec_answers("".join(texts), len(windows.queries))

    def _swipl(self, file: str, goal: str) -> None:
        line = ["swipl", "-l", file, "-g", f"{goal},halt."]
        scripts = self.work / "scripts"
        subprocess.run(
            line, cwd=scripts, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=600, check=False,
        )  # fmt: skip


def _listed(paths: Iterable[Path]) -> str:
    return f"[{','.join(repr(str(path)) for path in paths)}]"


# -- answers ---------------------------------------------------------------------------------


def spans(text: str) -> Intervals:
    """Intervals as they are written."""
    found = _SPAN.findall(text)
    return [(int(start), FOREVER if end == "inf" else int(end)) for start, end in found]


def _plain(pair: str) -> str:
    return re.sub(r"\s+", "", pair).replace("'", "")


def rtec_answers(text: str, queries: int) -> list[Answer]:
    """What RTEC writes: a block a query, each followed by an empty line."""
    blocks: list[Answer] = [{}]
    for line in text.splitlines():
        if not line.strip():
            blocks.append({})
            continue
        found = _FOUND.match(line.strip())
        if found:
            name, args, value, intervals = found.groups()
            pair = _plain(f"{name}({args})={value}" if args else f"{name}={value}")
            blocks[-1].setdefault(pair, []).extend(spans(intervals))
    return [*blocks, *({} for _ in range(queries))][:queries]


def cernis_answer(text: str) -> Answer:
    """What cernis writes of one query."""
    found: Answer = {}
    for line in text.splitlines():
        matched = _HOLDS.match(line.strip())
        if matched:
            found.setdefault(_plain(matched[1]), []).extend(spans(matched[2]))
    return found


def clipped(answer: Answer, low: int, high: int) -> Answer:
    """The parts of intervals inside a range; touching ones are joined, empty pairs left out."""
    found: Answer = {}
    for pair, intervals in answer.items():
        own: Intervals = []
        for start, end in sorted(intervals):
            start, end = max(start, low), min(end, high)
            if start < end and own and start <= own[-1][1]:
                own[-1] = (own[-1][0], max(end, own[-1][1]))
            elif start < end:
                own.append((start, end))
        if own:
            found[pair] = own
    return found
