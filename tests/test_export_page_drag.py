"""The report in a browser: links and joints are dragged on the drawing, by mouse and by finger."""

import numpy as np
import pytest

import neuler
from neuler.view.report import report
from neuler.view.scene import Scene
from shown_pages import Opened, data_of, opened
from shown_robots import all_kinds, at, bar, geared

pytestmark = [pytest.mark.exports, pytest.mark.usefixtures("brief")]

SEE = """(p) => {
    const data = JSON.parse(document.getElementById('live-data').textContent), camera = new Camera(data);
    const canvas = document.getElementById('live-canvas'), box = canvas.getBoundingClientRect();
    camera.look(canvas.clientWidth, canvas.clientHeight);
    const at = camera.see(p);
    return [at.x + box.left + canvas.clientLeft, at.y + box.top + canvas.clientTop];
}"""


class Drawing:
    """Where points of a robot are in its page, and a pointer."""

    def __init__(self, shown, robot):
        self.shown, self.page, self.robot = shown, shown.page, robot
        self.links = Scene.of(robot).links
        self.page.query_selector("#live-canvas").scroll_into_view_if_needed()

    def at(self, q, link, point):
        """Of a point of a link: pixels of the page, by the first camera."""
        pose = self.robot.link_poses(q)[link]
        return np.array(self.page.evaluate(SEE, (pose[:3, :3] @ point + pose[:3, 3]).tolist()))

    def drag(self, start, *ends, steps=6):
        self.page.mouse.move(*start)
        self.page.mouse.down()
        for end in ends:
            self.page.mouse.move(*end, steps=steps)
        cursor = self.cursor()
        self.page.mouse.up()
        return cursor

    def cursor(self):
        return self.page.evaluate("getComputedStyle(document.getElementById('live-canvas')).cursor")

    def lit(self):
        """Names in the table that stand out."""
        self.page.wait_for_timeout(100)
        return self.page.evaluate("[...document.querySelectorAll('#live-rows tr.lit th')].map((x) => x.textContent)")

    def q(self):
        """Positions, of those that the table has; the others as they are first."""
        q = np.array(self.robot.neutral(), dtype=float)
        for row, value in zip(data_of(self.shown)["rows"], self.shown.values()[0], strict=True):
            if "place" in row:
                q[row["place"]] = value
        return q


def boom():
    """A hinge with limits that lifts a rod, out of which another one slides."""
    joints = [
        neuler.Joint("hinge", "revolute", "base", "a", axis=(0, 1, 0), limits=neuler.Limits(-0.6, 0.4, effort=20.0)),
        neuler.Joint("slide", "prismatic", "a", "b", at(0.5), axis=(1, 0, 0), limits=neuler.Limits(0.0, 0.3)),
    ]
    return neuler.Robot("boom", [neuler.Link("base"), bar("a"), bar("b")], joints)


