"""The report: whole, self-contained, and nothing in a file gets out of its text."""

import base64
import dataclasses
import hashlib
import itertools
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
from neuler.robot import Joint, Limits, Link, Robot, Transform
from neuler.speed import MANY, SLOW, VERBS, default_verbs
from neuler.view import draw
from neuler.view.diagrams import force_figure, matrix_figure, short_names
from neuler.view.draw import pose_pictures
from neuler.view.report import report
from neuler.view.sample_motion import sample_motion
from shown_robots import HOSTILE

pytestmark = pytest.mark.usefixtures("brief")


class Reader(HTMLParser):
    """Collects tags and attributes, and checks that all is closed."""

    void = frozenset({"meta", "img", "br", "input"})

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
    assert not set(reader.tags) & {"link", "iframe", "object", "embed", "base"}
    assert reader.tags.count("script") == page.count("<script") in (0, 2)  # data of the part that moves, and what runs
    if "script" in reader.tags:
        run = page.rpartition("<script>")[2].partition("</script>")[0]
        digest = base64.b64encode(hashlib.sha256(run.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}' 'wasm-unsafe-eval'\"" in page
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
        ["report", "two_link", "-o", str(target), "--verbs", "inverse_dynamics", "mass_matrix", "--batch", "256"]
    )
    assert code == 0
    assert str(target) in capsys.readouterr().out
    page = target.read_text(encoding="utf-8")
    self_contained(page)
    assert len(images(page)) == 2 + 2  # two poses, two joints; without gravity no map of sensitivities
    for expected in ("two_link", "Kinematic tree", "joint2: revolute q[1]", "Nothing to report", "inverse_dynamics"):
        assert expected in page
    operations = neuler.robots.two_link().inverse_dynamics.operations
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
    assert HOSTILE not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "$x_{&quot; onload=&quot;alert(1)" in page


def test_a_robot_that_does_not_move_has_a_report():
    page = report(Robot("block", [Link("base", mass=1.0)]))
    self_contained(page)
    assert len(images(page)) == 1
    assert "Forces" not in page


@pytest.mark.slow
def test_what_cannot_be_measured_is_said():
    links = [Link("base"), Link("tip")]
    page = report(Robot("bare", links, [Joint("j", "revolute", "base", "tip")]), verbs=["forward_dynamics"], batch=8)
    self_contained(page)
    assert "forward dynamics do not exist" in page  # the doctor
    assert "forward_dynamics: not measured: " in page


def test_poses_stay_within_limits():
    start, bent = sample_motion(hostile_robot()).q[[0, -1], 0]
    assert start == 0.5
    assert 0.5 < bent <= 1.0


def test_draw_gives_equal_scales_and_takes_axes():
    from matplotlib.figure import Figure

    robot = neuler.robots.puma560()
    ax = draw(robot, np.zeros(6)).axes[0]
    spans = [np.diff(getattr(ax, f"get_{x}lim")())[0] for x in "xyz"]
    aspect = ax._box_aspect
    np.testing.assert_allclose(aspect / aspect[0], np.array(spans) / spans[0], rtol=1e-9)
    own = Figure().add_subplot(projection="3d")
    assert draw(robot, np.ones(6), own) is None
    assert own.lines
    with pytest.raises(neuler.InputError, match="3-D axes"):
        draw(robot, np.zeros(6), Figure().add_subplot())
    with pytest.raises(neuler.InputError, match="expected q with 6 numbers"):
        draw(robot, np.zeros(5))
    with pytest.raises(neuler.InputError, match="finite"):
        draw(robot, np.full(6, np.nan))


# ---- pictures ------------------------------------------------------------------------------------


def legged(shift):
    """A floating trunk with two legs, high over the ground."""
    joints = [
        Joint(f"{side}_hip", "revolute", "trunk", f"{side}_leg", Transform(translation=(0, y, 0)), axis=(0, 1, 0))
        for side, y in (("left", 0.1), ("right", -0.1))
    ]
    legs = [
        Link.from_com(f"{side}_leg", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01)) for side in ("left", "right")
    ]
    trunk = Link.from_com("trunk", mass=5.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.1))
    robot = Robot("legged", [trunk, *legs], joints).with_free_base()
    return robot, robot.neutral() + [*shift, *[0.0] * 6]


