"""Whole explanations for a report: why each interval of some fluents began."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from cernis.answers.answer_lines import argument_text, value_text
from cernis.answers.reports.report_content import ReportContent, RunOrigin
from cernis.check.model import Relation
from cernis.errors import CernisError, DataError
from cernis.evaluate.answer import Answer
from cernis.kernels.array_types import Array
from cernis.knowledge.ground_values import Value
from cernis.tables.domains import Domain
from cernis.tables.interval_tables import FluentTable

_MOST: Final = 500
"""Each explanation evaluates again what it can reach, so there are no more than this."""


def explanations_of(
    names: Iterable[str], answer: Answer, content: ReportContent, origin: RunOrigin
) -> dict[int, str]:
    """Explanations by row, for the intervals of some fluents at their first points."""
    defined = [relation for relation in content.relations if relation in answer.fluents]
    chosen = [_relation(name, defined) for name in names]
    if chosen and origin.explain is None:
        raise CernisError("this result cannot explain: it does not know its events")
    texts: dict[int, str] = {}
    for relation in chosen:
        number, table = content.relations.index(relation), answer.fluents[relation]
        rows = np.flatnonzero(content.rows.relations[content.rows.groups] == number)
        if len(texts) + len(rows) > _MOST:
            raise DataError(
                f"{relation} has {len(rows):,} intervals, too many to be explained in one page: "
                f"at most {_MOST} are"
            )
        owners = np.repeat(np.arange(len(table)), np.diff(table.offsets))
        for place, row in enumerate(rows.tolist()):
            question = pair_question(relation, table, int(owners[place]))
            assert origin.explain is not None
            texts[row] = origin.explain(question, int(table.starts[place]))
    return texts


def _relation(name: str, relations: list[Relation]) -> Relation:
    for relation in relations:
        if name in (relation.name, str(relation)):
            return relation
    known = ", ".join(sorted(map(str, relations)))
    raise DataError(f"there is no fluent {name} to be explained; there are {known}")


def pair_question(relation: Relation, table: FluentTable, group: int) -> str:
    """A pair of a table as it is asked about: `level(b7)=critical`."""
    arguments = [
        argument_text(_value(column[group], domain))
        for column, domain in zip(table.arguments, table.domains, strict=True)
    ]
    value = value_text(_value(table.values[group], table.value_domain))
    listed = f"({', '.join(arguments)})" if arguments else ""
    return f"{relation.name}{listed}={value}"


def _value(code: Array, domain: Domain | None) -> Value:
    return domain.values[int(code)] if domain is not None else code.item()
