"""Reports as people see them: opened, hovered, clicked and zoomed in one headless browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cernis
from cernis.answers.reports.feed_board import FeedBoard
from cernis.answers.time_output import WHOLE_NUMBERS
from cernis.report.graph_page import as_page
from cernis.spark.live_server import LivePage, serve_live
from cernis.spark.metrics import Metrics
from tests.answers.reports.test_feed_board import changes
from tests.browser import open_browser, wait_for, wait_until_ready

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

RULES = """
:- time(zone('Europe/Athens')).
initiatedAt(speed(V)=high, T) :- happensAt(velocity(V, S), T), S > 8.5.
initiatedAt(speed(V)=low, T) :- happensAt(velocity(V, S), T), S =< 8.5.
initiatedAt(moored(V)=true, T) :- happensAt(stop(V), T).
terminatedAt(moored(V)=true, T) :- happensAt(velocity(V, S), T), S > 1.
"""
EVIL = "<script>document.title='broken'</script>"
START = "2026-03-29T02:30:00"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """One browser for all pages."""
    driver = open_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(browser: Chrome, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page of a small report, opened."""
    rows = [
        {"event": "velocity", "occurrence": f"2026-03-29T0{hour}:30:00", "V": vessel, "S": speed}
        for hour, speed in [(1, 3.0), (2, 9.0), (4, 12.5), (5, 2.0)]
        for vessel in ("b2", "b10", EVIL)
    ]
    rows += [{"event": "velocity", "occurrence": "2026-03-29T08:00:00", "V": "b2", "S": 0.5}]
    rows += [{"event": "stop", "occurrence": "2026-03-29T06:00:00", "V": "b2"}]
    file = tmp_path_factory.mktemp("report") / "page.html"
    cernis.load(RULES).run(rows).report(file, title="Ward & <i>harbour</i>")
    browser.get(file.as_uri())
    wait_until_ready(browser)
    return browser


def pointer(browser: Chrome, kind: str, row: int, time: str) -> None:
    """A pointer event in a row of the timeline, at a time that a script gives."""
    browser.execute_script(f"""
        const {{ timeline, model, view }} = window.cernis;
        const canvas = document.getElementById("lanes");
        const box = canvas.getBoundingClientRect();
        const init = {{ clientX: box.left + timeline.x({time}), bubbles: true, button: 0,
          clientY: box.top + 30 + 24 * {row} + 12, pointerId: 1 }};
        canvas.setPointerCapture = () => undefined;
        for (const name of {kind.split()!r}) canvas.dispatchEvent(new PointerEvent(name, init));
    """)


def text_of(browser: Chrome, name: str) -> str:
    return str(browser.execute_script(f"return document.getElementById('{name}').textContent"))


def rows_of(browser: Chrome) -> list[str]:
    return browser.execute_script("""
        const { timeline } = window.cernis;
        return Array.from({ length: timeline.rows.size }, (_, row) => timeline.labelOf(row));
    """)  # type: ignore[no-any-return]


def test_names_from_data_are_drawn_and_never_markup(page: Chrome) -> None:
    assert page.title == "Ward & <i>harbour</i>"
    assert text_of(page, "title") == "Ward & <i>harbour</i>"
    entities = [row.split(" · ")[0] for row in rows_of(page)]
    assert list(dict.fromkeys(entities)) == [EVIL, "b2", "b10"]


def test_hovering_tells_exact_times_in_the_zone_of_the_data(page: Chrome) -> None:
    row = rows_of(page).index("b2 · speed")
    pointer(page, "pointermove", row, "model.meta.end * 0.5")
    card = text_of(page, "card")
    assert "speed(b2) = high" in card
    # On that day clocks in Athens went from 03:00 to 04:00.
    assert "2026-03-29 02:30:01 +02:00" in card
    assert "2026-03-29 05:30:01 +03:00" in card
    assert "2 h" in card


def test_choosing_an_interval_shows_details_and_curves(page: Chrome) -> None:
    row = rows_of(page).index("b2 · speed")
    pointer(page, "pointerdown pointerup", row, "model.meta.end * 0.5")
    assert "speed(b2) = high" in text_of(page, "chosen")
    assert page.execute_script("return document.querySelectorAll('#curves canvas').length") == 1
    assert "velocity · S" in text_of(page, "curves")


def test_causes_lead_from_an_interval_to_its_record(page: Chrome) -> None:
    row = rows_of(page).index("b2 · speed")
    pointer(page, "pointermove", row, "model.meta.end * 0.5")
    card = text_of(page, "card")
    assert "began by the rule at <text>:3, from velocity(b2, 9) at 2026-03-29 02:30:00" in card
    assert "ended by the rule at <text>:4" in card


