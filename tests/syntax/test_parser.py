"""What texts mean: terms, operators, clauses, directives, patterns and includes."""

from pathlib import Path

import pytest

from cernis.errors import ProgramError
from cernis.syntax import parse, parse_term, show
from cernis.syntax.load import load_text
from cernis.syntax.tree import (
    PATTERN_OPERATORS,
    Absence,
    Atom,
    Binary,
    Clause,
    Compound,
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
    conjuncts,
)

A, B, C, D = (Atom(name) for name in "abcd")
X, Y, T = (Variable(name) for name in "XYT")
a, b, c, d = (EventAtom(Atom(name)) for name in "abcd")


def op(name: str, *args: Term) -> Compound:
    """An operation or any other compound term."""
    return Compound(name, args)


def only(text: str) -> Item:
    """The one item of a text without faults."""
    parsed = parse(text)
    assert not parsed.diagnostics, parsed.diagnostics[0].message
    (item,) = parsed.items
    return item


def pattern(text: str) -> Pattern:
    """The pattern of a rule."""
    rule = only(f"e <- {text}.")
    assert isinstance(rule, PatternRule)
    return rule.pattern


# -- terms -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("pub", Atom("pub")),
        ("'Far from ports'", Atom("Far from ports")),
        ("'it''s'", Atom("it's")),
        ("'a\\nb\\x41\\c'", Atom("a\nbAc")),
        ("'a\\\nb'", Atom("ab")),
        ("[]", Atom("[]")),
        ("[ ]", Atom("[]")),
        ("'[]'", Atom("[]")),
        ("!", Atom("!")),
        ("été", Atom("été")),
        ("X", Variable("X")),
        ("_", Variable("_")),
        ("_Type", Variable("_Type")),
        ("Éire", Variable("Éire")),
        ("3", Number(3)),
        ("-3", Number(-3)),
        ("3.0", Number(3.0)),
        ("1.5e3", Number(1500.0)),
        ("1e-2", Number(0.01)),
        ("0xFF", Number(255)),
        ("0'a", Number(97)),
        ("0'\\n", Number(10)),
        ("0'''", Number(39)),
        ("0'\\x41\\", Number(65)),
        ("007", Number(7)),
        ('"two words"', Text("two words")),
        ('"say ""hi"""', Text('say "hi"')),
        ('"\\t\\\\"', Text("\t\\")),
        ("30min", Duration(30, "min")),
        ("9hours", Duration(9, "hours")),
        ("1.5h", Duration(1.5, "h")),
        ("f(a, X)", op("f", A, X)),
        ("'two words'(a)", op("two words", A)),
        ("[a, b]", Sequence((A, B))),
        ("[a|T]", Sequence((A,), T)),
        ("[a|[b|T]]", Sequence((A, B), T)),
        ("[a|[b]]", Sequence((A, B))),
        ("[[a]|T]", Sequence((Sequence((A,)),), T)),
        ("[f([x])|[]]", Sequence((op("f", Sequence((Atom("x"),))),))),
        ("{a, b}", op("{}", op(",", A, B))),
        ("obl(send_EPO(C, iServer, GD))=true",
         op("=", op("obl", op("send_EPO", Variable("C"), Atom("iServer"), Variable("GD"))),
            Atom("true"))),
    ],
)  # fmt: skip
def test_terms(text: str, term: Term) -> None:
    assert parse_term(text) == term


def test_whole_numbers_and_floats_are_not_the_same() -> None:
    assert parse_term("3") != parse_term("3.0")


@pytest.mark.parametrize("text", ["1" * 401, "0x" + "f" * 400, "1" * 401 + "min", "9" * 5000])
def test_a_number_can_be_too_long(text: str) -> None:
    (fault,) = parse(f"f({text}).").diagnostics
    assert fault.code == "C001"
    assert "400 digits" in fault.message


