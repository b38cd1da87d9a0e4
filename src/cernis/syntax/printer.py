"""Syntax tree to text: the shortest text that reads back as the same tree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import singledispatch

from cernis.syntax.operators import ARGUMENT, CLAUSE, FLAT, INFIX, PREFIX
from cernis.syntax.phrase_parser import PHRASE, PHRASES, continues_phrase, gaps, is_phrase
from cernis.syntax.tokens import DURATION_UNITS
from cernis.syntax.tree import (
    PATTERN_OPERATORS,
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
    DateTime,
    Directive,
    Duration,
    EventAtom,
    Item,
    Number,
    Pattern,
    PatternRule,
    Sequence,
    Term,
    Text,
    TimePoint,
    Variable,
    Where,
    Within,
)

_PLAIN_ATOM = re.compile(r"[^\W\d_A-Z]\w*|!|\[\]")
_KEYWORDS = frozenset({*PATTERN_OPERATORS, "where", "within", "not"})
_SPACED = frozenset({
    "iff", "->", "-->", "or", "and", "\\=", "==", "\\==", "=:=", "=\\=", "<", ">", "=<", ">=",
    "@<", "@>", "@=<", "@>=", "is", "=..", "mod", "rem", "div", "xor", "<<", ">>", "+", "-", "*",
    "/", "//", "/\\", "\\/",
})  # fmt: skip
_ESCAPED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Control characters, further line ends, and halves of characters, which no file can hold.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def show(node: Term | Item | Pattern, priority: int = CLAUSE) -> str:
    """The canonical text of a term, pattern, clause or directive, on one line.

    A term that binds looser than the priority is put in parentheses.

    >>> from cernis.syntax.parser import parse_term
    >>> show(parse_term("  holdsAt( 'rich'(X) = true ,T)"))
    'holdsAt(rich(X)=true, T)'
    """
    return _show(node, priority)


def show_atom(name: str) -> str:
    """An atom's name, in quotes where it needs them."""
    if _PLAIN_ATOM.fullmatch(name) and not name[0].isupper():
        return name
    return "'" + _escape(name, "'") + "'"


def _escape(text: str, quote: str) -> str:
    plain = text.replace("\\", "\\\\").replace(quote, quote * 2)
    return _UNPRINTABLE.sub(lambda match: _escaped(match[0]), plain)


def _escaped(character: str) -> str:
    return _ESCAPED.get(character, f"\\x{ord(character):x}\\")


@singledispatch
def _show(node: object, limit: int) -> str:
    raise TypeError(f"{type(node).__name__} is no part of a syntax tree")


@_show.register
def _(node: Variable, limit: int) -> str:
    return node.name


@_show.register
def _(node: Atom, limit: int) -> str:
    plain = show_atom(node.name)
    # An operator alone would be taken for the beginning of an operation.
    if plain == node.name and (node.name in INFIX or node.name in PREFIX or node.name in _KEYWORDS):
        return f"'{node.name}'"
    return plain


@_show.register
def _(node: Number, limit: int) -> str:
    return show_number(node.value)


def show_number(value: int | float) -> str:
    """A number as it is read back: floats keep their point, infinities their name."""
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    text = repr(value)
    return text if "." in text or "e" in text else f"{text}.0"


@_show.register
def _(node: Text, limit: int) -> str:
    return '"' + _escape(node.value, '"') + '"'


@_show.register
def _(node: DateTime, limit: int) -> str:
    return node.text


@_show.register
def _(node: Duration, limit: int) -> str:
    assert node.unit in DURATION_UNITS
    # The amount of a duration has no exponent: `1e-07s` would be a number and a name.
    amount = f"{Decimal(repr(node.amount)):f}"
    point = ".0" if isinstance(node.amount, float) and "." not in amount else ""
    return f"{amount}{point}{node.unit}"


@_show.register
def _(node: Sequence, limit: int) -> str:
    tail = "" if node.tail is None else f"|{_show(node.tail, ARGUMENT)}"
    return f"[{_arguments(node.items)}{tail}]"


@_show.register
def _(node: Compound, limit: int) -> str:
    name, args = node.functor, node.args
    if name in FLAT and len(args) >= 2:
        return _bracketed(_flat(name, args), INFIX[name][0], limit)
    if name in INFIX and len(args) == 2 and name != "|":
        return _bracketed(_infix(name, args), INFIX[name][0], limit)
    if name in PREFIX and len(args) == 1:
        return _bracketed(_prefix(name, args[0]), PREFIX[name][0], limit)
    if name == "{}" and len(args) == 1:
        return "{" + _show(args[0], CLAUSE) + "}"
    if is_phrase(node):
        return _phrase(name, args, limit)
    return _functional(show_atom(name), args)


def _phrase(name: str, args: tuple[Term, ...], limit: int) -> str:
    parts = [_show(arg, most) for arg, most in zip(args, gaps(name), strict=True)]
    if PHRASES[name][0] != "{" and not continues_phrase(parts[0]):
        return _functional(show_atom(name), args)
    return _bracketed(PHRASES[name].format(*parts), PHRASE, limit)