def test_keys_move_zoom_and_walk(page: Chrome) -> None:
    from selenium.webdriver.common.keys import Keys

    scroller = page.find_element("id", "scroller")
    width = "return window.cernis.view.high - window.cernis.view.low"
    before = page.execute_script(width)
    scroller.send_keys("++")
    assert page.execute_script(width) == pytest.approx(before * 0.49)
    low = page.execute_script("return window.cernis.view.low")
    scroller.send_keys(Keys.ARROW_RIGHT)
    assert page.execute_script("return window.cernis.view.low") > low
    scroller.send_keys("n")
    assert "speed(b2) = low" in text_of(page, "chosen")
    scroller.send_keys("p", "p", Keys.HOME)
    assert page.execute_script(width) == pytest.approx(before)
    scroller.send_keys(Keys.ESCAPE)
    assert not page.find_element("id", "details").is_displayed()


def test_search_and_filters_leave_what_is_asked_for(page: Chrome) -> None:
    from selenium.webdriver.common.keys import Keys

    search = page.find_element("id", "search")
    search.send_keys("moored")
    assert rows_of(page) == ["b2 · moored"]
    search.clear()
    search.send_keys("nobody")
    assert page.find_element("id", "empty").is_displayed()
    search.clear()
    search.send_keys("b10")
    assert rows_of(page) == ["b10 · events", "b10 · speed"]
    page.find_element("css selector", "#filters section li input").click()
    assert rows_of(page) == ["b10 · events"]
    page.find_element("css selector", "#filters section li input").click()
    search.send_keys(Keys.ESCAPE)
    assert len(rows_of(page)) == 7


def test_an_interval_has_the_pixels_of_its_time(page: Chrome) -> None:
    row = rows_of(page).index("b2 · moored")
    drawn = page.execute_async_script(f"""
        const done = arguments[arguments.length - 1];
        const {{ timeline, model, view }} = window.cernis;
        view.all();
        requestAnimationFrame(() => requestAnimationFrame(() => {{
          const context = document.getElementById("lanes").getContext("2d");
          const y = 30 + 24 * {row} + 12;
          const line = context.getImageData(0, y, timeline.x(view.high), 1).data;
          const moored = model.meta.fluents.findIndex((each) => each.name === "moored");
          const colour = timeline.colour(moored, model.values.indexOf("true"));
          const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).join();
          const places = [];
          for (let x = Math.ceil(timeline.labels); x < line.length / 4; x++)
            if (line.slice(4 * x, 4 * x + 3).join() === wanted) places.push(x);
          const set = model.fluents;
          const i = set.values.findIndex((value) => model.values[value] === "true");
          const ends = [set.starts[i], set.ends[i]].map(timeline.x);
          done([places[0], places[places.length - 1], ...ends]);
        }}));
    """)
    first, last, start, end = drawn
    assert abs(first - start) <= 1.5
    assert abs(last + 1 - end) <= 2


def test_the_summary_counts_and_tells_what_holds_together(page: Chrome) -> None:
    page.find_element("css selector", "[aria-controls=summary]").click()
    summary = text_of(page, "summary")
    assert "All records were used." in summary
    cells = page.execute_script(
        "return [...document.querySelectorAll('.matrix td')].map((each) => each.textContent)"
    )
    assert cells[-2:] == ["100%", ""]
    page.find_element("css selector", "[aria-controls=timeline]").click()


def test_light_and_dark(page: Chrome) -> None:
    theme = "return document.documentElement.dataset.theme"
    before = page.execute_script(theme)
    page.find_element("id", "theme").click()
    assert {before, page.execute_script(theme)} == {"light", "dark"}


def test_tracks_and_areas_are_on_a_map(browser: Chrome, tmp_path: Path) -> None:
    program = cernis.load("""
        :- event(seen(vessel:_, lat:number, lon:number)).
        initiatedAt(inside(V)=A, T) :-
            happensAt(seen(V, Lat, Lon), T), box(A, S, W, N, E), inBox(Lat, Lon, S, W, N, E).
        box(harbour, 40.0, -10.0, 40.2, -9.8).
    """)
    places = [("b2", 40.1 + step / 50, -9.9 + step / 50) for step in range(10)]
    rows = [("seen", 60 * number, 60 * number, *place) for number, place in enumerate(places)]
    program.run(rows).report(tmp_path / "map.html", areas={"features": []})
    browser.get((tmp_path / "map.html").as_uri())
    wait_until_ready(browser)
    browser.find_element("id", "maptab").click()
    tracks = browser.execute_script("return window.cernis.map.tracks.map((t) => [...t.times])")
    assert tracks == [[60 * number for number in range(10)]]
    assert browser.execute_script("return window.cernis.model.meta.areas[0].name") == "harbour"
    colours = browser.execute_async_script("""
        const done = arguments[arguments.length - 1];
        requestAnimationFrame(() => requestAnimationFrame(() => {
          const canvas = document.querySelector(".mapcanvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          done(new Set(new Uint32Array(data.buffer)).size);
        }));
    """)
    assert colours > 20
    assert "inside = harbour" in str(browser.find_element("class name", "legend").text)


