"""Writes trees as careless authors do, and sprinkles comments over texts.

The printer has one text for a tree; here is any of the others: needless parentheses and quotes,
blanks and comments anywhere, other spellings. All of them must read as the same tree.
"""

from __future__ import annotations

from random import Random

from cernis.source import Sources
from cernis.syntax import show
from cernis.syntax.operators import ARGUMENT, CLAUSE, FLAT, INFIX, PREFIX
from cernis.syntax.printer import show_atom
from cernis.syntax.tokens import PUNCTUATION, Lexer
from cernis.syntax.tree import (
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
    Directive,
    Duration,
    Item,
    Number,
    Pattern,
    PatternRule,
    Term,
    Where,
    Within,
)
from cernis.syntax.tree import Sequence as ListTerm

_GAPS = ("", "", "", " ", "  ", "\n", "\t", " /* c */ ", "% c\n", "/**/", " /* % */", "%*/ '\n")


class Writer:
    """Writes trees in random ways."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def item(self, item: Item) -> str:
        """A clause, directive or pattern rule, with its `.`."""
        if isinstance(item, Directive):
            return f":-{self._gap()}{self.term(item.goal, CLAUSE - 1)}{self._some()}."
        if isinstance(item, PatternRule):
            arrow = self._pick("<-", "←")
            pattern = self.pattern(item.pattern)
            return (
                f"{self.term(item.head, CLAUSE - 1)}{self._some()}{arrow} {pattern}{self._some()}."
            )
        chance = "" if item.probability is None else f"{item.probability!r}{self._gap()}::"
        head = f"{chance}{self._gap()}{self.term(item.head, CLAUSE - 1)}{self._some()}"
        return f"{head}{self._body(item)}."

    def _body(self, clause: Clause) -> str:
        if not clause.body:
            return ""
        whole = clause.body[0] if len(clause.body) == 1 else Compound(",", clause.body)
        return f":-{self._gap()}{self.term(whole, CLAUSE - 1)}{self._some()}"

    # -- terms --------------------------------------------------------------------------------

    def term(self, term: Term, limit: int = CLAUSE) -> str:
        """A term where one of at most the given priority may stand."""
        if self._chance(10):
            return f"({self._gap()}{self.term(term)}{self._gap()})"
        if isinstance(term, Compound):
            return self._compound(term, limit)
        if isinstance(term, ListTerm):
            return self._list(term)
        if isinstance(term, Number):
            return self._number(term)
        if isinstance(term, Atom) and self._chance(20):
            return quoted(term.name)
        return show(term)

    def _number(self, number: Number) -> str:
        value = number.value
        if isinstance(value, int) and 0 <= value < 2**100 and self._chance(20):
            return hex(value)
        if isinstance(value, int) and 48 <= value < 58 and self._chance(20):
            return f"0'{chr(value)}"
        return show(number)

    def _compound(self, term: Compound, limit: int) -> str:
        name, args = term.functor, term.args
        if self._chance(15):
            return f"{quoted(name)}({self._arguments(args)})"
        if name in FLAT and len(args) > 1:
            return self._within(INFIX[name][0], limit, self._chain(name, args))
        if name in INFIX and name != "|" and len(args) == 2:
            own, most_left, most_right = INFIX[name]
            left, right = self.term(args[0], most_left), self.term(args[1], most_right)
            return self._within(own, limit, f"{left}{self._some()}{name}{self._some()}{right}")
        if name in PREFIX and len(args) == 1:
            own, most = PREFIX[name]
            return self._within(own, limit, f"{name}{self._some()}{self.term(args[0], most)}")
        if name == "{}" and len(args) == 1:
            return f"{{{self._gap()}{self.term(args[0])}{self._gap()}}}"
        return f"{show_atom(name)}({self._arguments(args)})"

    def _chain(self, name: str, args: tuple[Term, ...]) -> str:
        """A chain, sometimes with a part of it in parentheses of its own."""
        own = INFIX[name][0]
        sign = "|" if name == ";" and self._chance(20) else name
        if len(args) > 2 and self._chance(30):
            split = self._random.randrange(1, len(args) - 1)
            rest = self._chain(name, args[split:])
            parts = [self.term(arg, own - 1) for arg in args[:split]] + [f"({rest})"]
        else:
            parts = [self.term(arg, own - 1) for arg in args]
        return f"{self._some()}{sign}{self._some()}".join(parts)

    def _within(self, own: int, limit: int, text: str) -> str:
        return f"({self._gap()}{text}{self._gap()})" if own > limit else text

    def _arguments(self, args: tuple[Term, ...]) -> str:
        texts = (f"{self._gap()}{self.term(arg, ARGUMENT)}{self._gap()}" for arg in args)
        return ",".join(texts)

    def _list(self, term: ListTerm) -> str:
        tail = term.tail
        if len(term.items) > 1 and self._chance(30):
            return (
                f"[{self._arguments(term.items[:1])}|{self._list(ListTerm(term.items[1:], tail))}]"
            )
        if tail is None:
            return f"[{self._arguments(term.items)}{self._pick('', '', '|[]')}]"
        return f"[{self._arguments(term.items)}|{self._arguments((tail,))}]"

    # -- patterns -----------------------------------------------------------------------------

    def pattern(self, pattern: Pattern) -> str:
        """A pattern."""
        if self._chance(15):
            return f"({self._gap()}{self.pattern(pattern)}{self._gap()})"
        if isinstance(pattern, Where):
            return self._where(pattern)
        if isinstance(pattern, Within):
            return self._limited(pattern)
        if isinstance(pattern, Binary):
            left, right = self.pattern(pattern.left), self.pattern(pattern.right)
            if isinstance(pattern.right, (Binary, Where, Within)):
                right = f"({right})"
            return f"{left}{self._some()}{self._word(pattern.operator)}{self._some()}{right}"
        if isinstance(pattern, Absence):
            absent, last = self.pattern(pattern.absent), self.pattern(pattern.last)
            first = f"({self.pattern(pattern.first)})"
            return f"{self._word('not')}({absent}){self._pick('', '.')}[{first}, {last}]"
        return show(pattern)

    def _where(self, pattern: Where) -> str:
        opening = self._pick("(", "{")
        closing = ")" if opening == "(" else "}"
        conditions = ",".join(self.term(condition, ARGUMENT) for condition in pattern.conditions)
        before = f"{self.pattern(pattern.pattern)}{self._some()}{self._word('where')}"
        return f"{before}{self._gap()}{opening}{conditions}{closing}"

    def _limited(self, pattern: Within) -> str:
        limit = self.term(pattern.duration, 699)
        if isinstance(pattern.duration, Duration):
            limit = show(pattern.duration)
            if self._chance(50):
                limit = f"{limit.removesuffix(pattern.duration.unit)} {pattern.duration.unit}"
        inner = self.pattern(pattern.pattern)
        if self._chance(30) and not limit.startswith((" ", "\n", "\t", "%", "/")):
            return f"({inner}).{limit}"
        return f"{inner}{self._some()}{self._word('within')}{self._some()}{limit}"

    def _word(self, word: str) -> str:
        return self._pick(word, word.upper())

    # -- choices ------------------------------------------------------------------------------

    def _chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def _pick(self, *options: str) -> str:
        return options[self._random.randrange(len(options))]

    def _gap(self) -> str:
        """Blanks, comments or nothing."""
        return self._pick(*_GAPS)

    def _some(self) -> str:
        """Blanks or comments, and not nothing."""
        return f" {self._gap()} "


def quoted(name: str) -> str:
    """A name in quotes whether it needs them or not."""
    # An upper-case letter makes the printer quote, and its escapes are those of the whole name.
    return "'" + show(Atom(f"A{name}"))[2:]


def sprinkled(text: str, random: Random, percent: int = 25) -> tuple[str, list[str]]:
    """The text with comments between its tokens, and the comments in order."""
    pieces: list[str] = []
    comments: list[str] = []
    end = 0
    for position in _gaps(text):
        pieces.append(text[end:position])
        end = position
        # The least number a random source gives, which shrinking aims at, adds nothing.
        while random.randrange(100) >= 100 - percent:
            comment = _comment(random, len(comments))
            comments.append(comment)
            blank = random.choice((" ", "\n", "\n\n\n", "  "))
            pieces.append(f"{blank}{comment}{chr(10) if comment[0] == '%' else ' '}")
    return "".join([*pieces, text[end:]]), comments


def _comment(random: Random, number: int) -> str:
    words = random.choice(
        ("why", "a. b :- c.", "'", '"open', "* / %", "é 🚢", "", "% %", "x iff y", ")", ",", "\\")
    )
    if random.randrange(2):
        return f"%{number} {words}".rstrip()
    return f"/*{number} {words}{random.choice(('', chr(10), f'{chr(10)}   more'))}*/"


def _gaps(text: str) -> list[int]:
    """The places where a comment may stand: where blanks are, and inside of brackets."""
    sources = Sources()
    lexer = Lexer(sources.add("text", text))
    found = [0]
    position = 0
    while position < len(text):
        tokens, position = lexer.clause(position)
        for at, (start, end) in enumerate(tokens.spans):
            mark = tokens.values[at] if tokens.kinds[at] == PUNCTUATION else ""
            if mark in (")", "]", "}", ",", "|"):
                found.append(start)
            if mark in ("(", "[", "{", ",", "|") or text[end : end + 1].isspace():
                found.append(end)
        if tokens.ended:
            found += [tokens.end[0], tokens.end[1] + 1]
    return sorted({min(place, len(text)) for place in found})
