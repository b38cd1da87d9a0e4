"""Short ways from a text to knowledge, and from a goal to its answers."""

from cernis.knowledge import Knowledge, Limits, Value, value
from cernis.knowledge.classify import grouped
from cernis.knowledge.resolution.database import Database
from cernis.knowledge.resolution.resolution_engine import Resolver
from cernis.syntax import parse, parse_term, show
from cernis.syntax.tree import Clause


def clauses(text: str) -> list[Clause]:
    parsed = parse(text)
    assert not parsed.diagnostics, parsed.diagnostics
    return [item for item in parsed.items if isinstance(item, Clause)]


def knowledge(text: str, **limits: float) -> Knowledge:
    return Knowledge(clauses(text), limits=Limits(**limits))  # type: ignore[arg-type]


def resolver(text: str, **limits: float) -> Resolver:
    """Resolution alone: no predicate is answered from a table."""
    found = grouped(clauses(text))
    return Resolver(Database(found, {}, found), Limits(**limits))  # type: ignore[arg-type]


def answers(engine: Knowledge | Resolver, goal: str, limit: int | None = None) -> list[str]:
    """Each answer as text, `X=1 Y=b`, in the order found; `true` for a goal without variables."""
    found = engine.solve(parse_term(goal), limit)
    return [
        " ".join(f"{name}={show(term)}" for name, term in answer.items()) or "true"
        for answer in found
    ]


def values(engine: Knowledge | Resolver, goal: str) -> set[tuple[Value, ...]]:
    """The answers as a set of tuples of values."""
    return {tuple(map(value, answer.values())) for answer in engine.solve(parse_term(goal))}
