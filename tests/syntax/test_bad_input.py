"""Whatever the input, reading it raises nothing, ends soon, and says what is wrong and where."""

import re
from pathlib import Path
from random import Random

import pytest

from cernis.errors import Diagnostic
from cernis.source import NOWHERE, Sources
from cernis.syntax import Parsed, parse, show
from cernis.syntax.formatter import format_text
from cernis.syntax.load import load_files, load_text
from cernis.syntax.tokens import MOST_DIAGNOSTICS
from cernis.syntax.tree import Clause

ROOT = Path(__file__).parents[2]
TOY = (ROOT / "examples" / "toy" / "rules.cer").read_text("utf-8")
TRICKY = """% a 'comment' (with [brackets
0.3::'Odd name'(X, "str\\"ing", 0'a, 0x1F, -1.5e-3, 30min, [a, [b]|T]) :-
    /* block
       % comment */ X \\== 'it''s', \\+ (a, \\+ b ; c -> d), Y is -X ** 2 - -1, {x}, !.
g(X)=v iff (a=x or b=y), not c=z.
:- dynamic p/1, q/2.
e(X, N + 1) <- not(a(X))[(b where X > 1), c] SEQ (5 or start(f(X)=true)).1h within 30 min.
last('\\x41\\\\n').
"""


def codes(parsed: Parsed) -> list[str]:
    """The codes of all diagnostics."""
    return [diagnostic.code for diagnostic in parsed.diagnostics]


def assert_sound(parsed: Parsed, nowhere: bool = False) -> None:
    """Each diagnostic must have a code, a message, and a span inside of a text."""
    for diagnostic in parsed.diagnostics:
        assert re.fullmatch(r"C\d{3}", diagnostic.code)
        assert diagnostic.message
        assert is_inside(diagnostic, parsed.sources) or (nowhere and diagnostic.span == NOWHERE)


def is_inside(diagnostic: Diagnostic, sources: Sources) -> bool:
    """Do its spans lie inside of texts that there are?"""
    spans = [diagnostic.span, *(n.span for n in diagnostic.notes if n.span != NOWHERE)]
    return all(_is_span_inside(start, end, sources) for start, end in spans)


def _is_span_inside(start: int, end: int, sources: Sources) -> bool:
    source = sources.source_at(start)
    if source is None:
        return False
    return source.base <= start <= end <= source.base + len(source.text)


# -- cut off and scrambled -------------------------------------------------------------------


@pytest.mark.parametrize("text", [TOY, TRICKY], ids=["toy", "tricky"])
def test_every_prefix_of_a_text(text: str) -> None:
    whole = parse(text)
    assert not whole.diagnostics
    for end in range(len(text)):
        parsed = parse(text[:end])
        assert_sound(parsed)
        # What is complete is read; only the last clause may be another.
        complete = max(len(parsed.items) - 1, 0)
        assert parsed.items[:complete] == whole.items[:complete]
        assert len(parsed.diagnostics) <= 1


@pytest.mark.parametrize("text", [TOY, TRICKY], ids=["toy", "tricky"])
def test_every_suffix_of_a_text(text: str) -> None:
    last = parse(text).items[-1]
    for start in range(0, len(text) - 60, 3):
        parsed = parse(text[start:])
        assert_sound(parsed)
        assert parsed.items[-1] == last or "/*" in text[:start]


def test_texts_without_a_character() -> None:
    for at in range(len(TRICKY)):
        assert_sound(parse(TRICKY[:at] + TRICKY[at + 1 :]))


TOKENS = (
    "a X _ 'q r' \"s\" 1 -1 2.5 30min ( ) [ ] { } , | . ; : :- <- ← -> --> :: = \\= == is + - * "
    "/ ** ^ \\+ not ! % /* */ ' \" \\ iff or and seq where within not( )[ f( [] # é 0' 0x . . \n"
)


def test_random_tokens() -> None:
    tokens = TOKENS.split(" ")
    random = Random(1)
    for _ in range(5000):
        assert_sound(parse(" ".join(random.choices(tokens, k=random.randint(1, 25)))))
        assert_sound(parse("".join(random.choices(tokens, k=random.randint(1, 25)))))


def test_random_characters() -> None:
    random = Random(2)
    for _ in range(500):
        length = random.randint(0, 300)
        ascii_ = "".join(chr(random.randrange(128)) for _ in range(length))
        other = "".join(chr(random.randrange(0x11000)) for _ in range(length))
        assert_sound(parse(ascii_))
        assert_sound(parse(other))


def test_random_bytes(tmp_path: Path) -> None:
    random = Random(3)
    file = tmp_path / "random.cer"
    for _ in range(200):
        file.write_bytes(random.randbytes(random.randint(0, 300)))
        assert_sound(load_files([file]), nowhere=True)
        file.write_bytes(bytes(b for b in random.randbytes(300) if b))
        assert_sound(load_files([file]))


