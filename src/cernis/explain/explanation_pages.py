"""Explanations as HTML: one page that needs nothing else, with reasons that fold and unfold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from cernis.explain.explanation_tree import Explanation, Reason

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em;
       color: #222; background: #fff; }
ul { list-style: none; margin: 0; padding-left: 1.4em; border-left: 1px solid #ddd; }
summary { cursor: pointer; }
.place { color: #777; font-size: 85%; }
.record { color: #1a6b2f; } .fact { color: #11677a; } .absent { color: #7a2f7a; }
.failed { color: #b02a1a; } .miss, .change { color: #8a5a00; } .note, .kept { color: #666; }
.pair, .event { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #181818; } ul { border-color: #444; }
  .record { color: #7fd18f; } .fact { color: #7cc7d8; } .absent { color: #d79ad7; }
  .failed { color: #ff8f80; } .miss, .change { color: #e0b050; }
}
"""


def explanation_page(explanations: Sequence[Explanation], depth: int) -> str:
    """A page with the tree of each explanation; what is from the data is escaped."""
    title = escape(_title(explanations[0])) if explanations else "nothing to explain"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{''.join(_section(each, depth) for each in explanations)}</body>\n</html>\n"
    )


def _section(explanation: Explanation, depth: int) -> str:
    verdict = "true" if explanation.holds else "not true"
    tree = "".join(_node(explanation.tree, depth))
    return f"<h1>{escape(_title(explanation))}</h1>\n<p>{verdict}</p>\n<ul>{tree}</ul>\n"


def _title(explanation: Explanation) -> str:
    return f"{explanation.question} at {explanation.shown_time or explanation.time}"


def _node(reason: Reason, depth: int) -> Iterator[str]:
    kind = escape(reason.kind, quote=True)
    line = f'<span class="{kind}">{escape(_sentence(reason))}</span>'
    if reason.place:
        line += f' <span class="place">{escape(reason.place)}</span>'
    if not reason.reasons:
        yield f"<li>{line}</li>\n"
        return
    is_open = " open" if depth > 0 else ""
    yield f"<li><details{is_open}><summary>{line}</summary><ul>\n"
    for below in reason.reasons:
        yield from _node(below, depth - 1)
    yield "</ul></details></li>\n"


def _sentence(reason: Reason) -> str:
    if not reason.bindings:
        return reason.text
    named = ", ".join(f"{name}={each}" for name, each in reason.bindings.items())
    return f"{reason.text} with {named}"
