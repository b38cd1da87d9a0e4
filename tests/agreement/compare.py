"""The engine and the reference on the same program and stream, and small reproductions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import cast

import cernis
from cernis.answers.result import Result, Summary, as_text
from cernis.errors import CernisError, ProgramError
from cernis.program import Program
from cernis.syntax import parse, show
from cernis.syntax.tree import Clause
from tests import reference
from tests.generators.programs import random_program
from tests.generators.streams import Settings, random_habits, random_settings, random_stream
from tests.reference.answer_cache import kept
from tests.reference.evaluate import Settings as ReferenceSettings
from tests.reference.evaluate import evaluate, run_bounds
from tests.reference.load import items_of
from tests.reference.program import read_program
from tests.reference.records import read_records


@dataclass(frozen=True)
class Scenario:
    """Rules, one clause a string; records, one a line; and the settings of the run."""

    clauses: tuple[str, ...]
    lines: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)

    @property
    def rules(self) -> str:
        """The text of the program."""
        return "\n".join(self.clauses) + "\n"

    def __str__(self) -> str:
        return f"{self.rules}\n" + "\n".join(self.lines) + f"\n\n{dict(self.settings)}"


class Skip(Exception):
    """A scenario that cannot be compared: the reference gives no answer."""


def by_engine(
    scenario: Scenario, program: Program | None = None, per_query: bool = False
) -> Result:
    """The engine's answer, and as of each query if so asked."""
    program = program or cernis.load(scenario.rules)
    return program.run(list(scenario.lines), per_query=per_query, **scenario.settings)


def by_reference(scenario: Scenario) -> reference.evaluate.Answer:
    """The reference's answer, which is kept; Skip where it has none."""
    settings = tuple(sorted(scenario.settings.items()))
    found = kept(lambda: _evaluated(scenario), scenario.rules, scenario.lines, settings)
    if isinstance(found, str):
        raise Skip(found)
    return found


def _evaluated(scenario: Scenario) -> reference.evaluate.Answer | str:
    """The answer, or why the reference has none."""
    items = items_of(scenario.rules)
    records = read_records("\n".join(scenario.lines), read_program(items))
    try:
        return evaluate(items, records, ReferenceSettings(**scenario.settings))
    except CernisError as error:
        return str(error)


def difference(scenario: Scenario, program: Program | None = None) -> str:
    """What the engine says otherwise than the reference, line by line; empty if nothing.

    The answers as of each query are compared first, then those over the run, then what became
    of the records. Raises Skip where the reference gives no answer.
    """
    answer = by_reference(scenario)
    expected = [*((str(query), each.text()) for query, each in answer.queries)]
    expected += [("the run", answer.text()), ("the records", _account(answer))]
    try:
        result = by_engine(scenario, program, per_query=True)
        found = [(str(query), as_text(own)) for query, own in result.as_of]
        found += [("the run", as_text(result.answer)), ("the records", _summary(result.summary))]
    except Exception as error:  # noqa: BLE001 - whatever it raises is a fault to report
        return f"raised {type(error).__name__}: {error}"
    if [when for when, _ in found] != [when for when, _ in expected]:
        return f"queries at {[when for when, _ in found]}, not {[when for when, _ in expected]}"
    pairs = zip(found, expected, strict=True)
    return next((_told_apart(own, other) for own, other in pairs if own != other), "")


def _account(answer: reference.evaluate.Answer) -> str:
    """What the reference did with the records that did not count."""
    aside = [each.line for each in (*answer.set_aside, *answer.unmatched)]
    late = [record.line for record in answer.too_late]
    return f"aside {sorted(aside)}\nlate {sorted(late)}\noutside {len(answer.outside)}"


def _summary(summary: Summary) -> str:
    """What the engine did with them."""
    aside = [each.line for each in summary.set_aside]
    late = [each.line for each in summary.too_late]
    return f"aside {sorted(aside)}\nlate {sorted(late)}\noutside {summary.outside}"


def _told_apart(found: tuple[str, str], expected: tuple[str, str]) -> str:
    """The lines that are in one of two different texts only, or more often in it."""
    lines, wanted = (Counter(text.splitlines()) for _, text in (found, expected))
    missing = [f"expected {line}" for line in sorted((wanted - lines).elements())]
    more = [f"got      {line}" for line in sorted((lines - wanted).elements())]
    return "\n".join([f"as of {found[0]}:", *missing, *more])


