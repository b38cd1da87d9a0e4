"""The one layout of a program: one goal a line, comments kept where they belong.

Formatting keeps every clause and comment, in order, and at most one blank line between clauses
where the author had some. It is idempotent, and its result reads back as the same program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable

from cernis.errors import InternalError, ProgramError
from cernis.source import Span
from cernis.syntax.operators import ARGUMENT, CLAUSE, INFIX
from cernis.syntax.parser import parse
from cernis.syntax.printer import show, show_rule_head
from cernis.syntax.tree import Clause, Compound, Item, PatternRule, Where, Within

WIDTH = 100
_INDENT = "    "


def format_text(text: str, name: str = "<text>") -> str:
    """Lay out a text in the one layout; raises ProgramError if it does not parse.

    >>> print(format_text("a(X):-b(X),c. % why"), end="")
    a(X) :-
        b(X),
        c. % why
    """
    parsed = parse(text, name)
    if parsed.diagnostics:
        raise ProgramError(parsed.diagnostics, parsed.sources)
    formatted = _Layout(text, parsed.comments).lay_out(parsed.items)
    again = parse(formatted, name)
    if again.diagnostics or again.items != parsed.items:
        raise InternalError(f"formatting {name} would change its meaning; it is left as it was")
    return formatted


class _Layout:
    """Writes items and the comments between and inside them."""

    def __init__(self, text: str, comments: Iterable[Span]) -> None:
        self._text = text
        self._comments = list(comments)
        self._next = 0
        self._lines: list[str] = []
        self._is_last_commented = False

    def lay_out(self, items: Iterable[Item]) -> str:
        """The whole text."""
        previous_end = 0
        for item in items:
            start, end = item.span
            previous_end = self._comments_before(start, previous_end)
            self._blank(previous_end, start)
            self._item(item)
            previous_end = self._trailing_comment(end)
        self._comments_before(len(self._text) + 1, previous_end)
        text = "\n".join(self._lines).strip("\n")
        return text + "\n" if text else ""

    def _blank(self, end: int, start: int) -> None:
        if self._lines and self._lines[-1] and self._text.count("\n", end, start) > 1:
            self._lines.append("")

    def _comments_before(self, offset: int, previous_end: int) -> int:
        """Comments on lines of their own before the offset; the end of the last thing written."""
        while self._next < len(self._comments) and self._comments[self._next][0] < offset:
            start, end = self._comments[self._next]
            self._next += 1
            self._blank(previous_end, start)
            self._lines.append(self._shown((start, end)))
            previous_end = end
        return previous_end

    def _trailing_comment(self, end: int) -> int:
        """A comment after the item on its last line stays there."""
        if self._next < len(self._comments) and not self._is_last_commented:
            start, stop = self._comments[self._next]
            if "\n" not in self._text[end:start] and not self._text[end:start].strip():
                self._next += 1
                self._lines[-1] += " " + self._shown((start, stop))
                return stop
        return end

    def _item(self, item: Item) -> None:
        inside = self._inside(item.span)
        self._is_last_commented = False
        if isinstance(item, Clause) and item.body:
            self._rule(item, inside)
        elif isinstance(item, PatternRule):
            self._hoist(inside)
            self._pattern_rule(item)
        else:
            self._hoist(inside)
            self._fact(item)

    def _inside(self, span: Span) -> list[Span]:
        stop = bisect_left(self._comments, (span[1], 0))
        inside = self._comments[self._next : stop]
        self._next = max(self._next, stop)
        return inside

    def _hoist(self, comments: Iterable[Span]) -> None:
        self._lines.extend(self._shown(comment) for comment in comments)

    def _fact(self, item: Item) -> None:
        text = show(item)
        if len(text) > WIDTH and isinstance(item, Clause):
            head = item.head
            if isinstance(head, Compound) and head.functor == "iff" and len(head.args) == 2:
                body = show(head.args[1], INFIX["iff"][2])
                text = f"{text.removesuffix(f'{body}.').rstrip()}\n{_INDENT}{body}."
        self._lines.append(text)

    def _rule(self, clause: Clause, inside: list[Span]) -> None:
        chance = "" if clause.probability is None else f"{clause.probability!r}::"
        lines = [f"{chance}{show(clause.head, CLAUSE - 1)} :-"]
        ends = [clause.head.span[1], *(goal.span[1] for goal in clause.body)]
        lines += [f"{_INDENT}{show(goal, ARGUMENT)}," for goal in clause.body]
        lines[-1] = f"{lines[-1][:-1]}."
        self._weave(lines, ends, inside)

    def _weave(self, lines: list[str], ends: list[int], comments: list[Span]) -> None:
        """Lines of a rule with its comments: after their line, else before the next."""
        waiting = deque(comments)
        for number, line in enumerate(lines):
            comments_before: list[Span] = []
            while waiting and waiting[0][0] < ends[number]:
                comments_before.append(waiting.popleft())
            is_comment_after = bool(waiting) and self._same_line(ends[number], waiting[0][0])
            if number == len(lines) - 1 and len(waiting) > is_comment_after:
                # One comment fits after the `.`; where there are more, all stand before it.
                comments_before.extend(waiting)
                is_comment_after = False
            indent = _INDENT if number else ""
            self._lines.extend(indent + self._shown(comment) for comment in comments_before)
            self._lines.append(line)
            if is_comment_after:
                self._lines[-1] += " " + self._shown(waiting.popleft())
            self._is_last_commented = is_comment_after

    def _shown(self, comment: Span) -> str:
        return self._text[comment[0] : comment[1]].rstrip()

    def _same_line(self, end: int, start: int) -> bool:
        between = self._text[end:start]
        return "\n" not in between and not between.strip(" \t,.:-)")

    def _pattern_rule(self, rule: PatternRule) -> None:
        text = show(rule)
        if len(text) <= WIDTH:
            self._lines.append(text)
            return
        self._lines.append(f"{show_rule_head(rule)} <-")
        for number, piece in enumerate(_pieces(rule)):
            self._lines.append(f"{_INDENT}{piece}" if number == 0 else f"{_INDENT * 2}{piece}")
        self._lines[-1] += "."


def _pieces(rule: PatternRule) -> list[str]:
    """The outermost `where` and `within` of a long pattern, each on a line of its own."""
    tail: list[str] = []
    pattern = rule.pattern
    while isinstance(pattern, (Where, Within)):
        inner = show(pattern.pattern)
        tail.append(show(pattern)[len(inner) + 1 :])
        pattern = pattern.pattern
    return [show(pattern), *reversed(tail)]
