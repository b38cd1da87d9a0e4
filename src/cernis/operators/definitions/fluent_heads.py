"""The heads of a simple fluent's rules: their instances and values, whether certain or not.

Rules give rows, a head makes arguments and a value of each. What a head leaves open stands for all
instances that are known, and grounding says which instances and pairs there may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from cernis.check.model import Pair
from cernis.kernels.array_types import Array, Booleans, Integers
from cernis.operators.context.fluent_points import Points
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.asked_terminations import ANY
from cernis.operators.definitions.grounding import allowed, grounded
from cernis.operators.definitions.rule_heads import head_column, head_columns
from cernis.operators.distinct import with_first_times
from cernis.plan.logical import Definition, PointRule
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain, numbers
from cernis.tables.interval_tables import Finder, in_ranges

EVER: Final = np.iinfo(np.int64).min
"""Before all points of time."""
NEVER: Final = np.iinfo(np.int64).max

MatchRanges: TypeAlias = tuple[Integers, Integers, Integers]
"""The instances that match the bound arguments of each row, as `Finder.ranges` gives them."""


@dataclass(slots=True)
class FluentInstances:
    """Arguments of a fluent, and since when each is known."""

    arguments: list[Array]
    since: Integers


@dataclass(slots=True)
class OpenHeadRows:
    """The rows of a rule, once for each known instance that matches; and a head without gaps."""

    head: Pair
    rows: Rows
    chosen: Integers
    """The row of the rule that each is made of."""


class FluentHeads:
    """The heads of one fluent's rules."""

    def __init__(self, definition: Definition, context: Context) -> None:
        self.relation = definition.relation
        self.definition = definition
        self._context = context
        self.domains, self.value_domain = context.encoding.fluents[definition.relation]

    # -- arguments and values ---------------------------------------------------------------

    @property
    def value_codes(self) -> Domain:
        """The codes that identify values, even where these are numbers."""
        if self.value_domain is not None:
            return self.value_domain
        return self._context.encoding.domains.value_domain(self.relation)

    def projected(self, head: Pair, rows: Rows) -> tuple[list[Array], Integers]:
        """The arguments of a head, row by row, and the codes of its values; -1 for any value."""
        arguments = head_columns(head.args, rows, self.domains)
        if isinstance(head.value, Variable) and head.value.name not in rows.columns:
            return arguments, np.full(rows.length, ANY, np.int64)
        return arguments, self.coded_values(head.value, rows)

    def coded_values(self, term: Term, rows: Rows) -> Integers:
        """The codes of a value, row by row."""
        column = head_column(term, rows, self.value_domain)
        return column if self.value_domain is not None else self.value_codes.encode_numbers(column)

    def shown_values(self, codes: Integers) -> Array:
        """Values as tables have them: codes, or numbers."""
        return codes if self.value_domain is not None else numbers(self.value_codes.decode(codes))

    def no_points(self) -> Points:
        """No initiations or terminations."""
        none = np.empty(0, np.int64)
        return Points([none] * self.relation.arity, none, none)

    # -- grounding --------------------------------------------------------------------------

    def may_hold(self, arguments: list[Array], values: Integers) -> Booleans:
        """For each row: does grounding allow the pair? Without grounding, each may hold."""
        groundings = self.definition.groundings
        if not groundings or not len(values):
            return np.ones(len(values), np.bool_)
        return allowed(groundings, arguments, self.domains, values, self.value_codes, self._context)

    def allowed_pairs(self) -> Points:
        """The pairs that grounding names, since ever; none if it names no values."""
        *args, value = (Variable(f"<{at}>") for at in range(self.relation.arity + 1))
        head = Pair(self.relation, tuple(args), value)
        rows = grounded(head, self.definition.groundings, Rows(1), self._context)
        if any(term.name not in rows.columns for term in (*args, value)):
            return self.no_points()
        arguments, values = self.projected(head, rows)
        return Points(arguments, values, np.full(rows.length, EVER))

    def _grounded_instances(self, is_watched: bool) -> list[list[Array]]:
        """The instances that grounding names, which heads may leave open to range over."""
        # To end what never began is nothing, unless another rule waits for it.
        begins = any(rule.kind == "initiation" for rule in self.definition.open_rules)
        if not self.definition.groundings or not (begins or is_watched):
            return []
        args = tuple(Variable(f"<{at}>") for at in range(self.relation.arity))
        head = Pair(self.relation, args, Variable("<value>"))
        rows = grounded(head, self.definition.groundings, Rows(1), self._context)
        if any(arg.name not in rows.columns for arg in args):
            return []
        return [head_columns(args, rows, self.domains)]

    # -- heads that leave arguments open ----------------------------------------------------

    def instances(
        self, initiated: Sequence[tuple[list[Array], Integers]], held: list[list[Array]],
        is_watched: bool,
    ) -> FluentInstances:  # fmt: skip
        """The distinct arguments of known instances, for heads that leave some open.

        They are those that were initiated, from the first time on, and those that held before. With
        grounding rules, initiations are about what those name, and about nothing else. Whether
        other rules have terminations as conditions says if the fluent is watched.
        """
        grounded_instances = self._grounded_instances(is_watched)
        always = [*held, *grounded_instances]
        parts = [arguments for arguments, _ in initiated] + always
        times = [own_times for _, own_times in initiated]
        times += [np.full(len(arguments[0]) if arguments else 0, EVER) for arguments in always]
        if grounded_instances:
            times[:-1] = [np.full(len(each), NEVER) for each in times[:-1]]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        if not columns:
            return FluentInstances([], np.empty(0, np.int64))
        return FluentInstances(*with_first_times(columns, self.domains, np.concatenate(times)))

    def bound_positions(self, head: Pair, rows: Rows) -> list[int]:
        """The arguments of a head that the rows of its rule have a value for."""
        return [
            position for position, arg in enumerate(head.args)
            if not isinstance(arg, Variable) or arg.name in rows.columns
        ]  # fmt: skip

    def ranges(self, head: Pair, rows: Rows, instances: FluentInstances) -> MatchRanges:
        """The instances that match the bound arguments of a head."""
        bound = self.bound_positions(head, rows)
        known = [(instances.arguments[at], self.domains[at]) for at in bound]
        wanted = [head_column(head.args[at], rows, self.domains[at]) for at in bound]
        return Finder(known, len(instances.since)).ranges(wanted, rows.length)

    def filled(
        self, rule: PointRule, rows: Rows, instances: FluentInstances,
        ranges: MatchRanges | None = None, is_known: bool = False,
    ) -> OpenHeadRows:  # fmt: skip
        """The rows of a rule for all known instances that match the bound arguments of its head.

        Initiations, and if `is_known` terminations, are only of instances known before the point.
        """
        assert isinstance(rule.head, Pair)
        args, known = rule.head.args, instances.arguments
        bound = self.bound_positions(rule.head, rows)
        chosen, places = in_ranges(*(ranges or self.ranges(rule.head, rows, instances)))
        if is_known or rule.kind == "initiation":
            there = instances.since[places] < rows.points[chosen]
            chosen, places = chosen[there], places[there]
        terms = [arg if at in bound else Variable(f"<{at}>") for at, arg in enumerate(args)]
        more = {f"<{at}>": Column(known[at], self.domains[at], places)
                for at in range(len(args)) if at not in bound}  # fmt: skip
        head = Pair(rule.head.relation, tuple(terms), rule.head.value)
        return OpenHeadRows(head, rows.take(chosen).with_columns(more), chosen)
