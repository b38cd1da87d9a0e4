"""The words of event patterns: which there are, how tight they bind, and what they build.

There are two grammars. In cernis's own all operators have one rank. In rule files of ETALIS,
which end in `.event`, `seq` and the relations bind tighter than `and`, that tighter than `par`,
and that tighter than `or`; words may stand in quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cernis.syntax.operators import CLAUSE
from cernis.syntax.tokens import NAME, QUOTED, VARIABLE
from cernis.syntax.tree import PATTERN_OPERATORS, Pattern

if TYPE_CHECKING:
    from cernis.syntax.clause_parser import ClauseParser

Operation = Callable[["ClauseParser", Pattern, int, int], Pattern]
"""Reads on after a word: the parser, what stands before the word, where that starts, the rank."""


@dataclass(frozen=True)
class PatternGrammar:
    """How the patterns of a file are read; a lower rank binds tighter."""

    ranks: Mapping[str, int]
    further: Mapping[str, Operation] = field(default_factory=dict)
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    may_quote: bool = False
    arrows: frozenset[str] = frozenset()
    highest_head: int = CLAUSE - 1

    @property
    def loosest(self) -> int:
        """The rank that every pattern has at most."""
        return max(self.ranks.values())

    def word(self, kind: int, value: str) -> str:
        """A token as a word of patterns would be written, in lower case; nothing if it is none."""
        if kind == NAME:
            return value
        if kind == VARIABLE and value.isupper():
            return value.lower()
        return value[1:-1].lower() if kind == QUOTED and self.may_quote else ""


CERNIS: Final = PatternGrammar(dict.fromkeys((*PATTERN_OPERATORS, "where", "within"), 1))
