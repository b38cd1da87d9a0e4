"""Outcomes as JUnit XML, which servers of continuous integration read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as Xml

from cernis.testing.case_report import failure_text
from cernis.testing.case_sessions import CaseOutcome

_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""Characters that XML cannot hold."""


def junit_xml(outcomes: Sequence[CaseOutcome], seconds: float) -> str:
    """A test suite with a test case for each outcome."""
    counts = {
        "tests": len(outcomes),
        "failures": sum(bool(each.misses) and not each.error for each in outcomes),
        "errors": sum(bool(each.error) for each in outcomes),
    }
    figures = {name: str(count) for name, count in counts.items()}
    root = Xml.Element("testsuites")
    about = {"name": "cernis", "time": f"{seconds:.3f}", **figures}
    suite = Xml.SubElement(root, "testsuite", about)
    for outcome in outcomes:
        _add(suite, outcome)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _add(suite: Xml.Element, outcome: CaseOutcome) -> None:
    element = Xml.SubElement(
        suite, "testcase", classname=_clean(str(outcome.path)), name=_clean(outcome.name),
        file=_clean(str(outcome.path)), line=str(outcome.line), time=f"{outcome.seconds:.3f}",
    )  # fmt: skip
    if outcome.is_passed:
        return
    kind = "error" if outcome.error else "failure"
    first = outcome.error or f"expected {outcome.misses[0].expected}"
    trouble = Xml.SubElement(element, kind, message=_clean(first.splitlines()[0]))
    trouble.text = _clean(failure_text(outcome))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
