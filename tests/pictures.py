"""Make the pictures of docs/report.md: pages of examples, as a browser shows them.

    python -m tests.pictures

The pages are of the maritime example, with its seconds as times of a day, and of the rendez-vous.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import cernis
from tests.browser import open_browser, wait_until_ready

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ROOT = Path(__file__).parent.parent
DAY = 1_772_344_800
"""2026-03-01, six o'clock in UTC."""


def main() -> None:
    browser = open_browser(1280, 720)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        maritime_report(page)
        browser.get(page.as_uri())
        wait_until_ready(browser)
        choose(browser, "stopped")
        keep(browser, "report.png")
        rendezvous_report(page)
        browser.get(page.as_uri())
        wait_until_ready(browser)
        browser.find_element("id", "maptab").click()
        keep(browser, "report-map.png")
    browser.quit()


def maritime_report(page: Path) -> None:
    """The maritime example on the first of March."""
    example = ROOT / "examples" / "maritime"
    program = cernis.load(example / "rules.cer", [example / "facts.cer"])
    lines = (example / "events.txt").read_text().splitlines()
    program.run("\n".join(map(dated, lines)) + "\n").report(page, title="A day at sea")


def dated(line: str) -> str:
    """A record with its times, which are seconds, as dates."""
    name, *fields = line.split("|")
    count = 3 if name == "proximity" else 2
    for place in range(count):
        stamp = time.gmtime(DAY + int(fields[place]))
        fields[place] = time.strftime("%Y-%m-%dT%H:%M:%SZ", stamp)
    return "|".join([name, *fields])


def rendezvous_report(page: Path) -> None:
    """The rendez-vous example, with the tracks of its vessels."""
    from examples.rendezvous.__main__ import received, recognised
    from examples.rendezvous.simulate import simulate

    positions = received(simulate(7))
    recognised(positions).report(page, title="Rendez-vous", positions=positions)


def choose(browser: Chrome, fluent: str) -> None:
    """Choose the first interval of a fluent, and point at it."""
    browser.execute_script(f"""
        const {{ timeline }} = window.cernis;
        const rows = Array.from({{ length: timeline.rows.size }}, (_, row) => row);
        const row = rows.find((each) => timeline.labelOf(each).includes("{fluent}"));
        const canvas = document.getElementById("lanes");
        canvas.setPointerCapture = () => undefined;
        const box = canvas.getBoundingClientRect();
        const place = window.cernis.model.fluents.starts[0];
        const lane = timeline.rows.lanes[row];
        const set = window.cernis.model.fluents;
        const i = set.offsets[lane];
        const init = {{ clientX: box.left + timeline.x((set.starts[i] + set.ends[i]) / 2),
          clientY: box.top + 30 + 24 * row + 12, bubbles: true, button: 0, pointerId: 1 }};
        for (const name of ["pointermove", "pointerdown", "pointerup", "pointermove"])
          canvas.dispatchEvent(new PointerEvent(name, init));
    """)


def keep(browser: Chrome, name: str) -> None:
    """Write what the browser shows into the documents."""
    time.sleep(1)
    browser.save_screenshot(str(ROOT / "docs" / name))


if __name__ == "__main__":
    main()
