"""What was recognised, for people and programs to read."""

from __future__ import annotations

from collections.abc import Iterator

from cernis.check.model import Relation
from cernis.knowledge.values import term_of
from cernis.runtime.run import Answer
from cernis.syntax.printer import show
from cernis.tables.columns import Array
from cernis.tables.domains import Domain
from cernis.tables.fluents import INFINITY


def as_text(answer: Answer) -> str:
    """One line a fluent-value pair with any interval, and a derived event, sorted."""
    return "".join(line + "\n" for line in sorted([*_fluent_lines(answer), *_event_lines(answer)]))


def _shown(column: Array, domain: Domain | None) -> list[str]:
    values = domain.decode(column) if domain is not None else column.tolist()
    return [show(term_of(value)) for value in values]


def entity_text(relation: Relation, args: list[str]) -> str:
    """A relation with its arguments, nested functors put back in their places."""
    if "(" not in relation.name:
        return f"{relation.name}({', '.join(args)})" if args else relation.name
    parts = relation.name.replace(",", ", ").split("_")
    return "".join(a + b for a, b in zip(parts, [*args, ""], strict=True))


def _fluent_lines(answer: Answer) -> Iterator[str]:
    for relation, table in answer.fluents.items():
        arguments = [_shown(c, d) for c, d in zip(table.arguments, table.domains, strict=True)]
        values = _shown(table.values, table.value_domain)
        starts, ends = table.starts.tolist(), table.ends.tolist()
        offsets = table.offsets.tolist()
        for group, value in enumerate(values):
            own = range(offsets[group], offsets[group + 1])
            if not own:
                continue
            shown = ",".join(
                f"({starts[at]},{'inf' if ends[at] == INFINITY else ends[at]})" for at in own
            )
            entity = entity_text(relation, [column[group] for column in arguments])
            yield f"holdsFor({entity}={value}, [{shown}])."


def _event_lines(answer: Answer) -> Iterator[str]:
    for relation, table in answer.events.items():
        arguments = [_shown(c, d) for c, d in zip(table.arguments, table.domains, strict=True)]
        by_entity: dict[str, list[int]] = {}
        for row, time in enumerate(table.times.tolist()):
            entity = entity_text(relation, [column[row] for column in arguments])
            by_entity.setdefault(entity, []).append(time)
        for entity, times in by_entity.items():
            yield f"happensAt({entity}, [{','.join(map(str, sorted(times)))}])."
