"""`cernis stream` and `cernis replay`: recognition on a stream, and how it goes."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cernis.cli.console import say, stop
from cernis.cli.option_groups import takes
from cernis.cli.program_arguments import (
    ColumnOptions,
    Dialect,
    Epoch,
    Facts,
    RoundTimes,
    Rules,
    TimeUnit,
    Timezone,
    load_program,
)
from cernis.cli.run_command import say_summary, tell_of_compilation
from cernis.cli.spark_command import quiet, said, spark_settings
from cernis.cli.uncertain_commands import (
    MeanChange,
    Relations,
    UncertainOptions,
    names_of,
    refuse_probabilities,
)
from cernis.errors import DataError

if TYPE_CHECKING:
    from cernis.program import Program
    from cernis.spark.live_server import LivePage, LiveServer
    from cernis.spark.metrics import Metrics
    from cernis.spark.streaming.stream_query import Stream
    from cernis.syntax.time_scale import TimeScale

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
    int | None, typer.Option(help="How many buckets entities are spread over; as many as cores.")
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
Serve = Annotated[
    str | None,
    typer.Option("--serve", metavar="HOST:PORT", help="Show the stream on a page: 127.0.0.1:8080."),
]
Token = Annotated[
    str | None,
    typer.Option("--token", help="What a browser has to know to see that page; else it is made up "
                 "if HOST is not this machine."),
]  # fmt: skip
Master = Annotated[str, typer.Option(help="Where Spark runs: local[*], or a cluster's address.")]
Conf = Annotated[
    list[str], typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's.")
]


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """The options that `cernis stream` and `cernis replay` share."""

    window: Window
    facts: Facts = field(default_factory=list)
    dialect: Dialect = None
    step: Step = None
    lateness: Lateness = "0"
    policy: PolicyOption = ReportPolicy.EARLY
    sink: SinkOption = "console"
    start: Start = None
    tick: Tick = None
    time_unit: TimeUnit = None
    timezone: Timezone = None
    round_times: RoundTimes = False
    epoch: Epoch = False
    causes: Annotated[
        bool,
        typer.Option("--causes", help="Name the records that began and ended each interval."),
    ] = False
    future: Future = None
    partitions: Partitions = None
    allow_unused: AllowUnused = False
    likely: UncertainOptions
    relations: Relations = ""
    mean_change: MeanChange = None
    port: Port = None
    serve: Serve = None
    token: Token = None
    master: Master = "local[*]"
    conf: Conf = field(default_factory=list)

    def settings(self) -> dict[str, Any]:
        """The settings of a stream, by their names in `cernis.spark.stream`."""
        return {
            "window": self.window, "step": self.step,
            "lateness": 0 if self.lateness == "0" else self.lateness, "policy": self.policy,
            "start": self.start, "tick": self.tick, "future": self.future,
            "partitions": self.partitions, "uncertain": self._uncertain(), "epoch": self.epoch,
            "causes": self.causes,
        }  # fmt: skip

    def _uncertain(self) -> bool | dict[str, Any]:
        """Settings of a stream of uncertain records; False for one of certain ones."""
        likely = self.likely
        more = {"--mean-change": self.mean_change}
        if likely.settings(self.relations, more) is None:
            return False
        options: dict[str, Any] = {
            "threshold": likely.threshold, "memory": likely.memory,
            "durations": likely.durations, "seed": likely.seed,
            "uncertain": names_of(self.relations), "probabilities": likely.probabilities,
            "mean_change": self.mean_change,
        }  # fmt: skip
        return {name: value for name, value in options.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """The options of `cernis stream`."""

    rules: Rules
    source: Annotated[
        str, typer.Option(help="files:DIR, mqtt://HOST:PORT/TOPIC, or spark:FORMAT?key=value.")
    ]
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="DIR", readable=False, help="Where the stream keeps its state, to go on from."
        ),
    ]
    shared: SharedOptions
    every: Annotated[
        str | None, typer.Option(help="How often a micro-batch begins: '10 seconds'.")
    ] = None
    heartbeat: Annotated[
        str | None,
        typer.Option(help="Time goes on with the clock on the wall, but this much later than it."),
    ] = None
    ids: Annotated[
        str | None,
        typer.Option(help="The column that identifies records; of text records, the last field."),
    ] = None
    until_done: Annotated[
        bool, typer.Option("--until-done", help="End when all that is there has been read.")
    ] = False
    columns: ColumnOptions


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """The options of `cernis replay`."""

    rules: Rules
    inputs: Annotated[
        list[Path],
        typer.Option(
            "--input", "-i", metavar="FILE", readable=False,
            help="History: text records or Parquet.",
        ),
    ]  # fmt: skip
    shared: SharedOptions
    slice_: Annotated[
        str | None, typer.Option("--slice", help="Arrival time that comes at once; a step.")
    ] = None
    speed: Annotated[str, typer.Option(help="Units of time a second, such as 60; or max.")] = "max"


@dataclass(frozen=True)
class StreamRequest:
    """A stream that is to be started."""

    program: Program
    settings: dict[str, Any]
    sink: str
    port: int | None
    master: str
    conf: dict[str, str]
    live: LivePage | None = None
    serve: str | None = None
    token: str | None = None


@takes(StreamOptions)
def stream(options: StreamOptions) -> None:
    """Recognise on a stream, and report every change; ends with Ctrl-C."""
    from cernis.spark.streaming.stream_sources import source_of

    request = _request(
        options.rules, options.shared, every=options.every, until_done=options.until_done,
        mapping=options.columns.mapping, checkpoint=options.checkpoint, heartbeat=options.heartbeat,
        ids=options.ids,
    )  # fmt: skip
    try:
        events = source_of(options.source, options.checkpoint / "spool")
    except DataError as error:
        stop(str(error), 2)
    with _session(request) as spark:
        with said():
            running = _started(request, events.stream(spark))
        is_over = _watch(running, request)
    if is_over and not options.shared.allow_unused:
        _conclude(running)


@takes(ReplayOptions)
def replay(options: ReplayOptions) -> None:
    """Send history through the streaming path, as if it came now, at any speed."""
    shared = options.shared
    with tempfile.TemporaryDirectory(prefix="cernis-replay-") as folder:
        request = _request(options.rules, shared, checkpoint=Path(folder, "checkpoint"))
        length = options.slice_ or shared.step or shared.window
        running = _replay(request, options.inputs, length, _speed(options.speed), Path(folder))
    if running is not None and not shared.allow_unused:
        _conclude(running)


def _speed(text: str) -> float | None:
    try:
        value = None if text == "max" else float(text)
    except ValueError:
        value = 0.0
    if value is not None and not 0 < value < float("inf"):
        stop(f"--speed is max or a positive number, not {text}", 2)
    return value


def _request(rules: Path, options: SharedOptions, **more: Any) -> StreamRequest:
    program = load_program(
        rules, options.facts, options.dialect, options.time_unit, options.timezone,
        options.round_times,
    )  # fmt: skip
    tell_of_compilation()
    try:
        settings = options.settings() | more
        _look_ahead(settings, options.sink, program.time_scale)
        conf = spark_settings(options.conf)
    except DataError as error:
        stop(str(error), 2)
    live = None if options.serve is None else _live_page(program, rules, options)
    return StreamRequest(
        program, settings, options.sink, options.port, options.master, conf, live, options.serve,
        options.token,
    )  # fmt: skip


def _live_page(program: Program, rules: Path, options: SharedOptions) -> LivePage:
    from cernis.answers.reports.feed_board import FeedBoard
    from cernis.spark.live_server import LivePage

    tick = options.tick or program.checked.definitions.settings.tick
    is_delayed = options.policy is not ReportPolicy.EARLY
    return LivePage(FeedBoard(rules.stem, tick, is_delayed, checked=program.checked))


def _look_ahead(options: dict[str, Any], sink: str, scale: TimeScale) -> None:
    """Find out before Spark is started whether settings and sink can be."""
    from cernis.session.settings import length
    from cernis.session.settings import settings as checked
    from cernis.spark.sinks import sink_of

    checked(
        options["window"], options["step"], options["start"], None, options["tick"], scale=scale
    )
    for name in ("lateness", "future", "heartbeat"):
        if options.get(name):
            length(options[name], name, scale)
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
    live = request.live
    return start_stream(
        request.program, events, sink=request.sink,
        on_changes=None if live is None else live.take,
        on_records=None if live is None else live.take_records, **request.settings,
    )  # fmt: skip


def _replay(
    request: StreamRequest, inputs: list[Path], length: str, speed: float | None, folder: Path
) -> Stream | None:
    """Send history through a stream; None if it was stopped before the end."""
    from cernis.session.settings import length as length_of
    from cernis.spark.streaming.file_source import files
    from cernis.spark.streaming.replay import Replay, bounds, history, prepared, slices

    scale = request.program.time_scale
    with said():
        pieces = history(inputs, scale)
        first, last = bounds(pieces)
        late = request.settings["lateness"]
        last_query = last + (length_of(late, "lateness", scale) if late else 0)
        # The first query after the last record is answered too.
        step = request.settings["step"] or request.settings["window"]
        last_query += length_of(step, "step", scale)
        staged, target = prepared(folder)
        cut = slices(pieces, length_of(length, "slice", scale), staged, last_query)
    with _session(request) as spark:
        with said():
            running = _started(request, files(spark, target))
        mover = Replay(target, speed, lambda rows: _until(running, rows))
        thread = threading.Thread(target=lambda: mover.run(cut, first), daemon=True)
        thread.start()
        is_over = _watch(running, request, lambda: thread.is_alive())
    return running if is_over else None


def _until(running: Stream, rows: int) -> None:
    """Wait until a stream has read so many records, or is over."""
    while running.metrics.events < rows and running.query.isActive:
        time.sleep(0.02)


def _watch(
    running: Stream, request: StreamRequest, goes_on: Callable[[], bool] | None = None
) -> bool:
    """Show how a stream goes until it ends, is stopped, or all that comes has been done.

    Gives whether all has been done.
    """
    from cernis.spark.metrics import serve

    server, live, is_over = None, None, True
    try:
        with said(), _line(running.metrics) as show:
            if request.port is not None:
                server = serve(running.metrics.prometheus, request.port)
            live = _serve_live(running, request)
            while not running.wait(_EVERY):
                show()
                if goes_on is not None and not goes_on():
                    running.catch_up()
                    break
    except KeyboardInterrupt:
        is_over = False
    finally:
        running.stop()
        if live is not None:
            live.close()
        if server is not None:
            server.shutdown()
            server.server_close()
    _say_end(running)
    return is_over


def _serve_live(running: Stream, request: StreamRequest) -> LiveServer | None:
    """Show the stream on a page, and say where."""
    from cernis.spark.live_server import serve_live

    if request.live is None or request.serve is None:
        return None
    request.live.figures = lambda: running.metrics
    live = serve_live(request.live, request.serve, request.token)
    say(f"cernis: the stream is shown at {live.address}", err=True)
    return live


def _conclude(running: Stream) -> None:
    """Exit with 2 if records have probabilities without need, with 3 if most are not used."""
    refuse_probabilities(running.set_aside)
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
