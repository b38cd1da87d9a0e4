"""The data of a page: columns of numbers and texts, packed so that a browser reads them quickly.

The data begins with the length of a JSON header, which lists the columns and their order. A column
of numbers has all lowest bytes first, then the bytes of the next significance, and so on: so bytes
that are alike stand together, which compresses well. All is one stream of zlib, which browsers
decompress by themselves.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

_LEVEL: Final = 6
"""Of compression: higher ones take several times as long for some per cent."""


@dataclass(slots=True)
class Payload:
    """Columns by name, and facts about the page in `meta`."""

    meta: dict[str, Any] = field(default_factory=dict)
    _columns: list[dict[str, Any]] = field(default_factory=list)
    _parts: list[bytes] = field(default_factory=list)

    def whole_numbers(self, name: str, numbers: np.ndarray[Any, Any]) -> None:
        """Add a column of whole numbers; its least is kept apart, so that few bytes are needed."""
        numbers = np.ascontiguousarray(numbers, np.int64)
        low = int(numbers.min()) if len(numbers) else 0
        above = numbers - low
        high = int(above.max()) if len(above) else 0
        width = (high.bit_length() + 7) // 8
        planes = above.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
        self._add(
            np.ascontiguousarray(planes).tobytes(), name=name, kind="ints", count=len(numbers),
            width=width, low=low,
        )  # fmt: skip

    def floats(self, name: str, numbers: np.ndarray[Any, Any], width: int = 8) -> None:
        """Add a column of floats of 4 or 8 bytes."""
        numbers = np.ascontiguousarray(numbers, f"<f{width}")
        planes = numbers.view(np.uint8).reshape(-1, width).T
        self._add(
            np.ascontiguousarray(planes).tobytes(), name=name, kind="floats", count=len(numbers),
            width=width,
        )  # fmt: skip

    def texts(self, name: str, texts: Iterable[str]) -> None:
        """Add a column of texts."""
        listed = list(texts)
        text = json.dumps(listed, ensure_ascii=True, separators=(",", ":"))
        self._add(text.encode(), name=name, kind="texts", count=len(listed))

    def _add(self, part: bytes, **column: Any) -> None:
        self._columns.append({**column, "size": len(part)})
        self._parts.append(part)

    def packed(self) -> bytes:
        """All as one compressed stream."""
        head = {"meta": self.meta, "columns": self._columns}
        text = json.dumps(head, ensure_ascii=True, separators=(",", ":")).encode()
        stream = zlib.compressobj(_LEVEL)
        parts = [stream.compress(part) for part in (len(text).to_bytes(4, "little"), text)]
        parts += [stream.compress(part) for part in self._parts]
        return b"".join([*parts, stream.flush()])

    def base64(self) -> str:
        """The compressed stream as text that can stand in a page."""
        return base64.b64encode(self.packed()).decode("ascii")
