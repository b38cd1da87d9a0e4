"""Noise on text records: the same lines, some with a probability, some that never happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cernis.answers.noise import distance_confidences, gamma_confidences, spurious_records
from cernis.errors import DataError
from cernis.kernels.array_types import Floats
from cernis.records.text_lines import heading, is_whole


@dataclass(frozen=True, slots=True)
class Noise:
    """What noise there is.

    Records of `events`, all if there are none named, get a confidence by gamma noise of a mean
    that rises from `first` to `last`; so do those of `context`. A share of the events is copied
    under the name of another event. With `distance`, the argument of that number, counted from 1,
    is the distance that decides the confidence, `scale` being where it is one half.
    """

    events: Sequence[str] = ()
    context: Sequence[str] = ()
    first: float = 0.5
    last: float = 8.0
    spurious: float = 0.0
    distance: int | None = None
    scale: float = 10_000.0
    seed: int = 0


def with_noise(lines: Iterable[str], noise: Noise) -> list[str]:
    """Lines with noise, in their order, a copy after what it is a copy of.

    A line that is no record, or has a probability already, stays as it is.
    """
    stripped = [line.rstrip("\r\n") for line in lines]
    fields = [line.split("|") for line in stripped]
    names = [heading(own[0]).name for own in fields]
    usable = [_is_certain(own) for own in fields]
    touched = {*noise.events, *noise.context}
    rows = [
        row
        for row, name in enumerate(names)
        if usable[row] and (not noise.events or name in touched)
    ]
    chance = np.random.default_rng(noise.seed)
    confidences = dict(zip(rows, _confidences(rows, fields, noise, chance).tolist(), strict=True))
    copies = _copies(rows, names, noise, chance)
    noisy = []
    for row, line in enumerate(stripped):
        noisy.append(_with_confidence(confidences[row], line) if row in confidences else line)
        if row in copies:
            name, confidence = copies[row]
            noisy.append(_with_confidence(confidence, "|".join([name, *fields[row][1:]])))
    return noisy


def _is_certain(fields: list[str]) -> bool:
    return len(fields) > 2 and "::" not in fields[0] and is_whole(fields[2])


def _confidences(
    rows: list[int], fields: list[list[str]], noise: Noise, chance: np.random.Generator
) -> Floats:
    if noise.distance is None:
        times = np.array([int(fields[row][2]) for row in rows], np.int64)
        return gamma_confidences(times, chance, noise.first, noise.last)
    place = noise.distance + 2
    try:
        distances = np.array([float(fields[row][place]) for row in rows])
    except (IndexError, ValueError):
        raise DataError(
            f"argument {noise.distance} is no distance in every record; name the events that "
            "have one with --events"
        ) from None
    return distance_confidences(distances, noise.scale)


def _copies(
    rows: list[int], names: list[str], noise: Noise, chance: np.random.Generator
) -> dict[int, tuple[str, float]]:
    """For some rows the name and confidence of a copy that never happened."""
    kinds = list(noise.events)
    candidates = [row for row in rows if names[row] in kinds]
    codes = np.array([kinds.index(names[row]) for row in candidates], np.int64)
    chosen, other = spurious_records(codes, len(kinds), noise.spurious, chance)
    confidences = gamma_confidences(chosen, chance, noise.first, noise.last)
    return {
        candidates[row]: (kinds[name], confidence)
        for row, name, confidence in zip(
            chosen.tolist(), other.tolist(), confidences.tolist(), strict=True
        )
    }


def _with_confidence(confidence: float, line: str) -> str:
    return f"{confidence:.6f}".rstrip("0").rstrip(".") + f"::{line}"
