"""The bindings of a rule over intervals: for which values of its variables it can give anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cernis.check.goal_checks import named
from cernis.check.model import Grounding, Pair
from cernis.errors import OverflowFault
from cernis.kernels.array_types import Array, Booleans
from cernis.kernels.bounds import TooManyPairs
from cernis.operators.collections import ROW
from cernis.operators.definitions.grounding import grounded
from cernis.operators.definitions.rule_heads import slot_domains
from cernis.operators.distinct import distinct
from cernis.operators.intervals.interval_lists import fetched, wanted_column
from cernis.operators.query_context import Context, constant_column
from cernis.operators.rule_pipeline import concatenated, run_steps
from cernis.plan.logical import (
    Branches,
    Combine,
    Compute,
    Exclude,
    Fetch,
    Filter,
    IntervalOperator,
    IntervalRule,
    Lookup,
    Require,
    Resolve,
    names_in,
)
from cernis.plan.rule_plans import entity_names
from cernis.syntax.printer import show
from cernis.syntax.tree import Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.interval_tables import FluentTable, empty_table


def alternatives(rule: IntervalRule) -> list[frozenset[str]]:
    """Sets of fetched lists that must not be empty for the result to be anything.

    A union needs one of its operands, an intersection all, a relative complement its first; a
    complement needs nothing. So an instance with a result has all lists of one set.
    """
    needs: dict[str, set[frozenset[str]]] = {}
    required: list[str] = []
    for step in rule.steps:
        if isinstance(step, Fetch):
            needs[step.output] = {frozenset([step.output])}
        elif isinstance(step, Combine):
            needs[step.output] = _needs(step, [needs[name] for name in step.inputs])
        elif isinstance(step, Require) and not step.negated:
            required.append(step.intervals)
    result = needs[rule.output]
    for name in required:
        result = {one | other for one in result for other in needs[name]}
    return sorted((one for one in result if not any(other < one for other in result)), key=sorted)


def is_local(rule: IntervalRule, has_groundings: bool) -> bool:
    """Do the lists that a result cannot do without bind all the variables that matter?

    If so, what the rule derives at a point depends on nothing but what holds there.
    """
    conditions = [s for s in rule.steps if not isinstance(s, (Fetch, Combine, Require))]
    lookups = [s for s in conditions if isinstance(s, (Lookup, Resolve)) and not _denies(s)]
    known = set(names_in(tuple(lookups)))
    if has_groundings:
        known |= entity_names(rule.head)
    lists = {s.output: entity_names(s.pair) for s in rule.steps if isinstance(s, Fetch)}
    asked = set(names_in(tuple(s for s in conditions if s not in lookups)))
    wanted = _important(rule) | asked & set[str]().union(*lists.values())
    computes = [s for s in conditions if isinstance(s, Compute)]
    return all(
        wanted <= _computed(known.union(*(lists[name] for name in needed)), computes)
        for needed in alternatives(rule)
    )


def _denies(step: Lookup | Resolve) -> bool:
    return isinstance(step, Resolve) and step.negated


def _computed(known: set[str], computes: list[Compute]) -> set[str]:
    """What is known once all has been computed that can be."""
    for step in computes:
        if set(names_in(step.expression)) <= known:
            known = known | {step.variable}
    return known


def _needs(step: Combine, inputs: list[set[frozenset[str]]]) -> set[frozenset[str]]:
    if step.operator == "union_all":
        return set[frozenset[str]]().union(*inputs)
    if step.operator == "intersect_all":
        product = {frozenset[str]()}
        for own in inputs:
            product = {one | other for one in product for other in own}
        return product
    if step.operator == "complement_all":
        return {frozenset()}
    if step.operator in ("relative_complement_all", "intDurGreater", "intDurLess", "findall"):
        return inputs[0]
    # Only intervals that stand in a relation come out, and it takes two for one.
    return {one | other for one in inputs[0] for other in inputs[1]}


def instances(
    rule: IntervalRule, needed: frozenset[str], groundings: tuple[Grounding, ...], context: Context
) -> Rows:
    """The bindings of the rule's variables for which the needed lists are not empty.

    A variable gets its values from a needed list, from background knowledge, from grounding, or
    from any other list. One that stands in a single list and nowhere else may go without.
    """
    fetches = [step for step in rule.steps if isinstance(step, Fetch)]
    conditions = [s for s in rule.steps if not isinstance(s, (Fetch, Combine, Require))]
    rows = Rows(1)
    together = context.derived.once("together", rule, lambda: _together(rule))
    anchor: Pair | None = None
    for step in fetches:
        if step.output in needed:
            meets = anchor if step.output in together else None
            rows = _match(step.pair, rows, context, meets)
            anchor = step.pair if step.output in together else anchor
    rows, waiting = _apply(conditions, rows, context)
    if entity_names(rule.head) - rows.columns.keys() and groundings:
        # A member may be given several times, by facts, by input, and by several rules.
        rows = distinct_rows(grounded(rule.head, groundings, rows, context))
        rows, waiting = _apply(waiting, rows, context)
    partial = [rows]
    for step in fetches:
        names = _names_of(step, context)
        partial += [_match(step.pair, p, context) for p in partial if names - p.columns.keys()]
    wanted = context.derived.once("important", rule, lambda: _important(rule))
    complete = []
    for each in partial:
        each, left = _apply(waiting, each, context)
        _refuse_overflow(left, wanted, each, context)
        if wanted <= each.columns.keys() and not left:
            complete.append(each)
    if not complete:
        return partial[0].take(np.empty(0, np.int64))
    return distinct_rows(concatenated(complete, context)) if len(complete) > 1 else complete[0]


def _names_of(step: Fetch, context: Context) -> set[str]:
    names: set[str] = context.derived.once("names", step, lambda: entity_names(step.pair))
    return names


def _important(rule: IntervalRule) -> set[str]:
    """The variables an instance needs: those of the head, of conditions and of several lists."""
    lists = [entity_names(step.pair) for step in rule.steps if isinstance(step, Fetch)]
    counts = Counter(name for names in lists for name in names)
    shared = {name for name, count in counts.items() if count > 1}
    parameters = [s.parameters for s in rule.steps if isinstance(s, Combine)]
    return entity_names(rule.head) | shared | named(t for own in parameters for t in own)


def _apply(
    conditions: Sequence[IntervalOperator], rows: Rows, context: Context
) -> tuple[Rows, list[IntervalOperator]]:
    """Run the conditions whose variables are bound, and look-ups; gives those that must wait.

    One that computes a number that is too large waits, too: others may rule out such rows, and a
    row is no instance yet.
    """
    waiting, too_large = list(conditions), list[IntervalOperator]()
    while True:
        able = (step for step in waiting if step not in too_large)
        ready = next((step for step in able if _is_ready(step, rows, context)), None)
        if ready is None:
            return rows, waiting
        try:
            rows = run_steps([ready], rows, context).settled()  # type: ignore[list-item]
        except OverflowFault:
            too_large.append(ready)
        else:
            waiting.remove(ready)
            too_large.clear()


def _refuse_overflow(
    left: Sequence[IntervalOperator], wanted: set[str], rows: Rows, context: Context
) -> None:
    """Raise what kept conditions waiting on rows that have all else that an instance needs."""
    computed = {step.variable for step in left if isinstance(step, Compute)}
    if wanted <= rows.columns.keys() | computed:
        for step in left:
            if _is_ready(step, rows, context):
                run_steps([step], rows, context)  # type: ignore[list-item]


def _is_ready(step: IntervalOperator, rows: Rows, context: Context) -> bool:
    if isinstance(step, Lookup):
        return True
    needs: set[str] = context.derived.once("needs", step, lambda: needs_of(step))
    return needs <= rows.columns.keys()


def needs_of(step: object) -> set[str]:
    """The variables a condition must find bound."""
    if isinstance(step, Filter):
        return named([step.condition])
    if isinstance(step, Compute):
        return named([step.expression])
    if isinstance(step, Exclude):
        return {name for name in named([step.goal]) if not name.startswith("_")}
    if isinstance(step, Resolve):
        return named([step.goal]) - set(step.binds)
    bodies = step.branches if isinstance(step, Branches) else (getattr(step, "body", ()),)
    needs: set[str] = set()
    for body in bodies:
        bound: set[str] = set()
        for inner in body:
            if isinstance(inner, Lookup):
                # A look-up can give a variable its values; under a negation it must not.
                needs |= set() if isinstance(step, Branches) else set(inner.on) - bound
                bound |= {*inner.on, *inner.binds}
            else:
                needs |= needs_of(inner) - bound
                bound |= {inner.variable} if isinstance(inner, Compute) else set()
    return needs


def _together(rule: IntervalRule) -> frozenset[str]:
    """The fetched lists that hold at every point of the result.

    An intersection lies in all its operands, a relative complement in its first; a union lies for
    certain only in what all its operands lie in.
    """
    inside: dict[str, frozenset[str]] = {}
    for step in rule.steps:
        if isinstance(step, Fetch):
            inside[step.output] = frozenset([step.output])
        elif isinstance(step, Combine):
            parts = [inside[name] for name in step.inputs]
            if step.operator == "intersect_all":
                inside[step.output] = frozenset[str]().union(*parts)
            elif step.operator == "union_all" and parts:
                inside[step.output] = frozenset.intersection(*parts)
            elif step.operator == "complement_all" or not parts:
                inside[step.output] = frozenset()
            elif step.operator == "allen":
                inside[step.output] = _related_inside(show(step.parameters[1]), *parts)
            else:
                inside[step.output] = parts[0]
    return inside[rule.output]


def _related_inside(mode: str, source: frozenset[str], target: frozenset[str]) -> frozenset[str]:
    """What the intervals that a relation gives lie in, by its mode of output."""
    if mode == "intersect":
        return source | target
    if mode in ("source", "complement"):
        return source
    return target if mode in ("target", "complement_inv") else source & target


def _match(pair: Pair, rows: Rows, context: Context, meets: Pair | None = None) -> Rows:
    """Rows beside the instances of a fluent.

    Where nothing else connects them, and the rows have a fluent that must hold at the same time
    (`meets`), only instances that do so at some point are taken.
    """
    terms = [*pair.args, pair.value]
    fluent = context.fluents.get(pair.relation) or empty_table(
        *slot_domains(pair.relation, context)
    )
    columns = fluent.columns()
    bound = tuple(
        position for position, term in enumerate(terms)
        if not isinstance(term, Variable) or term.name in rows.columns
    )  # fmt: skip
    connected = any(isinstance(terms[position], Variable) for position in bound)
    try:
        if meets is not None and not connected and rows.length > 1:
            chosen, groups = _meeting(pair, meets, rows, fluent, context)
        else:
            wanted = [
                wanted_column(terms[position], columns[position][1], rows) for position in bound
            ]
            chosen, groups = fluent.finder(bound).all(wanted, rows.length)
    except TooManyPairs as error:
        raise context.too_many(error, pair.span) from None
    more: dict[str, Column] = {}
    keep = np.ones(len(chosen), np.bool_)
    for position, term in enumerate(terms):
        if position in bound or not isinstance(term, Variable) or term.name == "_":
            continue
        column = Column(columns[position][0], columns[position][1], groups)
        if term.name in more:
            keep &= more[term.name].values == column.values
        else:
            more[term.name] = column
    result = rows.take(chosen).with_columns(more)
    return result if keep.all() else result.where(keep).settled()


def _meeting(
    pair: Pair, meets: Pair, rows: Rows, fluent: FluentTable, context: Context
) -> tuple[Array, Array]:
    """Rows and instances whose intervals overlap somewhere."""
    from cernis.kernels.intervals.overlap import overlaps

    offsets, starts, ends = fetched(meets, rows, context).packed()
    owner = np.repeat(np.arange(rows.length), np.diff(offsets))
    order = np.argsort(starts, kind="stable")
    own = _constant_groups(pair, fluent)
    groups = np.repeat(np.arange(len(fluent)), np.diff(fluent.offsets))
    mine = np.flatnonzero(own[groups])
    mine = mine[np.argsort(fluent.starts[mine], kind="stable")]
    left, right = overlaps(starts[order], ends[order], fluent.starts[mine], fluent.ends[mine])
    pairs = np.unique(owner[order][left] * max(len(fluent), 1) + groups[mine][right])
    return pairs // max(len(fluent), 1), pairs % max(len(fluent), 1)


def _constant_groups(pair: Pair, fluent: FluentTable) -> Booleans:
    """The groups of a fluent that have the constants of a literal."""
    mask = np.ones(len(fluent), np.bool_)
    for term, (data, domain) in zip([*pair.args, pair.value], fluent.columns(), strict=True):
        if not isinstance(term, Variable):
            mask &= data == constant_column(term, domain).data[0]
    return mask


def distinct_rows(rows: Rows) -> Rows:
    """Each combination of values once."""
    columns = [column for name, column in rows.columns.items() if name != ROW]
    if not columns:
        return rows.take(np.arange(min(rows.length, 1)))
    arrays = [column.expanded(rows.length) for column in columns]
    first, _ = distinct(arrays, [column.domain for column in columns])
    return rows.take(np.sort(first))