CASES = {
    "a hinge": (neuler.robots.puma560(), 3, (0.01015, 0.2159, 0.0), {"joint3": -0.5}),
    "the one before it": (neuler.robots.puma560(), 2, (0.2159, 0.0, 0.075), {"joint2": 0.6}),
    "of limits": (boom(), 1, (0.3, 0.0, 0.0), {"hinge": -0.3}),
    "a slide": (boom(), 2, (0.1, 0.0, 0.0), {"slide": 0.2}),
    "a coupled joint": (geared(), 2, (0.2, 0.0, 0.0), {"lead": -0.25}),
    "a base with three numbers": (all_kinds(), 1, (0.15, 0.15, 0.05), {"cart x": 0.3, "cart y": 0.3}),
    "a gantry": (all_kinds(), 6, (0.15, 0.0, 0.0), {"gantry x": 0.1, "gantry y": 0.1, "gantry z": 0.1}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_dragged_follows_the_pointer(browser, tmp_path, name):
    """To where it is seen when the nearest joint has moved; forces there are those of the kernel."""
    robot, link, point, moves = CASES[name]
    shown = opened(browser, tmp_path, robot)
    drawing, rows = Drawing(shown, robot), data_of(shown)["rows"]
    q = np.array(robot.neutral(), dtype=float)
    wanted = q.copy()
    for row in rows:
        wanted[row.get("place", 0)] += moves.get(row["name"], 0.0)
    start, end = (drawing.at(x, link, np.array(point)) for x in (q, wanted))
    assert np.hypot(*(end - start)) > 5
    shown.page.mouse.move(*start)
    names = {row["name"] for row in rows if row.get("body") in {r["body"] for r in rows if r["name"] in moves}}
    assert set(drawing.lit()) == names
    assert drawing.cursor() == "grab"
    assert drawing.drag(start, end) == "grabbing"
    found, forces = drawing.q(), shown.values()[1]
    if len(moves) == 1:
        np.testing.assert_allclose(found, wanted, atol=3e-3)
    else:  # several ways lead there
        others = [k for k in range(robot.nq) if k not in {row.get("place") for row in rows if row["name"] in names}]
        np.testing.assert_array_equal(found[others], q[others])
        np.testing.assert_allclose(drawing.at(found, link, np.array(point)), end, atol=0.5)
    assert not np.array_equal(found, q)
    np.testing.assert_allclose(forces, robot.gravity_force(found), rtol=1e-12, atol=1e-12)
    sliders = shown.page.evaluate("[...document.querySelectorAll('#live-rows input')].map((x) => parseFloat(x.value))")
    np.testing.assert_allclose(sliders, [found[row["place"]] for row in rows if "lower" in row], atol=1e-12)
    shown.quiet()


def test_limits_and_whole_turns(browser, tmp_path):
    """A joint stops at its limit; one without any goes round, and numbers stay within half a turn."""
    shown = opened(browser, tmp_path, boom())
    drawing = Drawing(shown, boom())
    start = drawing.at([0, 0], 1, np.array([0.3, 0, 0]))
    drawing.drag(start, start + [0, 300], start + [-60, 300])
    assert shown.values()[0][0] in (-0.6, 0.4)
    drawing.drag(drawing.at(shown.values()[0], 1, np.array([0.3, 0, 0])), start + [0, -400])
    assert shown.values()[0][0] in (-0.6, 0.4)
    shown.quiet()
    arm = neuler.robots.two_link()
    shown = opened(browser, tmp_path, arm)
    drawing, point = Drawing(shown, arm), np.array([0.3, 0, 0])
    way = [drawing.at([q, 0], 1, point) for q in np.linspace(0, 2 * np.pi + 0.5, 40)]
    seen = []
    shown.page.mouse.move(*way[0])
    shown.page.mouse.down()
    for end in way:
        shown.page.mouse.move(*end)
        seen.append(shown.values()[0][0])
    shown.page.mouse.up()
    assert np.abs(seen).max() <= np.pi
    np.testing.assert_allclose(np.unwrap(seen), np.linspace(0, 2 * np.pi + 0.5, 40), atol=5e-3)


def test_a_joint_is_turned_by_its_mark(browser, tmp_path):
    """Also one that nothing before it could move; and by its link, where that lies in its axis."""
    upright = neuler.Robot(
        "post", [neuler.Link("base"), bar("a")], [neuler.Joint("waist", "revolute", "base", "a", axis=(1, 0, 0))]
    )
    for robot, link, point, name in (
        (neuler.robots.two_link(), 1, (0.0, 0.0, 0.0), "joint1"),
        (upright, 1, (0.1, 0.0, 0.0), "waist"),
    ):
        shown = opened(browser, tmp_path, robot)
        drawing = Drawing(shown, robot)
        start = drawing.at(robot.neutral(), link, np.array(point))
        shown.page.mouse.move(*start)
        assert drawing.lit() == [name]
        drawing.drag(start, start + [10, 25])
        q, forces = shown.values()
        assert abs(q[0]) > 0.05
        np.testing.assert_allclose(forces, robot.gravity_force(q), rtol=1e-12, atol=1e-12)
        shown.quiet()


def test_beside_the_robot_the_picture_turns(browser, tmp_path):
    robot = neuler.robots.puma560()
    shown = opened(browser, tmp_path, robot)
    drawing = Drawing(shown, robot)
    box = shown.page.query_selector("#live-canvas").bounding_box()
    corner = np.array([box["x"] + 20, box["y"] + 20])
    before = shown.painted()
    shown.page.mouse.move(*corner)
    assert drawing.cursor() == "move"
    assert drawing.lit() == []
    drawing.drag(corner, corner + [60, 30])
    assert shown.painted() != before
    np.testing.assert_array_equal(shown.values()[0], robot.neutral())
    shown.page.click("#live-view")
    shown.page.mouse.move(*corner)
    assert shown.painted() == before
    shown.page.keyboard.down("Shift")  # moves the picture, also on the robot
    drawing.drag(drawing.at(robot.neutral(), 2, np.array([0.2159, 0, 0.075])), corner)
    shown.page.keyboard.up("Shift")
    np.testing.assert_array_equal(shown.values()[0], robot.neutral())
    shown.quiet()


def test_loops_are_dragged_along_the_test_motion(browser, tmp_path):
    robot = neuler.robots.four_bar()
    shown = opened(browser, tmp_path, robot)
    drawing, data = Drawing(shown, robot), data_of(shown)
    path = shown.numbers("path").reshape(-1, robot.nq)
    crank, point = robot.coordinates["crank"].q.start, np.array([0.225, 0.0, 0.0])
    start, end = (drawing.at(path[k], 2, point) for k in (0, 40))
    assert drawing.drag(start, end) == "grabbing"
    assert shown.page.evaluate("document.getElementById('live-way').value") == "40"
    q, forces = shown.values()
    assert q[0] == path[40, crank]
    still = np.zeros(robot.nv)
    np.testing.assert_allclose(forces, robot.inverse_dynamics(path[40], still, still), rtol=1e-11)
    drawing.drag(end, start + 3 * (start - end))
    assert shown.values()[0][0] == path[0, crank]
    assert not any("lower" in row for row in data["rows"])
    shown.quiet()


def test_by_finger(browser, tmp_path):
    """A finger on a link moves it and does not scroll the page; two fingers zoom."""
    robot = neuler.robots.puma560()
    shown = opened(browser, tmp_path, robot, width=400, has_touch=True, is_mobile=True)
    drawing = Drawing(shown, robot)
    touch = shown.page.context.new_cdp_session(shown.page)

    def send(kind, *points):
        spots = [{"x": float(x), "y": float(y), "id": k} for k, (x, y) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    q = np.array(robot.neutral(), dtype=float)
    wanted, point = q.copy(), np.array([0.2159, 0.0, 0.075])
    wanted[1] = 0.7
    start, end = (drawing.at(x, 2, point) for x in (q, wanted))
    top = shown.page.evaluate("window.scrollY")
    send("touchStart", start)
    for share in np.linspace(0.1, 1.0, 10):
        send("touchMove", start + share * (end - start))
    send("touchEnd")
    np.testing.assert_allclose(drawing.q(), wanted, atol=5e-3)
    assert shown.page.evaluate("window.scrollY") == top
    assert drawing.lit() == []
    before, held = shown.painted(), drawing.q()
    send("touchStart", end)
    send("touchStart", end, end + [30, 0])
    send("touchMove", end - [20, 0], end + [60, 0])
    send("touchEnd")
    assert shown.painted() != before
    np.testing.assert_array_equal(drawing.q(), held)
    shown.quiet()


def odd(name, kind="revolute", limits=None, **options):
    joint = neuler.Joint(name, kind, "base", "a", at(0.1), limits=limits or neuler.Limits(), **options)
    return neuler.Robot(name, [neuler.Link("base"), bar("a")], [joint])


ODD = {
    "huge limits": odd("__proto__", limits=neuler.Limits(-1e300, 1e300)),
    "limits of zero width": odd("constructor", limits=neuler.Limits(0.2, 0.2)),
    "limits that exclude each other": odd("toString", limits=neuler.Limits(1.0, -1.0)),
    "a screw": odd("'\"><b>", "helical", pitch=0.02, axis=(1, 0, 0)),
    "a plane": odd("\u2028\x00", "planar"),
    "a ball": odd("ball", "spherical"),
    "a free body": odd("free", "free"),
    "a free base": neuler.robots.two_link().with_free_base(),
    "a far robot": odd("far", "prismatic", axis=(0, 0, 1), limits=neuler.Limits(1e6, 1e6 + 1)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_robots_are_dragged(browser, tmp_path, name):
    """Over all of the drawing: numbers stay finite, within what sliders reach, and nothing complains."""
    robot = ODD[name]
    path = tmp_path / "report.html"
    path.write_text(report(robot, verbs=["gravity_force"], batch=16), encoding="utf-8")
    if 'id="live-canvas"' not in path.read_text(encoding="utf-8"):
        assert name in ("a ball", "a free body")  # without sliders there is nothing to move
        return
    shown = Opened(browser, path)
    drawing = Drawing(shown, robot)
    box = shown.page.query_selector("#live-canvas").bounding_box()
    corners = np.array([(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9)]) * (box["width"], box["height"])
    for x in np.linspace(0.2, 0.8, 5):
        for y in np.linspace(0.2, 0.8, 5):
            start = np.array([box["x"] + x * box["width"], box["y"] + y * box["height"]])
            drawing.drag(start, *(corners[:2] + (box["x"], box["y"])), steps=2)
    for row, value, force in zip(data_of(shown)["rows"], *shown.values(), strict=True):
        if "lower" in row:
            assert row["lower"] <= value <= row["upper"]
            assert np.isfinite(force)
    shown.quiet()