def _functional(name: str, args: Iterable[Term]) -> str:
    return f"{name}({_arguments(args)})"


def _arguments(args: Iterable[Term]) -> str:
    return ", ".join(_show(arg, ARGUMENT) for arg in args)


def _bracketed(text: str, priority: int, limit: int) -> str:
    return f"({text})" if priority > limit else text


def _flat(name: str, args: tuple[Term, ...]) -> str:
    limit = INFIX[name][0] - 1
    between = ", " if name == "," else f" {name} "
    return between.join(_show(arg, limit) for arg in args)


def _infix(name: str, args: tuple[Term, ...]) -> str:
    _, most_left, most_right = INFIX[name]
    left, right = _show(args[0], most_left), _show(args[1], most_right)
    # `F=V` is one thing, `X = 3` is a goal, `vessel/1` is a name: blanks show which is meant.
    # `!=` would be read as a slip for `\\=`.
    spaced = name in _SPACED or (
        name == "=" and (isinstance(args[0], Variable) or args[0] == Atom("!"))
    )
    if spaced and not (name == "/" and isinstance(args[0], Atom)):
        return f"{left} {name} {right}"
    # `2-(-1)` and `a= \+b` would run together, or read as another operator.
    blank = " " if right[0] in "-+\\=*/<>:^." else ""
    before = " " if left[-1] in "-+\\=*/<>:^." else ""
    return f"{left}{before}{name}{blank}{right}"


def _prefix(name: str, arg: Term) -> str:
    text = _show(arg, PREFIX[name][1])
    # `-(5)` keeps the operation apart from the number -5.
    if (name == "-" and isinstance(arg, (Number, Duration))) or (text[0] == "(" and name != "not"):
        return f"{name}({text})" if text[0] != "(" else f"{name} {text}"
    return f"{name} {text}"


@_show.register
def _(node: Clause, limit: int) -> str:
    chance = "" if node.probability is None else f"{node.probability!r}::"
    head = _show(node.head, CLAUSE - 1)
    if not node.body:
        return f"{chance}{head}."
    body = ", ".join(_show(goal, ARGUMENT) for goal in node.body)
    return f"{chance}{head} :- {body}."


@_show.register
def _(node: Directive, limit: int) -> str:
    return f":- {_show(node.goal, CLAUSE - 1)}."


@_show.register
def _(node: PatternRule, limit: int) -> str:
    return f"{show_rule_head(node)} <- {_show(node.pattern, CLAUSE)}."


def show_rule_head(rule: PatternRule) -> str:
    """The head of a pattern rule, after its label if it has one."""
    label = "" if rule.label is None else f"{_show(rule.label, ARGUMENT)} 'rule:' "
    return f"{label}{_show(rule.head, CLAUSE - 1)}"


@_show.register
def _(node: EventAtom, limit: int) -> str:
    text = _show(node.term, 700)
    # A pattern that begins with a parenthesis, a number or a keyword is another kind of pattern.
    if isinstance(node.term, Compound) and (text[0] in "(0123456789" or _is_keyword(text)):
        return _functional(f"'{_escape(node.term.functor, chr(39))}'", node.term.args)
    return text


def _is_keyword(text: str) -> bool:
    """Does the text begin with a keyword of patterns, in either case?"""
    word = re.match(r"\w*", text)[0]  # type: ignore[index]
    return word in _KEYWORDS or (word.isupper() and word.lower() in _KEYWORDS)


@_show.register
def _(node: TimePoint, limit: int) -> str:
    return show_number(node.value)


@_show.register
def _(node: Where, limit: int) -> str:
    conditions = ", ".join(_show(condition, 929) for condition in node.conditions)
    return f"{_show(node.pattern, CLAUSE)} where ({conditions})"


@_show.register
def _(node: Within, limit: int) -> str:
    return f"{_show(node.pattern, CLAUSE)} within {_show(node.duration, 699)}"


@_show.register
def _(node: Binary, limit: int) -> str:
    return f"{_left(node)} {node.operator} {_right(node.right)}"


@_show.register
def _(node: Absence, limit: int) -> str:
    first, last = _show(node.first, CLAUSE), _show(node.last, CLAUSE)
    if isinstance(node.first, Where):
        # The comma after it would go on with its conditions.
        first = f"({first})"
    return f"not({_show(node.absent, CLAUSE)})[{first}, {last}]"


def _left(node: Binary) -> str:
    # Operators are left-associative, so brackets on the left are never needed by cernis. Where
    # operators are mixed they are written, since other systems rank them otherwise.
    text = _show(node.left, CLAUSE)
    is_mixed = isinstance(node.left, Binary) and node.left.operator != node.operator
    return f"({text})" if is_mixed or isinstance(node.left, (Where, Within)) else text


def _right(pattern: Pattern) -> str:
    text = _show(pattern, CLAUSE)
    return f"({text})" if isinstance(pattern, (Binary, Where, Within)) else text
