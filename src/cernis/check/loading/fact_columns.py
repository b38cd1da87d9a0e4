"""Which columns of a table of facts are the arguments of a predicate that rules call.

Columns are known by their names, if rules call every argument by one name and the table has a
column of each; upper and lower case and what joins words make no difference. Columns that are left
are not used. Otherwise the order of the columns counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cernis.check.catalogue import agreed_names
from cernis.check.goal_checks import calls
from cernis.check.model import Relation, Validity
from cernis.check.reporter import Report
from cernis.knowledge.fact_tables import FactTable, fact_table
from cernis.source import NOWHERE
from cernis.syntax.tree import Compound, Term, functor


def fit_tables(
    tables: Mapping[Relation, FactTable], goals: Iterable[Term], validities: Iterable[Validity],
    report: Report,
) -> dict[Relation, FactTable]:  # fmt: skip
    """The tables as the predicates that rules call; a table that cannot be one is an error."""
    wanted = _called({relation.name for relation in tables}, goals, validities)
    fitted: dict[Relation, FactTable] = {}
    for relation, table in tables.items():
        called = {key: names for key, names in wanted.items() if key.name == relation.name}
        if relation not in called:
            fitted[relation] = table
        for key, names in called.items():
            if (part := _arranged(table, key, names)) is not None:
                fitted[key] = part
            elif key not in tables:
                _complain(table, key, names, report)
                fitted[key] = _some_columns(table, key, [])
    return fitted


def folded(title: str) -> str:
    """A title without regard to case, and to what stands between words."""
    return "".join(each for each in title.casefold() if each not in "_- ")


def _called(
    names: set[str], goals: Iterable[Term], validities: Iterable[Validity]
) -> dict[Relation, tuple[str, ...]]:
    """The predicates of these names that goals call, with the names that all give an argument."""
    places: dict[Relation, list[tuple[Term, ...]]] = {}
    for goal in goals if names else ():
        for call in calls(goal):
            relation = Relation(*functor(call))
            if relation.name in names and isinstance(call, Compound):
                places.setdefault(relation, []).append(call.args)
    wanted = {key: agreed_names(key.arity, used) for key, used in places.items()}
    return wanted | {each.facts: each.names for each in validities if each.facts.name in names}


def _arranged(table: FactTable, key: Relation, names: Sequence[str]) -> FactTable | None:
    """The table with the columns of these names, or else all in their order; None if neither is."""
    if not table.columns and not len(table):
        return _some_columns(table, key, [])
    place_of_title = {folded(column.name): at for at, column in enumerate(table.columns)}
    places = [place_of_title.get(folded(name), -1) for name in names]
    is_named = all(names) and min(places, default=-1) >= 0
    if is_named and len(set(places)) == len(places) and len(place_of_title) == table.arity:
        return _some_columns(table, key, places)
    return table if table.arity == key.arity else None


def _some_columns(table: FactTable, key: Relation, places: Sequence[int]) -> FactTable:
    """Some columns of a table, as facts of a predicate; without any, no facts."""
    if not places:
        return fact_table((key.name, key.arity), [[] for _ in range(key.arity)])
    return FactTable(key.name, key.arity, tuple(table.columns[at] for at in places), len(table))


def _complain(table: FactTable, key: Relation, names: Sequence[str], report: Report) -> None:
    titles = ", ".join(column.name for column in table.columns)
    arguments = ", ".join(name or "_" for name in names)
    many = "" if table.arity == 1 else "s"
    report.error(
        "C023", f"the facts of {key.name} have {table.arity} column{many} ({titles}), and rules "
        f"ask for {key.arity}: {key.name}({arguments})", NOWHERE,
        help="call the columns as all rules call the arguments, and others are left out; or give "
        "as many columns as there are arguments",
    )  # fmt: skip
