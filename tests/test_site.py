"""The documents as a site: it builds, has all pages, and fetches nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_documents import DOCUMENTS, ROOT

FETCHED = re.compile(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?(https?://[^"' >]+)""")
ATTRIBUTE = re.compile(r'id="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_document_is_a_page(site: Path) -> None:
    names = {path.stem for path in DOCUMENTS if path.stem != "README"}
    pages = {path.stem for path in site.glob("*.html")}
    assert names | {"index", "contents", "CHANGELOG"} <= pages


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    fetched = [
        f"{page.relative_to(site)}: {address}"
        for page in site.rglob("*.html")
        for address in FETCHED.findall(page.read_text("utf-8"))
    ]
    assert fetched == []


def test_the_search_finds_what_pages_say(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    places = {entry["location"] for entry in index["docs"] if "half-open" in entry["text"]}
    assert any(place.startswith("glossary.html") for place in places)


def test_the_library_is_described_from_its_docstrings(site: Path) -> None:
    page = (site / "api.html").read_text("utf-8")
    described = set(ATTRIBUTE.findall(page))
    public = {"load", "Program", "Program.run", "Program.session", "Program.explain"}
    assert {f"cernis.program.{name}" for name in public} <= described
    assert "cernis.spark.stream" in described
