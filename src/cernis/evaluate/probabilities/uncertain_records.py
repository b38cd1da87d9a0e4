"""Enters uncertain records into a query: each record is an independent fact."""

from __future__ import annotations

import numpy as np

from cernis.check.model import Relation
from cernis.evaluate.probabilities.courses import Courses, Pairs, course_of_segments
from cernis.evaluate.probabilities.proofs import Segments, Uncertainty, literal_table, with_literals
from cernis.evaluate.probabilities.uncertain_events import put_happenings
from cernis.evaluate.probabilities.uncertain_facts import FALSE, Conjunctions, conjunctions
from cernis.kernels.array_types import Floats, Integers
from cernis.kernels.order import stable_order
from cernis.operators.context.background_tables import BackgroundTables
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.distinct import distinct
from cernis.records.encoded_input import InputEvents, InputFluent
from cernis.tables.event_tables import by_entity
from cernis.tables.interval_tables import INFINITY, FluentTable


def add_events(
    relation: Relation, records: InputEvents, relations: QueryRelations, uncertainty: Uncertainty,
    once: bool = False, lasts: bool = False,
) -> None:  # fmt: skip
    """Enter the uncertain records of an event, which are in the order of time.

    With `once`, equal records are one happening, which is true if one of them is; rules that count
    happenings need that. If a record `lasts`, later points may depend on it, too: patterns do.
    """
    assert records.chances is not None
    arguments, domains, times = records.arguments, records.domains, records.times
    literals = uncertainty.facts.add(records.chances)
    uncertainty.events.add(relation)
    if lasts:
        uncertainty.lasting.append(literals)
    if once:
        some = literals != FALSE
        columns = [column[some] for column in arguments]
        proofs = conjunctions([literals[some]], int(some.sum()))
        put_happenings(
            with_literals(relation), columns, domains, times[some], proofs, relations, uncertainty
        )
        return
    table = by_entity([*arguments, literals], [*domains, None], times)
    *columns, literal_column = table.arguments
    plain = type(table)(columns, table.domains[:-1], table.times)
    relations.events[with_literals(relation)] = literal_table(plain, literal_column)


def add_predicates(background: BackgroundTables, uncertainty: Uncertainty) -> None:
    """Enter the background predicates that have probabilities, with a fact for each row."""
    for key, predicate in background.knowledge.predicates.items():
        if predicate.chances is not None:
            known = background.table(*key)
            chances = np.ones(known.length)
            chances[: len(predicate.chances)] = predicate.chances
            some = np.flatnonzero(chances > 0)
            literals = uncertainty.facts.add(chances[some])
            edges = np.arange(len(some) + 1)
            table = FluentTable(
                [column[some] for column in known.columns], np.zeros(len(some), np.int64),
                known.domains, None, edges, edges[:-1], edges[1:],
            )  # fmt: skip
            uncertainty.predicates[key] = Segments(table, literals)


def add_fluent(relation: Relation, records: InputFluent, uncertainty: Uncertainty) -> Courses:
    """Enter the uncertain records of an input fluent; gives the probability of each pair over time.

    Where records of a pair overlap, it holds if one of them is true.
    """
    assert records.chances is not None
    possible = np.flatnonzero(records.chances > 0)
    columns = [column[possible] for column in (*records.arguments, records.values)]
    starts, ends = records.starts[possible], records.ends[possible]
    chances = records.chances[possible]
    domains = [*records.domains, records.value_domain]
    first, group = distinct(columns, domains)
    order = np.lexsort((starts, group))
    group, starts, ends, chances = group[order], starts[order], ends[order], chances[order]
    literals = uncertainty.facts.add(chances)
    uncertainty.lasting.append(literals)
    inside = np.append(group[1:] == group[:-1], False)[: len(group)]
    if np.any(inside[:-1] & (ends[:-1] > starts[1:])):
        group, starts, ends, chances, literals = _disjoint_pieces(
            group, starts, ends, chances, literals, uncertainty
        )
    offsets = np.searchsorted(group, np.arange(len(first) + 1)).astype(np.int64)
    *arguments, values = (column[first] for column in columns)
    table = FluentTable(
        arguments, values, records.domains, records.value_domain, offsets, starts, ends
    )
    uncertainty.fluents[relation] = Segments(table, literals)
    pairs = Pairs(arguments, values, records.domains, records.value_domain, np.zeros(len(first)))
    return course_of_segments(pairs, group, starts, ends, chances)


def _disjoint_pieces(
    group: Integers, starts: Integers, ends: Integers, chances: Floats, literals: Integers,
    uncertainty: Uncertainty,
) -> tuple[Integers, Integers, Integers, Floats, Integers]:  # fmt: skip
    """Overlapping records as disjoint pieces, each with the records that cover it."""
    owners = np.concatenate([group, group])
    edges = np.concatenate([starts, ends])
    order = np.lexsort((edges, owners))
    owners, edges = owners[order], edges[order]
    new = np.append(True, (owners[1:] != owners[:-1]) | (edges[1:] != edges[:-1]))
    owners, edges = owners[new], edges[new]
    bounds = np.searchsorted(owners, np.arange(int(owners[-1]) + 2))
    low, high = (_among(owners, edges, bounds, group, times) for times in (starts, ends))
    counts = high - low
    rows = np.repeat(np.arange(len(group)), counts)
    pieces = np.arange(len(rows)) + np.repeat(low - (np.cumsum(counts) - counts), counts)
    order = stable_order(pieces, len(edges))
    pieces, rows = pieces[order], rows[order]
    # A record that is certain has no literal.
    has_literal = literals[rows] != 0
    lengths = np.append(0, np.cumsum(has_literal)).astype(np.int64)
    proofs = Conjunctions(lengths, literals[rows][has_literal])
    piece_literals = uncertainty.facts.any_of(pieces, proofs, len(edges))
    missing = np.ones(len(edges))
    np.multiply.at(missing, pieces, 1 - chances[rows])
    covered = np.flatnonzero(np.bincount(pieces, minlength=len(edges)))
    piece_ends = np.append(edges[1:], INFINITY)[covered]
    return (
        owners[covered],
        edges[covered],
        piece_ends,
        1 - missing[covered],
        piece_literals[covered],
    )


def _among(
    owners: Integers, edges: Integers, bounds: Integers, group: Integers, times: Integers
) -> Integers:
    """The place of each time of a group among the sorted edges, where it is one."""
    keys = np.rec.fromarrays([owners, edges])
    return np.searchsorted(keys, np.rec.fromarrays([group, times]))
