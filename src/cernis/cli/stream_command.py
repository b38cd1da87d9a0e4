"""`cernis stream` and `cernis replay`: recognition on a stream, and how it goes."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cernis.cli.console import say, stop
from cernis.cli.program_arguments import Dialect, Facts, Rules, load_program
from cernis.cli.run_command import say_summary, tell_of_compilation
from cernis.cli.spark_command import quiet, said, spark_settings
from cernis.cli.uncertain_commands import (
    Durations,
    Memory,
    Probabilities,
    Relations,
    Seed,
    Threshold,
    Uncertain,
    likely_settings,
    names_of,
)
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.program import Program
    from cernis.spark.metrics import Metrics
    from cernis.spark.streaming.stream_query import Stream

_EVERY = 0.5
"""Seconds between two looks at a stream."""


class ReportPolicy(StrEnum):
    """When intervals are reported."""

    EARLY = "early"
    PARTIAL = "partial"
    FINAL = "final"


Window = Annotated[str, typer.Option(help="How far back a query sees: 7200, or 2h.")]
Step = Annotated[str | None, typer.Option(help="The time from query to query.")]
Lateness = Annotated[str, typer.Option(help="How long a query waits for records that are late.")]
PolicyOption = Annotated[ReportPolicy, typer.Option(help="When intervals are reported.")]
SinkOption = Annotated[
    str,
    typer.Option(
        help="Where changes go: console, parquet:DIR, delta:DIR, or spark:FORMAT?key=value."
    ),
]
Start = Annotated[str | None, typer.Option(help="Only later records count.")]
Tick = Annotated[int | None, typer.Option(help="How far apart time-points are.")]
Future = Annotated[
    str | None, typer.Option(help="How far ahead of the others a record may be; else set aside.")
]
Partitions = Annotated[
    int | None, typer.Option(help="How many buckets entities are spread over; twice the cores.")
]
AllowUnused = Annotated[
    bool,
    typer.Option("--allow-unused", help="All is well, too, if most of the records are not used."),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--metrics-port", min=0, max=65535, help="Serve figures there, for Prometheus; 0 is any."
    ),
]
Master = Annotated[str, typer.Option(help="Where Spark runs: local[*], or a cluster's address.")]
Conf = Annotated[
    list[str], typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's.")
]


@dataclass(frozen=True)
class StreamRequest:
    """What a stream is to do."""

    program: Program
    settings: dict[str, Any]
    sink: str
    port: int | None
    master: str
    conf: dict[str, str]


def stream(
    rules: Rules,
    source: Annotated[
        str,
        typer.Option(help="files:DIR, mqtt://HOST:PORT/TOPIC, or spark:FORMAT?key=value."),
    ],
    window: Window,
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="DIR", readable=False, help="Where the stream keeps its state, to go on from."
        ),
    ],
    facts: Facts = [],  # noqa: B006 - the command line makes a new one for each call
    dialect: Dialect = None,
    step: Step = None,
    lateness: Lateness = "0",
    policy: PolicyOption = ReportPolicy.EARLY,
    sink: SinkOption = "console",
    start: Start = None,
    tick: Tick = None,
    future: Future = None,
    partitions: Partitions = None,
    every: Annotated[
        str | None, typer.Option(help="How often a micro-batch begins: '10 seconds'.")
    ] = None,
    heartbeat: Annotated[
        str | None,
        typer.Option(help="Time goes on with the clock on the wall, but this much later than it."),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(help="The column that identifies records; of text records, the last field."),
    ] = None,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="End when all that is there has been read.")
    ] = False,
    allow_unused: AllowUnused = False,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Which columns of files are what."),
    ] = None,
    uncertain: Uncertain = False,
    threshold: Threshold = 0.5,
    memory: Memory = None,
    durations: Durations = None,
    seed: Seed = 0,
    relations: Relations = "",
    probabilities: Probabilities = False,
    port: Port = None,
    master: Master = "local[*]",
    conf: Conf = [],  # noqa: B006 - as above
) -> None:
    """Recognise on a stream, and report every change; ends with Ctrl-C."""
    more: dict[str, Any] = {
        "every": every, "until_done": until_done, "mapping": config, "checkpoint": checkpoint,
        "heartbeat": heartbeat, "ids": ids,
    }  # fmt: skip
    more["uncertain"] = _likely(
        uncertain, threshold, memory, durations, seed, relations, probabilities
    )
    request = _request(
        rules, facts, dialect, sink, port, master, conf, window=window, step=step,
        lateness=lateness, policy=policy, start=start, tick=tick, future=future,
        partitions=partitions, **more,
    )  # fmt: skip
    from cernis.spark.streaming.stream_sources import source_of

    try:
        events = source_of(source, checkpoint / "spool")
    except DataError as error:
        stop(str(error), 2)
    with _session(request) as spark:
        with said():
            running = _started(request, events.stream(spark))
        is_over = _watch(running, request.port)
    if is_over and not allow_unused:
        _conclude(running)


def replay(
    rules: Rules,
    inputs: Annotated[
        list[Path],
        typer.Option("--input", "-i", metavar="FILE", readable=False,
                     help="History: text records or Parquet."),
    ],
    window: Window,
    facts: Facts = [],  # noqa: B006 - as above
    dialect: Dialect = None,
    step: Step = None,
    lateness: Lateness = "0",
    policy: PolicyOption = ReportPolicy.EARLY,
    sink: SinkOption = "console",
    start: Start = None,
    tick: Tick = None,
    future: Future = None,
    partitions: Partitions = None,
    slice_: Annotated[
        str | None, typer.Option("--slice", help="Arrival time that comes at once; a step.")
    ] = None,
    speed: Annotated[
        str, typer.Option(help="Units of time a second, such as 60; or max.")
    ] = "max",
    allow_unused: AllowUnused = False,
    uncertain: Uncertain = False,
    threshold: Threshold = 0.5,
    memory: Memory = None,
    durations: Durations = None,
    seed: Seed = 0,
    relations: Relations = "",
    probabilities: Probabilities = False,
    port: Port = None,
    master: Master = "local[*]",
    conf: Conf = [],  # noqa: B006 - as above
) -> None:  # fmt: skip
    """Send history through the streaming path, as if it came now, at any speed."""
    with tempfile.TemporaryDirectory(prefix="cernis-replay-") as folder:
        request = _request(
            rules, facts, dialect, sink, port, master, conf, window=window, step=step,
            lateness=lateness, policy=policy, start=start, tick=tick, future=future,
            partitions=partitions,
            checkpoint=Path(folder, "checkpoint"),
            uncertain=_likely(
        uncertain, threshold, memory, durations, seed, relations, probabilities
    ),
        )  # fmt: skip
        running = _replay(request, inputs, slice_ or step or window, _speed(speed), Path(folder))
    if running is not None and not allow_unused:
        _conclude(running)


def _likely(
    uncertain: bool, threshold: float, memory: int | None, durations: Path | None, seed: int,
    relations: str, probabilities: bool,
) -> bool | dict[str, Any]:  # fmt: skip
    """Settings of a stream of uncertain records; False for one of certain ones."""
    try:
        likely_settings(uncertain, threshold, memory, durations, seed, probabilities, relations)
    except DataError as error:
        stop(str(error), 2)
    if not uncertain:
        return False
    return {
        "threshold": threshold, "memory": memory, "durations": durations, "seed": seed,
        "uncertain": names_of(relations), "probabilities": probabilities,
    }  # fmt: skip


def _speed(text: str) -> float | None:
    try:
        value = None if text == "max" else float(text)
    except ValueError:
        value = 0.0
    if value is not None and not 0 < value < float("inf"):
        stop(f"--speed is max or a positive number, not {text}", 2)
    return value


def _request(
    rules: Path, facts: list[Path], dialect: str | None, sink: str, port: int | None, master: str,
    conf: list[str], **settings: Any,
) -> StreamRequest:  # fmt: skip
    program = load_program(rules, facts, dialect)
    tell_of_compilation()
    if settings["lateness"] == "0":
        settings["lateness"] = 0
    try:
        _look_ahead(settings, sink)
        return StreamRequest(program, settings, sink, port, master, spark_settings(conf))
    except DataError as error:
        stop(str(error), 2)


def _look_ahead(options: dict[str, Any], sink: str) -> None:
    """Find out before Spark is started whether settings and sink can be."""
    from cernis.session.settings import length
    from cernis.session.settings import settings as checked
    from cernis.spark.sinks import sink_of

    checked(options["window"], options["step"], options["start"], None, options["tick"])
    for name in ("lateness", "future", "heartbeat"):
        if options.get(name):
            length(options[name], name)
    sink_of(sink, "", None)


@contextmanager
def _session(request: StreamRequest) -> Iterator[Any]:
    with said(), quiet():
        from cernis.spark.spark_session import session

        spark = session(request.master, {"spark.log.level": "OFF", **request.conf})
    try:
        yield spark
    finally:
        spark.stop()


def _started(request: StreamRequest, events: Any) -> Stream:
    import logging

    from cernis.spark.streaming.notices import LOGGER
    from cernis.spark.streaming.stream_query import stream as start_stream

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("cernis: warning: %(message)s"))
    logging.getLogger(LOGGER).handlers[:] = [handler]
    return start_stream(request.program, events, sink=request.sink, **request.settings)


def _replay(
    request: StreamRequest, inputs: list[Path], length: str, speed: float | None, folder: Path
) -> Stream | None:
    """Send history through a stream; None if it was stopped before the end."""
    from cernis.session.settings import length as length_of
    from cernis.spark.streaming.file_source import files
    from cernis.spark.streaming.replay import Replay, bounds, history, prepared, slices

    with said():
        pieces = history(inputs)
        first, last = bounds(pieces)
        late = request.settings["lateness"]
        last_query = last + (length_of(late, "lateness") if late else 0)
        # The first query after the last record is answered too.
        last_query += length_of(request.settings["step"] or request.settings["window"], "step")
        staged, target = prepared(folder)
        cut = slices(pieces, length_of(length, "slice"), staged, last_query)
    with _session(request) as spark:
        with said():
            running = _started(request, files(spark, target))
        mover = Replay(target, speed, lambda rows: _until(running, rows))
        thread = threading.Thread(target=lambda: mover.run(cut, first), daemon=True)
        thread.start()
        is_over = _watch(running, request.port, lambda: thread.is_alive())
    return running if is_over else None


def _until(running: Stream, rows: int) -> None:
    """Wait until a stream has read so many records, or is over."""
    while running.metrics.events < rows and running.query.isActive:
        time.sleep(0.02)


def _watch(running: Stream, port: int | None, goes_on: Callable[[], bool] | None = None) -> bool:
    """Show how a stream goes until it ends, is stopped, or all that comes has been done.

    Gives whether all has been done.
    """
    from cernis.spark.metrics import serve

    server, is_over = None, True
    try:
        with said(), _line(running.metrics) as show:
            server = None if port is None else serve(running.metrics.prometheus, port)
            while not running.wait(_EVERY):
                show()
                if goes_on is not None and not goes_on():
                    running.catch_up()
                    break
    except KeyboardInterrupt:
        is_over = False
    finally:
        running.stop()
        if server is not None:
            server.shutdown()
            server.server_close()
    _say_end(running)
    return is_over


def _conclude(running: Stream) -> None:
    """Exit with 3 if most of the records were not used, and say so."""
    lines = running.notices.unused(running.metrics, running.set_aside)
    if lines:
        say(f"cernis: warning: {lines[0]}; --allow-unused accepts that", err=True)
        say("\n".join(f"  {line}" for line in lines[1:]), err=True)
        raise typer.Exit(3)


def _say_end(running: Stream) -> None:
    metrics = running.metrics
    lines = [
        ("records", f"{metrics.events:,}"), ("ignored", f"{metrics.ignored:,}"),
        ("set aside", f"{metrics.set_aside:,}"), ("too late", f"{metrics.too_late:,}"),
        ("files skipped", f"{metrics.skipped_files:,}"),
        ("queries", f"{metrics.queries:,}, the last at {metrics.query_time}"),
        ("changes", f"{metrics.inserted:,} inserted, {metrics.revised:,} deleted"),
        ("state", f"{metrics.state_bytes / 1e6:,.1f} MB, {metrics.held:,} records"),
        ("micro-batches", f"{metrics.batches:,}"),
    ]  # fmt: skip
    for aside in running.set_aside[:5]:
        say(f"set aside: {aside}", err=True)
    for skipped in running.skipped[:5]:
        say(f"skipped: {skipped}", err=True)
    lines += [("note", text) for text in running.notices.missing()]
    say_summary([(name, figure) for name, figure in lines if figure != "0"])


@contextmanager
def _line(metrics: Metrics) -> Iterator[Callable[[], None]]:
    """A line on the terminal that changes; nothing where there is none."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:
        yield lambda: live.update(Text(metrics.line()))
