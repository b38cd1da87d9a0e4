"""The tokens of one clause to its syntax tree: an operator-precedence parser."""

from __future__ import annotations

import math
import re

from cernis.errors import Correction, Diagnostic, Note, Severity
from cernis.source import Source, Span
from cernis.syntax.etalis import GRAMMAR as ETALIS
from cernis.syntax.faults import MissingStop, Unexpected, error
from cernis.syntax.grammar import CERNIS, PatternGrammar
from cernis.syntax.operators import ARGUMENT, CLAUSE, FLAT, INFIX, LONGHAND, PREFIX
from cernis.syntax.pattern_parser import pattern_rule
from cernis.syntax.phrase_parser import PHRASE, begins_phrase, continued, goes_on, phrase
from cernis.syntax.tokens import (
    DATE_TIME,
    DURATION,
    DURATION_UNITS,
    NAME,
    NUMBER,
    PUNCTUATION,
    QUOTED,
    STRING,
    SYMBOL,
    VARIABLE,
    Tokens,
)
from cernis.syntax.tree import (
    Atom,
    Clause,
    Compound,
    DateTime,
    Directive,
    Duration,
    Item,
    Number,
    Sequence,
    Term,
    Text,
    Variable,
    conjuncts,
    functor,
    is_deeper,
)

LABEL = "'rule:'"
"""What stands between the name of a pattern rule and the rule."""

DEEPEST = 150
"""Levels of nesting beyond which a term is refused: no rule needs them, and passes recurse."""

_MOST_DIGITS = 400
"""Digits beyond which a whole number is refused: longer ones are not numbers but slips."""

_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "s": " ", "\n": "",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,6}\\?|u[0-9a-fA-F]{4}|.)|''|\"\"", re.DOTALL)
_DURATION = re.compile(r"([\d.]+)([a-z]+)")


