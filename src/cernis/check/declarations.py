"""Directives, and the clauses that declare instead of define."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cernis.check.amounts import amount, is_length
from cernis.check.clause_parts import event_of, pair_of
from cernis.check.model import (
    DIALECTS,
    EDGES,
    Consumption,
    Definitions,
    Event,
    Grounding,
    InputShape,
    Pair,
    Preference,
    Relation,
    flatten,
)
from cernis.check.reporter import Report, did_you_mean
from cernis.check.rewrites.validity import validity_of
from cernis.syntax.printer import show
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Directive,
    Number,
    Sequence,
    Term,
    Text,
    Variable,
    functor,
)

CLAUSES = frozenset({
    ("event", 1), ("inputEntity", 1), ("outputEntity", 1), ("internalEntity", 1),
    ("simpleFluent", 1), ("sDFluent", 1), ("index", 2), ("cachingOrder", 1), ("cachingOrder2", 2),
    ("collectGrounds", 2), ("dgrounded", 2), ("needsGrounding", 3), ("temporalDistance", 1),
    ("collectIntervals", 1), ("collectIntervals2", 2), ("buildFromPoints", 1),
    ("buildFromPoints2", 2), ("points", 1), ("dynamicDomain", 1), ("print_trigger", 1),
    ("print_event", 1), ("external_trigger", 1), ("persistent_event", 1), ("persistent_rule", 1),
})  # fmt: skip
"""Heads that declare. Those about caching, indexing and printing mean nothing here."""

TYPES = ("integer", "float", "number", "text", "boolean")

_SHAPES = {
    "collectIntervals": InputShape.INTERVALS, "collectIntervals2": InputShape.INTERVALS,
    "buildFromPoints": InputShape.POINTS, "buildFromPoints2": InputShape.POINTS,
    "points": InputShape.POINTS,
}  # fmt: skip


def clause(clause: Clause, definitions: Definitions, report: Report) -> None:
    """Take in one declaring clause."""
    head = clause.head
    assert isinstance(head, Compound)
    # `buildFromPoints(_) :- fail.` is how rule files say that there is none.
    if clause.body == (Atom("fail"),) or clause.body == (Atom("false"),):
        return
    if head.functor == "collectGrounds":
        _collect_grounds(clause, head, definitions, report)
        return
    subject = head.args[-1] if head.functor.endswith("2") else head.args[0]
    if not isinstance(subject, (Compound, Atom)):
        return
    if head.functor in _SHAPES:
        _shape(subject, _SHAPES[head.functor], definitions, report)
    elif head.functor == "dynamicDomain":
        definitions.domains.append((flatten(subject)[0], clause.span))
    elif head.functor in ("event", "inputEntity"):
        _declare(subject, definitions, report, strictly=True)
    elif head.functor == "outputEntity":
        _output(subject, definitions)
    elif head.functor == "simpleFluent":
        pair = pair_of(subject, report, "this declaration")
        definitions.declared_values += [pair] if pair is not None else []


def _shape(subject: Term, shape: InputShape, definitions: Definitions, report: Report) -> None:
    pair = pair_of(subject, report, "this declaration")
    if pair is not None:
        definitions.shapes[pair.relation] = shape
        definitions.declared_fluents.setdefault(pair.relation, pair)


def _collect_grounds(
    clause: Clause, head: Compound, definitions: Definitions, report: Report
) -> None:
    """`collectGrounds([e(X, _), ...], d(X))`: the input named fills the domain."""
    listed, domain = head.args
    if not isinstance(domain, Compound):
        return
    definitions.domains.append((flatten(domain)[0], clause.span))
    for subject in listed.items if isinstance(listed, Sequence) else ():
        entity: Pair | Event | None
        if functor(subject) == ("=", 2):
            entity = pair_of(subject, report, "collectGrounds")
        else:
            entity = event_of(subject, report, "collectGrounds")
        if entity is not None:
            definitions.groundings.append(Grounding(entity, (domain,), clause.span))


def _declare(subject: Term, definitions: Definitions, report: Report, strictly: bool) -> None:
    if functor(subject) == ("=", 2):
        pair = pair_of(subject, report, "this declaration")
        if pair is not None:
            definitions.declared_fluents[pair.relation] = pair
            definitions.declared_strictly |= {"fluent"} if strictly else set()
        return
    event = event_of(subject, report, "this declaration")
    if event is not None and functor(subject) not in EDGES:
        definitions.declared_events[event.relation] = event
        definitions.declared_strictly |= {"event"} if strictly else set()


def _output(subject: Term, definitions: Definitions) -> None:
    fluent = subject.args[0] if functor(subject) == ("=", 2) else subject  # type: ignore[union-attr]
    definitions.outputs.add(flatten(fluent)[0])


# -- directives ------------------------------------------------------------------------------


def directive(item: Directive, definitions: Definitions, report: Report) -> None:
    """Take in one directive; an unknown one is reported and has no effect."""
    goal = item.goal
    name = functor(goal)
    handler = _DIRECTIVES.get(name)
    if handler is not None and isinstance(goal, Compound):
        handler(goal, definitions, report)
    elif name[0] not in _ACCEPTED | _READ_BEFORE:
        known = {known for known, _ in _DIRECTIVES} | _ACCEPTED | _READ_BEFORE
        known |= {"consult", "include"}
        report.warn(
            "C009", f"the directive {show(goal)} is not known and has no effect", goal.span,
            help=did_you_mean(name[0], known, "remove it; goals are not run while loading"),
        )  # fmt: skip


_ACCEPTED = frozenset({
    "discontiguous", "multifile", "use_module", "module", "set_prolog_flag", "style_check",
    "initialization", "table", "yap_flag", "op", "license", "encoding", "set_etalis_flag",
})  # fmt: skip
_READ_BEFORE = frozenset({"time"})
"""Directives that are read before all others: see `rewrites/time_literals.py`."""


def _event(goal: Compound, definitions: Definitions, report: Report) -> None:
    for subject in _listed(goal.args):
        _types(subject, report)
        _declare(subject, definitions, report, strictly=True)


def _fluent(goal: Compound, definitions: Definitions, report: Report) -> None:
    for subject in _listed(goal.args):
        pair = pair_of(subject, report, "this declaration")
        if pair is not None:
            _types(subject, report)
            definitions.declared_fluents[pair.relation] = pair
            definitions.declared_strictly.add("fluent")


def _listed(args: tuple[Term, ...]) -> tuple[Term, ...]:
    return args[0].items if len(args) == 1 and isinstance(args[0], Sequence) else args


def _types(subject: Term, report: Report) -> None:
    """Arguments of a declaration are types, named types or `_`."""
    event_or_pair: Term = subject
    values: tuple[Term, ...] = ()
    if functor(subject) == ("=", 2):
        assert isinstance(subject, Compound)
        event_or_pair, values = subject.args[0], subject.args[1:]
    for arg in flatten(event_or_pair)[1]:
        if isinstance(arg, Atom) or functor(arg) == (":", 2):
            declared_type(arg, report)
    for value in values:
        if functor(value) == (":", 2):
            declared_type(value, report)


def declared_type(arg: Term, report: Report | None = None) -> str | None:
    """The type an argument of a declaration gives; None if it gives none."""
    if functor(arg) == (":", 2):
        assert isinstance(arg, Compound)
        arg = arg.args[1]
    if not isinstance(arg, Atom):
        return None
    if arg.name in TYPES:
        return arg.name
    if report is not None:
        report.error(
            "C063", f"{arg.name} is no type", arg.span,
            help=did_you_mean(
                arg.name, TYPES,
                f"the types are {', '.join(TYPES)}; `_` is any; "
                f"an argument called {arg.name} is written `{arg.name}:text`, say",
            ),
        )  # fmt: skip
    return None


def _dynamic(goal: Compound, definitions: Definitions, report: Report) -> None:
    stack = list(goal.args)
    while stack:
        term = stack.pop()
        if isinstance(term, Compound) and term.functor == ",":
            stack.extend(term.args)
        elif isinstance(term, Sequence):
            stack.extend(term.items)
        else:
            relation = _indicated(term)
            if relation is not None:
                definitions.dynamic.add(relation)


def _indicated(term: Term) -> Relation | None:
    """The relation that `name/arity` indicates; None for anything else."""
    if isinstance(term, Compound) and functor(term) == ("/", 2):
        name, arity = term.args
        if isinstance(name, Atom) and isinstance(arity, Number) and isinstance(arity.value, int):
            return Relation(name.name, arity.value)
    return None


def _tick(goal: Compound, definitions: Definitions, report: Report) -> None:
    value = goal.args[0]
    said = value.value if isinstance(value, Number) else None
    if isinstance(said, int) and is_length(said, 1):
        definitions.settings = replace(definitions.settings, tick=said)
        return
    report.error("C064", f"a tick is a whole number above 0 and below 2**62, not {show(value)}",
                 value.span, help="write, say, :- tick(40).")  # fmt: skip


def _choice(options: tuple[str, ...], term: Term, report: Report) -> str | None:
    if isinstance(term, Atom) and term.name in options:
        return term.name
    report.error("C064", f"{show(term)} is not one of {', '.join(options)}", term.span,
                 help=did_you_mean(show(term), options, "choose one of these"))  # fmt: skip
    return None


def _ties(goal: Compound, definitions: Definitions, report: Report) -> None:
    choice = _choice(("break", "initiation"), goal.args[0], report)
    if choice:
        definitions.settings = replace(definitions.settings, ties=choice, ties_said=True)


def _exact(goal: Compound, definitions: Definitions, report: Report) -> None:
    """`:- exact(window).` or `:- exact(N).`"""
    (reach,) = goal.args
    points = 0 if reach == Atom("window") else None
    if isinstance(reach, Number) and isinstance(reach.value, int) and reach.value > 0:
        points = reach.value
    if points is None:
        report.error("C064", f"{show(reach)} is neither a number of points nor window", reach.span,
                     help="write :- exact(window). or, say, :- exact(60).")  # fmt: skip
        return
    definitions.settings = replace(definitions.settings, exact=points)


def _dialect(goal: Compound, definitions: Definitions, report: Report) -> None:
    choice = _choice(DIALECTS, goal.args[0], report)
    if choice:
        definitions.settings = replace(definitions.settings, dialect=choice)


def _memory(goal: Compound, definitions: Definitions, report: Report) -> None:
    """`:- memory(2h).`, a number of time units, or `inf`."""
    value = goal.args[0]
    if isinstance(value, Atom) and value.name == "inf":
        definitions.settings = replace(definitions.settings, memory=None)
        return
    said = amount(value)
    if said is not None and is_length(said) and said == int(said):
        definitions.settings = replace(definitions.settings, memory=int(said))
        return
    report.error("C064", f"a memory is a whole number from 0 to 2**62, or inf, not {show(value)}",
                 value.span, help="write, say, :- memory(2h).")  # fmt: skip


_POLICIES = ("unrestricted", "recent", "chronological")
_BY_LENGTH = ("longer", "shorter")
_BY_VALUE = ("greatest", "least")


def _consumption(goal: Compound, definitions: Definitions, report: Report) -> None:
    choice = _policy(goal.args[-1], report)
    if choice is None:
        return
    settings = definitions.settings
    if len(goal.args) == 1:
        definitions.settings = replace(settings, consumption=choice)
    else:
        of = (*settings.consumption_of, (show(goal.args[0]), choice))
        definitions.settings = replace(settings, consumption_of=of)


def _policy(term: Term, report: Report) -> Consumption | None:
    """`recent`, or with what it prefers: `recent(longer)`, `recent(greatest(Volume))`."""
    if not isinstance(term, Compound) or term.functor not in _POLICIES[1:] or len(term.args) != 1:
        policy = _choice(_POLICIES, term, report)
        return None if policy is None else Consumption(policy)
    (preferred,) = term.args
    if isinstance(preferred, Compound) and preferred.functor in _BY_VALUE:
        (variable, *more) = preferred.args
        if isinstance(variable, Variable) and variable.name != "_" and not more:
            preference = Preference(preferred.functor, variable.name, preferred.span)
            return Consumption(term.functor, preference)
        report.error("C064", f"{show(preferred)} names no variable of a pattern", preferred.span,
                     help="write the variable as the pattern has it: greatest(Volume)")  # fmt: skip
        return None
    if isinstance(preferred, Atom) and preferred.name in _BY_LENGTH:
        return Consumption(term.functor, Preference(preferred.name, span=preferred.span))
    report.error(
        "C064", f"{show(preferred)} is nothing to prefer matches by", preferred.span,
        help="choose longer, shorter, greatest(Variable) or least(Variable)",
    )  # fmt: skip
    return None


def _table(goal: Compound, definitions: Definitions, report: Report) -> None:
    """`:- table(areaType(Area, Type), 'areas.csv').`"""
    subject, file = goal.args
    if not isinstance(file, (Atom, Text)) or not isinstance(subject, (Compound, Atom)):
        report.error("C064", "a table is a predicate and a file", goal.span,
                     help="write :- table(areaType(Area, Type), 'areas.csv').")  # fmt: skip
        return
    name = file.name if isinstance(file, Atom) else file.value
    relation = _indicated(subject) or Relation(*functor(subject))
    definitions.tables.append((relation, name, file.span))


def _rdf(goal: Compound, definitions: Definitions, report: Report) -> None:
    """`:- rdf('stations.ttl').`"""
    (file,) = goal.args
    if not isinstance(file, (Atom, Text)):
        report.error("C064", "an ontology is a file", goal.span,
                     help="write :- rdf('stations.ttl').")  # fmt: skip
        return
    definitions.ontologies.append((file.name if isinstance(file, Atom) else file.value, file.span))


def _valid(goal: Compound, definitions: Definitions, report: Report) -> None:
    """`:- valid(price(Item, Price, From), From, by(Item)).`"""
    validity = validity_of(goal)
    if isinstance(validity, str):
        report.error(
            "C064", validity, goal.span,
            help="write, say, :- valid(price(X, P, From, Until), From, Until).",
        )  # fmt: skip
    else:
        definitions.validities.append(validity)


_Handler = Callable[[Compound, Definitions, Report], None]

_DIRECTIVES: dict[tuple[str, int], _Handler] = {
    ("event", 1): _event,
    ("fluent", 1): _fluent,
    ("dynamic", 1): _dynamic,
    ("tick", 1): _tick,
    ("dialect", 1): _dialect,
    ("ties", 1): _ties,
    ("exact", 1): _exact,
    ("memory", 1): _memory,
    ("consumption", 1): _consumption,
    ("consumption", 2): _consumption,
    ("table", 2): _table,
    ("rdf", 1): _rdf,
    ("valid", 2): _valid,
    ("valid", 3): _valid,
}
