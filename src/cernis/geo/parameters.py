"""All that can be set on the way from positions to events, in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields

from cernis.errors import DataError

POSITIVE = (
    "gap_period", "stop_points", "slow_points", "speed_points", "jump_speed",
    "proximity_distance", "proximity_step", "tick",
)  # fmt: skip
"""The parameters that must be more than 0; no other may be less."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What counts as a gap, a stop, a turn and so on. Times are in seconds, speeds in knots.

    The defaults suit vessels that report every few seconds to minutes, and are a place to start
    from: silence of half an hour, stops below half a knot, slow motion below five, changes of speed
    by a quarter, turns by 15 degrees.
    """

    gap_period: int = 1800
    """A vessel silent for longer than this has a gap; its track is cut there."""
    until: int | None = None
    """The end of the positions, if it is known: a vessel silent since more than a gap period
    before it has a gap that does not end. If not known, silence at the end is no gap."""
    stop_speed: float = 0.5
    """A stop begins with a position slower than this."""
    stop_radius: float = 200.0
    """A stop goes on while the vessel is slower than `stop_speed`, or slower than `slow_speed`
    and no further than so many metres from where the stop began."""
    stop_points: int = 3
    """The least number of positions of a stop."""
    slow_speed: float = 5.0
    """Slow motion is a stretch of positions slower than this that belong to no stop."""
    slow_points: int = 3
    """The least number of positions of slow motion."""
    speed_ratio: float = 0.25
    """The speed changes at a position if it is off the mean of the ones before by more than this
    share of that mean."""
    speed_points: int = 5
    """How many positions before, at most, that mean is of."""
    turn_angle: float = 15.0
    """A vessel turns if its course is more than so many degrees off the course at its last turn;
    so a turn in many small steps counts as well."""
    velocity_every: int = 0
    """A velocity is reported at critical points, where areas are entered or left, and at another
    position if none was for at least so long; 0 reports all."""
    jump_speed: float = 60.0
    """A position that could be reached and left only faster than this is an error of measurement
    and set aside, if the positions around it can do without."""
    proximity_distance: float = 250.0
    """Vessels no further apart than so many metres are near each other."""
    proximity_step: int = 60
    """Distances are taken at multiples of this time, between positions by interpolation."""
    proximity_bridge: int = 0
    """Intervals of proximity of one pair no further apart than this are made one."""
    proximity_except: tuple[str, ...] = ()
    """Names of areas, ports say, within which vessels are near nobody."""
    tick: int = 1
    """The clock tick of the rules."""

    def __post_init__(self) -> None:
        """Raise DataError for a setting that means nothing."""
        for field in fields(self):
            setting = getattr(self, field.name)
            if field.name in POSITIVE and not setting > 0:
                raise DataError(f"{field.name} must be more than 0, and is {setting}")
            if isinstance(setting, int | float) and field.name != "until" and not setting >= 0:
                raise DataError(f"{field.name} must not be less than 0, and is {setting}")
        if self.slow_speed < self.stop_speed:
            raise DataError(f"slow_speed {self.slow_speed} is below stop_speed {self.stop_speed}")