class ClauseParser:
    """Parses the tokens of one clause."""

    def __init__(
        self, tokens: Tokens, source: Source, grammar: PatternGrammar = CERNIS
    ) -> None:  # fmt: skip
        # A sentinel of no kind stands after the last token, so that looking ahead is safe.
        self.kinds = [*tokens.kinds, 0]
        self.values = [*tokens.values, ""]
        self.spans = [*tokens.spans, tokens.end]
        self.position = 0
        self.words_are_infix = True
        self.depth = 0
        self.grammar = grammar
        self._ended = bool(tokens.ended)
        self._source = source

    def item(self) -> Item:
        """The whole clause, directive or pattern rule."""
        item = self._item()
        # While it reads, the parser counts the brackets that are open, and not how chains of
        # operators inside of them add up. A tree has no more levels than tokens.
        if len(self.kinds) > DEEPEST and is_deeper(item, DEEPEST):
            self.position = 0
            self._too_deep()
        return item

    def _item(self) -> Item:
        start = self.spans[0][0]
        if self.values[0] == ":-" and self.kinds[0] == SYMBOL:
            self.position = 1
            goal = self.expression(CLAUSE - 1)
            self.expect_end()
            return Directive(goal, (start, self.spans[-1][1]))
        probability = self._probability()
        head, label = self._head()
        mark = self.values[self.position] if self.kinds[self.position] == SYMBOL else ""
        if mark in ("<-", "←") or self._word() in self.grammar.arrows:
            if probability is not None:
                raise Unexpected(
                    error("C001", "a pattern rule has no probability", self.spans[0],
                           help_="the events it is made of have")
                )  # fmt: skip
            return self._pattern_rule(head, start, label)
        body: tuple[Term, ...] = ()
        if mark == ":-":
            self.position += 1
            body = conjuncts(self.expression(CLAUSE - 1))
        self.expect_end()
        self._callable(head)
        return Clause(head, body, probability, (start, self.spans[-1][1]))

    def _head(self) -> tuple[Term, Term | None]:
        """The head of the clause, and the label that stands before it: `name 'rule:' head`."""
        head = self.expression(self.grammar.highest_head)
        if self.values[self.position] == LABEL:
            self.position += 1
            return self.expression(self.grammar.highest_head), head
        if self.grammar is ETALIS and isinstance(head, Compound) and functor(head) == (":", 2):
            return head.args[1], head.args[0]
        return head, None

    def _pattern_rule(self, head: Term, start: int, label: Term | None) -> Item:
        self._callable(head)
        self.position += 1
        return pattern_rule(self, head, start, label)

    def _word(self) -> str:
        """The word of patterns that may stand here, in lower case."""
        return self.grammar.word(self.kinds[self.position], self.values[self.position])

    def _probability(self) -> float | None:
        if self.kinds[0] != NUMBER or self.values[1] != "::":
            return None
        self.position = 2
        value = _number(self.values[0], self.spans[0])
        if not 0 <= value <= 1:
            raise Unexpected(
                error("C011", f"{self.values[0]} is no probability", self.spans[0],
                       help_="a probability lies between 0 and 1")
            )  # fmt: skip
        return float(value)

    def _callable(self, head: Term) -> None:
        if not isinstance(head, (Atom, Compound)):
            raise Unexpected(
                error("C001", "a clause must begin with a predicate", head.span,
                       help_="a variable, a number, a string or a list cannot be defined")
            )  # fmt: skip

    # -- terms ------------------------------------------------------------------------------

    def expression(self, limit: int) -> Term:
        """A term of at most the given priority."""
        self.enter()
        # A node's text includes the parentheses around its first and last part, which the spans
        # of these do not.
        start = self.spans[self.position][0]
        left, priority = self._primary(limit)
        chain = 0
        while True:
            value = self.values[self.position]
            operator = INFIX.get(value)
            if operator is None or self.kinds[self.position] in (QUOTED, STRING):
                if limit < PHRASE or priority >= PHRASE or not goes_on(self):
                    break
                left, priority = continued(self, left, start), PHRASE
                continue
            operator_priority, most_left, most_right = operator
            if operator_priority > limit or priority > most_left or not self._is_infix(value):
                break
            if value in FLAT or value == "|":
                left = self._flat(left, value, operator_priority, most_left, start)
            else:
                chain += 1
                if self.depth + chain > DEEPEST:
                    self._too_deep()
                self.position += 1
                right = self.expression(most_right)
                left = Compound(value, (left, right), (start, self.spans[self.position - 1][1]))
            priority = operator_priority
        self.depth -= 1
        return left

    def _is_infix(self, value: str) -> bool:
        return self.words_are_infix or value not in ("or", "and")

    def _flat(self, left: Term, value: str, operator_priority: int, most: int, start: int) -> Term:
        """A chain of one operator, as one node; nested chains of the same are joined."""
        functor = LONGHAND.get(value, value)
        items = [left]
        limit = min(most, operator_priority - 1)
        while True:
            if self.kinds[self.position] in (QUOTED, STRING):
                break
            if LONGHAND.get(self.values[self.position], self.values[self.position]) != functor:
                break
            self.position += 1
            items.append(self.expression(limit))
        return Compound(functor, _joined(functor, items), (start, self.spans[self.position - 1][1]))

    def _primary(self, limit: int) -> tuple[Term, int]:
        """A term that begins here and is no infix operation, with its priority."""
        position = self.position
        kind, value, span = self.kinds[position], self.values[position], self.spans[position]
        if kind == NAME:
            if self._opens(position + 1):
                return self._compound(value, span), 0
            if value in PREFIX:
                return self._prefix(value, span, limit)
            if limit >= PHRASE and begins_phrase(self, position):
                return phrase(self), PHRASE
            self.position = position + 1
            return Atom(value, span), 0
        if kind == VARIABLE:
            self.position = position + 1
            return Variable(value, span), 0
        if kind == NUMBER:
            self.position = position + 1
            if self.kinds[position + 1] == NAME and self.values[position + 1] in DURATION_UNITS:
                return self._duration(value, span), 0
            return Number(_number(value, span), span), 0
        if kind == PUNCTUATION:
            return self._bracket(value, span), 0
        if kind == SYMBOL and value in PREFIX:
            # `\\+(a, b)` negates a conjunction; `-(a, b)` is a term of two arguments.
            if value != "\\+" and self._opens(position + 1) and self._has_comma(position + 1):
                return self._compound(value, span), 0
            return self._prefix(value, span, limit)
        if (
            kind == SYMBOL
            and value in INFIX
            and self._opens(position + 1)
            and self._has_comma(position + 1)
        ):
            return self._compound(value, span), 0
        if kind == SYMBOL and value in INFIX and self._ends_argument(position + 1):
            self.position = position + 1
            return Atom(value, span), 0
        return self._leaf(kind, value, span), 0

    def _leaf(self, kind: int, value: str, span: Span) -> Term:
        if kind == QUOTED:
            name = _unquoted(value)
            if self._opens(self.position + 1):
                return self._compound(name, span)
            self.position += 1
            return Atom(name, span)
        if kind == STRING:
            self.position += 1
            return Text(_unquoted(value), span)
        if kind == DURATION:
            self.position += 1
            amount, unit = _DURATION.fullmatch(value).groups()  # type: ignore[union-attr]
            return Duration(_finite(_number(amount, span), span), unit, span)
        if kind == DATE_TIME:
            self.position += 1
            return DateTime(value, span)
        raise self.unexpected("a term")

    def _duration(self, amount: str, span: Span) -> Duration:
        """A number and a unit with a blank between them."""
        unit, end = self.values[self.position], self.spans[self.position][1]
        self.position += 1
        return Duration(_finite(_number(amount, span), span), unit, (span[0], end))

    def _opens(self, position: int) -> bool:
        """Is there an opening parenthesis, without a blank before it?"""
        return (
            self.values[position] == "(" and self.spans[position][0] == self.spans[position - 1][1]
        )

    def _ends_argument(self, position: int) -> bool:
        """Is there what may follow an argument: `compare(>, X, 2)`, `[<, >]`, `(<)`, or nothing?"""
        kind = self.kinds[position]
        return not kind or (kind == PUNCTUATION and self.values[position] in (",", ")", "]", "|"))

    def _has_comma(self, opening: int) -> bool:
        """Does the bracket opened here hold more than one argument?"""
        depth = 0
        for position in range(opening, len(self.kinds)):
            if self.kinds[position] == PUNCTUATION:
                value = self.values[position]
                depth += (value in "([{") - (value in ")]}")
                if depth == 0 or (depth == 1 and value == ","):
                    return value == ","
        return False

    def _compound(self, name: str, span: Span) -> Term:
        opening = self.position + 1
        self.position = opening + 1
        outer, self.words_are_infix = self.words_are_infix, True
        args = self._arguments(")", opening)
        self.words_are_infix = outer
        if name in FLAT and len(args) > 1:
            args = _joined(name, args)
        return Compound(name, args, (span[0], self.spans[self.position - 1][1]))

    def _arguments(self, closing: str, opening: int) -> tuple[Term, ...]:
        """Terms with commas between them, up to and with the closing bracket or a `|` before it."""
        args: list[Term] = []
        kinds, values, spans = self.kinds, self.values, self.spans
        while True:
            position = self.position
            follow = values[position + 1] if kinds[position] else ""
            # Most arguments are a lone atom, variable or number: no need to climb for those.
            if (follow == "," or follow == closing) and kinds[position + 1] == PUNCTUATION:
                args.append(self._primary(ARGUMENT)[0])
            else:
                args.append(self.expression(ARGUMENT))
            value = values[self.position] if kinds[self.position] == PUNCTUATION else ""
            if value == ",":
                self.position += 1
            elif value == closing or (value == "|" and closing == "]"):
                self.position += 1
                return tuple(args)
            else:
                raise self.unclosed(closing, spans[opening])

    def _bracket(self, value: str, span: Span) -> Term:
        opening = self.position
        if value == "(":
            return self._parenthesis(opening)
        if value == "[":
            return self._list(span, opening)
        if value == "{":
            self.position += 1
            inner = self._inside("}", opening)
            return Compound("{}", (inner,), (span[0], self.spans[self.position - 1][1]))
        raise self.unexpected("a term")

    def _parenthesis(self, opening: int) -> Term:
        self.position += 1
        return self._inside(")", opening)

    def _inside(self, closing: str, opening: int) -> Term:
        """A term of any priority up to the closing bracket; words are operators again inside."""
        outer, self.words_are_infix = self.words_are_infix, True
        inner = self.expression(CLAUSE)
        self.words_are_infix = outer
        if self.values[self.position] != closing or self.kinds[self.position] != PUNCTUATION:
            raise self.unclosed(closing, self.spans[opening])
        self.position += 1
        return inner

    def _list(self, span: Span, opening: int) -> Term:
        self.position += 1
        if self.values[self.position] == "]":
            self.position += 1
            return Atom("[]", (span[0], self.spans[self.position - 1][1]))
        outer, self.words_are_infix = self.words_are_infix, True
        items = self._arguments("]", opening)
        tail: Term | None = None
        if self.values[self.position - 1] == "|":
            tail = self.expression(ARGUMENT)
            if self.values[self.position] != "]":
                raise self.unclosed("]", self.spans[opening])
            self.position += 1
        self.words_are_infix = outer
        whole = (span[0], self.spans[self.position - 1][1])
        if isinstance(tail, Sequence):
            return Sequence(items + tail.items, tail.tail, whole)
        return Sequence(items, None if tail == Atom("[]") else tail, whole)

    def _prefix(self, value: str, span: Span, limit: int) -> tuple[Term, int]:
        """A prefix operator with its argument, or an operator standing for itself as an atom."""
        operator_priority, most = PREFIX.get(value, (0, 0))
        follow, follow_kind = self.values[self.position + 1], self.kinds[self.position + 1]
        if value == "-" and follow_kind == NUMBER and self.spans[self.position + 1][0] == span[1]:
            self.position += 2
            whole = (span[0], self.spans[self.position - 1][1])
            return Number(-_number(follow, whole), whole), 0
        stands_alone = (
            operator_priority == 0
            or follow_kind == 0
            or (follow_kind == PUNCTUATION and follow in ",)]|}")
            or (follow in INFIX and follow not in PREFIX and follow_kind in (SYMBOL, NAME)
                and not self._opens(self.position + 2))
        )  # fmt: skip
        self.position += 1
        if stands_alone:
            return Atom(value, span), 0
        if operator_priority > limit:
            operator_priority = most = min(most, limit)
        argument = self.expression(most)
        return Compound(
            value, (argument,), (span[0], self.spans[self.position - 1][1])
        ), operator_priority

    def enter(self, levels: int = 1) -> None:
        """Count levels of nesting."""
        self.depth += levels
        if self.depth > DEEPEST:
            self._too_deep()

    # -- complaints -------------------------------------------------------------------------

    def expect_end(self) -> None:
        """Raise unless the clause ends here, with its `.`."""
        if self.kinds[self.position]:
            if self._begins_line():
                raise MissingStop(self.spans[self.position - 1], self.position)
            raise self.unexpected("`.`")
        if not self._ended:
            end = self.spans[self.position - 1][1]
            raise Unexpected(
                Diagnostic("C003", Severity.ERROR, "the last clause does not end in a `.`",
                           self.spans[self.position - 1],
                           help="put a `.` after it; or is the file cut off?",
                           correction=Correction((end, end), "."))
            )  # fmt: skip

    def _begins_line(self) -> bool:
        """Does something that may begin a clause stand at the beginning of a further line?"""
        place = self._source.place(self.spans[self.position][0])
        last = self._source.place(self.spans[self.position - 1][0])
        may_begin = self.kinds[self.position] == NAME or (
            self.values[self.position] == ":-" and self.kinds[self.position] == SYMBOL
        )
        return may_begin and place.column == 1 and place.line > last.line

    def unexpected(self, wanted: str, advice: str = "") -> Unexpected:
        """What stands here is not what must stand here; the advice is the line of help."""
        span = self.spans[self.position]
        if not self.kinds[self.position]:
            if not self._ended:
                return Unexpected(
                    error("C003", "the file ends in the middle of a clause",
                           self.spans[self.position - 1],
                           help_="is the file cut off? every clause ends in a `.`")
                )  # fmt: skip
            return Unexpected(
                error("C001", f"the clause ends where {wanted} is expected", span, help_=advice)
            )
        refused = self._refused()
        if refused is not None:
            return Unexpected(refused)
        text = self.values[self.position]
        shown = text if len(text) <= 40 else text[:37] + "..."
        if text in ("//", "/"):
            advice = advice or "a comment begins with `%`"
        return Unexpected(
            error("C001", f"unexpected `{shown}`, {wanted} is expected here", span,
                   help_=advice or self._advice(wanted))
        )  # fmt: skip

    def _refused(self) -> Diagnostic | None:
        """What to say of a word of other systems that stands here."""
        word = self._word() or self.values[self.position]
        span = self.spans[self.position]
        if word in self.grammar.refused:
            message, help_ = self.grammar.refused[word]
            return error("C068", message, span, help_=help_)
        if self.grammar is ETALIS and self.words_are_infix and word in self.grammar.ranks:
            return error("C068", f"`{word}` joins events, and this is no event rule", span,
                         help_="write <- in place of :-")  # fmt: skip
        return None

    def _advice(self, wanted: str) -> str:
        place = self._source.place(self.spans[self.position][0])
        before = self._source.place(self.spans[self.position - 1][0]) if self.position else place
        value = self.values[self.position]
        if value == ":-" or (place.column == 1 and place.line > before.line):
            return "is the `.` missing that ends the clause before?"
        if value == "//" and wanted == "a term":
            return "a comment begins with %"
        if value == "(" and self.position and self.kinds[self.position - 1] in (NAME, QUOTED):
            return f"write {self.values[self.position - 1]}( without a blank before the parenthesis"
        if self.kinds[self.position] in (NAME, VARIABLE, QUOTED, NUMBER) and wanted != "a term":
            return "is a comma or an operator missing before it?"
        return ""

    def unclosed(self, closing: str, opening: Span) -> Unexpected:
        """The bracket opened there should be closed, or go on, here."""
        fault = self.unexpected(f"`,` or `{closing}`").diagnostic
        note = Note("the bracket that is open", opening)
        at_end = not self.kinds[self.position]
        return Unexpected(
            Diagnostic(
                "C002" if at_end else fault.code,
                Severity.ERROR,
                f"this bracket is never closed by `{closing}`" if at_end else fault.message,
                opening if at_end else fault.span,
                () if at_end else (note,),
                fault.help or f"close it with `{closing}`",
            )
        )

    def _too_deep(self) -> None:
        raise Unexpected(
            error("C006", f"this term is nested more than {DEEPEST} levels deep",
                   self.spans[self.position], help_="split it over several rules or facts")
        )  # fmt: skip


