"""The page of diagnostics, section by section."""

from __future__ import annotations

from cernis.report.diagnostic_pages import section


def test_a_section_is_the_heading_of_its_code_and_all_up_to_the_next() -> None:
    found = section("C025")
    assert found is not None
    assert found.startswith("## C025")
    assert found.count("\n## ") == 0
    assert found == found.strip()


def test_a_code_that_there_is_not_has_no_section() -> None:
    assert section("C999") is None
    assert section("C02") is None
    assert section("") is None
