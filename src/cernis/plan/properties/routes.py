"""Routes: which bucket of which step each relation goes to, from the rules alone.

The planner's stages say which strata share a partition key. A *step* is a stage with the exchange
before it. What a stage reads comes to it in one of five ways:

- `KEYED`: each row goes to the bucket of its key;
- `DEMANDED`: a row carries part of the key only; it goes to those buckets where another input, the
  *driver*, has rows with the rest of the key;
- `EVERYWHERE`: each row goes to every bucket, where nothing says who needs it;
- `LINKED`: the stage has links in place of a key, and each row goes to the buckets of the
  components that its entities belong to;
- `ONE`: the stage has neither, and all rows go to bucket 0.

A relation of the input has a *home*, the first step that sees its records, where retractions are
matched and each record is accounted for exactly once. Where only part of a key is carried, the
home is the step before, and rows go on from there to those who ask for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from cernis.check.model import Relation, Rule
from cernis.plan.builder import Plan
from cernis.plan.entity_links import Linker, Links
from cernis.plan.stages import StageDraft, find_stages, shapes
from cernis.plan.uses import head_of, indispensable, uses_of
from cernis.syntax.tree import PatternRule, Term

Positions = tuple[int, ...]


class Way(StrEnum):
    """How rows of a relation reach a stage."""

    KEYED = "keyed"
    DEMANDED = "demanded"
    EVERYWHERE = "everywhere"
    LINKED = "linked"
    ONE = "one partition"


@dataclass(frozen=True, slots=True)
class Demand:
    """Values that some bucket of a step asks for: a class of such questions.

    Relations at the step `home` whose rows are spread by the values at `hashed` (places within the
    values asked for) can answer it.
    """

    home: int
    step: int
    width: int
    hashed: Positions
    kinds: Positions = ()
    """At a step with links: of which kind the entity at `hashed` is."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A driver's rows make a demand: the values at `positions`, for the bucket of its key."""

    demand: Demand
    driver: Relation
    key: Positions
    positions: Positions


@dataclass(frozen=True, slots=True)
class Delivery:
    """How one relation reaches one step: by the values at one or several choices of positions."""

    step: int
    way: Way
    links: tuple[Positions, ...] = ()
    demands: tuple[tuple[Demand, Positions], ...] = ()
    kinds: Positions = ()
    """At a step with links: of which kind the entity at each of `links` is."""


@dataclass(slots=True)
class Routes:
    """All routes of a plan. Steps are counted from 0; step n is stage n of the plan, 0 is none."""

    steps: tuple[int, ...] = ()
    """The steps there are, in order."""
    owned: dict[int, dict[Relation, Positions | None]] = field(default_factory=dict)
    """By step: the relations it defines, and their keys; None where there is no key."""
    reads: dict[int, frozenset[Relation]] = field(default_factory=dict)
    """By step: the relations that its rules look at and that it does not define."""
    homes: dict[Relation, Delivery] = field(default_factory=dict)
    """Input relations: where they go first."""
    onward: dict[Relation, tuple[Delivery, ...]] = field(default_factory=dict)
    """Where the rows of a relation go on to, from its home or from where it is defined."""
    asks: tuple[Ask, ...] = ()
    """What the rows of drivers make of demand."""
    linked: dict[int, Links] = field(default_factory=dict)
    """The steps that are spread by components of linked entities."""

    def home(self, relation: Relation) -> Delivery:
        """Where the records of an input relation go first; one no rule asks for goes anywhere."""
        everything = tuple(range(relation.arity))
        anywhere = Delivery(self.steps[0] if self.steps else 1, Way.KEYED, (everything,))
        return self.homes.get(relation, anywhere)

    def is_in_charge(self, step: int, bucket: int) -> bool:
        """Does a bucket evaluate a step? One without a key is evaluated in the first alone."""
        return bucket == 0 or any(key is not None for key in self.owned[step].values())

    def sent_from(self, relation: Relation) -> Positions | None:
        """The positions by which a relation is spread where it goes on from; None: not by any."""
        home = self.homes.get(relation)
        if home is not None:
            return home.links[0] if home.way in (Way.KEYED, Way.LINKED) else None
        return next(
            (positions[relation] for positions in self.owned.values() if relation in positions),
            None,
        )

    def kinds(self, step: int, relation: Relation, link: Positions) -> Positions:
        """Of which kinds the entities of a relation are, at a step with links; else nothing."""
        links = self.linked.get(step)
        return () if links is None else tuple(links.kinds[relation, position] for position in link)


