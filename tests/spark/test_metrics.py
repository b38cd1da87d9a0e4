"""Figures of a stream."""

from __future__ import annotations

from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from cernis.errors import DataError
from cernis.spark.metrics import Metrics, serve
from cernis.spark.streaming.stream_sources import source_of


def test_totals_grow_and_states_are_replaced() -> None:
    own = Metrics()
    own.add({"events": 5, "held": 5, "clock": 10, "query_time": 8}, 0.5)
    own.add({"events": 7, "held": 6, "clock": 20, "query_time": 8, "revised": 2}, 0.5)
    assert (own.events, own.held, own.batches, own.lag, own.revised) == (12, 6, 2, 12, 2)
    assert own.events_per_second > 0
    assert own.line().startswith("12 events; ")
    assert "2 revised" in own.line()


def test_a_stream_that_goes_on_has_the_figures_of_its_state() -> None:
    own = Metrics()
    own.resume({"kept": 3, "clock": 10, "query_time": 8})
    assert (own.kept, own.lag, own.held, own.batches) == (3, 2, 0, 0)


def test_prometheus() -> None:
    own = Metrics()
    text = own.prometheus()
    assert "cernis_events_total 0\n" in text
    assert "cernis_clock" not in text
    own.add({"events": 5, "clock": 3}, 0.1)
    text = own.prometheus({"program": 'a "b"'})
    assert '# TYPE cernis_events_total counter\ncernis_events_total{program="a \\"b\\""} 5' in text
    assert 'cernis_clock{program="a \\"b\\""} 3' in text


def test_served() -> None:
    own = Metrics()
    server = serve(own.prometheus, 0)
    address = f"http://127.0.0.1:{server.server_address[1]}"
    with urlopen(f"{address}/metrics") as answer:
        assert "cernis_batches_total 0" in answer.read().decode()
    with pytest.raises(HTTPError) as told:
        urlopen(f"{address}/elsewhere")
    told.value.close()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("port", [-1, 99999])
def test_a_port_that_there_is_not(port: int) -> None:
    with pytest.raises(DataError, match=f"figures cannot be served at port {port}"):
        serve(Metrics().prometheus, port)


def test_a_port_that_is_taken() -> None:
    server = serve(Metrics().prometheus, 0)
    with pytest.raises(DataError, match="figures cannot be served"):
        serve(Metrics().prometheus, server.server_address[1])
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("address", ["mqtt://h:99999/t", "mqtt://[h/t", "mqtt://h:x/t"])
def test_addresses_that_are_none(address: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no address of a broker"):
        source_of(address, tmp_path)
