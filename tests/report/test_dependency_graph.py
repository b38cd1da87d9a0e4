"""The dependency graph as DOT and as SVG."""

import os
import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cernis.check import Checked
from cernis.program import load
from cernis.report.dependency_graph import as_dot, as_svg
from tests.plan.golden import programs

ROOT = Path(__file__).parents[2]
MARITIME = ROOT / "examples" / "maritime"
SVG = "{http://www.w3.org/2000/svg}"

PROGRAMS = programs()

CYCLE = """\
initiatedAt(phase(X)=up, T) :- happensAt(kick(X), T), holdsAt(phase(X)=down, T).
fi(phase(X)=up, phase(X)=down, 10).
fi(phase(X)=down, phase(X)=up, 10).
rep(X) <- kick(X).
rep(X) <- rep(X) seq kick(X) within 10.
"""
STRANGE = """\
initiatedAt('f\\x01 <g>&"q"'(X)='a\\nb', T) :- happensAt('\\ud800 \\\\ "e"'(X), T).
"""

needs_graphviz = pytest.mark.skipif(not shutil.which("dot"), reason="graphviz is not installed")
needs_chromium = pytest.mark.skipif(
    not shutil.which("chromium"), reason="chromium is not installed"
)
each_program = pytest.mark.parametrize("name", [*PROGRAMS, "cycle", "strange", "empty"])


@cache
def program(name: str) -> Checked:
    texts = {"cycle": CYCLE, "strange": STRANGE, "empty": "\n"}
    return load(texts[name]).checked if name in texts else load(*PROGRAMS[name]).checked


def dot(name: str, inputs: bool = True) -> str:
    return as_dot(program(name).dependencies, program(name).catalogue, inputs)


def svg(name: str, inputs: bool = True) -> str:
    return as_svg(program(name).dependencies, program(name).catalogue, inputs)


def titles(picture: str, tag: str) -> Counter[str]:
    """The titles of all elements of a kind."""
    elements = ElementTree.fromstring(picture).iter(f"{SVG}{tag}")
    found = (element.find(f"{SVG}title") for element in elements)
    return Counter(title.text or "" for title in found if title is not None)