def _joined(functor: str, items: list[Term] | tuple[Term, ...]) -> tuple[Term, ...]:
    """A chain of an operator: items that are such chains themselves add their own parts.

    What is after `(C -> T ; E)` is no part of its else, so such a chain is joined only at the end.
    """
    parts: list[Term] = []
    for index, item in enumerate(items):
        is_chain = isinstance(item, Compound) and item.functor == functor and len(item.args) > 1
        if is_chain and (index == len(items) - 1 or not _has_if(item)):
            parts.extend(item.args)  # type: ignore[union-attr]
        else:
            parts.append(item)
    return tuple(parts)


def _has_if(chain: Term) -> bool:
    """Is one of the parts of a chain, but for the last, a condition with what follows from it?"""
    return isinstance(chain, Compound) and any(
        isinstance(part, Compound) and part.functor == "->" for part in chain.args[:-1]
    )


def _number(text: str, span: Span) -> int | float:
    is_hexadecimal = text.startswith("0x")
    if text.isdigit() or is_hexadecimal:
        # A hexadecimal digit is 1.2 decimal ones, in which the number is printed.
        if len(text) * (1.21 if is_hexadecimal else 1) > _MOST_DIGITS:
            raise Unexpected(
                error("C001", f"a number of more than {_MOST_DIGITS} digits is too long", span)
            )
        return int(text, 16 if is_hexadecimal else 10)
    if text.startswith("0'"):
        return ord(_unquoted(f"'{text[2:]}'"))
    return float(text)


def _finite(amount: int | float, span: Span) -> int | float:
    """The amount of a duration, which must be one that ends."""
    if amount == math.inf:
        raise Unexpected(error("C001", "a duration must be finite", span))
    return amount


def _unquoted(text: str) -> str:
    """The content of a quoted atom or string."""
    inner = text[1:-1]
    if "\\" not in inner and text[0] * 2 not in inner:
        return inner
    quote = text[0]

    def plain(match: re.Match[str]) -> str:
        escape = match[1]
        if escape is None:
            return quote if match[0][0] == quote else match[0]
        if escape[0] in "xu" and len(escape) > 1:
            return chr(min(int(escape[1:].rstrip("\\"), 16), 0x10FFFF))
        return _ESCAPES.get(escape, escape)

    return _ESCAPE.sub(plain, inner)
