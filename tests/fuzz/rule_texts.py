"""Random alterations of rule files: each is read without a crash, soon, and in little memory.

`python -m tests.fuzz.rule_texts FIRST LAST` alters a text for each seed, and tells those that crash
a command or keep it busy for too long. `--files FOLDER` alters the rule files of a folder, and not
those of the project.
"""

# ruff: noqa: RUF001 - odd characters are what it is about

from __future__ import annotations

import argparse
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType

from cernis.check.checker import Checked
from cernis.check.rewrites.phrase_rules import expanded_text
from cernis.errors import CernisError
from cernis.plan import explain
from cernis.program import Program, check_source
from cernis.report.dependency_graph import as_dot, as_svg
from cernis.report.diagnostics import as_github, as_json, as_text
from cernis.syntax import parse, show
from cernis.syntax.formatter import format_text
from tests.check.programs import Author
from tests.generators.patterns import Drawing
from tests.generators.programs import Author as RuleAuthor
from tests.generators.vocabulary import CONSTANTS
from tests.syntax.programs import Grower

ROOT = Path(__file__).parents[2]
FILES = (
    "examples/**/*.cer",
    "tests/cases/**/*.cer",
    "tests/cases/**/*.prolog",
    "tests/plan/**/*.cer",
)
ENDINGS = (".cer", ".prolog", ".pl", ".event")
MOST_SECONDS = 5.0
"""How long one text may keep all commands busy together."""

LONG = 100_000
"""For each so many characters of a text there is as much time again."""

MOST_CHARACTERS = 20_000
"""Longer files are cut before they are altered: many short texts find more than a few long ones."""

