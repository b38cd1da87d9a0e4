"""A page that shows a stream as it goes on: a server for browsers of this machine.

It gives the page, the data that is to be shown, and a stream of events that says when there is
something new. Beyond this machine, it asks for a token.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from cernis.answers.reports.feed_board import FeedBoard
from cernis.answers.time_output import TimeOutput
from cernis.errors import DataError
from cernis.pages.page_text import LIVE, report_page
from cernis.records.record_columns import RecordColumns
from cernis.spark.metrics import Metrics

FIGURES: Final = (
    "events", "events_per_second", "lag", "too_late", "set_aside", "ignored", "queries",
    "inserted", "revised", "batches", "batch_seconds", "open_intervals", "held",
)  # fmt: skip
_PAUSE: Final = 0.5
"""Seconds from one message to the next."""


@dataclass
class LivePage:
    """What the server shows: a board of changes, and the figures of the stream."""

    board: FeedBoard
    figures: Callable[[], Metrics | None] = lambda: None
    is_over: threading.Event = field(default_factory=threading.Event)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _packed: tuple[int, bytes] = (-1, b"")

    def take(self, changes: pa.Table, times: TimeOutput) -> None:
        """Take the changes of a micro-batch, with times as whole numbers."""
        with self._guard:
            self.board.take(changes, times)

    def take_records(self, parts: Sequence[RecordColumns]) -> None:
        """Take the newest records of a micro-batch."""
        with self._guard:
            self.board.take_records(parts)

    def data(self) -> bytes:
        """What is to be shown; packed once for each version of it."""
        with self._guard:
            if self._packed[0] != self.board.version:
                payload = self.board.payload()
                payload.meta["version"] = self.board.version
                self._packed = self.board.version, payload.packed()
            return self._packed[1]

    def message(self) -> str:
        """The state of the stream, and the version of the data, as JSON."""
        metrics = self.figures()
        status = {} if metrics is None else {name: getattr(metrics, name) for name in FIGURES}
        with self._guard:
            return json.dumps({
                "version": self.board.version, "status": status,
                "changes": self.board.latest[-60:], "over": self.is_over.is_set(),
            })  # fmt: skip


@dataclass
class LiveServer:
    """A server that runs: where it is, and how to end it."""

    server: ThreadingHTTPServer
    address: str
    page: LivePage

    def close(self) -> None:
        """Tell the browsers that the stream is over, and end."""
        self.page.is_over.set()
        time.sleep(2 * _PAUSE)
        self.server.shutdown()
        self.server.server_close()


def serve_live(page: LivePage, place: str, token: str | None = None) -> LiveServer:
    """Serve a page at `HOST:PORT`, in threads of its own; port 0 is any that is free.

    A host beyond this machine gets a token, if none is given. What cannot be had is a DataError.
    """
    host, port = _host_and_port(place)
    is_local = _is_local(host)
    token = token or (None if is_local else secrets.token_urlsafe(16))
    try:
        server = ThreadingHTTPServer((host, port), _handler(page, token, is_local))
    except (OSError, OverflowError) as error:
        raise DataError(f"a page cannot be served at {place}: {error}") from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    query = f"?token={token}" if token else ""
    shown = f"[{host}]" if ":" in host else host
    return LiveServer(server, f"http://{shown}:{server.server_address[1]}/{query}", page)


def _host_and_port(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise DataError(f"a page is served at HOST:PORT, such as 127.0.0.1:8080, not at {place!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _handler(page: LivePage, token: str | None, is_local: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if not self._is_allowed(parts.query):
                self.send_error(HTTPStatus.FORBIDDEN, "A token is needed")
            elif parts.path == "/":
                text = report_page(page.board.title, "", LIVE)
                self._answer("text/html; charset=utf-8", text.encode())
            elif parts.path == "/data":
                self._answer("application/octet-stream", page.data())
            elif parts.path == "/changes":
                self._tell()
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _is_allowed(self, query: str) -> bool:
            """Has it the token? On this machine, the name of the host must be of it, too.

            Else pages from elsewhere could have a browser ask under a name that leads here.
            """
            name = (self.headers.get("Host") or "").rpartition(":")[0].strip("[]")
            if is_local and not _is_local(name):
                return False
            asked = parse_qs(query).get("token", [""])[0]
            return token is None or hmac.compare_digest(asked.encode(), token.encode())

        def _answer(self, kind: str, body: bytes) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(body)

        def _tell(self) -> None:
            """Server-sent events, until the stream or the browser is gone."""
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            is_over = False
            while not is_over:
                is_over = page.is_over.is_set()
                try:
                    self.wfile.write(f"data: {page.message()}\n\n".encode())
                    self.wfile.flush()
                except OSError:
                    return
                page.is_over.wait(_PAUSE)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler
