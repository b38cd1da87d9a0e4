"""The case folders under `tests/cases`, and how the reference evaluator runs one.

A case is a folder with `rules.cer`, `events.txt`, `expected.txt` and `case.toml`; where windows
matter, `expected_per_query.txt` holds the answer as of each query. `case.toml` has a `title`,
what a back-end `needs` to run it, `[settings]`, and, where a case is about them, the lines of
`events.txt` that are `set_aside` as unreadable or `too_late`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cernis.syntax.tree import Item

from .credible import run_credible_case
from .evaluate import Answer, Settings, evaluate
from .load import load, rules_of
from .patterns import run_pattern_case
from .program import read_program
from .records import read_records
from .uncertain import run_uncertain_case

PENDING = frozenset(
    {
        "declared types",
        "exclusive values",
        "probabilities of static fluents",
        "grounding as a goal",
    }
)
"""What the engine lacks, as cases name it. Once it has it, the name leaves cases and this set."""

FEATURES = PENDING | {
    "fluents", "windows", "delays", "cycles", "allen", "patterns", "uncertain", "credible",
}  # fmt: skip
"""What a case may need of a back-end."""


@dataclass(frozen=True)
class Case:
    """One folder, read."""

    folder: Path
    title: str
    needs: frozenset[str]
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    set_aside: tuple[int, ...] | None = None
    too_late: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def rules(self) -> Path:
        """The file of rules; one of ETALIS has its ending."""
        return rules_of(self.folder)

    @property
    def expected(self) -> str:
        """The answer joined over the run."""
        return (self.folder / "expected.txt").read_text(encoding="utf-8")

    @property
    def expected_per_query(self) -> str | None:
        """The answers as of each query, each after a line `% query q`; None if not given."""
        path = self.folder / "expected_per_query.txt"
        return path.read_text(encoding="utf-8") if path.exists() else None

    @cached_property
    def items(self) -> list[Item]:
        """The program."""
        return load([self.rules])

    @property
    def events(self) -> str:
        """The input text."""
        return (self.folder / "events.txt").read_text(encoding="utf-8")


def read_case(folder: Path) -> Case:
    """Read the folder's `case.toml`. A key that is not known is an error."""
    data = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    unknown = data.keys() - {"title", "needs", "settings", "set_aside", "too_late"}
    needs = frozenset(data["needs"])
    if unknown or not needs or not needs <= FEATURES:
        raise ValueError(f"{folder.name}/case.toml: {sorted(unknown | (needs - FEATURES))}")
    lines = {key: tuple(data[key]) for key in ("set_aside", "too_late") if key in data}
    return Case(folder, data["title"], needs, data.get("settings", {}), **lines)


def read_cases(root: Path) -> list[Case]:
    """All cases, by name."""
    return [read_case(path.parent) for path in sorted(root.glob("*/case.toml"))]


def run_case(case: Case) -> Answer:
    """The reference evaluator's answer to a case about fluents and events."""
    records = read_records(case.events, read_program(case.items))
    return evaluate(case.items, records, Settings(**case.settings))


def answer_text(case: Case) -> str:
    """The reference evaluator's answer to any case, as text."""
    if "patterns" in case.needs:
        return run_pattern_case(case.folder)
    if "uncertain" in case.needs:
        return run_uncertain_case(case.folder)
    if "credible" in case.needs:
        return run_credible_case(case.folder)
    return run_case(case).text()
