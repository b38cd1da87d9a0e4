"""Semi-naive bottom-up evaluation: all rows of predicates that call each other, computed once.

Each round joins what the last round found with all that is known, so that what is old is not
joined with what is old again. Rows are kept in the order they are found, so the same program
gives the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from cernis.knowledge.ground_values import Key, Row, label
from cernis.knowledge.relations import Meter, Relation
from cernis.knowledge.resolution.machine import Limits
from cernis.knowledge.rule_steps import Source, Step, getter, in_turn, order_of, step
from cernis.knowledge.rules import Rule


def materialise(
    group: Sequence[Key],
    rules: Sequence[Rule],
    given: Mapping[Key, Iterable[Row]],
    below: Callable[[Key], Relation],
    limits: Limits,
) -> dict[Key, Relation]:
    """The rows of a group of predicates: the least that contain the given ones and obey the rules.

    `below` gives the rows of every other predicate the rules use. Raises `KnowledgeError`, naming
    the predicate at work, at the limits and for what cannot be computed.
    """
    total = {key: Relation(given.get(key, ())) for key in group}
    news = {key: Relation(relation.rows) for key, relation in total.items()}
    meter = Meter(limits)

    def source(key: Key) -> Callable[[], Relation]:
        return (lambda: total[key]) if key in total else (lambda: below(key))

    for rule in rules:
        if not rule.calls(group):
            _derive(rule, _plan(rule, None, source, source, meter), total, news, meter)
    turns = [
        (rule, _plan(rule, at, source, lambda key: lambda: news[key], meter))
        for rule in rules
        for at in rule.calls(group)
    ]
    _settle(turns, total, news, meter)
    return total


def _settle(
    turns: Sequence[tuple[Rule, Step]],
    total: dict[Key, Relation],
    news: dict[Key, Relation],
    meter: Meter,
) -> None:
    """Rounds until one finds nothing new; `news` always holds what the last round found."""
    while turns and any(len(relation) for relation in news.values()):
        found: dict[Key, Relation] = {key: Relation() for key in total}
        for rule, plan in turns:
            _derive(rule, plan, total, found, meter, later=True)
        for key, relation in found.items():
            total[key].add(relation.rows)
        news.update(found)


def _derive(
    rule: Rule,
    plan: Step,
    total: dict[Key, Relation],
    found: dict[Key, Relation],
    meter: Meter,
    later: bool = False,
) -> None:
    """Run a rule and keep what is new; rows that joins may still read from are added later."""
    meter.predicate = label(rule.key)
    known, fresh = total[rule.key].rows, found[rule.key].rows
    size = sum(map(len, total.values())) + sum(map(len, found.values()))
    new: dict[Row, None] = {}
    for row in plan(iter([()])):
        if row not in known and row not in fresh and row not in new:
            new[row] = None
            meter.see_size(size + len(new))
    found[rule.key].add(new)
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
    for at in order_of(rule.parts, first):
        of = news if at == first else source
        steps.append(step(rule, rule.parts[at], layout, of, meter))
    getters = [getter(arg, layout) for arg in rule.head]
    steps.append(lambda rows: (tuple([get(row) for get in getters]) for row in rows))
    return in_turn(steps)
