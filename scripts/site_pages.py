"""Hooks of mkdocs: pages that stand outside of `docs`, and links and fences as the site needs them.

The README, the changelog, the benchmarks and the pages of the examples are pages of the site, too.
On the site all of them stand as they do in the repository, with the folder `docs` as its root; the
list of documents, `docs/README.md`, makes room for the README of the project.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
CONTENTS = "contents.md"

FENCE = re.compile(r"^( {0,3}`{3,})[ \t]*(\w+)[^\n`]*$", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s#]*)((?:#[^)\s]*)?\))")
LANGUAGES = {"events": "text", "intervals": "text", "console": "console", "sh": "sh"}


def outside_pages() -> list[Path]:
    """The pages of the repository that do not stand in `docs`."""
    top = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    return [
        *top,
        ROOT / "benchmarks" / "README.md",
        *sorted((ROOT / "examples").rglob("README.md")),
    ]


def site_path(path: Path) -> str:
    """Where a page or picture of the repository stands on the site."""
    if path == ROOT / "docs" / "README.md":
        return CONTENTS
    base = ROOT / "docs" if path.is_relative_to(ROOT / "docs") else ROOT
    return path.relative_to(base).as_posix()


def on_files(files: Files, *, config: Any) -> Files:
    """Take in the pages outside, and the list of documents under its name on the site."""
    listed = files.get_file_from_path("README.md")
    if listed is not None:
        files.remove(listed)
    files.append(generated(config, ROOT / "docs" / "README.md"))
    for path in outside_pages():
        files.append(generated(config, path))
    return files


def generated(config: Any, path: Path) -> File:
    """A page of the site that is a file of the repository."""
    return File.generated(config, site_path(path), abs_src_path=str(path))


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Links lead to where pages stand on the site; a fence names a language and nothing else."""
    source = Path(page.file.abs_src_path)

    def moved(match: re.Match[str]) -> str:
        return match[1] + moved_link(match[2], source, page.file.src_uri, files) + match[3]

    return FENCE.sub(plain_fence, LINK.sub(moved, markdown))


def moved_link(link: str, source: Path, page: str, files: Files) -> str:
    """A link of a page, as the site needs it; to a file that is not on the site, its name."""
    if not link or re.match(r"[a-z]+:", link):
        return link
    target = (source.parent / link).resolve()
    if not target.is_relative_to(ROOT):
        return link
    path = site_path(target)
    if files.get_file_from_path(path) is None:
        return "#"
    return posixpath.relpath(path, posixpath.dirname(page) or ".")


def plain_fence(match: re.Match[str]) -> str:
    """A fence with its language only; `cer broken` is still `cer`."""
    return f"{match[1]}{LANGUAGES.get(match[2], match[2])}"
