"""The figures of a stream, which a status line and Prometheus show; some are Spark's own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

from cernis.errors import DataError

_RECENT: Final = 10.0
"""Seconds over which a speed is measured."""

_HELP: Final[Mapping[str, tuple[str, str]]] = {
    "batches": ("counter", "Micro-batches that were done"),
    "events": ("counter", "Records that were read"),
    "ignored": ("counter", "Records of names that no rule mentions"),
    "set_aside": ("counter", "Records that could not be used"),
    "skipped_files": ("counter", "Files that were not read"),
    "too_late": ("counter", "Records that arrived when their time was forgotten"),
    "duplicates": ("counter", "Records whose id was in the window already"),
    "queries": ("counter", "Queries that were answered"),
    "inserted": ("counter", "Intervals and happenings that were reported"),
    "revised": ("counter", "Intervals and happenings that were taken back"),
    "conflicts": ("counter", "Points at which two values of a fluent were initiated"),
    "clock": ("gauge", "The latest time that records tell of"),
    "query_time": ("gauge", "The time of the last query"),
    "lag": ("gauge", "From the last query to the latest time that records tell of"),
    "held": ("gauge", "Records in the windows of all buckets"),
    "kept": ("gauge", "Occurrences before the windows that patterns may still need"),
    "dropped": ("counter", "Such occurrences that no match could need any more"),
    "open_intervals": ("gauge", "Intervals that were open at the last query"),
    "state_bytes": ("gauge", "Bytes of state that the next micro-batch reads"),
    "written_bytes": ("counter", "Bytes of state that were written"),
    "reading_seconds": ("counter", "Processor time of reading, and sending to buckets"),
    "restoring_seconds": ("counter", "Processor time of taking up state"),
    "evaluating_seconds": ("counter", "Processor time of queries, and of their changes"),
    "saving_seconds": ("counter", "Processor time of leaving state"),
    "batch_seconds": ("gauge", "How long the last micro-batch took"),
    "events_per_second": ("gauge", "Records a second, over the last ten seconds"),
    "spark_input_rows": ("gauge", "Rows of the last micro-batch, as Spark counts them"),
    "spark_batch_seconds": ("gauge", "How long the last micro-batch took, as Spark tells"),
}

GAUGES: Final = ("clock", "query_time", "held", "kept", "open_intervals", "state_bytes")
"""Figures of the state of a stream; a stream that goes on begins with those it ended with."""


@dataclass
class Metrics:
    """Figures of a stream; totals count from its start in this process."""

    batches: int = 0
    events: int = 0
    ignored: int = 0
    set_aside: int = 0
    skipped_files: int = 0
    too_late: int = 0
    duplicates: int = 0
    queries: int = 0
    inserted: int = 0
    revised: int = 0
    conflicts: int = 0
    clock: int | None = None
    query_time: int | None = None
    held: int = 0
    kept: int = 0
    dropped: int = 0
    open_intervals: int = 0
    state_bytes: int = 0
    written_bytes: int = 0
    reading_seconds: float = 0.0
    restoring_seconds: float = 0.0
    evaluating_seconds: float = 0.0
    saving_seconds: float = 0.0
    batch_seconds: float = 0.0
    spark_input_rows: int = 0
    spark_batch_seconds: float = 0.0
    _seen: list[tuple[float, int]] = field(default_factory=list, repr=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, figures: Mapping[str, float | None], seconds: float) -> None:
        """Take over the figures of a micro-batch: counters are added up, gauges replaced."""
        with self._guard:
            self.batches += 1
            self.batch_seconds = seconds
            for name, value in figures.items():
                if _HELP[name][0] == "counter" and value is not None:
                    value += getattr(self, name)
                setattr(self, name, value)
            now = time.monotonic()
            self._seen.append((now, int(figures.get("events") or 0)))
            self._seen = [(moment, count) for moment, count in self._seen if moment > now - _RECENT]

    def resume(self, gauges: Mapping[str, int | None]) -> None:
        """Take over the figures of the state that a stream goes on from."""
        with self._guard:
            for name in GAUGES:
                setattr(self, name, gauges.get(name, getattr(self, name)))

    @property
    def events_per_second(self) -> float:
        """Records a second over the last ten seconds, or over the last batch if it took longer."""
        with self._guard:
            if not self._seen:
                return 0.0
            since = min(self._seen[0][0] - self.batch_seconds, time.monotonic() - 1e-3)
            return sum(count for _, count in self._seen) / (time.monotonic() - since)

    @property
    def lag(self) -> int | None:
        """The time from the last query to the clock; None before the first query."""
        if self.clock is None or self.query_time is None:
            return None
        return self.clock - self.query_time

    def figures(self) -> dict[str, float | None]:
        """All figures by name."""
        return {name: getattr(self, name) for name in _HELP}

    def prometheus(self, labels: Mapping[str, str] | None = None) -> str:
        """The figures in Prometheus's text format; those that are not known yet are left out."""
        label_text = ",".join(f'{key}="{_quoted(value)}"' for key, value in (labels or {}).items())
        lines = []
        for name, (kind, explanation) in _HELP.items():
            value = getattr(self, name)
            if value is None:
                continue
            title = f"cernis_{name}{'_total' if kind == 'counter' else ''}"
            lines += [f"# HELP {title} {explanation}.", f"# TYPE {title} {kind}"]
            lines.append(f"{title}{{{label_text}}} {value}" if label_text else f"{title} {value}")
        return "\n".join(lines) + "\n"

    def line(self) -> str:
        """The figures that matter most, in a line."""
        parts = [f"{self.events:,} events", f"{self.events_per_second:,.0f}/s"]
        if self.query_time is not None:
            parts.append(f"query {self.query_time}, lag {self.lag}")
        parts.append(f"{self.held:,} in the window, {self.open_intervals:,} intervals open")
        for name, words in (
            ("too_late", "too late"), ("set_aside", "set aside"),
            ("skipped_files", "files skipped"), ("revised", "revised"),
        ):  # fmt: skip
            if getattr(self, name):
                parts.append(f"{getattr(self, name):,} {words}")
        parts.append(f"state {self.state_bytes / 1e6:,.1f} MB")
        return "; ".join(parts)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsListener(StreamingQueryListener):
    """Takes Spark's own figures of a stream over into its metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.run: str | None = None
        """The run whose figures are taken over; None for those of any stream."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
        """Nothing to count yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A micro-batch is done, or there was no input for one."""
        progress = event.progress
        if self.run in (None, str(progress.runId)):
            self.metrics.spark_input_rows = progress.numInputRows
            self.metrics.spark_batch_seconds = progress.durationMs.get("triggerExecution", 0) / 1000

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """No new input."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """The stream is over."""


def serve(text: Callable[[], str], port: int) -> ThreadingHTTPServer:
    """Serve metrics at `/metrics`, in a thread of its own; port 0 is any that is free.

    A port that cannot be had is a DataError.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.rstrip("/") not in ("", "/metrics"):
                self.send_error(404)
                return
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    try:
        server = ThreadingHTTPServer(("", port), Handler)
    except (OSError, OverflowError) as error:
        raise DataError(f"figures cannot be served at port {port}: {error}") from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
