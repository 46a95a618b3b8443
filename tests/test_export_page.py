"""The report in a browser: sliders are dragged, forces are the kernel's, nothing is loaded, nothing complains."""

import base64

import numpy as np
import pytest

import neuler
from neuler.view.report import report
from shown_pages import opened
from shown_robots import HOSTILE, at, bar

pytestmark = [pytest.mark.exports, pytest.mark.usefixtures("brief")]


@pytest.mark.parametrize("width", [1100, 400])
def test_a_joint_is_dragged(browser, tmp_path, width):
    robot = neuler.robots.puma560()
    shown = opened(browser, tmp_path, robot, width=width)
    q, forces = shown.values()
    np.testing.assert_array_equal(q, robot.neutral())
    np.testing.assert_allclose(forces, robot.gravity_force(q), rtol=1e-12, atol=1e-12)
    before = shown.painted()
    sliders = shown.page.query_selector_all("#live-rows input")
    for k, slider in enumerate(sliders):
        shown.drag(slider, 0.25 + 0.1 * k)
    q, forces = shown.values()
    assert (np.abs(q) > 0.1).sum() >= 5
    np.testing.assert_allclose(forces, robot.gravity_force(q), rtol=1e-12, atol=1e-12)
    text = shown.page.inner_text("#live-rows tr:nth-child(2) td:nth-child(5)")
    assert float(text.replace("\u2212", "-")) == pytest.approx(forces[1], rel=1e-3)
    assert shown.painted() != before
    sliders[1].focus()
    shown.page.keyboard.press("ArrowRight")
    assert shown.values()[0][1] > q[1]
    shown.page.click("#live-reset")
    np.testing.assert_array_equal(shown.values()[0], robot.neutral())
    assert shown.painted() == before
    scrolls = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not shown.page.evaluate(scrolls)
    shown.quiet()


def test_the_picture_is_turned_and_the_wheel_scrolls(browser, tmp_path):
    shown = opened(browser, tmp_path, neuler.robots.puma560())
    canvas = shown.page.query_selector("#live-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    before = shown.painted()
    shown.page.mouse.move(box["x"] + 100, box["y"] + 100)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 180, box["y"] + 120, steps=3)
    shown.page.mouse.up()
    turned = shown.painted()
    assert turned != before
    top = shown.page.evaluate("window.scrollY")
    shown.page.mouse.wheel(0, 300)
    assert shown.painted() == turned
    assert shown.page.evaluate("window.scrollY") > top
    shown.page.click("#live-view")
    assert shown.painted() == before
    shown.page.check("#live-masses")
    assert shown.painted() != before
    shown.quiet()


def test_a_loop_goes_along_its_test_motion(browser, tmp_path):
    robot = neuler.robots.four_bar()
    shown = opened(browser, tmp_path, robot)
    way = shown.page.query_selector("#live-way")
    seen = [shown.values()]
    for share in (0.4, 0.95):
        shown.drag(way, share)
        seen.append(shown.values())
    assert len({float(q[0]) for q, _ in seen}) == 3
    path = shown.numbers("path").reshape(-1, robot.nq)
    for q, forces in seen:
        (row,) = np.flatnonzero(path[:, robot.coordinates["crank"].q.start] == q[0])[:1]
        still = np.zeros(robot.nv)
        np.testing.assert_allclose(forces, robot.inverse_dynamics(path[row], still, still), rtol=1e-11)
    shown.quiet()


def test_hostile_names(browser, tmp_path):
    links = [neuler.Link("base"), bar("</script>" + HOSTILE)]
    joint = neuler.Joint("<img src=x onerror=alert(1)>", "revolute", "base", links[1].name, at(0.1), axis=(0, 1, 0))
    shown = opened(browser, tmp_path, neuler.Robot(HOSTILE, links, [joint]))
    assert shown.page.inner_text("#live-rows th") == "<img src=x onerror=alert(1)>"
    assert shown.page.query_selector("img[src=x]") is None
    shown.quiet()


def test_the_loader_in_a_page(browser, tmp_path):
    """Bytes from the page itself; a file that cannot be fetched is an error that says so."""
    robot = neuler.robots.puma560()
    module = robot.inverse_dynamics.wasm("torque")
    path = tmp_path / "empty.html"
    path.write_text("<!DOCTYPE html><title>empty</title>")
    page = browser.new_page()
    page.goto(path.as_uri())
    script = """async ([text, bytes]) => {
        const { load } = await import("data:text/javascript;base64," + text);
        const torque = await load(Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)));
        return [...torque([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], [1, 1, 1, 1, 1, 1])];
    }"""
    texts = [base64.b64encode(x).decode() for x in (module.loader.encode(), module.binary)]
    found = page.evaluate(script, texts)
    states = np.arange(1.0, 7.0), np.arange(6.0, 0.0, -1.0), np.ones(6)
    np.testing.assert_allclose(found, robot.inverse_dynamics(*states), rtol=1e-12)


def test_a_browser_without_webassembly(browser, tmp_path):
    """The robot is drawn, and the page says what is missing."""
    path = tmp_path / "report.html"
    path.write_text(report(neuler.robots.two_link(), verbs=["gravity_force"], batch=16), encoding="utf-8")
    page = browser.new_page()
    page.add_init_script("delete globalThis.WebAssembly")
    said = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    assert "runs no WebAssembly" in page.inner_text("#live-note")
    assert page.is_visible("#live-note")
    assert said == []