@pytest.mark.slow
def test_a_floating_robot_is_drawn_as_large_wherever_it_is():
    sizes, squares = [], []
    for shift in ((0, 0, 0), (30, -40, 20)):
        robot, q = legged(shift)
        (ax,) = draw(robot, q).axes
        spans = np.array([np.ptp(getattr(ax, f"get_{x}lim")()) for x in "xyz"])
        sizes.append(spans)
        assert spans.max() < 1.2
        ends = np.array([point for line in ax.lines for point in np.array(line.get_data_3d()).T])
        assert np.abs(ends - shift).max() < 1.5  # nothing reaches for the ground far away
        flat = [np.ravel(c._offsets3d[2]).tolist() for c in ax.collections if hasattr(c, "_offsets3d")]
        squares.append(flat.count([0.0]))
    np.testing.assert_allclose(*sizes, rtol=1e-9)
    assert squares[0] > squares[1] == 0


@pytest.mark.slow
def test_each_pose_has_limits_of_its_own():
    robot = neuler.robots.puma560()
    start, bent = sample_motion(robot).q[[0, -1]]
    near, far = (pose_pictures(robot, states)[0] for states in ([start], [start, bent]))
    assert near == far


@pytest.mark.slow
def test_the_key_names_what_is_there():
    def key(page):
        return re.search(r'Poses</h2>.*?<div class="key">(.*?)</div>', page, re.DOTALL)[1]

    block = key(report(Robot("block", [Link("base", mass=1.0)])))
    assert "base" in block
    assert "centre of mass" in block
    assert not any(word in block for word in ("link", "revolute", "prismatic", "spring"))
    hinge = key(report(hostile_robot(), verbs=[]))
    assert "revolute axis" in hinge
    assert "prismatic" not in hinge
    joints = [Joint("j1", "prismatic", "base", "a"), Joint("j2", "prismatic", "a", "b")]
    slide = Robot("slide", [Link("base"), Link("a"), Link("b")], joints)
    assert not any(word in key(report(slide, verbs=[])) for word in ("revolute", "centre of mass"))


# ---- forces and limits ---------------------------------------------------------------------------


def limited(effort):
    robot = hostile_robot()
    joint = dataclasses.replace(robot.joints[0], name="hinge", limits=Limits(0.5, 1.0, 2.0, effort))
    return robot.replace(joints=[joint], name="arm")


@pytest.mark.parametrize("effort", [0.0, pytest.param(-1.0, marks=pytest.mark.slow)])
def test_an_effort_limit_of_zero_is_told_and_not_used(effort):
    with np.errstate(all="raise"):
        page = report(limited(effort), verbs=[])
    self_contained(page)
    assert "The effort limit of hinge is given as zero or less" in page
    assert "(not used)" in page
    assert "dotted" not in page
    assert page.count("%</td>") == 0


@pytest.mark.slow
def test_limits_are_drawn_where_they_are_near():
    assert "dotted: the effort limit" in report(limited(3.0), verbs=[])
    far = report(limited(300.0), verbs=[])
    assert "dotted" not in far
    assert "is not used" not in far
    times, force = np.linspace(0, 1, 5), np.array([0.0, 1.0, 2.0, 1.0, 0.0])

    def heights(limit):
        ax = force_figure(times, force, 0 * force, "N", limit).axes[0]
        return {float(np.asarray(line.get_ydata())[0]) for line in ax.lines if len(line.get_ydata()) == 2}

    assert heights(3.0) == {0.0, 3.0}  # above alone: the force does not come near on the other side
    assert heights(5.0) == heights(0.0) == heights(np.inf) == {0.0}


@pytest.mark.slow
def test_nothing_held_is_not_in_the_key():
    weightless = limited(300.0).with_gravity((0, 0, 0))
    assert "dashed" not in report(weightless, verbs=[])
    assert "dashed: what gravity alone asks for" in report(limited(300.0), verbs=[])


# ---- maps ----------------------------------------------------------------------------------------


def colours(matrix):
    figure = matrix_figure(np.array(matrix), ["a", "b"], "rows", "columns")
    figure.draw_without_rendering()
    image = figure.axes[0].images[0]
    return figure, image.norm(image.get_array()), image.to_rgba(image.get_array())


