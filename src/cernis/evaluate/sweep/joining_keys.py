"""Keys that groundings name: they are known without anything happening to them."""

from __future__ import annotations

from collections.abc import Sequence

from cernis.evaluate.sweep.domain_fillings import DomainFillings
from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.operators.context.query_context import Context
from cernis.operators.definitions.grounding import grounded
from cernis.operators.definitions.rule_heads import head_column
from cernis.plan.sweep.key_members import KeyMembers
from cernis.tables.columns import Rows


class JoiningKeys:
    """Gives numbers to the keys that groundings name, whenever domains are filled again."""

    def __init__(self, members: Sequence[KeyMembers], keys: KeyNumbers) -> None:
        self._members, self._keys = members, keys
        self._fillings = DomainFillings(each.groundings for each in members)
        self._filling: int | None = None

    def begin(self) -> None:
        """Let another run begin, which fills growing domains again."""
        self._filling = None

    def enter(self, context: Context) -> None:
        """Enter the keys that are named now."""
        if not self._members:
            return
        current = self._fillings.current(context)
        if current == self._filling:
            return
        self._filling = current
        for each in self._members:
            self._enter(each, context)

    def _enter(self, members: KeyMembers, context: Context) -> None:
        head = members.head
        rows = grounded(head, members.groundings, Rows(1), context)
        domains, _ = context.encoding.fluent(members.relation)
        columns = [
            head_column(head.args[place], rows, domains[place]) for place in members.positions
        ]
        self._keys.enter(columns, rows.length)
