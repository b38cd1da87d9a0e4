"""RTEC's own unit tests give what RTEC expects, but for those that are named here with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.rtec import folder, needs_rtec
from tests.conformance.unit_tests import FILES, TestFile, answers, program_of, visible

pytestmark = needs_rtec()

_EDGE = "asks for points before the window's edge"
LEFT_OUT = {
    ("negotiation_quote_notextended", "ne_netbill_quote", 3):
        "RTEC takes one deadline of a pair across the window's edge, and there are two",
    ("allen/maritime", "maritime", 2): _EDGE,
    ("allen/maritime", "maritime", 4): _EDGE,
    ("allen/maritime", "maritime", 6): _EDGE,
    ("allen/personDoor", "personDoor", 2): _EDGE,
    ("allen/personDoorCombined", "personDoor", 4): _EDGE,
}  # fmt: skip
"""Tests in which RTEC's answer depends on its windows."""


@pytest.mark.parametrize("name", FILES)
def test_unit_tests(name: str, tmp_path: Path) -> None:
    source = folder()
    assert source is not None
    file = TestFile(source / f"unit-tests/RTEC-tests/tests/{name}.prolog")
    programs, unlike, compared = {}, [], 0
    for case in file.cases():
        if case.memory not in programs:
            programs[case.memory] = program_of(file, case.memory, tmp_path)
        found = answers(programs[case.memory], case, name)
        queries = [query for query, _ in case.feeds]
        compared += 1
        is_same = all(
            visible(one, query, case) == visible(other, query, case)
            for one, other, query in zip(found, case.expected, queries, strict=True)
        )
        if not is_same:
            unlike.append((name, case.name, case.number))
    assert compared
    assert unlike == [each for each in LEFT_OUT if each[0] == name]
