"""The tests mirror the source: folders are the same, and every module has tests.

A module has tests if one imports it by its name, if a file of tests is called after it, in the
folder of its name, or if it has examples that run as doctests. Others stand in a list, with the
tests that reach them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.test_layers import PACKAGE, imported, module_name

TESTS = Path(__file__).parent

APART = {"agreement", "cases", "conformance", "fuzz", "generators", "reference"}
"""Folders about the whole, which have no folder of the source beside them."""

# module, or folder with all in it: which tests reach it, though none imports it by name.
REACHED: dict[str, str] = {
    "check.catalogue": "tests/test_diagnostics_page.py gives every diagnostic",
    "check.clause_parts": "tests/check/test_lower.py lowers every form of clause",
    "check.dialect": "the cases called rtec_",
    "check.match_lengths": "tests/operators/patterns and the cases called pattern_",
    "check.pointrules": "tests/check/test_lower.py lowers every form of clause",
    "check.predicates": "tests/check/test_safety.py and test_names.py",
    "check.rewrites": "tests/check/test_lower.py and the cases, whose rules need them",
    "cli": "tests/cli runs every command",
    "evaluate": "the matrix runs every case on every evaluator, tests/session on random programs",
    "geo.ais_messages": "tests/geo/test_ais.py compares with pyais",
    "kernels.credible": "tests/evaluate/probabilities/test_credible_intervals.py has plain twins",
    "kernels.inertia.due_heap": "a part of the kernels of tests/kernels/inertia/test_unfold.py",
    "kernels.inertia.structures": "read by the kernels of test_delays.py and test_unfold.py",
    "kernels.intervals.pair_operations": "tests/kernels/intervals/test_list_operations.py",
    "kernels.shelf_rows": "tests/tables/test_shelves.py",
    "knowledge": "tests/knowledge compares all routes to an answer on random programs",
    "operators": "the cases and tests/agreement compare every operator with the reference",
    "plan.builder": "tests/plan/test_plan_text.py has the plans of all examples, word for word",
    "plan.pattern_plans": "tests/plan/test_plan_text.py",
    "plan.pattern_steps": "tests/plan/test_plan_text.py",
    "plan.pattern_words": "tests/plan/test_plan_text.py",
    "plan.rule_plans": "tests/plan/test_plan_text.py",
    "records.encoded_input": "tests/records/test_record_sources.py: every source, one result",
    "records.fields": "tests/records/test_record_sources.py",
    "records.python_rows": "tests/records/test_record_sources.py",
    "records.tabular": "tests/records/test_record_sources.py",
    "report.session_analysis": "tests/cli/test_plan_and_graph.py: plan --analyze",
    "session": "tests/session/saved restores sessions of every kind; tests/fuzz alters their files",
    "spark": "tests/spark runs batches, streams and their steps without Spark",
    "syntax.faults": "tests/syntax/test_recovery.py",
    "syntax.grammar": "tests/syntax/test_parser.py",
    "syntax.pattern_parser": "tests/syntax/test_parser.py",
}


def modules() -> Iterator[tuple[str, Path]]:
    """The modules of the package by their names."""
    for path in PACKAGE.rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            yield module_name(path)[0], path


def imports_of_tests() -> set[str]:
    """All that tests import, and the packages it is in."""
    found: set[str] = set()
    for path in TESTS.rglob("*.py"):
        module = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
        for _, name in imported(path.read_text("utf-8"), module):
            parts = name.split(".")
            found |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return found


def untested() -> set[str]:
    """Modules that no test imports, that no file of tests is called after, without examples."""
    known = imports_of_tests()
    return {
        name.removeprefix("cernis.")
        for name, path in modules()
        if name not in known and not _has_file(path) and ">>> " not in path.read_text("utf-8")
    }


def _has_file(path: Path) -> bool:
    return (TESTS / path.relative_to(PACKAGE)).with_name(f"test_{path.name}").exists()


def test_every_module_has_tests() -> None:
    new = {name for name in untested() if not _listed(name)}
    assert not new, f"write tests for {', '.join(sorted(new))}"


def test_the_list_has_nothing_that_has_tests_or_is_gone() -> None:
    old = REACHED.keys() - {part for name in untested() for part in _listed(name)}
    assert not old, f"take out of the list: {', '.join(sorted(old))}"


def _listed(name: str) -> set[str]:
    """What the list has of a module: its name, or folders it is in."""
    parts = name.split(".")
    return REACHED.keys() & {".".join(parts[:end]) for end in range(1, len(parts) + 1)}


def test_folders_of_tests_are_folders_of_the_source() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    odd = {
        str(folder) for folder in folders
        if folder.parts and folder.parts[0] not in APART and not (PACKAGE / folder).is_dir()
    }  # fmt: skip
    assert odd == set()
