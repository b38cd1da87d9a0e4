"""From which size of the input on Spark is faster on one machine: `cernis run` by both engines.

Text records are written in some sizes, and recognised in this process and on Spark, each in a
process of its own, start included. Prints the seconds of both and their ratio. The limit of
`--engine auto` may lie up to where the ratio passes 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from text import RULES, records

ROOT = Path(__file__).parents[1]


def seconds(rules: Path, events: Path, output: Path, engine: str) -> float:
    """How long a run takes by the clock."""
    command = [
        sys.executable, "-m", "cernis", "run", str(rules), "--input", str(events), "--engine",
        engine, "--output", str(output), "--overwrite",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000, 4_000_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = folder / "rules.cer"
        rules.write_text(RULES)
        for count in options.records:
            events = folder / "records.txt"
            events.write_text(records(count))
            size = events.stat().st_size / 1e6
            # The first run compiles kernels; it is not timed.
            if count == options.records[0]:
                seconds(rules, events, folder / "out", "local")
            local, spark = (
                seconds(rules, events, folder / "out", engine) for engine in ("local", "spark")
            )
            print(
                f"{count:>12,} records {size:8.1f} MB: in process {local:6.1f} s, "
                f"on Spark {spark:6.1f} s, ratio {local / spark:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
