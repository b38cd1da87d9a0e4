"""How much the exchanges of a run moved, and how evenly, from the reports of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Exchanged:
    """All exchanges of a run together."""

    rows: int = 0
    """Rows of the exchanges. Each is a blob of many records."""
    size: int = 0
    """Bytes of the blobs."""
    slices: int = 0
    """Slices of time that were evaluated, in all buckets; 0 if none had to be cut."""
    skew: float = 1.0
    """The records of the largest bucket over those of the mean one, at the largest step."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Processor seconds that tasks spent reading, packing, unpacking, evaluating and writing."""


def exchanged(reports: Iterable[Mapping[str, Any]]) -> Exchanged:
    """The figures of all exchanges, from the reports of all tasks."""
    every = list(reports)
    stage_reports = [report for report in every if "rows" in report]
    seconds: dict[str, float] = {}
    for report in every:
        for kind, spent in report.get("seconds", {}).items():
            seconds[kind] = seconds.get(kind, 0.0) + spent
    return Exchanged(
        sum(report.get("moved", 0) for report in stage_reports),
        sum(report.get("size", 0) for report in stage_reports),
        sum(report.get("slices", 0) for report in stage_reports),
        skew(stage_reports),
        seconds,
    )


def skew(reports: Iterable[Mapping[str, Any]]) -> float:
    """The records of the largest bucket over those of the mean one; 1 if there are none."""
    by_step: dict[int, list[int]] = {}
    for report in reports:
        if "rows" in report:
            by_step.setdefault(report["step"], []).append(report["rows"])
    largest = max(by_step.values(), key=sum, default=[])
    return max(largest) * len(largest) / sum(largest) if sum(largest) else 1.0
