"""A name says the role of a thing, and a public class has a name of its own.

Words that fit everything (`own`, `found`, `at`) may stand for what lives three lines, no longer.
The folders of `DONE` keep to this; a folder is added when its last such name is gone.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.test_layers import tree_of

PACKAGE = Path(__file__).parent.parent / "src" / "cernis"

VAGUE = frozenset({"own", "found", "told", "what", "given", "at", "asked", "begun", "behind"})
LONGEST_LIFE = 3

# Words of comments, docstrings and messages for which there is a current one.
OLD_WORDS: Mapping[str, str] = {
    "behind": "after",
    "reckon": "compute",
    "reckons": "computes",
    "reckoned": "numeric",
    "reckoning": "arithmetic",
    "anew": "again",
}

# The folders (or modules) under `cernis` without vague names and old words.
DONE: tuple[str, ...] = (
    "answers",
    "check",
    "cli",
    "compare",
    "errors",
    "evaluate",
    "explain",
    "geo",
    "kernels",
    "knowledge",
    "operators",
    "pages",
    "plan",
    "program",
    "records",
    "report",
    "session",
    "source",
    "spark",
    "syntax",
    "tables",
    "testing",
)

# Public classes that still share a name; one that no longer does is to be removed from here.
SHARED: frozenset[str] = frozenset()

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Scope = (
    Function
    | ast.Module
    | ast.ClassDef
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


def vague_names(text: str) -> list[tuple[int, str]]:
    """Line and name of all that a module calls by a vague word for more than three lines."""
    tree = tree_of(text)
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in VAGUE:
            names.add((node.lineno, node.name))
        if isinstance(node, Scope):
            names |= set(_long_lives(node))
        if isinstance(node, ast.ClassDef):
            names |= set(_fields(node))
    return sorted(names)


def _long_lives(scope: Scope) -> Iterator[tuple[int, str]]:
    """The vague names that a scope binds and mentions on lines too far apart."""
    bound = [(line, name) for line, name in _bound(scope) if name in VAGUE]
    for name in {name for _, name in bound}:
        lines = [line for line, each in bound if each == name] + _mentions(scope, name)
        if max(lines) - min(lines) >= LONGEST_LIFE:
            yield min(lines), name


def _bound(scope: Scope) -> Iterator[tuple[int, str]]:
    for node in _of_scope(scope):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            yield node.lineno, node.name


def _of_scope(scope: Scope) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of the scopes inside it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Scope):
            waiting += ast.iter_child_nodes(node)


def _mentions(scope: Scope, name: str) -> list[int]:
    nodes = [node for node in ast.walk(scope) if isinstance(node, ast.Name)]
    return [node.lineno for node in nodes if node.id == name]


def _fields(owner: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """The fields of a class, however short it is: others read them."""
    for line, name in _bound(owner):
        if name in VAGUE:
            yield line, name
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [(node.lineno, node.attr)] if node.attr in VAGUE else []


def old_words(text: str) -> list[tuple[int, str]]:
    """Line and word of all for which `OLD_WORDS` has a current one."""
    return [
        (number, word)
        for number, line in enumerate(text.splitlines(), 1)
        for word in re.findall(r"[a-z]+", line.lower())
        if word in OLD_WORDS
    ]


def shared_classes(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The public classes that several modules define, each with the modules."""
    modules = defaultdict(list)
    for module, text in texts.items():
        for node in tree_of(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(module)
    return {name: places for name, places in modules.items() if len(places) > 1}


def _texts(*folders: str) -> dict[str, str]:
    """The text of each module of some folders, by its path under the package."""
    paths = [
        path
        for folder in folders
        for top in [PACKAGE / folder]
        for path in (sorted(top.rglob("*.py")) if top.is_dir() else [top.with_suffix(".py")])
    ]
    return {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in paths}


def test_no_name_that_lives_long_is_vague() -> None:
    complaints = [
        f"{module}:{line}: `{name}` does not say what it stands for"
        for module, text in _texts(*DONE).items()
        for line, name in vague_names(text)
    ]
    assert not complaints, "\n" + "\n".join(complaints)


def test_sentences_use_current_words() -> None:
    complaints = [
        f'{module}:{line}: "{OLD_WORDS[word]}", or another current word, instead of "{word}"'
        for module, text in _texts(*DONE).items()
        for line, word in old_words(text)
    ]
    assert not complaints, "\n" + "\n".join(complaints)


def test_no_two_public_classes_share_a_name() -> None:
    shared = shared_classes(_texts(""))
    assert {name: places for name, places in shared.items() if name not in SHARED} == {}
    assert SHARED - shared.keys() == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "def f(own):\n    a = 1\n    b = 2\n    return own",
        "def f():\n    found = 1\n    a = 2\n    b = 3\n    return found",
        "def f(rows):\n    at = 1\n    a = 2\n    b = 3\n    return [at for row in rows]",
        "rows = [\n    own\n    for own\n    in lines\n    if own\n]",
        "def told():\n    pass",
        "class Row:\n    what: str",
        "class Row:\n    def __init__(self) -> None:\n        self.given = 1",
        "match row:\n    case given:\n        a = 1\n        b = 2\n        print(given)",
    ],
)
def test_a_vague_name_is_reported(text: str) -> None:
    assert len(vague_names(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(own):\n    a = 1\n    return own",
        "def f(row):\n    a = 1\n    b = 2\n    c = [own for own in row]\n    return row",
        "def f():\n    a = [own for own in c]\n    b = 1\n    d = 2\n    return [own for own in a]",
        "row.found()\nrows.at[0]\nuse(given=1)\nwalk(told=2)",
    ],
)
def test_other_names_are_left_alone(text: str) -> None:
    assert vague_names(text) == []


def test_old_words_are_reported_with_their_line() -> None:
    assert old_words("# after it\n# Behind it\nbehindhand = 1") == [(2, "behind")]


def test_a_shared_class_is_reported_with_its_modules() -> None:
    texts = {"a.py": "class Row: ...\nclass _Own: ...", "b.py": "class Row: ...\nclass _Own: ..."}
    assert shared_classes(texts) == {"Row": ["a.py", "b.py"]}
