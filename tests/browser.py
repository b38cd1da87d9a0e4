"""A headless browser for tests and benchmarks: Debian's Chromium, driven with its chromedriver."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

MISSING = (
    "the tests of pages need Chromium and its driver: apt-get install chromium chromium-driver "
    "(scripts/setup dev does it where it may)"
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--force-device-scale-factor=1", "--hide-scrollbars",
)  # fmt: skip


def open_browser(width: int = 1280, height: int = 720) -> Chrome:
    """A browser with a new profile and a page of this size; whoever opens it calls `quit`."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        raise RuntimeError(MISSING)
    options = ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tempfile.mkdtemp(prefix='cernis-browser-')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(options=options, service=Service(driver))
    # The window has borders even where nobody sees them.
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    return browser


def wait_until_ready(browser: Chrome, seconds: float = 20) -> None:
    """Wait until a page has opened its data; what its console says if it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = browser.execute_script("return document.body?.dataset.ready")
        if state == "yes":
            return
        if state:
            break
        time.sleep(0.02)
    raise AssertionError(f"the page did not open: {browser.get_log('browser')}")


def wait_for(is_true: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something is true of a page."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)