@pytest.mark.parametrize("text", ["", "a b", "a.b", "a. b", "f(", "f(a", "f (a)", "'a", "X Y", ")"])
def test_what_is_no_term_raises(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_term(text)


# -- operators -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        # from the loosest to the tightest
        ("a ; b -> c", "a ; (b -> c)"),
        ("a -> b, c", "a -> (b, c)"),
        ("a, b or c", "a, (b or c)"),
        ("a or b and c", "a or (b and c)"),
        ("a and \\+ b", "a and (\\+ b)"),
        ("\\+ a = b", "\\+ (a = b)"),
        ("not a = b, c", "(not (a = b)), c"),
        ("X = a + b", "X = (a + b)"),
        ("X =< Y - 1", "X =< (Y - 1)"),
        ("a + b * c", "a + (b * c)"),
        ("a * b ** c", "a * (b ** c)"),
        ("- a * b", "(- a) * b"),
        ("- a ** b", "- (a ** b)"),
        ("F=V iff A=B or C=D, not E=F", "(F=V) iff (((A=B) or (C=D)), (not (E=F)))"),
        # associativity
        ("a - b - c", "(a - b) - c"),
        ("a / b / c", "(a / b) / c"),
        ("a mod b * c", "(a mod b) * c"),
        ("a ^ b ^ c", "a ^ (b ^ c)"),
        ("a : b : c", "a : (b : c)"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("- - a", "- (- a)"),
        ("\\+ \\+ a", "\\+ (\\+ a)"),
        ("\\+\\+a", "\\+ (\\+ a)"),
        # signs
        ("1 - 1", "1-1"),
        ("X-1", "X - 1"),
        ("X=-1", "X = (-1)"),
        ("X = - 1", "X = -(1)"),
        ("2 - -1", "2 - (-1)"),
        ("-1 + 2", "(-1) + 2"),
        ("-(1)", "- 1"),
        ("a=\\+b", "a = (\\+ b)"),
        # other spellings
        ("(a | b)", "a ; b"),
        ("','(a, b)", "a, b"),
        ("'='(X, Y)", "X = Y"),
        ("-(a, b)", "a - b"),
        ("not(a)", "not a"),
        ("\\+(a, b)", "\\+ (a, b)"),
    ],
)  # fmt: skip
def test_operators(text: str, same: str) -> None:
    assert parse_term(text) == parse_term(same)


INFIX = (
    "= \\= == \\== =:= =\\= < > =< >= @< @> @=< @>= is =.. + - * / // mod rem div xor << >> ** ^ : "
    "/\\ \\/ -> --> iff"
)


@pytest.mark.parametrize("operator", INFIX.split())
def test_infix_operators(operator: str) -> None:
    assert parse_term(f"(X {operator} Y)") == op(operator, X, Y)


@pytest.mark.parametrize("operator", INFIX.split())
def test_operators_may_stand_as_atoms_in_arguments(operator: str) -> None:
    atom = Atom(operator)
    assert parse_term(f"p({operator}, X, {operator})") == Compound("p", (atom, X, atom))
    assert parse_term(f"[{operator}, X|{operator} ]") == Sequence((atom, X), atom)
    assert parse_term(f"X = ({operator})") == op("=", X, atom)
    assert parse_term(show(Compound("p", (atom,)))) == Compound("p", (atom,))


@pytest.mark.parametrize("operator", [";", ",", "or", "and"])
def test_chains_are_flat(operator: str) -> None:
    flat = op(operator, B, C, D)
    for text in ("b {0} c {0} d", "(b {0} c) {0} d", "b {0} (c {0} d)", "'{0}'('{0}'(b, c), d)"):
        assert parse_term(text.format(operator)) == flat


def test_an_operator_alone_is_an_atom() -> None:
    assert parse_term("f(-, +, not, mod, or)").args == tuple(  # type: ignore[union-attr]
        Atom(name) for name in ("-", "+", "not", "mod", "or")
    )
    assert parse_term("- = a") == op("=", Atom("-"), A)
    assert parse_term("[-|-]") == Sequence((Atom("-"),), Atom("-"))


