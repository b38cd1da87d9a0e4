"""Settings for how intervals are recognised from probabilities, as users write them."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from cernis.check.model import Relation
from cernis.check.reporter import near
from cernis.errors import DataError
from cernis.evaluate.probabilities.courses import Recognition
from cernis.evaluate.probabilities.credible.durations import Durations
from cernis.plan.measured_combinations import setting_names

Setting = TypeVar("Setting")

MEAN_CHANGE: Final = 0.05
"""How far the mean of an interval may move before a feed reports it again, unless users say."""


@dataclass(frozen=True, slots=True)
class UncertainSettings:
    """How intervals are recognised from probabilities.

    Thresholds and durations may be given for fluents by name, with or without the number of
    arguments; durations are in time-points. Without `memory` a whole course is processed at once.
    With it, a course is processed point by point, and so many possible starts of each pair are
    remembered.
    """

    threshold: float = 0.5
    thresholds: Mapping[str, float] = field(default_factory=dict)
    memory: int | None = None
    durations: Mapping[str, Durations] = field(default_factory=dict)
    seed: int = 0
    uncertain: tuple[str, ...] | None = None
    """The relations of the input whose records may be uncertain; None for all."""
    probabilities: bool = False
    """Does a stream also report the probability at each point?"""
    mean_change: float = MEAN_CHANGE
    """An interval whose mean has moved by no more than this is not reported again."""

    def check_names(self, fluents: Collection[Relation]) -> None:
        """Raise a DataError if a threshold or a duration is that of no fluent of the program."""
        known = {name: relation for relation in fluents for name in (relation.name, str(relation))}
        for kind, by_name in (("threshold", self.thresholds), ("durations", self.durations)):
            for name in by_name:
                if name not in known:
                    guesses = near(name, {relation.name for relation in fluents})
                    there = " or ".join(guesses) or ", ".join(sorted(map(str, fluents))) or "none"
                    raise DataError(
                        f"{kind} of {name}: there is no such fluent; "
                        + (f"did you mean {there}?" if guesses else f"there are {there}")
                    )

    def of(self, relation: Relation) -> Recognition:
        """How intervals of one fluent are recognised."""
        threshold = _named(self.thresholds, relation)
        return Recognition(
            self.threshold if threshold is None else threshold, self.memory,
            _named(self.durations, relation), self.seed,
        )  # fmt: skip


def uncertain_settings(
    threshold: float = 0.5, thresholds: Mapping[str, float] | None = None,
    memory: int | None = None, durations: Mapping[str, Any] | str | Path | None = None,
    seed: int = 0, uncertain: Iterable[str] | None = None, probabilities: bool = False,
    mean_change: float = MEAN_CHANGE,
) -> UncertainSettings:  # fmt: skip
    """Settings from what users write; raises a DataError for what makes no sense.

    Durations are a file as `cernis learn-durations` writes it, or are given by fluent.
    """
    if thresholds is not None and not isinstance(thresholds, Mapping):
        raise DataError("thresholds are given by fluent: {'alarm': 0.95}")
    named = dict(thresholds or {})
    for name, each in {"": threshold, **named}.items():
        if not _is_number(each) or not 0 <= each <= 1:
            of = f" of {name}" if name else ""
            raise DataError(f"the threshold{of} must be a number from 0 to 1, not {each!r}")
    if not _is_number(mean_change) or not 0 <= mean_change <= 1:
        raise DataError(f"the change of a mean must be a number from 0 to 1, not {mean_change!r}")
    if memory is not None and not (_is_whole(memory) and memory >= 0):
        raise DataError(f"the memory must be a whole number of starts, not {memory!r}")
    if not _is_whole(seed):
        raise DataError(f"the seed must be a whole number of 64 bits, not {seed!r}")
    if durations is not None and memory is None:
        raise DataError("durations say what a memory forgets: say how large the memory is, too")
    if isinstance(durations, str | Path):
        durations = read_durations(Path(durations))
    elif durations is not None and not isinstance(durations, Mapping):
        raise DataError("durations are a file, or are given by fluent: {'alarm': (4.3, 2.4)}")
    known = {name: _durations(name, value) for name, value in (durations or {}).items()}
    if isinstance(uncertain, str):
        uncertain = (uncertain,)
    if uncertain is not None and not (
        isinstance(uncertain, Iterable) and all(isinstance(each, str) for each in uncertain)
    ):
        raise DataError(f"uncertain relations are named in a list: ['walking'], not {uncertain!r}")
    relations = None if uncertain is None else tuple(uncertain)
    return UncertainSettings(
        float(threshold), named, memory, known, seed, relations, probabilities, float(mean_change)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(number: object) -> bool:
    """Is it a whole number of 64 bits?"""
    return isinstance(number, int) and not isinstance(number, bool) and abs(number) < 1 << 63


def read_durations(file: Path) -> dict[str, Durations]:
    """The durations of fluents in a file: for each fluent a table of `mean` and `deviation`."""
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: {error}") from None
    return {name: _durations(f"{file}: {name}", table) for name, table in tables.items()}


def write_durations(file: Path, durations: Mapping[str, tuple[Durations, int]]) -> None:
    """Write durations, and from how many intervals each was learned."""
    parts = [
        f'["{name}"]\nmean = {law.mean!r}\ndeviation = {law.deviation!r}\nintervals = {count}\n'
        for name, (law, count) in sorted(durations.items())
    ]
    file.write_text("# Durations of intervals, in time-points.\n\n" + "\n".join(parts), "utf-8")


def _durations(name: str, value: Any) -> Durations:
    if isinstance(value, Durations):
        return value
    if isinstance(value, Mapping):
        value = (value.get("mean"), value.get("deviation"))
    try:
        mean, deviation = value
        return Durations(float(mean), float(deviation))
    except (TypeError, ValueError):
        raise DataError(
            f"{name}: durations are a mean and a deviation, which is not negative, not {value!r}"
        ) from None


def _named(settings: Mapping[str, Setting], relation: Relation) -> Setting | None:
    return next((settings[name] for name in setting_names(relation) if name in settings), None)
