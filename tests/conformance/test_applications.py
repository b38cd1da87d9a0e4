"""RTEC's applications, rule files as they are: the intervals of RTEC itself, in one window.

Some come with records. For the others records are drawn, over the names their facts know.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.answers.result import as_text
from tests.conformance.rtec import Rtec, Windows, cernis_answer, clipped, folder, needs_rtec

pytestmark = needs_rtec()


@dataclass(frozen=True)
class Application:
    """Where the parts of an application lie, and up to when it is run."""

    name: str
    facts: tuple[str, ...]
    records: tuple[str, ...]
    end: int
    tick: int = 1
    drawn: Callable[[Path], list[str]] | None = None
    """Records that are computed or drawn, from the application's folder."""


def _agents(_: Path) -> list[str]:
    """A market: requests, quotes, orders and goods of a few agents."""
    random = Random(5)
    lines = []
    for time in sorted(random.randrange(90) for _ in range(150)):
        one, other = random.randrange(30), random.randrange(30)
        lines.append(random.choice((
            f"request_quote|{time}|{time}|{one}|{other}|book",
            f"present_quote|{time}|{time}|{one}|{other}|book|10",
            f"accept_quote|{time}|{time}|{one}|{other}|book",
            f"send_EPO|{time}|{time}|{one}|iServer|book|10",
            f"send_goods|{time}|{time}|{one}|iServer|book|key|dec",
        )))  # fmt: skip
    return lines


def _vessels(application: Path) -> list[str]:
    """Movements of a few vessels among a few areas."""
    random = Random(5)
    facts = "".join(path.read_text() for path in sorted(application.rglob("auxiliary/*/*.prolog")))
    vessels = random.sample(sorted(set(re.findall(r"\b\d{9}\b", facts))), 12)
    areas = random.sample(sorted(set(re.findall(r"\b[a-zA-Z0-9]+_\d{5}\b", facts))), 12)
    plain = (
        "gap_start", "gap_end", "stop_start", "stop_end", "slow_motion_start", "slow_motion_end",
        "change_in_speed_start", "change_in_speed_end", "change_in_heading",
    )  # fmt: skip
    lines = []
    for time in sorted(random.randrange(1, 20_000) for _ in range(1500)):
        vessel, other = random.sample(vessels, 2)
        speed, course = random.randint(0, 25), random.randint(0, 359)
        lines.append(random.choice((
            f"velocity|{time}|{time}|{vessel}|{speed}.5|{course}.0|{(course + 20) % 360}.0",
            f"entersArea|{time}|{time}|{vessel}|{random.choice(areas)}",
            f"leavesArea|{time}|{time}|{vessel}|{random.choice(areas)}",
            f"{random.choice(plain)}|{time}|{time}|{vessel}",
            f"{random.choice(plain)}|{time}|{time}|{other}",
        )))  # fmt: skip
    return lines


def _distances(application: Path) -> list[str]:
    """Who is within which distance of whom, at points: RTEC computes it beforehand."""
    places: dict[int, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for line in (application / "dataset/csv/movementB.csv").read_text().splitlines():
        fields = line.strip().split("|")
        if fields[0] == "coord":
            places[int(fields[2])][fields[4]].append((float(fields[5]), float(fields[6])))
    rows = set()
    for time, people in places.items():
        for one in people:
            for other in (name for name in people if name > one):
                far = min(math.dist(a, b) for a in people[one] for b in people[other])
                near = next((limit for limit in (24, 25, 30, 34) if far <= limit), None)
                if near is not None:
                    rows.add((time, one, other, near))
    return [f"distance|{t}|{t}|true|{a}|{b}|{near}" for t, a, b, near in sorted(rows)]


_CTM = tuple(
    f"dataset/csv/{name}.csv"
    for name in ("abrupt_acceleration", "abrupt_deceleration", "internal_temperature_change",
                 "noise_level_change", "passenger_density_change", "sharp_turn", "stop_enter_leave")
)  # fmt: skip
APPLICATIONS = (
    Application("toy", ("dataset/auxiliary/toy_var_domain.prolog",), ("dataset/csv/toy_data.csv",),
                50),
    Application("ctm", ("dataset/auxiliary/vehicles.prolog",), _CTM, 10_000),
    Application("voting", ("dataset/auxiliary/voting_static_generator.prolog",),
                ("dataset/csv/voting.csv",), 100),
    Application("netbill", ("dataset/auxiliary/netbill_static_generator.prolog",), (), 100,
                drawn=_agents),
    Application("maritime", ("resources/auxiliary/compare.prolog",
                             "resources/auxiliary/loadStaticData.prolog"), (), 20_000,
                drawn=_vessels),
    Application("caviar", ("resources/auxiliary/pre-processing.prolog",),
                ("dataset/csv/appearance.csv", "dataset/csv/movementB.csv"), 200_000, 40,
                _distances),
)  # fmt: skip


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda own: own.name)
def test_applications(application: Application, tmp_path: Path) -> None:
    source = folder()
    assert source is not None
    own = source / "examples" / application.name
    rules = own / "resources/patterns/rules.prolog"
    facts = [own / name for name in application.facts]
    records = [own / name for name in application.records]
    if application.drawn is not None:
        records.append(tmp_path / "drawn.csv")
        records[-1].write_text("".join(f"{line}\n" for line in application.drawn(own)))
    windows = Windows(application.end, application.end, application.end, application.tick)
    rtec = Rtec(source, tmp_path, facts)
    seen = application.tick, application.end + 1
    theirs = clipped(rtec.run(rtec.compile(rules), records, windows)[0], *seen)
    lines = [line for path in records for line in path.read_text().splitlines()]
    result = cernis.load(rules, facts).run(lines, start=0, end=windows.end, tick=windows.tick)
    ours = clipped(cernis_answer(as_text(result.answer)), *seen)
    assert theirs
    told = {re.split(r"[(=]", pair)[0] for pair in theirs}
    assert theirs == {pair: found for pair, found in ours.items() if _name(pair) in told}


def _name(pair: str) -> str:
    return re.split(r"[(=]", pair)[0]