def test_nul() -> None:
    assert codes(parse("a.\0b.")) == ["C005"]
    assert_sound(parse("\0" * 10_000))


def test_a_file_with_nul_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "rules.cer"
    file.write_bytes(b"a.\0")
    parsed = load_files([file])
    assert codes(parsed) == ["C007"]
    assert "no text file" in parsed.diagnostics[0].message


def test_escapes_that_mean_nothing() -> None:
    for text in ("f(0'\\\n).", "f(0').", "f(0'\\).", "f('\\xffffffff\\').", "f('\\u12').", "f('\\"):
        assert_sound(parse(text))


# -- deep ------------------------------------------------------------------------------------

N = 10_000
DEEP = {
    "parentheses": ("f(" + "(" * N + "a" + ")" * N + ").", "C006"),
    "open parentheses": ("(" * N, "C006"),
    "arguments": ("f(" * N + "a" + ")" * N + ".", "C006"),
    "lists": ("f(" + "[" * N + "]" * N + ").", "C006"),
    "tails": ("f(" + "[a|" * N + "b" + "]" * N + ").", "C006"),
    "braces": ("f(" + "{" * N + "a" + "}" * N + ").", "C006"),
    "negations": ("f :- " + "\\+ " * N + "a.", "C006"),
    "signs": ("f(" + "- " * N + "a).", "C006"),
    "sums": ("f(" + "a + " * N + "a).", "C006"),
    "powers": ("f(" + "a ^ " * N + "a).", "C006"),
    "implications": ("f :- " + "a -> " * N + "a.", "C006"),
    "patterns": ("e <- " + "(" * N + "a" + ")" * N + ".", "C006"),
    "sequences": ("e <- " + "a seq " * N + "a.", "C006"),
    "absences": ("e <- " + "not(" * N + "a" + ")[b, c]" * N + ".", "C006"),
    "limits": ("e <- a" + " within 5" * N + ".", "C006"),
    "closing brackets": (")" * N + ".", "C001"),
    "operators": ("f :- " + "= " * N + ".", "C001"),
}


@pytest.mark.parametrize(("text", "code"), DEEP.values(), ids=DEEP.keys())
def test_deep_nesting(text: str, code: str) -> None:
    parsed = parse(f"{text}\nafter.\n")
    assert_sound(parsed)
    assert code in codes(parsed)
    if text[-1] == ".":
        assert [show(item) for item in parsed.items] == ["after."]


@pytest.mark.parametrize("text", ["f(({}a{})).", "f([{}a{}])."])
def test_what_is_just_not_too_deep_can_be_worked_with(text: str) -> None:
    def nested(depth: int) -> str:
        return text.format("g(" * depth, ")" * depth)

    depth = max(n for n in range(200) if not parse(nested(n)).diagnostics)
    assert depth > 100
    formatted = format_text(nested(depth))
    assert hash(parse(formatted).items) == hash(parse(nested(depth)).items)


# -- long ------------------------------------------------------------------------------------


def test_a_body_of_many_goals() -> None:
    text = "a :- " + ", ".join(f"g{n}(X, {n})" for n in range(100_000)) + "."
    (item,) = parse(text).items
    assert isinstance(item, Clause)
    assert len(item.body) == 100_000


@pytest.mark.parametrize("operator", [";", "or", "and"])
def test_a_long_chain(operator: str) -> None:
    (item,) = parse("a :- (" + f" {operator} ".join(["b"] * 50_000) + ").").items
    assert isinstance(item, Clause)
    assert len(item.body[0].args) == 50_000  # type: ignore[union-attr]


def test_a_fact_of_many_arguments() -> None:
    for count in (999, 1000, 1001, 50_000):
        (item,) = parse(f"f({', '.join(['a'] * count)}).").items
        assert isinstance(item, Clause)
        assert len(item.head.args) == count  # type: ignore[union-attr]


def test_signs_before_parentheses_take_no_longer_for_being_many() -> None:
    # Each sign once looked at all that stands behind it.
    assert not parse(f"f([{', '.join(['-(1)'] * 50_000)}]).").diagnostics


@pytest.mark.parametrize("fault", [".", "f(a b).", "'open\n.", "f(.", "X.", "2::a.", "e <- a, b."])
def test_after_very_many_faults_the_rest_is_not_read(fault: str) -> None:
    parsed = parse(f"{fault}\n" * 20_000)
    assert_sound(parsed)
    assert len(parsed.diagnostics) <= MOST_DIAGNOSTICS + 2
    assert any("not read" in diagnostic.message for diagnostic in parsed.diagnostics)


def test_open_quotes_in_one_clause_are_not_reported_for_ever() -> None:
    parsed = parse("a 'b\n" * 20_000)
    assert_sound(parsed)
    assert len(parsed.diagnostics) <= MOST_DIAGNOSTICS + 2


# -- files -----------------------------------------------------------------------------------


