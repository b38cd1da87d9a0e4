"""Answers of the reference, kept in files, as it is slow and is often asked the same again.

An answer is found again by what it follows from: the program, the records and the settings; the
sources of the reference and of the syntax it reads programs with; and the version of Python. So
nothing has to be thrown away when any of them changes, and deleting the folder `.cache` is always
safe. Several processes may share it: a file comes into being whole, under its name, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "reference"

Found = TypeVar("Found")


def kept(compute: Callable[[], Found], *parts: object, folder: Path = FOLDER) -> Found:
    """What `compute` returns, which is not None and follows from the parts: texts and numbers.

    It is read from a file where there is one, and written to one where there is not.
    """
    file = folder / _key(parts)
    known = _read(file)
    if known is not None:
        return cast(Found, known)
    found = compute()
    _write(file, found)
    return found


def _key(parts: tuple[object, ...]) -> str:
    return hashlib.sha256(repr((sources(), sys.version, parts)).encode()).hexdigest()


@cache
def sources() -> str:
    """A digest of all modules that an answer depends on."""
    digest = hashlib.sha256()
    files = [*(ROOT / "tests/reference").glob("*.py"), *(ROOT / "src/cernis/syntax").glob("*.py")]
    more = [ROOT / "src/cernis/errors.py", ROOT / "src/cernis/source.py"]
    for file in sorted([*files, *more]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _read(file: Path) -> object:
    """What a file holds; None if there is none, or none that can be read."""
    try:
        return cast(object, pickle.loads(file.read_bytes()))
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError):
        return None


def _write(file: Path, answer: object) -> None:
    """Put a file in its place at once; a folder that cannot be written to keeps nothing."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
    except OSError:
        return
    with os.fdopen(handle, "wb") as target:
        pickle.dump(answer, target)
    Path(name).replace(file)
