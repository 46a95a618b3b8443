"""The page that plays a motion: what it holds, what its script makes of it, and that no name gets out of its text."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import InputError, Joint, Link, Robot, RobotError
from neuler.view import play
from neuler.view.marks import SYMBOLS
from neuler.view.player import player
from neuler.view.poses import Placed
from neuler.view.sample_motion import sample_motion
from neuler.view.scene import Scene
from random_robots import few
from shown_robots import HOSTILE, LOOPS, PARALLEL, afloat, all_kinds, bar, geared
from shown_robots import at as moved_by

NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
with_node = pytest.mark.skipif(NODE is None, reason="node runs the page's script")


class Page(HTMLParser):
    """Tags, attributes, and the text of every script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.title, self.inside = [], [], [], "", None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.inside = tag
        self.scripts += [""] * (tag == "script")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside == "title":
            self.title += data


def parts(text):
    """Data and script of a page."""
    data, script = Page(text).scripts
    return json.loads(data), script


def ask(tmp_path, text, *questions):
    """What the page's own script answers."""
    data, script = parts(text)
    (tmp_path / "page.js").write_text(script)
    (tmp_path / "data.json").write_text(json.dumps(data))
    command = [NODE, str(Path(__file__).parent / "player.cjs"), str(tmp_path / "page.js"), str(tmp_path / "data.json")]
    found = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def matrices(answer):
    """Poses (bodies, 3, 4) from the script's twelve numbers a body."""
    return np.array(answer).reshape(-1, 4, 3).transpose(0, 2, 1)


def swing(robot, seconds=2.0, count=101, runs=None):
    """Some motion that closes loops."""
    motion = sample_motion(robot)
    t = np.linspace(0.0, seconds, count)
    q = motion.q[np.linspace(0, len(motion.q) - 1, count).astype(int)]
    return (t, q) if runs is None else (t, np.stack([q] * runs))


# ---- what the script makes of the data -------------------------------------------------------------


@with_node
@pytest.mark.parametrize("name", ["puma560", "stanford", "eel", "sr400", "gough_stewart", "delta"])
def test_bodies_stand_where_the_robot_has_them(tmp_path, name):
    robot = neuler.robots.get(name)
    t, q = swing(robot)
    page = player(robot, t, q, fps=1000)
    answers = ask(tmp_path, page, *({"what": "poses", "time": t[k]} for k in (0, 37, 100)))
    links = list(Scene.of(robot).links)
    for k, answer in zip((0, 37, 100), answers, strict=True):
        np.testing.assert_allclose(matrices(answer), robot.link_poses(q[k])[links, :3], atol=3e-7)


@with_node
def test_between_frames_poses_are_rotations_and_near(tmp_path):
    robot = neuler.robots.puma560()
    t = np.linspace(0.0, 1.0, 21)
    rate = np.array([2.0, -1.0, 1.5, 3.0, -2.0, 1.0])
    page = player(robot, t, t[:, None] * rate)
    times = [0.123, 0.5001, 0.9876]
    for time, answer in zip(times, ask(tmp_path, page, *({"what": "poses", "time": x} for x in times)), strict=True):
        found = matrices(answer)
        turn = found[:, :, :3]
        np.testing.assert_allclose(turn @ turn.transpose(0, 2, 1), np.broadcast_to(np.eye(3), turn.shape), atol=1e-12)
        np.testing.assert_allclose(np.linalg.det(turn), 1.0)
        np.testing.assert_allclose(found, robot.link_poses(time * rate)[:, :3], atol=2e-2)


