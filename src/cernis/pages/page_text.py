"""The text of a page: a skeleton with styles, scripts and data in it, so that it needs no other."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

LIVE: Final = "connect-src 'self'"
"""What a page that a server gives may do beyond a page in a file."""


@cache
def bundled(name: str) -> str:
    """A file of the bundle, which `npm run build` in the folder `web` makes."""
    return (files("cernis.pages") / "bundle" / name).read_text("utf-8")


@cache
def _body(name: str) -> str:
    return (files("cernis.pages") / f"{name}_body.html").read_text("utf-8")


def report_page(title: str, data: str, allowed: str = "connect-src 'none'") -> str:
    """The page of a report; `data` is a payload in base64, or nothing if a server sends it."""
    return _page(title, "report", _body("report").replace("{{data}}", data), allowed)


def graph_page_text(title: str, facts: str) -> str:
    """The page of a dependency graph; the facts are JSON, in which no text ends the element."""
    safe = facts.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    body = _body("graph").replace("{{data}}", safe)
    return _page(title, "graph", body, "connect-src 'none'")


def _page(title: str, name: str, body: str, allowed: str) -> str:
    script = bundled(f"{name}.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Tiles of a map, if the reader turns them on, are the only thing that comes from elsewhere.
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        f"img-src data: https:; {allowed}"
    )
    return _PAGE.format(
        title=escape(title), policy=policy, style=bundled(f"{name}.css"), script=script, body=body
    )


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
{body}
<script>{script}</script>
</body>
</html>
"""
