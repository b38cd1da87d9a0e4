"""Payloads: what is packed can be read back, byte for byte as the page's script does it."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pytest

from cernis.pages.payload import Payload


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts of a payload and its columns, read as web/src/payload.js reads them."""
    data = zlib.decompress(data)
    length = int.from_bytes(data[:4], "little")
    head = json.loads(data[4 : 4 + length])
    columns, place = {}, 4 + length
    for column in head["columns"]:
        part = data[place : place + column["size"]]
        columns[column["name"]] = _column(column, part)
        place += column["size"]
    assert place == len(data)
    return head["meta"], columns


def _column(column: dict[str, Any], part: bytes) -> Any:
    if column["kind"] == "texts":
        return json.loads(part)
    planes = np.frombuffer(part, np.uint8).reshape(column["width"], column["count"])
    if column["kind"] == "floats":
        return np.ascontiguousarray(planes.T).view(f"<f{column['width']}").ravel().tolist()
    factors = [256**place for place in range(column["width"])]
    return [
        column["low"] + sum(int(byte) * factor for byte, factor in zip(row, factors, strict=True))
        for row in planes.T
    ]


@pytest.mark.parametrize(
    "numbers", [[], [7], [0, 0], [-5, 3], [1 << 50, (1 << 50) + 300], [-(1 << 61), 1 << 61]]
)
def test_whole_numbers_come_back(numbers: list[int]) -> None:
    payload = Payload()
    payload.whole_numbers("times", np.array(numbers, np.int64))
    assert unpacked(payload.packed())[1]["times"] == numbers


def test_floats_and_texts_come_back_with_the_facts() -> None:
    payload = Payload({"title": "<script>"})
    payload.floats("exact", np.array([0.1, -2.5]))
    payload.floats("short", np.array([0.5]), width=4)
    payload.texts("names", ["é", "</script>", '"'])
    meta, columns = unpacked(payload.packed())
    assert meta == {"title": "<script>"}
    assert columns == {"exact": [0.1, -2.5], "short": [0.5], "names": ["é", "</script>", '"']}


def test_numbers_that_are_near_one_another_take_few_bytes() -> None:
    payload = Payload()
    payload.whole_numbers("times", 1_700_000_000 + np.arange(10_000) % 200)
    assert len(payload.packed()) < 1_000
