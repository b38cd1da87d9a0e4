"""Where the relations of a program are kept: the keys of its stages, and empty stores."""

from __future__ import annotations

from cernis.check.model import FluentKind, Relation
from cernis.evaluate.changes.stores import Store
from cernis.evaluate.windows import Window
from cernis.evaluate.working_memory import Memory
from cernis.operators.definitions.rule_heads import slot_domains
from cernis.operators.query_context import Context, Memo
from cernis.plan.builder import Plan
from cernis.plan.key_reads import Home
from cernis.plan.open_heads import marked_event
from cernis.tables.domains import Domain, Domains
from cernis.tables.registers import Register


class Spaces:
    """Where a program's relations are kept: by the keys of its stages."""

    def __init__(self, plan: Plan, context: Context, has_marks: bool = False) -> None:
        self.plan = plan
        self.context = context
        self.links, self.homes = plan.links, plan.homes
        self.marking = self._marking() if has_marks else {}
        self.registers = [self._register(dict(stage.keys), len(stage.key)) for stage in plan.stages]

    def _marking(self) -> dict[Relation, list[Relation]]:
        """For each event, the fluents whose rules mark its happenings."""
        found: dict[Relation, list[Relation]] = {}
        apart = self.plan.roles.watched, self.plan.roles.counted
        if self.context.ties != "break":
            return found
        for stage in self.plan.stages:
            for stratum in stage.strata:
                for own in stratum.definitions:
                    event = marked_event(own) if own.kind == FluentKind.SIMPLE else None
                    is_apart = own.relation in apart[0] or stratum.immediate
                    if event is not None and event[0] not in apart[1] and not is_apart:
                        found.setdefault(event[0], []).append(own.relation)
        return found

    def _register(self, keys: dict[Relation, tuple[int, ...]], width: int) -> Register:
        if not width:
            return Register([])
        relation, positions = next(iter(keys.items()))
        domains = self.argument_domains(relation)
        return Register([domains[at] for at in positions])

    @property
    def are_coded(self) -> bool:
        """Are all keys made of codes, and not of numeric values?"""
        return all(None not in register.domains for register in self.registers)

    def argument_domains(self, relation: Relation) -> list[Domain | None]:
        """The encodings of a relation's arguments."""
        kind = "fluent" if relation in self.context.catalogue.fluents else "event"
        return [self.context.domain(kind, relation, at) for at in range(relation.arity)]

    def encoding(self, relation: Relation) -> tuple[list[Domain | None], Domain | None]:
        """The encodings of a relation's arguments and of its value."""
        if relation in self.context.catalogue.fluents:
            return slot_domains(relation, self.context)
        return self.argument_domains(relation), None

    def of(self, relation: Relation) -> tuple[Register, tuple[int, ...]]:
        """The register of a relation's key, and the arguments that are the key."""
        home = self.homes.get(relation, Home(None, ()))
        domains = self.argument_domains(relation)
        if home.stage is not None and None not in self.registers[home.stage].domains:
            return self.registers[home.stage], home.positions
        positions = tuple(at for at in home.positions or range(1) if at < len(domains)
                          and domains[at] is not None)  # fmt: skip
        return Register([domains[at] for at in positions]), positions

    def events(self, relation: Relation, width: int = 1) -> Store:
        """An empty store of happenings, or of other points."""
        register, positions = self.of(relation)
        domains = self.argument_domains(relation)
        marked = -(-len(self.marking.get(relation, ())) // 8) if width == 1 else 0
        return Store(relation, register, positions, domains, width, marked=marked)

    def fluent(self, relation: Relation, width: int = 3) -> Store:
        """An empty store of intervals."""
        register, positions = self.of(relation)
        domains, value_domain = slot_domains(relation, self.context)
        return Store(relation, register, positions, domains, width, value_domain, True)

    def memory(self, has_chances: bool = False) -> Memory:
        """An empty working memory for the program's input, whose records may be uncertain."""
        catalogue = self.context.catalogue
        more = int(has_chances)
        stores = {
            relation: self.events(relation, 1 + more)
            for relation, event in catalogue.events.items() if event.is_input
        }  # fmt: skip
        stores |= {
            relation: self.fluent(relation, 4 + more)
            for relation, fluent in catalogue.fluents.items() if fluent.kind is FluentKind.INPUT
        }  # fmt: skip
        return Memory(stores, self.context.tick, has_chances)


def context_of(
    plan: Plan, domains: Domains, memo: Memo, tick: int, ties: str, window: Window, start: int
) -> Context:
    """The context of a query, without any tables yet."""
    checked = plan.checked
    context = Context(
        plan.knowledge, checked.modes, checked.types, checked.catalogue, domains, tick, ties,
        start, window.edge, window.query, window.forgotten,
    )  # fmt: skip
    context.memo, context.derived = memo, plan.derived
    context.sources = checked.sources
    return context