def test_small_entries_of_a_map_are_seen_and_zero_is_white():
    figure, shades, paint = colours([[1000.0, -1.0], [0.0, 1e-15]])
    assert shades[0, 0] == 1.0
    assert shades[0, 1] < 0.4  # far from the middle
    assert np.ma.getmaskarray(shades).tolist() == [[False, False], [True, True]]  # zero, and rounding
    assert (paint[1, :, 3] == 0).all()
    bar = figure.axes[1]
    labels = [text.get_text() for text in bar.get_yticklabels()]
    assert "1000" in labels
    assert "0" in labels
    assert "\N{MINUS SIGN}1" in labels
    assert bar.get_ylabel().startswith("logarithmic beyond")


def test_entries_of_one_size_keep_an_even_scale():
    figure, shades, _ = colours([[2.0, -1.0], [0.5, 0.0]])
    assert shades[0, 1] == pytest.approx(0.25)
    assert figure.axes[1].get_ylabel() == ""


def test_ticks_of_long_names_stay_short_and_different():
    names = [f"left_front_leg_{k:02d}_of_the_second_robot_joint" for k in range(12)]
    short = short_names(names)
    assert len(set(short)) == 12
    assert max(map(len, short)) < 40
    figure = matrix_figure(np.eye(12), names, "rows", "columns")
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert figure.axes[0].get_xticklabels()[0].get_rotation() == 90.0
    assert short_names([]) == []
    assert short_names(["a" * 50, "a" * 50]) == short_names(["a" * 50]) * 2


@pytest.mark.slow
def test_wide_tables_scroll_and_print():
    page = report(neuler.robots.puma560(), verbs=[])
    assert page.count('class="scroll wide" tabindex="0"') >= 2
    assert ".scroll { overflow-x: auto;" in page
    assert ".wide table { font-size: 6pt; }" in page


# ---- without matplotlib --------------------------------------------------------------------------


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
    assert found.split() == ["False", "True", "False", "False", "Picture"]


@pytest.mark.slow
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
    assert found.count("pip install matplotlib") == 2


def test_without_matplotlib_the_remedy_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "neuler.view.picture", None)  # which imports it
    assert main(["report", "two_link", "-o", str(tmp_path / "r.html")]) == 2
    assert "pip install matplotlib" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ---- large robots, and what is under way -----------------------------------------------------------


@pytest.mark.slow
def test_progress_says_what_is_being_done():
    said = []

    def progress(jobs):
        for job in jobs:
            said.append(str(job))
            yield job

    report(neuler.robots.two_link(), verbs=["inverse_dynamics"], batch=8, progress=progress)
    assert said[:2] == ["checks", "pictures"]
    assert said[-2:] == ["sensitivities", "speed of inverse_dynamics"]


def test_nothing_is_computed_before_progress_begins(monkeypatch):
    monkeypatch.setattr(neuler.Robot, "check", lambda robot: pytest.fail("too early"))
    with pytest.raises(StopIteration):
        report(neuler.robots.two_link().replace(name="idle"), progress=lambda jobs: iter(()).__next__())


@pytest.mark.slow
def test_of_many_joints_the_slow_quantities_are_measured_when_asked_for(monkeypatch):
    chain = neuler.robots.general_chain(MANY + 1)
    assert set(VERBS) - set(default_verbs(chain)) == set(SLOW)
    assert default_verbs(neuler.robots.general_chain(MANY)) == VERBS
    monkeypatch.setattr("neuler.speed.MANY", 1)  # two are many: no long chain needs to be compiled
    page = report(neuler.robots.two_link(), batch=8)
    assert "Measured when asked for (--verbs): forward_dynamics_sensitivities, reaction_sensitivities" in page
    asked = report(neuler.robots.two_link(), verbs=["inverse_dynamics"], batch=8)
    assert "Measured when asked for" not in asked


@pytest.mark.slow
def test_the_time_to_compile_is_stored_with_the_code(tmp_path, monkeypatch):
    monkeypatch.setenv("NEULER_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    first = neuler.robots.two_link().with_payload("link2", 0.12345).compile("inverse_dynamics")  # nobody else has it
    seconds = first.compiled_in
    assert 0.0 < seconds <= first.compile_seconds
    assert not first.cached
    code = (
        "import neuler\n"
        "kernel = neuler.robots.two_link().with_payload('link2', 0.12345).compile('inverse_dynamics')\n"
        "print(kernel.cached, kernel.compiled_in)"
    )
    assert alone(code).split() == ["True", repr(seconds)]
