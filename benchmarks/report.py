"""Reports: how large their data is, how soon they open, and how smoothly they move.

    python -m benchmarks.report [intervals ...]

Levels of devices are set at random (seed 7), so that each setting begins an interval. Pages are
opened in headless Chromium, which draws in software, at 1280x720; the pan is done frame by frame.
Of the times to write a page, those of the first size include what is done once in a process.
`open` is from the beginning of the navigation to the second frame, `gap` the median between frames,
`drawing` what the page itself took for one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import cernis
from cernis.answers.result import Result
from tests.browser import open_browser

RULES = "initiatedAt(level(Device)=Level, T) :- happensAt(set(Device, Level), T)."
LEVELS = ["low", "middle", "high", "critical"]
CONTENTS = ("alone", "with events", "with events and causes")

PAN = """
const done = arguments[arguments.length - 1];
const { view, timeline } = window.cernis;
const span = view.high - view.low;
view.set(view.low + span * 0.2, view.low + span * 0.5);
const gaps = [], costs = [];
let last = performance.now();
let frame = 0;
function step(now) {
  gaps.push(now - last);
  costs.push(timeline.cost);
  last = now;
  view.pan(frame < 60 ? 0.01 : -0.01);
  if (++frame < 120) requestAnimationFrame(step);
  else {
    const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];
    done([median(gaps.slice(5)), median(costs.slice(5)), timeline.drawn]);
  }
}
requestAnimationFrame(step);
"""


def events(count: int, per_device: int = 500) -> pa.Table:
    """Settings of devices at random times of a month; each level differs from the one before."""
    random = np.random.default_rng(7)
    devices = np.repeat(np.arange(-(-count // per_device)), per_device)[:count]
    times = random.integers(1_700_000_000, 1_702_592_000, count)
    steps = random.integers(1, len(LEVELS), count)
    levels = np.cumsum(steps) % len(LEVELS)
    order = np.lexsort((times, devices))
    return pa.table({
        "occurrence": times[order],
        "Device": pa.array([f"device{each}" for each in devices]),
        "Level": pa.array(LEVELS).take(pa.array(levels)),
    })  # fmt: skip


def main(sizes: list[int]) -> None:
    browser = open_browser()
    program = cernis.load(RULES)
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            result = program.run({"set": events(size)})
            for what in CONTENTS:
                _measure(browser, result, Path(folder) / "report.html", what)
    browser.quit()


def _measure(browser: object, result: Result, page: Path, what: str) -> None:
    began, worked = time.perf_counter(), time.process_time()
    result.report(page, events=what != CONTENTS[0], causes=what == CONTENTS[2])
    wrote, worked = time.perf_counter() - began, time.process_time() - worked
    text = page.read_text()
    data = text.split('id="cernis-data">')[1].split("</script>")[0]
    browser.get(page.as_uri())  # type: ignore[attr-defined]
    opened = _opened(browser)
    gap, cost, _ = browser.execute_async_script(PAN)  # type: ignore[attr-defined]
    count = sum(len(table.starts) for table in result.answer.fluents.values())
    print(
        f"{count:>9,} intervals, {what}: "
        f"written in {worked:.2f} s of processor time, {wrote:.1f} s on the clock; "
        f"fixed part {(len(text) - len(data)) / 1e3:.0f} kB, "
        f"{len(data) * 0.75 / count:.2f} bytes an interval ({len(data) / count:.2f} as base64); "
        f"open {opened / 1e3:.2f} s, gap {gap:.1f} ms, drawing {cost:.1f} ms"
    )


def _opened(browser: object) -> float:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        opened = browser.execute_script("return window.cernis?.openedAfter")  # type: ignore[attr-defined]
        if opened is not None:
            return float(opened)
        time.sleep(0.05)
    raise SystemExit("the page did not open within a minute")


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [100_000, 1_000_000])
