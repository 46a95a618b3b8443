"""The report: whole, self-contained, and nothing in a file gets out of its text."""

import base64
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import neuler
from neuler.cli import main
from neuler.files.columns import slots
from neuler.robot import Joint, Limits, Link, Robot
from neuler.view import draw
from neuler.view.report import bent_pose, quintic, report, start_pose

HOSTILE = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Collects tags and attributes, and checks that all is closed."""

    void = frozenset({"meta", "img", "br"})

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend((tag, *pair) for pair in attrs)
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def images(page):
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    return [base64.b64decode(data) for data in found]


def self_contained(page):
    reader = Reader(page)
    assert not set(reader.tags) & {"script", "link", "iframe", "object", "embed", "base"}
    for tag, name, value in reader.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "href"
        if name == "src":
            assert value.startswith("data:image/svg+xml;base64,")
    assert "url(" not in page
    assert "@import" not in page
    for svg in images(page):
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")
        assert not any(element.tag.endswith("script") for element in root.iter())
    return reader


def test_report_from_the_command_line(capsys, tmp_path):
    target = tmp_path / "report.html"
    code = main(
        ["report", "stanford", "-o", str(target), "--verbs", "inverse_dynamics", "mass_matrix", "--batch", "256"]
    )
    assert code == 0
    assert str(target) in capsys.readouterr().out
    page = target.read_text(encoding="utf-8")
    self_contained(page)
    assert len(images(page)) == 2 + 6 + 1  # two poses, six joints
    for expected in ("stanford", "Kinematic tree", "joint3: prismatic q[2]", "Nothing to report", "inverse_dynamics"):
        assert expected in page
    operations = neuler.robots.stanford().inverse_dynamics.operations
    assert f'<td class="r">{operations.mul}</td>' in page
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def hostile_robot():
    joint = Joint(
        '$x_{" onload="alert(1)', "revolute", "base", HOSTILE, axis=(0, 1, 0), limits=Limits(0.5, 1.0, 2.0, 9.0)
    )
    links = [Link("base"), Link.from_com(HOSTILE, mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))]
    return Robot("</title>" + HOSTILE, links, [joint], notes=["--><img src=x onerror=alert(1)>\x1b[2J"])


def test_hostile_names_are_text():
    page = report(hostile_robot(), verbs=["gravity_force"], batch=16)
    self_contained(page)
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "$x_{&quot; onload=&quot;alert(1)" in page


def test_a_robot_that_does_not_move_has_a_report():
    page = report(Robot("block", [Link("base", mass=1.0)]))
    self_contained(page)
    assert len(images(page)) == 1
    assert "Forces" not in page


def test_what_cannot_be_measured_is_said():
    links = [Link("base"), Link("tip")]
    page = report(Robot("bare", links, [Joint("j", "revolute", "base", "tip")]), verbs=["forward_dynamics"], batch=8)
    self_contained(page)
    assert "forward dynamics do not exist" in page  # the doctor
    assert "forward_dynamics: not measured: " in page


def test_poses_stay_within_limits():
    robot = hostile_robot()
    start, bent = start_pose(robot), bent_pose(robot)
    assert start[0] == 0.5
    assert 0.5 < bent[0] <= 1.0
    for name in neuler.robots.names():
        robot = neuler.robots.get(name)
        if not isinstance(robot, Robot):
            continue
        start, bent = start_pose(robot), bent_pose(robot)
        assert robot.difference(start, bent).all()
        for joint, q, _ in slots(robot):
            assert joint.limits.lower <= bent[q] <= joint.limits.upper


def test_the_motion_is_smooth_and_slow_enough():
    robot = hostile_robot()
    motion = quintic(robot, np.array([0.0]), np.array([10.0]), count=2001)
    assert np.abs(motion.qd).max() <= 2.0 * (1 + 1e-12)
    assert not motion.qd[[0, -1]].any()
    assert not motion.qdd[[0, -1]].any()
    step = motion.times[1]
    np.testing.assert_allclose(np.gradient(motion.q[:, 0], step)[1:-1], motion.qd[1:-1, 0], atol=1e-4)
    np.testing.assert_allclose(np.gradient(motion.qd[:, 0], step)[1:-1], motion.qdd[1:-1, 0], atol=1e-4)


def test_draw_gives_equal_scales_and_takes_axes():
    from matplotlib.figure import Figure

    robot = neuler.robots.puma560()
    ax = draw(robot, np.zeros(6))
    spans = [np.diff(getattr(ax, f"get_{x}lim")())[0] for x in "xyz"]
    aspect = ax._box_aspect
    np.testing.assert_allclose(aspect / aspect[0], np.array(spans) / spans[0], rtol=1e-9)
    own = Figure().add_subplot(projection="3d")
    assert draw(robot, np.ones(6), own) is own
    with pytest.raises(neuler.InputError, match="3-D axes"):
        draw(robot, np.zeros(6), Figure().add_subplot())
    with pytest.raises(neuler.InputError, match="expected q with 6 numbers"):
        draw(robot, np.zeros(5))
    with pytest.raises(neuler.InputError, match="finite"):
        draw(robot, np.full(6, np.nan))


def alone(code):
    source = str(Path(neuler.__file__).parents[1])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source}, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_view_needs_no_import_of_its_own_and_costs_nothing_before():
    found = alone(
        "import neuler, sys\n"
        "print('neuler.view' in sys.modules, 'view' in dir(neuler), hasattr(neuler, 'vieww'))\n"
        "neuler.view\n"
        "print('matplotlib' in sys.modules)\n"
        "print(type(neuler.view.draw(neuler.robots.two_link())).__name__)"
    )
    assert found.split() == ["False", "True", "False", "False", "Axes3D"]


def test_view_without_matplotlib_names_the_extra():
    found = alone(
        "import sys\n"
        "sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
        "import neuler\n"
        "for make in (neuler.view.draw, lambda robot: neuler.view.write_report(robot, 'no.html')):\n"
        "    try: make(neuler.robots.two_link())\n"
        "    except neuler.NeulerError as error: print(error)\n"
    )
    assert found.count("drawing needs matplotlib, which is not installed") == 2
    assert found.count("pip install neuler[view]") == 2


def test_without_matplotlib_the_remedy_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["report", "two_link", "-o", str(tmp_path / "r.html")]) == 2
    assert "pip install neuler[view]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
