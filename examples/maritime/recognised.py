"""From simulated positions to what the rules recognise, in one process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import shapely

import cernis
from cernis.answers.result import Result
from cernis.geo.areas import Areas
from cernis.geo.events import positions_to_events
from cernis.geo.parameters import Parameters
from cernis.program import Program
from examples.maritime.simulate import Simulation

RULES = Path(__file__).parent / "rules.cer"


def areas_of(simulation: Simulation) -> Areas:
    """The areas of a simulation as polygons."""
    return Areas(
        {name: shapely.box(*corners) for name, (_, corners) in simulation.areas.items()},
        {name: kind for name, (kind, _) in simulation.areas.items()},
    )


def program_for(simulation: Simulation) -> Program:
    """The maritime rules with the facts of a simulation."""
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.cer"
        facts.write_text(simulation.facts, "utf-8")
        return cernis.load(RULES, [facts])


def recognised(simulation: Simulation, parameters: Parameters | None = None) -> Result:
    """What held when, over the whole simulation."""
    events = positions_to_events(simulation.positions, parameters, areas_of(simulation))
    return program_for(simulation).run(events.relations)