NUMBERS = (
    "0", "1", "-1", "0.5", "1e308", "1e309", "1e999999999", "9223372036854775807", "007", "1.0Inf",
    "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" + "0" * 400, "0x1F",
    "0'a", "0''", "0b102", "0o9", "1_000", "1.", ".5", "1.e5", "inf", "nan", "infinite", "-inf",
    "9" * 5000, "99999999999999999999days", "1h", "2.5min", "0s", "1e10", "3month", "٣", "²",
)  # fmt: skip
CHARACTERS = (
    "\0", "\x01", "\x7f", "\x85", "\xa0", "\u200b", "\u2028", "\ufeff", "\u202e", "é", "é", "ß",
    "ﬁ", "Ω", "λ", "中", "🚢", "\ud800", "\U0010ffff", "\ufffe", "\t", "\r", "\n", "\v", "\f", "'",
    '"', "`", "\\", "%", "/*", "*/", "(", ")", "[", "]", "{", "}", "|", ",", ".", ";", ":", "!",
    "_", "$", "#", "@", "&", "~", "^", "?", "←", "→", "≤", "≠", "∧", "¬", "‘", "”", "–", " ", "0",
    "A", "a",
)  # fmt: skip
WORDS = (
    ":-", "<-", "-->", "::", "=", "\\=", "==", "\\==", "=:=", "=\\=", "<", ">", "=<", ">=", "@<",
    "is", "+", "-", "*", "/", "//", "mod", "**", "^", "->", "*->", "\\+", "not", "!", ",", ";",
    "|", ".", "iff", "or", "and", "seq", "par", "where", "within", "during", "meets", "starts",
    "finishes", "equals", "for", "at", "least", "no", "after", "expires", "unless", "renewed", "T",
    "X", "_", "[]", "{}", "''", '""', "true", "fail", "initially", "initiatedAt", "terminatedAt",
    "happensAt", "holdsAt", "holdsFor", "fi", "ft", "p", "grounding", "start", "end", "startI",
    "endI", "findall", "setof", "bagof", "aggregate_all", "forall", "length", "member",
    "union_all", "intersect_all", "relative_complement_all", "complement_all", "intDurGreater",
    "allen", "before", "sum", "count", "avg", "last", "call", "assert", "atom_length", "nth0",
    "msort", "sqrt", "haversine", "inBox",
)  # fmt: skip
CLAUSES = (
    ":- dynamic {a}/1.", ":- {a}.", ":- [{a}].", ":- consult('{a}').", ":- tick({n}).",
    ":- event({c}).", ":- fluent({c}).", ":- input({c}).", ":- valid({c}, {v}, by({v})).",
    ":- memory({n}).", ":- exact({n}).", ":- ties({a}).", ":- dialect({a}).",
    ":- consumption({a}).", ":- table({c}, '{a}').", ":- ontology('{a}').", "dynamicDomain({c}).",
    "collectGrounds([{c}], {c}).", "points({c}).", "buildFromPoints({c}=_).",
    "collectIntervals({c}=_).", "inputEntity({c}).", "outputEntity({c}).", "index({c}, {v}).",
    "needsGrounding({v}, {v}, {v}).", "cachingOrder2({v}, {c}) :- {c}.",
    "grounding({c}={a}) :- {c}.", "initially({c}={a}).", "initially({c}={v}).",
    "fi({c}={a}, {c}={a}, {n}).", "ft({c}={a}, {n}).", "p({c}={a}).", "{n}::{c}.",
    "0.3::{c} :- {c}.", "initiatedAt({c}={a}, T) :- happensAt({c}, T), {c}.",
    "initiatedAt({c}={v}, T) :- {c}.", "terminatedAt({c}={v}, T) :- happensAt({c}, T), \\+ {c}.",
    "initiates({c}, {c}={a}, T).", "initiatedAt({c}={a}, T1, {n}, T2) :- {c}.",
    "happensAt({c}, T) :- happensAt({c}, T), {c}.",
    "holdsFor({c}={a}, I) :- holdsFor({c}={a}, J), {c}, union_all([J, I], I).",
    "{c} <- {c} seq {c}.", "holdsFor({c}={a}, []).", "{c}={a} iff {c}={a} or not {c}={v}.",
    "{c} <- not({c})[{c}, {c}].",
    "{c} <- ({c} where {v} = {a}({v}, last({n}))) and {c} within {n}.", "{c} :- {c}, {c}.", "{c}.",
    "{v} :- {v}.", "{n}.", "{v}.", "{c} expires after {n} unless renewed.", "{c} :- \\+ {c}, !.",
    "{c} <- {c} within {n}.", "X = {v}.", "{c} :- {v} is {n} {o} {n}, {v} {o} {n}.",
    "{c} :- ({c} ; {c}).", "{c} :- findall({v}, {c}, {v}), {c}.",
    "{c} <- no {c} within {n} after {c}.", "holdsAt({c}={a}, T) :- holdsAt({c}={a}, T).",
    "happensAt(start({c}={a}), T) :- happensAt({c}, T).",
)  # fmt: skip
BRACKETS = (
    ("f(", ")"), ("(", ")"), ("[", "]"), ("\\+ ", ""), ("- ", ""), ("[a|", "]"), ("{", "}"),
    ("not(", ")"), ("(a ; ", ")"), ("a + ", ""), ("not(", ")[a, b]"), ("(", ") within 5"),
    ("start(", "=true)"), ("findall(X, ", ", L)"), ("a seq ", ""), ("(a -> ", " ; b)"),
    ("call(", ")"), ("a:", ""), ("(a, (b ; ", "))"), ("f(-", " + 1)"), ("(", " where X > 1) or a"),
)  # fmt: skip
"""What is put around a term, before and after it."""

TOKEN = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\w+|[-+*/\\<>=:;@^&#~?$.]+|\s+|.", re.DOTALL)


class TooLong(BaseException):
    """A text kept its reader busy for too long."""


@dataclass(frozen=True)
class Failure:
    """A command that crashed or took too long, and where it was."""

    command: str
    kind: str
    message: str


# -- texts to alter --------------------------------------------------------------------------


@cache
def files(folder: Path | None = None) -> tuple[str, ...]:
    """The texts of the rule files of the project, or of those of another folder."""
    if folder is None:
        paths = [path for pattern in FILES for path in sorted(ROOT.glob(pattern))]
    else:
        paths = sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS)
    texts = (path.read_bytes().decode("utf-8", "replace") for path in paths if path.is_file())
    return tuple(text for text in texts if text)