def scenarios(seed: int, runs: int = 4) -> Iterator[tuple[Scenario, Program]]:
    """One random program with several streams and settings."""
    random = Random(seed)
    text, program = random_program(random)
    for _ in range(runs):
        habits = random_habits(random)
        stream = random_stream(random, text, habits)
        yield Scenario(text.clauses, stream, random_settings(random, text)), program


# -- small reproductions -----------------------------------------------------------------------


Told = Callable[[Scenario], str]
"""Says what differs on a scenario; empty if nothing does."""


def _fails(scenario: Scenario, kind: str, tell: Told) -> bool:
    """Does it still fail, and in the same way?"""
    try:
        return _kind(tell(scenario)) == kind
    except (Skip, ProgramError):
        return False


def _kind(found: str) -> str:
    return found.partition(":")[0] if found.startswith("raised") else "differs" if found else ""


def shrunk(scenario: Scenario, tries: int = 600, tell: Told = difference) -> Scenario:
    """The scenario with as many records, clauses, conditions and settings left out as can be.

    It still fails, and an error is still of the same class.
    """
    kind = _kind(tell(scenario))
    bounded = with_bounds(scenario)
    scenario = bounded if _fails(bounded, kind, tell) else scenario
    again = True
    while again and tries > 0:
        again = False
        for make in (_fewer_records, _fewer_clauses, _fewer_conditions, _fewer_settings):
            scenario, used, better = _improved(scenario, make, kind, tries, tell)
            tries -= used
            again |= better
    return scenario


def with_bounds(scenario: Scenario) -> Scenario:
    """The scenario with its default start and end written out.

    Leaving out records or rules then does not move them.
    """
    items = items_of(scenario.rules)
    program = read_program(items)
    tick = scenario.settings.get("tick", program.tick)
    records = read_records("\n".join(scenario.lines), program).records
    start, end = run_bounds(records, ReferenceSettings(**scenario.settings), tick)
    settings: Settings = {**scenario.settings, "start": start, "end": end}
    return replace(scenario, settings=settings)


def _improved(
    scenario: Scenario, make: Callable[[Scenario], Iterator[Scenario]], kind: str, tries: int,
    tell: Told,
) -> tuple[Scenario, int, bool]:  # fmt: skip
    used, better, found = 0, False, True
    while found and used < tries:
        found = False
        for smaller in make(scenario):
            used += 1
            if _fails(smaller, kind, tell):
                scenario, better, found = smaller, True, True
                break
            if used >= tries:
                break
    return scenario, used, better


def _without(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The parts without a half, a quarter, ..., and without each single one."""
    size = len(parts) // 2
    while size:
        for at in range(0, len(parts), size):
            yield parts[:at] + parts[at + size :]
        size //= 2
    if len(parts) == 1:
        yield ()


def _fewer_records(scenario: Scenario) -> Iterator[Scenario]:
    return (replace(scenario, lines=lines) for lines in _without(scenario.lines))


def _fewer_clauses(scenario: Scenario) -> Iterator[Scenario]:
    return (replace(scenario, clauses=clauses) for clauses in _without(scenario.clauses))


def _fewer_conditions(scenario: Scenario) -> Iterator[Scenario]:
    for at, text in enumerate(scenario.clauses):
        for item in parse(text).items:
            # Without a condition, grounding or background may no longer be well-formed.
            if not isinstance(item, Clause) or not text.startswith(_TEMPORAL):
                continue
            for which in range(len(item.body)):
                body = item.body[:which] + item.body[which + 1 :]
                clause = show(replace(item, body=body))
                clauses = (*scenario.clauses[:at], clause, *scenario.clauses[at + 1 :])
                yield replace(scenario, clauses=clauses)


_TEMPORAL = ("initiatedAt", "terminatedAt", "happensAt", "holdsFor")


def _fewer_settings(scenario: Scenario) -> Iterator[Scenario]:
    for key in scenario.settings.keys() - {"start", "end"}:
        rest = {name: value for name, value in scenario.settings.items() if name != key}
        yield replace(scenario, settings=cast(Settings, rest))