def edges(name: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The edges there are, immediate and delayed, by the names of their ends."""
    graph = program(name).dependencies
    every = [*graph.edges, *graph.input_edges]
    delayed = {(str(e.source), str(e.target)) for e in every if e.kind == "delayed"}
    return {(str(e.source), str(e.target)) for e in every if e.kind != "delayed"}, delayed


# -- DOT -------------------------------------------------------------------------------------


@needs_graphviz
@each_program
def test_graphviz_accepts_it_without_a_word(name: str) -> None:
    done = subprocess.run(
        ["dot", "-Tsvg"], input=dot(name).encode("utf-8"), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b'class="edge"') == sum(map(len, edges(name)))


@needs_graphviz
def test_graphviz_draws_the_boxes_around_components() -> None:
    done = subprocess.run(
        ["dot", "-Tsvg"], input=dot("maritime").encode("utf-8"), capture_output=True, check=True
    )
    assert done.stdout.count(b'class="cluster"') == 5


def test_dot_has_every_vertex_and_edge() -> None:
    text = dot("cycle")
    names = dict(re.findall(r'^  (v\d+) \[label="([^"]*)"', text, re.MULTILINE))
    found = re.findall(r"^  (v\d+) -> (v\d+)( \[style=dashed\])?;$", text, re.MULTILINE)
    immediate = {(names[s], names[t]) for s, t, dashed in found if not dashed}
    delayed = {(names[s], names[t]) for s, t, dashed in found if dashed}
    assert sorted(names.values()) == ["kick", "phase=down", "phase=up", "rep"]
    assert (immediate, delayed) == edges("cycle")
    assert delayed == {("phase=up", "phase=down"), ("phase=down", "phase=up")}


def test_dot_marks_components() -> None:
    assert 'label="cyclic"' in dot("cycle")
    assert "cyclic" not in dot("maritime")
    assert "cluster" not in dot("toy")


def test_dot_leaves_the_input_out() -> None:
    assert 'label="velocity"' in dot("maritime")
    assert 'label="velocity"' not in dot("maritime", inputs=False)


# -- SVG -------------------------------------------------------------------------------------


@each_program
def test_svg_is_xml_with_every_vertex_and_edge(name: str) -> None:
    picture = svg(name)
    picture.encode("utf-8")
    immediate, delayed = edges(name)
    vertices = {str(vertex) for vertex in program(name).dependencies.vertices}
    vertices |= {end for edge in immediate | delayed for end in edge}
    if name != "strange":
        assert titles(picture, "g") == Counter(vertices)
        assert titles(picture, "path") == Counter(
            [f"{s} to {t}" for s, t in immediate] + [f"{s} to {t}, delayed" for s, t in delayed]
        )
    assert len(titles(picture, "g")) == len(vertices)


def test_svg_escapes_what_xml_cannot_hold() -> None:
    picture = svg("strange")
    ElementTree.fromstring(picture)
    assert "\x01" not in picture
    assert "f\\x01 <g>&\"q\"='a\\nb'" in titles(picture, "g")


@each_program
def test_svg_draws_no_edge_behind_a_vertex(name: str) -> None:
    root = ElementTree.fromstring(svg(name))
    boxes = [group.find(f"{SVG}rect") for group in root.iter(f"{SVG}g")]
    middles = {(int(box.get("x", "")), int(box.get("y", "")) + 13) for box in boxes
               if box is not None}  # fmt: skip
    for path in root.iter(f"{SVG}path"):
        level = re.findall(r" (\d+) (\d+) H(\d+)", path.get("d", ""))
        for x, y, end in level:
            assert int(end) - int(x) == 190
            assert all(abs(int(y) - middle) > 13 for left, middle in middles if left == int(x))


def test_svg_dashes_what_is_delayed_and_only_that() -> None:
    root = ElementTree.fromstring(svg("cycle"))
    found = {
        (path.findtext(f"{SVG}title", "").endswith(", delayed"), "stroke-dasharray" in path.attrib)
        for path in root.iter(f"{SVG}path")
        if path.get("class") == "edge"
    }
    assert found == {(True, True), (False, False)}


def test_svg_has_a_curve_from_a_vertex_to_itself() -> None:
    root = ElementTree.fromstring(svg("cycle"))
    (loop,) = [path for path in root.iter(f"{SVG}path")
               if path.findtext(f"{SVG}title") == "rep to rep"]  # fmt: skip
    heights = {point.split()[1] for point in re.split("[MC]", loop.get("d", "")) if point}
    assert len(heights) > 1


def test_svg_holds_all_it_draws() -> None:
    root = ElementTree.fromstring(svg("maritime"))
    width, height = int(root.get("width", "")), int(root.get("height", ""))
    for box in root.iter(f"{SVG}rect"):
        if box.get("x"):
            assert 0 <= int(box.get("x", "")) <= width - int(box.get("width", ""))
            assert 0 <= int(box.get("y", "")) <= height - int(box.get("height", ""))


def test_svg_leaves_the_input_out() -> None:
    assert "velocity" in titles(svg("maritime"), "g")
    assert "velocity" not in titles(svg("maritime", inputs=False), "g")
    assert ">input<" not in svg("maritime", inputs=False).split("level 1")[1]


def test_pictures_do_not_depend_on_the_order_of_hashes() -> None:
    code = (
        "import sys; from cernis.program import load\n"
        "from cernis.report.dependency_graph import *\n"
        "checked = load(sys.argv[1], sys.argv[2:]).checked\n"
        "print(as_dot(checked.dependencies, checked.catalogue))\n"
        "print(as_svg(checked.dependencies, checked.catalogue))\n"
    )
    files = [str(MARITIME / "rules.cer"), str(MARITIME / "facts.cer")]
    command = [sys.executable, "-c", code, *files]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"}
    drawn = {
        subprocess.run(
            command, env={**env, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(drawn) == 1
    assert drawn.pop()


# -- on the screen ---------------------------------------------------------------------------


def scanlines(image: bytes) -> list[bytes]:
    """The rows of a PNG image, as they are stored."""
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
    data, at = b"", 8
    while at < len(image):
        length = int.from_bytes(image[at : at + 4], "big")
        if image[at + 4 : at + 8] == b"IDAT":
            data += image[at + 8 : at + 8 + length]
        at += length + 12
    raw = zlib.decompress(data)
    size = len(raw) // height
    assert size > width
    return [raw[start : start + size] for start in range(0, len(raw), size)]


@needs_chromium
def test_a_browser_shows_the_picture(tmp_path: Path) -> None:
    (tmp_path / "maritime.svg").write_text(svg("maritime"), "utf-8")
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1000,600",
         f"--screenshot={tmp_path / 'maritime.png'}", (tmp_path / "maritime.svg").as_uri()],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    # Of a blank picture all rows are alike.
    assert len(set(scanlines((tmp_path / "maritime.png").read_bytes()))) > 100
