"""Text to syntax tree: clauses, directives and patterns, and what is wrong with the rest."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cernis.errors import Diagnostic, ProgramError
from cernis.source import Source, Sources, Span
from cernis.syntax.clause_parser import ClauseParser
from cernis.syntax.etalis import GRAMMAR as ETALIS
from cernis.syntax.etalis import adapted, is_event_file
from cernis.syntax.faults import MissingStop, Unexpected, error
from cernis.syntax.grammar import CERNIS, PatternGrammar
from cernis.syntax.operators import CLAUSE
from cernis.syntax.tokens import (
    MOST_DIAGNOSTICS,
    Lexer,
    Tokens,
)
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    Item,
    Number,
    Term,
)

_MANY_OBJECTS = 50_000
"""Of a program with more objects than this the collector takes note before it runs."""

_FACT_VALUE = r"(?:[a-z]\w*|-?\d{1,18}(?:\.\d+)?|'[^'\\\n]*+')"
_FACT = re.compile(
    rf"\s*+([a-z]\w*)\("
    # What has more arguments than this is read, and its length limited, like any other clause.
    rf"([ \t]*{_FACT_VALUE}(?:[ \t]*,[ \t]*{_FACT_VALUE}){{0,999}}+[ \t]*)\)\.(?=[\s%]|\Z)",
    re.ASCII,
)
_FACT_ARGUMENT = re.compile(r"([a-z]\w*)|(-?\d+)(?![\d.])|(-?\d+\.\d+)|'([^']*)'", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says, as far as it could be read, and what was wrong with the rest.

    Items whose span lies after `facts_begin` come from fact files, which programs share.
    """

    items: tuple[Item, ...]
    diagnostics: tuple[Diagnostic, ...]
    sources: Sources
    comments: tuple[Span, ...] = ()
    facts_begin: int = sys.maxsize


def parse(text: str, name: str = "<text>") -> Parsed:
    """Read a whole text. Never raises: what cannot be read is in the diagnostics.

    >>> parse("rich(chris).").items
    (Clause(head=Compound(functor='rich', args=(Atom(name='chris'),)), body=(), probability=None),)
    """
    sources = Sources()
    return parse_source(sources.add(name, text), sources)


def parse_source(source: Source, sources: Sources) -> Parsed:
    """Read one source of several."""
    with collector_paused():
        return _parse_source(source, sources)


@contextmanager
def collector_paused(to_be_run: bool = False) -> Iterator[None]:
    """Let the collector of unreachable objects wait while a program is read.

    A tree has no cycles for the collector to find, and its passes over the growing tree would
    take more than half of the time. After a large program that is to be run it makes the one pass
    that is due at once, and not in the midst of the run.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
            if to_be_run and gc.get_count()[0] > _MANY_OBJECTS:
                gc.collect()


def _parse_source(source: Source, sources: Sources) -> Parsed:
    lexer = Lexer(source)
    grammar = ETALIS if is_event_file(source.name) else CERNIS
    items: list[Item] = []
    diagnostics: list[Diagnostic] = []
    position = 0
    while position < len(source.text):
        if len(diagnostics) + len(lexer.diagnostics) >= MOST_DIAGNOSTICS:
            diagnostics.append(_too_many(position + source.base))
            break
        fact = _FACT.match(source.text, position)
        if fact:
            items.append(_plain_fact(fact, source.base))
            position = fact.end()
            continue
        tokens, position = lexer.clause(position)
        try:
            if tokens.kinds and not tokens.faulty:
                items.append(ClauseParser(tokens, source, grammar).item())
            elif tokens.ended and not tokens.faulty:
                raise Unexpected(error("C001", "there is nothing before this `.`", tokens.end))
        except MissingStop as fault:
            # The clause and the one after it are read as if the `.` were there.
            items += _before_stop(_first(tokens, fault.position), source, grammar)
            diagnostics.append(fault.diagnostic)
            position = tokens.spans[fault.position][0] - source.base
        except Unexpected as fault:
            diagnostics.append(fault.diagnostic)
    if grammar is ETALIS:
        items, faults = adapted(items)
        diagnostics += faults
    # What follows a missing `.` has been split into tokens twice.
    said = dict.fromkeys([*lexer.diagnostics, *diagnostics])
    ordered = sorted(said, key=lambda diagnostic: diagnostic.span)
    return Parsed(tuple(items), tuple(ordered), sources, tuple(dict.fromkeys(lexer.comments)))


def _before_stop(tokens: Tokens, source: Source, grammar: PatternGrammar) -> list[Item]:
    """The clause whose `.` is missing; nothing if it is none."""
    try:
        return [ClauseParser(tokens, source, grammar).item()]
    except Unexpected:
        return []


def _first(tokens: Tokens, count: int) -> Tokens:
    """So many of the tokens of a clause, as a clause that ends there."""
    spans = tokens.spans[:count]
    end = (spans[-1][1], spans[-1][1])
    return Tokens(tokens.kinds[:count], tokens.values[:count], spans, end, ended=True)


def _too_many(offset: int) -> Diagnostic:
    return error(
        "C001", "there are too many faults; the rest of the file is not read", (offset, offset),
        help_="correct the first ones; is this a file of rules?",
    )  # fmt: skip


def _plain_fact(match: re.Match[str], base: int) -> Clause:
    """A fact over atoms and numbers: what large files consist of, read without tokens."""
    name_start, name_end = match.span(1)
    args: list[Term] = []
    for arg in _FACT_ARGUMENT.finditer(match.string, name_end + 1, match.end(2)):
        kind = arg.lastindex
        span = (arg.start() + base, arg.end() + base)
        if kind == 1:
            args.append(Atom(arg[1], span))
        elif kind == 2:
            args.append(Number(int(arg[2]), span))
        elif kind == 3:
            args.append(Number(float(arg[3]), span))
        else:
            args.append(Atom(arg[4], span))
    head_span = (name_start + base, match.end(2) + 1 + base)
    head = Compound(match[1], tuple(args), head_span)
    return Clause(head, (), None, (head_span[0], match.end() + base))


def parse_term(text: str, name: str = "<term>") -> Term:
    """Read one term, without a `.` after it; raises ProgramError.

    >>> parse_term("rich(chris)=true").functor
    '='
    """
    sources = Sources()
    source = sources.add(name, text)
    lexer = Lexer(source)
    tokens, end = lexer.clause(0)
    try:
        if lexer.diagnostics:
            raise Unexpected(lexer.diagnostics[0])
        parser = ClauseParser(tokens, source)
        term = parser.expression(CLAUSE)
        if parser.kinds[parser.position] or end < len(text.rstrip()):
            raise parser.unexpected("the end of the term")
    except Unexpected as fault:
        raise ProgramError([fault.diagnostic], sources) from None
    return term
