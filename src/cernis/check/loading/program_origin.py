"""What a program is made of: read once, it can be checked again with other facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from cernis.check.checker import Checked, check
from cernis.check.model import DIALECTS, Relation
from cernis.check.reporter import Report
from cernis.check.rewrites.time_literals import AS_DIRECTED, ChosenTime, time_scale
from cernis.errors import CernisError, DataError, Diagnostic, Severity
from cernis.knowledge.fact_frames import table_of_frame
from cernis.knowledge.fact_tables import FactTable
from cernis.knowledge.rdf import RDF_ENDINGS, Triple, rdf_tables, read_rdf
from cernis.knowledge.table_files import read_table
from cernis.knowledge.user_functions import UserFunction, user_functions
from cernis.syntax.load import ENDINGS, NamedText, load_files, load_text
from cernis.syntax.parser import Parsed, collector_paused
from cernis.syntax.time_scale import TimeScale

TABLE_ENDINGS = (".csv", ".parquet", *RDF_ENDINGS)
"""Endings of fact files that are tables, one predicate each, named after the file; or RDF."""

FactSources: TypeAlias = "Iterable[str | Path | NamedText] | Mapping[str, Any]"
"""Files or texts of facts, or tables by the names of predicates: see `cernis.load`."""


@dataclass(frozen=True)
class Origin:
    """What a program is made of: texts, tables, and what its caller says of it."""

    parsed: Parsed
    tables: Mapping[str, FactTable]
    """Tables of facts, by name."""
    more_tables: Mapping[Relation, FactTable]
    """Those of which several share a name, such as triples."""
    troubles: tuple[Diagnostic, ...]
    scale: TimeScale
    dialect: str | None
    usual: str
    facts_follow: bool
    chosen_time: ChosenTime
    functions: tuple[UserFunction, ...] = ()

    def checked(self) -> tuple[Checked, Origin]:
        """The program, checked."""
        parsed = _with(self.parsed, list(self.troubles))
        tables = {Relation(each.name, each.arity): each for each in self.tables.values()}
        with collector_paused(to_be_run=True):
            checked = check(
                parsed, {**self.more_tables, **tables}, self.dialect, self.usual,
                self.facts_follow, self.chosen_time, self.functions,
            )  # fmt: skip
        return checked, self

    def with_facts(self, facts: FactSources) -> Origin:
        """The same with other facts, which must be tables or files of tables."""
        read = _FactReader(self.scale)
        read.add(facts)
        if read.texts:
            raise DataError(
                f"{read.texts[0]}: only tables can be given later; give rule text to cernis.load"
            )
        return replace(
            self, tables={**self.tables, **read.tables}, troubles=tuple(read.troubles),
            more_tables={**self.more_tables, **read.triple_tables()},
        )  # fmt: skip


def origin_of(
    source: str | Path, facts: FactSources = (), dialect: str | None = None,
    facts_follow: bool = False, chosen_time: ChosenTime = AS_DIRECTED,
    functions: Mapping[str, Any] | None = None,
) -> Origin:  # fmt: skip
    """Read the texts and tables of a program."""
    if not isinstance(source, str | Path):
        raise DataError(
            "a program is a text, or the Path of a file of rules, and not a "
            f"{type(source).__name__}"
        )
    if dialect is not None and dialect not in DIALECTS:
        raise DataError(f"the dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
    usual = "rtec" if "\n" not in str(source) and str(source).endswith(".prolog") else "cernis"
    reader = _FactReader()
    texts = reader.texts_among(facts)
    if isinstance(source, Path) or is_file_name(source):
        parsed = load_files([Path(source)], texts)
    else:
        parsed = load_text(source, facts=texts)
    reader.scale = time_scale(parsed.items, chosen_time, Report())
    reader.add(facts)
    return Origin(
        parsed, reader.tables, reader.triple_tables(), tuple(reader.troubles), reader.scale,
        dialect, usual, facts_follow, chosen_time, user_functions(functions),
    )  # fmt: skip


def is_file_name(source: str) -> bool:
    """Is a string the name of a file of rules, and no program?"""
    return "\n" not in source and source.endswith(ENDINGS)


def _fact_source(fact: str | Path | NamedText) -> Path | NamedText:
    """Facts are a file; a text of more than one line is facts itself."""
    if isinstance(fact, NamedText):
        return fact
    return NamedText("<facts>", fact) if isinstance(fact, str) and "\n" in fact else Path(fact)


@dataclass
class _FactReader:
    """Reads facts of all kinds."""

    scale: TimeScale = field(default_factory=TimeScale)
    tables: dict[str, FactTable] = field(default_factory=dict)
    troubles: list[Diagnostic] = field(default_factory=list)
    texts: list[Path | NamedText] = field(default_factory=list)
    _triples: set[Triple] = field(default_factory=set)

    def texts_among(self, facts: FactSources) -> list[Path | NamedText]:
        """The rule texts among facts, most of them in files."""
        if isinstance(facts, str | Path):
            raise DataError(f"facts are a list of files, or tables by name: [{str(facts)!r}]")
        if isinstance(facts, Mapping):
            return []
        if not isinstance(facts, Iterable) or hasattr(facts, "columns"):
            raise DataError(
                "facts are tables by the names of predicates, such as {'bed': table}, or a list of "
                f"files, and not a {type(facts).__name__}"
            )
        sources = map(_fact_source, facts)
        return [
            each
            for each in sources
            if isinstance(each, NamedText) or each.suffix not in TABLE_ENDINGS
        ]

    def add(self, facts: FactSources) -> None:
        """Read the tables among facts."""
        self.texts = self.texts_among(facts)
        if isinstance(facts, Mapping):
            for name, table in facts.items():
                self._guarded(lambda name=str(name), table=table: self._add(name, table))  # type: ignore[misc]
            return
        for file in map(_fact_source, facts):
            if isinstance(file, NamedText):
                continue
            if file.suffix in RDF_ENDINGS:
                self._guarded(lambda file=file: self._triples.update(read_rdf(file)))  # type: ignore[misc]
            elif file.suffix in TABLE_ENDINGS:
                self._guarded(lambda file=file: self._add(file.stem, file))  # type: ignore[misc]

    def _add(self, name: str, table: Any) -> None:
        if isinstance(table, str | Path):
            self.tables[name] = read_table(table, name, scale=self.scale)
        else:
            self.tables[name] = table_of_frame(table, name, self.scale)

    def _guarded(self, read: Callable[[], None]) -> None:
        """Read; what goes wrong is a diagnostic."""
        try:
            read()
        except CernisError as error:
            self.troubles.append(Diagnostic("C007", Severity.ERROR, str(error)))

    def triple_tables(self) -> dict[Relation, FactTable]:
        """The tables of what RDF files say."""
        tables = rdf_tables(self._triples) if self._triples else {}
        return {Relation(*key): table for key, table in tables.items()}


def _with(parsed: Parsed, troubles: list[Diagnostic]) -> Parsed:
    if not troubles:
        return parsed
    return Parsed(
        parsed.items,
        (*parsed.diagnostics, *troubles),
        parsed.sources,
        parsed.comments,
        parsed.facts_begin,
    )
