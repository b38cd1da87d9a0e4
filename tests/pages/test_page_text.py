"""The text of pages: titles are texts, only the script of the bundle runs, and the bundle is made
of the sources in `web`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cernis.pages.page_text import bundled, report_page

ROOT = Path(__file__).parent.parent.parent
BUNDLE = ROOT / "src" / "cernis" / "pages" / "bundle"


def test_a_title_is_no_markup() -> None:
    page = report_page("<script>alert(1)</script>", "")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_page_allows_its_own_script_and_nothing_from_elsewhere_but_tiles() -> None:
    page = report_page("a", "")
    policy = page.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_the_script_does_not_end_the_element_that_it_stands_in() -> None:
    for name in ("report.js", "graph.js"):
        assert "</script" not in bundled(name).lower()
    assert "</style" not in bundled("report.css").lower()


def test_notice_names_all_that_is_bundled() -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    titles = re.findall(r"(?m)^(\S+ [\d.]+) \(\w+\)$", bundled("LICENCES.txt"))
    assert len(titles) > 3
    for title in titles:
        assert title in notice


def test_the_bundle_is_what_npm_builds_from_the_sources(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so the bundle cannot be built again to be compared")
    web = tmp_path / "web"
    shutil.copytree(ROOT / "web", web, ignore=shutil.ignore_patterns("node_modules"))
    _install(npm, web)
    done = subprocess.run(
        ["node", "build.mjs", str(tmp_path / "bundle")],
        cwd=web, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    built = {each.name: each.read_bytes() for each in (tmp_path / "bundle").iterdir()}
    committed = {each.name: each.read_bytes() for each in BUNDLE.iterdir()}
    assert built.keys() == committed.keys()
    stale = [name for name in built if built[name] != committed[name]]
    assert stale == [], "run `npm ci && npm run build` in the folder web"


def _install(npm: str, web: Path) -> None:
    """What package-lock.json names, from what was installed before if it is still the same."""
    kept = ROOT / "web" / "node_modules"
    lock = kept / ".package-lock.json"
    if (
        lock.exists()
        and lock.stat().st_mtime >= (ROOT / "web" / "package-lock.json").stat().st_mtime
    ):
        (web / "node_modules").symlink_to(kept)
        return
    done = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund", "--prefer-offline"],
        cwd=web, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.returncode and "network" in done.stderr.lower():
        pytest.skip("npm could not reach its registry, so the bundle cannot be built again")
    assert done.returncode == 0, done.stderr
