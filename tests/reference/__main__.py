"""`python -m tests.reference RULES EVENTS`: print what the reference evaluator recognises."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .evaluate import Answer, Settings, evaluate
from .load import load
from .program import read_program
from .records import read_records


def main(arguments: list[str] | None = None) -> None:
    """Evaluate the rules on the events and print the answer; what did not count goes to stderr."""
    options = _parser().parse_args(arguments)
    items = load([options.rules, *options.facts])
    records = read_records(options.events.read_text(encoding="utf-8"), read_program(items))
    settings = Settings(
        options.tick, options.ties, options.start, options.end, options.window, options.step
    )
    answer = evaluate(items, records, settings)
    print(answer.text(), end="")
    for line in _aside(answer):
        print(line, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.reference", description=__doc__)
    parser.add_argument("rules", type=Path, metavar="RULES")
    parser.add_argument("events", type=Path, metavar="EVENTS")
    parser.add_argument("--facts", type=Path, nargs="+", default=[], metavar="FILE")
    parser.add_argument("--ties", choices=("break", "initiation"))
    for name in ("window", "step", "start", "end", "tick"):
        parser.add_argument(f"--{name}", type=int, metavar="N")
    return parser


def _aside(answer: Answer) -> list[str]:
    lines = [f"line {aside.line}: {aside.reason}" for aside in answer.set_aside]
    lines += [f"line {record.line}: too late" for record in answer.too_late]
    lines += [f"line {record.line}: outside the run" for record in answer.outside]
    lines += [f"line {record.line}: nothing to retract" for record in answer.unmatched]
    return lines


if __name__ == "__main__":
    main()
