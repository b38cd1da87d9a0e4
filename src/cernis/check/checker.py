"""The passes over a program, in order, and what they give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cernis.check.catalogue import Catalogue, catalogue
from cernis.check.dependencies import Dependencies, dependencies
from cernis.check.dialect import read_in_dialect
from cernis.check.functions import check_functions
from cernis.check.goal_checks import Modes, Needs, infer_modes
from cernis.check.likely_slips import check_slips, read_words_as_signs
from cernis.check.loading.fact_columns import fit_tables
from cernis.check.loading.function_calls import call_functions
from cernis.check.lower import Lowered, lower
from cernis.check.match_lengths import check_lengths
from cernis.check.model import (
    Collect,
    Condition,
    Definitions,
    Either,
    EventRule,
    Literal,
    Relation,
    Unless,
    goals_of,
)
from cernis.check.names import check_names
from cernis.check.pattern_checks import check_pattern_atoms, check_patterns, note_policy
from cernis.check.pointrules import speaks_of_time
from cernis.check.predicates import check_predicates
from cernis.check.reporter import Report, did_you_mean
from cernis.check.rewrites.constant_layers import split_by_constants
from cernis.check.rewrites.free_variables import mark_free_variables
from cernis.check.rewrites.grounded_heads import bind_by_grounding
from cernis.check.rewrites.lifting import lift_terms
from cernis.check.rewrites.match_conditions import write_out_conditions
from cernis.check.rewrites.mixed_kinds import split_kinds
from cernis.check.rewrites.pattern_recursion import extend_strictly
from cernis.check.rewrites.phrase_rules import expand_phrases
from cernis.check.rewrites.place_predicates import IN_BOX, predicates_of_places
from cernis.check.rewrites.sliding_conditions import is_sliding, sliding
from cernis.check.rewrites.terminations import settle_terminations
from cernis.check.rewrites.time_literals import AS_DIRECTED, ChosenTime, read_times
from cernis.check.rewrites.validity import look_up_in_time, valid_tables
from cernis.check.safety import check_clauses, check_safety, check_singletons
from cernis.check.types import FactColumn, Types, infer_types
from cernis.check.value_forms import INFINITE, ValueForm
from cernis.errors import CernisError, Diagnostic
from cernis.knowledge.fact_tables import ColumnType, FactTable, TableColumn, table_of_facts
from cernis.knowledge.ground_values import Value
from cernis.knowledge.rdf import Triple, rdf_tables, read_rdf
from cernis.knowledge.table_files import read_table
from cernis.knowledge.user_functions import UserFunction
from cernis.source import Sources, Span
from cernis.syntax.parser import Parsed
from cernis.syntax.tree import (
    Absence,
    Binary,
    Clause,
    Compound,
    Pattern,
    PatternRule,
    Term,
    Where,
    Within,
    functor,
    variables,
)

Clauses = Mapping[Relation, list[Clause]]


@dataclass(frozen=True, slots=True)
class Checked:
    """A program as understood, and everything there is to say about it.

    With errors among the diagnostics the other parts are as complete as they could be made.
    """

    definitions: Definitions
    catalogue: Catalogue
    clauses: Clauses
    tables: Mapping[Relation, FactTable]
    modes: Modes
    types: Types
    dependencies: Dependencies
    diagnostics: tuple[Diagnostic, ...]
    sources: Sources
    functions: tuple[UserFunction, ...] = ()
    """The functions that the caller gave, for conditions to compute with."""

    @property
    def has_errors(self) -> bool:
        """Does anything keep the program from running?"""
        return any(diagnostic.is_error for diagnostic in self.diagnostics)


def check(
    parsed: Parsed, given_tables: Mapping[Relation, FactTable] | None = None,
    dialect: str | None = None, usual: str = "cernis", facts_follow: bool = False,
    chosen_time: ChosenTime = AS_DIRECTED, functions: Sequence[UserFunction] = (),
) -> Checked:  # fmt: skip
    """Check a program. `given_tables` are tables from outside the text that serve as predicates.

    The dialect decides how the text is read; without one a directive does, and else the `usual`.
    Where facts follow later, predicates that only they can define are noted, and no errors. What is
    chosen of its time goes before what directives say.
    """
    report = Report(list(parsed.diagnostics))
    read = read_words_as_signs(parsed.items, parsed.sources, report)
    read = call_functions(read, functions, report)
    timed, scale = read_times(read, chosen_time, report, parsed.sources)
    expanded = expand_phrases(timed, report)
    items = write_out_conditions(expanded.items)
    lowered = lower(look_up_in_time(items, report), report)
    definitions = lowered.definitions
    definitions.auxiliary |= expanded.auxiliary
    definitions.settings = replace(definitions.settings, time=scale)
    read_in_dialect(definitions, dialect or definitions.settings.dialect or usual, report)
    split_kinds(definitions, report)
    mark_free_variables(definitions)
    check_pattern_atoms(definitions, report)
    lift_terms(definitions)
    clauses = _by_relation(lowered, report)
    goals = [
        *_roots(definitions),
        *(goal for defining in clauses.values() for c in defining for goal in c.body),
    ]
    given_tables = fit_tables(given_tables or {}, goals, definitions.validities, report)
    tables = {
        **_declared_tables(definitions, parsed.sources, report),
        **_ontologies(definitions, parsed.sources, report, given_tables),
    }
    tables |= valid_tables(definitions.validities, clauses, tables, report, scale)
    clauses |= predicates_of_places(goals, {*clauses, *tables, *definitions.dynamic})
    nothing: Needs = frozenset()
    modes = {**dict.fromkeys(tables, nothing), **infer_modes(clauses)}
    bind_by_grounding(definitions, modes, report)
    settle_terminations(definitions, modes)
    entries, graph = _dependencies(definitions, report)

    check_names(entries, definitions, report)
    known = {*tables, *definitions.dynamic, *(relation for relation, _ in definitions.domains)}
    quiet = {r for r, defining in clauses.items() if defining[0].span[0] >= parsed.facts_begin}
    quiet |= {IN_BOX, *(validity.facts for validity in definitions.validities)}
    reached = check_predicates(_roots(definitions), clauses, known, report, quiet, facts_follow)
    check_functions(_roots(definitions), report.error)
    for relation, defining in clauses.items():
        say = report.error if relation in reached else report.warn
        check_functions((goal for clause in defining for goal in clause.body), say)
    check_safety(definitions, modes, report)
    check_clauses([c for defining in clauses.values() for c in defining], modes, reached, report)
    check_singletons(parsed.items, report)
    if definitions.settings.dialect != "rtec":
        check_slips(parsed.items, report)
    check_patterns(definitions, report)
    note_policy(parsed.items, parsed.sources, report)
    check_lengths(definitions, report)
    extend_strictly(definitions, graph)
    columns = _fact_columns(clauses, tables, definitions.dynamic)
    types = infer_types(definitions, clauses, columns, report)
    return Checked(
        definitions, entries, clauses, tables, modes, types, graph, report.sorted(), parsed.sources,
        tuple(functions),
    )  # fmt: skip


def with_events(
    checked: Checked, events: Sequence[EventRule], patterns: Sequence[PatternRule]
) -> Checked:
    """A program without errors with rules for further events, of which its own rules know nothing.

    The rules are as they would be after the passes: their heads and literals have variables and
    constants as arguments.
    """
    definitions = replace(
        checked.definitions, events=[*checked.definitions.events, *events],
        patterns=[*checked.definitions.patterns, *patterns],
    )  # fmt: skip
    return checked_again(definitions, checked, checked.clauses, checked.tables)


def checked_again(
    definitions: Definitions, like: Checked, clauses: Clauses, tables: Mapping[Relation, FactTable]
) -> Checked:
    """What follows from definitions that were checked before, and are put together in a new way.

    The rest is as in a program that is `like` the one they make.
    """
    entries = catalogue(definitions)
    graph = dependencies(definitions, entries, Report())
    nothing: Needs = frozenset()
    modes = {**dict.fromkeys(tables, nothing), **infer_modes(clauses)}
    columns = _fact_columns(clauses, tables, definitions.dynamic)
    types = infer_types(definitions, clauses, columns, Report())
    return replace(
        like, definitions=definitions, catalogue=entries, clauses=clauses, tables=tables,
        modes=modes, types=types, dependencies=graph,
    )  # fmt: skip


def _dependencies(definitions: Definitions, report: Report) -> tuple[Catalogue, Dependencies]:
    """What depends on what; where names alone make a cycle, constants may tell parts apart."""
    entries, attempt = catalogue(definitions), Report()
    graph = dependencies(definitions, entries, attempt)
    if attempt.has_errors and split_by_constants(definitions):
        entries, attempt = catalogue(definitions), Report()
        graph = dependencies(definitions, entries, attempt)
    report.diagnostics += attempt.diagnostics
    return entries, graph


def _by_relation(lowered: Lowered, report: Report) -> dict[Relation, list[Clause]]:
    clauses: dict[Relation, list[Clause]] = defaultdict(list)
    for clause in lowered.background:
        if any(map(speaks_of_time, clause.body)):
            report.error(
                "C060", "a predicate cannot speak of events and fluents", clause.head.span,
                help=did_you_mean(
                    functor(clause.head)[0], HEADS, "define a fluent by holdsFor or initiatedAt, "
                    "or an event by happensAt, and use that",
                ),
            )  # fmt: skip
            continue
        clauses[Relation(*functor(clause.head))].append(clause)
    return dict(clauses)


def _declared_tables(
    definitions: Definitions, sources: Sources, report: Report
) -> dict[Relation, FactTable]:
    """Tables that directives name, found beside the file that names them."""
    tables: dict[Relation, FactTable] = {}
    for relation, name, span in definitions.tables:
        path = _beside(name, span, sources)
        try:
            table = read_table(path, relation.name, scale=definitions.settings.time)
        except (CernisError, OSError, ValueError) as error:
            # The last two are about names no file can have.
            report.error("C007", str(error), span, help="check the name and the file")
            continue
        if len(table.columns) != relation.arity:
            report.error(
                "C023", f"{path.name} has {len(table.columns)} columns, and {relation} "
                f"{relation.arity} arguments", span, help="name as many arguments as columns",
            )  # fmt: skip
            continue
        tables[relation] = table
    return tables


def _ontologies(
    definitions: Definitions,
    sources: Sources,
    report: Report,
    given_tables: Mapping[Relation, FactTable],
) -> dict[Relation, FactTable]:
    """Tables from outside, and the triples of the RDF files that directives name among them."""
    if not definitions.ontologies:
        return dict(given_tables)
    triples: set[Triple] = set()
    for name, span in definitions.ontologies:
        try:
            triples |= read_rdf(_beside(name, span, sources))
        except CernisError as error:
            report.error("C007", str(error), span, help="check the name and the file")
    if TRIPLE in given_tables:
        triples.update(given_tables[TRIPLE].rows())  # type: ignore[arg-type]
    return {**given_tables, **{Relation(*key): table for key, table in rdf_tables(triples).items()}}


TRIPLE = Relation("triple", 3)

HEADS = ("initiatedAt", "terminatedAt", "happensAt", "holdsFor", "initially")
"""What the head of a rule over time may be."""


def _beside(name: str, span: Span, sources: Sources) -> Path:
    source = sources.source_at(span[0])
    return (Path(source.name).parent if source else Path()) / name


def _roots(definitions: Definitions) -> list[Term]:
    """The goals that rules over time and declarations call."""
    goals: list[Term] = []
    for change in definitions.changes:
        goals.extend(_conditions(change.body))
    for event in definitions.events:
        goals.extend(_conditions(event.body))
    for static in definitions.statics:
        goals.extend(goal for literal in static.body for goal in goals_of(literal))
    others = [initial.goals for initial in definitions.initials]
    others += [effect.goals for effect in definitions.effects]
    others += [postponable.goals for postponable in definitions.postponables]
    others += [grounding.goals for grounding in definitions.groundings]
    goals.extend(goal for group in others for goal in group)
    for pattern in definitions.patterns:
        goals.extend(_where(pattern.pattern))
    return goals


def _conditions(body: Iterable[Literal]) -> Iterable[Term]:
    for literal in body:
        if isinstance(literal, Condition):
            yield literal.goal
        elif isinstance(literal, Either):
            for branch in literal.branches:
                yield from _conditions(branch)
        elif isinstance(literal, (Unless, Collect)):
            yield from _conditions(literal.body)


def _where(pattern: Pattern) -> Iterable[Term]:
    if isinstance(pattern, (Where, Within)):
        if isinstance(pattern, Where):
            goals = [goal for goal in pattern.conditions if not speaks_of_time(goal)]
            yield from goals
            for aggregate in filter(None, map(sliding, filter(is_sliding, goals))):
                if aggregate.fold:
                    yield Compound(aggregate.fold, (aggregate.result,) * 3, aggregate.span)
        yield from _where(pattern.pattern)
    elif isinstance(pattern, Binary):
        yield from _where(pattern.left)
        yield from _where(pattern.right)
    elif isinstance(pattern, Absence):
        for part in (pattern.absent, pattern.first, pattern.last):
            yield from _where(part)


def _fact_columns(
    clauses: Clauses, tables: Mapping[Relation, FactTable], dynamic: set[Relation]
) -> dict[Relation, tuple[FactColumn, ...]]:
    """The columns of the predicates that are nothing but ground facts."""
    columns = {relation: _columns_of(table) for relation, table in tables.items()}
    for relation, defining in clauses.items():
        if relation.arity and all(not c.body and not _is_open(c) for c in defining):
            table = table_of_facts((relation.name, relation.arity), defining)
            columns[relation] = _columns_of(table)
    return columns


def _is_open(clause: Clause) -> bool:
    return next(variables(clause.head), None) is not None


def _columns_of(table: FactTable) -> tuple[FactColumn, ...]:
    return tuple(FactColumn(_type_of(column), _form_of(column.values)) for column in table.columns)


def _type_of(column: TableColumn) -> str:
    """The type of a column of facts; infinite numbers, which are texts, alone are numbers."""
    is_text = column.type is ColumnType.TEXT
    return "number" if is_text and set(column.values) <= INFINITE else str(column.type)


def _form_of(values: Sequence[Value]) -> ValueForm:
    forms = ValueForm.NOTHING
    for kind in set(map(type, values)):
        forms |= {int: ValueForm.INTEGER, float: ValueForm.FLOAT}.get(kind, ValueForm.OTHER)
    return forms
