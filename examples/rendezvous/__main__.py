"""From raw AIS to rendez-vous on a map.

    python -m examples.rendezvous                  # a simulated day
    python -m examples.rendezvous --ais FILE       # AIS sentences, or a table of positions

A table is CSV or Parquet, with the columns of MarineCadastre (MMSI, BaseDateTime, LAT, LON, SOG,
COG, Heading) or those of docs/positions.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

import cernis
from cernis.answers.result import Result
from cernis.geo.events import positions_to_events
from cernis.geo.parameters import Parameters
from examples.rendezvous.sentences import sentences
from examples.rendezvous.simulate import Simulation, simulate

RULES, FACTS = (Path(__file__).parent / name for name in ("rules.cer", "facts.cer"))
TITLES = {
    "MMSI": "vessel", "BaseDateTime": "t", "LON": "lon", "LAT": "lat", "SOG": "speed",
    "COG": "course", "Heading": "heading",
}  # fmt: skip
COLUMNS = ("vessel", "t", "lon", "lat", "speed", "course", "heading")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="From raw AIS to rendez-vous on a map.")
    parser.add_argument("--ais", type=Path, help="AIS sentences, or positions as CSV or Parquet")
    parser.add_argument("--seed", type=int, default=7, help="of the simulated day")
    parser.add_argument("--output", type=Path, default=Path("rendezvous.html"), help="the report")
    options = parser.parse_args()
    if options.ais is not None and not options.ais.is_file():
        parser.error(f"there is no file {options.ais}")
    simulation = None if options.ais else simulate(options.seed)
    positions = read(options.ais) if options.ais else received(simulation)
    result = recognised(positions)
    show(result, positions)
    if simulation is not None:
        compare(result, simulation)
    page = write_map(result, positions, options.output)
    print(f"{page}: the rendez-vous on a timeline and a map; open it in a browser")


def read(path: Path) -> pa.Table:
    """The positions of a file."""
    if path.suffix == ".parquet":
        return positions_of(pq.read_table(path))
    if path.suffix == ".csv":
        return positions_of(pyarrow.csv.read_csv(path))
    return decoded(path)


def positions_of(table: pa.Table) -> pa.Table:
    """A table of positions under the titles that cernis knows."""
    table = table.rename_columns([TITLES.get(name, name) for name in table.column_names])
    missing = [name for name in COLUMNS[:4] if name not in table.column_names]
    if missing:
        sys.exit(f"columns are missing: {', '.join(missing)}; there are {table.column_names}")
    table = table.select([name for name in COLUMNS if name in table.column_names])
    return table.set_column(1, "t", _times(table["t"]))


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    return pc.strptime(column, format="%Y-%m-%dT%H:%M:%S", unit="s")


def received(simulation: Simulation) -> pa.Table:
    """The positions of a simulation, by way of the AIS sentences that a receiver would write."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ais.txt"
        log.write_text("\n".join(sentences(simulation.positions)) + "\n", "ascii")
        return decoded(log)


def decoded(path: Path) -> pa.Table:
    """The positions that AIS sentences report."""
    from cernis.geo.ais import read_ais

    messages = read_ais(path)
    print(f"{messages.positions.num_rows:,} positions in {path.name}, "
          f"{messages.set_aside.num_rows:,} lines set aside")  # fmt: skip
    return messages.positions


def recognised(positions: pa.Table) -> Result:
    """What the rules make of positions."""
    events = positions_to_events(positions, Parameters())
    rules = cernis.load(RULES, [FACTS])
    names = {relation.name for relation in (*rules.events, *rules.fluents)}
    read = {name: dated(table) for name, table in events.relations.items() if name in names}
    return rules.run(read)


def dated(table: pa.Table) -> pa.Table:
    """A table of events with timestamps in place of seconds, so that the answer has dates."""
    for place, name in enumerate(table.column_names):
        if name in ("occurrence", "start", "end"):
            times = table[name].cast(pa.timestamp("s", "UTC"))
            table = table.set_column(place, name, times)
    return table


def show(result: Result, positions: pa.Table) -> None:
    """The rendez-vous, and how many pairs of vessels only lay side by side."""
    vessels = len(pc.unique(positions["vessel"]))
    beside, met = result.fluent("sideBySide"), result.fluent("rendezVous")
    print(f"{vessels:,} vessels; side by side for ten minutes: {beside.num_rows:,} times")
    print(f"of these, rendez-vous: {met.num_rows:,}")
    for row in met.sort_by("start").to_pylist():
        end = "..." if row["end"] is None else clock(row["end"])
        print(f"  {row['V']} and {row['W']}  {clock(row['start'])} to {end}")


def write_map(result: Result, positions: pa.Table, path: Path) -> Path:
    """A report: what held on a timeline, and the tracks of all vessels on a map."""
    return result.report(path, title="Rendez-vous at sea", events=False, positions=positions)


def clock(seconds: int | datetime) -> str:
    """A time of the answer, as a date and a time of day."""
    time = seconds if isinstance(seconds, datetime) else datetime.fromtimestamp(seconds, UTC)
    return f"{time:%Y-%m-%d %H:%M}"


def compare(result: Result, simulation: Simulation) -> None:
    """How the answer compares with what was simulated."""
    planted = {(row["vessel1"], row["vessel2"]) for row in simulation.meetings.to_pylist()}
    met = {(row["v"], row["w"]) for row in result.fluent("rendezVous").to_pylist()}
    print(f"meetings that were simulated: {len(planted)}, found {len(planted & met)}, "
          f"wrong {len(met - planted)}")  # fmt: skip


if __name__ == "__main__":
    main()
