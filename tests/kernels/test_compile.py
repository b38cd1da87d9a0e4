"""Kernels run as plain Python while there is little to do, with the same results."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cernis.kernels import compile as compiling
from cernis.kernels.array_types import Integers
from cernis.kernels.compile import kernel, part
from cernis.kernels.signatures import Signature

ROOT = Path(__file__).parents[2]


def counting_kernel(calls: list[int]) -> Callable[[Integers], int]:
    """A kernel that notes the length of its array whenever it runs as plain Python."""

    @kernel("integers", "integer")
    def length(array: Integers) -> int:
        calls.append(len(array))
        return len(array)

    return length


def test_few_rows_are_not_worth_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 100)
    calls: list[int] = []
    length = counting_kernel(calls)
    assert [length(np.arange(size)) for size in (30, 20)] == [30, 20]
    assert calls == [30, 20]


def test_rows_of_all_calls_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 100)
    asked: list[str] = []

    def noting(function: object, signature: Signature, results: str) -> Callable[[Integers], int]:
        asked.append(f"{' '.join(signature.words)} -> {results}")
        return len

    monkeypatch.setattr("cernis.kernels.compiled_code.compile_kernel", noting)
    calls: list[int] = []
    length = counting_kernel(calls)
    assert [length(np.arange(30)) for _ in range(4)] == [30] * 4
    assert calls == [30, 30]
    assert asked == ["integers -> integer"]


def test_what_is_kept_on_disk_is_fetched_after_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 1000)
    asked: list[str] = []

    def kept(function: object, signature: Signature, results: str) -> Callable[[Integers], int]:
        asked.append(results)
        return len

    monkeypatch.setattr("cernis.kernels.compiled_code.kept_kernel", kept)
    calls: list[int] = []
    length = counting_kernel(calls)
    assert [length(np.arange(30)) for _ in range(4)] == [30] * 4
    assert calls == [30, 30]
    assert asked == ["integer"]


def test_what_is_not_kept_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 1000)
    lookups: list[object] = []
    monkeypatch.setattr("cernis.kernels.compiled_code.kept_kernel", lambda *_: lookups.append(None))
    calls: list[int] = []
    length = counting_kernel(calls)
    assert [length(np.arange(80)) for _ in range(4)] == [80] * 4
    assert calls == [80] * 4
    assert lookups == [None]


def test_tables_do_not_count_where_rows_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 100)
    calls: list[int] = []

    @kernel("integers integers", "integer", counted=(1,))
    def length(table: Integers, array: Integers) -> int:
        calls.append(len(array))
        return len(array)

    assert length(np.arange(5000), np.arange(30)) == 30
    assert calls == [30]


@part
def _wrapped_product(one: int, other: int) -> np.uint64:
    return np.uint64(one) * np.uint64(other)


@kernel("integers float", "integer boolean")
def _products(numbers: Integers, divisor: float) -> tuple[np.int64, bool]:
    product = _wrapped_product(numbers[0], numbers[1])
    return np.int64(product), 1.0 / divisor > numbers[0]


def test_plain_calls_give_what_compiled_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.array([1 << 40, (1 << 40) + 1])
    compiled = _products(numbers, 0.0)
    monkeypatch.setattr(compiling, "PLAIN_ROWS", 1000)
    again = kernel("integers float", "integer boolean")(_products.__wrapped__)  # type: ignore[attr-defined]
    plain = again(numbers, 0.0)
    assert plain == compiled == (1 << 40, True)
    assert list(map(type, plain)) == list(map(type, compiled)) == [int, bool]


def test_kernels_that_are_not_compiled_equal_their_twins() -> None:
    """The tests of kernels against their twins once more, where nothing is compiled."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "twin"]
    command += ["--ignore", str(Path(__file__)), str(ROOT / "tests" / "kernels")]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