@pytest.mark.parametrize("text", ["a = b = c", "a < b < c", "a iff b iff c", "2 ** 3 ** 4"])
def test_operators_that_do_not_chain(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_term(text)


def test_a_blank_before_the_parenthesis_makes_a_prefix_operator() -> None:
    assert parse_term("- (a, b)") == op("-", op(",", A, B))
    assert parse_term("\\+ (a, b)") == op("\\+", op(",", A, B))


# -- clauses ---------------------------------------------------------------------------------


def test_facts_and_rules() -> None:
    assert only("rich(chris).") == Clause(op("rich", Atom("chris")))
    assert only("a :- b, c.") == Clause(A, (B, C))
    assert only("a :- (b, c), d.") == Clause(A, (B, C, D))
    assert only("a :- ','(b).") == Clause(A, (op(",", B),))
    assert only("a :- b ; c.") == Clause(A, (op(";", B, C),))
    assert only("a :- (b -> c ; d).") == Clause(A, (op(";", op("->", B, C), D),))


@pytest.mark.parametrize(
    "text", ["f(a,-5,2.50,'B c').", " f( a ,\t-5 , 2.50 , 'B c' ).", "f(a, -5,\n2.50, 'B c') ."]
)
def test_plain_facts_are_read_the_fast_way_and_the_slow_way_alike(text: str) -> None:
    args = (A, Number(-5), Number(2.5), Atom("B c"))
    assert only(text) == Clause(op("f", *args))


@pytest.mark.parametrize(
    ("text", "probability"),
    [("0.7::f.", 0.7), ("1 :: f.", 1.0), ("0::f.", 0.0), ("1.0e-3::f :- g.", 0.001)],
)
def test_probabilities(text: str, probability: float) -> None:
    item = only(text)
    assert isinstance(item, Clause)
    assert item.probability == probability
    assert item.head == Atom("f")


@pytest.mark.parametrize("text", ["1.1::f.", "2::f.", "0'a::f.", "0xFF::f.", f"{'9' * 390}::f."])
def test_what_is_no_probability(text: str) -> None:
    assert [fault.code for fault in parse(text).diagnostics] == ["C011"]


def test_a_pattern_rule_has_no_probability() -> None:
    (fault,) = parse("0.5::e <- a.").diagnostics
    assert fault.code == "C001"
    assert "probability" in fault.message


def test_initiatedat_of_four_arguments() -> None:
    item = only("initiatedAt(f=true, T1, T, T2) :- happensAt(e, T), T1 =< T, T < T2.")
    assert isinstance(item, Clause)
    assert isinstance(item.head, Compound)
    assert (item.head.functor, len(item.head.args)) == ("initiatedAt", 4)
    assert len(item.body) == 3


def test_iff() -> None:
    item = only("g=v iff (a=x or b=y), (a=z or b=w), not c=u.")
    assert isinstance(item, Clause)
    assert item.body == ()
    assert isinstance(item.head, Compound)
    assert item.head.functor == "iff"
    pair, body = item.head.args
    assert show(pair) == "g=v"
    parts = [show(part) for part in conjuncts(body)]
    assert parts == ["a=x or b=y", "a=z or b=w", "not c=u"]


@pytest.mark.parametrize(
    "text",
    [
        "fi(f(X)=v, f(X)=w, 10).",
        "fi(f(X)=v, f(X)=w, R) :- thresholds(k, R).",
        "ft(f(X)=v, 30min).",
        "p(f(X)=v).",
        "initially(f=v).",
        "0.3::initially(f=v).",
        "grounding(f(X)=v) :- id(X).",
        "dynamicDomain(id(_)).",
        "index(f(X)=v, X).",
        "needsGrounding(_, _, _) :- fail.",
        "collectIntervals(f(_)=true).",
        "initiates(e(X), f(X)=v, T).",
        "holdsFor(f=v, I) :- holdsFor(g=v, J), \\+ J = [], !, union_all([J], I).",
        "holdsFor(f=v, []).",
    ],
)
def test_constructs_are_plain_clauses(text: str) -> None:
    item = only(text)
    assert isinstance(item, Clause)
    assert show(item) == text


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        (":- dynamic vessel/1.", "dynamic vessel/1"),
        (":- dynamic a/1, b/2.", "dynamic (a/1, b/2)"),
        (":- discontiguous initiatedAt/2.", "discontiguous initiatedAt/2"),
        (":- multifile(grounding/1).", "multifile grounding/1"),
        (":- tick(40).", "tick(40)"),
        (":- ['a.pl', b].", "['a.pl', b]"),
        (":- event([e(text), f(_)]).", "event([e(text), f(_)])"),
        (":- op(700, xfx, '==>').", "op(700, xfx, '==>')"),
    ],
)
def test_directives(text: str, goal: str) -> None:
    item = only(text)
    assert isinstance(item, Directive)
    assert item.goal == parse_term(goal)