def test_missing_files(tmp_path: Path) -> None:
    (tmp_path / "rules.cer").write_text(":- [facts].\n:- ['fact.cer'].\n")
    (tmp_path / "fakts.cer").write_text("a.\n")
    parsed = load_files([tmp_path / "rules.cer", tmp_path / "no" / "such.cer"])
    assert codes(parsed) == ["C007"] * 3
    assert_sound(parsed, nowhere=True)
    assert "fakts.cer" in parsed.diagnostics[1].help


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    parsed = load_files([tmp_path])
    assert codes(parsed) == ["C007"]
    assert "is a directory" in parsed.diagnostics[0].message


def test_files_that_include_one_another(tmp_path: Path) -> None:
    (tmp_path / "one.cer").write_text("one.\n:- [two].\n")
    (tmp_path / "two.cer").write_text("two.\n:- [three].\n:- [two].\n")
    (tmp_path / "three.cer").write_text("three.\n:- [one].\n")
    parsed = load_files([tmp_path / "one.cer"])
    assert_sound(parsed)
    assert codes(parsed) == ["C008", "C008"]
    assert [show(item) for item in parsed.items] == ["one.", "two.", "three."]
    shown = {note.message for diagnostic in parsed.diagnostics for note in diagnostic.notes}
    assert "one.cer includes two.cer includes three.cer includes one.cer" in shown


def test_a_long_chain_of_includes(tmp_path: Path) -> None:
    for n in range(400):
        (tmp_path / f"f{n}.cer").write_text(f"f({n}).\n:- [f{n + 1}].\n")
    parsed = load_files([tmp_path / "f0.cer"])
    assert_sound(parsed)
    assert codes(parsed) == ["C008"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "/", "a\\0b", "\\ud800", "x" * 300, "x/" * 3000, "~", "*", "a\\nb", "[]", " "],
)
def test_includes_of_names_that_are_none(tmp_path: Path, name: str) -> None:
    parsed = load_text(f":- ['{name}'].\na.\n", directory=tmp_path)
    assert_sound(parsed)
    assert codes(parsed) == ["C007"]
    assert [show(item) for item in parsed.items] == ["a."]


@pytest.mark.parametrize("goal", ["[1]", "[X]", "[f(a)]", "consult(X)", "consult([a|b])"])
def test_includes_of_what_is_no_name(tmp_path: Path, goal: str) -> None:
    parsed = load_text(f":- {goal}.\n", directory=tmp_path)
    assert_sound(parsed)
    assert codes(parsed) == ["C007"]


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.cer").symlink_to(tmp_path / "b.cer")
    (tmp_path / "b.cer").symlink_to(tmp_path / "a.cer")
    assert codes(load_files([tmp_path / "a.cer"])) == ["C007"]
    assert codes(load_text(":- [a].", directory=tmp_path)) == ["C007"]


def test_a_path_no_file_can_have() -> None:
    assert codes(load_files([Path("a\0b")])) == ["C007"]


def test_other_encodings_are_harmless_in_comments(tmp_path: Path) -> None:
    file = tmp_path / "rules.pl"
    file.write_bytes("% Ärger, café\n/* naïve */ a.\n".encode("latin-1"))
    parsed = load_files([file])
    assert not parsed.diagnostics
    assert len(parsed.items) == 1


def test_other_encodings_are_reported_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "rules.pl"
    file.write_bytes("caf\xe9(x).\nb.\n".encode("latin-1"))
    parsed = load_files([file])
    assert_sound(parsed)
    assert codes(parsed) == ["C005"]
    assert [show(item) for item in parsed.items] == ["b."]


@pytest.mark.parametrize("text", [TOY, TRICKY], ids=["toy", "tricky"])
def test_windows_files(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rules.cer"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode("utf-8"))
    parsed = load_files([file])
    assert not parsed.diagnostics
    assert parsed.items == parse(text).items
    assert parse(text.replace("\n", "\r\n")).items == parsed.items


def test_lines_that_end_as_they_did_long_ago(tmp_path: Path) -> None:
    file = tmp_path / "rules.cer"
    file.write_bytes(TOY.replace("\n", "\r").encode("utf-8"))
    assert load_files([file]).items == parse(TOY).items


def test_utf_16_is_no_text_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.cer"
    file.write_bytes(TOY.encode("utf-16"))
    assert codes(load_files([file])) == ["C007"]


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n", "% only a comment", "/**/"])
def test_empty_files(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rules.cer"
    file.write_text(text)
    parsed = load_files([file])
    assert not parsed.items
    assert not parsed.diagnostics


def test_a_large_fact_file(tmp_path: Path) -> None:
    file = tmp_path / "facts.cer"
    file.write_text("".join(f"near(v{n}, port_{n % 7}, {n}.5).\n" for n in range(200_000)))
    parsed = load_files([], facts=[file])
    assert not parsed.diagnostics
    assert len(parsed.items) == 200_000
    place = parsed.sources.place(parsed.items[-1].span)
    assert place is not None
    assert place.line == 200_000
