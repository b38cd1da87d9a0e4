"""Random patterns over random streams: the engine says what the reference says."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.errors import KnowledgeError, ProgramError

from .patterns import Drawing, by_reference, random_records

SEEDS = range(300)
END = 20


@pytest.mark.parametrize("seed", SEEDS)
def test_engine_is_reference(seed: int) -> None:
    random = Random(seed)
    clauses = Drawing(random).rules()
    try:
        program = cernis.load("\n".join(clauses))
    except ProgramError as error:
        pytest.fail(f"seed {seed}: {error}\n" + "\n".join(clauses))
    for _ in range(3):
        lines = random_records(random)
        try:
            expected = by_reference(clauses, lines, END)
        except KnowledgeError:
            continue
        found = program.run(lines, start=0, end=END).text()
        shown = "\n".join([f"seed {seed}", *clauses, *lines])
        assert found == expected, shown
