"""The scenes of the surveillance example: who walks where, and does what, as parts of a whole.

Times in a scene run from 0 to 1, whatever its length; positions are pixels of a video frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import atan2, degrees

ACTIVITIES = ("walking", "running", "active", "inactive", "abrupt")
WALKING, RUNNING, ACTIVE, INACTIVE, ABRUPT = range(5)


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody or something that is tracked from the first mark to the last.

    A mark is a time and a position, with what is done from there to the next mark; what the last
    one says is not done any more.
    """

    marks: tuple[tuple[float, int, int, int], ...]

    @property
    def times(self) -> list[float]:
        """The times of the marks."""
        return [time for time, _, _, _ in self.marks]

    @property
    def across(self) -> list[int]:
        """The horizontal positions of the marks."""
        return [x for _, x, _, _ in self.marks]

    @property
    def down(self) -> list[int]:
        """The vertical positions of the marks."""
        return [y for _, _, y, _ in self.marks]

    @property
    def activities(self) -> list[int]:
        """What is done between each two marks."""
        return [activity for _, _, _, activity in self.marks[:-1]]

    def orientations(self) -> list[int]:
        """Where one faces between each two marks: the way one goes, or went last.

        Who has not gone anywhere yet faces along the horizontal axis.
        """
        angle, angles = 0, []
        for (_, x1, y1, _), (_, x2, y2, _) in pairwise(self.marks):
            if (x1, y1) != (x2, y2):
                angle = round(degrees(atan2(y2 - y1, x2 - x1))) % 360
            angles.append(angle)
        return angles


STROLL = (Actor(((0.0, 20, 60, WALKING), (0.5, 190, 90, WALKING), (1.0, 360, 60, WALKING))),)

RUN = (Actor(((0.2, 20, 230, WALKING), (0.4, 80, 230, RUNNING), (0.8, 360, 220, RUNNING))),)

BROWSE = (
    Actor(
        (
            (0.0, 20, 250, WALKING),
            (0.3, 150, 250, INACTIVE),
            (0.5, 150, 250, ACTIVE),
            (0.7, 150, 250, WALKING),
            (1.0, 20, 260, WALKING),
        )
    ),
)

MEET = (
    Actor(
        (
            (0.0, 20, 150, WALKING),
            (0.3, 180, 150, ACTIVE),
            (0.5, 180, 150, INACTIVE),
            (0.7, 180, 150, WALKING),
            (1.0, 340, 150, WALKING),
        )
    ),
    Actor(
        (
            (0.05, 360, 154, WALKING),
            (0.3, 198, 154, INACTIVE),
            (0.5, 198, 154, ACTIVE),
            (0.7, 198, 154, WALKING),
            (0.95, 331, 154, WALKING),
        )
    ),
)

FIGHT = (
    Actor(
        (
            (0.0, 20, 120, WALKING),
            (0.4, 180, 120, ABRUPT),
            (0.6, 180, 120, WALKING),
            (1.0, 20, 100, WALKING),
        )
    ),
    Actor(
        (
            (0.1, 360, 122, WALKING),
            (0.4, 194, 122, ACTIVE),
            (0.6, 194, 122, RUNNING),
            (0.8, 360, 160, RUNNING),
        )
    ),
)

LEAVE = (
    Actor(
        (
            (0.0, 20, 180, WALKING),
            (0.3, 180, 180, ACTIVE),
            (0.4, 180, 180, WALKING),
            (0.65, 330, 200, WALKING),
            (0.85, 184, 182, WALKING),
            (1.0, 20, 190, WALKING),
        )
    ),
    Actor(((0.38, 190, 186, INACTIVE), (0.84, 190, 186, INACTIVE))),
)

PASS = (
    Actor(((0.0, 20, 200, WALKING), (1.0, 360, 200, WALKING))),
    Actor(((0.0, 360, 210, WALKING), (1.0, 20, 210, WALKING))),
    Actor(((0.4, 100, 40, WALKING), (0.9, 110, 280, WALKING))),
)

SCENES = (STROLL, MEET, FIGHT, LEAVE, PASS, RUN, BROWSE)
"""Whatever is staged, one drawn for each scene; the first has one actor only."""
