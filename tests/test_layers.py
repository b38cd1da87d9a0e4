"""Imports point one way, rooms are small, and every module has a name of its own.

Each layer of the package imports only the layers below it.

A layer is a folder, or a single module, directly under `cernis`. The tables are the rule. An
import counts wherever it stands: at the top of a module, in a function, or for types only.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "cernis"

ANYTHING = None
MOST_MODULES = 22

# layer: what it may import of cernis, a whole layer or one module of it. Itself always.
LAYERS: Mapping[str, frozenset[str] | None] = {
    "source": frozenset(),
    "errors": frozenset({"source"}),
    "syntax": frozenset({"source", "errors"}),
    "knowledge": frozenset({"source", "errors", "syntax"}),
    "check": frozenset({"source", "errors", "syntax", "knowledge"}),
    "plan": frozenset({"source", "errors", "syntax", "knowledge", "check"}),
    "kernels": frozenset(),
    "tables": frozenset({"errors", "kernels"}),
    "operators": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan", "kernels", "tables"}
    ),
    "records": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan", "kernels", "tables"}
    ),
    "evaluate": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan", "kernels", "tables"}
        | {"operators", "records"}
    ),
    # Pages for browsers: columns and texts go in, and it knows nothing of what they are about.
    "pages": frozenset({"errors"}),
    "answers": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "kernels.array_types", "tables"}
        | {"records", "evaluate", "pages"}
    ),
    # Only what asks for an explanation pays for it.
    "explain": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan", "kernels.array_types"}
        | {"tables", "records", "evaluate"}
    ),
    "session": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan", "kernels", "tables"}
        | {"operators", "records", "evaluate", "answers", "explain"}
    ),
    # Versions of a program against each other.
    "compare": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan", "kernels.array_types"}
        | {"tables", "records", "evaluate", "answers", "explain", "session"}
    ),
    "program": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan"}
        | {"records", "evaluate", "answers", "explain", "session", "compare"}
    ),
    # From positions to events: it knows nothing of rules.
    "geo": frozenset({"errors", "kernels"}),
    "spark": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "plan", "program"}
        | {"kernels", "tables", "operators", "records", "evaluate", "answers", "session", "geo"}
        | {"explain"}
        # Workers must have the version of the driver.
        | {"pages", "__version__"}
    ),
    # What users expect of their rules, against what comes of them.
    "testing": frozenset(
        {"source", "errors", "syntax", "knowledge", "check", "program", "kernels.array_types"}
        | {"tables", "operators.context.measuring", "records", "evaluate", "answers", "session"}
        | {"explain"}
    ),
    "report": frozenset(
        {"source", "errors", "syntax", "check", "plan", "program", "tables", "session", "pages"}
    ),
    "cli": ANYTHING,
    # A text in `cernis/__init__.py`.
    "__version__": frozenset(),
    # `cernis/__init__.py` offers what the layers have; tests/test_import.py keeps it light.
    "__init__": ANYTHING,
    "__main__": frozenset({"cli"}),
}

# package: the layers that may import it. Packages not named here are free.
FOREIGN: Mapping[str, frozenset[str]] = {
    "pyspark": frozenset({"spark"}),
    "numba": frozenset({"kernels"}),
    "pyarrow": frozenset(
        {"knowledge", "tables", "operators", "records", "evaluate", "answers", "session"}
        | {"geo", "spark"}
        | {"report", "cli"}
    ),
}


def layer_of(module: str) -> str:
    """`cernis.syntax.tree` is of layer `syntax`, `cernis` itself of layer `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_name(path: Path, package: Path = PACKAGE) -> tuple[str, bool]:
    """The dotted name of a source file, and whether it is a package's `__init__`."""
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    is_package = parts[-1] == "__init__"
    return ".".join(parts[:-1] if is_package else parts), is_package


@cache
def tree_of(text: str) -> ast.Module:
    """The tree of a module, which several tests look at."""
    return ast.parse(text)


def imported(text: str, module: str, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """Line and absolute name of all that a module imports.

    `from a import b` gives `a.b`, as b may be a module; so does a relative import.
    """
    for node in ast.walk(tree_of(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, module, is_package)
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def _origin(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def wrong_imports(text: str, module: str, is_package: bool = False) -> list[str]:
    """One line for each import of a module's text that the tables forbid, or for its layer."""
    layer = layer_of(module)
    if layer not in LAYERS:
        return [f"{module}: the layer `{layer}` is not in the table LAYERS"]
    return [
        f"{module}:{line}: the layer `{layer}` may not import {name}"
        for line, name in imported(text, module, is_package)
        if not _may_import(layer, name)
    ]


def _may_import(layer: str, name: str) -> bool:
    top, _, rest = name.partition(".")
    if top != "cernis":
        return top not in FOREIGN or layer in FOREIGN[top]
    allowed = LAYERS[layer]
    if allowed is ANYTHING or rest.split(".")[0] == layer:
        return True
    return any(rest == each or rest.startswith(each + ".") for each in allowed)


def test_no_module_imports_what_its_layer_may_not() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert files
    wrong = [
        complaint
        for file in files
        for complaint in wrong_imports(file.read_text("utf-8"), *module_name(file))
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_no_folder_has_more_modules_than_a_reader_can_survey() -> None:
    sizes = Counter(str(own.parent.relative_to(PACKAGE)) for own in _modules())
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_no_two_modules_share_a_name() -> None:
    names = Counter(own.stem for own in _modules())
    assert [name for name, times in names.items() if times > 1] == []


def _modules() -> list[Path]:
    return [own for own in PACKAGE.rglob("*.py") if own.name != "__init__.py"]


def test_the_table_has_no_cycle() -> None:
    below = {
        layer: {each.split(".")[0] for each in allowed}
        for layer, allowed in LAYERS.items()
        if allowed is not ANYTHING
    }
    while below:
        lowest = [layer for layer, uses in below.items() if not uses & below.keys()]
        assert lowest, f"layers in a cycle: {sorted(below)}"
        for layer in lowest:
            del below[layer]


def test_the_tables_name_known_layers_only() -> None:
    named = {each.split(".")[0] for allowed in LAYERS.values() for each in allowed or ()}
    named |= {layer for layers in FOREIGN.values() for layer in layers}
    assert named <= LAYERS.keys()


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("cernis.kernels.intervals.list_operations", "from cernis.plan import Union"),
        ("cernis.kernels.intervals.list_operations", "import pyarrow as pa"),
        ("cernis.syntax.parser", "import cernis.check.types"),
        ("cernis.syntax.parser", "from cernis import check"),
        ("cernis.syntax.parser", "from .. import check"),
        ("cernis.syntax.parser", "from ..check import types"),
        ("cernis.check.safety", "import cernis"),
        ("cernis.source", "from cernis.errors import Note"),
        ("cernis.errors", "from cernis.syntax import parse"),
        ("cernis.errors", "from cernis.syntax.tree import Term"),
        ("cernis.session.session", "import pyspark.sql"),
        ("cernis.operators.union", "def f():\n    from numba import njit"),
        (
            "cernis.plan.strata",
            "if TYPE_CHECKING:\n    from cernis.evaluate.columns.state import State",
        ),
        ("cernis.plans.strata", ""),
    ],
)
def test_a_wrong_import_is_found(module: str, text: str) -> None:
    assert len(wrong_imports(text, module)) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("cernis.syntax.parser", "from cernis.errors import Diagnostic"),
        ("cernis.syntax.parser", "from . import tree"),
        ("cernis.errors", "from cernis.source import Place"),
        ("cernis.check.safety", "from ..syntax.tree import Term"),
        ("cernis.spark.batch.batch_run", "from pyspark.sql import DataFrame"),
        ("cernis.kernels.intervals.list_operations", "from numba import njit\nimport numpy as np"),
        ("cernis.cli.main", "import cernis\nfrom cernis.spark import batch"),
    ],
)
def test_a_right_import_is_left_alone(module: str, text: str) -> None:
    assert wrong_imports(text, module) == []


def test_a_relative_import_in_an_init_starts_from_its_own_folder() -> None:
    assert list(imported("from .tree import Term", "cernis.syntax", is_package=True)) == [
        (1, "cernis.syntax.tree.Term")
    ]
    assert list(imported("from .tree import Term", "cernis.syntax.parser")) == [
        (1, "cernis.syntax.tree.Term")
    ]
