"""A session as bytes, and back: its arrays one by one, so that those that stay the same are known.

What a session knows of its plan is not written: it is taken from the plan when it is read. Each
large array is a part named after its content. So an array that has not changed since the
micro-batch before has a part of the same name, and need not be written again. Only classes of this
package and of numpy are made while reading; whatever else a file asks for is refused.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import pyarrow as pa

from cernis.errors import DataError
from cernis.operators.context import Memo
from cernis.plan.builder import Plan

MAIN: Final = "main"
"""The part that tells what the others are."""

_LARGE: Final = 4096
"""Arrays of fewer bytes stand in the main part."""

_BUILTINS: Final = frozenset({"set", "frozenset", "complex", "slice", "range", "bytearray", "dict"})
_CODEC: Final = "lz4"


def frozen(content: object, plan: Plan) -> dict[str, bytes]:
    """Something as parts, by name."""
    parts: dict[str, bytes] = {}
    names: list[tuple[str, int]] = []

    def take(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < _LARGE:
            return True
        name = blake2b(view, digest_size=12).hexdigest()
        names.append((name, view.nbytes))
        if name not in parts:
            parts[name] = pa.compress(view, _CODEC, asbytes=True)
        return False

    stream = io.BytesIO()
    _Writer(stream, plan, take).dump(content)
    parts[MAIN] = pickle.dumps((names, stream.getvalue()), protocol=5)
    return parts


def thawed(parts: Mapping[str, bytes | memoryview], plan: Plan) -> Any:
    """What was frozen; a DataError if it cannot be, or is no such thing."""
    try:
        names, main = _Reader(io.BytesIO(parts[MAIN]), plan, ()).load()
        # Arrays must be writable, and a part may be used by several.
        buffers = [
            bytearray(pa.decompress(parts[name], size, _CODEC, asbytes=True))
            for name, size in names
        ]
        return _Reader(io.BytesIO(main), plan, buffers).load()
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, pa.ArrowException) as error:
        raise DataError(f"the state cannot be read: {error}") from error


def _known(plan: Plan) -> dict[str, object]:
    """What a session shares with its plan, by name."""
    checked = plan.checked
    return {
        "plan": plan, "checked": checked, "knowledge": plan.knowledge, "modes": checked.modes,
        "types": checked.types, "catalogue": checked.catalogue,
        "definitions": checked.definitions, "dependencies": checked.dependencies,
    }  # fmt: skip


class _Writer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, plan: Plan, take: Any) -> None:
        super().__init__(stream, protocol=5, buffer_callback=take)
        self._names = {id(each): name for name, each in _known(plan).items()}

    def persistent_id(self, given: object) -> str | None:
        return self._names.get(id(given))

    def reducer_override(self, given: object) -> Any:
        # What a memo knows it knows of objects of this process.
        return (Memo, ()) if isinstance(given, Memo) else NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, plan: Plan, buffers: Any) -> None:
        super().__init__(stream, buffers=buffers)
        self._known = _known(plan)

    def persistent_load(self, name: Any) -> object:
        return self._known[name]

    def find_class(self, module: str, name: str) -> Any:
        root = module.partition(".")[0]
        ours = root in ("cernis", "numpy")
        if not ours and not (module == "builtins" and name in _BUILTINS):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a state")
        return super().find_class(module, name)