def test_comments() -> None:
    text = "% one\na. /* two\n % still two */ b :- /* three */ c. %four"
    parsed = parse(text)
    assert parsed.items == (Clause(A), Clause(B, (C,)))
    shown = [parsed.sources.text(span) for span in parsed.comments]
    assert shown == ["% one", "/* two\n % still two */", "/* three */", "%four"]


def test_what_looks_like_a_comment_in_quotes_is_none() -> None:
    parsed = parse("f('% no', \"/* no */\", '*/').")
    assert not parsed.comments
    assert not parsed.diagnostics


@pytest.mark.parametrize("end", ["\n", "\r\n", " ", "\t", "% c\n", ""])
def test_a_clause_ends_in_a_dot_and_a_blank(end: str) -> None:
    parsed = parse(f"f(1).{end}")
    assert not parsed.diagnostics
    assert len(parsed.items) == 1


def test_a_dot_without_a_blank_ends_nothing() -> None:
    assert parse_term("1.5") == Number(1.5)
    assert len(parse("a.b.").diagnostics) == 1


# -- patterns --------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", PATTERN_OPERATORS)
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_pattern_operators(operator: str, case: type[str]) -> None:
    assert pattern(f"a {case(operator)} b") == Binary(operator, a, b)


@pytest.mark.parametrize("first", PATTERN_OPERATORS)
def test_pattern_operators_group_from_the_left(first: str) -> None:
    for second in PATTERN_OPERATORS:
        assert pattern(f"a {first} b {second} c") == Binary(second, Binary(first, a, b), c)
        assert pattern(f"a {first} (b {second} c)") == Binary(first, a, Binary(second, b, c))


def test_where_and_within_close_over_all_to_their_left() -> None:
    pair = Binary("seq", a, b)
    condition = op(">", X, Number(3))
    assert pattern("a seq b within 5") == Within(pair, Number(5))
    assert pattern("a seq (b within 5)") == Binary("seq", a, Within(b, Number(5)))
    assert pattern("a seq b where X > 3") == Where(pair, (condition,))
    assert pattern("a where X > 3 seq b") == Binary("seq", Where(a, (condition,)), b)
    assert pattern("a within 5 seq b") == Binary("seq", Within(a, Number(5)), b)
    both = Within(Where(pair, (condition, C)), Number(5))
    assert pattern("a seq b where X > 3, c within 5") == both
    assert pattern("a seq b where (X > 3, c) within 5") == both
    assert pattern("a seq b where {X > 3, c} within 5") == both


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("5", Number(5)),
        ("30min", Duration(30, "min")),
        ("30 min", Duration(30, "min")),
        ("1.5 hours", Duration(1.5, "hours")),
        ("D", Variable("D")),
        ("X + 5", op("+", X, Number(5))),
    ],
)
def test_durations_of_patterns(text: str, duration: Term) -> None:
    limited = Within(Binary("or", a, b), duration)
    assert pattern(f"a or b within {text}") == limited
    assert pattern(f"(a or b).{text}") == limited


@pytest.mark.parametrize("text", ["-5 s", "1e999 h"])
def test_a_duration_is_neither_negative_nor_infinite(text: str) -> None:
    (fault,) = parse(f"e <- a within {text}.").diagnostics
    assert fault.code == "C001"


def test_absence() -> None:
    assert pattern("not(a)[b, c]") == Absence(a, b, c)
    assert pattern("NOT(a).[b, c]") == Absence(a, b, c)
    whole = Binary("seq", Absence(Binary("or", a, b), Binary("seq", b, c), c), d)
    assert pattern("not(a or b)[b seq c, c] seq d") == whole