def find_routes(plan: Plan, by_links: bool = True) -> Routes:
    """The routes of a plan.

    Components of linked entities are known when all of the input is. Where it is not, `by_links` is
    False, what has no key goes to one bucket, and what patterns need goes wherever they may ask.
    """
    checked = plan.checked
    drafts, _ = find_stages(
        checked.dependencies.components, list(shapes(checked.definitions)), Linker(checked)
    )
    if plan.is_in_one_stage:
        components = [component for draft in drafts for component in draft.components]
        drafts = [StageDraft((), components=components)]
    elif not by_links:
        drafts = [replace(draft, links=None) for draft in drafts]
    return _Search(plan, drafts, all_known=by_links).routes()


@dataclass(frozen=True, slots=True)
class _Use:
    """A literal of a rule: its relation, and which component of the key stands at which place."""

    relation: Relation
    carried: tuple[tuple[int, int], ...]
    drivers: tuple[tuple[Relation, Positions], ...]

    @property
    def positions(self) -> Positions:
        return tuple(position for _, position in self.carried)

    @property
    def components(self) -> Positions:
        return tuple(component for component, _ in self.carried)


class _Search:
    """Finds the routes, stage by stage."""

    def __init__(self, plan: Plan, drafts: list[StageDraft], all_known: bool) -> None:
        definitions = plan.checked.definitions
        self._drafts = drafts
        self._all_known = all_known
        self._rules: list[Rule | PatternRule] = [
            *definitions.changes, *definitions.events, *definitions.statics, *definitions.patterns,
        ]  # fmt: skip
        self._stage_of = {
            vertex.relation: number
            for number, draft in enumerate(drafts, 1)
            for component in draft.components
            for vertex in component.vertices
        }
        self._first_stage_of: dict[Relation, int] = {}
        for number, draft in enumerate(drafts, 1):
            for relation in draft.relations:
                self._first_stage_of.setdefault(relation, number)
        self._routes = Routes(
            linked={n: d.links for n, d in enumerate(drafts, 1) if d.links is not None}
        )
        self._uses = {number: list(self._uses_of(number)) for number in range(1, len(drafts) + 1)}

    def routes(self) -> Routes:
        """All routes."""
        self._own()
        self._routes.reads = {
            number: frozenset(use.relation for use in uses) for number, uses in self._uses.items()
        }
        self._homes()
        self._onward()
        routes = self._routes
        parked = any(home.step == 0 for home in routes.homes.values())
        routes.steps = (*((0,) if parked else ()), *range(1, len(self._drafts) + 1))
        return routes

    def _own(self) -> None:
        for number, draft in enumerate(self._drafts, 1):
            self._routes.owned[number] = {
                relation: self._key_of(relation, draft) for relation in sorted(draft.relations)
            }

    def _key_of(self, relation: Relation, draft: StageDraft) -> Positions | None:
        if draft.links is not None:
            # All entities of a row are in one component: the first will do.
            return draft.links.positions[relation][:1]
        return draft.keys.get(relation, ()) if draft.key else None

    # -- what each stage reads --------------------------------------------------------------

    def _uses_of(self, number: int) -> Iterator[_Use]:
        """The literals about what comes from elsewhere.

        Stages go by values: a literal about a relation that only later stages define asks for a
        value that it never has.
        """
        draft = self._drafts[number - 1]
        for rule in self._rules:
            head, head_args = head_of(rule)
            if self._stage_of.get(head) != number:
                continue
            wanted = [head_args[position] for position in draft.keys[head]] if draft.key else []
            drivers = tuple(self._drivers(rule, wanted)) if draft.key else ()
            for relation, args in uses_of(rule):
                if self._stage_of.get(relation) == number or self._is_later(relation, number):
                    continue
                carried = tuple(
                    (component, args.index(term))
                    for component, term in enumerate(wanted)
                    if term in args
                )
                yield _Use(relation, carried, drivers)

    def _is_later(self, relation: Relation, number: int) -> bool:
        return self._first_stage_of.get(relation, 0) > number

    def _drivers(
        self, rule: Rule | PatternRule, wanted: list[Term]
    ) -> Iterator[tuple[Relation, Positions]]:
        """Inputs that an instance of the head cannot do without, and that carry all of its key.

        A pattern may need what had passed before such a record came; as long as more may come, none
        can ask for it in time.
        """
        if isinstance(rule, PatternRule) and not self._all_known:
            return
        for relation, args in indispensable(rule):
            if relation not in self._stage_of and all(term in args for term in wanted):
                yield relation, tuple(args.index(term) for term in wanted)

    def _ways(self, number: int) -> dict[Relation, list[_Use]]:
        by_relation: dict[Relation, list[_Use]] = {}
        for use in self._uses[number]:
            uses = by_relation.setdefault(use.relation, [])
            if use not in uses:
                uses.append(use)
        return by_relation

    # -- homes ------------------------------------------------------------------------------

    def _homes(self) -> None:
        for number in self._uses:
            for relation, uses in self._ways(number).items():
                if relation not in self._stage_of and relation not in self._routes.homes:
                    self._routes.homes[relation] = self._home(number, uses)

    def _home(self, number: int, uses: list[_Use]) -> Delivery:
        width = len(self._drafts[number - 1].key)
        if not width:
            return self._without_key(number, uses[0].relation)
        links = {use.positions for use in uses}
        if len(links) == 1 and all(len(use.carried) == width for use in uses):
            return Delivery(number, Way.KEYED, tuple(links))
        partial = [use.positions for use in uses if len(use.carried) < width]
        if partial and all(use.drivers for use in uses if len(use.carried) < width):
            return Delivery(number - 1, Way.KEYED, (min(partial, key=len),))
        return Delivery(number, Way.EVERYWHERE)

    def _without_key(self, number: int, relation: Relation) -> Delivery:
        links = self._routes.linked.get(number)
        if links is None:
            return Delivery(number, Way.ONE)
        positions = links.positions[relation]
        kinds = self._routes.kinds(number, relation, positions)
        return Delivery(
            number, Way.LINKED, tuple((position,) for position in positions), kinds=kinds
        )

    # -- from there on ----------------------------------------------------------------------

    def _onward(self) -> None:
        onward: dict[Relation, list[Delivery]] = {}
        asks: dict[Ask, None] = {}
        for number in self._uses:
            for relation, uses in self._ways(number).items():
                home = self._routes.homes.get(relation)
                if home is None or home.step < number:
                    delivery = self._delivery(number, relation, uses, asks)
                    onward.setdefault(relation, []).append(delivery)
        self._routes.onward = {relation: tuple(steps) for relation, steps in onward.items()}
        self._routes.asks = tuple(asks)

    def _delivery(
        self, number: int, relation: Relation, uses: list[_Use], asks: dict[Ask, None]
    ) -> Delivery:
        width = len(self._drafts[number - 1].key)
        if not width:
            return self._without_key(number, relation)
        links: dict[Positions, None] = {}
        demands: dict[tuple[Demand, Positions], None] = {}
        for use in uses:
            if len(use.carried) == width:
                links[use.positions] = None
                continue
            new_asks = list(self._asked(number, relation, use))
            if not new_asks:
                return Delivery(number, Way.EVERYWHERE)
            for ask in new_asks:
                asks[ask] = None
                demands[ask.demand, use.positions] = None
        way = Way.DEMANDED if demands else Way.KEYED
        return Delivery(number, way, tuple(links), tuple(demands))

    def _asked(self, number: int, relation: Relation, use: _Use) -> Iterator[Ask]:
        """How drivers ask for the rows of a use; nothing if they cannot."""
        spread = self._routes.sent_from(relation)
        home = self._routes.homes.get(relation)
        step = home.step if home is not None else self._stage_of[relation]
        if not spread or not set(spread) <= set(use.positions):
            return
        hashed = tuple(use.positions.index(position) for position in spread)
        kinds = self._routes.kinds(step, relation, spread) if home is None else home.kinds[:1]
        demand = Demand(step, number, len(use.carried), hashed, kinds)
        for driver, key in use.drivers:
            yield Ask(demand, driver, key, tuple(key[component] for component in use.components))
