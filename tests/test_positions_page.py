"""docs/positions.md lists all parameters and reasons there are."""

import re
from dataclasses import fields
from pathlib import Path

from cernis.geo.events import EVENTS, FLUENT
from cernis.geo.parameters import Parameters

PAGE = (Path(__file__).parents[1] / "docs" / "positions.md").read_text("utf-8")


def test_all_parameters_are_listed_with_their_defaults() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (\S+) \| ", PAGE, re.MULTILINE))
    defaults = Parameters()
    assert listed == {own.name: str(getattr(defaults, own.name)) for own in fields(Parameters)}


def test_all_events_are_listed() -> None:
    named = set(re.findall(r"`(\w+)\(V[^`]*`", PAGE))
    assert {*EVENTS, FLUENT} <= named