def original(random: Random, folder: Path | None = None) -> str:
    """A text to alter: a file, or a random program."""
    roll = random.random()
    if roll < 0.5:
        return _shortened(random.choice(files(folder)), random)
    if roll < 0.65:
        return "\n".join(Author(random).program())
    if roll < 0.8:
        return str(RuleAuthor(random, constants=CONSTANTS).program())
    if roll < 0.9:
        return "\n".join(Drawing(random).rules())
    return "".join(f"{show(item)}\n" for item in Grower(random).program())


def _shortened(text: str, random: Random) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    begin = text.find("\n", random.randrange(len(text) - MOST_CHARACTERS)) + 1
    return text[begin : begin + MOST_CHARACTERS]


# -- alterations -----------------------------------------------------------------------------


def altered(text: str, random: Random) -> str:
    """The text with one to a few alterations."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 5, 9))):
        text = random.choice(ALTERATIONS)(text, random)
    return text


def _put_character(text: str, random: Random) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(CHARACTERS) + text[at + random.randint(0, 1) :]


def _drop_characters(text: str, random: Random) -> str:
    at = random.randint(0, len(text))
    return text[:at] + text[at + random.choice((1, 1, 1, 2, 5, 40)) :]


def _tokens(text: str, random: Random, alter: Callable[[list[str], int, Random], None]) -> str:
    tokens = TOKEN.findall(text)
    places = [place for place, token in enumerate(tokens) if not token.isspace()]
    if places:
        alter(tokens, random.choice(places), random)
    return "".join(tokens)


def _put_token(text: str, random: Random) -> str:
    def alter(tokens: list[str], place: int, random: Random) -> None:
        tokens[place] = random.choice((*WORDS, *NUMBERS, random.choice(tokens)))

    return _tokens(text, random, alter)


def _add_token(text: str, random: Random) -> str:
    def alter(tokens: list[str], place: int, random: Random) -> None:
        tokens.insert(place, f" {random.choice((*WORDS, *NUMBERS, random.choice(tokens)))} ")

    return _tokens(text, random, alter)


def _drop_token(text: str, random: Random) -> str:
    def alter(tokens: list[str], place: int, random: Random) -> None:
        del tokens[place : place + random.choice((1, 1, 1, 2, 4))]

    return _tokens(text, random, alter)


def _swap_tokens(text: str, random: Random) -> str:
    def alter(tokens: list[str], place: int, random: Random) -> None:
        other = random.randrange(len(tokens))
        tokens[place], tokens[other] = tokens[other], tokens[place]

    return _tokens(text, random, alter)


def _replace_number(text: str, random: Random) -> str:
    found = list(re.finditer(r"\b\d+(\.\d+)?\b", text))
    if not found:
        return _put_token(text, random)
    spot = random.choice(found)
    return text[: spot.start()] + random.choice(NUMBERS) + text[spot.end() :]


def _terms(text: str) -> list[str]:
    return re.findall(r"[a-z]\w*\([^()]*\)", text) or ["a"]


def _swap_terms(text: str, random: Random) -> str:
    """Put one term of the text in the place of another."""
    found = list(re.finditer(r"[a-z]\w*\([^()]*\)|\b[A-Z_]\w*\b|\b[a-z]\w*\b", text))
    if not found:
        return text
    spot = random.choice(found)
    return text[: spot.start()] + random.choice(found).group() + text[spot.end() :]


def _nest(text: str, random: Random) -> str:
    """Wrap a term into others, a few or very many times."""
    found = list(re.finditer(r"[a-z]\w*\([^()]*\)|\b\w+\b", text))
    if not found:
        return text
    spot = random.choice(found)
    depth = random.choice((1, 2, 3, 30, 74, 120, 149, 1000))
    before, after = random.choice(BRACKETS)
    return text[: spot.start()] + before * depth + spot.group() + after * depth + text[spot.end() :]


def _clauses(text: str, random: Random, alter: Callable[[list[str], int, Random], None]) -> str:
    clauses = re.split(r"(?<=\.)\n", text)
    alter(clauses, random.randrange(len(clauses)), random)
    return "\n".join(clauses)


def _drop_clause(text: str, random: Random) -> str:
    def alter(clauses: list[str], place: int, random: Random) -> None:
        del clauses[place]

    return _clauses(text, random, alter)


def _repeat_clause(text: str, random: Random) -> str:
    def alter(clauses: list[str], place: int, random: Random) -> None:
        clauses[place:place] = [clauses[place]] * random.choice((1, 1, 2, 50))

    return _clauses(text, random, alter)


def _swap_clauses(text: str, random: Random) -> str:
    def alter(clauses: list[str], place: int, random: Random) -> None:
        other = random.randrange(len(clauses))
        clauses[place], clauses[other] = clauses[other], clauses[place]

    return _clauses(text, random, alter)


def _join_clauses(text: str, random: Random) -> str:
    """The head of one clause and the body of another."""

    def alter(clauses: list[str], place: int, random: Random) -> None:
        head = clauses[place].partition(":-")[0]
        clauses[place] = f"{head}:-{random.choice(clauses).partition(':-')[2] or ' true.'}"

    return _clauses(text, random, alter)


def _add_clause(text: str, random: Random) -> str:
    """A clause with terms, names and variables of the text."""
    terms, names = _terms(text), re.findall(r"\b[a-z]\w*\b", text) or ["a"]
    bound = re.findall(r"\b[A-Z_]\w*\b", text) or ["X"]
    parts: dict[str, Callable[[], str]] = {
        "c": lambda: random.choice(terms), "a": lambda: random.choice((*names, *WORDS)),
        "v": lambda: random.choice(bound), "n": lambda: random.choice((*NUMBERS, "3", "5", "7")),
        "o": lambda: random.choice(WORDS[:33]),
    }  # fmt: skip
    template = random.choice(CLAUSES)
    clause = re.sub(r"\{([cavno])\}", lambda spot: parts[spot.group(1)](), template)
    clauses = re.split(r"(?<=\.)\n", text)
    clauses.insert(random.randint(0, len(clauses)), clause)
    return "\n".join(clauses)


def _cut(text: str, random: Random) -> str:
    at = random.randint(0, len(text))
    return text[at:] if random.random() < 0.3 else text[:at]


ALTERATIONS: tuple[Callable[[str, Random], str], ...] = (
    _put_character, _drop_characters, _put_token, _put_token, _add_token, _drop_token, _swap_tokens,
    _replace_number, _swap_terms, _swap_terms, _nest, _drop_clause, _repeat_clause, _swap_clauses,
    _join_clauses, _join_clauses, _add_clause, _add_clause, _cut,
)  # fmt: skip


def altered_text(seed: int, folder: Path | None = None) -> str:
    """The text of a seed."""
    random = Random(seed)
    return altered(original(random, folder), random)


# -- commands --------------------------------------------------------------------------------


def _check(text: str, dialect: str | None = None) -> Checked:
    checked = check_source(f"{text}\n", dialect=dialect, facts_follow=dialect is not None)
    for write in (as_text, as_json, as_github):
        write(checked.diagnostics, checked.sources)
    return checked


def _format(text: str) -> None:
    if not any(diagnostic.is_error for diagnostic in parse(text).diagnostics):
        formatted = format_text(text)
        assert format_text(formatted) == formatted, "what was formatted is formatted otherwise"


def _plan(checked: Checked) -> None:
    program = Program(checked)
    explain(program.plan)
    as_text(program.plan.diagnostics, program.sources)


def _graph(checked: Checked) -> None:
    as_dot(checked.dependencies, checked.catalogue)
    as_svg(checked.dependencies, checked.catalogue)


def commands(text: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is done with a text, one command after the other; errors of `check` end it there."""
    found: list[Checked] = []
    yield "check", lambda: found.append(_check(text))
    yield "check --dialect rtec", lambda: _check(text, "rtec")
    yield "fmt", lambda: _format(text)
    if found and not found[0].has_errors:
        yield "plan", lambda: _plan(found[0])
        yield "graph", lambda: _graph(found[0])
        yield "plan --expand", lambda: expanded_text(parse(text).items)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong where the block takes more time of the processor."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooLong

    earlier = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier)


