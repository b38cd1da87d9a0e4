"""What a pattern lacked, side by side."""

from __future__ import annotations

import cernis
from cernis.check.catalogue import pattern_head
from cernis.explain.patterns.pattern_causes import fits_head
from cernis.explain.patterns.pattern_misses import pattern_misses
from cernis.explain.patterns.pattern_parts import bound_names, with_parts
from cernis.syntax.tree import Atom

RULES = "e(X) <- (a(X) seq b(X, N)) where N > 3 within 9."


def test_parts_of_a_pattern() -> None:
    checked = cernis.load(RULES).checked
    (rule,) = checked.definitions.patterns
    _, parts = with_parts(checked, rule)
    assert len(parts) == 5
    assert bound_names(rule.pattern) == {"X", "N"}


def test_what_the_head_says_of_a_pattern() -> None:
    (rule,) = cernis.load(RULES).checked.definitions.patterns
    assert fits_head(rule, (Atom("x"),)) == {"X": Atom("x")}
    assert pattern_head(rule).relation.arity == 1


def test_two_parts_that_do_not_join() -> None:
    text = cernis.load(RULES).explain("b|1|1|x|5\na|4|4|x\n", "e(x)", 4).text()
    assert "failed: [4,4] seq [1,1] is not true" in text
    assert callable(pattern_misses)