def test_a_graph_tells_about_what_is_clicked(browser: Chrome, tmp_path: Path) -> None:
    (tmp_path / "graph.html").write_text(as_page(cernis.load(RULES).plan), "utf-8")
    browser.get((tmp_path / "graph.html").as_uri())
    wait_until_ready(browser)
    browser.execute_script(
        "[...document.querySelectorAll('[data-vertex]')].find((group) => "
        "group.textContent.includes('moored=true')).dispatchEvent(new MouseEvent('click'))"
    )
    about = text_of(browser, "about")
    assert "Its 2 rules" in about
    assert "initiatedAt(moored(V)=true, T)" in about
    back = browser.execute_script("""
        const titles = document.querySelectorAll("[data-vertex].back title");
        return [...titles].map((each) => each.textContent);
    """)
    assert sorted(back) == ["speed=high", "speed=low"]
    browser.find_element("css selector", "#about li button").click()
    assert "moored=true" in text_of(browser, "about").split("It feeds")[1]


def test_a_page_that_is_served_goes_along_with_the_stream(browser: Chrome) -> None:
    rules = """
        initiatedAt(on(X)=true, T) :- happensAt(level(X, L), T), L > 7.
        :- event(level(_, _)).
        :- event(seen(vessel:_, lon:number, lat:number)).
        terminatedAt(on(X)=true, T) :- happensAt(seen(X, _, _), T).
    """
    program = cernis.load(rules)
    board = FeedBoard("ward", checked=program.checked)
    live = serve_live(LivePage(board, Metrics), "127.0.0.1:0")
    try:
        live.page.take(changes(("insert", "b2", 2, None, 10)), WHOLE_NUMBERS)
        browser.get(live.address)
        wait_until_ready(browser)
        assert rows_of(browser) == ["b2 · on"]
        later = changes(
            ("delete", "b2", 2, None, 20), ("insert", "b2", 2, 6, 20), ("insert", "b1", 1, 30, 20)
        )
        live.page.take(later, WHOLE_NUMBERS)
        wait_for(lambda: rows_of(browser) == ["b1 · on", "b2 · on"])
        assert browser.execute_script("return window.cernis.model.ghosts.lanes.length") == 2
        # A view of all goes along with the end.
        view = browser.execute_script("return [window.cernis.view.low, window.cernis.view.high]")
        assert (view[0] <= 0, view[1] >= 29) == (True, True)
        assert "- on(b2) = true [2, )" in text_of(browser, "changes")
        assert "queries" in text_of(browser, "live")
        # Records come as marks, with curves beside thresholds; places among them as tracks.
        lines = "level|1|1|b2|9\nlevel|6|6|b2|3\nlevel|7|7|b2|5\n"
        live.page.take_records(list(program.records(lines).relations.values()))
        wait_for(lambda: rows_of(browser) == ["b1 · on", "b2 · events", "b2 · on"])
        pointer(browser, "pointerdown pointerup", 2, "3")
        assert "level · L" in text_of(browser, "curves")
        # The first record is before all intervals, and times count from it now.
        assert "from2" in text_of(browser, "chosen")
        assert not browser.find_element("id", "maptab").is_displayed()
        lines = "seen|8|8|b2|23.5|37.9\nseen|9|9|b2|23.6|37.9\n"
        live.page.take_records(list(program.records(lines).relations.values()))
        wait_for(lambda: browser.find_element("id", "maptab").is_displayed())
        assert browser.find_element("css selector", "#curves b").text == "b2"
        browser.find_element("id", "maptab").click()
        assert browser.execute_script("return window.cernis.map.tracks[0].times.length") == 2
    finally:
        live.close()
    wait_for(lambda: "ended" in text_of(browser, "live"))


def test_nothing_went_wrong_in_the_console(page: Chrome) -> None:
    # The log is that of all pages of this browser.
    assert page.get_log("browser") == []  # type: ignore[no-untyped-call]