def failure_of(text: str, seconds: float = MOST_SECONDS) -> Failure | None:
    """What goes wrong with a text, if anything does: errors that say so are right."""
    command = ""
    try:
        # Some alterations make a text very long.
        with limited(seconds * max(len(text) / LONG, 1)):
            for command, run in commands(text):
                try:
                    run()
                except CernisError:
                    if command.startswith("check"):
                        raise
    except TooLong:
        place = traceback.format_exc(limit=-6)
        return Failure(command, "too long", place)
    except Exception as error:  # noqa: BLE001 - a crash of any kind is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} {Path(last.filename).name}:{last.lineno}"
        return Failure(command, kind, traceback.format_exc())
    return None


def shrunk(text: str, failure: Failure) -> str:
    """A shorter text with a failure of the same kind: lines left out, then characters."""
    for pieces in (text.splitlines(keepends=True), None):
        own = list(pieces if pieces is not None else text)
        if len(own) > 4000:
            continue
        size = max(len(own) // 2, 1)
        while size:
            at = 0
            while at < len(own):
                fewer = own[:at] + own[at + size :]
                found = failure_of("".join(fewer))
                if found is not None and (found.command, found.kind) == (
                    failure.command,
                    failure.kind,
                ):
                    own = fewer
                else:
                    at += size
            size //= 2
        text = "".join(own)
    return text


def _is_alike(found: Failure | None, failure: Failure) -> bool:
    return found is not None and (found.command, found.kind) == (failure.command, failure.kind)


def told(seed: int, text: str, failure: Failure) -> str:
    """What went wrong with which text, cut down to what it takes."""
    # Deep recursions are as long as they are deep, and would be cut down for minutes.
    is_quick = failure.kind != "too long" and "Recursion" not in failure.kind
    small = shrunk(text, failure) if is_quick else text
    title = f"seed {seed}: {failure.command}: {failure.kind}"
    return f"{title}\n{small[:1500]!r}\n{failure.message[-1500:]}"


def main(first: int, last: int, folder: Path | None = None) -> int:
    """Try the seeds; tell the first text of each kind of failure, and how many there are."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    kinds: Counter[tuple[str, str]] = Counter()
    slowest, began = (0.0, 0), time.perf_counter()
    for seed in range(first, last):
        text, start = altered_text(seed, folder), time.process_time()
        found = failure_of(text)
        slowest = max(slowest, (time.process_time() - start, seed))
        if found is None:
            continue
        kinds[found.command, found.kind] += 1
        if kinds[found.command, found.kind] == 1:
            print(told(seed, text, found), flush=True)
    for (command, kind), count in kinds.most_common():
        print(f"{count:6} {command}: {kind}")
    print(
        f"{last - first} texts, {kinds.total()} failures, {time.perf_counter() - began:.0f} s, "
        f"the slowest {slowest[0]:.2f} s (seed {slowest[1]})"
    )
    return 1 if kinds else 0


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--files", type=Path, help="a folder of rule files")
    return parser.parse_args(given)


if __name__ == "__main__":
    chosen = _arguments(sys.argv[1:])
    sys.exit(main(chosen.first, chosen.last, chosen.files))
