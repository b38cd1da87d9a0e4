"""Semi-naive bottom-up evaluation: all rows of predicates that call each other, computed once.

Each round joins what the last round found with all that is known, so that what is old is not
joined with what is old again. Rows are kept in the order they are found, so the same program
gives the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from cernis.knowledge.ground_values import Key, Row, label
from cernis.knowledge.relations import IndexedRows, Meter
from cernis.knowledge.resolution.machine import Limits
from cernis.knowledge.rule_steps import Source, Step, getter, in_turn, order_of, step
from cernis.knowledge.rules import Rule


def materialise(
    group: Sequence[Key],
    rules: Sequence[Rule],
    given_rows: Mapping[Key, Iterable[Row]],
    below: Callable[[Key], IndexedRows],
    limits: Limits,
) -> dict[Key, IndexedRows]:
    """The rows of a group of predicates: the least that contain the given ones and obey the rules.

    `below` gives the rows of every other predicate the rules use. Raises `KnowledgeError`, naming
    the predicate at work, at the limits and for what cannot be computed.
    """
    total = {key: IndexedRows(given_rows.get(key, ())) for key in group}
    news = {key: IndexedRows(relation.rows) for key, relation in total.items()}
    meter = Meter(limits)

    def source(key: Key) -> Callable[[], IndexedRows]:
        return (lambda: total[key]) if key in total else (lambda: below(key))

    for rule in rules:
        if not rule.calls(group):
            _derive(rule, _plan(rule, None, source, source, meter), total, news, meter)
    turns = [
        (rule, _plan(rule, literal_place, source, lambda key: lambda: news[key], meter))
        for rule in rules
        for literal_place in rule.calls(group)
    ]
    _settle(turns, total, news, meter)
    return total


def _settle(
    turns: Sequence[tuple[Rule, Step]],
    total: dict[Key, IndexedRows],
    news: dict[Key, IndexedRows],
    meter: Meter,
) -> None:
    """Rounds until one finds nothing new; `news` always holds what the last round found."""
    while turns and any(len(relation) for relation in news.values()):
        derived: dict[Key, IndexedRows] = {key: IndexedRows() for key in total}
        for rule, plan in turns:
            _derive(rule, plan, total, derived, meter, later=True)
        for key, relation in derived.items():
            total[key].add(relation.rows)
        news.update(derived)


def _derive(
    rule: Rule,
    plan: Step,
    total: dict[Key, IndexedRows],
    derived: dict[Key, IndexedRows],
    meter: Meter,
    later: bool = False,
) -> None:
    """Run a rule and keep what is new; rows that joins may still read from are added later."""
    meter.predicate = label(rule.key)
    known, fresh = total[rule.key].rows, derived[rule.key].rows
    size = sum(map(len, total.values())) + sum(map(len, derived.values()))
    new: dict[Row, None] = {}
    for row in plan(iter([()])):
        if row not in known and row not in fresh and row not in new:
            new[row] = None
            meter.see_size(size + len(new))
    derived[rule.key].add(new)
    if not later:
        total[rule.key].add(new)


def _plan(
    rule: Rule,
    first: int | None,
    source: Source,
    news: Source,
    meter: Meter,
) -> Step:
    """The steps of a rule, from the empty row to rows of the head."""
    layout: dict[str, int] = {}
    steps = []
    for place in order_of(rule.parts, first):
        of = news if place == first else source
        steps.append(step(rule, rule.parts[place], layout, of, meter))
    getters = [getter(arg, layout) for arg in rule.head]
    steps.append(lambda rows: (tuple([get(row) for get in getters]) for row in rows))
    return in_turn(steps)
