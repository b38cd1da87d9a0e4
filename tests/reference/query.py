"""One query: brings a state up to a query time, component by component."""

from __future__ import annotations

from .clipped import Clipped
from .conditions import time_predicates
from .context import Context
from .domain import Domain
from .intervals import union_all
from .memory import Memory, Window
from .order import components
from .overtime import evaluate_component
from .program import Program
from .solve import Solver
from .state import State
from .static import evaluate_static, interval_predicates


def run_query(
    program: Program,
    memory: Memory,
    state: State,
    window: Window,
    edge: int,
    start: int,
    from_start: bool,
) -> None:
    """Evaluate all points behind the edge anew; what is settled up to it stands.

    `start` is the start of the run, and `from_start` says that the window begins there.
    """
    domain = Domain(program, memory.told)
    context = Context(
        program, memory, state, window, edge, start, from_start, domain, set(memory.at_query)
    )
    predicates = {
        **time_predicates(context),
        **interval_predicates(context),
        ("grounding", 1): domain.allowed,
    }
    context.solver = Solver([*program.background, *domain.facts], predicates)
    state.cut_back(edge, program.tick)
    for pair, intervals in memory.fluents.items():
        state.given[pair] = union_all([state.given.get(pair, []), intervals])
    if window.forgotten > edge:
        context.clipped = Clipped(window.forgotten, program.tick, dict(state.static))
    for component in components(program):
        if component[0].kind == "holdsFor":
            evaluate_static(context, component[0])
        else:
            evaluate_component(context, component)
    _refuse(context)


def _refuse(context: Context) -> None:
    """Note the initiations that the window sees, and that grounding does not allow."""
    state = context.state
    state.refused = {each for each in state.refused if each[0] <= context.edge}
    for point, pairs in state.initiated.items():
        if point > context.edge or context.from_start:
            refused = (pair for pair in pairs if not context.domain.allows(pair))
            state.refused |= {(point, pair) for pair in refused}
