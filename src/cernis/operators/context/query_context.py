"""The context of a query: what operators read and write while a query is evaluated.

Each part of it has one role. A function that needs one part is given that part.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cernis.operators.context.background_tables import BackgroundTables
from cernis.operators.context.measuring import Measuring
from cernis.operators.context.query_caches import QueryCaches
from cernis.operators.context.query_relations import QueryRelations
from cernis.operators.context.query_window import QueryWindow
from cernis.operators.context.restriction import Restriction
from cernis.operators.context.value_encoding import ValueEncoding
from cernis.plan.goal_plans import GoalPlans
from cernis.plan.properties.relation_roles import Roles


@dataclass(slots=True)
class Context:
    """One query: what it is about, what is known so far, and how values are encoded."""

    window: QueryWindow
    """Which points are evaluated; it stays as it is."""
    encoding: ValueEncoding
    """The domains of arguments and values."""
    background: BackgroundTables
    """The tables of predicates."""
    roles: Roles
    """What the rules of the program do with its relations."""
    goals: GoalPlans
    """How the goals of groundings and effects are answered."""
    relations: QueryRelations = field(default_factory=QueryRelations)
    """Events and fluents, which strata add to."""
    caches: QueryCaches = field(default_factory=QueryCaches)
    """Results that rules share."""
    restriction: Restriction = field(default_factory=Restriction)
    """To which rows evaluation is restricted."""
    measuring: Measuring = field(default_factory=Measuring)
    """What is measured, if anything."""