@with_node
def test_the_camera_sees_as_a_pinhole_does(tmp_path):
    robot = neuler.robots.puma560()
    page = player(robot, *swing(robot))
    points = np.random.default_rng(0).normal(size=(20, 3)).tolist()
    (seen,) = ask(tmp_path, page, {"what": "see", "points": points, "moves": [["orbit", 30, -12], ["zoom", 1.7]]})
    data, _ = parts(page)
    azimuth, elevation = np.radians(data["azimuth"] - 12.0), np.radians(data["elevation"] - 4.8)
    back = [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    eye = np.array(data["centre"]) + 1.7 * data["distance"] * np.array(back)
    right = np.cross([0, 0, 1], back)
    axes = np.array([right / np.linalg.norm(right), np.cross(back, right) / np.linalg.norm(right), back])
    away = (np.array(points) - eye) @ axes.T
    expected = np.array([400, 300]) + 900 * away[:, :2] * [1, -1] / -away[:, 2:]
    np.testing.assert_allclose([[p["x"], p["y"]] for p in seen], expected, rtol=1e-9)
    np.testing.assert_allclose([p["z"] for p in seen], -away[:, 2])


@with_node
@pytest.mark.parametrize("name", few(["puma560", "all", "afloat", *LOOPS, *PARALLEL, "eel", "geared"], 5))
def test_every_moment_is_painted_with_numbers(tmp_path, name):
    extra = {"all": all_kinds, "geared": geared, "afloat": afloat}
    robot = extra[name]() if name in extra else neuler.robots.get(name)
    t, q = swing(robot)
    page = player(robot, t, q, forces={robot.tip: np.ones((len(t), 6))})
    shows = {"masses": True, "names": True, "trace": True, "follow": True}
    asked = [{"what": "paint", "time": x, "shows": shows} for x in (0.0, 1.003, 2.0)]
    for calls in ask(tmp_path, page, *asked):
        kinds = {call[0] for call in calls}
        assert {"clearRect", "fill", "stroke", "arc"} <= kinds
        numbers = [x for call in calls for x in call[1:] if not isinstance(x, str)]
        assert all(isinstance(x, int | float) for x in numbers)  # JSON has null for what is not finite
        assert [call[1] for call in calls if call[0] == "fillText"][-3:] == ["x", "y", "z"]
        assert {j.name for j in robot.joints if j.type.symbol} >= {call[1] for call in calls if call[0] == "strokeText"}


@with_node
def test_rods_end_at_the_joints_as_they_are_seen(tmp_path):
    """The ends of what is drawn, on the screen, are the frames' origins as the camera sees them."""
    robot = neuler.robots.stanford()
    t, q = swing(robot)
    page = player(robot, t, q, fps=1000)
    origins = Placed.of(robot, q[60]).origins
    calls, seen = ask(tmp_path, page, {"what": "paint", "time": t[60]}, {"what": "see", "points": origins.tolist()})
    arcs = np.array([call[1:3] for call in calls if call[0] == "arc"])
    for point in seen:
        assert np.abs(arcs - [point["x"], point["y"]]).max(axis=1).min() < 0.01


@with_node
def test_marks_show_their_outer_faces(tmp_path):
    """Of every body whose centre is its middle, each face looks outward: so the page may leave out those behind."""
    for _, _, shape in SYMBOLS.values():
        for face in shape():
            normal = np.cross(face[2] - face[0], face[3] - face[1])
            assert normal @ face.mean(axis=0) > 0


@with_node
def test_runs_and_values_are_those_given(tmp_path):
    robot = neuler.robots.two_link()
    t = np.linspace(5.0, 6.0, 11)
    q = np.random.default_rng(1).normal(size=(3, 11, 2))
    page = player(robot, t, q, names=["a", "b", "c"], notes=["", "hit a limit", ""])
    data, _ = parts(page)
    assert [(run["name"], run["note"]) for run in data["runs"]] == [("a", ""), ("b", "hit a limit"), ("c", "")]
    first, middle, times = ask(
        tmp_path, page, {"what": "q", "run": 1, "time": 5.3}, {"what": "q", "run": 2, "time": 5.35},
        {"what": "times", "run": 2},
    )  # fmt: skip
    np.testing.assert_allclose(first, q[1, 3], rtol=1e-6)
    np.testing.assert_allclose(middle, q[2, 3:5].mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(times, t)


@pytest.mark.skipif(CHROMIUM is None, reason="no browser")
def test_a_browser_plays_it(tmp_path):
    robot = neuler.robots.puma560()
    t, q = swing(robot)
    play(robot, t, np.stack([q, -q]), tmp_path / "p.html", names=["one", HOSTILE], notes=["", "<b>note</b>"])
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    where = f"file://{tmp_path}/p.html#run=1&t=0.5"
    found = subprocess.run(
        [*command, "--virtual-time-budget=2000", "--dump-dom", where], capture_output=True, text=True, timeout=120
    )
    assert "0.500 s of 2.000 s" in found.stdout
    assert "&lt;b&gt;note&lt;/b&gt;" in found.stdout
    cells = re.findall(r"<td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td>", found.stdout)
    assert [name for name, _, _ in cells] == list(robot.joint_names)
    np.testing.assert_allclose([float(x) for _, x, _ in cells], -q[25], atol=6e-5)


# ---- what the page holds -------------------------------------------------------------------------


def test_a_long_motion_of_a_humanoid_stays_small():
    """Ten seconds at 1 kHz of a body with thirty links."""
    joints = [Joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}", moved_by(0.1)) for k in range(30)]
    robot = Robot("chain", [bar(f"l{k}") for k in range(31)], joints).with_free_base()
    t = np.linspace(0.0, 10.0, 10_001)
    q = robot.integrate(robot.neutral(), np.sin(t)[:, None] * np.ones(robot.nv), 1.0)
    page = player(robot, t, q)
    assert len(page) < 1_500_000
    data, _ = parts(page)
    assert len(base64.b64decode(data["runs"][0]["times"])) == 8 * 501


def test_very_long_motions_keep_fewer_states():
    robot = neuler.robots.two_link()
    t = np.linspace(0.0, 10_000.0, 200_001)
    page = player(robot, t, np.zeros((4, len(t), 2)))
    assert len(page) < 12_000_000
    data, _ = parts(page)
    times = np.frombuffer(base64.b64decode(data["runs"][3]["times"]))
    assert times[0] == 0.0
    assert times[-1] == 10_000.0
    assert 5_000 < len(times) < 20_000


def test_it_stops_at_the_last_finite_state_and_says_so():
    robot = neuler.robots.two_link()
    t = np.linspace(0.0, 1.0, 11)
    q = np.ones((3, 11, 2))
    q[1, 4:] = np.nan
    q[2, 0] = np.inf
    page = player(robot, t, q, notes=["", "joint2: diverged", ""])
    data, _ = parts(page)
    assert len(data["runs"]) == 2
    assert data["runs"][1]["note"] == "joint2: diverged The run stops at 0.3 s: the states after that are not finite."
    np.testing.assert_allclose(np.frombuffer(base64.b64decode(data["runs"][1]["times"])), t[:4])
    assert "1 run without a finite state left out" in page


def test_a_run_that_flies_away_does_not_hide_the_others():
    robot = neuler.robots.prismatic_revolute()
    t = np.linspace(0.0, 1.0, 201)
    q = np.zeros((2, 201, 2))
    q[1, 150:, 0] = np.geomspace(1.0, 1e35, 51)
    data, _ = parts(player(robot, t, q, fps=1000))
    assert data["size"] < 50.0
    assert "not finite" in data["runs"][1]["note"]  # beyond single precision


def test_one_state_is_a_still_picture():
    robot = neuler.robots.four_bar()
    data, _ = parts(player(robot, 0.0, robot.neutral()))
    assert len(base64.b64decode(data["runs"][0]["times"])) == 8
    again, _ = parts(player(robot, [0.0], [robot.neutral()]))
    assert again == data


def test_a_robot_that_does_not_move_is_shown():
    robot = Robot("block", [Link("base", mass=1.0)])
    data, _ = parts(player(robot, [0.0, 1.0], np.zeros((2, 0))))
    assert data["coordinates"] == []
    assert data["bodies"] == 1


def test_what_floats_away_is_followed():
    robot = neuler.robots.eel()
    t = np.linspace(0.0, 5.0, 51)
    q = np.tile(robot.neutral(), (51, 1))
    assert parts(player(robot, t, q))[0]["away"] is False
    q[:, 0] = 20.0 * t
    page = player(robot, t, q)
    assert parts(page)[0]["away"] is True
    assert '<input type="checkbox" id="follow" checked>' in page


def test_units_of_values():
    robot = all_kinds()
    found = parts(player(robot, 0.0, robot.neutral()))[0]["coordinates"]
    assert found[:3] == [["cart x", "m"], ["cart y", "m"], ["cart angle", "rad"]]
    assert [unit for name, unit in found if name.startswith("hip")] == ["", "", "", ""]
    assert len(found) == robot.nq


# ---- rods and plates -----------------------------------------------------------------------------


def test_rods_join_what_is_joined():
    """Every rod that is a link lies in one body; slides end where the sliding link is; loops meet at their cuts."""
    for robot in (neuler.robots.stanford(), neuler.robots.slider_crank(), all_kinds()):
        scene = Scene.of(robot)
        for a, b, kind in scene.rods:
            assert (a[0] == b[0]) == (kind != "slide")
    robot = neuler.robots.five_bar()
    scene, q = Scene.of(robot), sample_motion(robot).q[-1]
    poses = robot.link_poses(q)[list(scene.links)]
    (first, second) = ((poses[body] @ (*point, 1.0))[:3] for body, point in scene.cuts)
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_links_that_are_fixed_are_part_of_their_body():
    joints = [
        Joint("hinge", "revolute", "base", "a", moved_by(0.0, 0.0, 0.5)),
        Joint("weld", "fixed", "a", "b", neuler.Transform.from_rpy((0.3, 0, 0), (0, 0, np.pi / 2))),
        Joint("wrist", "revolute", "b", "c", moved_by(0.2)),
    ]
    robot = Robot("welded", [Link("base"), bar("a"), bar("b"), bar("c")], joints)
    scene = Scene.of(robot)
    assert scene.links == (0, 1, 3)
    rods = [(a[0], a[1], b[1]) for a, b, kind in scene.rods if kind == "link"]
    assert (1, (0.0, 0.0, 0.0), (0.3, 0.0, 0.0)) in rods
    assert (1, (0.3, 0.0, 0.0), (0.3, 0.2, 0.0)) in rods
    assert scene.spot("b") == (1, (0.3, 0.0, 0.0))


def test_plates_of_a_platform():
    scene = Scene.of(neuler.robots.gough_stewart())
    assert sorted(below for _, _, below in scene.plates) == [False, True]
    corners = {len(points) for _, points, _ in scene.plates}
    assert corners == {6}


# ---- bad input -----------------------------------------------------------------------------------


def test_what_is_refused():
    robot = neuler.robots.two_link()
    t, q = np.linspace(0, 1, 5), np.zeros((5, 2))
    for given, expected in (
        ((t, q[:, :1]), r"expected q of shape \(5, 2\)"),
        ((t[:4], q), r"expected q of shape \(4, 2\)"),
        ((t[::-1], q), "grow"),
        ((np.full(5, np.nan), q), "finite"),
        ((t, np.full((5, 2), np.nan)), "no state of the motion of 'two_link' is finite"),
        ((t, "x"), "arrays of numbers"),
        ((np.zeros(0), np.zeros((0, 2))), r"times \(n,\)"),
        ((t, np.zeros((100, 5, 2))), "1 to 64 runs, got 100"),
    ):
        with pytest.raises(InputError, match=expected):
            player(robot, *given)
    with pytest.raises(InputError, match="expected 1 notes, one a run, got 2"):
        player(robot, t, q, notes=["a", "b"])
    with pytest.raises(InputError, match="last axis 3 or 6"):
        player(robot, t, q, forces={"link2": np.zeros((5, 2))})
    with pytest.raises(InputError, match="do not fit 1 runs of 5 states"):
        player(robot, t, q, forces={"link2": np.zeros((4, 3))})
    with pytest.raises(RobotError, match="no link or frame 'lnk2'"):
        player(robot, t, q, forces={"lnk2": np.zeros((5, 3))})
    with pytest.raises(InputError, match="fps must be a positive number"):
        player(robot, t, q, fps=0.0)


def test_nothing_is_half_written(tmp_path):
    robot = neuler.robots.two_link()
    with pytest.raises(InputError):
        play(robot, [0.0], np.zeros((2, 2)), tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []
    play(robot, [0.0], np.zeros((1, 2)), tmp_path / "x.html", title="still")
    assert Page((tmp_path / "x.html").read_text(encoding="utf-8")).title == "still"


def test_hostile_names_are_text():
    names = ["</script><script>alert(1)</script>", "<!--<script>", '" onload="alert(1)', "\u2028\x1b[2J]]>"]
    links = [Link("base"), *(bar(name) for name in names)]
    joints = [Joint(name, "revolute", a.name, name) for name, a in zip(names, links, strict=False)]
    robot = Robot("</title></script>" + HOSTILE, links, joints)
    page = player(
        robot, [0.0, 1.0], np.zeros((2, 4)), title=HOSTILE, notes=[names[0]], names=[names[0]],
        forces={names[0]: np.zeros(3)},
    )  # fmt: skip
    found = Page(page)
    assert found.tags.count("script") == 2
    assert "alert(1)" not in found.scripts[1]
    assert [name for name, _ in json.loads(found.scripts[0])["coordinates"]][:3] == names[:3]
    assert not any(name.startswith("on") or name in ("src", "href") for _, name, _ in found.attributes)
    assert "\x1b" not in page
    assert "\u2028" not in found.scripts[0]
    (policy,) = [
        value for tag, name, value in found.attributes if tag == "meta" and (value or "").startswith("default")
    ]
    digest = base64.b64encode(hashlib.sha256(found.scripts[1].encode()).digest()).decode()
    assert policy == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_the_script_reaches_for_nothing():
    _, script = parts(player(neuler.robots.two_link(), 0.0, [0.0, 0.0]))
    for word in ("http", "fetch", "XMLHttp", "import(", "eval(", "innerHTML", "WebSocket", "localStorage"):
        assert word not in script


@with_node
def test_what_is_behind_the_camera_is_not_painted(tmp_path):
    robot = neuler.robots.puma560()
    near, far = ask(
        tmp_path, player(robot, *swing(robot)), {"what": "depths", "time": 1.0, "moves": [["zoom", 0.05]]},
        {"what": "depths", "time": 1.0},
    )  # fmt: skip
    assert min(near) > 0.0
    assert 0 < len(near) < len(far)
