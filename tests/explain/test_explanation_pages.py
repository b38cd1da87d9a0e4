"""Explanations as pages: nothing else is needed, and nothing of the data is markup."""

from __future__ import annotations

from html.parser import HTMLParser

import cernis
from cernis.explain.explanation_pages import explanation_page

RULES = "initiatedAt(f(X)=true, T) :- happensAt(a(X), T). g(X)=true iff f(X)=true."


class Tags(HTMLParser):
    """Collects the tags of a page, and whether each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.folded = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        self.folded += tag == "details" and not attributes
        assert tag not in ("script", "link", "img"), "a page needs nothing else"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_is_well_formed_and_escapes_what_is_from_the_data() -> None:
    program = cernis.load(RULES)
    explanation = program.explain([("a", 1, 1, "<script>&x")], "g('<script>&x')", 3)
    page = explanation_page([explanation], 1)
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert "<script>" not in page
    assert "&lt;script&gt;&amp;x" in page
    assert tags.folded


def test_a_page_folds_what_is_deep() -> None:
    page = cernis.load(RULES).explain("a|1|1|x\n", "g(x)", 3).html(depth=0)
    assert "<details open>" not in page
