"""By which keys the relations of a program are stored, and empty stores for them."""

from __future__ import annotations

from cernis.check.model import Relation
from cernis.evaluate.stores import Store
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import WorkingMemory
from cernis.operators.context.background_tables import BackgroundTables
from cernis.operators.context.lasting_results import Memo
from cernis.operators.context.query_context import Context
from cernis.operators.context.query_window import QueryWindow
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.builder import Plan
from cernis.plan.properties.key_reads import Home
from cernis.tables.domains import Domains
from cernis.tables.registers import Register


class RelationLayout:
    """How a program's relations are stored: by the keys of the stages that they belong to."""

    def __init__(self, plan: Plan, context: Context) -> None:
        self.plan = plan
        self.context = context
        self.links, self.homes = plan.links, plan.homes
        self.registers = [self._register(dict(stage.keys), len(stage.key)) for stage in plan.stages]

    def _register(self, keys: dict[Relation, tuple[int, ...]], width: int) -> Register:
        if not width:
            return Register([])
        relation, positions = next(iter(keys.items()))
        domains = self.context.encoding.relations[relation][0]
        return Register([domains[position] for position in positions])

    @property
    def has_coded_keys(self) -> bool:
        """Are all keys made of codes, and not of numeric values?"""
        return all(None not in register.domains for register in self.registers)

    def key_register(self, relation: Relation) -> tuple[Register, tuple[int, ...]]:
        """The register of a relation's key, and the arguments that are the key."""
        home = self.homes.get(relation, Home(None, ()))
        domains = self.context.encoding.relations[relation][0]
        if home.stage is not None and None not in self.registers[home.stage].domains:
            return self.registers[home.stage], home.positions
        positions = tuple(
            position for position in home.positions or range(1)
            if position < len(domains) and domains[position] is not None
        )  # fmt: skip
        return Register([domains[position] for position in positions]), positions

    def event_store(self, relation: Relation, width: int = 1) -> Store:
        """An empty store of happenings, or of other points."""
        register, positions = self.key_register(relation)
        domains = self.context.encoding.relations[relation][0]
        return Store(relation, register, positions, domains, width)

    def fluent_store(self, relation: Relation, width: int = 3) -> Store:
        """An empty store of intervals."""
        register, positions = self.key_register(relation)
        domains, value_domain = self.context.encoding.fluents[relation]
        return Store(relation, register, positions, domains, width, value_domain, True)

    def working_memory(self, has_chances: bool = False) -> WorkingMemory:
        """An empty working memory for the program's input, whose records may be uncertain."""
        catalogue, inputs = self.context.encoding.catalogue, self.plan.roles.inputs
        more = int(has_chances)
        stores = {
            relation: self.event_store(relation, 1 + more)
            for relation in catalogue.events if relation in inputs
        }  # fmt: skip
        stores |= {
            relation: self.fluent_store(relation, 4 + more)
            for relation in catalogue.fluents if relation in inputs
        }  # fmt: skip
        return WorkingMemory(stores, self.context.window.tick, has_chances)


def context_of(
    plan: Plan, domains: Domains, memo: Memo, tick: int, ties: str, window: Window, start: int
) -> Context:
    """The context of a query, still without tables."""
    checked = plan.checked
    bounds = QueryWindow(tick, ties, start, window.edge, window.query, window.forgotten)
    if memo.encoding is None:
        memo.encoding = ValueEncoding(checked.types, checked.catalogue, domains)
    background = BackgroundTables(plan.knowledge, memo.encoding, memo)
    return Context(bounds, memo.encoding, background, plan.roles, plan.goals)
