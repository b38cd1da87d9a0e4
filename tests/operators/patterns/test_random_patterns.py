"""Random patterns over random streams: the engine says what the reference says."""

from __future__ import annotations

from random import Random

import pytest

import cernis
from cernis.errors import KnowledgeError, ProgramError
from cernis.operators.patterns import pairing
from tests.generators.patterns import Drawing, by_reference, random_records, with_preference

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


@pytest.mark.parametrize("seed", range(60))
def test_sequences_are_the_same_from_either_side(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few come first, what follows them is looked for; else what each one follows."""
    random = Random(seed)
    clauses = Drawing(random).rules()
    program = cernis.load("\n".join(clauses))
    lines = random_records(random)
    answers = []
    for few in (0, 10**6):
        monkeypatch.setattr(pairing, "_FEW", few)
        answers.append(program.run(lines, start=0, end=END).text())
    assert answers[0] == answers[1], "\n".join([f"seed {seed}", *clauses, *lines])


@pytest.mark.parametrize("seed", range(1_000, 1_200))
def test_preferences(seed: int) -> None:
    random = Random(seed)
    clauses = with_preference(Drawing(random, selects=True).rules(), random)
    program = cernis.load("\n".join(clauses))
    for _ in range(3):
        lines = random_records(random)
        try:
            expected = by_reference(clauses, lines, END)
        except KnowledgeError:
            continue
        found = program.run(lines, start=0, end=END).text()
        assert found == expected, "\n".join([f"seed {seed}", *clauses, *lines])


@pytest.mark.parametrize("seed", range(150))
def test_windows_change_nothing(seed: int) -> None:
    """Records that arrive within the window count as if they had come in order.

    What arrives too late is set aside; the answer is that to the stream without it.
    """
    random = Random(seed)
    clauses = Drawing(random, selects=seed % 4 == 3).rules()
    if seed % 4 == 3:
        clauses = with_preference(clauses, random)
    program = cernis.load("\n".join(clauses))
    lines = [delayed(line, random) for line in random_records(random)]
    window, step = random.choice([(4, 2), (6, 3), (5, 5), (12, 4)])
    result = program.run(lines, start=0, end=END, window=window, step=step)
    late = {each.line for each in result.summary.too_late}
    kept = [line for at, line in enumerate(lines, 1) if at not in late]
    whole = program.run(kept, start=0, end=END).text()
    assert result.text() == whole, "\n".join([f"seed {seed}", *clauses, *lines, f"{window} {step}"])


def delayed(line: str, random: Random) -> str:
    """The record, arriving some time after it happened, but before the end of the run."""
    name, _, time, *args = line.split("|")
    arrival = min(int(time) + random.choice([0, 0, 1, 3, 6]), END)
    return "|".join([name, str(arrival), time, *args])