def test_parts_of_patterns() -> None:
    assert pattern("5 seq a") == Binary("seq", TimePoint(5), a)
    assert pattern("start(f=true)") == EventAtom(op("start", op("=", Atom("f"), Atom("true"))))
    assert pattern("a during f(X)=true") == Binary(
        "during", a, EventAtom(op("=", op("f", X), Atom("true")))
    )
    assert pattern("'seq'(X) seq 'not'") == Binary(
        "seq", EventAtom(op("seq", X)), EventAtom(Atom("not"))
    )
    assert only("iteration(A, K + 1) <- a.") == PatternRule(
        op("iteration", Variable("A"), op("+", Variable("K"), Number(1))), a
    )


def test_words_are_operators_again_in_arguments_and_parentheses() -> None:
    assert pattern("f(a or b, [c and d])") == EventAtom(
        op("f", op("or", A, B), Sequence((op("and", C, D),)))
    )
    assert pattern("a where (b or c)") == Where(a, (op("or", B, C),))


def test_many_parentheses_beside_one_another_are_not_deep() -> None:
    assert not parse(f"e <- (a){' seq (a)' * 100}.").diagnostics
    assert not parse(f"e <- not(a)[b, c]{' or not(a)[b, c]' * 100}.").diagnostics


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("e <- a, b.", "a pattern has no `,`"),
        ("e <- seq a.", "an event pattern"),
        ("e <- a seq.", "a term"),
        ("e <- not a.", "`(` after `not`"),
        ("e <- not(a).", "`[`"),
        ("X <- a.", "must begin with a predicate"),
        ("[a] <- a.", "must begin with a predicate"),
    ],
)
def test_faults_of_patterns(text: str, message: str) -> None:
    (fault,) = parse(text).diagnostics
    assert fault.code == "C001"
    assert message in fault.message


# -- includes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "directive",
    ["['more.cer']", "[more]", "consult(more)", 'consult("more.cer")', "include('more.cer')",
     "ensure_loaded(more)", "consult([more])"],
)  # fmt: skip
def test_an_include_stands_for_the_file(tmp_path: Path, directive: str) -> None:
    (tmp_path / "more.cer").write_text("b.\n")
    parsed = load_text(f"a. :- {directive}. c.", directory=tmp_path)
    assert not parsed.diagnostics
    assert [show(item) for item in parsed.items] == ["a.", "b.", "c."]


def test_includes_are_relative_to_the_including_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one.pl").write_text(":- [two].\n")
    (tmp_path / "sub" / "two.prolog").write_text("two.\n")
    parsed = load_text(":- ['sub/one'].", directory=tmp_path)
    assert [show(item) for item in parsed.items] == ["two."]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "more.cer").write_text("b.\n")
    parsed = load_text(f":- [more]. :- ['more.cer']. :- ['../{tmp_path.name}/more'].",
                       directory=tmp_path)  # fmt: skip
    assert len(parsed.items) == 1


def test_libraries_of_other_systems_are_passed_over() -> None:
    parsed = load_text(":- ensure_loaded(library(lists)). :- use_module(library(apply)).")
    assert not parsed.diagnostics


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("(a -> b ; c) ; d", ["a -> b ; c", "d"]),
        ("a ; (b -> c ; d) ; e", ["a", "b -> c ; d", "e"]),
        ("a ; (b -> c ; d)", ["a", "b -> c", "d"]),
        ("a -> b ; c ; d", ["a -> b", "c", "d"]),
        ("(a ; b) ; c", ["a", "b", "c"]),
        ("';'((a -> b ; c), d)", ["a -> b ; c", "d"]),
    ],
)
def test_what_is_behind_a_condition_is_no_part_of_its_else(text: str, parts: list[str]) -> None:
    term = parse_term(text)
    assert isinstance(term, Compound)
    assert [show(arg) for arg in term.args] == parts
    assert show(parse_term(show(term))) == show(term)
