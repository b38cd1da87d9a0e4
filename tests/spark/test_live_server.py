"""The page of a stream: who may see it, what it sends, and how it ends."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from cernis.answers.reports.feed_board import FeedBoard
from cernis.answers.time_output import WHOLE_NUMBERS
from cernis.errors import DataError
from cernis.spark.live_server import LivePage, LiveServer, serve_live
from cernis.spark.metrics import Metrics
from tests.answers.reports.test_feed_board import changes
from tests.pages.test_payload import unpacked


@pytest.fixture
def live() -> Iterator[LiveServer]:
    server = serve_live(LivePage(FeedBoard("ward"), Metrics), "127.0.0.1:0")
    yield server
    server.close()


def get(address: str, host: str | None = None) -> Any:
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    return urllib.request.urlopen(request, timeout=10)


def test_the_page_its_data_and_news(live: LiveServer) -> None:
    page = get(live.address).read().decode()
    assert "<title>ward</title>" in page
    assert "connect-src 'self'" in page
    live.page.take(changes(("insert", "a", 2, None, 10)), WHOLE_NUMBERS)
    meta, columns = unpacked(get(live.address + "data").read())
    assert (meta["version"], columns["entities"]) == (1, ["a"])
    with get(live.address + "changes") as news:
        message = json.loads(news.readline().decode().removeprefix("data: "))
    assert message["version"] == 1
    assert message["changes"] == ["+ on(a) = true [2, )"]
    assert message["status"]["events"] == 0


def test_other_paths_and_names_of_hosts_are_refused(live: LiveServer) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(live.address + "etc/passwd")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        get(live.address, host="evil.example:80")


def test_beyond_this_machine_a_token_is_needed() -> None:
    live = serve_live(LivePage(FeedBoard("ward")), "0.0.0.0:0")
    try:
        local = live.address.replace("0.0.0.0", "127.0.0.1")
        assert get(local).status == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(local.split("?")[0])
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(local + "x")
    finally:
        live.close()


def test_browsers_are_told_that_the_stream_is_over(live: LiveServer) -> None:
    with get(live.address + "changes") as news:
        first = json.loads(news.readline().decode().removeprefix("data: "))
        threading.Thread(target=live.page.is_over.set).start()
        news.readline()
        last = json.loads(news.readline().decode().removeprefix("data: "))
    assert (first["over"], last["over"]) == (False, True)


@pytest.mark.parametrize("place", ["127.0.0.1:http", "127.0.0.1:99999", "no.such.host.:1"])
def test_a_place_that_cannot_be_had_is_an_error(place: str) -> None:
    with pytest.raises(DataError, match="served at"):
        serve_live(LivePage(FeedBoard("ward")), place)
