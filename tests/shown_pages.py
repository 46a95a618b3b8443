"""Reports in a browser: pages that are opened, what they say and ask for, sliders that are dragged."""

import base64
import json
import shutil

import numpy as np
import pytest

from neuler.view.report import report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def launched():
    """A browser, for the fixture of that name."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


class Opened:
    """A page of a file, and all that it said and asked for."""

    def __init__(self, browser, path, width=1100, **options):
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.path = path
        self.page.goto(path.as_uri())
        self.page.wait_for_function("document.querySelector('#live-rows td[data-value]') !== null")

    def quiet(self):
        assert self.said == []
        assert [url for url in self.asked if not url.startswith("data:")] == [self.path.as_uri()]

    def values(self):
        """Positions and forces as the page has them, NaN where there is none."""
        script = """[...document.querySelectorAll('#live-rows tr')].map((row) =>
            [2, 4].map((k) => row.children[k].dataset.value ?? 'NaN'))"""
        return np.array(self.page.evaluate(script), dtype=float).T

    def drag(self, slider, share):
        """With the mouse, from the middle to a share of the slider's width."""
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + box["width"] / 2, y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + share * box["width"], y, steps=4)
        self.page.mouse.up()

    def numbers(self, key):
        """An array among the data."""
        return np.frombuffer(base64.b64decode(data_of(self)[key]))

    def painted(self):
        """The bytes of the picture."""
        self.page.wait_for_timeout(100)
        return self.page.evaluate("document.getElementById('live-canvas').toDataURL()")


def opened(browser, tmp_path, robot, **options):
    path = tmp_path / "report.html"
    path.write_text(report(robot, verbs=["gravity_force"], batch=16), encoding="utf-8")
    return Opened(browser, path, **options)


def data_of(shown):
    return json.loads(shown.page.text_content("#live-data"))
